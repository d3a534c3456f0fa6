/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_names.c - host names, addresses and which are public */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/net/policy/addr.h"
#include "host/net/policy/name.h"
#include "host/net/policy/own.h"
#include "host/net/policy/pins.h"
#include "tests/lib/check_main.h"

#define L10 "abcdefghi."
#define L60 L10 L10 L10 L10 L10 L10
#define L63 "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc"

static int normal(const char *s, size_t len, char *ret)
{
	char *copy = check_copy(s, len);
	int r = name_normal(copy, len, ret);

	free(copy);
	return r;
}

START_TEST(a_name_has_one_form)
{
	static const struct {
		const char *in;
		const char *out; /* NULL: none */
	} t[] = {
		{ "example.org", "example.org" },
		{ "EXAMPLE.Org", "example.org" },
		{ "example.org.", "example.org" },
		{ "a_b.-x-.example", "a_b.-x-.example" },
		{ "XN--BCHER-KVA.example", "xn--bcher-kva.example" },
		{ "1.2.3.4.in-addr.arpa", "1.2.3.4.in-addr.arpa" },
		{ "127.0.0.1.example", "127.0.0.1.example" },
		{ "0x7f.example.0xg", "0x7f.example.0xg" },
		{ "localhost", "localhost" },
		{ L63 ".org", L63 ".org" },
		{ L60 L60 L60 L60 L10 "org", L60 L60 L60 L60 L10 "org" },
		{ L60 L60 L60 L60 L10 "org.", L60 L60 L60 L60 L10 "org" },
		/* Nothing, or labels of nothing. */
		{ "", NULL },
		{ ".", NULL },
		{ "..", NULL },
		{ "example.org..", NULL },
		{ ".example.org", NULL },
		{ "a..b", NULL },
		/* Longer than a name on the wire can be, or a label. */
		{ L60 L60 L60 L60 L10 "orgs", NULL },
		{ L63 "d.org", NULL },
		/* Bytes that stand for others, or for nothing. */
		{ "ex%61mple.org", NULL },
		{ "example.org%00.evil.example", NULL },
		{ "a b.org", NULL },
		{ "example.org/", NULL },
		{ "example.org:443", NULL },
		{ "user@example.org", NULL },
		{ "*.example.org", NULL },
		{ "b\xc3\xbc"
		  "cher.example",
		  NULL },
		{ "example\xe3\x80\x82org", NULL }, /* IDEOGRAPHIC FULL STOP */
		{ "\xef\xbd\x85xample.org", NULL }, /* FULLWIDTH e */
		{ "example.org\n", NULL },
		/* Addresses, as some program reads them. */
		{ "127.0.0.1", NULL },
		{ "127.0.0.1.", NULL },
		{ "127.1", NULL },
		{ "2130706433", NULL },
		{ "0x7f.1", NULL },
		{ "0x7f000001", NULL },
		{ "0X7F.0.0.1", NULL },
		{ "017700000001", NULL },
		{ "0177.0.0.01", NULL },
		{ "example.1", NULL },
		{ "example.0x", NULL },
		{ "[::1]", NULL },
		{ "::1", NULL },
		{ "fe80::1%eth0", NULL },
	};
	char got[NAME_CAP];

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		int r = normal(t[i].in, strlen(t[i].in), got);

		ck_assert_msg((r == 0) == (t[i].out != NULL), "%s: %d", t[i].in,
			      r);
		if (r == 0)
			ck_assert_str_eq(got, t[i].out);
	}
	ck_assert_int_lt(normal("a\0.org", 6, got), 0);
	ck_assert_int_eq(normal(L63 "d.org", 68, got), -ENAMETOOLONG);
}
END_TEST

START_TEST(an_address_is_one_in_any_spelling)
{
	static const char *const yes[] = {
		"127.0.0.1", "127.1",        "0x7f.1",       "2130706433",
		"::1",       "[::1]",        "fe80::1%eth0", "017700000001",
		"0x",        "example.0x7f", "1.2.3.4.",     "::ffff:127.0.0.1",
	};
	static const char *const no[] = {
		"example.org", "1.2.3.4.org",           "", ".", "0xg",
		"1a",          "127.0.0.1.nip.example",
	};

	for (size_t i = 0; i < ARRAY_LEN(yes); i++)
		ck_assert_msg(name_is_literal(yes[i], strlen(yes[i])), "%s",
			      yes[i]);
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		ck_assert_msg(!name_is_literal(no[i], strlen(no[i])), "%s",
			      no[i]);
}
END_TEST

