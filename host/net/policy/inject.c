/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/policy/inject.c - which request an injection is for, see inject.h */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "common/words.h"
#include "host/net/policy/inject.h"
#include "host/net/policy/rule.h"

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

/*
 * Servers, and what stands before them, do not agree on what a path is: how often
 * percent signs are resolved, whether "//" is "/" and a backslash a slash,
 * whether ";x" belongs to a segment. So there is a list of what it may be read
 * as, and an entry is for all of them or for none.
 */
#define DECODE_TIMES 4 /* some servers do it twice */
#define READINGS_MAX ((DECODE_TIMES + 1) * 4)

/**
 * struct readings - What a path may be read as
 * @v:		@n of them; the first is as it came
 * @odd:	There is that in it of which no list would be long enough
 */
struct readings {
	char *v[READINGS_MAX];
	size_t n;
	bool odd;
};

static void readings_done(struct readings *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->v[i]);
}

/* Resolve percent signs, but for %00. Return: whether there were any. */
static bool decode(char *s)
{
	char *to = s;

	for (; *s; s++) {
		int hi = *s == '%' ? words_hex(s[1]) : -1;
		int lo = hi >= 0 ? words_hex(s[2]) : -1;

		if (lo < 0 || (hi | lo) == 0) {
			*to++ = *s;
			continue;
		}
		*to++ = (char)(hi << 4 | lo);
		s += 2;
	}
	*to = '\0';
	return to != s;
}

/* Take away "x;this" of each segment, and what follows "?" and "#". */
static void cut(char *s)
{
	char *to = s;

	while (*s && !strchr("?#", *s)) {
		size_t n = strcspn(s, ";/\\?#");

		memmove(to, s, n);
		to += n;
		s += n;
		if (*s == ';')
			s += strcspn(s, "/\\?#");
		if (*s == '/' || *s == '\\')
			*to++ = *s++;
	}
	*to = '\0';
}

/* One slash for each row of them, of either kind. */
static void merge(char *s)
{
	char *to = s;

	for (char last = '\0'; *s; s++) {
		char c = *s;

		if (c == '\\')
			c = '/';
		if (c != '/' || last != '/')
			*to++ = c;
		last = c;
	}
	*to = '\0';
}

/* Whether a segment is "." or "..", where all slashes are single ones. */
static bool has_dots(const char *s)
{
	while (*s) {
		size_t n, dots;

		s += *s == '/';
		n = strcspn(s, "/");
		dots = strspn(s, ".");
		if (n > 0 && n < 3 && dots == n)
			return true;
		s += n;
	}
	return false;
}

/* Controls, which some take away; UTF-8 in a wrong form, which some put right. */
static bool is_odd_text(const char *s)
{
	json_t *text = json_string(s);
	bool odd = !text || strstr(s, "%00");

	json_decref(text);
	for (; *s; s++)
		odd = odd || (unsigned char)*s < ' ' || *s == 0x7f;
	return odd;
}

static char *add(struct readings *r, const char *s)
{
	char *copy = strdup(s);

	if (copy)
		r->v[r->n++] = copy;
	return copy;
}

/* @now, and what follows from it without more percent signs resolved. */
static int add_readings(struct readings *r, const char *now, const char *bare)
{
	char *merged, *cut_now, *cut_bare;

	if (!add(r, now))
		return -ENOMEM;
	merged = add(r, now);
	cut_now = merged ? add(r, now) : NULL;
	cut_bare = cut_now ? add(r, bare) : NULL;
	if (!cut_bare)
		return -ENOMEM;
	merge(merged);
	cut(cut_now);
	merge(cut_now);
	merge(cut_bare);
	r->odd = r->odd || has_dots(merged) || has_dots(cut_now) ||
		 has_dots(cut_bare);
	return 0;
}

/* @bare has been cut before each time that percent signs were resolved. */
static int read_all(struct readings *r, const char *path)
{
	size_t n = strcspn(path, "?");
	auto_free char *now = strndup(path, n), *bare = strndup(path, n);
	bool more = true;
	int err = now && bare ? 0 : -ENOMEM;

	r->odd = strchr(path, '#');
	for (int i = 0; err == 0 && more && i <= DECODE_TIMES; i++) {
		cut(bare);
		err = add_readings(r, now, bare);
		more = decode(now);
		more = decode(bare) || more;
	}
	if (err == 0)
		r->odd = r->odd || more || is_odd_text(now);
	return err;
}

/*
 * Whether @path is @in's, or below it: "/v1" does not mean "/v10". What is
 * refused is so in capitals too: some servers do not tell them apart.
 */
static bool is_below(const char *path, const struct inject *in)
{
	size_t n = strlen(in->path);

	if (in->refuse ? strncasecmp(path, in->path, n) != 0
		       : strncmp(path, in->path, n) != 0)
		return false;
	return in->path[n - 1] == '/' || !path[n] || path[n] == '/';
}

/* Return: 1; 0; -EINVAL: nobody can say */
static int is_for(const struct inject *in, const struct readings *r)
{
	bool below = is_below(r->v[0], in);

	if (strcmp(in->path, "/") == 0)
		return 1;
	if (r->odd)
		return -EINVAL;
	for (size_t i = 1; i < r->n; i++)
		if (is_below(r->v[i], in) != below)
			return -EINVAL;
	return below;
}

int policy_inject(const struct policy *p, int rule, const char *method,
		  const char *path, const struct inject **ret)
{
	AUTO(readings_done) struct readings all = { 0 };
	const struct injects *list;
	int r = read_all(&all, path);

	bug_on(rule < 0 || (size_t)rule >= p->n);
	*ret = NULL;
	list = &p->rule[rule].injects;
	for (size_t i = 0; r == 0 && i < list->n; i++) {
		const struct inject *in = &list->v[i];

		if (in->method && strcmp(in->method, method) != 0)
			continue;
		r = is_for(in, &all);
		if (r == 1)
			*ret = in;
	}
	return MIN(r, 0);
}
