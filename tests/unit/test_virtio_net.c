/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_virtio_net.c - vmm/virtio/net: frames both ways, hostile ones
 *
 * Under ThreadSanitizer too.  Nothing here asks how long anything takes.
 */
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fake_net.h"
#include "tests/lib/toy_dev.h"

#define LARGEST (VNET_HDR_LEN + NET_FRAME_MAX)

static const struct vnet_hdr plain;
static uint8_t frame[LARGEST + 1], got[LARGEST + 1];

static struct fake_net *booted(bool vnet, uint64_t features)
{
	struct fake_net *t = fake_net_new(vnet, NULL);

	fake_net_boot(t, features);
	return t;
}

static struct virtio_net_stats stats(struct fake_net *t)
{
	struct virtio_net_stats s;

	virtio_net_stats(t->n, &s);
	return s;
}

static void await_broken(struct fake_net *t)
{
	while (!(fake_guest_reg(&t->g, REG_STATUS) & 0x40))
		(void)sched_yield();
}

static uint16_t config16(struct fake_net *t, unsigned int off)
{
	uint8_t b[2];

	virtio_mmio_bus_ops.read(&t->m, REG_CONFIG + off, b, sizeof(b));
	return (uint16_t)(b[0] | b[1] << 8);
}

static uint64_t offered(struct fake_net *t)
{
	uint64_t f;

	fake_guest_set(&t->g, REG_DEVICE_FEATURES_SEL, 0);
	f = fake_guest_reg(&t->g, REG_DEVICE_FEATURES);
	fake_guest_set(&t->g, REG_DEVICE_FEATURES_SEL, 1);
	return f | (uint64_t)fake_guest_reg(&t->g, REG_DEVICE_FEATURES) << 32;
}

/* A frame goes out, so that the device has looked at all that came before. */
static void expect_out(struct fake_net *t, unsigned int i, size_t len)
{
	size_t hdr = t->n->link->vnet ? VNET_HDR_LEN : 0;
	uint32_t used = 1;

	fake_net_frame(frame, len, i);
	fake_net_send(t, i, &plain, frame, (uint32_t)len);
	ck_assert_uint_eq(fake_net_get(t, got, sizeof(got)), hdr + len);
	ck_assert_mem_eq(got + hdr, frame, len);
	ck_assert_uint_eq(fake_net_take(t, FN_TX, &used), i);
	ck_assert_uint_eq(used, 0);
}

START_TEST(configuration_and_features)
{
	struct fake_net *t = fake_net_new(true, NULL);
	uint8_t mac[6];

	virtio_mmio_bus_ops.read(&t->m, REG_CONFIG, mac, sizeof(mac));
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_DEVICE_ID), 1);
	ck_assert_mem_eq(mac, "\2\0\0\0\0\11", 6);
	ck_assert_uint_eq(config16(t, 6), 1);
	ck_assert_uint_eq(config16(t, 8), 1);
	ck_assert_uint_eq(config16(t, 10), 1500);
	ck_assert_uint_eq(config16(t, 12), 0);
	ck_assert(offered(t) & VIRTIO_NET_F_HOST_TSO4);
	ck_assert(offered(t) & VIRTIO_NET_F_GUEST_CSUM);
	ck_assert(!(offered(t) & VIRTIO_NET_F_MQ));
	fake_net_free(t);
	t = fake_net_new(false, NULL);
	ck_assert(offered(t) & VIRTIO_NET_F_MRG_RXBUF);
	ck_assert(!(offered(t) &
		    (VIRTIO_NET_F_CSUM | VIRTIO_NET_F_GUEST_CSUM |
		     VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_GUEST_TSO6)));
	fake_net_free(t);
}
END_TEST

START_TEST(frames_go_out)
{
	for (int vnet = 0; vnet < 2; vnet++) {
		struct fake_net *t = booted(vnet, 0);

		expect_out(t, 0, NET_FRAME_MIN);
		expect_out(t, 1, 1514);
		expect_out(t, 2, FN_BUF_LEN - VNET_HDR_LEN);
		ck_assert_uint_eq(stats(t).tx_frames, 3);
		ck_assert_uint_eq(stats(t).tx_bad, 0);
		fake_net_free(t);
	}
}
END_TEST

