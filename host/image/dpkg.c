/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/dpkg.c - see dpkg.h */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "host/image/dpkg.h"
#include "host/lib/hutch.h"
#include "host/lib/record.h"

#define INSTALLED "install ok installed"
#define HELD      "hold ok installed"

/** struct word - A field's value, in the text; @s is NULL if there was none */
struct word {
	const char *s;
	size_t len;
};

/** struct stanza - What is asked of one package */
struct stanza {
	struct word name, arch, version, status;
};

/** struct list - Those found so far; each is malloc()ed */
struct list {
	const char *v[HUTCH_IMAGE_STRINGS + 1];
	size_t n;
};

static bool is(const struct word *w, const char *s)
{
	return w->s && w->len == strlen(s) && memcmp(w->s, s, w->len) == 0;
}

/* What can stand in a name, a version, an architecture: nothing to escape. */
static bool word_ok(const struct word *w)
{
	if (!w->s || w->len == 0 || w->len > DPKG_WORD_MAX)
		return false;
	for (size_t i = 0; i < w->len; i++)
		if (w->s[i] <= ' ' || w->s[i] >= 0x7f || w->s[i] == '=')
			return false;
	return true;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* At the end of a stanza. */
static int add(struct list *l, const struct stanza *st, struct err *e)
{
	char *s = NULL;

	if (!is(&st->status, INSTALLED) && !is(&st->status, HELD))
		return 0;
	if (!word_ok(&st->name) || !word_ok(&st->arch) ||
	    !word_ok(&st->version))
		return err_set(e, -EBADMSG,
			       "its package number %zu has no name, version or "
			       "architecture that can be",
			       l->n + 1);
	if (l->n >= HUTCH_IMAGE_STRINGS)
		return err_set(e, -E2BIG, "it has more than %d packages",
			       HUTCH_IMAGE_STRINGS);
	if (asprintf(&s, "%.*s:%.*s=%.*s", (int)st->name.len, st->name.s,
		     (int)st->arch.len, st->arch.s, (int)st->version.len,
		     st->version.s) < 0)
		return err_set(e, -ENOMEM, "no memory");
	l->v[l->n++] = s;
	return 0;
}

static void on_line(struct stanza *st, const char *line, size_t len)
{
	const struct {
		const char *key;
		struct word *w;
	} fields[] = {
		{ "Package: ", &st->name },
		{ "Architecture: ", &st->arch },
		{ "Version: ", &st->version },
		{ "Status: ", &st->status },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		size_t n = strlen(fields[i].key);

		if (len >= n && memcmp(line, fields[i].key, n) == 0)
			*fields[i].w = (struct word){ line + n, len - n };
	}
}

static int read_all(const char *text, size_t len, struct list *l, struct err *e)
{
	struct stanza st = { 0 };
	int r = 0;

	while (len && r == 0) {
		const char *nl = memchr(text, '\n', len);
		size_t n = nl ? (size_t)(nl - text) : len;

		if (n == 0) {
			r = add(l, &st, e);
			st = (struct stanza){ 0 };
		}
		on_line(&st, text, n);
		n += nl != NULL;
		text += n;
		len -= n;
	}
	return r < 0 ? r : add(l, &st, e);
}

int dpkg_list(const char *text, size_t len, const char *const **ret,
	      struct err *e)
{
	auto_free struct list *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return err_set(e, -ENOMEM, "no memory");
	r = read_all(text, len, l, e);
	if (r == 0) {
		qsort(l->v, l->n, sizeof(*l->v), by_name);
		if (record_set_list(ret, l->v) < 0)
			r = err_set(e, -ENOMEM, "no memory");
	}
	for (size_t i = 0; i < l->n; i++)
		record_drop(l->v[i]);
	return r;
}
