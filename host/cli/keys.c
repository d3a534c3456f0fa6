/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/keys.c - see keys.h */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/keys.h"

#define CTRL "ctrl-"
/* What a control key clears of the character beside it. */
#define CTRL_BITS 0x1f
#define QUOTE_MAX 80

/* Return: the byte that @key of @len characters sends, or -1. */
static int key_byte(const char *key, size_t len)
{
	size_t n = sizeof(CTRL) - 1;
	unsigned char c = (unsigned char)key[len > 0 ? len - 1 : 0];

	if (len == 1)
		return c < 0x80 && isprint(c) ? c : -1;
	if (len != n + 1 || strncasecmp(key, CTRL, n) != 0)
		return -1;
	c = (unsigned char)toupper(c);
	return c >= '@' && c <= '_' ? c & CTRL_BITS : -1;
}

int keys_parse(struct keys *k, const char *word, struct hutch_err *e)
{
	struct keys got = { .n = 0 };
	char q[QUOTE_MAX];

	for (const char *s = word; *word; s += strcspn(s, ",") + 1) {
		size_t len = strcspn(s, ",");
		int c = key_byte(s, len);

		if (c < 0 || got.n == KEYS_MAX) {
			e->code = -EINVAL;
			(void)snprintf(
				e->msg, sizeof(e->msg),
				"--detach-keys: '%s' is no list of 1 "
				"to %u keys such as " KEYS_DEFAULT,
				hutch_escape(q, sizeof(q), word, strlen(word)),
				KEYS_MAX);
			return -EINVAL;
		}
		got.seq[got.n++] = (char)c;
		if (!s[len])
			break;
	}
	*k = got;
	return 0;
}

size_t keys_pass(struct keys *k, const char *in, size_t len, char *out,
		 bool *ret_left)
{
	char last[KEYS_MAX];
	size_t n = 0;

	memcpy(last, k->seq, k->held);
	for (size_t i = 0; i < len; i++) {
		if (k->n == 0) {
			out[n++] = in[i];
			continue;
		}
		last[k->held++] = in[i];
		/* What is left over may be a start again: ^P ^P ^Q. */
		while (k->held > 0 && memcmp(last, k->seq, k->held) != 0) {
			out[n++] = last[0];
			k->held--;
			memmove(last, last + 1, k->held);
		}
		if (k->held == k->n) {
			k->held = 0;
			*ret_left = true;
			break;
		}
	}
	return n;
}

size_t keys_release(struct keys *k, char *out)
{
	size_t n = k->held;

	memcpy(out, k->seq, n);
	k->held = 0;
	return n;
}