/* Header and frame in pieces of all sizes, behind an indirect table or not. */
START_TEST(frame_in_pieces_goes_out)
{
	struct fake_net *t = booted(true, 0);
	uint64_t at = FN_BUF(FN_TX, 0);
	uint32_t used;

	memset(fake_guest_at(&t->g, at, 12), 0, 12);
	fake_net_frame(frame, 64, 3);
	memcpy(fake_guest_at(&t->g, at + 12, 64), frame, 64);
	fake_net_desc(t, FN_TX, 0,
		      (struct fake_piece){ at, 5, VIRTQ_DESC_F_NEXT, 1 });
	fake_net_desc(t, FN_TX, 1,
		      (struct fake_piece){ at + 5, 0, VIRTQ_DESC_F_NEXT, 2 });
	fake_net_desc(t, FN_TX, 2,
		      (struct fake_piece){ at + 5, 8, VIRTQ_DESC_F_NEXT, 3 });
	fake_net_desc(t, FN_TX, 3, (struct fake_piece){ at + 13, 63, 0, 0 });
	fake_net_offer(t, FN_TX, 0);
	ck_assert_uint_eq(fake_net_get(t, got, sizeof(got)), 76);
	ck_assert_mem_eq(got + 12, frame, 64);
	(void)fake_net_take(t, FN_TX, &used);
	fake_net_free(t);
}
END_TEST

static void offload_out(struct fake_net *t, struct vnet_hdr h, uint32_t len)
{
	fake_net_frame(frame, len, 1);
	fake_net_send(t, 4, &h, frame, len);
	(void)fake_net_take(t, FN_TX, &(uint32_t){ 0 });
}

static struct vnet_hdr tso(uint8_t type, uint16_t size)
{
	return (struct vnet_hdr){ .flags = VNET_NEEDS_CSUM,
				  .gso_type = type,
				  .hdr_len = le16_put(54),
				  .gso_size = le16_put(size),
				  .csum_start = le16_put(34),
				  .csum_offset = le16_put(16),
				  .num_buffers = le16_put(0xffff) };
}

START_TEST(header_of_a_frame_is_passed_on)
{
	const struct vnet_hdr h = tso(VNET_GSO_TCPV4, 1448);
	struct fake_net *t =
		booted(true, VIRTIO_NET_F_CSUM | VIRTIO_NET_F_HOST_TSO4);
	struct vnet_hdr seen;

	offload_out(t, h, 9000);
	ck_assert_uint_eq(fake_net_get(t, got, sizeof(got)), 9012);
	memcpy(&seen, got, sizeof(seen));
	ck_assert_uint_eq(seen.flags, VNET_NEEDS_CSUM);
	ck_assert_uint_eq(seen.gso_type, VNET_GSO_TCPV4);
	ck_assert_uint_eq(le16_get(seen.gso_size), 1448);
	ck_assert_uint_eq(le16_get(seen.num_buffers), 0);
	fake_net_free(t);
}
END_TEST

/* Each is sound but for one thing, and the next frame goes out. */
START_TEST(headers_that_lie_are_dropped)
{
	struct vnet_hdr bad[12];
	struct fake_net *t =
		booted(true, VIRTIO_NET_F_CSUM | VIRTIO_NET_F_HOST_TSO4);

	for (unsigned int i = 0; i < ARRAY_LEN(bad); i++)
		bad[i] = tso(VNET_GSO_TCPV4, 500);
	bad[0].gso_size = le16_put(0);
	bad[1].gso_size = le16_put(1001);
	bad[2].csum_start = le16_put(999);
	bad[3].csum_offset = le16_put(0xffff);
	bad[4].csum_start = le16_put(0xffff);
	bad[5].hdr_len = le16_put(1001);
	bad[6].flags = 0;
	bad[7].gso_type = VNET_GSO_TCPV6; /* not agreed upon */
	bad[8].gso_type = VNET_GSO_UDP_L4;
	bad[9].gso_type = 3; /* UFO */
	bad[10].gso_type = VNET_GSO_TCPV4 | VNET_GSO_ECN;
	bad[11].gso_type = VNET_GSO_ECN;
	for (unsigned int i = 0; i < ARRAY_LEN(bad); i++) {
		offload_out(t, bad[i], 1000);
		ck_assert_uint_eq(stats(t).tx_bad, i + 1);
	}
	expect_out(t, 0, 60);
	ck_assert_uint_eq(virtio_net_dev(t->n)->n_broken, 0);
	fake_net_free(t);
}
END_TEST

