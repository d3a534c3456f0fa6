/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_net_judge.c - the verdicts that policies give */
#include <stdio.h>
#include <string.h>

#include "host/net/policy/pins.h"
#include "host/net/policy/policy.h"
#include "tests/lib/check_main.h"
#include "tests/lib/net_kit.h"

#define NOW 1000000u

static void pin(struct pins *p, const char *name, const char *a)
{
	struct net_addr at = net_kit_addr(a);

	ck_assert_int_eq(pins_add(p, name, &at, 60, NOW), 0);
}

enum look {
	UNSEEN,
	PLAIN,
	TLS
};

struct probe {
	enum net_proto proto;
	const char *dst;
	uint16_t port;
	enum look look;
	const char *sni;
	enum judgment how;
	int rule;
	const char *why; /* a part of it, or NULL */
};

/*
 * What the VM's resolver has said. shared.* are two names on one machine, as
 * behind a CDN; in.example.org is a name of a zone that is allowed, which leads
 * to a private address.
 */
static struct pins *some_pins(void)
{
	struct pins *p = pins_new();
	struct net_addr own[] = { net_kit_addr("93.184.216.99") };

	ck_assert(pins_set_local(p, own, 1));
	pin(p, "api.example.org", "93.184.216.34");
	pin(p, "api.example.org", "2606:2800::1");
	pin(p, "a.b.example.org", "93.184.216.35");
	pin(p, "example.org", "93.184.216.36");
	pin(p, "in.example.org", "10.0.0.5");
	pin(p, "meta.example.org", "169.254.169.254");
	pin(p, "lo.example.org", "127.0.0.1");
	pin(p, "own.example.org", "93.184.216.99");
	pin(p, "shared.example.org", "104.16.0.1");
	pin(p, "shared.evil.example", "104.16.0.1");
	pin(p, "h.example.org", "198.19.0.1");
	pin(p, "h.example.org", "fd00:6875:7463:6801::1");
	return p;
}

static void try_all(const char *rules, const struct probe *t, size_t n)
{
	struct policy *p = net_kit_policy(rules);
	struct pins *pins = some_pins();

	for (size_t i = 0; i < n; i++) {
		char *sni = t[i].sni
				    ? check_copy(t[i].sni, strlen(t[i].sni) + 1)
				    : NULL;
		struct attempt a = {
			.proto = t[i].proto,
			.dst = net_kit_addr(t[i].dst),
			.port = t[i].port,
			.sni = t[i].look == UNSEEN ? NULL
			       : sni               ? sni
						   : "",
			.plain = t[i].look == PLAIN,
		};
		struct verdict v = policy_judge(p, pins, &a, NOW);

		ck_assert_msg(v.how == t[i].how && v.rule == t[i].rule,
			      "%s: probe %zu, %s %u %s: %d by %d, %s", rules, i,
			      t[i].dst, t[i].port, a.sni ? a.sni : "?",
			      (int)v.how, v.rule, v.why);
		if (t[i].why)
			ck_assert_msg(strstr(v.why, t[i].why), "%zu: %s", i,
				      v.why);
		free(sni);
	}
	pins_free(pins);
	policy_unref(p);
}

#define TRY(rules, ...)                                           \
	do {                                                      \
		static const struct probe t_[] = { __VA_ARGS__ }; \
                                                                  \
		try_all(rules, t_, ARRAY_LEN(t_));                \
	} while (0)

START_TEST(nothing_is_allowed_by_itself)
{
	TRY("",
	    { NET_TCP, "8.8.8.8", 443, UNSEEN, NULL, JUDGE_DENY, -1,
	      "no rule allows it" },
	    { NET_TCP, "93.184.216.34", 443, TLS, "api.example.org", JUDGE_DENY,
	      -1, "no rule allows it" },
	    { NET_UDP, "8.8.8.8", 53, UNSEEN, NULL, JUDGE_DENY, -1, NULL },
	    { NET_ICMP, "8.8.8.8", 0, UNSEEN, NULL, JUDGE_DENY, -1, NULL });
}
END_TEST

