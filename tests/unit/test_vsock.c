/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_vsock.c - packets, states and ends of a socket device */
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

START_TEST(config_is_the_guest_cid)
{
	struct fake_vsock f;

	start(&f);

	ck_assert_uint_eq(fake_guest_reg(&f.g, 0x008), 19);
	ck_assert_uint_eq(fake_guest_reg(&f.g, 0x100), 3);
	ck_assert_uint_eq(fake_guest_reg(&f.g, 0x104), 0);
	fv_done(&f);
}
END_TEST

START_TEST(host_connect_exchanges_bytes_both_ways)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);
	ck_assert_uint_eq(c.guest_port, 5);
	ck_assert_uint_eq(c.peer_alloc, VSOCK_WINDOW_MIN);

	fv_send(&f, &c, VSOCK_OP_RW, "from guest", 10);
	expect_bytes(fd, "from guest");
	ck_assert_int_eq(send(fd, "from host", 9, 0), 9);
	fv_run(&f);
	fv_expect(&f, &p, VSOCK_OP_RW);
	ck_assert_uint_eq(p.len, 9);
	ck_assert_mem_eq(p.data, "from host", 9);
	ck_assert_uint_eq(p.fwd_cnt, 10);

	ck_assert_uint_eq(fv_stats(&f).tx_bytes, 10);
	ck_assert_uint_eq(fv_stats(&f).rx_bytes, 9);
	ck_assert_uint_eq(fv_stats(&f).copied_bytes, 0);
	ck_assert_uint_gt(fv_stats(&f).first_byte_ns, 0);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(guest_connect_reaches_the_connectors_socket)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f);
	fv_call(&f, &c, 40000, 7, &fd);

	fv_send(&f, &c, VSOCK_OP_RW, "hi", 2);
	expect_bytes(fd, "hi");
	ck_assert_int_eq(send(fd, "ho", 2, 0), 2);
	fv_run(&f);
	fv_expect(&f, &p, VSOCK_OP_RW);
	ck_assert_uint_eq(p.len, 2);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

/* virtio 1.2, 5.10.6.4: a SHUTDOWN(SEND) only ends the one direction. */
START_TEST(host_half_close_leaves_the_other_way_open)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	char b;
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);

	ck_assert_int_eq(send(fd, "last", 4, 0), 4);
	ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
	fv_run(&f);
	fv_expect(&f, &p, VSOCK_OP_RW);
	ck_assert_uint_eq(p.len, 4);
	fv_expect(&f, &p, VSOCK_OP_SHUTDOWN);
	ck_assert_uint_eq(p.flags, VSOCK_SHUT_SEND);
	fv_send(&f, &c, VSOCK_OP_RW, "answer", 6);
	expect_bytes(fd, "answer");
	fv_shutdown(&f, &c, VSOCK_SHUT_BOTH);
	expect_reset(&f, c.guest_port, c.host_port);
	ck_assert_int_eq(read_now(fd, &b, 1), 0);
	ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(guest_half_close_leaves_the_other_way_open)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	char b;
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);

	fv_send(&f, &c, VSOCK_OP_RW, "last", 4);
	fv_shutdown(&f, &c, VSOCK_SHUT_SEND);
	expect_bytes(fd, "last");
	ck_assert_int_eq(read_now(fd, &b, 1), 0);
	ck_assert_int_eq(send(fd, "answer", 6, 0), 6);
	fv_run(&f);
	fv_expect(&f, &p, VSOCK_OP_RW);
	ck_assert_mem_eq(p.data, "answer", 6);

	/* Both ways are now shut: the guest is told, and answers. */
	(void)shutdown(fd, SHUT_WR);
	fv_run(&f);
	fv_expect(&f, &p, VSOCK_OP_SHUTDOWN);
	ck_assert_uint_eq(p.flags & VSOCK_SHUT_SEND, VSOCK_SHUT_SEND);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(guest_that_will_not_receive_breaks_the_hosts_pipe)
{
	struct fake_vsock f;
	struct fv_conn c;
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);

	fv_shutdown(&f, &c, VSOCK_SHUT_RCV);
	ck_assert_int_eq(send(fd, "x", 1, MSG_NOSIGNAL), -1);
	ck_assert_int_eq(errno, EPIPE);
	fv_send(&f, &c, VSOCK_OP_RW, "still", 5);
	expect_bytes(fd, "still");
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(host_that_will_not_receive_has_the_guest_told)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);

	ck_assert_int_eq(shutdown(fd, SHUT_RD), 0);
	fv_send(&f, &c, VSOCK_OP_RW, "x", 1);
	fv_expect(&f, &p, VSOCK_OP_SHUTDOWN);
	ck_assert_uint_eq(p.flags, VSOCK_SHUT_RCV);
	ck_assert_int_eq(send(fd, "still", 5, 0), 5);
	fv_run(&f);
	fv_expect(&f, &p, VSOCK_OP_RW);
	ck_assert_mem_eq(p.data, "still", 5);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(host_close_delivers_what_it_wrote_before)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);

	ck_assert_int_eq(send(fd, "bye", 3, 0), 3);
	(void)close(fd);
	fv_run(&f);
	fv_expect(&f, &p, VSOCK_OP_RW);
	ck_assert_mem_eq(p.data, "bye", 3);
	do
		fv_expect(&f, &p, VSOCK_OP_SHUTDOWN);
	while (p.flags != VSOCK_SHUT_BOTH);
	ck_assert_uint_eq(fv_stats(&f).n_conns, 1);
	fv_send(&f, &c, VSOCK_OP_RW, "too late", 8); /* was on its way */
	ck_assert(!fv_recv(&f, &p));
	fv_send(&f, &c, VSOCK_OP_RST, NULL, 0);
	ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
	fv_done(&f);
}
END_TEST

