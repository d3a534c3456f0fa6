/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/netplan.c - see netplan.h */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/words.h"
#include "host/lib/netplan.h"

#define QUOTE_MAX 64
#define MTU_IPV6  1280u /* RFC 8200, 5 */

#define WHAT "network"

/**
 * struct word - A key of the words
 * @any:	It is not for a tap alone
 * @once:	It can be there once
 */
struct word {
	const char *key;
	bool any;
	bool once;
	int (*take)(struct netplan *p, char *value, struct err *e);
};

static int bad(struct err *e, const char *key, const char *value,
	       const char *want)
{
	char q[QUOTE_MAX];

	return err_set(e, -EINVAL, WHAT ": %s is %s, not '%s'", key, want,
		       log_escape(q, sizeof(q), value, strlen(value)));
}

/* "A" or "A/N". Return: whether it is one; without /N all bits count. */
static bool read_ip(const char *s, struct wire_ip *ret)
{
	struct wire_ip ip = { .family = strchr(s, ':') ? 6 : 4 };
	char text[INET6_ADDRSTRLEN];
	size_t len = strcspn(s, "/");
	uint64_t prefix = wire_ip_bits(&ip);
	struct err ignored;

	if (len >= sizeof(text))
		return false;
	(void)snprintf(text, sizeof(text), "%.*s", (int)len, s);
	if (inet_pton(ip.family == 4 ? AF_INET : AF_INET6, text, ip.addr) != 1)
		return false;
	if (s[len] &&
	    words_uint("", s + len + 1, 0, prefix, &prefix, &ignored) < 0)
		return false;
	ip.prefix = (uint8_t)prefix;
	*ret = ip;
	return true;
}

static int full(struct err *e, const char *key, unsigned int most)
{
	return err_set(e, -EINVAL, WHAT ": more than %u times %s", most, key);
}

static int take_address(struct netplan *p, char *v, struct err *e)
{
	struct msg_net *n = &p->net;

	if (n->n_addrs == WIRE_NET_ADDRS_MAX)
		return full(e, "address", WIRE_NET_ADDRS_MAX);
	if (!strchr(v, '/') || !read_ip(v, &n->addr[n->n_addrs]))
		return bad(e, "address", v, "written as 192.0.2.2/24");
	n->n_addrs++;
	return 0;
}

static int take_gateway(struct netplan *p, char *v, struct err *e)
{
	struct msg_net *n = &p->net;
	struct wire_route *r = &n->route[n->n_routes];

	if (n->n_routes == WIRE_NET_ROUTES_MAX)
		return full(e, "gateway", WIRE_NET_ROUTES_MAX);
	if (strchr(v, '/') || !read_ip(v, &r->via))
		return bad(e, "gateway", v, "an address");
	r->to = (struct wire_ip){ .family = r->via.family };
	n->n_routes++;
	return 0;
}

/* "192.0.2.0/24-198.51.100.1": where to, and by which gateway. */
static int take_route(struct netplan *p, char *v, struct err *e)
{
	struct msg_net *n = &p->net;
	struct wire_route *r = &n->route[n->n_routes];
	char *via = strchr(v, '-');
	bool ok;

	if (n->n_routes == WIRE_NET_ROUTES_MAX)
		return full(e, "route", WIRE_NET_ROUTES_MAX);
	if (via)
		*via = '\0';
	ok = via && strchr(v, '/') && !strchr(via + 1, '/') &&
	     read_ip(v, &r->to) && read_ip(via + 1, &r->via) &&
	     r->to.family == r->via.family;
	if (via)
		*via = '-';
	if (!ok)
		return bad(e, "route", v,
			   "written as 192.0.2.0/24-198.51.100.1");
	n->n_routes++;
	return 0;
}

static int take_dns(struct netplan *p, char *v, struct err *e)
{
	struct msg_net *n = &p->net;

	if (n->n_dns == WIRE_NET_DNS_MAX)
		return full(e, "dns", WIRE_NET_DNS_MAX);
	if (strchr(v, '/') || !read_ip(v, &n->dns[n->n_dns]))
		return bad(e, "dns", v, "an address");
	n->n_dns++;
	return 0;
}

static int take_search(struct netplan *p, char *v, struct err *e)
{
	struct msg_net *n = &p->net;

	if (n->n_search == WIRE_NET_SEARCH_MAX)
		return full(e, "search", WIRE_NET_SEARCH_MAX);
	if (!wire_domain_ok(v))
		return bad(e, "search", v, "a domain");
	n->search[n->n_search++] = v;
	return 0;
}

static int take_mtu(struct netplan *p, char *v, struct err *e)
{
	uint64_t n = 0;
	int r = words_uint(WHAT ": mtu", v, WIRE_NET_MTU_MIN, WIRE_NET_MTU_MAX,
			   &n, e);

	if (r == 0)
		p->net.mtu = (uint32_t)n;
	return r;
}

/* What is in it the monitor sees to, before it runs anything. */
static int take_rate(struct netplan *p, char *v, struct err *e)
{
	if (!*v || strlen(v) >= sizeof(p->rate) ||
	    v[strspn(v, "0123456789KMGTp/")])
		return bad(e, "rate", v, "written as 10M/1000p");
	memcpy(p->rate, v, strlen(v) + 1);
	return 0;
}

