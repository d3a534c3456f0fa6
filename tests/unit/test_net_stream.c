/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_stream.c - frames over a stream */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "host/net/limits.h"
#include "host/net/out.h"
#include "tests/lib/check_main.h"
#include "tests/lib/link_kit.h"

static struct link_kit k;

static void set_up(void)
{
	lk_init(&k);
}

/* An ARP request that is answered, with its length in front. */
static size_t request(uint8_t *buf)
{
	const struct arp arp = { .htype = be16_put(1),
				 .ptype = be16_put(ETH_IP4),
				 .hlen = 6,
				 .plen = 4,
				 .op = be16_put(ARP_REQUEST),
				 .from_mac = { 2, 0x68, 0x75, 0x74, 0x63, 2 },
				 .from_ip = { 198, 18, 0, 2 },
				 .to_ip = { 198, 18, 0, 1 } };
	const size_t len = sizeof(struct vnet_hdr) + 14 + sizeof(arp);
	const be32 prefix = be32_put((uint32_t)len);

	memset(buf, 0, 4 + len);
	memcpy(buf, &prefix, 4);
	(void)lk_eth(buf + 16, ETH_ARP);
	memcpy(buf + 30, &arp, sizeof(arp));
	return 4 + len;
}

static void put(const void *buf, size_t len)
{
	ck_assert_int_eq(send(k.link, buf, len, MSG_NOSIGNAL), (ssize_t)len);
	lk_run(&k);
}

START_TEST(a_frame_may_come_byte_by_byte)
{
	uint8_t buf[256], frame[LK_FRAME_MAX];
	size_t len;

	set_up();
	len = request(buf);
	for (size_t i = 0; i < len; i++)
		put(buf + i, 1);
	ck_assert_uint_eq(lk_recv(&k, frame), 42);
	ck_assert_uint_eq(k.net.stats.frames_in, 1);
	lk_done(&k);
}
END_TEST

START_TEST(several_frames_may_come_at_once)
{
	uint8_t buf[256], frame[LK_FRAME_MAX];
	size_t len;

	set_up();
	len = request(buf);
	memcpy(buf + len, buf, len);
	put(buf, 2 * len);
	ck_assert_uint_eq(lk_recv(&k, frame), 42);
	ck_assert_uint_eq(lk_recv(&k, frame), 42);
	ck_assert_uint_eq(lk_recv(&k, frame), 0);
	lk_done(&k);
}
END_TEST

START_TEST(a_length_that_no_frame_has_ends_the_link)
{
	static const uint32_t bad[] = { 0, 25, NET_FRAME_MAX + 1, 0x7fffffff,
					0xffffffff };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		be32 prefix = be32_put(bad[i]);

		set_up();
		put(&prefix, sizeof(prefix));
		ck_assert(k.over);
		ck_assert_int_eq(k.result, -EPROTO);
		lk_done(&k);
	}
}
END_TEST

START_TEST(the_largest_frame_is_taken)
{
	static uint8_t buf[4 + NET_FRAME_MAX];
	be32 prefix = be32_put(NET_FRAME_MAX);

	set_up();
	memcpy(buf, &prefix, sizeof(prefix));
	put(buf, sizeof(buf));
	ck_assert(!k.over);
	ck_assert_uint_eq(k.net.stats.frames_in, 1);
	lk_done(&k);
}
END_TEST

START_TEST(the_monitors_end_is_the_end)
{
	set_up();
	(void)shutdown(k.link, SHUT_RDWR);
	lk_run(&k);
	ck_assert(k.over);
	ck_assert_int_eq(k.result, 0);
	lk_done(&k);
}
END_TEST

/* A monitor that reads nothing: what is kept for it has a limit. */
START_TEST(answers_that_nobody_reads_are_dropped)
{
	const size_t n = 40000;
	uint8_t buf[256];
	size_t len;

	set_up();
	len = request(buf);
	for (size_t i = 0; i < n; i++)
		put(buf, len);
	ck_assert_uint_gt(k.net.link.dropped, 0);
	ck_assert_uint_le(k.net.link.out_len, LINK_OUT_MAX);
	ck_assert_uint_eq(k.net.stats.frames_in, n);
	lk_done(&k);
}
END_TEST

CHECK_MAIN("net_stream", a_frame_may_come_byte_by_byte,
	   several_frames_may_come_at_once,
	   a_length_that_no_frame_has_ends_the_link, the_largest_frame_is_taken,
	   the_monitors_end_is_the_end, answers_that_nobody_reads_are_dropped)
