/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_link.c - vmm/net and --net: rates, pieces, options */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/lib/check_main.h"
#include "vmm/net/rate.h"
#include "vmm/net_opt.h"

#define MS  1000000ull
#define MIB (1ull << 20)
#define S   1000000000ull

START_TEST(pieces_are_cut)
{
	uint8_t b[10];
	struct iovec v[3] = { { b, 3 }, { b + 3, 0 }, { b + 3, 7 } };

	ck_assert_uint_eq(net_iov_len(v, 3), 10);
	ck_assert_int_eq(net_iov_cut(v, 3, 2, 4), 2);
	ck_assert_ptr_eq(v[0].iov_base, b + 2);
	ck_assert_uint_eq(v[0].iov_len, 1);
	ck_assert_ptr_eq(v[1].iov_base, b + 3);
	ck_assert_uint_eq(v[1].iov_len, 3);
	ck_assert_int_eq(net_iov_cut(v, 2, 4, 1), 0);
	ck_assert_int_eq(net_iov_cut(v, 2, 0, 0), 0);
}
END_TEST

/* Bytes that go in @ms if each frame has @len. */
static uint64_t run(const struct net_rate *rate, size_t len, uint64_t ms)
{
	struct net_limit l;
	uint64_t now = 5 * S, end = now + ms * MS, sum = 0;

	net_limit_init(&l, rate, now);
	while (now < end) {
		uint64_t wait = net_limit_wait(&l, now);

		now += wait;
		if (wait || now >= end)
			continue;
		net_limit_take(&l, len);
		sum += len;
	}
	return sum;
}

START_TEST(rate_is_kept)
{
	const struct net_rate bytes = { .bytes = 1 << 20 };
	const struct net_rate packets = { .packets = 100 };
	const struct net_rate both = { .bytes = 1 << 20, .packets = 100 };
	const struct net_rate most = { .bytes = NET_RATE_BYTES_MAX,
				       .packets = NET_RATE_PACKETS_MAX };
	struct net_limit l;

	/* Ten seconds and the tenth that was saved up, and one frame more. */
	ck_assert_uint_ge(run(&bytes, 1514, 10000), 10 * MIB);
	ck_assert_uint_le(run(&bytes, 1514, 10000),
			  MIB * 101 / 10 + 2 * 1514ull);
	ck_assert_uint_ge(run(&bytes, 65549, 10000), 10 * MIB - 65549);
	ck_assert_uint_le(run(&bytes, 65549, 10000),
			  MIB * 101 / 10 + 2 * 65549ull);
	ck_assert_uint_ge(run(&packets, 1, 10000), 1000);
	ck_assert_uint_le(run(&packets, 1, 10000), 1012);
	ck_assert_uint_le(run(&both, 60, 1000), 60 * 112ull);
	ck_assert_uint_le(run(&both, 65549, 1000),
			  MIB * 11 / 10 + 2 * 65549ull);
	net_limit_init(&l, &most, 0);
	net_limit_take(&l, 65549);
	ck_assert_uint_eq(net_limit_wait(&l, 1), 0);
	/* A long rest fills the bucket and no more. */
	net_limit_init(&l, &packets, 0);
	for (int i = 0; i < 10; i++)
		net_limit_take(&l, 1);
	ck_assert_uint_ge(net_limit_wait(&l, 0), 1);
	ck_assert_uint_eq(net_limit_wait(&l, UINT64_MAX / 2), 0);
	for (int i = 0; i < 10; i++)
		net_limit_take(&l, 1);
	ck_assert_uint_ge(net_limit_wait(&l, UINT64_MAX / 2), 1);
	/* Nor does a clock that goes back. */
	ck_assert_uint_ge(net_limit_wait(&l, 1), 1);
}
END_TEST

