/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_frames.c - frames of a guest that are not what they say */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "host/net/csum.h"
#include "host/net/limits.h"
#include "host/net/udp.h"
#include "tests/lib/check_main.h"
#include "tests/lib/link_kit.h"

static const struct net_addr outside4 = {
	{ [10] = 0xff, [11] = 0xff, [12] = 93, 184, 216, 34 }
};
static const struct net_addr outside6 = { { 0x26, 0x06, 0x28, [15] = 1 } };
static const struct net_addr local4 = {
	{ [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 }
};
static const struct net_addr nobody;

static uint8_t frame[LK_FRAME_MAX], got[LK_FRAME_MAX];
static struct link_kit k;

static const struct ip4_hdr *ip4(const uint8_t *f)
{
	return (const void *)(f + 14);
}

static uint8_t *l4_of(uint8_t *f, bool v6)
{
	return f + 14 + (v6 ? 40 : 20);
}

/* ---- Ethernet ---- */

static size_t echo4(const struct net_addr *dst)
{
	static const uint8_t echo[] = { ICMP_ECHO, 0, 0, 0, 0, 9, 0, 1, 'h' };

	return lk_ip4(frame, IP_ICMP, dst, echo, sizeof(echo));
}

START_TEST(only_the_guests_mac_is_heard)
{
	size_t len;

	lk_init(&k);
	len = echo4(&ends_gateway4);
	frame[11] ^= 1;
	lk_send(&k, frame, len);
	ck_assert_uint_eq(k.net.stats.spoofed, 1);
	ck_assert_uint_eq(lk_recv(&k, got), 0);
	frame[11] ^= 1;
	lk_send(&k, frame, len);
	ck_assert_uint_eq(lk_recv(&k, got), len);
	lk_done(&k);
}
END_TEST

START_TEST(frames_for_somebody_else_are_not_ours)
{
	size_t len;

	lk_init(&k);
	len = echo4(&ends_gateway4);
	frame[5] ^= 1;
	lk_send(&k, frame, len);
	ck_assert_uint_eq(lk_recv(&k, got), 0);
	ck_assert_uint_eq(k.net.stats.unserved, 1);
	lk_done(&k);
}
END_TEST

START_TEST(other_protocols_of_ethernet_are_not_served)
{
	lk_init(&k);
	(void)lk_eth(frame, 0x88cc);
	lk_send(&k, frame, 60);
	ck_assert_uint_eq(k.net.stats.unserved, 1);
	lk_done(&k);
}
END_TEST

/* ---- ARP ---- */

static size_t arp_request(void)
{
	struct arp a = { .htype = be16_put(1),
			 .ptype = be16_put(ETH_IP4),
			 .hlen = 6,
			 .plen = 4,
			 .op = be16_put(ARP_REQUEST),
			 .from_ip = { 198, 18, 0, 2 },
			 .to_ip = { 198, 18, 0, 1 } };

	memcpy(a.from_mac, ends_guest_mac, 6);
	(void)lk_eth(frame, ETH_ARP);
	memcpy(frame + 14, &a, sizeof(a));
	return 14 + sizeof(a);
}

START_TEST(arp_for_the_gateway_is_answered)
{
	const struct arp *a = (const void *)(got + 14);

	lk_init(&k);
	lk_send(&k, frame, arp_request());
	ck_assert_uint_eq(lk_recv(&k, got), 42);
	ck_assert_uint_eq(be16_get(a->op), ARP_REPLY);
	ck_assert_mem_eq(a->from_mac, ends_gateway_mac, 6);
	ck_assert_mem_eq(a->from_ip, "\xc6\x12\0\x01", 4);
	ck_assert_mem_eq(a->to_mac, ends_guest_mac, 6);
	lk_done(&k);
}
END_TEST

START_TEST(arp_that_lies_is_dropped)
{
	static const struct {
		size_t at;
		uint8_t value;
		size_t len;
	} bad[] = {
		{ 1, 6, 28 },    /* no Ethernet */
		{ 2, 0x86, 28 }, /* no IPv4 */
		{ 4, 8, 28 },    /* long MACs */
		{ 5, 16, 28 },   /* long addresses */
		{ 13, 9, 28 },   /* somebody else's MAC */
		{ 17, 3, 28 },   /* somebody else's address */
		{ 0, 0, 27 },    /* cut short */
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		lk_init(&k);
		(void)arp_request();
		frame[14 + bad[i].at] = bad[i].value;
		lk_send(&k, frame, 14 + bad[i].len);
		ck_assert_msg(lk_recv(&k, got) == 0, "case %zu", i);
		ck_assert_uint_eq(k.net.stats.bad_frames, 1);
		lk_done(&k);
	}
}
END_TEST

START_TEST(arp_for_others_is_not_answered)
{
	lk_init(&k);
	(void)arp_request();
	frame[14 + 27] = 77;
	lk_send(&k, frame, 42);
	(void)arp_request();
	frame[14 + 7] = ARP_REPLY;
	lk_send(&k, frame, 42);
	ck_assert_uint_eq(lk_recv(&k, got), 0);
	lk_done(&k);
}
END_TEST

/* ---- Neighbours ---- */

static size_t solicit(const struct net_addr *target, bool option)
{
	uint8_t ns[32] = { ICMP6_NS, [24] = ND_OPT_SOURCE, [25] = 1 };
	const struct net_addr group = { { 0xff, 2, [11] = 1, 0xff, [15] = 1 } };

	memcpy(ns + 8, target->b, 16);
	memcpy(ns + 26, ends_guest_mac, 6);
	return lk_ip6(frame, IP_ICMP6, &group, ns, option ? 32 : 24);
}

START_TEST(the_gateway_is_a_neighbour)
{
	const struct net_addr *const targets[] = { &ends_gateway6,
						   &ends_local6 };

	for (size_t i = 0; i < 2; i++) {
		const struct nd *na = (const void *)l4_of(got, true);
		uint64_t sum;

		lk_init(&k);
		lk_send(&k, frame, solicit(targets[i], true));
		ck_assert_uint_eq(lk_recv(&k, got), 14 + 40 + 32);
		ck_assert_uint_eq(na->type, ICMP6_NA);
		ck_assert_mem_eq(na->target, targets[i]->b, 16);
		ck_assert_mem_eq(l4_of(got, true) + 26, ends_gateway_mac, 6);
		ck_assert(be32_get(na->flags) & ND_SOLICITED);
		sum = csum_pseudo(got + 14, true, IP_ICMP6, 32);
		ck_assert_uint_eq(
			be16_get(csum_end(csum_add(sum, l4_of(got, true), 32))),
			0);
		lk_done(&k);
	}
}
END_TEST

START_TEST(who_has_no_address_yet_is_answered_to_all)
{
	lk_init(&k);
	(void)solicit(&ends_gateway6, false);
	memcpy(frame + 14 + 8, nobody.b, 16);
	lk_send(&k, frame, 14 + 40 + 24);
	ck_assert_uint_gt(lk_recv(&k, got), 0);
	ck_assert_mem_eq(got + 14 + 24, "\xff\x02", 2);
	lk_done(&k);
}
END_TEST

START_TEST(solicitations_that_lie_are_dropped)
{
	static const struct {
		size_t at;
		uint8_t value;
		size_t len;
	} bad[] = {
		{ 7, 64, 72 },            /* came over a router, it says */
		{ 40 + 1, 1, 72 },        /* another code */
		{ 40 + 8, 0xff, 72 },     /* for a group */
		{ 40 + 25, 0, 72 },       /* an option of no length */
		{ 40 + 25, 2, 72 },       /* longer than what came */
		{ 40 + 0, ICMP6_NS, 63 }, /* cut short */
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct ip6_hdr *ip = (void *)(frame + 14);

		lk_init(&k);
		(void)solicit(&ends_gateway6, true);
		frame[14 + bad[i].at] = bad[i].value;
		ip->len = be16_put((uint16_t)(bad[i].len - 40));
		lk_send(&k, frame, 14 + bad[i].len);
		ck_assert_msg(lk_recv(&k, got) == 0, "case %zu", i);
		ck_assert_msg(k.net.stats.bad_frames == 1, "case %zu", i);
		lk_done(&k);
	}
}
END_TEST

START_TEST(nobody_has_no_mac)
{
	lk_init(&k);
	(void)solicit(&ends_gateway6, true);
	memcpy(frame + 14 + 8, nobody.b, 16);
	lk_send(&k, frame, 14 + 40 + 32);
	ck_assert_uint_eq(lk_recv(&k, got), 0);
	lk_done(&k);
}
END_TEST

/* ---- Sources ---- */

START_TEST(other_sources_of_ip4_are_dropped)
{
	size_t len;

	lk_init(&k);
	len = echo4(&ends_gateway4);
	frame[14 + 15] = 3;
	lk_csum4(frame);
	lk_send(&k, frame, len);
	ck_assert_uint_eq(k.net.stats.spoofed, 1);
	ck_assert_uint_eq(lk_recv(&k, got), 0);
	lk_done(&k);
}
END_TEST

START_TEST(other_sources_of_ip6_are_dropped)
{
	static const uint8_t udp[] = { 0, 9, 0, 9, 0, 8, 0, 0 };
	static const uint8_t echo[] = { ICMP6_ECHO, 0, 0, 0, 0, 1, 0, 1 };
	const struct net_addr link_local = { { 0xfe, 0x80, [15] = 9 } };
	const struct {
		const uint8_t *l4;
		const struct net_addr *src;
		const struct net_addr *dst;
		uint8_t proto;
		bool spoofed;
	} cases[] = {
		{ udp, &outside6, &outside6, IP_UDP, true },
		{ udp, &link_local, &outside6, IP_UDP, true },
		{ echo, &link_local, &outside6, IP_ICMP6, true },
		{ echo, &outside6, &ends_gateway6, IP_ICMP6, true },
		{ echo, &link_local, &ends_local6, IP_ICMP6, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t len = lk_ip6(frame, cases[i].proto, cases[i].dst,
				    cases[i].l4, 8);

		lk_init(&k);
		memcpy(frame + 14 + 8, cases[i].src->b, 16);
		lk_send(&k, frame, len);
		ck_assert_msg(k.net.stats.spoofed == cases[i].spoofed,
			      "case %zu", i);
		ck_assert_uint_eq(k.asked, 0);
		lk_done(&k);
	}
}
END_TEST

/* ---- ICMP ---- */

START_TEST(the_gateway_echoes)
{
	const struct icmp_hdr *h = (const void *)l4_of(got, false);

	lk_init(&k);
	lk_send(&k, frame, echo4(&ends_gateway4));
	ck_assert_uint_eq(lk_recv(&k, got), 14 + 20 + 9);
	ck_assert_uint_eq(h->type, ICMP_ECHO_REPLY);
	ck_assert_uint_eq(be16_get(h->a), 9);
	ck_assert_uint_eq(be16_get(csum_end(csum_add(0, h, 9))), 0);
	ck_assert_uint_eq(k.asked, 0);
	lk_done(&k);
}
END_TEST

START_TEST(an_echo_outside_is_judged)
{
	lk_init(&k);
	k.how = JUDGE_DENY;
	lk_send(&k, frame, echo4(&outside4));
	ck_assert_uint_eq(k.asked, 1);
	ck_assert_int_eq(k.attempt.proto, NET_ICMP);
	ck_assert_uint_eq(lk_recv(&k, got), 14 + 20 + 8 + 20 + 8);
	ck_assert_uint_eq(l4_of(got, false)[0], ICMP_UNREACH);
	ck_assert_uint_eq(l4_of(got, false)[1], ICMP_ADMIN_PROHIB);
	lk_done(&k);
}
END_TEST

START_TEST(icmp_that_is_cut_short_is_dropped)
{
	static const uint8_t echo[7] = { ICMP_ECHO };

	lk_init(&k);
	lk_send(&k, frame, lk_ip4(frame, IP_ICMP, &ends_gateway4, echo, 7));
	ck_assert_uint_eq(k.net.stats.bad_frames, 1);
	lk_done(&k);
}
END_TEST

START_TEST(other_messages_of_icmp_are_not_answered)
{
	static const uint8_t types[] = { 0, 3, 5, 9, 10, 11, 13, 17 };

	lk_init(&k);
	for (size_t i = 0; i < sizeof(types); i++) {
		uint8_t l4[8] = { types[i] };

		lk_send(&k, frame,
			lk_ip4(frame, IP_ICMP, &ends_gateway4, l4, 8));
	}
	ck_assert_uint_eq(lk_recv(&k, got), 0);
	ck_assert_uint_eq(k.net.stats.unserved, sizeof(types));
	lk_done(&k);
}
END_TEST

START_TEST(other_protocols_are_refused)
{
	lk_init(&k);
	lk_send(&k, frame, lk_ip4(frame, 132, &outside4, "12345678", 8));
	ck_assert_uint_gt(lk_recv(&k, got), 0);
	ck_assert_uint_eq(l4_of(got, false)[1], ICMP_PROTO_UNREACH);
	ck_assert_uint_eq(ip4(got)->src[3], 1);
	lk_done(&k);
}
END_TEST

START_TEST(groups_are_not_served)
{
	const struct net_addr group4 = {
		{ [10] = 0xff, [11] = 0xff, [12] = 224, [15] = 251 }
	};
	const struct net_addr group6 = { { 0xff, 2, [15] = 0xfb } };
	static const uint8_t udp[] = { 0, 9, 0, 9, 0, 8, 0, 0 };

	lk_init(&k);
	lk_send(&k, frame, lk_ip4(frame, IP_UDP, &group4, udp, 8));
	lk_send(&k, frame, lk_ip6(frame, IP_UDP, &group6, udp, 8));
	ck_assert_uint_eq(k.net.stats.unserved, 2);
	ck_assert_uint_eq(k.asked, 0);
	ck_assert_uint_eq(lk_recv(&k, got), 0);
	lk_done(&k);
}
END_TEST

/* ---- UDP ---- */

static size_t udp(const struct net_addr *dst, uint16_t sport, uint16_t dport,
		  uint16_t len)
{
	const struct udp_hdr h = { .sport = be16_put(sport),
				   .dport = be16_put(dport),
				   .len = be16_put(len) };
	uint8_t l4[12] = "zzzzzzzzdata";

	memcpy(l4, &h, sizeof(h));
	return lk_ip4(frame, IP_UDP, dst, l4, sizeof(l4));
}

START_TEST(udp_that_lies_is_dropped)
{
	static const struct {
		uint16_t dport;
		uint16_t len;
	} bad[] = { { 9, 13 }, { 9, 7 }, { 9, 0 }, { 9, 65535 }, { 0, 12 } };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		lk_init(&k);
		lk_send(&k, frame, udp(&local4, 9, bad[i].dport, bad[i].len));
		ck_assert_msg(k.net.stats.bad_frames == 1, "case %zu", i);
		ck_assert_uint_eq(k.asked, 0);
		lk_done(&k);
	}
}
END_TEST

START_TEST(udp_that_is_denied_is_told_so)
{
	lk_init(&k);
	k.how = JUDGE_DENY;
	lk_send(&k, frame, udp(&outside4, 5, 443, 12));
	ck_assert_uint_eq(k.denied, 1);
	ck_assert_uint_eq(k.attempt.port, 443);
	ck_assert_uint_gt(lk_recv(&k, got), 0);
	ck_assert_uint_eq(l4_of(got, false)[1], ICMP_ADMIN_PROHIB);
	/* The packet that is meant, with its ports. */
	ck_assert_mem_eq(l4_of(got, false) + 8 + 16, "\x5d\xb8\xd8\x22", 4);
	ck_assert_mem_eq(l4_of(got, false) + 28, "\0\5\1\xbb", 4);
	ck_assert_uint_eq(k.net.flows.n[NET_UDP], 0);
	lk_done(&k);
}
END_TEST

static int udp_server(uint16_t *ret_port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(in);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&in, len), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	*ret_port = ntohs(in.sin_port);
	return fd;
}

