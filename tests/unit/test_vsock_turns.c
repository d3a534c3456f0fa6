/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_vsock_turns.c - who gets the guest's receive buffers when */
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fake_vsock.h"
#include "vmm/virtio/vsock_conn.h"

static void start(struct fake_vsock *f)
{
	fv_init(f, &(struct vsock_config){ 0 });
	fv_boot(f);
}

static struct vsock_conn *inside(struct fake_vsock *f, const struct fv_conn *c)
{
	return vsock_find(f->v, c->guest_port, c->host_port);
}

/* Turns, not time: a bulk stream has at most one packet between two of ours. */
START_TEST(small_stream_gets_every_other_turn)
{
	enum {
		BULK = 3,
		ROUNDS = 20
	};
	static uint8_t bytes[128u << 10];
	struct fake_vsock f;
	struct fv_conn bulk[BULK], c;
	int bulk_fd[BULK], fd, worst = 0;

	start(&f);
	for (int i = 0; i < BULK; i++)
		bulk_fd[i] = fv_connect(&f, 5, &bulk[i]);
	fd = fv_connect(&f, 6, &c);
	/* So few buffers that bulk always has to wait for more. */
	fv_starve(&f, &c, 4);

	for (int round = 0; round < ROUNDS; round++) {
		struct fv_packet p;
		int turns = 0;

		for (int i = 0; i < BULK; i++) {
			bulk[i].fwd_cnt = inside(&f, &bulk[i])->sent_cnt;
			fv_send(&f, &bulk[i], VSOCK_OP_CREDIT_UPDATE, NULL, 0);
			(void)send(bulk_fd[i], bytes, sizeof(bytes),
				   MSG_DONTWAIT);
		}
		fv_run(&f);
		ck_assert_int_eq(send(fd, "x", 1, 0), 1);
		fv_run(&f);
		do {
			ck_assert(fv_recv(&f, &p));
			turns++;
		} while (p.host_port != c.host_port);
		worst = MAX(worst, turns);
	}
	/* Buffers filled before it came, then one packet of each other. */
	ck_assert_int_le(worst, (int)f.rx_max + BULK + 1);
	for (int i = 0; i < BULK; i++)
		(void)close(bulk_fd[i]);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(bulk_streams_share_the_buffers_alike)
{
	enum {
		N = 4
	};
	static uint8_t bytes[128u << 10];
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c[N];
	unsigned int count[N] = { 0 };
	int fd[N];

	start(&f);
	for (int i = 0; i < N; i++)
		fd[i] = fv_connect(&f, 5, &c[i]);
	for (int i = 0; i < N; i++)
		ck_assert_int_gt(
			send(fd[i], bytes, sizeof(bytes), MSG_DONTWAIT), 65536);
	for (int k = 0; k < 40; k++) {
		ck_assert(fv_recv(&f, &p));
		for (int i = 0; i < N; i++)
			count[i] += c[i].host_port == p.host_port;
	}
	for (int i = 0; i < N; i++) {
		ck_assert_uint_ge(count[i], 8);
		ck_assert_uint_le(count[i], 12);
		(void)close(fd[i]);
	}
	fv_done(&f);
}
END_TEST

START_TEST(guest_without_receive_buffers_makes_nothing_spin)
{
	static uint8_t bytes[65536];
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c[2];
	size_t got = 0;
	int fd[2];

	start(&f);
	for (int i = 0; i < 2; i++)
		fd[i] = fv_connect(&f, 5, &c[i]);
	fv_starve(&f, &c[0], 1);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(
			send(fd[i], bytes, sizeof(bytes), MSG_DONTWAIT),
			sizeof(bytes));
	fv_run(&f); /* returns */
	ck_assert_int_eq(loop_step(&f.loop, 0), 0);
	/* One buffer at a time, and still all of it. */
	while (fv_recv(&f, &p))
		got += p.op == VSOCK_OP_RW ? p.len : 0;
	ck_assert_uint_eq(got, 2 * sizeof(bytes));
	(void)close(fd[0]);
	(void)close(fd[1]);
	fv_done(&f);
}
END_TEST

/* The queue is there, and is not, and no notification will ever come. */
START_TEST(stopped_receive_queue_makes_nothing_spin)
{
	struct fake_vsock f;
	struct fv_conn c;
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);
	fake_guest_set(&f.g, 0x030, VSOCK_RX); /* QueueSel */
	fake_guest_set(&f.g, 0x044, 0);        /* QueueReady */
	ck_assert_int_eq(send(fd, "abc", 3, MSG_DONTWAIT), 3);
	for (int i = 0; i < 8; i++)
		ck_assert_int_ge(loop_step(&f.loop, 0), 0);
	ck_assert_int_eq(loop_step(&f.loop, 0), 0);
	(void)close(fd);
	fv_run(&f); /* returns */
	fv_done(&f);
}
END_TEST

/* A 64-bit guest with thousands of 1-byte buffers is slow, no more. */
START_TEST(tiny_receive_buffers_work)
{
	struct fake_vsock f;
	struct fv_conn c;
	char text[8] = { 0 };
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);
	/* Put back the large ones: reset, and offer small ones by hand. */
	(void)close(fd);
	fake_guest_boot(&f.g, FV_FEATURES);
	fv_run(&f);
	fd = fv_client(&f);
	ck_assert_int_eq(send(fd, "CONNECT 5\nabcdefg", 17, 0), 17);
	fv_run(&f);
	for (uint16_t i = 0; i < 20; i++) {
		struct virtq_desc d = {
			.addr = le64_put(FG_DATA + 64u * i),
			.len = le32_put(VSOCK_HDR_LEN + 1),
			.flags = le16_put(VIRTQ_DESC_F_WRITE),
		};

		fake_guest_table(&f.g, FG_DESC(0), i, &d);
		fake_guest_offer(&f.g, 0, i);
	}
	fake_guest_set(&f.g, VIRTIO_MMIO_NOTIFY, 0);
	fv_run(&f);
	c = (struct fv_conn){ .guest_port = 5,
			      .host_port = VSOCK_PORT_FIRST + 1,
			      .buf_alloc = 100 };
	fv_send(&f, &c, VSOCK_OP_RESPONSE, NULL, 0);
	ck_assert_uint_ge(fake_guest_used_idx(&f.g, 0), 8);
	for (unsigned int i = 0; i < 7; i++)
		text[i] = (char)*fake_guest_at(
			&f.g, FG_DATA + 64u * (i + 1) + VSOCK_HDR_LEN, 1);
	ck_assert_str_eq(text, "abcdefg");
	(void)close(fd);
	fv_done(&f);
}
END_TEST

CHECK_MAIN("vsock_turns", small_stream_gets_every_other_turn,
	   bulk_streams_share_the_buffers_alike,
	   guest_without_receive_buffers_makes_nothing_spin,
	   stopped_receive_queue_makes_nothing_spin, tiny_receive_buffers_work)