START_TEST(the_first_rule_that_matches_decides)
{
	TRY("{\"deny\":\"8.8.8.8\",\"proto\":\"tcp\",\"ports\":[\"1-99\"]},"
	    "{\"allow\":\"8.8.8.0/24\"},{\"deny\":\"8.8.0.0/16\"},"
	    "{\"allow\":\"8.0.0.0/8\",\"ports\":[53],\"proto\":\"udp\"}",
	    { NET_TCP, "8.8.8.8", 80, UNSEEN, NULL, JUDGE_DENY, 0,
	      "a rule denies it" },
	    { NET_TCP, "8.8.8.8", 99, UNSEEN, NULL, JUDGE_DENY, 0, NULL },
	    { NET_TCP, "8.8.8.8", 100, UNSEEN, NULL, JUDGE_ALLOW, 1, NULL },
	    { NET_UDP, "8.8.8.8", 80, UNSEEN, NULL, JUDGE_ALLOW, 1, NULL },
	    { NET_ICMP, "8.8.8.8", 0, UNSEEN, NULL, JUDGE_ALLOW, 1, NULL },
	    { NET_TCP, "8.8.9.1", 80, UNSEEN, NULL, JUDGE_DENY, 2, NULL },
	    { NET_UDP, "8.9.0.1", 53, UNSEEN, NULL, JUDGE_ALLOW, 3, NULL },
	    { NET_UDP, "8.9.0.1", 54, UNSEEN, NULL, JUDGE_DENY, -1, NULL },
	    { NET_TCP, "8.9.0.1", 53, UNSEEN, NULL, JUDGE_DENY, -1, NULL },
	    { NET_ICMP, "8.9.0.1", 0, UNSEEN, NULL, JUDGE_DENY, -1, NULL });
}
END_TEST

START_TEST(the_internet_is_what_is_public)
{
	TRY("{\"allow\":\"10.1.0.0/16\",\"ports\":[5432]},"
	    "{\"allow\":\"internet\"}",
	    { NET_TCP, "8.8.8.8", 443, UNSEEN, NULL, JUDGE_ALLOW, 1, NULL },
	    { NET_UDP, "8.8.8.8", 443, UNSEEN, NULL, JUDGE_ALLOW, 1, NULL },
	    { NET_TCP, "2606::1", 22, UNSEEN, NULL, JUDGE_ALLOW, 1, NULL },
	    { NET_TCP, "64:ff9b::8.8.8.8", 22, UNSEEN, NULL, JUDGE_ALLOW, 1,
	      NULL },
	    { NET_TCP, "10.1.0.9", 5432, UNSEEN, NULL, JUDGE_ALLOW, 0, NULL },
	    { NET_TCP, "10.1.0.9", 5433, UNSEEN, NULL, JUDGE_DENY, -1,
	      "private" },
	    { NET_TCP, "127.0.0.1", 80, UNSEEN, NULL, JUDGE_DENY, -1,
	      "this host" },
	    { NET_TCP, "::ffff:127.0.0.1", 80, UNSEEN, NULL, JUDGE_DENY, -1,
	      "this host" },
	    { NET_TCP, "::1", 80, UNSEEN, NULL, JUDGE_DENY, -1, "this host" },
	    { NET_TCP, "169.254.169.254", 80, UNSEEN, NULL, JUDGE_DENY, -1,
	      "metadata" },
	    { NET_TCP, "::ffff:169.254.169.254", 80, UNSEEN, NULL, JUDGE_DENY,
	      -1, "metadata" },
	    { NET_TCP, "64:ff9b::169.254.169.254", 80, UNSEEN, NULL, JUDGE_DENY,
	      -1, "metadata" },
	    { NET_TCP, "93.184.216.99", 80, UNSEEN, NULL, JUDGE_DENY, -1,
	      "this host" },
	    { NET_UDP, "255.255.255.255", 67, UNSEEN, NULL, JUDGE_DENY, -1,
	      "reserved" },
	    { NET_ICMP, "192.168.0.1", 0, UNSEEN, NULL, JUDGE_DENY, -1,
	      "private" });
}
END_TEST

