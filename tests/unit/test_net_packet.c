/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_packet.c - IP packets, pieces of them, TCP headers */
#include <errno.h>
#include <string.h>

#include "host/net/csum.h"
#include "host/net/frag.h"
#include "host/net/siphash.h"
#include "host/net/tcp.h"
#include "tests/lib/check_main.h"
#include "tests/lib/link_kit.h"

static const struct net_addr outside4 = {
	{ [10] = 0xff, [11] = 0xff, [12] = 93, 184, 216, 34 }
};
static const struct net_addr outside6 = { { 0x26, 0x06, 0x28, [15] = 1 } };

/* An IP packet without its Ethernet header, on the heap at its exact size. */
static void *packet(bool v6, uint8_t proto, const void *l4, size_t len,
		    size_t *ret_len)
{
	static uint8_t frame[LK_FRAME_MAX];
	const size_t eth = sizeof(struct eth_hdr);
	size_t n = v6 ? lk_ip6(frame, proto, &outside6, l4, len)
		      : lk_ip4(frame, proto, &outside4, l4, len);

	*ret_len = n - eth;
	return check_copy(frame + eth, n - eth);
}

static int parse4(const void *buf, size_t len, struct packet *p)
{
	auto_free void *copy = check_copy(buf, len);

	return packet_ip4(copy, len, p);
}

static int parse6(const void *buf, size_t len, struct packet *p)
{
	auto_free void *copy = check_copy(buf, len);

	return packet_ip6(copy, len, p);
}

static void fix(uint8_t *ip)
{
	struct ip4_hdr *h = (void *)ip;

	h->csum = be16_put(0);
	h->csum = csum_end(csum_add(0, h, (h->ver_ihl & 15u) * (size_t)4));
}

START_TEST(ip4_that_is_sound_is_taken_apart)
{
	struct packet p;
	size_t len;
	auto_free uint8_t *ip = packet(false, IP_UDP, "12345678", 8, &len);

	ck_assert_int_eq(packet_ip4(ip, len, &p), 0);
	ck_assert(!p.v6 && !p.frag);
	ck_assert_uint_eq(p.proto, IP_UDP);
	ck_assert_uint_eq(p.l4_len, 8);
	ck_assert_mem_eq(p.l4, "12345678", 8);
	ck_assert(addr_eq(&p.dst, &outside4));
}
END_TEST

START_TEST(ip4_padding_is_not_data)
{
	struct packet p;
	size_t len;
	auto_free uint8_t *ip = packet(false, IP_UDP, "12345678zzzz", 12, &len);

	((struct ip4_hdr *)(void *)ip)->len = be16_put(28);
	fix(ip);
	ck_assert_int_eq(packet_ip4(ip, len, &p), 0);
	ck_assert_uint_eq(p.l4_len, 8);
}
END_TEST

START_TEST(ip4_options_are_passed_over)
{
	struct packet p;
	size_t len;
	auto_free uint8_t *ip = packet(false, IP_UDP, "oooo12345678", 12, &len);

	ip[0] = 0x46;
	fix(ip);
	ck_assert_int_eq(packet_ip4(ip, len, &p), 0);
	ck_assert_mem_eq(p.l4, "12345678", 8);
	ck_assert_uint_eq(p.l4_len, 8);
}
END_TEST