START_TEST(checksum_of_who_did_not_ask_is_dropped)
{
	struct vnet_hdr h = tso(VNET_GSO_NONE, 0);
	struct fake_net *t = booted(true, VIRTIO_NET_F_HOST_TSO4);

	offload_out(t, h, 1000);
	ck_assert_uint_eq(stats(t).tx_bad, 1);
	h = tso(VNET_GSO_TCPV4, 500);
	offload_out(t, h, 1000);
	ck_assert_uint_eq(stats(t).tx_bad, 2);
	fake_net_free(t);
}
END_TEST

static void send_len(struct fake_net *t, uint32_t first, uint32_t second)
{
	uint64_t at = FN_BUF(FN_TX, 0);

	memset(fake_guest_at(&t->g, at, VNET_HDR_LEN), 0, VNET_HDR_LEN);
	fake_net_desc(t, FN_TX, 0,
		      (struct fake_piece){ at, first,
					   second ? VIRTQ_DESC_F_NEXT : 0, 1 });
	fake_net_desc(t, FN_TX, 1, (struct fake_piece){ at, second, 0, 0 });
	fake_net_offer(t, FN_TX, 0);
	(void)fake_net_take(t, FN_TX, &(uint32_t){ 0 });
}

START_TEST(frames_too_short_and_too_long_are_dropped)
{
	struct fake_net *t = booted(true, 0);

	send_len(t, 0, 0);
	send_len(t, 11, 0);
	send_len(t, VNET_HDR_LEN + NET_FRAME_MIN - 1, 0);
	send_len(t, 0x8000, (uint32_t)LARGEST + 1 - 0x8000);
	send_len(t, 0x80000, 0x80000);
	ck_assert_uint_eq(stats(t).tx_bad, 5);
	send_len(t, 0x8000, (uint32_t)LARGEST - 0x8000);
	ck_assert_uint_eq(fake_net_get(t, got, sizeof(got)), LARGEST);
	ck_assert_uint_eq(stats(t).tx_bad, 5);
	fake_net_free(t);
}
END_TEST

START_TEST(writable_piece_of_a_frame_to_send_breaks_the_device)
{
	struct fake_net *t = booted(true, 0);

	fake_net_desc(t, FN_TX, 0,
		      (struct fake_piece){ FN_BUF(FN_TX, 0), 100,
					   VIRTQ_DESC_F_NEXT, 1 });
	fake_net_desc(t, FN_TX, 1,
		      (struct fake_piece){ FN_BUF(FN_TX, 1), 100,
					   VIRTQ_DESC_F_WRITE, 0 });
	fake_net_offer(t, FN_TX, 0);
	await_broken(t);
	fake_net_boot(t, 0);
	expect_out(t, 0, 60);
	fake_net_free(t);
}
END_TEST

/* The peer reads nothing: what the socket took in part is finished later. */
START_TEST(slow_peer_gets_every_frame_once)
{
	struct fake_net *t = booted(false, VIRTIO_F_EVENT_IDX);
	const uint32_t len = FN_BUF_LEN - (uint32_t)VNET_HDR_LEN;
	unsigned int n = 0, back = 0;

	for (unsigned int round = 0; round < 4; round++) {
		for (unsigned int i = 0; i < FN_QUEUE; i++) {
			fake_net_frame(frame, len, round * FN_QUEUE + i);
			fake_net_send(t, i, &plain, frame, len);
		}
		for (; n < (round + 1) * FN_QUEUE; n++) {
			ck_assert_uint_eq(fake_net_get(t, got, sizeof(got)),
					  len);
			fake_net_frame(frame, len, n);
			ck_assert_mem_eq(got, frame, len);
		}
		for (; back < n; back++)
			(void)fake_net_take(t, FN_TX, &(uint32_t){ 0 });
	}
	ck_assert_uint_eq(stats(t).tx_frames, n);
	fake_net_free(t);
}
END_TEST