START_TEST(the_host_is_open_only_by_name_of_its_address)
{
	TRY("{\"allow\":\"127.0.0.1\",\"ports\":[8080]},"
	    "{\"allow\":\"169.254.169.254\"},{\"allow\":\"93.184.216.99\"}",
	    { NET_TCP, "127.0.0.1", 8080, UNSEEN, NULL, JUDGE_ALLOW, 0, NULL },
	    { NET_TCP, "::ffff:127.0.0.1", 8080, UNSEEN, NULL, JUDGE_ALLOW, 0,
	      NULL },
	    { NET_TCP, "127.0.0.2", 8080, UNSEEN, NULL, JUDGE_DENY, -1, NULL },
	    { NET_TCP, "127.0.0.1", 80, UNSEEN, NULL, JUDGE_DENY, -1, NULL },
	    { NET_TCP, "64:ff9b::127.0.0.1", 8080, UNSEEN, NULL, JUDGE_DENY, -1,
	      NULL },
	    { NET_TCP, "169.254.169.254", 80, UNSEEN, NULL, JUDGE_ALLOW, 1,
	      NULL },
	    { NET_TCP, "93.184.216.99", 80, UNSEEN, NULL, JUDGE_ALLOW, 2,
	      NULL });
}
END_TEST

START_TEST(a_range_is_not_the_host_nor_metadata)
{
	TRY("{\"allow\":\"93.184.216.0/24\"},{\"allow\":\"169.254.0.0/16\"},"
	    "{\"allow\":\"168.62.0.0/15\"},{\"allow\":\"100.64.0.0/10\"},"
	    "{\"allow\":\"fd00::/8\"},{\"allow\":\"64:ff9b::/96\"}",
	    { NET_TCP, "93.184.216.98", 22, UNSEEN, NULL, JUDGE_ALLOW, 0,
	      NULL },
	    { NET_TCP, "93.184.216.99", 22, UNSEEN, NULL, JUDGE_DENY, -1,
	      "a range means no address of this host" },
	    { NET_TCP, "64:ff9b::93.184.216.99", 22, UNSEEN, NULL, JUDGE_DENY,
	      -1, "no address of this host" },
	    { NET_UDP, "169.254.1.1", 53, UNSEEN, NULL, JUDGE_ALLOW, 1, NULL },
	    { NET_TCP, "169.254.169.254", 80, UNSEEN, NULL, JUDGE_DENY, -1,
	      "no metadata service" },
	    { NET_TCP, "169.254.170.2", 80, UNSEEN, NULL, JUDGE_DENY, -1,
	      "no metadata service" },
	    { NET_TCP, "169.254.170.23", 80, UNSEEN, NULL, JUDGE_DENY, -1,
	      NULL },
	    { NET_TCP, "fd00:ec2::23", 80, UNSEEN, NULL, JUDGE_DENY, -1, NULL },
	    { NET_TCP, "168.63.129.16", 80, UNSEEN, NULL, JUDGE_DENY, -1,
	      NULL },
	    { NET_TCP, "100.100.100.200", 80, UNSEEN, NULL, JUDGE_DENY, -1,
	      NULL },
	    { NET_TCP, "fd00:ec2::253", 80, UNSEEN, NULL, JUDGE_ALLOW, 4,
	      NULL },
	    { NET_TCP, "fd00:ec2::254", 80, UNSEEN, NULL, JUDGE_DENY, -1,
	      NULL },
	    { NET_TCP, "64:ff9b::169.254.169.254", 80, UNSEEN, NULL, JUDGE_DENY,
	      -1, NULL });
	/* To deny, it means all of them; and one that is named is meant. */
	TRY("{\"deny\":\"93.184.0.0/16\"},{\"allow\":\"93.184.216.99\"}",
	    { NET_TCP, "93.184.216.99", 22, UNSEEN, NULL, JUDGE_DENY, 0,
	      NULL });
	TRY("{\"allow\":\"fd00:ec2::254\"},{\"allow\":\"93.184.216.99\"}",
	    { NET_TCP, "fd00:ec2::254", 80, UNSEEN, NULL, JUDGE_ALLOW, 0,
	      NULL },
	    { NET_TCP, "93.184.216.99", 22, UNSEEN, NULL, JUDGE_ALLOW, 1,
	      NULL });
}
END_TEST

