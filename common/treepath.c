/* SPDX-License-Identifier: Apache-2.0 */
/* common/treepath.c - see treepath.h */
#include <string.h>

#include "common/log.h"
#include "common/treepath.h"

/* Bytes shown as they are: each may take four. */
#define SHOWN_MAX 100

void treepath_init(struct treepath *p, const char *root)
{
	size_t len = strlen(root);

	bug_on(len > WIRE_PATH_MAX);
	memcpy(p->text, root, len + 1);
	p->base = len;
	p->len = len;
}

void treepath_push(struct treepath *p, const char *name)
{
	size_t len = strlen(name);

	bug_on(len + 2 > sizeof(p->text) - p->len);
	p->text[p->len] = '/';
	memcpy(p->text + p->len + 1, name, len + 1);
	p->len += len + 1;
}

void treepath_pop(struct treepath *p)
{
	if (p->len == p->base)
		return;
	while (p->text[--p->len] != '/')
		;
	p->text[p->len] = '\0';
}

const char *treepath_inside(const struct treepath *p)
{
	const char *s = p->text + p->base;

	return *s == '/' ? s + 1 : s;
}

const char *treepath_show(const struct treepath *p, char buf[TREEPATH_SHOW_MAX])
{
	size_t skip = p->len > SHOWN_MAX ? p->len - SHOWN_MAX : 0;
	size_t dots = skip ? 3 : 0;

	memcpy(buf, "...", dots);
	(void)log_escape(buf + dots, TREEPATH_SHOW_MAX - dots, p->text + skip,
			 p->len - skip);
	return buf;
}
