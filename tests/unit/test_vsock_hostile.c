/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_vsock_hostile.c - what no honest guest sends to a socket device */
#include <errno.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fake_vsock.h"

static void start(struct fake_vsock *f)
{
	fv_init(f,
		&(struct vsock_config){ .hold_port = 1000, .bell_port = 1001 });
	fv_boot(f);
}

static ssize_t read_now(int fd, void *buf, size_t len)
{
	ssize_t n = recv(fd, buf, len, MSG_DONTWAIT);

	return n < 0 ? -errno : n;
}

/* Reads exactly @text, which must be there. */
static void expect_bytes(int fd, const char *text)
{
	char buf[64] = { 0 };
	size_t len = strlen(text);

	ck_assert_int_eq(read_now(fd, buf, len), len);
	ck_assert_str_eq(buf, text);
}

static void expect_reset(struct fake_vsock *f, uint32_t guest_port,
			 uint32_t host_port)
{
	struct fv_packet p;

	fv_expect(f, &p, VSOCK_OP_RST);
	ck_assert_uint_eq(p.guest_port, guest_port);
	ck_assert_uint_eq(p.host_port, host_port);
}

START_TEST(packets_of_no_connection_are_reset)
{
	static const uint8_t ops[] = {
		VSOCK_OP_INVALID,
		VSOCK_OP_RESPONSE,
		VSOCK_OP_SHUTDOWN,
		VSOCK_OP_RW,
		VSOCK_OP_CREDIT_UPDATE,
		VSOCK_OP_CREDIT_REQUEST,
		8,
	};
	struct fake_vsock f;
	struct fv_packet p;
	struct vsock_hdr h;

	start(&f);

	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		h = fv_packet(50, 60, ops[i]);
		fv_send_raw(&f, &h, NULL, 0);
		expect_reset(&f, 50, 60);
	}
	h = fv_packet(50, 60, VSOCK_OP_RST);
	fv_send_raw(&f, &h, NULL, 0);
	ck_assert(!fv_recv(&f, &p));
	ck_assert_uint_eq(f.mmio.vd->n_broken, 0);
	fv_done(&f);
}
END_TEST

START_TEST(wrong_cids_are_dropped_in_silence)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct vsock_hdr h;

	start(&f);

	h = fv_packet(50, 60, VSOCK_OP_RW);
	h.src_cid = le64_put(4);
	fv_send_raw(&f, &h, NULL, 0);
	h = fv_packet(50, 60, VSOCK_OP_RW);
	h.dst_cid = le64_put(1);
	fv_send_raw(&f, &h, NULL, 0);
	h = fv_packet(50, 60, VSOCK_OP_RW);
	h.src_cid = le64_put((1ull << 32) + VSOCK_CID_GUEST);
	fv_send_raw(&f, &h, NULL, 0);

	ck_assert(!fv_recv(&f, &p));
	ck_assert_uint_eq(fv_stats(&f).dropped, 3);
	fv_done(&f);
}
END_TEST

START_TEST(unknown_types_are_reset_and_touch_no_connection)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct vsock_hdr h;
	struct fv_conn c;
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);

	for (unsigned int type = 0; type < 4; type++) {
		if (type == VSOCK_TYPE_STREAM)
			continue;
		h = fv_packet(c.guest_port, c.host_port, VSOCK_OP_RW);
		h.type = le16_put((uint16_t)type);
		fv_send_raw(&f, &h, NULL, 0);
		fv_expect(&f, &p, VSOCK_OP_RST);
		ck_assert_uint_eq(p.type, type);
		h.op = le16_put(VSOCK_OP_RST);
		fv_send_raw(&f, &h, NULL, 0);
		ck_assert(!fv_recv(&f, &p));
	}
	fv_send(&f, &c, VSOCK_OP_RW, "alive", 5);
	expect_bytes(fd, "alive");
	(void)close(fd);
	fv_done(&f);
}
END_TEST