START_TEST(who_denies_a_range_denies_the_way_round)
{
	TRY("{\"deny\":\"8.8.8.0/24\"},{\"deny\":\"2606::/16\"},"
	    "{\"allow\":\"internet\"}",
	    { NET_TCP, "8.8.8.8", 80, UNSEEN, NULL, JUDGE_DENY, 0, NULL },
	    { NET_TCP, "64:ff9b::8.8.8.8", 80, UNSEEN, NULL, JUDGE_DENY, 0,
	      NULL },
	    { NET_TCP, "2002:808:808::1", 80, UNSEEN, NULL, JUDGE_DENY, 0,
	      NULL },
	    { NET_TCP, "2001:0:101:101:0:0:f7f7:f7f7", 80, UNSEEN, NULL,
	      JUDGE_DENY, 0, NULL },
	    { NET_TCP, "2606::1", 80, UNSEEN, NULL, JUDGE_DENY, 1, NULL },
	    { NET_TCP, "8.8.9.8", 80, UNSEEN, NULL, JUDGE_ALLOW, 2, NULL });
}
END_TEST

START_TEST(a_name_and_an_address_must_agree)
{
	TRY("{\"allow\":\"api.example.org\",\"ports\":[443]},"
	    "{\"allow\":\"*.example.org\",\"ports\":[443,22]}",
	    { NET_TCP, "93.184.216.34", 443, UNSEEN, NULL, JUDGE_LOOK, 0,
	      NULL },
	    { NET_TCP, "2606:2800::1", 443, UNSEEN, NULL, JUDGE_LOOK, 0, NULL },
	    { NET_TCP, "93.184.216.34", 443, TLS, "api.example.org",
	      JUDGE_ALLOW, 0, NULL },
	    /* Another name of the zone, but not of this address. */
	    { NET_TCP, "93.184.216.34", 443, TLS, "a.b.example.org", JUDGE_DENY,
	      -1, "did not give this address" },
	    { NET_TCP, "93.184.216.35", 443, TLS, "a.b.example.org",
	      JUDGE_ALLOW, 1, NULL },
	    { NET_TCP, "93.184.216.34", 443, TLS, "evil.example", JUDGE_DENY,
	      -1, NULL },
	    { NET_TCP, "93.184.216.34", 443, TLS, NULL, JUDGE_DENY, -1,
	      "names no host" },
	    /* What is not TLS has no name but the address's. */
	    { NET_TCP, "93.184.216.34", 22, PLAIN, NULL, JUDGE_ALLOW, 1, NULL },
	    { NET_TCP, "93.184.216.34", 80, UNSEEN, NULL, JUDGE_DENY, -1,
	      NULL },
	    /* The zone itself is not below it. */
	    { NET_TCP, "93.184.216.36", 443, UNSEEN, NULL, JUDGE_DENY, -1,
	      NULL },
	    { NET_TCP, "93.184.216.36", 443, TLS, "example.org", JUDGE_DENY, -1,
	      NULL },
	    /* An address that nobody asked the resolver for. */
	    { NET_TCP, "8.8.8.8", 443, UNSEEN, NULL, JUDGE_DENY, -1,
	      "no rule allows it" },
	    { NET_TCP, "8.8.8.8", 443, TLS, "api.example.org", JUDGE_DENY, -1,
	      "did not give this address" });
}
END_TEST

