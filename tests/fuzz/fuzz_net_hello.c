/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_net_hello.c - the first bytes of a connection
 *
 * However they are cut they say the same, and a name is a name.
 */
#include <string.h>

#include "host/net/policy/clienthello.h"
#include "tests/fuzz/fuzz.h"

static enum hello feed(struct hello_state *h, const uint8_t *b, size_t len,
		       size_t step)
{
	enum hello r = HELLO_MORE;

	memset(h, 0, sizeof(*h));
	for (size_t at = 0; at < len; at += step)
		r = hello_feed(h, b + at, MIN(step, len - at));
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct hello_state *one = malloc(sizeof(*one));
	struct hello_state *two = malloc(sizeof(*two));
	char name[NAME_CAP];
	enum hello r;

	bug_on(!one || !two);
	r = feed(one, data, len, len ? len : 1);
	bug_on(r != feed(two, data, len, 7));
	bug_on(strcmp(one->name, two->name) != 0);
	bug_on(one->name[0] && r != HELLO_DONE);
	if (one->name[0]) {
		bug_on(name_normal(one->name, strlen(one->name), name) < 0);
		bug_on(strcmp(one->name, name) != 0);
	}
	free(one);
	free(two);
	return 0;
}