START_TEST(a_pattern_is_a_name_or_all_below_one)
{
	static const struct {
		const char *in;
		const char *out; /* NULL: refused, and why: */
		const char *why;
	} t[] = {
		{ "api.Example.org.", "api.example.org", NULL },
		{ "*.Example.org", "*.example.org", NULL },
		{ "*", "*", NULL },
		{ "*.org", "*.org", NULL },
		{ "b\xc3\xbc"
		  "cher.example",
		  "xn--bcher-kva.example", NULL },
		{ "*.B\xc3\x9c"
		  "CHER.example",
		  "*.xn--bcher-kva.example", NULL },
		/* Non-transitional: the sharp s stays what it is. */
		{ "fa\xc3\x9f.example", "xn--fa-hia.example", NULL },
		{ "a.*.org", NULL, "star" },
		{ "api*.org", NULL, "star" },
		{ "**.org", NULL, "star" },
		{ "*.", NULL, "no host name" },
		{ "", NULL, "no host name" },
		{ "https://example.org", NULL, "no host name" },
		{ "example.org:443", NULL, "\"ports\"" },
		{ "a..b", NULL, "no host name" },
		{ L63 "d.org", NULL, "too long" },
		{ "*." L60 L60 L60 L60 L10 "org", NULL, "so long" },
		{ "\xc3\xbc\xff.example", NULL, "international" },
		{ "\xe2\x98\xba\xc2\xad.example", NULL, "international" },
	};
	char got[NAME_CAP];

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		char *copy = check_copy(t[i].in, strlen(t[i].in) + 1);
		struct err e = { 0 };
		int r = name_pattern(copy, got, &e);

		ck_assert_msg((r == 0) == (t[i].out != NULL), "%s: %s", t[i].in,
			      e.msg);
		if (t[i].out)
			ck_assert_str_eq(got, t[i].out);
		else
			ck_assert_msg(strstr(e.msg, t[i].why), "%s: %s",
				      t[i].in, e.msg);
		free(copy);
	}
}
END_TEST

START_TEST(a_star_means_what_is_below)
{
	ck_assert(name_matches("example.org", "example.org"));
	ck_assert(!name_matches("example.org", "a.example.org"));
	ck_assert(!name_matches("example.org", "example.org.evil.example"));
	ck_assert(name_matches("*.example.org", "a.example.org"));
	ck_assert(name_matches("*.example.org", "a.b.example.org"));
	ck_assert(!name_matches("*.example.org", "example.org"));
	ck_assert(!name_matches("*.example.org", "evilexample.org"));
	ck_assert(!name_matches("*.example.org", "a.example.org.evil"));
	ck_assert(name_matches("*", "org"));
	ck_assert(name_matches("*", "a.example.org"));
}
END_TEST

/* ---- Addresses ---- */

static struct net_addr addr(const char *s)
{
	struct net_addr a;

	ck_assert_msg(addr_parse(s, &a) == 0, "%s", s);
	return a;
}