START_TEST(a_shared_address_is_not_all_its_names)
{
	TRY("{\"allow\":\"shared.example.org\"}",
	    { NET_TCP, "104.16.0.1", 443, UNSEEN, NULL, JUDGE_LOOK, 0, NULL },
	    { NET_TCP, "104.16.0.1", 443, TLS, "shared.example.org",
	      JUDGE_ALLOW, 0, NULL },
	    { NET_TCP, "104.16.0.1", 443, TLS, "shared.evil.example",
	      JUDGE_DENY, -1, NULL },
	    { NET_TCP, "104.16.0.1", 443, TLS, NULL, JUDGE_DENY, -1,
	      "names no host" },
	    { NET_UDP, "104.16.0.1", 53, UNSEEN, NULL, JUDGE_ALLOW, 0, NULL },
	    { NET_ICMP, "104.16.0.1", 0, UNSEEN, NULL, JUDGE_ALLOW, 0, NULL },
	    { NET_UDP, "104.16.0.1", 443, UNSEEN, NULL, JUDGE_DENY, -1,
	      "QUIC" });
}
END_TEST

START_TEST(a_name_leads_to_nothing_private_by_itself)
{
	TRY("{\"allow\":\"*.example.org\"}",
	    { NET_TCP, "10.0.0.5", 80, UNSEEN, NULL, JUDGE_DENY, -1,
	      "not public" },
	    { NET_TCP, "10.0.0.5", 80, PLAIN, NULL, JUDGE_DENY, -1, NULL },
	    { NET_TCP, "10.0.0.5", 443, TLS, "in.example.org", JUDGE_DENY, -1,
	      NULL },
	    { NET_TCP, "127.0.0.1", 80, PLAIN, NULL, JUDGE_DENY, -1, NULL },
	    { NET_UDP, "169.254.169.254", 80, UNSEEN, NULL, JUDGE_DENY, -1,
	      NULL },
	    { NET_TCP, "93.184.216.99", 80, PLAIN, NULL, JUDGE_DENY, -1,
	      NULL });
	TRY("{\"allow\":\"*.example.org\",\"private\":true}",
	    { NET_TCP, "10.0.0.5", 80, PLAIN, NULL, JUDGE_ALLOW, 0, NULL },
	    { NET_TCP, "10.0.0.5", 443, TLS, "in.example.org", JUDGE_ALLOW, 0,
	      NULL },
	    { NET_TCP, "10.0.0.6", 80, PLAIN, NULL, JUDGE_DENY, -1, NULL },
	    { NET_TCP, "127.0.0.1", 80, PLAIN, NULL, JUDGE_DENY, -1, NULL },
	    { NET_TCP, "169.254.169.254", 80, PLAIN, NULL, JUDGE_DENY, -1,
	      NULL },
	    { NET_TCP, "93.184.216.99", 80, PLAIN, NULL, JUDGE_DENY, -1,
	      NULL });
}
END_TEST

START_TEST(a_denied_name_is_looked_for)
{
	TRY("{\"deny\":\"*.evil.example\"},{\"allow\":\"internet\"}",
	    { NET_TCP, "8.8.8.8", 443, UNSEEN, NULL, JUDGE_LOOK, 0, NULL },
	    { NET_TCP, "8.8.8.8", 443, TLS, "www.evil.example", JUDGE_DENY, 0,
	      NULL },
	    { NET_TCP, "8.8.8.8", 443, TLS, "evil.example", JUDGE_ALLOW, 1,
	      NULL },
	    { NET_TCP, "8.8.8.8", 443, TLS, NULL, JUDGE_ALLOW, 1, NULL },
	    { NET_TCP, "8.8.8.8", 25, PLAIN, NULL, JUDGE_ALLOW, 1, NULL },
	    { NET_TCP, "104.16.0.1", 443, TLS, "shared.example.org",
	      JUDGE_ALLOW, 1, NULL },
	    { NET_TCP, "104.16.0.1", 443, TLS, NULL, JUDGE_DENY, 0, NULL },
	    { NET_TCP, "104.16.0.1", 80, PLAIN, NULL, JUDGE_DENY, 0, NULL },
	    { NET_UDP, "104.16.0.1", 53, UNSEEN, NULL, JUDGE_DENY, 0, NULL },
	    { NET_UDP, "8.8.8.8", 53, UNSEEN, NULL, JUDGE_ALLOW, 1, NULL },
	    /* QUIC could be to anybody. */
	    { NET_UDP, "8.8.8.8", 443, UNSEEN, NULL, JUDGE_DENY, 0, "QUIC" },
	    /* Nothing to look for: denied whatever its name is. */
	    { NET_TCP, "10.0.0.1", 443, UNSEEN, NULL, JUDGE_DENY, -1,
	      "private" });
}
END_TEST

