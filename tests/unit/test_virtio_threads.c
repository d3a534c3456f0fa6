/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_virtio_threads.c - registers on one thread, queues on another
 *
 * For ThreadSanitizer most of all: a thread in a vCPU's place boots, uses and
 * resets a socket device while the loop thread serves it.
 */
#include <sched.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fake_guest.h"
#include "vmm/virtio/vsock.h"
#include "vmm/virtio/vsock_pkt.h"

#define ROUNDS  200u
#define PACKETS 50u
#define QUEUE   16u
#define BUF(i)  (FG_DATA + (i)*128u)

/**
 * struct machine - What both threads share
 * @over:	The vCPU is done
 * @answers:	Packets it got; its own until @over
 */
struct machine {
	struct fake_guest g;
	struct virtio_mmio m;
	struct irq irq;
	struct loop loop;
	struct vsock *v;
	atomic_bool over;
	unsigned int answers;
};

static void offer(struct fake_guest *g, unsigned int qi, uint16_t i)
{
	struct virtq_desc d = {
		.addr = le64_put(BUF(i + QUEUE * qi)),
		.len = le32_put(qi ? VSOCK_HDR_LEN : 128),
		.flags = le16_put(qi ? 0 : VIRTQ_DESC_F_WRITE),
	};

	fake_guest_table(g, FG_DESC(qi), i, &d);
	fake_guest_offer(g, qi, i);
	fake_guest_set(g, VIRTIO_MMIO_NOTIFY, qi);
}

/* To a port that nobody listens on: the answer is a RST. */
static void send_request(struct fake_guest *g, uint16_t i, uint32_t port)
{
	struct vsock_hdr h = {
		.src_cid = le64_put(VSOCK_CID_GUEST),
		.dst_cid = le64_put(VSOCK_CID_HOST),
		.src_port = le32_put(port),
		.dst_port = le32_put(9),
		.type = le16_put(VSOCK_TYPE_STREAM),
		.op = le16_put(VSOCK_OP_REQUEST),
	};

	memcpy(fake_guest_at(g, BUF(i + QUEUE), sizeof(h)), &h, sizeof(h));
	offer(g, 1, i);
}

static void wait_used(struct fake_guest *g, unsigned int qi, uint32_t *id)
{
	uint32_t len;

	while (!fake_guest_used(g, qi, id, &len))
		(void)sched_yield();
}

static void *vcpu(void *arg)
{
	struct machine *t = arg;
	uint32_t id;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		fake_guest_boot(&t->g,
				VIRTIO_F_VERSION_1 |
					(round % 2 ? VIRTIO_F_EVENT_IDX : 0));
		for (uint16_t i = 0; i < QUEUE; i++)
			offer(&t->g, 0, i);
		for (unsigned int n = 0; n < PACKETS; n++) {
			send_request(&t->g, (uint16_t)(n % QUEUE), 1000 + n);
			wait_used(&t->g, 1, &id);
			wait_used(&t->g, 0, &id);
			t->answers++;
			offer(&t->g, 0, (uint16_t)id);
			(void)fake_guest_reg(&t->g, 0x060);
			fake_guest_set(&t->g, 0x064, 3);
		}
		/* One more, which the reset may or may not overtake. */
		send_request(&t->g, 0, 1);
		fake_guest_set(&t->g, 0x070, 0);
	}
	atomic_store(&t->over, true);
	fake_guest_set(&t->g, 0x070, 0); /* wakes the loop */
	return NULL;
}

START_TEST(device_is_served_while_its_registers_are_used)
{
	struct machine *t = calloc(1, sizeof(*t));
	struct vsock_config cfg = { .listen_fd = -1, .connector_fd = -1 };
	pthread_t thread;
	struct err e;

	ck_assert_ptr_nonnull(t);
	fake_guest_init(&t->g, FG_LEN, QUEUE);
	ck_assert_int_eq(loop_init(&t->loop, &e), 0);
	ck_assert_int_eq(irq_init(&t->irq, &e), 0);
	cfg.loop = &t->loop;
	ck_assert_int_eq(vsock_new(&cfg, &t->v, &e), 0);
	ck_assert_int_eq(virtio_mmio_init(&t->m, vsock_dev(t->v), &t->g.mem,
					  &t->irq, &e),
			 0);
	ck_assert_int_eq(virtio_mmio_start(&t->m, &t->loop, &e), 0);
	t->g.mmio = &t->m;

	ck_assert_int_eq(pthread_create(&thread, NULL, vcpu, t), 0);
	while (!atomic_load(&t->over))
		ck_assert_int_ge(loop_step(&t->loop, -1), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_eq(t->answers, (uint64_t)ROUNDS * PACKETS);
	ck_assert_uint_eq(vsock_dev(t->v)->n_broken, 0);

	virtio_mmio_done(&t->m);
	vsock_free(t->v);
	irq_done(&t->irq);
	loop_done(&t->loop);
	fake_guest_done(&t->g);
	free(t);
}
END_TEST

CHECK_MAIN("virtio_threads", device_is_served_while_its_registers_are_used)
