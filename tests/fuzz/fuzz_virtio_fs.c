/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_virtio_fs.c - the input is what a driver does to its queues
 *
 * Records of an action and its few bytes; see act().  The device's own threads
 * serve, and after each record they have come to rest: what they were handed
 * lies in guest memory, and no more was given back than had been offered.  Some
 * of that memory is a window, with a file in it that ends after a page.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "common/rd.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/fake_guest.h"
#include "vmm/core/window.h"
#include "vmm/virtio/fs.h"

#define QUEUE      8u
#define RAM_LEN    0x40000u
#define HEADER     40u
#define WINDOW     0x100000000u
#define FILE_LEN   4096u
#define DESCS      4u /* of a chain, at most */
#define REG_SEL    0x030u
#define REG_READY  0x044u
#define REG_STATUS 0x070u

enum action {
	CHAIN,    /* descriptors as they stand in the input */
	REQUEST,  /* a sound one, whose sizes the input chooses */
	INDIRECT, /* the same, by way of a table */
	INDEX,    /* the available index jumps */
	STOP,     /* a queue */
	BOOT,
	N_ACTIONS
};

/** struct world - The device and its guest; @offered since it booted */
struct world {
	struct fake_guest g;
	struct virtio_mmio m;
	struct irq irq;
	struct loop loop;
	struct virtio_fs *f;
	struct window window;
	unsigned int offered[FG_QUEUES];
};

static size_t look(const struct world *w, const struct iovec *v, unsigned int n)
{
	size_t sum = 0;

	for (unsigned int i = 0; i < n; i++) {
		uintptr_t at = (uintptr_t)v[i].iov_base;

		bug_on(v[i].iov_len == 0);
		sum += v[i].iov_len;
		if (gmem_in_window(&w->g.mem, v[i].iov_base)) {
			bug_on(at - (uintptr_t)w->window.hva >
			       w->window.len - v[i].iov_len);
			continue;
		}
		bug_on(at < (uintptr_t)w->g.ram);
		bug_on(v[i].iov_len > RAM_LEN);
		bug_on(at - (uintptr_t)w->g.ram > RAM_LEN - v[i].iov_len);
	}
	return sum;
}

/* There, or EFAULT. */
static void touch(struct world *w, void *dst, const void *src)
{
	int r = gmem_copy(&w->g.mem, dst, src, 1);

	bug_on(r < 0 && r != -EFAULT);
}

static size_t serve(void *ctx, const struct iovec *in, unsigned int n_in,
		    const struct iovec *out, unsigned int n_out)
{
	struct world *w = ctx;
	size_t room = look(w, out, n_out);
	uint8_t c = 0xff;

	bug_on(n_in + n_out > QUEUE);
	bug_on(look(w, in, n_in) < HEADER);
	for (unsigned int i = 0; i < n_in; i++)
		touch(w, &c, in[i].iov_base);
	for (unsigned int i = 0; i < n_out; i++)
		touch(w, (uint8_t *)out[i].iov_base + out[i].iov_len - 1, &c);
	return room;
}

static void renew(void *ctx)
{
	(void)ctx;
}

/* Whether nothing is left that a thread of the device would do. */
static bool at_rest(struct world *w)
{
	struct virtio_dev *vd = virtio_fs_dev(w->f);
	struct virtio_fs_stats s;
	bool rest = true;

	(void)pthread_mutex_lock(&vd->lock);
	for (unsigned int i = 0; vd->running && i < FG_QUEUES; i++)
		rest = rest && virtq_waiting(&vd->vq[i]) == 0;
	(void)pthread_mutex_unlock(&vd->lock);
	virtio_fs_stats(w->f, &s);
	return rest && s.n_busy == 0;
}

static void run(struct world *w)
{
	do {
		while (loop_step(&w->loop, 0) > 0)
			continue;
		(void)sched_yield();
	} while (!at_rest(w));
}

static void check(struct world *w)
{
	for (unsigned int qi = 0; qi < FG_QUEUES; qi++)
		bug_on(fake_guest_used_idx(&w->g, qi) > w->offered[qi]);
}

static void boot(struct world *w)
{
	fake_guest_boot(&w->g, VIRTIO_F_VERSION_1 | VIRTIO_F_INDIRECT_DESC);
	memset(w->offered, 0, sizeof(w->offered));
}

static void offer(struct world *w, unsigned int qi)
{
	w->offered[qi]++;
	fake_guest_offer(&w->g, qi, 0);
	fake_guest_set(&w->g, VIRTIO_MMIO_NOTIFY, qi);
}