START_TEST(nobody_looks_where_it_makes_no_difference)
{
	TRY("{\"allow\":\"api.example.org\"},{\"allow\":\"internet\"}",
	    { NET_TCP, "93.184.216.34", 443, UNSEEN, NULL, JUDGE_ALLOW, 1,
	      NULL },
	    { NET_UDP, "93.184.216.34", 443, UNSEEN, NULL, JUDGE_ALLOW, 1,
	      NULL });
	TRY("{\"deny\":\"api.example.org\"},{\"deny\":\"internet\"}",
	    { NET_TCP, "93.184.216.34", 443, UNSEEN, NULL, JUDGE_DENY, 1,
	      NULL },
	    { NET_TCP, "10.0.0.1", 443, UNSEEN, NULL, JUDGE_DENY, -1, NULL });
	TRY("{\"deny\":\"api.example.org\"},{\"allow\":\"*.example.org\"}",
	    { NET_TCP, "93.184.216.35", 443, UNSEEN, NULL, JUDGE_LOOK, 0,
	      NULL },
	    { NET_TCP, "93.184.216.34", 443, TLS, "api.example.org", JUDGE_DENY,
	      0, NULL });
}
END_TEST

START_TEST(a_pin_that_ended_holds_for_what_is_under_way)
{
	struct policy *p = net_kit_policy("{\"allow\":\"api.example.org\"}");
	struct pins *pins = some_pins();
	struct attempt a = { .proto = NET_TCP,
			     .dst = net_kit_addr("93.184.216.34"),
			     .port = 443,
			     .sni = "api.example.org" };
	const uint64_t later = NOW + 86400000ull;
	struct verdict v = policy_judge(p, pins, &a, NOW);

	ck_assert_int_eq(v.how, JUDGE_ALLOW);
	ck_assert_str_eq(v.name, "api.example.org");
	v = policy_judge(p, pins, &a, later);
	ck_assert_int_eq(v.how, JUDGE_DENY);
	a.known = "api.example.org";
	v = policy_judge(p, pins, &a, later);
	ck_assert_int_eq(v.how, JUDGE_ALLOW);
	a.known = "other.example.org";
	v = policy_judge(p, pins, &a, later);
	ck_assert_int_eq(v.how, JUDGE_DENY);
	/* A flow of UDP has no name but the known one. */
	a.proto = NET_UDP;
	a.port = 53;
	a.sni = NULL;
	v = policy_judge(p, pins, &a, later);
	ck_assert_int_eq(v.how, JUDGE_DENY);
	a.known = "api.example.org";
	v = policy_judge(p, pins, &a, later);
	ck_assert_int_eq(v.how, JUDGE_ALLOW);
	pins_free(pins);
	policy_unref(p);
}
END_TEST

START_TEST(a_name_that_tls_says_is_no_pin)
{
	struct policy *p = net_kit_policy(
		"{\"deny\":\"*.ads.example\"},{\"allow\":\"internet\"}");
	struct pins *pins = some_pins();
	struct attempt a = { .proto = NET_TCP,
			     .dst = net_kit_addr("6.6.6.6"),
			     .port = 443,
			     .sni = "api.example.org" };
	struct verdict v = policy_judge(p, pins, &a, NOW);

	ck_assert_int_eq(v.how, JUDGE_ALLOW);
	ck_assert_str_eq(v.name, "api.example.org");
	ck_assert(!v.pinned);
	a.dst = net_kit_addr("93.184.216.34");
	ck_assert(policy_judge(p, pins, &a, NOW).pinned);
	a.known = a.sni;
	ck_assert(policy_judge(p, pins, &a, NOW + 86400000ull).pinned);
	/* No TLS, or none with a name: what the address was given for. */
	a.known = NULL;
	a.sni = "";
	ck_assert(policy_judge(p, pins, &a, NOW).pinned);
	a.dst = net_kit_addr("6.6.6.6");
	ck_assert(!policy_judge(p, pins, &a, NOW).pinned);
	pins_free(pins);
	policy_unref(p);
}
END_TEST

