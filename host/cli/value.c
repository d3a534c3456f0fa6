/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/value.c - see value.h */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/value.h"

#define SIZE_WORD_MAX 32
#define QUOTE_MAX     80
#define LIST_MAX      80

int value_refuse(struct hutch_err *e, const char *what, const char *word,
		 const char *why)
{
	char q[QUOTE_MAX];

	e->code = -EINVAL;
	(void)snprintf(e->msg, sizeof(e->msg), "%s: '%s' %s", what,
		       hutch_escape(q, sizeof(q), word, strlen(word)), why);
	return -EINVAL;
}

int value_ms(const char *what, const char *word, int *ret, struct hutch_err *e)
{
	uint64_t ms;
	int r;

	if (!word)
		return 0;
	r = hutch_parse_duration(what, word, &ms, e);
	if (r == 0 && ms > INT_MAX)
		r = value_refuse(e, what, word, "is more than 24 days");
	if (r == 0)
		*ret = (int)ms;
	return r;
}

int value_size(const char *what, const char *word, uint64_t *ret,
	       struct hutch_err *e)
{
	char up[SIZE_WORD_MAX];
	size_t len = word ? strlen(word) : 0;

	if (!word)
		return 0;
	/* All units here are powers of 1024 anyway. */
	if (len > 0 && len < sizeof(up)) {
		memcpy(up, word, len + 1);
		if (up[len - 1] >= 'a' && up[len - 1] <= 'z')
			up[len - 1] = (char)(up[len - 1] - 'a' + 'A');
		if (hutch_parse_size(what, up, ret, NULL) == 0)
			return 0;
	}
	return hutch_parse_size(what, word, ret, e);
}

int value_uint(const char *what, const char *word, unsigned int min,
	       unsigned int max, unsigned int *ret, struct hutch_err *e)
{
	uint64_t v;
	int r;

	if (!word)
		return 0;
	r = hutch_parse_uint(what, word, min, max, &v, e);
	if (r == 0)
		*ret = (unsigned int)v;
	return r;
}

int value_choice(const char *what, const char *word, const char *const *choices,
		 unsigned int *ret, struct hutch_err *e)
{
	char list[LIST_MAX] = "is not ";
	size_t len = strlen(list);

	for (unsigned int i = 0; word && choices[i]; i++) {
		int n;

		if (strcmp(word, choices[i]) == 0) {
			*ret = i;
			return 0;
		}
		n = snprintf(list + len, sizeof(list) - len, "%s%s",
			     i ? choices[i + 1] ? ", " : " or " : "",
			     choices[i]);
		len = MIN(len + (size_t)n, sizeof(list) - 1);
	}
	if (!word)
		return 0;
	return value_refuse(e, what, word, list);
}