static void chain(struct world *w, struct rd *rd, unsigned int qi)
{
	unsigned int n = 1 + rd_u8(rd) % DESCS;
	const struct virtq_desc *d = rd_bytes(rd, n * sizeof(*d));

	if (!d)
		return;
	for (unsigned int i = 0; i < n; i++)
		fake_guest_table(&w->g, FG_DESC(qi), i, &d[i]);
	offer(w, qi);
}

/* Two pieces to read and one to write, where the sizes may be anything. */
static void request(struct world *w, struct rd *rd, unsigned int qi,
		    uint64_t table)
{
	unsigned int len[3] = { rd_u8(rd), rd_le16(rd), rd_le16(rd) };

	for (unsigned int i = 0; i < 3; i++) {
		struct virtq_desc d = {
			.addr = le64_put(FG_DATA + rd_le16(rd)),
			.len = le32_put(len[i]),
			.flags = le16_put(i < 2 ? VIRTQ_DESC_F_NEXT
						: VIRTQ_DESC_F_WRITE),
			.next = le16_put((uint16_t)(i + 1)),
		};

		fake_guest_table(&w->g, table, i, &d);
	}
	if (table != FG_DESC(qi)) {
		struct virtq_desc d = {
			.addr = le64_put(table),
			.len = le32_put(3 * sizeof(d)),
			.flags = le16_put(VIRTQ_DESC_F_INDIRECT),
		};

		fake_guest_table(&w->g, FG_DESC(qi), 0, &d);
	}
	offer(w, qi);
}

static void act(struct world *w, struct rd *rd)
{
	enum action action = rd_u8(rd) % N_ACTIONS;
	unsigned int qi = rd_u8(rd) % FG_QUEUES, n;

	switch (action) {
	case CHAIN:
		chain(w, rd, qi);
		break;
	case REQUEST:
		request(w, rd, qi, FG_DESC(qi));
		break;
	case INDIRECT:
		request(w, rd, qi, FG_QUEUE(qi) + 0x4000u);
		break;
	case INDEX:
		n = rd_u8(rd);
		w->g.q[qi].avail_idx = (uint16_t)(w->g.q[qi].avail_idx + n);
		w->offered[qi] += n;
		offer(w, qi);
		break;
	case STOP:
		fake_guest_set(&w->g, REG_SEL, qi);
		fake_guest_set(&w->g, REG_READY, 0);
		break;
	default:
		boot(w);
		break;
	}
}

static void init_window(struct world *w)
{
	struct window_piece p = { .len = WINDOW_SLOT,
				  .fd = memfd_create("file", MFD_CLOEXEC),
				  .writable = true };

	bug_on(p.fd < 0 || ftruncate(p.fd, FILE_LEN) < 0);
	bug_on(window_init(&w->window, WINDOW_SLOT, NULL) < 0);
	bug_on(window_map(&w->window, &p) < 0);
	bug_on(gmem_add_window(&w->g.mem, WINDOW, w->window.hva, w->window.len,
			       "fuzz", NULL) < 0);
	base_closep(&p.fd);
}

static void init(struct world *w)
{
	const struct virtio_fs_config cfg = { .tag = "fuzz",
					      .n_queues = FG_QUEUES - 1,
					      .n_workers = 2,
					      .serve = serve,
					      .renew = renew,
					      .ctx = w };

	memset(w, 0, sizeof(*w));
	fake_guest_init(&w->g, RAM_LEN, QUEUE);
	init_window(w);
	bug_on(loop_init(&w->loop, NULL) != 0);
	bug_on(irq_init(&w->irq, NULL) != 0);
	bug_on(virtio_fs_new(&cfg, &w->f, NULL) != 0);
	bug_on(virtio_mmio_init(&w->m, virtio_fs_dev(w->f), &w->g.mem, &w->irq,
				NULL) != 0);
	bug_on(virtio_mmio_start(&w->m, &w->loop, NULL) != 0);
	w->g.mmio = &w->m;
	bug_on(virtio_fs_start(w->f, NULL) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rd rd = rd_init(data, len);
	struct world w;

	init(&w);
	boot(&w);
	while (rd.left > 0 && !rd.bad) {
		act(&w, &rd);
		run(&w);
		check(&w);
	}
	fake_guest_set(&w.g, REG_STATUS, 0);
	virtio_fs_stop(w.f);
	virtio_mmio_done(&w.m);
	virtio_fs_free(w.f);
	irq_done(&w.irq);
	loop_done(&w.loop);
	fake_guest_done(&w.g);
	window_done(&w.window);
	return 0;
}