#define HANDLED "{\"intercept\":\"*.example.org\",\"handler\":\"/h\"}"

START_TEST(an_address_of_the_vm_s_own_is_a_handler_s)
{
	TRY(HANDLED,
	    { NET_TCP, "198.19.0.1", 443, UNSEEN, NULL, JUDGE_LOOK, 0, NULL },
	    { NET_TCP, "198.19.0.1", 443, TLS, "h.example.org", JUDGE_INTERCEPT,
	      0, NULL },
	    { NET_TCP, "fd00:6875:7463:6801::1", 80, PLAIN, NULL,
	      JUDGE_INTERCEPT, 0, NULL },
	    { NET_TCP, "198.19.0.1", 443, TLS, "api.example.org", JUDGE_DENY,
	      -1, "did not give this address" },
	    { NET_TCP, "198.19.0.1", 443, TLS, NULL, JUDGE_DENY, -1,
	      "names no host" },
	    { NET_TCP, "198.19.0.2", 443, UNSEEN, NULL, JUDGE_DENY, -1, NULL },
	    { NET_TCP, "198.19.0.1", 22, UNSEEN, NULL, JUDGE_DENY, -1, NULL },
	    { NET_UDP, "198.19.0.1", 443, UNSEEN, NULL, JUDGE_DENY, 0, "QUIC" },
	    { NET_UDP, "198.19.0.1", 80, UNSEEN, NULL, JUDGE_DENY, -1, NULL },
	    { NET_ICMP, "198.19.0.1", 0, UNSEEN, NULL, JUDGE_DENY, -1, NULL },
	    /* What it had before the name was a handler's. */
	    { NET_TCP, "93.184.216.34", 443, TLS, "api.example.org",
	      JUDGE_INTERCEPT, 0, NULL });
	/* No other rule opens it, whatever it says; one that denies counts. */
	TRY("{\"allow\":\"198.18.0.0/15\"},{\"allow\":\"198.19.0.1\"},"
	    "{\"allow\":\"fd00::/8\"},{\"allow\":\"*.example.org\",\"private\":"
	    "true},{\"intercept\":\"*.example.org\"},{\"allow\":\"internet\"}",
	    { NET_TCP, "198.19.0.1", 443, UNSEEN, NULL, JUDGE_DENY, -1,
	      "VM's own" },
	    { NET_TCP, "198.19.0.1", 443, TLS, "h.example.org", JUDGE_DENY, -1,
	      NULL },
	    { NET_TCP, "fd00:6875:7463:6801::1", 80, PLAIN, NULL, JUDGE_DENY,
	      -1, NULL },
	    { NET_UDP, "198.19.0.1", 53, UNSEEN, NULL, JUDGE_DENY, -1, NULL },
	    { NET_TCP, "198.18.0.9", 443, UNSEEN, NULL, JUDGE_ALLOW, 0, NULL });
	TRY("{\"deny\":\"198.18.0.0/15\"}," HANDLED,
	    { NET_TCP, "198.19.0.1", 443, UNSEEN, NULL, JUDGE_DENY, 0, NULL });
}
END_TEST

CHECK_MAIN("net_judge", nothing_is_allowed_by_itself,
	   the_first_rule_that_matches_decides, the_internet_is_what_is_public,
	   the_host_is_open_only_by_name_of_its_address,
	   a_range_is_not_the_host_nor_metadata,
	   who_denies_a_range_denies_the_way_round,
	   a_name_and_an_address_must_agree,
	   a_shared_address_is_not_all_its_names,
	   a_name_leads_to_nothing_private_by_itself,
	   a_denied_name_is_looked_for,
	   nobody_looks_where_it_makes_no_difference,
	   a_pin_that_ended_holds_for_what_is_under_way,
	   a_name_that_tls_says_is_no_pin,
	   an_address_of_the_vm_s_own_is_a_handler_s)