START_TEST(what_is_public_is_known)
{
	static const struct {
		const char *a;
		const char *why; /* NULL: public */
	} t[] = {
		{ "93.184.216.34", NULL },
		{ "8.8.8.8", NULL },
		{ "100.63.255.255", NULL },
		{ "100.128.0.0", NULL },
		{ "172.15.255.255", NULL },
		{ "172.32.0.0", NULL },
		{ "198.17.255.255", NULL },
		{ "198.20.0.0", NULL },
		{ "223.255.255.255", NULL },
		{ "2606:2800:220:1::1", NULL },
		{ "2001:200::1", NULL },
		{ "64:ff9b::8.8.8.8", NULL },
		{ "2002:808:808::1", NULL },
		/* The client 8.8.8.8 has its bits turned: f7f7:f7f7. */
		{ "2001:0:808:808:0:0:f7f7:f7f7", NULL },
		{ "0.0.0.0", "this host" },
		{ "0.1.2.3", "this host" },
		{ "127.0.0.1", "this host" },
		{ "127.255.255.254", "this host" },
		{ "10.0.0.1", "private" },
		{ "172.16.0.1", "private" },
		{ "172.31.255.255", "private" },
		{ "192.168.255.255", "private" },
		{ "100.64.0.1", "provider" },
		{ "100.127.255.255", "provider" },
		{ "169.254.1.1", "link-local" },
		{ "169.254.169.254", "metadata" },
		{ "168.63.129.16", "metadata" },
		{ "100.100.100.200", "metadata" },
		{ "192.0.0.192", "metadata" },
		{ "192.0.0.1", "protocol" },
		{ "192.88.99.1", "protocol" },
		{ "192.0.2.1", "examples" },
		{ "198.51.100.1", "examples" },
		{ "203.0.113.1", "examples" },
		{ "198.18.0.1", "benchmarks" },
		{ "198.19.255.255", "benchmarks" },
		{ "224.0.0.1", "multicast" },
		{ "240.0.0.1", "reserved" },
		{ "255.255.255.255", "reserved" },
		{ "::", "this host" },
		{ "::1", "this host" },
		{ "::2", "reserved" },
		{ "::127.0.0.1", "reserved" },
		{ "::ffff:127.0.0.1", "this host" },
		{ "::ffff:169.254.169.254", "metadata" },
		{ "::ffff:0:127.0.0.1", "reserved" },
		{ "fe80::1", "link-local" },
		{ "febf::1", "link-local" },
		{ "fec0::1", "reserved" },
		{ "fc00::1", "private" },
		{ "fd00:ec2::254", "metadata" },
		{ "ff02::1", "multicast" },
		{ "100::1", "reserved" },
		{ "2001:db8::1", "examples" },
		{ "3fff::1", "examples" },
		{ "5f00::1", "reserved" },
		{ "2001:2::1", "reserved" },
		{ "2001:10::1", "reserved" },
		{ "64:ff9b:1::8.8.8.8", "reserved" },
		{ "64:ff9b::127.0.0.1", "this host" },
		{ "64:ff9b::10.0.0.1", "private" },
		{ "64:ff9b::169.254.169.254", "metadata" },
		{ "2002:7f00:1::1", "this host" },
		{ "2002:a00:1::1", "private" },
		{ "2001:0:7f00:1:0:0:f7f7:f7f7", "this host" },
		{ "2001:0:808:808:0:0:80ff:fffe", "this host" },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct net_addr a = addr(t[i].a);
		const char *why = addr_special(&a);

		if (t[i].why)
			ck_assert_msg(why && strstr(why, t[i].why), "%s: %s",
				      t[i].a, why ? why : "public");
		else
			ck_assert_msg(!why, "%s: %s", t[i].a, why);
	}
}
END_TEST

START_TEST(private_is_less_than_special)
{
	static const char *const yes[] = { "10.1.2.3", "192.168.0.1",
					   "172.16.0.1", "100.64.0.1",
					   "fd12::1" };
	static const char *const no[] = { "127.0.0.1",        "169.254.169.254",
					  "100.100.100.200",  "0.0.0.0",
					  "224.0.0.1",        "::1",
					  "fe80::1",          "8.8.8.8",
					  "64:ff9b::10.0.0.1" };

	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		struct net_addr a = addr(yes[i]);

		ck_assert_msg(addr_is_private(&a), "%s", yes[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(no); i++) {
		struct net_addr a = addr(no[i]);

		ck_assert_msg(!addr_is_private(&a), "%s", no[i]);
	}
}
END_TEST

START_TEST(a_range_is_what_it_says)
{
	static const struct {
		const char *range;
		const char *in;
		const char *out;
	} t[] = {
		{ "10.0.0.0/8", "10.255.255.255", "11.0.0.0" },
		{ "10.0.0.0/8", "10.0.0.0", "9.255.255.255" },
		{ "192.0.2.128/25", "192.0.2.200", "192.0.2.127" },
		{ "192.0.2.1", "192.0.2.1", "192.0.2.0" },
		{ "0.0.0.0/0", "8.8.8.8", "2606::1" },
		{ "::/0", "2606::1", "8.8.8.8" },
		{ "2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1" },
		{ "::ffff:10.0.0.0/104", "10.1.2.3", "11.0.0.0" },
		{ "2001:db8::1", "2001:db8::1", "2001:db8::2" },
	};
	static const char *const bad[] = {
		"",
		"10.0.0.0/",
		"10.0.0.0/33",
		"10.0.0.0/08",
		"10.0.0/8",
		"10.0.0.1/8",
		"10.0.0.0/-1",
		"2001:db8::/129",
		"2001:db8::1/64",
		"fe80::1%eth0",
		"010.0.0.1",
		"0x0a000001",
		"10.0.0.0/8/8",
		"10.0.0.0/8 ",
		"::ffff:0:0/95",
		"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb/4",
	};
	struct addr_range r;

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct net_addr in = addr(t[i].in), out = addr(t[i].out);
		struct err e = { 0 };

		ck_assert_msg(addr_range_parse(t[i].range, &r, &e) == 0,
			      "%s: %s", t[i].range, e.msg);
		ck_assert_msg(addr_range_has(&r, &in), "%s", t[i].range);
		ck_assert_msg(!addr_range_has(&r, &out), "%s", t[i].range);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char *copy = check_copy(bad[i], strlen(bad[i]) + 1);
		struct err e = { 0 };

		ck_assert_msg(addr_range_parse(copy, &r, &e) == -EINVAL &&
				      e.msg[0],
			      "%s", bad[i]);
		free(copy);
	}
}
END_TEST