START_TEST(rates_are_read)
{
	static const struct {
		const char *word;
		int code;
		struct net_rate rate;
	} c[] = {
		{ "10M/1000p", 0, { 10 << 20, 1000 } },
		{ "1000p/10M", 0, { 10 << 20, 1000 } },
		{ "10M", 0, { 10 << 20, 0 } },
		{ "7p", 0, { 0, 7 } },
		{ "64G", 0, { NET_RATE_BYTES_MAX, 0 } },
		{ "65G", -ERANGE, { 0 } },
		{ "0", -ERANGE, { 0 } },
		{ "0p", -ERANGE, { 0 } },
		{ "1000000001p", -ERANGE, { 0 } },
		{ "", -EINVAL, { 0 } },
		{ "p", -EINVAL, { 0 } },
		{ "/", -EINVAL, { 0 } },
		{ "1M/", -EINVAL, { 0 } },
		{ "/1p", -EINVAL, { 0 } },
		{ "1M/2M", -EINVAL, { 0 } },
		{ "1p/2p", -EINVAL, { 0 } },
		{ "1M/2p/3p", -EINVAL, { 0 } },
		{ "11111111111111111111111111111111111111", -EINVAL, { 0 } },
	};

	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		struct net_rate r = { 0 };
		struct err e = { 0 };
		int code = net_rate_parse("rate", c[i].word, &r, &e);

		ck_assert_msg(!!code == !!c[i].code, "'%s': %d %s", c[i].word,
			      code, e.msg);
		ck_assert_msg(r.bytes == c[i].rate.bytes, "'%s'", c[i].word);
		ck_assert_uint_eq(r.packets, c[i].rate.packets);
		ck_assert(!code == !e.msg[0]);
	}
}
END_TEST

static void expect_bad(const char *v, const char *sentence)
{
	struct net_opt o;
	struct err e = { 0 };

	ck_assert_int_lt(net_opt_parse(v, &o, &e), 0);
	ck_assert_msg(strstr(e.msg, sentence), "'%s': %s", v, e.msg);
}

START_TEST(options_are_read)
{
	static const uint8_t mac[6] = { 2, 0xab, 0, 0, 0, 0xef };
	struct net_opt o;
	struct err e;

	ck_assert_int_eq(net_opt_parse("none", &o, &e), 0);
	ck_assert_int_eq(o.kind, NET_NONE);
	ck_assert_int_eq(net_opt_parse("tap=tap0,mtu=9000,rate=1M", &o, &e), 0);
	ck_assert_int_eq(o.kind, NET_TAP);
	ck_assert_str_eq(o.tap, "tap0");
	ck_assert_uint_eq(o.mtu, 9000);
	ck_assert_uint_eq(o.rate.bytes, 1 << 20);
	ck_assert_uint_eq(o.mac[1], 0x68);
	ck_assert_int_eq(
		net_opt_parse("mac=02:aB:00:00:00:eF,fd=5,vnet-hdr=on", &o, &e),
		0);
	ck_assert_int_eq(o.kind, NET_FD);
	ck_assert_int_eq(o.fd, 5);
	ck_assert(o.vnet);
	ck_assert_mem_eq(o.mac, mac, sizeof(mac));
	ck_assert_int_eq(net_opt_parse("unix=/a/b", &o, &e), 0);
	ck_assert_int_eq(o.kind, NET_UNIX);
	ck_assert_uint_eq(o.path_len, 4);
}
END_TEST

