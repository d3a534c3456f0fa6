/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/opt.c - see opt.h */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "host/cli/opt.h"
#include "host/cli/text.h"

/* More options than any table has; bounds the list of near words. */
#define NAMES_MAX 48
#define QUOTE_MAX 80
/* Where the help's second column starts. */
#define HELP_COL 26

/** struct parse - One run of opt_parse() */
struct parse {
	const struct opt *table;
	const char *const *arg; /* next word */
	char *into;
	struct opt_words *w;
};

PRINTF(2, 3) static int refuse(struct parse *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(p->w->why, sizeof(p->w->why), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static const struct opt *find_name(const struct opt *o, const char *name,
				   size_t len)
{
	for (; o->kind != OPT_NONE; o++) {
		if (strlen(o->name) == len && !strncmp(o->name, name, len))
			return o;
	}
	return NULL;
}

static const struct opt *find_letter(const struct opt *o, char letter)
{
	for (; o->kind != OPT_NONE; o++) {
		if (o->letter == letter)
			return o;
	}
	return NULL;
}

/* @word is "--name" or "--name=value", of which @len bytes are the name. */
static int refuse_name(struct parse *p, const char *word, size_t len)
{
	const char *names[NAMES_MAX + 1] = { NULL };
	char name[OPT_WHY_MAX], q[QUOTE_MAX];
	const char *near;
	size_t n = 0;

	for (const struct opt *o = p->table; o->kind != OPT_NONE; o++) {
		if (n < NAMES_MAX && o->help)
			names[n++] = o->name;
	}
	(void)snprintf(name, sizeof(name), "%.*s", (int)MIN(len, 200u),
		       word + 2);
	near = text_near(name, names);
	(void)text_show(q, sizeof(q), name, 60);
	if (near)
		return refuse(p, "unknown option '--%s': did you mean '--%s'?",
			      q, near);
	return refuse(p, "unknown option '--%s': --help lists them", q);
}

static int add_value(struct opt_list *l, const char *value)
{
	const char **v;

	/* One more at a time: it is a person who types them. */
	v = reallocarray(l->v, l->n + 2, sizeof(*v));
	if (!v)
		return -ENOMEM;
	v[l->n++] = value;
	v[l->n] = NULL;
	l->v = v;
	return 0;
}

static int set_flag(struct parse *p, const struct opt *o, const char *value)
{
	char q[QUOTE_MAX];
	bool *flag = (bool *)(void *)(p->into + o->off);

	if (!value || !strcmp(value, "true")) {
		*flag = true;
	} else if (!strcmp(value, "false")) {
		*flag = false;
	} else {
		(void)text_show(q, sizeof(q), value, 60);
		return refuse(p, "--%s takes no value: '%s'", o->name, q);
	}
	return 0;
}

static int set_value(struct parse *p, const struct opt *o, const char *value)
{
	void *field = p->into + o->off;
	struct opt_list *l = field;

	if (o->kind == OPT_STR) {
		*(const char **)field = value;
		return 0;
	}
	if (l->n >= (size_t)OPT_LIST_MAX << (o->kind == OPT_NAMED))
		return refuse(p, "--%s is given more than %d times", o->name,
			      OPT_LIST_MAX);
	if (o->kind == OPT_NAMED) {
		int r = add_value(l, o->name);

		return r < 0 ? r : add_value(l, value);
	}
	return add_value(l, value);
}

/* @value stood in the same word, or is NULL: then the next word is it. */
static int take_value(struct parse *p, const struct opt *o, const char *value)
{
	if (value)
		return set_value(p, o, value);
	if (!*p->arg)
		return refuse(p, "--%s needs a value: --%s %s", o->name,
			      o->name, o->arg);
	if (!strcmp(*p->arg, "--"))
		return refuse(p,
			      "--%s needs a value, and '--' ends the options: "
			      "--%s %s",
			      o->name, o->name, o->arg);
	return set_value(p, o, *p->arg++);
}

static int parse_long(struct parse *p, const char *word)
{
	size_t len = strcspn(word + 2, "=");
	const char *value = word[2 + len] ? word + 2 + len + 1 : NULL;
	const struct opt *o = find_name(p->table, word + 2, len);

	if (!o)
		return refuse_name(p, word, len);
	if (o->kind == OPT_FLAG)
		return set_flag(p, o, value);
	return take_value(p, o, value);
}

/* "-it", "-m512M", "-eK=V", "-m=512M" */
static int parse_letters(struct parse *p, const char *word)
{
	for (const char *s = word + 1; *s; s++) {
		const struct opt *o = find_letter(p->table, *s);
		char q[QUOTE_MAX];

		if (!o) {
			(void)text_show(q, sizeof(q), word, 60);
			if (*s > ' ' && *s < 0x7f && s > word + 1)
				return refuse(p,
					      "unknown option '-%c' in '%s': "
					      "--help lists them",
					      *s, q);
			return refuse(
				p, "unknown option '%s': --help lists them", q);
		}
		if (o->kind == OPT_FLAG) {
			*(bool *)(void *)(p->into + o->off) = true;
			continue;
		}
		s++;
		if (*s == '=')
			s++;
		/* Who wrote -h may have meant something else. */
		if (o->letter == 'h' && !*s &&
		    (!*p->arg || !strcmp(*p->arg, "--")))
			return refuse(p,
				      "-h is --%s %s here: --help prints the "
				      "options",
				      o->name, o->arg);
		return take_value(p, o, *s ? s : NULL);
	}
	return 0;
}

/* "-" alone is a word. */
static bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

static int parse_word(struct parse *p)
{
	const char *word = *p->arg++;

	if (!is_option(word)) {
		p->w->word[p->w->n++] = word;
		return 0;
	}
	if (!strcmp(word, "--")) {
		p->w->dashes = true;
		return 0;
	}
	return word[1] == '-' ? parse_long(p, word) : parse_letters(p, word);
}

int opt_parse(const struct opt_rules *rules, const char *const *argv,
	      void *into, struct opt_words *w)
{
	struct parse p = {
		.table = rules->table, .arg = argv, .into = into, .w = w
	};
	size_t n = 0;
	int r = 0;

	*w = (struct opt_words){ 0 };
	while (argv[n])
		n++;
	w->word = calloc(n + 1, sizeof(*w->word));
	if (!w->word)
		return -ENOMEM;
	while (r == 0 && *p.arg && !w->dashes &&
	       (is_option(*p.arg) || !rules->command || w->n < rules->n_words))
		r = parse_word(&p);
	w->rest = p.arg;
	w->n_rest = n - (size_t)(p.arg - argv);
	return r;
}

const char *opt_word(const struct opt_words *w, size_t i)
{
	if (i < w->n)
		return w->word[i];
	return i - w->n < w->n_rest ? w->rest[i - w->n] : NULL;
}

void opt_words_done(struct opt_words *w)
{
	free(w->word);
	w->word = NULL;
}

void opt_list_done(struct opt_list *l)
{
	free(l->v);
	*l = (struct opt_list){ 0 };
}

void opt_print_help(const struct opt *table, FILE *out)
{
	for (const struct opt *o = table; o->kind != OPT_NONE; o++) {
		char left[HELP_COL * 2];
		char letter[] = { '-', o->letter, ',', '\0' };

		if (!o->help)
			continue;
		(void)snprintf(left, sizeof(left), "  %-3s --%s %s",
			       o->letter ? letter : "", o->name,
			       o->arg ? o->arg : "");
		(void)fprintf(out, "%-*s %s\n", HELP_COL, left, o->help);
	}
}