/* ---- Pins ---- */

START_TEST(a_pin_ends)
{
	struct pins *p = pins_new();
	struct net_addr a = addr("93.184.216.34"), b = addr("93.184.216.35");
	const uint64_t floor = (PINS_TTL_MIN_S + PINS_GRACE_S) * 1000ull;
	const uint64_t ceiling = (PINS_TTL_MAX_S + PINS_GRACE_S) * 1000ull;
	size_t at = 0;

	ck_assert_int_eq(pins_add(p, "a.org", &a, 0, 1000), 0);
	ck_assert_int_eq(pins_add(p, "b.org", &a, UINT32_MAX, 1000), 0);
	ck_assert(pins_has(p, "a.org", &a, 1000 + floor - 1));
	ck_assert(!pins_has(p, "a.org", &a, 1000 + floor));
	ck_assert(pins_has(p, "b.org", &a, 1000 + ceiling - 1));
	ck_assert(!pins_has(p, "b.org", &a, 1000 + ceiling));
	ck_assert(!pins_has(p, "a.org", &b, 1000));
	ck_assert(!pins_has(p, "c.org", &a, 1000));
	/* Given again it lasts longer, and is no second one. */
	ck_assert_int_eq(pins_add(p, "a.org", &a, 0, 1000 + floor), 0);
	ck_assert(pins_has(p, "a.org", &a, 1000 + floor));
	ck_assert_ptr_nonnull(pins_next(p, &a, 1000, &at));
	ck_assert_ptr_nonnull(pins_next(p, &a, 1000, &at));
	ck_assert_ptr_null(pins_next(p, &a, 1000, &at));
	at = 0;
	ck_assert_str_eq(pins_next(p, &a, ceiling, &at), "b.org");
	ck_assert_ptr_null(pins_next(p, &a, ceiling, &at));
	pins_free(p);
}
END_TEST

static struct net_addr nth(uint32_t i)
{
	const uint8_t b[4] = { 8, (uint8_t)(i >> 16), (uint8_t)(i >> 8),
			       (uint8_t)i };

	return addr_v4(b);
}

START_TEST(a_full_table_forgets_what_ends_first)
{
	struct pins *p = pins_new();
	struct net_addr first = nth(0), last;
	char name[32];
	uint32_t i;

	for (i = 0; i <= PINS_MAX; i++) {
		last = nth(i);
		ck_assert_int_eq(pins_add(p, "a.org", &last, 1000, i), 0);
	}
	ck_assert(!pins_has(p, "a.org", &first, PINS_MAX));
	ck_assert(pins_has(p, "a.org", &last, PINS_MAX));
	first = nth(1);
	ck_assert(pins_has(p, "a.org", &first, PINS_MAX));
	/* An address with too many names loses one of its own. */
	for (i = 0; i <= PINS_ADDR_MAX; i++) {
		(void)snprintf(name, sizeof(name), "n%u.org", i);
		ck_assert_int_eq(pins_add(p, name, &last, 2000, i), 0);
	}
	ck_assert(!pins_has(p, "a.org", &last, PINS_MAX));
	ck_assert(!pins_has(p, "n0.org", &last, PINS_MAX));
	ck_assert(pins_has(p, "n1.org", &last, PINS_MAX));
	ck_assert(pins_has(p, name, &last, PINS_MAX));
	pins_free(p);
	pins_free(NULL);
}
END_TEST