START_TEST(udp_goes_there_and_back)
{
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	const struct udp_hdr *h = (const void *)l4_of(got, false);
	uint16_t port;
	auto_fd int fd = udp_server(&port);
	char buf[16];

	lk_init(&k);
	lk_send(&k, frame, udp(&local4, 4321, port, 12));
	ck_assert_int_eq(recvfrom(fd, buf, sizeof(buf), 0,
				  (struct sockaddr *)&from, &from_len),
			 4);
	ck_assert_mem_eq(buf, "data", 4);
	ck_assert_int_eq(
		sendto(fd, "back", 4, 0, (struct sockaddr *)&from, from_len),
		4);
	ck_assert_uint_eq(lk_wait(&k, got), 14 + 20 + 12);
	ck_assert_uint_eq(be16_get(h->sport), port);
	ck_assert_uint_eq(be16_get(h->dport), 4321);
	ck_assert_mem_eq(l4_of(got, false) + 8, "back", 4);
	lk_done(&k);
}
END_TEST

/* More than the link holds, of several flows: each waits for its turn. */
START_TEST(large_datagrams_wait_for_room)
{
	enum {
		FLOWS = 8,
		EACH = 3
	};
	static uint8_t large[60000];
	struct sockaddr_in from[FLOWS];
	uint16_t port;
	int fd = udp_server(&port);
	unsigned int n = 0;

	lk_init(&k);
	for (unsigned int i = 0; i < FLOWS; i++) {
		socklen_t len = sizeof(from[i]);

		lk_send(&k, frame, udp(&local4, (uint16_t)(100 + i), port, 12));
		ck_assert_int_eq(recvfrom(fd, got, 16, 0,
					  (struct sockaddr *)&from[i], &len),
				 4);
	}
	for (int i = 0; i < FLOWS * EACH; i++)
		ck_assert_int_eq(sendto(fd, large, sizeof(large), 0,
					(struct sockaddr *)&from[i % FLOWS],
					sizeof(from[0])),
				 (ssize_t)sizeof(large));
	while (n < FLOWS * EACH) {
		ck_assert_uint_eq(lk_wait(&k, got), 14 + 28 + sizeof(large));
		n++;
	}
	lk_done(&k);
	(void)close(fd);
}
END_TEST

