/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/inject.c - which request an injection is for, see inject.h */
#include <errno.h>
#include <string.h>

#include "host/net/policy/inject.h"
#include "host/net/policy/rule.h"

#define DECODE_TIMES 2 /* some servers do it twice */

static void wipe(char *s)
{
	if (s)
		explicit_bzero(s, strlen(s));
	free(s);
}

static void headers_done(struct inject_header *h, size_t n)
{
	for (size_t i = 0; h && i < n; i++) {
		free(h[i].name);
		wipe(h[i].value);
	}
	free(h);
}

void injects_done(struct injects *i)
{
	for (size_t k = 0; k < i->n; k++) {
		struct inject *in = &i->v[k];

		free(in->method);
		free(in->path);
		headers_done(in->set, in->n_set);
		headers_done(in->add, in->n_add);
		for (size_t r = 0; in->remove && r < in->n_remove; r++)
			free(in->remove[r]);
		free(in->remove);
	}
	free(i->v);
	*i = (struct injects){ 0 };
}

/* ---- Paths ---- */

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Resolve percent signs, in place: it only gets shorter. */
static void decode(char *s)
{
	char *to = s;

	for (; *s; s++) {
		int hi = *s == '%' ? hex(s[1]) : -1;
		int lo = hi >= 0 ? hex(s[2]) : -1;

		if (lo > 0 || hi > 0) {
			if (lo < 0) {
				*to++ = *s;
				continue;
			}
			*to++ = (char)(hi << 4 | lo);
			s += 2;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* The segment at @s, up to a slash of either kind. */
static size_t segment(const char *s)
{
	return strcspn(s, "/\\");
}

/* Resolve ".", ".." and doubled slashes, in place. Begins with a slash. */
static void resolve(char *path)
{
	char *to = path;
	const char *s = path;

	while (*s) {
		size_t n = segment(s + 1);
		bool dot = n == 1 && s[1] == '.';
		bool dots = n == 2 && s[1] == '.' && s[2] == '.';
		bool last = !s[1 + n];

		if (dots)
			while (to > path && *--to != '/')
				;
		/* "/a/." is "/a/"; "//" is "/". */
		if ((dot || dots || n == 0) ? last : true) {
			*to++ = '/';
			if (!dot && !dots) {
				memmove(to, s + 1, n);
				to += n;
			}
		}
		s += 1 + n;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

/* Whether @path is @prefix, or below it: "/v1" does not mean "/v10". */
static bool is_below(const char *path, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(path, prefix, n) != 0)
		return false;
	return prefix[n - 1] == '/' || !path[n] || path[n] == '/';
}

int policy_inject(const struct policy *p, int rule, const char *method,
		  const char *path, const struct inject **ret)
{
	size_t n = strcspn(path, "?#");
	auto_free char *raw = strndup(path, n), *read = strndup(path, n);
	const struct injects *all;

	bug_on(rule < 0 || (size_t)rule >= p->n);
	if (!raw || !read)
		return -ENOMEM;
	for (int i = 0; i < DECODE_TIMES; i++)
		decode(read);
	if (*read == '/')
		resolve(read);
	*ret = NULL;
	all = &p->rule[rule].injects;
	for (size_t i = 0; i < all->n; i++) {
		const struct inject *in = &all->v[i];
		bool below = is_below(raw, in->path);

		if (in->method && strcmp(in->method, method) != 0)
			continue;
		if (below != is_below(read, in->path))
			return -EINVAL;
		if (!below)
			continue;
		*ret = in;
		break;
	}
	return 0;
}
