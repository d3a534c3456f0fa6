/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_agent_net.c - guest-agent/net: what it asks the kernel, what
 * it makes of the answer, and /etc/resolv.conf
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "guest-agent/net.h"
#include "tests/lib/check_main.h"

static const struct msg_net example = {
	.mtu = 9000,
	.n_addrs = 2,
	.n_routes = 2,
	.n_dns = 2,
	.n_search = 2,
	.name = "eth0",
	.addr = { { 4, 24, { 198, 18, 0, 2 } }, { 6, 64, { 0xfd, [15] = 2 } } },
	.route = { { { 4, 0, { 0 } }, { 4, 32, { 198, 18, 0, 1 } } },
		   { { 6, 0, { 0 } }, { 6, 128, { 0xfd, [15] = 1 } } } },
	.dns = { { 4, 32, { 198, 18, 0, 1 } }, { 6, 128, { 0xfd, [15] = 1 } } },
	.search = { "lan", "example.org" },
};

/* Message @i of a batch, which is all of whole messages. */
static struct nlmsghdr message(const struct net_batch *b, unsigned int i,
			       const uint8_t **body)
{
	struct nlmsghdr h = { 0 };
	size_t at = 0;

	for (unsigned int k = 0; k <= i; k++) {
		at += NLMSG_ALIGN(h.nlmsg_len);
		ck_assert_uint_le(at + sizeof(h), b->len);
		memcpy(&h, b->buf + at, sizeof(h));
		ck_assert_uint_ge(h.nlmsg_len, sizeof(h));
		ck_assert_uint_eq(h.nlmsg_seq, k);
	}
	*body = b->buf + at + sizeof(h);
	return h;
}

/* The attribute @type of a message, whose fixed part has @skip bytes. */
static const uint8_t *attr(struct nlmsghdr h, const uint8_t *body, size_t skip,
			   unsigned int type)
{
	size_t at = NLMSG_ALIGN(skip);

	while (at + sizeof(struct rtattr) <= h.nlmsg_len - sizeof(h)) {
		struct rtattr a;

		memcpy(&a, body + at, sizeof(a));
		ck_assert_uint_ge(a.rta_len, sizeof(a));
		if (a.rta_type == type)
			return body + at + sizeof(a);
		at += RTA_ALIGN(a.rta_len);
	}
	return NULL;
}

START_TEST(requests_say_what_was_asked_for)
{
	struct net_batch b;
	struct ifinfomsg link;
	struct ifaddrmsg addr;
	struct rtmsg route;
	const uint8_t *body;
	struct nlmsghdr h;
	uint32_t v;

	net_compose(&b, &example, 7);
	ck_assert_uint_eq(b.n, 5);
	h = message(&b, 0, &body);
	memcpy(&link, body, sizeof(link));
	ck_assert_uint_eq(h.nlmsg_type, RTM_NEWLINK);
	ck_assert_uint_eq(h.nlmsg_flags & NLM_F_REPLACE, 0);
	ck_assert_int_eq(link.ifi_index, 7);
	ck_assert_uint_eq(link.ifi_flags, IFF_UP);
	memcpy(&v, attr(h, body, sizeof(link), IFLA_MTU), sizeof(v));
	ck_assert_uint_eq(v, 9000);
	ck_assert_ptr_null(attr(h, body, sizeof(link), IFLA_IFNAME));
	h = message(&b, 1, &body);
	memcpy(&addr, body, sizeof(addr));
	ck_assert_uint_eq(h.nlmsg_type, RTM_NEWADDR);
	ck_assert_uint_eq(addr.ifa_prefixlen, 24);
	ck_assert_mem_eq(attr(h, body, sizeof(addr), IFA_LOCAL),
			 example.addr[0].addr, 4);
	ck_assert_mem_eq(attr(h, body, sizeof(addr), IFA_BROADCAST),
			 "\306\22\0\377", 4);
	h = message(&b, 2, &body);
	memcpy(&addr, body, sizeof(addr));
	ck_assert_uint_eq(addr.ifa_family, 10);
	ck_assert_uint_eq(addr.ifa_flags, IFA_F_NODAD);
	ck_assert_mem_eq(attr(h, body, sizeof(addr), IFA_ADDRESS),
			 example.addr[1].addr, 16);
	h = message(&b, 4, &body);
	memcpy(&route, body, sizeof(route));
	ck_assert_uint_eq(h.nlmsg_type, RTM_NEWROUTE);
	ck_assert_uint_eq(route.rtm_dst_len, 0);
	ck_assert_ptr_null(attr(h, body, sizeof(route), RTA_DST));
	ck_assert_mem_eq(attr(h, body, sizeof(route), RTA_GATEWAY),
			 example.route[1].via.addr, 16);
	memcpy(&v, attr(h, body, sizeof(route), RTA_OIF), sizeof(v));
	ck_assert_uint_eq(v, 7);
}
END_TEST

START_TEST(largest_network_fits_and_has_its_name)
{
	struct msg_net m = example;
	struct net_batch b;
	const uint8_t *body;
	struct nlmsghdr h;

	m.name = "fifteen-letters";
	m.n_addrs = WIRE_NET_ADDRS_MAX;
	m.n_routes = WIRE_NET_ROUTES_MAX;
	for (unsigned int i = 0; i < m.n_addrs; i++)
		m.addr[i] = example.addr[1];
	for (unsigned int i = 0; i < m.n_routes; i++)
		m.route[i] = (struct wire_route){ { 6, 128, { 1 } },
						  { 6, 128, { 2 } } };
	net_compose(&b, &m, 1);
	ck_assert_uint_eq(b.n, 1 + m.n_addrs + m.n_routes);
	h = message(&b, 0, &body);
	ck_assert_str_eq((const char *)attr(h, body, sizeof(struct ifinfomsg),
					    IFLA_IFNAME),
			 m.name);
}
END_TEST