static int take_mac(struct netplan *p, char *v, struct err *e)
{
	uint8_t mac[WORDS_MAC_LEN];

	if (!words_mac(v, strlen(v), mac) || !words_mac_is_one(mac))
		return bad(e, "mac", v, "written as 02:00:00:00:00:01");
	memcpy(p->mac, v, NETPLAN_MAC_LEN);
	return 0;
}

static const struct word words[] = {
	{ "address", false, false, take_address },
	{ "gateway", false, false, take_gateway },
	{ "route", false, false, take_route },
	{ "dns", false, false, take_dns },
	{ "search", true, false, take_search },
	{ "mtu", true, true, take_mtu },
	{ "rate", true, true, take_rate },
	{ "mac", false, true, take_mac },
};

static int take_word(struct netplan *p, char *w, unsigned int *seen,
		     struct err *e)
{
	char *v = strchr(w, '=');
	char q[QUOTE_MAX];

	if (v)
		*v++ = '\0';
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(w, words[i].key) != 0)
			continue;
		if (!v)
			return err_set(e, -EINVAL, WHAT ": %s needs a value",
				       w);
		if (*seen & 1u << i && words[i].once)
			return err_set(e, -EINVAL, WHAT ": %s is there twice",
				       w);
		*seen |= 1u << i;
		if (netplan_private(p) && !words[i].any)
			return err_set(e, -EINVAL,
				       WHAT ": %s is for a tap: without one a "
					    "VM has its own",
				       w);
		return words[i].take(p, v, e);
	}
	return err_set(e, -EINVAL, WHAT ": '%s' is no word of it",
		       log_escape(q, sizeof(q), w, strlen(w)));
}

static int take_mode(struct netplan *p, const char *w, struct err *e)
{
	char q[QUOTE_MAX];

	if (strcmp(w, "none") == 0) {
		p->mode = NETPLAN_NONE;
		return 0;
	}
	if (strcmp(w, "passt") == 0) {
		p->mode = NETPLAN_PASST;
		return 0;
	}
	p->internet = strcmp(w, "internet") == 0;
	if (p->internet || strcmp(w, "policy") == 0) {
		p->mode = NETPLAN_POLICY;
		return 0;
	}
	if (strncmp(w, "tap=", 4) != 0)
		return err_set(e, -EINVAL,
			       WHAT ": '%s' is not none, internet, policy, "
				    "tap=IF or passt",
			       log_escape(q, sizeof(q), w, strlen(w)));
	if (!wire_net_name_ok(w + 4))
		return bad(e, "tap", w + 4,
			   "the name of an interface of the host");
	p->mode = NETPLAN_TAP;
	(void)snprintf(p->tap, sizeof(p->tap), "%s", w + 4);
	return 0;
}

/* What is fixed; none of it fails. */
static void fill_private(struct netplan *p)
{
	struct msg_net *n = &p->net;

	bug_on(!read_ip(NETPLAN_IPV4 "/24", &n->addr[0]));
	bug_on(!read_ip(NETPLAN_IPV6 "/64", &n->addr[1]));
	bug_on(!read_ip(NETPLAN_GATEWAY4, &n->dns[0]));
	bug_on(!read_ip(NETPLAN_GATEWAY6, &n->dns[1]));
	for (int i = 0; i < 2; i++) {
		n->route[i].to.family = n->dns[i].family;
		n->route[i].via = n->dns[i];
	}
	n->n_addrs = 2;
	n->n_routes = 2;
	n->n_dns = 2;
	if (!n->mtu)
		n->mtu = NETPLAN_MTU;
}

static int check(struct netplan *p, const char *w, struct err *e)
{
	if (p->mode == NETPLAN_NONE && *w)
		return err_set(e, -EINVAL, WHAT ": none stands alone");
	if (netplan_private(p))
		fill_private(p);
	for (unsigned int i = 0; i < p->net.n_addrs; i++)
		if (p->net.addr[i].family == 6 && p->net.mtu &&
		    p->net.mtu < MTU_IPV6)
			return err_set(e, -EINVAL,
				       WHAT ": mtu: IPv6 needs %u, not %u",
				       MTU_IPV6, p->net.mtu);
	if (p->mode == NETPLAN_POLICY && p->net.mtu > NETPLAN_MTU)
		return err_set(e, -EINVAL, WHAT ": mtu: it can be %u, not %u",
			       NETPLAN_MTU, p->net.mtu);
	return 0;
}

int netplan_read(const char *text, struct netplan *ret, struct err *e)
{
	unsigned int seen = 0;
	char *w, *next = NULL;
	int r;

	*ret = (struct netplan){ .net = { .name = "eth0" } };
	if (!text)
		return 0;
	if (strlen(text) >= sizeof(ret->text))
		return err_set(e, -EINVAL,
			       WHAT ": %zu bytes of words are more than %u",
			       strlen(text), NETPLAN_TEXT_MAX - 1);
	memcpy(ret->text, text, strlen(text) + 1);
	next = ret->text;
	w = strsep(&next, ",");
	r = take_mode(ret, w, e);
	if (r == 0 && ret->mode == NETPLAN_NONE)
		return check(ret, next ? "," : "", e);
	while (r == 0 && next) {
		w = strsep(&next, ",");
		r = take_word(ret, w, &seen, e);
	}
	return r == 0 ? check(ret, "", e) : r;
}

bool netplan_private(const struct netplan *p)
{
	return p->mode == NETPLAN_PASST || p->mode == NETPLAN_POLICY;
}

const char *netplan_helper(const struct netplan *p)
{
	return p->mode == NETPLAN_PASST ? "passt" : NULL;
}