/* As the driver sees it: the header with @n_buf, and the frame. */
static void expect_in(struct fake_net *t, unsigned int first,
		      unsigned int n_buf, size_t len)
{
	size_t sum = 0;

	for (unsigned int i = 0; i < n_buf; i++) {
		uint32_t used = 0;
		unsigned int id = fake_net_take(t, FN_RX, &used);

		ck_assert_uint_eq(id, (first + i) % FN_QUEUE);
		memcpy(got + sum, fake_guest_at(&t->g, FN_BUF(FN_RX, id), used),
		       used);
		sum += used;
	}
	ck_assert_uint_eq(sum, VNET_HDR_LEN + len);
	ck_assert_uint_eq(got[10] | got[11] << 8, n_buf);
	ck_assert_mem_eq(got + VNET_HDR_LEN, frame, len);
}

START_TEST(frames_come_in_by_one_buffer_each)
{
	struct fake_net *t = booted(false, 0);

	fake_net_give(t, 0, 1526);
	fake_net_give(t, 1, 1526);
	fake_net_frame(frame, 1514, 1);
	fake_net_put(t, frame, 1514);
	expect_in(t, 0, 1, 1514);
	fake_net_frame(frame, 14, 2);
	fake_net_put(t, frame, 14);
	expect_in(t, 1, 1, 14);
	fake_net_free(t);
}
END_TEST

START_TEST(frame_comes_in_over_many_buffers)
{
	struct fake_net *t = booted(false, VIRTIO_NET_F_MRG_RXBUF);

	for (unsigned int i = 0; i < FN_QUEUE; i++)
		fake_net_give(t, i, 5000);
	fake_net_frame(frame, NET_FRAME_MAX, 5);
	fake_net_put(t, frame, NET_FRAME_MAX);
	expect_in(t, 0, 14, NET_FRAME_MAX);
	fake_net_frame(frame, 100, 6);
	fake_net_put(t, frame, 100);
	expect_in(t, 14, 1, 100);
	fake_net_free(t);
}
END_TEST

/* The header alone fills the first buffer. */
START_TEST(smallest_buffers_that_there_may_be)
{
	struct fake_net *t = booted(false, VIRTIO_NET_F_MRG_RXBUF);

	for (unsigned int i = 0; i < FN_QUEUE; i++)
		fake_net_give(t, i, 12);
	fake_net_frame(frame, 180, 7);
	fake_net_put(t, frame, 180);
	expect_in(t, 0, 16, 180);
	for (unsigned int i = 0; i < FN_QUEUE; i++)
		fake_net_give(t, i, 12);
	/* No room for this one, ever: it is dropped, and the next is not. */
	fake_net_put(t, frame, 181);
	fake_net_put(t, frame, 180);
	expect_in(t, 0, 16, 180);
	ck_assert_uint_eq(stats(t).rx_dropped, 1);
	fake_net_free(t);
}
END_TEST

START_TEST(frame_waits_for_buffers)
{
	struct fake_net *t =
		booted(false, VIRTIO_NET_F_MRG_RXBUF | VIRTIO_F_EVENT_IDX);

	fake_net_frame(frame, 3000, 8);
	fake_net_put(t, frame, 3000);
	expect_out(t, 0, 60);
	fake_net_frame(frame, 3000, 8);
	fake_net_give(t, 0, 4000);
	expect_in(t, 0, 1, 3000);
	ck_assert_uint_eq(stats(t).rx_dropped, 0);
	fake_net_free(t);
}
END_TEST