/* The host closes while the guest has no room: nothing spins, nothing lost. */
START_TEST(host_close_waits_for_the_guests_credit)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);
	c.buf_alloc = 4;
	fv_send(&f, &c, VSOCK_OP_CREDIT_UPDATE, NULL, 0);

	ck_assert_int_eq(send(fd, "12345678", 8, 0), 8);
	(void)close(fd);
	fv_run(&f); /* returns: the hang-up is not reported for ever */
	do
		ck_assert(fv_recv(&f, &p));
	while (p.op != VSOCK_OP_RW);
	ck_assert_mem_eq(p.data, "1234", 4);
	c.fwd_cnt = 4;
	fv_send(&f, &c, VSOCK_OP_CREDIT_UPDATE, NULL, 0);
	do
		ck_assert(fv_recv(&f, &p));
	while (p.op != VSOCK_OP_RW);
	ck_assert_mem_eq(p.data, "5678", 4);
	do
		fv_expect(&f, &p, VSOCK_OP_SHUTDOWN);
	while (p.flags != VSOCK_SHUT_BOTH);
	fv_done(&f);
}
END_TEST

START_TEST(guest_close_delivers_what_it_sent_before)
{
	static const uint8_t zeros[4096];
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	size_t sent = 0, got = 0;
	uint8_t buf[4096];
	ssize_t n;
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);

	/* Until the host's socket is full and bytes wait in the ring. */
	while (fv_credit(&c) >= sizeof(zeros)) {
		fv_send(&f, &c, VSOCK_OP_RW, zeros, sizeof(zeros));
		sent += sizeof(zeros);
		while (fv_recv(&f, &p))
			fv_note(&c, &p);
	}
	ck_assert_uint_gt(fv_stats(&f).buffered_bytes, 0);
	fv_shutdown(&f, &c, VSOCK_SHUT_BOTH);
	expect_reset(&f, c.guest_port, c.host_port);
	ck_assert_uint_eq(fv_stats(&f).n_conns, 1);
	while ((n = read_now(fd, buf, sizeof(buf))) != 0) {
		if (n == -EAGAIN) {
			fv_run(&f);
			continue;
		}
		ck_assert_int_gt(n, 0);
		got += (size_t)n;
	}
	ck_assert_uint_eq(got, sent);
	fv_run(&f);
	ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
	ck_assert_uint_eq(fv_stats(&f).buffered_bytes, 0);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

/* The end comes behind the bytes, however slowly those are read. */
START_TEST(guest_half_close_waits_for_a_slow_reader)
{
	static const uint8_t zeros[4096];
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	size_t sent = 0, got = 0;
	uint8_t buf[4096];
	ssize_t n;
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);
	while (fv_credit(&c) >= sizeof(zeros)) {
		fv_send(&f, &c, VSOCK_OP_RW, zeros, sizeof(zeros));
		sent += sizeof(zeros);
		while (fv_recv(&f, &p))
			fv_note(&c, &p);
	}
	ck_assert_uint_gt(fv_stats(&f).buffered_bytes, 0);
	fv_shutdown(&f, &c, VSOCK_SHUT_SEND);
	while ((n = read_now(fd, buf, sizeof(buf))) != 0) {
		if (n == -EAGAIN) {
			fv_run(&f);
			continue;
		}
		ck_assert_int_gt(n, 0);
		got += (size_t)n;
	}
	ck_assert_uint_eq(got, sent);
	/* And the other way is open. */
	ck_assert_int_eq(send(fd, "x", 1, 0), 1);
	fv_run(&f);
	do
		ck_assert(fv_recv(&f, &p));
	while (p.op != VSOCK_OP_RW);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