static size_t answer(uint8_t *to, uint32_t seq, int error)
{
	const struct nlmsghdr h = {
		.nlmsg_len = NLMSG_LENGTH(sizeof(struct nlmsgerr)),
		.nlmsg_type = NLMSG_ERROR,
		.nlmsg_seq = seq,
	};
	const struct nlmsgerr a = { .error = error };

	memcpy(to, &h, sizeof(h));
	memcpy(to + sizeof(h), &a, sizeof(a));
	return NLMSG_ALIGN(h.nlmsg_len);
}

static int judge(const struct net_batch *b, const void *p, size_t len,
		 unsigned int *n, struct err *e)
{
	auto_free void *copy = check_copy(p, len);

	*n = 0;
	return net_answers(b, copy, len, n, e);
}

START_TEST(answers_are_counted_and_the_first_error_told)
{
	struct net_batch b;
	uint8_t buf[256] = { 0 };
	struct err e;
	unsigned int n;
	size_t one, len;

	net_compose(&b, &example, 1);
	one = answer(buf, 0, 0);
	len = one + answer(buf + one, 1, 0);
	ck_assert_int_eq(judge(&b, buf, len, &n, &e), 0);
	ck_assert_uint_eq(n, 2);
	(void)answer(buf + one, 3, -ENETUNREACH);
	ck_assert_int_eq(judge(&b, buf, len, &n, &e), -ENETUNREACH);
	ck_assert_str_eq(e.msg, "network: route: Network is unreachable");
	ck_assert_int_eq(judge(&b, buf, one - 1, &n, &e), -EBADMSG);
	(void)answer(buf, 99, 0);
	ck_assert_int_eq(judge(&b, buf, one, &n, &e), -EBADMSG);
	(void)answer(buf, 0, 0);
	buf[0] = 200; /* longer than there is */
	ck_assert_int_eq(judge(&b, buf, one, &n, &e), -EBADMSG);
	buf[0] = 0;
	ck_assert_int_eq(judge(&b, buf, one, &n, &e), -EBADMSG);
}
END_TEST

START_TEST(text_of_resolv_conf)
{
	char text[NET_RESOLV_MAX], domain[WIRE_NET_DOMAIN_MAX + 1];
	struct msg_net m = example;

	net_resolv_text(&m, text);
	ck_assert_str_eq(text, "search lan example.org\n"
			       "nameserver 198.18.0.1\n"
			       "nameserver fd00::1\n");
	memset(domain, 'x', WIRE_NET_DOMAIN_MAX);
	domain[WIRE_NET_DOMAIN_MAX] = '\0';
	m.n_search = WIRE_NET_SEARCH_MAX;
	for (unsigned int i = 0; i < m.n_search; i++)
		m.search[i] = domain;
	m.n_dns = WIRE_NET_DNS_MAX;
	for (unsigned int i = 0; i < m.n_dns; i++) {
		memset(m.dns[i].addr, 0xff, 16);
		m.dns[i].family = 6;
	}
	net_resolv_text(&m, text);
	ck_assert_uint_gt(strlen(text), 6ul * WIRE_NET_DOMAIN_MAX);
}
END_TEST

static void expect_text(int dir, const char *want)
{
	char buf[64] = { 0 };
	struct stat st;
	int fd = openat(dir, "resolv.conf", O_RDONLY | O_NOFOLLOW);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_mode, S_IFREG | 0644);
	ck_assert_int_eq(read(fd, buf, sizeof(buf) - 1), strlen(want));
	ck_assert_str_eq(buf, want);
	ck_assert_int_eq(close(fd), 0);
}

/* A link to nowhere, as systemd's images have it, and one to a file. */
START_TEST(resolv_conf_is_replaced_and_never_followed)
{
	char path[] = "/tmp/hutch-test-XXXXXX";
	int dir, fd;

	(void)umask(022);
	ck_assert_ptr_nonnull(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY);
	ck_assert_int_ge(dir, 0);
	ck_assert_int_eq(net_write_resolv(dir, "one\n"), 0);
	expect_text(dir, "one\n");
	ck_assert_int_eq(net_write_resolv(dir, "two\n"), 0);
	expect_text(dir, "two\n");
	ck_assert_int_eq(unlinkat(dir, "resolv.conf", 0), 0);
	ck_assert_int_eq(symlinkat("../run/stub.conf", dir, "resolv.conf"), 0);
	ck_assert_int_eq(net_write_resolv(dir, "three\n"), 0);
	expect_text(dir, "three\n");
	ck_assert_int_eq(unlinkat(dir, "resolv.conf", 0), 0);
	fd = openat(dir, "other", O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(symlinkat("other", dir, "resolv.conf"), 0);
	ck_assert_int_eq(net_write_resolv(dir, "four\n"), 0);
	expect_text(dir, "four\n");
	ck_assert_int_eq(lseek(fd, 0, SEEK_END), 0);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_int_eq(unlinkat(dir, "resolv.conf", 0), 0);
	ck_assert_int_eq(mkdirat(dir, "resolv.conf", 0755), 0);
	ck_assert_int_lt(net_write_resolv(dir, "five\n"), 0);
	ck_assert_int_eq(unlinkat(dir, "resolv.conf", AT_REMOVEDIR), 0);
	ck_assert_int_eq(unlinkat(dir, "other", 0), 0);
	ck_assert_int_eq(close(dir), 0);
	ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

CHECK_MAIN("agent_net", requests_say_what_was_asked_for,
	   largest_network_fits_and_has_its_name,
	   answers_are_counted_and_the_first_error_told, text_of_resolv_conf,
	   resolv_conf_is_replaced_and_never_followed)