/* A driver that has no more to give loses the frame, and no more than that. */
START_TEST(frame_does_not_wait_for_ever)
{
	struct fake_net *t = booted(false, VIRTIO_NET_F_MRG_RXBUF);

	fake_net_give(t, 0, 100);
	fake_net_frame(frame, 3000, 8);
	fake_net_put(t, frame, 3000);
	fake_net_put(t, frame, 50);
	expect_in(t, 0, 1, 50);
	ck_assert_uint_eq(stats(t).rx_dropped, 1);
	fake_net_free(t);
}
END_TEST

START_TEST(buffer_too_small_for_the_frame_is_kept)
{
	struct fake_net *t = booted(false, 0);

	fake_net_give(t, 0, 100);
	fake_net_frame(frame, 88, 8);
	fake_net_put(t, frame, 89);
	fake_net_put(t, frame, 88);
	expect_in(t, 0, 1, 88);
	ck_assert_uint_eq(stats(t).rx_dropped, 1);
	fake_net_free(t);
}
END_TEST

static void expect_broken_by(uint32_t len, unsigned int flags)
{
	struct fake_net *t = booted(false, VIRTIO_NET_F_MRG_RXBUF);

	fake_net_frame(frame, 60, 1);
	fake_net_put(t, frame, 60);
	fake_net_desc(t, FN_RX, 0,
		      (struct fake_piece){ FN_BUF(FN_RX, 0), len, flags, 0 });
	fake_net_offer(t, FN_RX, 0);
	await_broken(t);
	fake_net_boot(t, VIRTIO_NET_F_MRG_RXBUF);
	fake_net_give(t, 3, 1000);
	expect_in(t, 3, 1, 60);
	fake_net_free(t);
}

START_TEST(buffers_that_are_none_break_the_device)
{
	expect_broken_by(0, VIRTQ_DESC_F_WRITE);
	expect_broken_by(1, VIRTQ_DESC_F_WRITE);
	expect_broken_by(11, VIRTQ_DESC_F_WRITE);
	expect_broken_by(1000, 0);
}
END_TEST

START_TEST(header_for_the_guest_is_what_was_agreed_upon)
{
	struct vnet_hdr h = tso(VNET_GSO_TCPV4, 500);
	struct fake_net *t =
		booted(true, VIRTIO_NET_F_GUEST_CSUM | VIRTIO_NET_F_GUEST_TSO4);

	fake_net_give(t, 0, 2000);
	fake_net_frame(frame, 1000, 1);
	memmove(frame + sizeof(h), frame, 1000);
	/* Of these nothing was said. */
	h.gso_type = VNET_GSO_TCPV6;
	memcpy(frame, &h, sizeof(h));
	fake_net_put(t, frame, 1012);
	h = tso(VNET_GSO_TCPV4, 500);
	h.flags |= 0x80;
	memcpy(frame, &h, sizeof(h));
	fake_net_put(t, frame, 1012);
	memmove(frame, frame + sizeof(h), 1000);
	expect_in(t, 0, 1, 1000);
	ck_assert_uint_eq(got[0], VNET_NEEDS_CSUM);
	ck_assert_uint_eq(got[1], VNET_GSO_TCPV4);
	ck_assert_uint_eq(stats(t).rx_dropped, 1);
	fake_net_free(t);
}
END_TEST

START_TEST(peer_that_is_gone_takes_the_link_down)
{
	struct fake_net *t = booted(false, VIRTIO_NET_F_STATUS);

	base_closep(&t->peer);
	t->peer = -1;
	while (config16(t, 6) != 0)
		(void)sched_yield();
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_INTERRUPT_STATUS) & 2, 2);
	ck_assert_uint_eq(atomic_load(&t->lost), 1);
	ck_assert(!stats(t).up);
	/* What is sent is lost, and given back. */
	send_len(t, 100, 0);
	/* And it is no better after a reset. */
	fake_net_boot(t, 0);
	send_len(t, 100, 0);
	ck_assert_uint_eq(config16(t, 6), 0);
	ck_assert_uint_eq(atomic_load(&t->lost), 1);
	fake_net_free(t);
}
END_TEST