/* Both sides close at once: the guest's SHUTDOWN wants its RST too. */
START_TEST(shutdown_that_crosses_ours_is_answered)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);
	(void)close(fd);
	fv_run(&f);
	do
		fv_expect(&f, &p, VSOCK_OP_SHUTDOWN);
	while (p.flags != VSOCK_SHUT_BOTH);
	fv_shutdown(&f, &c, VSOCK_SHUT_RCV);
	ck_assert(!fv_recv(&f, &p));
	fv_shutdown(&f, &c, VSOCK_SHUT_SEND);
	expect_reset(&f, c.guest_port, c.host_port);
	ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
	fv_done(&f);
}
END_TEST

START_TEST(guest_reset_closes_the_host)
{
	struct fake_vsock f;
	struct fv_packet p;
	struct fv_conn c;
	char b;
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);

	fv_send(&f, &c, VSOCK_OP_RST, NULL, 0);
	ck_assert_int_eq(read_now(fd, &b, 1), 0);
	ck_assert(!fv_recv(&f, &p)); /* a RST is never answered */
	ck_assert_uint_eq(fv_stats(&f).n_conns, 0);
	(void)close(fd);
	fv_done(&f);
}
END_TEST

/* The header in two pieces, the payload in three (hostile-guest: CH 9f405). */
START_TEST(split_packet_arrives_whole)
{
	static const struct {
		unsigned int off;
		unsigned int len;
	} part[] = { { 0, 7 }, { 7, 40 }, { 47, 1 }, { 48, 6 } };
	struct fake_vsock f;
	struct vsock_hdr h;
	struct fv_conn c;
	uint64_t at = FG_DATA + 0x180000;
	uint8_t pkt[54];
	int fd;

	start(&f);
	fd = fv_connect(&f, 5, &c);
	h = fv_packet(c.guest_port, c.host_port, VSOCK_OP_RW);
	h.len = le32_put(10);
	memcpy(pkt, &h, sizeof(h));
	for (unsigned int i = 0; i < 10; i++)
		pkt[sizeof(h) + i] = (uint8_t)('0' + i);

	for (unsigned int i = 0; i < ARRAY_LEN(part); i++) {
		struct virtq_desc d = {
			.addr = le64_put(at + 100ull * i),
			.len = le32_put(part[i].len),
			.flags = le16_put(i + 1 < ARRAY_LEN(part)
						  ? VIRTQ_DESC_F_NEXT
						  : 0),
			.next = le16_put((uint16_t)(i + 1)),
		};

		memcpy(fake_guest_at(&f.g, at + 100ull * i, part[i].len),
		       pkt + part[i].off, part[i].len);
		fake_guest_table(&f.g, FG_DESC(1), i, &d);
	}
	fake_guest_offer(&f.g, 1, 0);
	fake_guest_set(&f.g, VIRTIO_MMIO_NOTIFY, 1);
	fv_run(&f);
	expect_bytes(fd, "0123456789");
	(void)close(fd);
	fv_done(&f);
}
END_TEST

START_TEST(device_works_again_after_a_reset)
{
	struct fake_vsock f;
	struct fv_conn c;
	char b;
	int old, fd;

	start(&f);
	old = fv_connect(&f, 5, &c);

	fv_boot(&f);
	ck_assert_int_eq(read_now(old, &b, 1), 0);
	fd = fv_connect(&f, 5, &c);
	fv_send(&f, &c, VSOCK_OP_RW, "new", 3);
	expect_bytes(fd, "new");
	ck_assert_uint_eq(fv_stats(&f).n_conns, 1);
	(void)close(fd);
	(void)close(old);
	fv_done(&f);
}
END_TEST

START_TEST(event_queue_takes_buffers_and_is_silent)
{
	struct fake_vsock f;

	start(&f);
	fake_guest_offer(&f.g, 2, 0);
	fake_guest_set(&f.g, VIRTIO_MMIO_NOTIFY, 2);
	fv_run(&f);

	ck_assert_uint_eq(fake_guest_used_idx(&f.g, 2), 0);
	ck_assert_uint_eq(fake_guest_reg(&f.g, 0x070), 0xf);
	fv_done(&f);
}
END_TEST

CHECK_MAIN("vsock", config_is_the_guest_cid,
	   host_connect_exchanges_bytes_both_ways,
	   guest_connect_reaches_the_connectors_socket,
	   host_half_close_leaves_the_other_way_open,
	   guest_half_close_leaves_the_other_way_open,
	   guest_that_will_not_receive_breaks_the_hosts_pipe,
	   host_that_will_not_receive_has_the_guest_told,
	   host_close_delivers_what_it_wrote_before,
	   host_close_waits_for_the_guests_credit,
	   guest_close_delivers_what_it_sent_before,
	   guest_half_close_waits_for_a_slow_reader,
	   shutdown_that_crosses_ours_is_answered, guest_reset_closes_the_host,
	   split_packet_arrives_whole, device_works_again_after_a_reset,
	   event_queue_takes_buffers_and_is_silent)
