/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/icpt_kit.c - see icpt_kit.h */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "host/net/policy/pins.h"
#include "tests/lib/check_main.h"
#include "tests/lib/icpt_kit.h"
#include "tests/lib/net_kit.h"

#define NOW_MS 1000u
#define STEP   5000u

static void make_cas(struct icpt_kit *k)
{
	const char *pem;

	ck_assert_int_eq(ca_new(time(NULL), &k->vm_ca, NULL), 0);
	ck_assert_int_eq(ca_new(time(NULL), &k->real_ca, NULL), 0);
	pem = ca_pem(k->vm_ca);
	ck_assert_int_eq(trust_new(pem, strlen(pem), &k->vm_trust, NULL), 0);
	pem = ca_pem(k->real_ca);
	ck_assert_int_eq(trust_new(pem, strlen(pem), &k->real_trust, NULL), 0);
}

static void make_session(struct icpt_kit *k, bool tls)
{
	struct icpt_opts o = { .policy = k->p,
			       .pins = k->pins,
			       .rule = 0,
			       .name = "a.org",
			       .port = tls ? 443 : 80,
			       .vm = "box",
			       .tls = tls,
			       .ca = k->vm_ca,
			       .trust = k->real_trust,
			       .now_ms = NOW_MS,
			       .now_s = time(NULL) };
	struct err e = { 0 };

	o.dst = net_kit_addr("8.8.8.8");
	ck_assert_msg(icpt_new(&o, &k->s, &e) == 0, "%s", e.msg);
}

struct icpt_kit *icpt_kit_new(const char *rules, bool tls, const char *server)
{
	struct icpt_kit *k = calloc(1, sizeof(*k));
	struct net_addr a = net_kit_addr("8.8.8.8");

	k->p = net_kit_policy(rules);
	k->pins = pins_new();
	ck_assert_int_eq(pins_add(k->pins, "a.org", &a, 60, NOW_MS), 0);
	ck_assert_int_eq(pins_add(k->pins, "b.org", &a, 60, NOW_MS), 0);
	k->guest_got = calloc(1, ICPT_KIT_CAP);
	k->server_got = calloc(1, ICPT_KIT_CAP);
	if (tls) {
		make_cas(k);
		ck_assert_int_eq(
			tls_client(k->vm_trust, "a.org", &k->guest, NULL), 0);
		if (server)
			ck_assert_int_eq(tls_server(k->real_ca, server,
						    time(NULL), &k->server,
						    NULL),
					 0);
	}
	make_session(k, tls);
	return k;
}

void icpt_kit_free(struct icpt_kit *k)
{
	icpt_free(k->s);
	tls_free(k->guest);
	tls_free(k->server);
	trust_free(k->vm_trust);
	trust_free(k->real_trust);
	ca_free(k->vm_ca);
	ca_free(k->real_ca);
	pins_free(k->pins);
	policy_unref(k->p);
	free(k->guest_got);
	free(k->server_got);
	free(k);
}

void icpt_kit_clear(struct icpt_kit *k)
{
	k->guest_n = k->server_n = 0;
	k->guest_got[0] = k->server_got[0] = '\0';
}

/* ---- Carrying ---- */

static void got(struct icpt_kit *k, enum icpt_side side, const void *p,
		size_t n)
{
	size_t *at = side == ICPT_GUEST ? &k->guest_n : &k->server_n;
	char *buf = side == ICPT_GUEST ? k->guest_got : k->server_got;

	ck_assert_uint_lt(*at + n, ICPT_KIT_CAP);
	memcpy(buf + *at, p, n);
	*at += n;
	buf[*at] = '\0';
}

static bool from_session(struct icpt_kit *k, enum icpt_side side,
			 struct tls *end)
{
	const void *p;
	size_t n = MIN(icpt_out(k->s, side, &p), STEP);
	char buf[STEP];
	ptrdiff_t r;

	if (end)
		n = MIN(n, tls_room(end));
	if (n > 0) {
		if (end)
			ck_assert_int_eq(tls_feed(end, p, n), 0);
		else
			got(k, side, p, n);
		icpt_sent(k->s, side, n);
	}
	while (end && (r = tls_read(end, buf, sizeof(buf))) > 0)
		got(k, side, buf, (size_t)r);
	return n > 0;
}

static bool to_session(struct icpt_kit *k, enum icpt_side side, struct tls *end)
{
	const void *p;
	size_t n;
	void *copy;

	if (!end)
		return false;
	n = MIN(MIN(tls_out(end, &p), STEP), icpt_room(k->s, side));
	if (n == 0)
		return false;
	copy = check_copy(p, n);
	icpt_feed(k->s, side, copy, n);
	tls_sent(end, n);
	free(copy);
	return true;
}

static bool carry(struct icpt_kit *k)
{
	bool any = to_session(k, ICPT_GUEST, k->guest);

	any |= to_session(k, ICPT_UPSTREAM, k->server);
	any |= from_session(k, ICPT_GUEST, k->guest);
	any |= from_session(k, ICPT_UPSTREAM, k->server);
	return any;
}

/* In pieces, as there is room; what the session takes no more is lost. */
static void say(struct icpt_kit *k, enum icpt_side side, struct tls *end,
		const char *text, size_t len)
{
	const void *out;
	bool any = true;

	while (any) {
		ptrdiff_t n = (ptrdiff_t)MIN(len, STEP);

		any = carry(k);
		if (len == 0)
			continue;
		if (end) {
			/* (The first time it begins the handshake.) */
			n = tls_write(end, text, (size_t)n);
			any |= tls_out(end, &out) > 0;
		} else {
			n = MIN(n, (ptrdiff_t)icpt_room(k->s, side));
			if (n > 0) {
				void *copy = check_copy(text, (size_t)n);

				icpt_feed(k->s, side, copy, (size_t)n);
				free(copy);
			}
		}
		if (n <= 0)
			continue;
		text += n;
		len -= (size_t)n;
		any = true;
	}
}

void icpt_kit_guest(struct icpt_kit *k, const char *text, size_t len)
{
	say(k, ICPT_GUEST, k->guest, text, len);
}

void icpt_kit_server(struct icpt_kit *k, const char *text, size_t len)
{
	say(k, ICPT_UPSTREAM, k->server, text, len);
}

void icpt_kit_eof(struct icpt_kit *k, enum icpt_side side)
{
	icpt_eof(k->s, side);
	while (carry(k))
		;
}