START_TEST(length_that_is_none_takes_the_link_down)
{
	static const uint8_t bad[][4] = {
		{ 0, 0, 0, 0 },
		{ 0, 0, 0, 13 },
		{ 0, 1, 0, 14 },
		{ 0xff, 0xff, 0xff, 0xff },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct fake_net *t = booted(false, 0);

		ck_assert_int_eq(write(t->peer, bad[i], 4), 4);
		while (stats(t).up)
			(void)sched_yield();
		fake_net_free(t);
	}
}
END_TEST

/* Half a frame has come when the driver begins anew. */
START_TEST(reset_in_the_middle_of_a_frame)
{
	static const uint8_t head[4] = { 0, 0, 1, 0 };
	struct fake_net *t = booted(false, 0);

	fake_net_give(t, 0, 2000);
	fake_net_frame(frame, 256, 1);
	ck_assert_int_eq(write(t->peer, head, 4), 4);
	ck_assert_int_eq(write(t->peer, frame, 100), 100);
	expect_out(t, 0, 60);
	fake_net_boot(t, 0);
	fake_net_give(t, 1, 2000);
	ck_assert_int_eq(write(t->peer, frame, 156), 156);
	fake_net_frame(frame, 60, 2);
	fake_net_put(t, frame, 60);
	expect_in(t, 1, 1, 60);
	fake_net_free(t);
}
END_TEST

#define CTRL                                                              \
	(VIRTIO_NET_F_CTRL_VQ | VIRTIO_NET_F_CTRL_RX |                    \
	 VIRTIO_NET_F_CTRL_RX_EXTRA | VIRTIO_NET_F_CTRL_MAC_ADDR |        \
	 VIRTIO_NET_F_GUEST_ANNOUNCE | VIRTIO_NET_F_CTRL_GUEST_OFFLOADS | \
	 VIRTIO_NET_F_GUEST_CSUM | VIRTIO_NET_F_GUEST_TSO4)

START_TEST(control_requests)
{
	static const uint8_t on = 1, two = 2, mac[6] = { 2, 1, 2, 3, 4, 5 };
	static const uint8_t many[6] = { 1, 1, 2, 3, 4, 5 };
	static const uint8_t table[14] = { 1, 0, 0, 0, 2, 2, 2, 2, 2, 2 };
	static const uint8_t lie[14] = { 0xff, 0xff, 0xff, 0xff };
	static const le64 some = { { 0x82 } };
	const struct {
		uint8_t class, command;
		uint8_t want;
		uint32_t len;
		const void *args;
	} c[] = {
		{ 0, 0, 0, 1, &on },
		{ 0, 5, 0, 1, &on },
		{ 0, 6, 1, 1, &on },
		{ 0, 0, 1, 1, &two },
		{ 0, 0, 1, 2, table },
		{ 0, 0, 1, 0, NULL },
		{ 1, 0, 0, 14, table },
		{ 1, 0, 1, 13, table },
		{ 1, 0, 1, 3, table },
		{ 1, 0, 1, 14, lie },
		{ 1, 1, 0, 6, mac },
		{ 1, 1, 1, 5, mac },
		{ 1, 1, 1, 6, many },
		{ 1, 2, 1, 6, mac },
		{ 2, 0, 1, 2, table },
		{ 3, 0, 0, 0, NULL },
		{ 3, 0, 1, 1, &on },
		{ 3, 1, 1, 0, NULL },
		{ 4, 0, 1, 2, "\1" },
		{ 5, 0, 0, 8, &some },
		{ 5, 0, 1, 8, "\0\1\0\0\0\0\0" },
		{ 5, 0, 1, 7, &some },
		{ 5, 1, 1, 8, &some },
		{ 255, 255, 1, 1, &on },
	};
	struct fake_net *t = booted(true, CTRL);
	uint8_t seen[6];

	for (size_t i = 0; i < ARRAY_LEN(c); i++)
		ck_assert_msg(fake_net_command(t, c[i].class, c[i].command,
					       c[i].args,
					       c[i].len) == c[i].want,
			      "request %zu", i);
	virtio_mmio_bus_ops.read(&t->m, REG_CONFIG, seen, sizeof(seen));
	ck_assert_mem_eq(seen, mac, sizeof(mac));
	/* What was not agreed upon is refused. */
	fake_net_boot(t, VIRTIO_NET_F_CTRL_VQ);
	ck_assert_uint_eq(fake_net_command(t, 0, 0, &on, 1), 1);
	ck_assert_uint_eq(fake_net_command(t, 1, 1, mac, 6), 1);
	ck_assert_uint_eq(fake_net_command(t, 3, 0, NULL, 0), 1);
	ck_assert_uint_eq(fake_net_command(t, 5, 0, &some, 8), 1);
	fake_net_free(t);
}
END_TEST