/* Sound in every other way; the connection must not survive the mistake. */
START_TEST(mistakes_of_an_open_connection_reset_it)
{
	enum {
		REQUEST_AGAIN,
		RESPONSE_AGAIN,
		OP_ZERO,
		OP_UNKNOWN,
		RW_AFTER_SHUTDOWN,
		RW_BEYOND_CREDIT,
		LEN_BEYOND_CHAIN,
		N_MISTAKES
	};
	static const uint8_t bytes[VSOCK_WINDOW_MIN + 1];

	for (int m = 0; m < N_MISTAKES; m++) {
		struct fake_vsock f;
		struct vsock_hdr h;
		struct fv_conn c;
		char b[16];
		int fd;

		start(&f);
		fd = fv_connect(&f, 5, &c);
		h = fv_packet(c.guest_port, c.host_port, VSOCK_OP_RW);

		switch (m) {
		case REQUEST_AGAIN:
			fv_send(&f, &c, VSOCK_OP_REQUEST, NULL, 0);
			break;
		case RESPONSE_AGAIN:
			fv_send(&f, &c, VSOCK_OP_RESPONSE, NULL, 0);
			break;
		case OP_ZERO:
			fv_send(&f, &c, 0, NULL, 0);
			break;
		case OP_UNKNOWN:
			fv_send(&f, &c, 8, NULL, 0);
			break;
		case RW_AFTER_SHUTDOWN:
			fv_shutdown(&f, &c, VSOCK_SHUT_SEND);
			fv_send(&f, &c, VSOCK_OP_RW, bytes, 1);
			break;
		case RW_BEYOND_CREDIT:
			fv_send(&f, &c, VSOCK_OP_RW, bytes, sizeof(bytes));
			break;
		default:
			h.len = le32_put(9);
			fv_send_raw(&f, &h, bytes, 8);
			break;
		}

		expect_reset(&f, c.guest_port, c.host_port);
		ck_assert_int_eq(read_now(fd, b, sizeof(b)), 0);
		ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
		ck_assert_uint_eq(f.mmio.vd->n_broken, 0);
		(void)close(fd);
		fv_done(&f);
	}
}
END_TEST

START_TEST(shutdown_without_flags_and_empty_rw_are_harmless)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);

	fv_shutdown(&f, &c, 0);
	fv_shutdown(&f, &c, ~VSOCK_SHUT_BOTH);
	fv_send(&f, &c, VSOCK_OP_RW, NULL, 0);
	fv_send(&f, &c, VSOCK_OP_RW, "ok", 2);
	expect_bytes(fd, "ok");
	ck_assert(!fv_recv(&f, &p));
	(void)close(fd);
	fv_done(&f);
}
END_TEST

/* What the packet says is what counts, even if the chain holds more. */
START_TEST(bytes_behind_the_payload_are_ignored)
{
	struct fake_vsock f;
	struct vsock_hdr h;
	struct fv_conn c;
	char b[16];
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);
	h = fv_packet(c.guest_port, c.host_port, VSOCK_OP_RW);
	h.len = le32_put(3);

	fv_send_raw(&f, &h, "abcdef", 6);
	ck_assert_int_eq(read_now(fd, b, sizeof(b)), 3);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

/* One malformed chain of each kind: the device asks to be reset. */
START_TEST(malformed_chains_need_a_reset)
{
	static const struct {
		unsigned int qi;
		uint32_t len;
		unsigned int flags;
	} bad[] = {
		{ 1, VSOCK_HDR_LEN - 1, 0 },                  /* no header */
		{ 1, 0, 0 },                                  /* nothing */
		{ 1, VSOCK_HDR_LEN, VIRTQ_DESC_F_WRITE },     /* wrong way */
		{ 0, VSOCK_HDR_LEN, VIRTQ_DESC_F_WRITE },     /* no room */
		{ 0, VSOCK_HDR_LEN - 4, VIRTQ_DESC_F_WRITE }, /* less */
		{ 0, 4096, 0 },                               /* wrong way */
		/* Sound but for the 4096 writable bytes that follow. */
		{ 1, VSOCK_HDR_LEN, VIRTQ_DESC_F_NEXT },
		{ 0, 1, VIRTQ_DESC_F_NEXT },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct fake_vsock f;
		struct vsock_hdr h = fv_packet(1, 2, VSOCK_OP_RW);
		struct virtq_desc d = {
			.addr = le64_put(FG_DATA + 0x180000),
			.len = le32_put(bad[i].len),
			.flags = le16_put((uint16_t)bad[i].flags),
			.next = le16_put(101),
		};
		struct virtq_desc more = {
			.addr = le64_put(FG_DATA + 0x190000),
			.len = le32_put(4096),
			.flags = le16_put(VIRTQ_DESC_F_WRITE),
		};
		struct fv_conn c;
		char b;
		int fd;

		start(&f);
		fd = fv_connect(&f, 5, &c);
		/* Use up the good receive buffers, or the bad one waits. */
		f.rx_max = 0;
		for (unsigned int n = 0; bad[i].qi == 0 && f.rx_out > 0; n++) {
			struct fv_packet p;

			fv_send_raw(&f, &h, NULL, 0);
			fv_expect(&f, &p, VSOCK_OP_RST);
		}
		memcpy(fake_guest_at(&f.g, FG_DATA + 0x180000, sizeof(h)), &h,
		       sizeof(h));
		ck_assert_uint_eq(fake_guest_reg(&f.g, 0x070), 0xf);

		if (bad[i].qi == 0)
			fv_send_raw(&f, &h, NULL, 0);
		fake_guest_table(&f.g, FG_DESC(bad[i].qi), 100, &d);
		fake_guest_table(&f.g, FG_DESC(bad[i].qi), 101, &more);
		fake_guest_offer(&f.g, bad[i].qi, 100);
		fake_guest_set(&f.g, VIRTIO_MMIO_NOTIFY, bad[i].qi);
		fv_run(&f);

		ck_assert_uint_eq(fake_guest_reg(&f.g, 0x070), 0x4f);
		ck_assert_uint_eq(fake_guest_reg(&f.g, 0x060) & 2, 2);
		ck_assert_uint_eq(f.mmio.vd->n_broken, 1);
		/* The host's clients do not wait for a dead device. */
		ck_assert_int_eq(read_now(fd, &b, 1), 0);
		(void)close(fd);
		fv_done(&f);
	}
}
END_TEST

