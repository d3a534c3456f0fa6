/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_hostaddr.c - what of a host's network is the host */
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "host/net/hostaddr.h"
#include "tests/lib/check_main.h"

#define WAITS_MAX 600 /* of 100 ms */

static struct loop loop;
static struct hostaddr hostaddr;
static struct locals known;
static unsigned int told;
static int result;

static void changed(struct hostaddr *h, int r)
{
	told++;
	result = r;
	if (r == 0)
		locals_take(&known, &h->list);
}

/* In a network of our own, which @script makes. */
static void run(const char *script)
{
	/* NOLINTNEXTLINE(cert-env33-c): in a test */
	ck_assert_int_eq(system(script), 0);
}

static void own_network(void)
{
	int user = geteuid() == 0 ? 0 : CLONE_NEWUSER;

	ck_assert_int_eq(unshare(CLONE_NEWNET | user), 0);
	run("ip link set lo up");
}

static void watch(void)
{
	struct err e = { 0 };

	ck_assert_int_eq(loop_init(&loop, NULL), 0);
	ck_assert_int_eq(hostaddr_open(&hostaddr, &e), 0);
	ck_assert_msg(hostaddr_watch(&hostaddr, &loop, changed, &e) == 0, "%s",
		      e.msg);
}

static void tear_down(void)
{
	hostaddr_close(&hostaddr);
	loop_done(&loop);
	locals_clear(&known);
}

static bool is_local(const char *text)
{
	struct net_addr a;

	ck_assert_int_eq(addr_parse(text, &a), 0);
	return locals_have(&known, &a);
}

static void settle(void)
{
	while (loop_step(&loop, 0) > 0)
		continue;
}

static void await(const char *text, bool want)
{
	for (int i = 0; is_local(text) != want; i++) {
		ck_assert_int_lt(i, WAITS_MAX);
		ck_assert_int_ge(loop_step(&loop, 100), 0);
	}
	settle();
}

START_TEST(addresses_and_local_routes_are_the_host)
{
	own_network();
	run("ip addr add 192.0.2.7/32 dev lo && "
	    "ip route add local 203.0.113.0/24 dev lo && "
	    "ip route add local 10.9.0.0/16 dev lo table 77");
	watch();
	ck_assert_int_eq(result, 0);
	ck_assert_uint_eq(told, 1);
	ck_assert(is_local("127.0.0.1") && is_local("127.9.9.9"));
	ck_assert(is_local("::1") && is_local("192.0.2.7"));
	ck_assert(is_local("203.0.113.0") && is_local("203.0.113.99"));
	ck_assert(!is_local("203.0.114.1") && !is_local("192.0.2.8"));
	/* Where only what has a mark comes. */
	ck_assert(!is_local("10.9.0.1"));
	run("ip route add local 198.51.100.0/25 dev lo");
	await("198.51.100.1", true);
	ck_assert(!is_local("198.51.100.128"));
	run("ip route del local 203.0.113.0/24 dev lo");
	await("203.0.113.99", false);
	run("ip addr del 192.0.2.7/32 dev lo");
	await("192.0.2.7", false);
	tear_down();
}
END_TEST

START_TEST(anycast_addresses_of_a_router_are_the_host)
{
	own_network();
	watch();
	run("echo 1 >/proc/sys/net/ipv6/conf/all/forwarding && "
	    "ip link add d0 type veth peer name d1 && ip link set d0 up && "
	    "ip link set d1 up && "
	    "ip addr add 2001:db8:1:2::5/64 dev d0 nodad");
	await("2001:db8:1:2::5", true);
	await("2001:db8:1:2::", true);
	ck_assert(!is_local("2001:db8:1:2::1"));
	tear_down();
}
END_TEST

static void many(const char *what, unsigned int from, unsigned int n)
{
	/* NOLINTNEXTLINE(cert-env33-c): in a test */
	FILE *f = popen("ip -batch -", "w");

	ck_assert_ptr_nonnull(f);
	for (unsigned int i = from; i < from + n; i++)
		(void)fprintf(f, "%s 10.%u.%u.%u/32 dev lo\n", what, i >> 16,
			      i >> 8 & 255, i & 255);
	ck_assert_int_eq(pclose(f), 0);
}

START_TEST(a_host_may_have_thousands)
{
	own_network();
	many("addr add", 0, 3000);
	watch();
	ck_assert_int_eq(result, 0);
	ck_assert(is_local("10.0.0.0") && is_local("10.0.11.183"));
	ck_assert(!is_local("10.0.11.184"));
	tear_down();
}
END_TEST

/* Not a part of them; and no core is spent on asking again and again. */
START_TEST(too_many_are_told_and_asked_for_when_there_are_fewer)
{
	unsigned int before;

	own_network();
	many("route add local", 0, LOCALS_MAX + 10);
	watch();
	ck_assert_int_eq(result, -E2BIG);
	settle();
	before = told;
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(loop_step(&loop, 20), 0);
	ck_assert_uint_eq(told, before);
	many("route del local", 0, 100);
	await("10.0.63.1", true);
	ck_assert_int_eq(result, 0);
	ck_assert(is_local("10.0.0.100") && !is_local("10.0.0.99"));
	tear_down();
}
END_TEST

CHECK_MAIN("net_hostaddr", addresses_and_local_routes_are_the_host,
	   anycast_addresses_of_a_router_are_the_host,
	   a_host_may_have_thousands,
	   too_many_are_told_and_asked_for_when_there_are_fewer)