START_TEST(options_that_are_none)
{
	char path[200] = "unix=/";

	memset(path + 6, 'x', 108);
	expect_bad("", "is no word");
	expect_bad("nonesuch", "is no word");
	expect_bad("none,mtu=1500", "is no word");
	expect_bad("mtu=1500", "give one of");
	expect_bad("tap=a,unix=/b", "give one of");
	expect_bad("tap", "needs a value");
	expect_bad("tap=", "1 to 15 bytes");
	expect_bad("tap=sixteen-letters-", "1 to 15 bytes");
	expect_bad("tap=../x", "1 to 15 bytes");
	expect_bad("tap=a%d", "1 to 15 bytes");
	expect_bad("tap=a,tap=b", "given twice");
	expect_bad("fd=x", "fd");
	expect_bad("unix=", "the path of a socket");
	expect_bad(path, "the path of a socket");
	expect_bad("tap=a,mac=02:00:00:00:00", "write it as");
	expect_bad("tap=a,mac=02:00:00:00:00:0g", "write it as");
	expect_bad("tap=a,mac=02-00-00-00-00-00", "write it as");
	expect_bad("tap=a,mac=03:00:00:00:00:00", "of one interface");
	expect_bad("tap=a,mac=00:00:00:00:00:00", "of one interface");
	expect_bad("tap=a,mtu=67", "68 to 65535");
	expect_bad("tap=a,mtu=65536", "68 to 65535");
	expect_bad("tap=a,rate=x", "rate");
	expect_bad("fd=3,vnet-hdr=yes", "on or off");
	expect_bad("tap=a,vnet-hdr=on", "always has it");
}
END_TEST

static void expect_closed(const char *v, int fd, const char *sentence)
{
	struct net_opt o;
	struct err e = { 0 };

	ck_assert_int_eq(net_opt_parse(v, &o, &e), 0);
	o.fd = fd;
	ck_assert_int_lt(net_opt_open(&o, 1, &e), 0);
	ck_assert_msg(strstr(e.msg, sentence), "%s", e.msg);
}

START_TEST(descriptors_are_looked_at)
{
	struct net_link *l = NULL;
	struct net_opt o;
	struct err e;
	int fd[2], other;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	ck_assert_int_eq(net_opt_parse("fd=3,vnet-hdr=on", &o, &e), 0);
	o.fd = fd[0];
	ck_assert_int_eq(net_opt_open(&o, 4, &e), 0);
	ck_assert_int_eq(net_opt_link(&o, &l), 0);
	ck_assert(l->vnet);
	ck_assert_uint_eq(l->n_queues, 1);
	ck_assert_int_eq(o.fd, -1);
	net_link_free(l);
	ck_assert_int_eq(close(fd[1]), 0);

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd), 0);
	expect_closed("fd=3", fd[0], "neither a tap nor a Unix stream");
	expect_closed("fd=3,vnet-hdr=on", fd[0], "vnet-hdr is for Unix");
	ck_assert_int_eq(close(fd[0]), 0);
	ck_assert_int_eq(close(fd[1]), 0);
	other = socket(AF_UNIX, SOCK_STREAM, 0);
	expect_closed("fd=3", other, "is not connected");
	ck_assert_int_eq(close(other), 0);
	expect_closed("unix=/no/such/socket", -1, "cannot connect to");
	expect_closed("tap=nosuchtap", -1, "there is no such interface");
}
END_TEST

START_TEST(socket_is_connected_to_by_its_path)
{
	char dir[] = "/tmp/hutch-test-XXXXXX", path[64], words[96];
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct net_link *l = NULL;
	struct net_opt o;
	struct err e;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/net.sock", dir);
	memcpy(at.sun_path, path, strlen(path) + 1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	(void)snprintf(words, sizeof(words), "unix=%s,mtu=1280", path);
	ck_assert_int_eq(net_opt_parse(words, &o, &e), 0);
	/* Nobody listens yet. */
	ck_assert_int_eq(net_opt_open(&o, 1, &e), -ECONNREFUSED);
	ck_assert_int_eq(listen(fd, 1), 0);
	ck_assert_int_eq(net_opt_open(&o, 1, &e), 0);
	ck_assert_int_eq(o.kind, NET_STREAM);
	ck_assert_int_eq(net_opt_link(&o, &l), 0);
	ck_assert(!l->vnet);
	ck_assert_uint_eq(l->offloads, 0);
	net_link_free(l);
	net_opt_close(&o);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

CHECK_MAIN("net_link", pieces_are_cut, rate_is_kept, rates_are_read,
	   options_are_read, options_that_are_none, descriptors_are_looked_at,
	   socket_is_connected_to_by_its_path)
