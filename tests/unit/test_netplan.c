/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_netplan.c - host/lib/netplan: the words of "--net" */
#include <errno.h>
#include <string.h>

#include "host/lib/netplan.h"
#include "tests/lib/check_main.h"

static struct netplan plan;

static void expect_ok(const char *words)
{
	struct err e = { 0 };

	ck_assert_msg(netplan_read(words, &plan, &e) == 0, "'%s': %s", words,
		      e.msg);
}

static void expect_bad(const char *words, const char *sentence)
{
	struct err e = { 0 };

	ck_assert_int_lt(netplan_read(words, &plan, &e), 0);
	ck_assert_msg(strstr(e.msg, sentence), "'%s': %s", words, e.msg);
}

START_TEST(none_is_nothing)
{
	expect_ok(NULL);
	ck_assert_int_eq(plan.mode, NETPLAN_NONE);
	expect_ok("none");
	ck_assert_int_eq(plan.mode, NETPLAN_NONE);
	ck_assert_ptr_null(netplan_helper(&plan));
}
END_TEST

START_TEST(passt_has_addresses_of_its_own)
{
	expect_ok("passt");
	ck_assert_int_eq(plan.mode, NETPLAN_PASST);
	ck_assert_str_eq(netplan_helper(&plan), "passt");
	ck_assert_uint_eq(plan.net.n_addrs, 2);
	ck_assert_uint_eq(plan.net.addr[0].prefix, 24);
	ck_assert_mem_eq(plan.net.addr[0].addr, "\306\22\0\2", 4);
	ck_assert_uint_eq(plan.net.n_routes, 2);
	ck_assert_uint_eq(plan.net.route[1].to.family, 6);
	ck_assert_uint_eq(plan.net.route[1].to.prefix, 0);
	ck_assert_uint_eq(plan.net.route[1].via.prefix, 128);
	ck_assert_uint_eq(plan.net.n_dns, 2);
	ck_assert_uint_eq(plan.net.mtu, NETPLAN_MTU);
	expect_ok("passt,mtu=1280,search=lan,rate=1M");
	ck_assert_uint_eq(plan.net.mtu, 1280);
	ck_assert_str_eq(plan.net.search[0], "lan");
	ck_assert_str_eq(plan.rate, "1M");
}
END_TEST

START_TEST(tap_has_what_was_said)
{
	expect_ok("tap=tap0");
	ck_assert_int_eq(plan.mode, NETPLAN_TAP);
	ck_assert_str_eq(plan.tap, "tap0");
	ck_assert_uint_eq(plan.net.n_addrs, 0);
	ck_assert_uint_eq(plan.net.mtu, 0);
	expect_ok("tap=tap0,address=10.0.0.2/8,address=fd00::2/64,"
		  "gateway=10.0.0.1,gateway=fe80::1,"
		  "route=192.0.2.0/24-10.0.0.7,dns=10.0.0.1,dns=fd00::1,"
		  "search=a.example,search=b,mtu=9000,rate=10M/1000p");
	ck_assert_uint_eq(plan.net.n_addrs, 2);
	ck_assert_uint_eq(plan.net.addr[1].family, 6);
	ck_assert_uint_eq(plan.net.n_routes, 3);
	ck_assert_uint_eq(plan.net.route[2].to.prefix, 24);
	ck_assert_uint_eq(plan.net.route[2].via.addr[3], 7);
	ck_assert_uint_eq(plan.net.n_dns, 2);
	ck_assert_uint_eq(plan.net.n_search, 2);
	ck_assert_str_eq(plan.rate, "10M/1000p");
}
END_TEST

static void expect_many(const char *word, unsigned int n, const char *sentence)
{
	char many[512] = "tap=a";
	size_t len = strlen(word);

	for (unsigned int i = 0; i < n; i++)
		memcpy(many + 5 + i * len, word, len + 1);
	expect_bad(many, sentence);
}

START_TEST(words_that_are_none)
{
	static char large[NETPLAN_TEXT_MAX + 1];

	expect_bad("", "is not none, internet, policy, tap=IF or passt");
	expect_bad("passt,mtu=1279", "IPv6 needs 1280, not 1279");
	expect_bad("tap=t,mtu=1000,address=fd00::1/64", "IPv6 needs 1280");
	expect_bad("internet,mtu=65521", "it can be 65520");
	expect_bad("passt,mtu=1500,mtu=1400", "mtu is there twice");
	expect_bad("tap=t,mac=03:00:00:00:00:01", "mac is written as");
	expect_bad("tap=t,mac=00:00:00:00:00:00", "mac is written as");
	expect_bad("tap=t,mac=02:00:00:00:00:1", "mac is written as");
	expect_bad("tap=t,mac=02-00-00-00-00-01", "mac is written as");
	expect_bad("passt,mac=02:00:00:00:00:01", "mac is for a tap");
	expect_ok("tap=t,mac=02:aB:00:00:00:01");
	ck_assert_str_eq(plan.mac, "02:aB:00:00:00:01");
	expect_bad("host",
		   "'host' is not none, internet, policy, tap=IF or passt");
	expect_bad("none,mtu=1500", "none stands alone");
	expect_bad("none,", "none stands alone");
	expect_bad("tap=", "the name of an interface");
	expect_bad("tap=..", "the name of an interface");
	expect_bad("tap=a/b", "the name of an interface");
	expect_bad("tap=sixteen-letters-", "the name of an interface");
	expect_bad("tap=a,", "'' is no word of it");
	expect_bad("tap=a,nonesuch=1", "'nonesuch' is no word of it");
	expect_bad("tap=a,mtu", "mtu needs a value");
	expect_bad("tap=a,mtu=67", "mtu");
	expect_bad("tap=a,mtu=65536", "mtu");
	expect_bad("tap=a,rate=fast", "rate is written as");
	expect_bad("tap=a,address=10.0.0.1", "address is written as");
	expect_bad("tap=a,address=10.0.0.1/33", "address is written as");
	expect_bad("tap=a,address=10.0.0/8", "address is written as");
	expect_bad("tap=a,address=10.0.0.1/", "address is written as");
	expect_bad("tap=a,address=fd00::1/129", "address is written as");
	expect_bad("tap=a,gateway=10.0.0.1/8", "gateway is an address");
	expect_bad("tap=a,gateway=home", "gateway is an address");
	expect_bad("tap=a,route=10.0.0.0/8", "route is written as");
	expect_bad("tap=a,route=10.0.0.0/8-fd00::1", "route is written as");
	expect_bad("tap=a,route=10.0.0.0-10.0.0.1", "route is written as");
	expect_bad("tap=a,dns=8.8.8.8.8", "dns is an address");
	expect_bad("tap=a,search=two words", "search is a domain");
	expect_bad("tap=a,search=", "search is a domain");
	expect_bad("passt,address=10.0.0.2/8", "address is for a tap");
	expect_bad("passt,dns=10.0.0.2", "dns is for a tap");
	expect_many(",dns=10.0.0.1", 4, "more than 3 times dns");
	expect_many(",address=10.0.0.1/8", 9, "more than 8 times address");
	expect_many(",gateway=10.0.0.1", 17, "more than 16 times gateway");
	expect_many(",search=x", 7, "more than 6 times search");
	memset(large, 'x', sizeof(large) - 1);
	expect_bad(large, "bytes of words are more than");
}
END_TEST

CHECK_MAIN("netplan", none_is_nothing, passt_has_addresses_of_its_own,
	   tap_has_what_was_said, words_that_are_none)
