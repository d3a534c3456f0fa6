/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/recipe.c - see recipe.h */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/io.h"
#include "common/log.h"
#include "host/lib/internal.h"
#include "host/lib/jsontext.h"
#include "host/lib/recipe.h"
#include "host/lib/record.h"

#define QUOTE_MAX 80
#define BLANKS    " \t"
#define LOWER     "abcdefghijklmnopqrstuvwxyz0123456789"
#define UPPER     "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* ---- Words ---- */

static int bad(const char *what, const char *word, const char *wants,
	       struct err *e)
{
	char q[QUOTE_MAX];

	return err_set(e, -EINVAL, "%s '%s' is not right: %s", what,
		       log_escape(q, sizeof(q), word, strlen(word)), wants);
}

/* Letters and digits, and others behind the first. */
static size_t span(const char *s, const char *others)
{
	char all[128] = LOWER UPPER;

	if (!strchr(all, *s))
		return 0;
	(void)strncat(all, others, sizeof(all) - strlen(all) - 1);
	return strspn(s, all);
}

/* NAME[:ARCH][=VERSION]; a '-' behind it would have apt remove it. */
static bool package_ok(const char *s)
{
	size_t n = span(s, "+-.");

	if (strlen(s) > RECIPE_PACKAGE_MAX || n == 0 || s[n - 1] == '-' ||
	    strcspn(s, UPPER) < n)
		return false;
	s += n;
	if (*s == ':') {
		n = span(s + 1, "-");
		if (n == 0 || s[n] == '-')
			return false;
		s += 1 + n;
	}
	if (*s == '=') {
		n = span(s + 1, "+-.~:");
		if (n == 0)
			return false;
		s += 1 + n;
	}
	return !*s;
}

int recipe_set_suite(struct recipe *r, const char *suite, struct err *e)
{
	size_t n = span(suite, "+-._");

	if (n == 0 || suite[n] || n > RECIPE_SUITE_MAX)
		return bad("suite", suite,
			   "a release of Debian is wanted, as bookworm", e);
	return record_set(&r->suite, suite) < 0
		       ? err_set(e, -ENOMEM, "no memory")
		       : 0;
}

int recipe_mirror_ok(const char *mirror, struct err *e)
{
	static const char *const begins[] = { "http://", "https://", "file:///",
					      "deb " };
	bool ok = false;

	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		ok |= strncmp(mirror, begins[i], strlen(begins[i])) == 0 &&
		      mirror[strlen(begins[i])];
	for (const char *s = mirror; *s; s++)
		ok &= *s > ' ' ? *s < 0x7f : *s == ' ' && *mirror == 'd';
	if (!ok || strlen(mirror) > RECIPE_MIRROR_MAX)
		return bad("mirror", mirror,
			   "http://..., https://..., file:///..., or a line "
			   "'deb URL SUITE COMPONENT' is wanted",
			   e);
	return 0;
}

/* ---- Lists ---- */

static int append(const char *const **list, const char *word, size_t max,
		  const char *what, struct err *e)
{
	const char *const *old = *list;
	size_t n = strv_len(old);
	auto_free const char **v = NULL;

	if (n >= max)
		return err_set(e, -E2BIG, "more than %zu %s", max, what);
	v = calloc(n + 2, sizeof(*v));
	if (!v)
		return err_set(e, -ENOMEM, "no memory");
	for (size_t i = 0; old && old[i]; i++)
		v[i] = old[i];
	v[n] = word;
	return record_set_list(list, v) < 0 ? err_set(e, -ENOMEM, "no memory")
					    : 0;
}

static int add_package(struct recipe *r, const char *word, struct err *e)
{
	if (!package_ok(word))
		return bad("package", word, "NAME[=VERSION] is wanted", e);
	for (size_t i = 0; r->packages && r->packages[i]; i++)
		if (strcmp(r->packages[i], word) == 0)
			return 0;
	return append(&r->packages, word, RECIPE_PACKAGES_MAX, "packages", e);
}