/* Each is sound but for one thing; the header's sum is right again. */
START_TEST(ip4_that_lies_is_refused)
{
	static const struct {
		size_t at;
		uint8_t value;
		size_t len;
	} bad[] = {
		{ 0, 0x55, 28 }, /* version 5 */
		{ 0, 0x44, 28 }, /* a header of 16 bytes */
		{ 0, 0x4f, 28 }, /* a header longer than what came */
		{ 3, 29, 28 },   /* longer than what came */
		{ 3, 19, 28 },   /* shorter than its header */
		{ 2, 0xff, 28 }, /* far longer */
		{ 8, 0, 28 },    /* no time to live */
		{ 0, 0x45, 19 }, /* cut short */
		{ 0, 0x45, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct packet p;
		size_t len;
		auto_free uint8_t *ip =
			packet(false, IP_UDP, "12345678", 8, &len);

		ip[bad[i].at] = bad[i].value;
		if ((size_t)(ip[0] & 15u) * 4 <= len)
			fix(ip);
		ck_assert_msg(parse4(ip, bad[i].len, &p) == -EBADMSG,
			      "case %zu", i);
	}
}
END_TEST

START_TEST(ip4_with_a_wrong_checksum_is_refused)
{
	struct packet p;
	size_t len;
	auto_free uint8_t *ip = packet(false, IP_UDP, "12345678", 8, &len);

	ip[10] ^= 1;
	ck_assert_int_eq(packet_ip4(ip, len, &p), -EBADMSG);
}
END_TEST

START_TEST(ip6_that_is_sound_is_taken_apart)
{
	struct packet p;
	size_t len;
	auto_free uint8_t *ip = packet(true, IP_UDP, "12345678", 8, &len);

	ck_assert_int_eq(packet_ip6(ip, len, &p), 0);
	ck_assert(p.v6 && !p.frag);
	ck_assert_uint_eq(p.l4_len, 8);
	ck_assert(addr_eq(&p.src, &ends_guest6));
}
END_TEST

START_TEST(ip6_that_lies_is_refused)
{
	static const struct {
		size_t at;
		uint8_t value;
		size_t len;
	} bad[] = {
		{ 0, 0x50, 48 }, { 5, 9, 48 },    { 4, 0xff, 48 },
		{ 7, 0, 48 },    { 0, 0x60, 39 }, { 0, 0x60, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct packet p;
		size_t len;
		auto_free uint8_t *ip =
			packet(true, IP_UDP, "12345678", 8, &len);

		ip[bad[i].at] = bad[i].value;
		ck_assert_msg(parse6(ip, bad[i].len, &p) == -EBADMSG,
			      "case %zu", i);
	}
}
END_TEST

START_TEST(ip6_with_an_ip4_address_in_disguise_is_refused)
{
	struct packet p;
	size_t len;
	auto_free uint8_t *ip = packet(true, IP_UDP, "12345678", 8, &len);

	memcpy(ip + 24, outside4.b, 16);
	ck_assert_int_eq(packet_ip6(ip, len, &p), -EBADMSG);
}
END_TEST

START_TEST(ip6_extension_headers_are_passed)
{
	static const uint8_t l4[] = { IP_DSTOPTS, 0, 1,           4, 0, 0, 0,
				      0, /* hop by hop */
				      IP_ROUTING, 1, 1,           4, 0, 0, 0,
				      0,          0, 0,           0, 0, 0, 0,
				      0,          0, IP_FRAGMENT, 0, 0, 0, 0,
				      0,          0, 0, /* routing, at its end */
				      IP_UDP,     0, 0,           0, 0, 0, 0,
				      9, /* a fragment that is all of it */
				      1,          2, 3,           4, 5, 6, 7,
				      8 };
	struct packet p;
	size_t len;
	auto_free uint8_t *ip = packet(true, IP_HOPOPTS, l4, sizeof(l4), &len);

	ck_assert_int_eq(packet_ip6(ip, len, &p), 0);
	ck_assert_uint_eq(p.proto, IP_UDP);
	ck_assert_uint_eq(p.l4_len, 8);
	ck_assert(!p.frag);
}
END_TEST

START_TEST(ip6_extension_headers_that_lie_are_refused)
{
	static const struct {
		uint8_t next;
		uint8_t l4[16];
	} bad[] = {
		{ IP_DSTOPTS, { IP_UDP, 2 } },       /* longer than what came */
		{ IP_ROUTING, { IP_UDP, 0, 0, 1 } }, /* and whither then? */
		{ IP_FRAGMENT,
		  { IP_FRAGMENT, 0, 0, 1, 0, 0, 0, 1, IP_UDP, 0, 0,
		    1 } }, /* a piece of a piece */
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct packet p;
		size_t len;
		auto_free uint8_t *ip = packet(true, bad[i].next, bad[i].l4,
					       sizeof(bad[i].l4), &len);
		int r = packet_ip6(ip, len, &p);

		/* The last one is a fragment, whose inside nobody reads. */
		ck_assert_msg(r == -EBADMSG || (i == 2 && p.frag &&
						p.proto == IP_FRAGMENT),
			      "case %zu: %d", i, r);
	}
}
END_TEST

START_TEST(ip6_extension_headers_without_end_are_refused)
{
	uint8_t l4[(IP6_EXT_MAX + 1) * 8] = { 0 };
	struct packet p;
	size_t len;

	for (size_t i = 0; i < sizeof(l4); i += 8)
		l4[i] = IP_DSTOPTS;
	/* One fewer is allowed: it is the number that is refused. */
	l4[(size_t)(IP6_EXT_MAX - 2) * 8] = IP_UDP;
	{
		auto_free uint8_t *ip =
			packet(true, IP_DSTOPTS, l4, sizeof(l4), &len);

		ck_assert_int_eq(packet_ip6(ip, len, &p), 0);
	}
	l4[(size_t)(IP6_EXT_MAX - 2) * 8] = IP_DSTOPTS;
	l4[(size_t)IP6_EXT_MAX * 8] = IP_UDP;
	{
		auto_free uint8_t *ip =
			packet(true, IP_DSTOPTS, l4, sizeof(l4), &len);

		ck_assert_int_eq(packet_ip6(ip, len, &p), -EBADMSG);
	}
}
END_TEST

/* ---- Pieces ---- */

static uint8_t bytes[FRAG_BYTES_MAX];

static struct packet piece(uint32_t id, uint32_t off, size_t len, bool more)
{
	return (struct packet){ .src = ends_guest4,
				.dst = outside4,
				.proto = IP_UDP,
				.frag = true,
				.frag_id = id,
				.frag_off = off,
				.frag_more = more,
				.l4 = bytes + off,
				.l4_len = len };
}

static int add(struct frags *fs, struct packet p, uint64_t now)
{
	return frags_add(fs, &p, now);
}

START_TEST(pieces_in_any_order_make_a_datagram)
{
	struct frags fs = { 0 };
	struct packet p = piece(7, 0, 1280, true);

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	ck_assert_int_eq(add(&fs, piece(7, 2560, 100, false), 1), 0);
	ck_assert_int_eq(add(&fs, piece(7, 1280, 1280, true), 1), 0);
	ck_assert_int_eq(frags_add(&fs, &p, 1), 1);
	ck_assert_uint_eq(p.l4_len, 2660);
	ck_assert_mem_eq(p.l4, bytes, 2660);
	ck_assert(!p.frag);
	frags_done(&fs);
}
END_TEST

/* What comes second does not fit what came first. */
START_TEST(pieces_that_contradict_are_dropped)
{
	const struct {
		struct packet first;
		struct packet second;
	} bad[] = {
		{ piece(1, 0, 16, true), piece(1, 8, 16, true) },
		{ piece(1, 8, 16, true), piece(1, 0, 16, true) },
		{ piece(1, 0, 16, true), piece(1, 0, 16, true) },
		{ piece(1, 0, 64, true), piece(1, 8, 8, true) },
		{ piece(1, 64, 8, false), piece(1, 72, 8, true) },
		{ piece(1, 64, 8, false), piece(1, 128, 8, false) },
		{ piece(1, 64, 8, true), piece(1, 0, 8, false) },
		{ piece(1, 0, 16, true), piece(1, 16, 9, true) },
		{ piece(1, 0, 16, true), piece(1, 16, 0, false) },
		{ piece(1, 0, 16, true), piece(1, 65528, 8, false) },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct frags fs = { 0 };

		ck_assert_int_eq(add(&fs, bad[i].first, 1), 0);
		ck_assert_msg(add(&fs, bad[i].second, 1) == -EBADMSG,
			      "case %zu", i);
		/* And nothing makes it whole any more. */
		ck_assert_int_eq(add(&fs, piece(1, 1024, 8, false), 1),
				 -EBADMSG);
		frags_done(&fs);
	}
}
END_TEST

START_TEST(pieces_beyond_the_limit_are_dropped)
{
	struct frags fs = { 0 };

	for (uint32_t i = 0; i < FRAG_PIECES_MAX; i++)
		ck_assert_int_eq(add(&fs, piece(1, i * 16, 8, true), 1), 0);
	ck_assert_int_eq(add(&fs, piece(1, 8, 8, true), 1), -EBADMSG);
	frags_done(&fs);
}
END_TEST

START_TEST(the_oldest_datagram_makes_room)
{
	struct frags fs = { 0 };

	for (uint32_t i = 0; i <= FRAG_DATAGRAMS_MAX; i++)
		ck_assert_int_eq(add(&fs, piece(i, 0, 8, true), i + 1), 0);
	/* The first has gone, so this begins it anew; the second is there. */
	ck_assert_int_eq(add(&fs, piece(1, 8, 8, false), 99), 1);
	ck_assert_int_eq(add(&fs, piece(0, 8, 8, false), 100), 0);
	frags_done(&fs);
}
END_TEST

START_TEST(old_pieces_are_forgotten)
{
	struct frags fs = { 0 };

	ck_assert_int_eq(add(&fs, piece(1, 0, 8, true), 1), 0);
	ck_assert_int_eq(add(&fs, piece(1, 8, 8, false), FRAG_TIMEOUT_NS + 2),
			 0);
	frags_done(&fs);
}
END_TEST

/* ---- TCP headers ---- */

static int parse_tcp(const void *buf, size_t len, struct tcp_seg *s)
{
	auto_free void *copy = check_copy(buf, len);
	struct packet p = { .l4 = copy, .l4_len = len };

	return tcp_seg_parse(&p, s);
}

static const uint8_t syn[] = { 0x12, 0x34, 0, 80, 0,      0,       0,    1,
			       0,    0,    0, 0,  8 << 4, TCP_SYN, 0xff, 0xff,
			       0,    0,    0, 0,  2,      4,       5,    0xb4,
			       1,    3,    3, 7,  0,      0,       0,    0 };

START_TEST(tcp_that_is_sound_is_taken_apart)
{
	struct tcp_seg s;

	ck_assert_int_eq(parse_tcp(syn, sizeof(syn), &s), 0);
	ck_assert_uint_eq(s.mss, 1460);
	ck_assert_int_eq(s.ws, 7);
	ck_assert_uint_eq(s.len, 0);
	ck_assert_uint_eq(s.dport, 80);
}
END_TEST

START_TEST(tcp_that_lies_is_refused)
{
	static const struct {
		size_t at;
		uint8_t value;
		size_t len;
	} bad[] = {
		{ 12, 4 << 4, 32 },  /* a header of 16 bytes */
		{ 12, 15 << 4, 32 }, /* longer than what came */
		{ 3, 0, 32 },        /* port 0 */
		{ 21, 0, 32 },       /* an option of no length */
		{ 21, 1, 32 },       /* shorter than itself */
		{ 21, 13, 32 },      /* longer than the header */
		{ 0, 0x12, 19 },     /* cut short */
		{ 0, 0x12, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		uint8_t buf[sizeof(syn)];
		struct tcp_seg s;

		memcpy(buf, syn, sizeof(syn));
		buf[bad[i].at] = bad[i].value;
		ck_assert_msg(parse_tcp(buf, bad[i].len, &s) == -EBADMSG,
			      "case %zu", i);
	}
}
END_TEST

START_TEST(a_window_scale_beyond_14_is_14)
{
	uint8_t buf[sizeof(syn)];
	struct tcp_seg s;

	memcpy(buf, syn, sizeof(syn));
	buf[27] = 200;
	ck_assert_int_eq(parse_tcp(buf, sizeof(buf), &s), 0);
	ck_assert_int_eq(s.ws, 14);
}
END_TEST

/* ---- Sums ---- */

/* RFC 1071, 3: its own example, and an odd byte more. */
START_TEST(checksum_is_that_of_the_rfc)
{
	static const uint8_t even[] = { 0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7 };
	static const uint8_t odd[] = {
		0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7, 1
	};

	ck_assert_uint_eq(be16_get(csum_fold(csum_add(0, even, 8))), 0xddf2);
	ck_assert_uint_eq(be16_get(csum_fold(csum_add(0, odd, 9))), 0xdef2);
	ck_assert_uint_eq(be16_get(csum_end(csum_add(0, even, 8))), 0x220d);
}
END_TEST

/* The vectors of its authors: key 00..0f, input 00, 01, ... */
START_TEST(siphash_is_that_of_its_authors)
{
	const struct siphash_key key = { { 0x0706050403020100ull,
					   0x0f0e0d0c0b0a0908ull } };
	uint8_t in[16];

	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)i;
	ck_assert_uint_eq(siphash(&key, in, 0), 0x726fdb47dd0e0e31ull);
	ck_assert_uint_eq(siphash(&key, in, 8), 0x93f5f5799a932462ull);
	ck_assert_uint_eq(siphash(&key, in, 16), 0x3f2acc7f57c29bdbull);
}
END_TEST

CHECK_MAIN("net_packet", ip4_that_is_sound_is_taken_apart,
	   ip4_padding_is_not_data, ip4_options_are_passed_over,
	   ip4_that_lies_is_refused, ip4_with_a_wrong_checksum_is_refused,
	   ip6_that_is_sound_is_taken_apart, ip6_that_lies_is_refused,
	   ip6_with_an_ip4_address_in_disguise_is_refused,
	   ip6_extension_headers_are_passed,
	   ip6_extension_headers_that_lie_are_refused,
	   ip6_extension_headers_without_end_are_refused,
	   pieces_in_any_order_make_a_datagram,
	   pieces_that_contradict_are_dropped,
	   pieces_beyond_the_limit_are_dropped, the_oldest_datagram_makes_room,
	   old_pieces_are_forgotten, tcp_that_is_sound_is_taken_apart,
	   tcp_that_lies_is_refused, a_window_scale_beyond_14_is_14,
	   checksum_is_that_of_the_rfc, siphash_is_that_of_its_authors)
