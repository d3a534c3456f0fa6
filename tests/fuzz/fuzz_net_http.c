/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_net_http.c - an intercepted connection, without its TLS
 *
 * Input: pieces, each of a byte that says whose it is (the guest's or the
 * server's) and whether that side ends, one that is its length, and that many
 * bytes. Whatever goes upstream begins as a request for our host does, and the
 * credential is in it only below its path.
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
#define CAP 65536u

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

static void look(const void *p, size_t n)
{
	char *b = strndup(p, n);

	bug_on(!b);
	check_request(b);
	free(b);
}

static void drain_side(struct icpt *s, enum icpt_side side, bool *first)
{
	const void *p;
	size_t n;

	while ((n = icpt_out(s, side, &p)) > 0) {
		if (side == ICPT_UPSTREAM && *first) {
			look(p, n);
			*first = false;
		}
		icpt_sent(s, side, n);
	}
}

/* Take what is to be sent; all of the first request is looked at. */
static void drain(struct icpt *s, bool *first)
{
	drain_side(s, ICPT_UPSTREAM, first);
	drain_side(s, ICPT_GUEST, first);
}

static void play(struct icpt *s, const uint8_t *data, size_t len)
{
	bool first = true;

	while (len >= 2 && !icpt_is_done(s)) {
		enum icpt_side side = data[0] & 1 ? ICPT_UPSTREAM : ICPT_GUEST;
		bool eof = data[0] & 2;
		size_t n = MIN((size_t)data[1], len - 2);

		n = MIN(n, icpt_room(s, side));
		icpt_feed(s, side, data + 2, n);
		drain(s, &first);
		if (eof)
			icpt_eof(s, side);
		drain(s, &first);
		data += 2 + n;
		len -= 2 + n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct icpt_opts o = {
		.name = "a.org", .port = 80, .now_ms = 1, .now_s = 1
	};
	struct icpt *s = NULL;
	struct pins *pins = pins_new();

	/* A guest that knows the credential may say it. */
	if (len > CAP || memmem(data, len, KEY, strlen(KEY))) {
		pins_free(pins);
		return 0;
	}
	bug_on(!pins || addr_parse("8.8.8.8", &o.dst) < 0);
	bug_on(policy_parse(RULES, strlen(RULES), &o.policy, NULL) < 0);
	bug_on(pins_add(pins, "a.org", &o.dst, 60, 1) < 0);
	o.pins = pins;
	bug_on(icpt_new(&o, &s, NULL) < 0);
	play(s, data, len);
	icpt_free(s);
	policy_unref(o.policy);
	pins_free(pins);
	return 0;
}