START_TEST(the_host_s_addresses_are_known)
{
	struct pins *p = pins_new();
	struct net_addr own[2] = { addr("93.184.216.34"), addr("2606::1") };
	static struct net_addr many[LOCALS_MAX + 1];
	struct net_addr a;

	for (uint32_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = nth(i);
	ck_assert(!pins_is_local(p, &own[0]));
	ck_assert(pins_set_local(p, own, 2));
	ck_assert(pins_is_local(p, &own[0]) && pins_is_local(p, &own[1]));
	a = addr("64:ff9b::93.184.216.34");
	ck_assert(pins_is_local(p, &a));
	a = addr("93.184.216.35");
	ck_assert(!pins_is_local(p, &a));
	ck_assert(!pins_set_local(p, many, ARRAY_LEN(many)));
	ck_assert(pins_is_local(p, &own[0]));
	ck_assert(pins_set_local(p, many, LOCALS_MAX));
	ck_assert(!pins_is_local(p, &own[0]));
	ck_assert(pins_set_local(p, NULL, 0));
	ck_assert(!pins_is_local(p, &many[0]));
	pins_free(p);
}
END_TEST

/* Prefixes in any order; each list, and which of some addresses are in it. */
START_TEST(the_host_is_ranges_of_addresses)
{
	static const struct {
		const char *a;
		unsigned int bits;
	} in[] = { { "10.1.2.3", 128 },      { "203.0.113.0", 120 },
		   { "203.0.113.7", 128 },   { "10.1.2.3", 128 },
		   { "203.0.112.0", 119 },   { "2001:db8::5", 128 },
		   { "2001:db8::", 128 },    { "2001:db8:1::ff", 64 },
		   { "127.0.0.1", 128 },     { "127.0.0.0", 104 },
		   { "10.255.255.255", 128 } };
	static const char *const yes[] = {
		"10.1.2.3",    "203.0.112.0",         "203.0.113.255",
		"2001:db8::5", "2001:db8::",          "127.255.0.1",
		"127.0.0.1",   "2001:db8:1::1:2:3:4", "10.255.255.255"
	};
	static const char *const no[] = { "10.1.2.2",        "10.1.2.4",
					  "203.0.111.255",   "203.0.114.0",
					  "2001:db8::1",     "2001:db8:1:1::",
					  "2001:db8:0:ff::", "128.0.0.0",
					  "126.255.255.255", "::",
					  "255.255.255.255" };
	struct locals l = { 0 };
	struct net_addr a;

	/* From both ends, so that each is within and around. */
	for (int turn = 0; turn < 2; turn++) {
		for (size_t i = 0; i < ARRAY_LEN(in); i++) {
			size_t at = turn ? ARRAY_LEN(in) - 1 - i : i;

			a = addr(in[at].a);
			ck_assert_int_eq(locals_add(&l, &a, in[at].bits), 0);
		}
		ck_assert_uint_eq(l.n, 7);
		for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
			a = addr(yes[i]);
			ck_assert_msg(locals_have(&l, &a), "%s", yes[i]);
		}
		for (size_t i = 0; i < ARRAY_LEN(no); i++) {
			a = addr(no[i]);
			ck_assert_msg(!locals_have(&l, &a), "%s", no[i]);
		}
		locals_clear(&l);
	}
	a = addr("2001:db8::1");
	ck_assert_int_eq(locals_add(&l, &a, 128), 0);
	ck_assert_int_eq(locals_add(&l, &a, 0), 0);
	a = addr("192.0.2.1");
	ck_assert(locals_have(&l, &a));
	locals_clear(&l);
}
END_TEST

START_TEST(names_have_addresses_of_the_vm_s_own)
{
	struct pins *p = pins_new();
	struct net_addr a, b, c, last;
	char name[32];

	ck_assert_int_eq(pins_own(p, "a.org", false, 1000, &a), 0);
	ck_assert_int_eq(pins_own(p, "a.org", true, 1000, &b), 0);
	ck_assert_int_eq(own_index(&a), own_index(&b));
	ck_assert(addr_is_v4(&a) && !addr_is_v4(&b));
	ck_assert(pins_has(p, "a.org", &a, 1000));
	/* More than there is room for: each has its own, until it is forgotten. */
	for (unsigned int i = 0; i < PINS_MAX + 50; i++) {
		(void)snprintf(name, sizeof(name), "n%u.org", i);
		ck_assert_int_eq(pins_own(p, name, i & 1, 2000 + i, &c), 0);
		ck_assert_int_gt(own_index(&c), 0);
		if (i)
			ck_assert_int_ne(own_index(&c), own_index(&last));
		ck_assert(pins_has(p, name, &c, 2000 + i));
		last = c;
	}
	ck_assert(!pins_has(p, "a.org", &a, 3000));
	a = addr("198.18.255.255");
	ck_assert_int_eq(own_index(&a), -1);
	a = addr("fd00:6875:7463:6801:0:1::");
	ck_assert_int_eq(own_index(&a), -1);
	a = own_addr(OWN_MAX - 1, false);
	ck_assert_int_eq(own_index(&a), (int)OWN_MAX - 1);
	pins_free(p);
}
END_TEST

CHECK_MAIN("net_names", a_name_has_one_form, an_address_is_one_in_any_spelling,
	   a_pattern_is_a_name_or_all_below_one, a_star_means_what_is_below,
	   what_is_public_is_known, private_is_less_than_special,
	   a_range_is_what_it_says, a_pin_ends,
	   a_full_table_forgets_what_ends_first, the_host_s_addresses_are_known,
	   the_host_is_ranges_of_addresses,
	   names_have_addresses_of_the_vm_s_own)