/* After a reset no packet of before may turn up in the new rings. */
START_TEST(reset_forgets_what_was_due)
{
	struct fake_vsock f;
	struct vsock_hdr h;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);
	f.rx_max = 0;
	while (f.rx_out > 0) {
		h = fv_packet(1, 2, VSOCK_OP_RW);
		fv_send_raw(&f, &h, NULL, 0);
		ck_assert(fv_recv(&f, &p));
	}
	h = fv_packet(1, 2, VSOCK_OP_RW);
	fv_send_raw(&f, &h, NULL, 0); /* a RST that finds no buffer */
	fv_send(&f, &c, VSOCK_OP_CREDIT_REQUEST, NULL, 0);

	f.rx_max = FV_QUEUE;
	fv_boot(&f);
	ck_assert(!fv_recv(&f, &p));
	(void)close(fd);
	fv_done(&f);
}
END_TEST

/* 100,000 calls to nobody: an answer each, no memory, no connection. */
START_TEST(request_storm_is_refused_one_by_one)
{
	struct fake_vsock f;

	start(&f);
	(void)shutdown(f.connector, SHUT_RDWR);
	fv_run(&f);

	for (uint32_t i = 0; i < 100000; i++) {
		struct vsock_hdr h = fv_packet(1024 + i, 9, VSOCK_OP_REQUEST);

		fv_send_raw(&f, &h, NULL, 0);
		expect_reset(&f, 1024 + i, 9);
	}
	ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
	ck_assert_uint_eq(fv_stats(&f).refused, 100000);
	fv_done(&f);
}
END_TEST

/* The same by a guest that takes no answers: a bounded number is kept. */
START_TEST(answers_without_buffers_are_bounded)
{
	struct fake_vsock f;
	struct fv_packet p;
	unsigned int got = 0;

	start(&f);
	f.rx_max = 0;
	for (uint32_t i = 0; i < 5000; i++) {
		struct vsock_hdr h = fv_packet(1024 + i, 9, VSOCK_OP_RW);

		fv_send_raw(&f, &h, NULL, 0);
	}
	ck_assert_uint_gt(fv_stats(&f).dropped, 0);
	f.rx_max = FV_QUEUE;
	while (fv_recv(&f, &p))
		got++;
	ck_assert_uint_eq(got + fv_stats(&f).dropped, 5000);
	fv_done(&f);
}
END_TEST

CHECK_MAIN("vsock_hostile", packets_of_no_connection_are_reset,
	   wrong_cids_are_dropped_in_silence,
	   unknown_types_are_reset_and_touch_no_connection,
	   mistakes_of_an_open_connection_reset_it,
	   shutdown_without_flags_and_empty_rw_are_harmless,
	   bytes_behind_the_payload_are_ignored, malformed_chains_need_a_reset,
	   reset_forgets_what_was_due, request_storm_is_refused_one_by_one,
	   answers_without_buffers_are_bounded)
