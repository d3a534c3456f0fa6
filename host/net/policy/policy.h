/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/policy/policy.h - which connections of a guest may be made
 *
 * A policy is a list of rules; the first that matches decides, and what none
 * matches is denied. A rule goes by address ("10.0.0.0/8", "internet") or by
 * name ("api.example.org", "*.example.org"). docs/network-policy.md has the
 * language.
 *
 * A connection has no name, only an address. What a rule by name says of it
 * rests on two things: that our resolver gave this VM that address for such a
 * name (pins.h), and, where the first bytes are TLS, that the name in them (SNI)
 * is one that the address was given for. So a connection whose address has an
 * allowed name is JUDGE_LOOK: the guest's side is accepted, its first bytes go
 * to hello_feed(), and it is judged again.
 *
 * Nothing here reads a clock, opens a descriptor or starts a thread. A policy is
 * constant once made, so it may be read by any thread; pins have one owner.
 */
#ifndef HUTCH_HOST_NET_POLICY_POLICY_H
#define HUTCH_HOST_NET_POLICY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "host/net/policy/addr.h"

#define POLICY_JSON_MAX  65536u /* bytes: one message on the control socket */
#define POLICY_RULES_MAX 1024u
#define POLICY_PORTS_MAX 64u /* ranges of a rule */

/* Bytes of a handler's path: what a Unix socket's address has room for. */
#define POLICY_HANDLER_MAX 107u

enum net_proto {
	NET_TCP,
	NET_UDP,
	NET_ICMP /* echo, of both families */
};

struct policy;
struct pins;
/* jansson's */
struct json_t;
struct json_error_t;

/**
 * policy_parse() - Read a policy
 * @json:	@len bytes of JSON, at most POLICY_JSON_MAX
 * @ret:	With one reference, for policy_unref()
 * @e:		"rule 3: 'a..b' is no host name: ...": rules count from 1 in
 *		sentences; no credential is ever in one
 *
 * Unknown keys, keys that are there twice and wrong types are refused: who
 * misspells "ports" must not get all of them.
 *
 * Return: 0; -EINVAL; -E2BIG: more than a limit; -ENOMEM
 */
MUST_CHECK int policy_parse(const char *json, size_t len, struct policy **ret,
			    struct err *e);

/**
 * policy_from_json() - The same, of a value that jansson has read already
 *
 * There may be credentials in @j: see host/net/wipe.h.
 */
MUST_CHECK int policy_from_json(struct json_t *j, struct policy **ret,
				struct err *e);

/**
 * policy_json_why() - What is wrong with a text that is no JSON, for a sentence
 *
 * Without what stands there, which may be a credential: jansson quotes it behind
 * "near". To be called before @je's text is shown to anybody.
 *
 * Return: @je's text, cut
 */
const char *policy_json_why(struct json_error_t *je);

/** policy_ref() - One more owner. Return: @p */
struct policy *policy_ref(struct policy *p);

/** policy_unref() - One owner fewer; the last frees it. NULL is fine */
void policy_unref(struct policy *p);

/** policy_n_rules() - How many rules there are */
size_t policy_n_rules(const struct policy *p);

/** policy_intercepts() - Whether any rule does, so that a CA is needed */
bool policy_intercepts(const struct policy *p);

/** policy_has_upstream() - Whether one of those goes to servers, not a handler */
bool policy_has_upstream(const struct policy *p);

/**
 * policy_handler() - Who answers in the place of a server
 * @rule:	Of a verdict or of policy_may_resolve(); -1: none
 *
 * Return: path of a Unix socket, as long as @p; NULL: nobody
 */
const char *policy_handler(const struct policy *p, int rule);

/**
 * policy_rule_text() - A rule for people: "allow api.example.org tcp 443"
 * @i:		Below policy_n_rules()
 * @buf:	Always terminated; what does not fit is cut
 *
 * Return: @buf
 */
