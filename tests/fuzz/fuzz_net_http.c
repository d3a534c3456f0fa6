/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_net_http.c - an intercepted connection, without its TLS
 *
 * Input: pieces, each of a byte that says whose it is (the guest's or the
 * server's) and whether that side ends, one that is its length, and that many
 * bytes. Whatever goes upstream begins as a request for our host does, and the
 * credential is in it only below its path. By bit 2 of the first byte upstream is a
 * handler, which is told once whose the request is, and what comes back to the
 * guest is HTTP.
 */
#include <string.h>

#include "host/net/intercept/icpt.h"
#include "host/net/policy/pins.h"
#include "tests/fuzz/fuzz.h"

#define KEY "K3Y"
#define RULES                                                               \
	"{\"rules\":[{\"intercept\":\"a.org\",\"inject\":[{\"path\":\"/v1/" \
	"\",\"plain\":true,\"set\":{\"X-Key\":\"" KEY                       \
	"\"},\"remove\":[\"Cookie"                                          \
	"\"]}]}]}"
#define HANDLED "{\"rules\":[{\"intercept\":\"a.org\",\"handler\":\"/h\"}]}"
#define CAP     65536u

/* What goes first to each side is looked at. */
struct looks {
	bool up;
	bool guest;
	bool handled;
};

/* Told by us, and by nobody else under whatever name a server takes for it. */
static void check_told(const char *b)
{
	const char *end = strstr(b, "\r\n\r\n"), *at = b;
	int n = 0;

	bug_on(!end || !strstr(b, "\r\nX-Hutch-VM: box\r\n"));
	while ((at = strcasestr(at, "\r\nx")) && at < end) {
		at += 3;
		n += (*at == '-' || *at == '_' || *at == '.') &&
		     strncasecmp(at + 1, "hutch", 5) == 0 &&
		     strncasecmp(at + 7, "vm", 2) == 0 &&
		     strchr("-_.", at[6]) && at[9] == ':';
	}
	bug_on(n != 1);
}

static void check_request(const char *b)
{
	const char *line = strstr(b, "\r\n"), *sp = strchr(b, ' ');

	bug_on(!line || !sp || sp > line);
	bug_on(strncmp(b, "TRACE", 5) == 0 ||
	       memchr(b, '#', (size_t)(line - b)));
	bug_on(strncmp(line, "\r\nHost: a.org\r\n", 15) != 0);
	if (strncmp(sp, " /v1/", 5) != 0)
		bug_on(strstr(b, KEY) != NULL);
}

static void look(const struct looks *l, enum icpt_side side, const void *p,
		 size_t n)
{
	char *b = strndup(p, n);

	bug_on(!b);
	if (side == ICPT_UPSTREAM)
		check_request(b);
	if (side == ICPT_UPSTREAM && l->handled)
		check_told(b);
	if (side == ICPT_GUEST && n >= 5)
		bug_on(strncmp(b, "HTTP/", 5) != 0);
	free(b);
}

static void drain_side(struct icpt *s, enum icpt_side side, struct looks *l)
{
	bool *first = side == ICPT_UPSTREAM ? &l->up : &l->guest;
	const void *p;
	size_t n;

	while ((n = icpt_out(s, side, &p)) > 0) {
		if (*first) {
			look(l, side, p, n);
			*first = false;
		}
		icpt_sent(s, side, n);
	}
}

/* Take what is to be sent; all of the first request is looked at. */
static void drain(struct icpt *s, struct looks *l)
{
	drain_side(s, ICPT_UPSTREAM, l);
	drain_side(s, ICPT_GUEST, l);
}

static void play(struct icpt *s, const uint8_t *data, size_t len, bool handled)
{
	struct looks l = { .up = true, .guest = true, .handled = handled };

	while (len >= 2 && !icpt_is_done(s)) {
		enum icpt_side side = data[0] & 1 ? ICPT_UPSTREAM : ICPT_GUEST;
		bool eof = data[0] & 2;
		size_t n = MIN((size_t)data[1], len - 2);

		n = MIN(n, icpt_room(s, side));
		icpt_feed(s, side, data + 2, n);
		drain(s, &l);
		if (eof)
			icpt_eof(s, side);
		drain(s, &l);
		data += 2 + n;
		len -= 2 + n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct icpt_opts o = { .name = "a.org",
			       .vm = "box",
			       .port = 80,
			       .now_ms = 1,
			       .now_s = 1 };
	struct icpt *s = NULL;
	bool handled = len > 0 && data[0] & 4;
	const char *rules = handled ? HANDLED : RULES;
	struct pins *pins = pins_new();

	/* A guest that knows the credential may say it. */
	if (len > CAP || memmem(data, len, KEY, strlen(KEY))) {
		pins_free(pins);
		return 0;
	}
	bug_on(!pins || addr_parse("8.8.8.8", &o.dst) < 0);
	bug_on(policy_parse(rules, strlen(rules), &o.policy, NULL) < 0);
	bug_on(pins_add(pins, "a.org", &o.dst, 60, 1) < 0);
	o.pins = pins;
	bug_on(icpt_new(&o, &s, NULL) < 0);
	play(s, data, len, handled);
	icpt_free(s);
	policy_unref(o.policy);
	pins_free(pins);
	return 0;
}