int recipe_add_packages(struct recipe *r, const char *list, struct err *e)
{
	auto_free char *copy = strdup(list);
	char *rest = copy, *word;
	size_t n = 0;
	int ret = copy ? 0 : err_set(e, -ENOMEM, "no memory");

	while (ret == 0 && (word = strsep(&rest, "," BLANKS))) {
		if (!*word)
			continue;
		ret = add_package(r, word, e);
		n++;
	}
	return ret == 0 && n == 0 ? bad("list of packages", list,
					"PACKAGE[,PACKAGE...] is wanted", e)
				  : ret;
}

/* ---- A file ---- */

static int set_base(struct recipe *r, const char *value, struct err *e)
{
	(void)r;
	return strcmp(value, "debian") == 0
		       ? 0
		       : bad("base", value, "there is only debian", e);
}

static int add_env(struct recipe *r, const char *value, struct err *e)
{
	size_t n = span(value, "_");

	if (*value == '_')
		n = 1 + span(value + 1, "_");
	if (n == 0 || value[n] != '=')
		return bad("env", value, "NAME=VALUE is wanted", e);
	return append(&r->env, value, RECIPE_WORDS_MAX, "variables", e);
}

static int set_cmd(struct recipe *r, const char *value, struct err *e)
{
	auto_free char *copy = strdup(value);
	char *rest = copy, *word;
	int ret = copy ? 0 : err_set(e, -ENOMEM, "no memory");

	record_drop_list(r->cmd);
	r->cmd = NULL;
	while (ret == 0 && (word = strsep(&rest, BLANKS)))
		if (*word)
			ret = append(&r->cmd, word, RECIPE_WORDS_MAX,
				     "words of a command", e);
	return ret;
}

static const struct key {
	const char *name;
	int (*set)(struct recipe *r, const char *value, struct err *e);
} keys[] = {
	{ "base", set_base },
	{ "suite", recipe_set_suite },
	{ "include", recipe_add_packages },
	{ "env", add_env },
	{ "cmd", set_cmd },
};

static int on_line(struct recipe *r, char *line, struct err *e)
{
	char *value = line + strcspn(line, BLANKS), *end;

	if (*value)
		*value++ = '\0';
	value += strspn(value, BLANKS);
	for (end = value + strlen(value); end > value; end--)
		if (!strchr(BLANKS, end[-1]))
			break;
	*end = '\0';
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (strcmp(line, keys[i].name) == 0)
			return *value ? keys[i].set(r, value, e)
				      : bad(line, value, "it is empty", e);
	return bad("key", line, "base, suite, include, env or cmd is wanted",
		   e);
}

/* What is in it gets into JSON. */
static int check_text(const char *line, struct err *e)
{
	auto_json json_t *j = json_string(line);

	return j ? 0 : err_set(e, -EINVAL, "it is not UTF-8");
}

int recipe_parse(char *text, struct recipe *ret, struct err *e)
{
	struct recipe r = { 0 };
	char *line;
	int n = 0, code = 0;

	while (code == 0 && (line = strsep(&text, "\n"))) {
		n++;
		line += strspn(line, BLANKS);
		if (!*line || *line == '#')
			continue;
		code = check_text(line, e);
		code = code < 0 ? code : on_line(&r, line, e);
		if (code < 0)
			code = err_wrap(e, code, "line %d", n);
	}
	if (code == 0 && !r.suite)
		code = err_set(e, -EINVAL, "it names no suite");
	if (code < 0) {
		recipe_done(&r);
		return code;
	}
	*ret = r;
	return 0;
}

int recipe_read(const char *path, struct recipe *ret, struct err *e)
{
	auto_free char *text = NULL;
	char q[QUOTE_MAX];
	size_t len = 0;
	int r = io_read_file(AT_FDCWD, path, RECIPE_MAX, &text, &len, e);

	if (r < 0)
		return r;
	r = strlen(text) == len
		    ? recipe_parse(text, ret, e)
		    : err_set(e, -EINVAL, "it has zero bytes: it is no text");
	return r < 0 ? err_wrap(e, r, "recipe '%s'",
				log_escape(q, sizeof(q), path, strlen(path)))
		     : 0;
}

void recipe_done(struct recipe *r)
{
	record_drop(r->suite);
	record_drop_list(r->packages);
	record_drop_list(r->env);
	record_drop_list(r->cmd);
	*r = (struct recipe){ 0 };
}