char *policy_rule_text(const struct policy *p, size_t i, char *buf, size_t cap);

/**
 * struct attempt - What a guest wants to do
 * @proto:	What it uses
 * @dst:	Where it goes
 * @port:	The port there; 0 for NET_ICMP
 * @sni:	TCP: NULL: nobody has looked yet; "": looked, and there is none;
 *		else the name in struct hello_state
 * @plain:	Looked, and it is not TLS (HELLO_NOT_TLS). Without it an empty
 *		@sni is TLS that names no host, which no rule by name allows
 * @known:	NULL; or the name of an earlier verdict on this same connection
 *		that was @pinned, for one that is judged again under new rules
 *		after its pin has ended
 */
struct attempt {
	enum net_proto proto;
	struct net_addr dst;
	uint16_t port;
	const char *sni;
	bool plain;
	const char *known;
};

enum judgment {
	JUDGE_DENY,  /* RST or ICMP at once, and an event */
	JUDGE_ALLOW, /* let it pass; nobody needs to look */
	/*
	 * Accept it, look at its first bytes with hello_feed(), and judge again
	 * before any byte of the guest's goes out. The connection to the other
	 * side may be made meanwhile and what it says be passed on, since in
	 * some protocols the server speaks first. HELLO_BAD is a denial.
	 */
	JUDGE_LOOK,
	JUDGE_INTERCEPT /* terminate it: host/net/intercept */
};

/**
 * struct verdict - What became of an attempt
 * @how:	What to do
 * @rule:	Index of the rule that decided, from 0; -1: none did
 * @name:	The name that it was judged by; NULL: by its address alone.
 *		Borrowed from the attempt or the pins: gone when one changes
 * @why:	Constant; a clause for the event: "no rule allows it"
 * @pinned:	The address was given for @name; else that is what TLS says
 */
struct verdict {
	enum judgment how;
	int rule;
	const char *name;
	const char *why;
	bool pinned;
};

/**
 * policy_judge() - Judge a connection, the first datagram of a flow, or an echo
 * @pins:	Of this VM
 * @now_ms:	The clock that pins_add() was told
 *
 * TCP gets JUDGE_LOOK only while @a->sni is NULL. UDP to port 443 is denied by
 * every rule by name that it comes to, but one that allows: QUIC shows no name,
 * and clients fall back to TCP when they are told at once.
 */
struct verdict policy_judge(const struct policy *p, const struct pins *pins,
			    const struct attempt *a, uint64_t now_ms);

/**
 * policy_may_resolve() - Whether any rule could allow a connection to a name
 * @name:	Normal (name.h)
 * @ret_rule:	NULL, or the rule that says so; -1: none
 *
 * A rule for a range of addresses is none that could: to find out who lies in it
 * every name would have to be asked for, and a question is a message to whoever
 * serves that name.
 */
bool policy_may_resolve(const struct policy *p, const char *name,
			int *ret_rule);

/**
 * policy_names() - Whether a rule allows a name as such, and not as one of all
 *
 * By its name, or a pattern that is more than "*", or one with "private".
 */
bool policy_names(const struct policy *p, const char *name);

/**
 * policy_denies_name() - Whether a rule that denies is the first that means @name
 *
 * For the other names of an answer, those that a CNAME leads to: these need not
 * be allowed, as no service behind a CDN would be reached, and must not be
 * denied.
 */
bool policy_denies_name(const struct policy *p, const char *name,
			int *ret_rule);

/**
 * policy_may_answer() - Whether the guest may be told that @name has address @a
 * @ret_why:	NULL, or why not: constant
 *
 * False for what is no public address, unless a rule names the address, or names
 * @name and says "private", and always for those of own.h. This is what ends DNS
 * rebinding.
 */
bool policy_may_answer(const struct policy *p, const struct pins *pins,
		       const char *name, const struct net_addr *a,
		       const char **ret_why);

#endif