START_TEST(udp_flows_may_be_fewer)
{
	uint16_t port;
	int fd = udp_server(&port);

	lk_init_with(&k,
		     (struct net_config){ .mtu = NET_MTU_MAX, .udp_max = 3 });
	for (uint16_t i = 0; i < 5; i++)
		lk_send(&k, frame,
			udp(&local4, (uint16_t)(1000 + i), port, 12));
	ck_assert_uint_eq(k.net.flows.n[NET_UDP], 3);
	ck_assert_uint_eq(k.net.stats.evicted, 2);
	lk_done(&k);
	(void)close(fd);
}
END_TEST

/* Who scans loses what nobody answered, and not the one that speaks. */
START_TEST(a_scan_ends_nobody_who_is_answered)
{
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	uint16_t port, port2;
	int fd = udp_server(&port), fd2 = udp_server(&port2);
	char buf[16];

	lk_init(&k);
	lk_send(&k, frame, udp(&local4, 9, port, 12));
	ck_assert_int_eq(recvfrom(fd, buf, sizeof(buf), 0,
				  (struct sockaddr *)&from, &from_len),
			 4);
	ck_assert_int_eq(
		sendto(fd, "back", 4, 0, (struct sockaddr *)&from, from_len),
		4);
	ck_assert_uint_ne(lk_wait(&k, got), 0);
	for (unsigned int i = 0; i < NET_UDP_MAX + 10; i++) {
		lk_send(&k, frame,
			udp(&local4, (uint16_t)(1000 + i), port2, 12));
		(void)recv(fd2, got, sizeof(got), MSG_DONTWAIT);
	}
	ck_assert_uint_eq(k.net.flows.n[NET_UDP], NET_UDP_MAX);
	ck_assert_uint_eq(k.net.stats.evicted, 11);
	ck_assert_int_eq(
		sendto(fd, "more", 4, 0, (struct sockaddr *)&from, from_len),
		4);
	ck_assert_uint_eq(lk_wait(&k, got), 14 + 20 + 12);
	ck_assert_mem_eq(l4_of(got, false) + 8, "more", 4);
	lk_done(&k);
	(void)close(fd);
	(void)close(fd2);
}
END_TEST

