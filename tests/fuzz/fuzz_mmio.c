/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_mmio.c - the input is a script of register accesses
 *
 * Byte 0: begin with a device in use (1) or as after power-up (0).  Then
 * records: an operation, a 16-bit offset and, unless it is a read, a 32-bit
 * value.  RAM is poked in steps of four bytes.
 */
#include <string.h>

#include "common/rd.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/fake_vsock.h"

#define STEPS_MAX 64

enum op {
	OP_WRITE, /* 32 bits, as a driver does */
	OP_WIDE,  /* any width: the value's low byte says which */
	OP_READ,
	OP_POKE, /* RAM */
	OP_KICK, /* an ioeventfd */
	OP_SERVE,
	N_OPS
};

/* What must hold whatever was written. */
static void check(struct fake_vsock *f)
{
	uint32_t status = fake_guest_reg(&f->g, 0x070);
	const struct virtio_dev *vd = f->mmio.vd;
	uint32_t path = status & ~0xc0u;

	bug_on(path != 0 && path != 1 && path != 3 && path != 0xb &&
	       path != 0xf);
	bug_on(vd->running && status != 0xf);
	bug_on(status & 0x40 && vd->n_broken == 0);
	bug_on(path >= 0xb && !(vd->features & VIRTIO_F_VERSION_1));
	for (unsigned int i = 0; i < VIRTIO_QUEUES_MAX; i++) {
		const struct virtq *q = &vd->vq[i];

		bug_on(q->ready && (path < 0xb || i >= FG_QUEUES));
		bug_on(q->ready && virtq_check(q) != 0);
		bug_on(q->size > VIRTQ_SIZE_MAX);
	}
}

/* Who reads without an exit sees the same (mmio.h). */
static void check_page(struct fake_vsock *f)
{
	uint8_t v[sizeof(uint32_t)];

	for (unsigned int off = 0; off < VIRTIO_MMIO_LEN; off += sizeof(v)) {
		virtio_mmio_bus_ops.read(&f->mmio, off, v, sizeof(v));
		bug_on(memcmp(f->mmio.page + off, v, sizeof(v)) != 0);
	}
}

static void serve(struct fake_vsock *f)
{
	for (int i = 0; i < STEPS_MAX; i++)
		if (loop_step(&f->loop, 0) <= 0)
			return;
}

static void act(struct fake_vsock *f, unsigned int op, uint16_t off, le32 v)
{
	static const uint64_t one = 1;
	uint32_t n = le32_get(v);
	uint8_t wide[BUS_ACCESS_MAX];
	uint64_t at;

	switch (op) {
	case OP_WRITE:
		fake_guest_set(&f->g, off % VIRTIO_MMIO_LEN & ~3u, n);
		break;
	case OP_WIDE:
		memset(wide, (int)(n >> 8 & 0xff), sizeof(wide));
		n = n % BUS_ACCESS_MAX + 1;
		virtio_mmio_bus_ops.write(
			&f->mmio, MIN(off, VIRTIO_MMIO_LEN - n), wide, n);
		break;
	case OP_POKE:
		at = FG_BASE + off * 4u % (FG_DATA - FG_BASE);
		memcpy(fake_guest_at(&f->g, at, 4), v.b, 4);
		break;
	case OP_KICK:
		bug_on(write(virtio_mmio_notify_fd(&f->mmio, off % FG_QUEUES),
			     &one, sizeof(one)) != sizeof(one));
		break;
	default:
		serve(f);
		break;
	}
}

static void read_some(struct fake_vsock *f, uint16_t off)
{
	unsigned int n = off % BUS_ACCESS_MAX + 1;
	uint8_t *buf = malloc(n);

	bug_on(!buf);
	off = (uint16_t)(off >> 3);
	virtio_mmio_bus_ops.read(&f->mmio, MIN(off, VIRTIO_MMIO_LEN - n), buf,
				 n);
	free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rd rd = rd_init(data, len);
	const uint8_t *boot = rd_bytes(&rd, 1);
	struct fake_vsock f;
	struct err e;

	if (!boot)
		return 0;
	fv_init(&f, &(struct vsock_config){ .conns_max = 8 });
	bug_on(virtio_mmio_show(&f.mmio, &e) != 0);
	if (*boot & 1)
		fv_boot(&f);
	for (;;) {
		const uint8_t *op = rd_bytes(&rd, 1);
		const le16 *off = rd_bytes(&rd, sizeof(*off));
		const le32 *v;

		if (!op || !off)
			break;
		if (*op % N_OPS == OP_READ) {
			read_some(&f, le16_get(*off));
			continue;
		}
		v = rd_bytes(&rd, sizeof(*v));
		if (!v)
			break;
		act(&f, *op % N_OPS, le16_get(*off), *v);
		check(&f);
		check_page(&f);
	}
	serve(&f);
	check(&f);
	check_page(&f);
	fv_done(&f);
	return 0;
}