START_TEST(control_request_without_room_for_an_answer_breaks_the_device)
{
	struct fake_net *t = booted(true, CTRL);

	fake_net_desc(t, FN_CTRL, 0,
		      (struct fake_piece){ FN_BUF(FN_CTRL, 0), 3, 0, 0 });
	fake_net_offer(t, FN_CTRL, 0);
	await_broken(t);
	fake_net_boot(t, CTRL);
	fake_net_desc(t, FN_CTRL, 0,
		      (struct fake_piece){ FN_BUF(FN_CTRL, 0), 1,
					   VIRTQ_DESC_F_NEXT, 1 });
	fake_net_desc(t, FN_CTRL, 1,
		      (struct fake_piece){ FN_BUF(FN_CTRL, 0), 1,
					   VIRTQ_DESC_F_WRITE, 0 });
	fake_net_offer(t, FN_CTRL, 0);
	await_broken(t);
	fake_net_free(t);
}
END_TEST

/* 5.1.2: its place is behind the pairs that there may be, if MQ was accepted;
 * here it was not.
 */
START_TEST(device_of_several_pairs_with_a_driver_of_one)
{
	static const uint8_t on = 1;
	struct fake_net *t = fake_net_new_pairs(NET_QUEUES_MAX);

	ck_assert(offered(t) & VIRTIO_NET_F_MQ);
	ck_assert_uint_eq(config16(t, 8), NET_QUEUES_MAX);
	fake_guest_set(&t->g, REG_QUEUE_SEL, 2 * NET_QUEUES_MAX);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_QUEUE_NUM_MAX), 256);
	fake_guest_set(&t->g, REG_QUEUE_SEL, 2 * NET_QUEUES_MAX + 1);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_QUEUE_NUM_MAX), 0);
	fake_net_boot(t, CTRL & ~(VIRTIO_NET_F_GUEST_CSUM |
				  VIRTIO_NET_F_GUEST_TSO4 |
				  VIRTIO_NET_F_CTRL_GUEST_OFFLOADS));
	ck_assert_uint_eq(fake_net_command(t, 0, 0, &on, 1), 0);
	ck_assert_uint_eq(fake_net_command(t, 4, 0, "\2", 2), 1);
	expect_out(t, 0, 60);
	fake_net_free(t);
}
END_TEST

START_TEST(pause_moves_nothing)
{
	struct fake_net *t = booted(false, 0);

	virtio_net_pause(t->n);
	while (!virtio_net_is_paused(t->n))
		(void)sched_yield();
	fake_net_give(t, 0, 1000);
	fake_net_frame(frame, 60, 1);
	fake_net_put(t, frame, 60);
	fake_net_send(t, 0, &plain, frame, 60);
	ck_assert_uint_eq(fake_guest_used_idx(&t->g, FN_TX), 0);
	virtio_net_resume(t->n);
	expect_in(t, 0, 1, 60);
	ck_assert_uint_eq(fake_net_get(t, got, sizeof(got)), 60);
	ck_assert_uint_eq(fake_guest_used_idx(&t->g, FN_RX), 1);
	fake_net_free(t);
}
END_TEST