static int buffer_of(const struct flow *f, int what)
{
	socklen_t len = sizeof(int);
	int v = 0;

	ck_assert_int_eq(getsockopt(f->fd, SOL_SOCKET, what, &v, &len), 0);
	return v;
}

/* (The kernel doubles what it is asked for.) */
START_TEST(a_crowd_has_small_buffers)
{
	uint16_t port;
	int fd = udp_server(&port);
	unsigned int n = 0;
	struct list *p;

	lk_init(&k);
	for (unsigned int i = 0; i < NET_LARGE_MAX + 5; i++) {
		lk_send(&k, frame, udp(&local4, (uint16_t)(100 + i), port, 12));
		(void)recv(fd, got, sizeof(got), MSG_DONTWAIT);
	}
	list_for_each (p, &k.net.flows.all[NET_UDP]) {
		const struct flow *f = list_entry(p, struct flow, kind);
		bool small = ++n > NET_LARGE_MAX;

		ck_assert(f->large == !small);
		ck_assert((buffer_of(f, SO_RCVBUF) == 2 * NET_SMALL_BUFFER) ==
			  small);
		ck_assert((buffer_of(f, SO_SNDBUF) == 2 * NET_SMALL_BUFFER) ==
			  small);
	}
	ck_assert_uint_eq(n, NET_LARGE_MAX + 5);
	/* One that ends makes room for another that is large. */
	flow_end(list_entry(k.net.flows.all[NET_UDP].next, struct flow, kind));
	ck_assert_uint_eq(k.net.n_large, NET_LARGE_MAX - 1);
	lk_send(&k, frame, udp(&local4, 9, port, 12));
	ck_assert(list_entry(k.net.flows.all[NET_UDP].prev, struct flow, kind)
			  ->large);
	lk_done(&k);
	(void)close(fd);
}
END_TEST

