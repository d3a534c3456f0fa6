/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/opt.c - see opt.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/words.h"
#include "vmm/opt.h"

bool opt_is(const struct opt_value *v, const char *word)
{
	return v->len == strlen(word) && memcmp(v->s, word, v->len) == 0;
}

const char *opt_quote(char q[OPT_QUOTE_MAX], const struct opt_value *v)
{
	return log_escape(q, OPT_QUOTE_MAX, v->s, v->len);
}

void opt_word(char word[OPT_WORD_MAX], const struct opt_value *v)
{
	(void)snprintf(word, OPT_WORD_MAX, "%.*s",
		       (int)MIN(v->len, OPT_WORD_MAX - 1), v->s);
}

int opt_uint(const char *what, const struct opt_value *v, uint64_t min,
	     uint64_t max, uint64_t *ret, struct err *e)
{
	char word[OPT_WORD_MAX];

	opt_word(word, v);
	return words_uint(what, word, min, max, ret, e);
}

static int find(const struct opt_keys *k, const struct opt_value *name)
{
	for (size_t i = 0; i < k->n; i++)
		if (opt_is(name, k->key[i].name))
			return (int)i;
	return -ENOENT;
}

bool opt_seen(const struct opt_keys *keys, unsigned int seen, const char *name)
{
	int i = find(keys, &(struct opt_value){ name, strlen(name) });

	bug_on(i < 0);
	return seen & 1u << i;
}

static int take_word(const struct opt_keys *k, const struct opt_value *w,
		     void *ctx, unsigned int *seen, struct err *e)
{
	const char *eq = memchr(w->s, '=', w->len);
	struct opt_value name = { w->s, eq ? (size_t)(eq - w->s) : w->len };
	struct opt_value v = { eq ? eq + 1 : NULL,
			       eq ? w->len - name.len - 1 : 0 };
	int i = find(k, &name);
	char q[OPT_QUOTE_MAX];

	if (i < 0)
		return err_set(e, -EINVAL,
			       "%s: '%s' is no word of it; see hutch-vmm "
			       "--help",
			       k->what, opt_quote(q, &name));
	if (*seen & 1u << i)
		return err_set(e, -EINVAL, "%s: %s is given twice", k->what,
			       k->key[i].name);
	*seen |= 1u << i;
	if (k->key[i].flag != !eq)
		return err_set(e, -EINVAL, "%s: %s %s value", k->what,
			       k->key[i].name,
			       k->key[i].flag ? "takes no" : "needs a");
	return k->key[i].take(ctx, &v, e);
}

int opt_parse(const struct opt_keys *keys, const char *text, void *ctx,
	      unsigned int *seen, struct err *e)
{
	for (;;) {
		struct opt_value w = { text, strcspn(text, ",") };
		int r = take_word(keys, &w, ctx, seen, e);

		if (r < 0 || !text[w.len])
			return r;
		text += w.len + 1;
	}
}