START_TEST(guest_is_asked_to_announce_itself_after_a_pause)
{
	struct fake_net *t = booted(true, CTRL);

	expect_out(t, 0, 60);
	virtio_net_resume(t->n);
	ck_assert_uint_eq(config16(t, 6), 1);
	virtio_net_pause(t->n);
	virtio_net_resume(t->n);
	ck_assert_uint_eq(config16(t, 6), 3);
	ck_assert_uint_eq(fake_guest_reg(&t->g, REG_INTERRUPT_STATUS) & 2, 2);
	ck_assert_uint_eq(fake_net_command(t, 3, 0, NULL, 0), 0);
	ck_assert_uint_eq(config16(t, 6), 1);
	/* Who cannot is not asked. */
	fake_net_boot(t, 0);
	expect_out(t, 0, 60);
	virtio_net_pause(t->n);
	virtio_net_resume(t->n);
	ck_assert_uint_eq(config16(t, 6), 1);
	fake_net_free(t);
}
END_TEST

/* The sums are of test_net_link.c; here, that all go in the end. */
START_TEST(rate_holds_up_and_loses_nothing)
{
	const struct net_rate rate = { .bytes = 100000, .packets = 200 };
	struct fake_net *t = fake_net_new(false, &rate);

	fake_net_boot(t, VIRTIO_NET_F_MRG_RXBUF);
	for (unsigned int i = 0; i < FN_QUEUE; i++)
		fake_net_give(t, i, 1500);
	for (unsigned int i = 0; i < FN_QUEUE; i++) {
		fake_net_frame(frame, 1000, i);
		fake_net_put(t, frame, 1000);
		fake_net_send(t, i, &plain, frame, 1000);
	}
	for (unsigned int i = 0; i < FN_QUEUE; i++) {
		fake_net_frame(frame, 1000, i);
		expect_in(t, i, 1, 1000);
		ck_assert_uint_eq(fake_net_get(t, got, sizeof(got)), 1000);
		ck_assert_mem_eq(got, frame, 1000);
	}
	fake_net_free(t);
}
END_TEST

/* The device may be anywhere in its work when the driver stops a queue. */
START_TEST(queues_stop_and_devices_reset_under_load)
{
	struct fake_net *t = fake_net_new(false, NULL);

	fake_net_frame(frame, 100, 1);
	for (unsigned int round = 0; round < 50; round++) {
		fake_net_boot(t, VIRTIO_NET_F_MRG_RXBUF);
		for (unsigned int i = 0; i < FN_QUEUE; i++) {
			fake_net_give(t, i, 60);
			fake_net_send(t, i, &plain, frame, 100);
		}
		/* So few that the socket has room for them in any case. */
		fake_net_put(t, frame, 100);
		fake_guest_set(&t->g, REG_QUEUE_SEL, round % 2);
		fake_guest_set(&t->g, REG_QUEUE_READY, 0);
		while (recv(t->peer, got, sizeof(got), MSG_DONTWAIT) > 0)
			continue;
	}
	fake_guest_set(&t->g, REG_STATUS, 0);
	ck_assert_uint_eq(virtio_net_dev(t->n)->n_broken, 0);
	fake_net_free(t);
}
END_TEST

CHECK_MAIN("virtio_net", configuration_and_features, frames_go_out,
	   frame_in_pieces_goes_out, header_of_a_frame_is_passed_on,
	   headers_that_lie_are_dropped, checksum_of_who_did_not_ask_is_dropped,
	   frames_too_short_and_too_long_are_dropped,
	   writable_piece_of_a_frame_to_send_breaks_the_device,
	   slow_peer_gets_every_frame_once, frames_come_in_by_one_buffer_each,
	   frame_comes_in_over_many_buffers, smallest_buffers_that_there_may_be,
	   frame_waits_for_buffers, frame_does_not_wait_for_ever,
	   buffer_too_small_for_the_frame_is_kept,
	   buffers_that_are_none_break_the_device,
	   header_for_the_guest_is_what_was_agreed_upon,
	   peer_that_is_gone_takes_the_link_down,
	   length_that_is_none_takes_the_link_down,
	   reset_in_the_middle_of_a_frame, control_requests,
	   control_request_without_room_for_an_answer_breaks_the_device,
	   device_of_several_pairs_with_a_driver_of_one,
	   guest_is_asked_to_announce_itself_after_a_pause, pause_moves_nothing,
	   rate_holds_up_and_loses_nothing,
	   queues_stop_and_devices_reset_under_load)