START_TEST(the_oldest_udp_flow_makes_room)
{
	uint16_t port;
	int fd = udp_server(&port);

	lk_init(&k);
	for (uint16_t i = 0; i < NET_UDP_MAX + 10; i++)
		lk_send(&k, frame,
			udp(&local4, (uint16_t)(1000 + i), port, 12));
	ck_assert_uint_eq(k.net.flows.n[NET_UDP], NET_UDP_MAX);
	ck_assert_uint_eq(k.net.stats.evicted, 10);
	/* The first has gone: it is judged once more. The last is there. */
	k.asked = 0;
	lk_send(&k, frame, udp(&local4, 1000 + NET_UDP_MAX + 9, port, 12));
	ck_assert_uint_eq(k.asked, 0);
	lk_send(&k, frame, udp(&local4, 1000, port, 12));
	ck_assert_uint_eq(k.asked, 1);
	lk_done(&k);
	(void)close(fd);
}
END_TEST

START_TEST(a_datagram_beyond_the_mtu_comes_in_pieces)
{
	static uint8_t msg[8 + 4000];
	const struct flow_key key = { .peer = outside4,
				      .peer_port = 9,
				      .guest_port = 7,
				      .proto = NET_UDP };
	static const size_t lens[] = { 1256, 1256, 1256, 240 };

	lk_init_with(&k, (struct net_config){ .mtu = 1280 });
	udp_to_guest(&k.net, &key, msg, sizeof(msg));
	net_wake(&k.net);
	link_flush(&k.net.link);
	for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
		ck_assert_uint_eq(lk_recv(&k, got), 34 + lens[i]);
		ck_assert_uint_eq(be16_get(ip4(got)->frag),
				  (i < 3 ? IP4_MF : 0) | i * 1256 / 8);
	}
	ck_assert_uint_eq(lk_recv(&k, got), 0);
	lk_done(&k);
}
END_TEST

CHECK_MAIN("net_frames", only_the_guests_mac_is_heard,
	   frames_for_somebody_else_are_not_ours,
	   other_protocols_of_ethernet_are_not_served,
	   arp_for_the_gateway_is_answered, arp_that_lies_is_dropped,
	   arp_for_others_is_not_answered, the_gateway_is_a_neighbour,
	   who_has_no_address_yet_is_answered_to_all,
	   solicitations_that_lie_are_dropped, nobody_has_no_mac,
	   other_sources_of_ip4_are_dropped, other_sources_of_ip6_are_dropped,
	   the_gateway_echoes, an_echo_outside_is_judged,
	   icmp_that_is_cut_short_is_dropped,
	   other_messages_of_icmp_are_not_answered, other_protocols_are_refused,
	   groups_are_not_served, udp_that_lies_is_dropped,
	   udp_that_is_denied_is_told_so, udp_goes_there_and_back,
	   large_datagrams_wait_for_room, the_oldest_udp_flow_makes_room,
	   udp_flows_may_be_fewer, a_scan_ends_nobody_who_is_answered,
	   a_crowd_has_small_buffers, a_datagram_beyond_the_mtu_comes_in_pieces)
