/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/env.c - see env.h */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/env.h"

#define QUOTE_MAX 80
#define BLANKS    " \t\v\f\r"

PRINTF(3, 4)
static int fail(struct hutch_err *e, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	e->code = code;
	return code;
}

void env_done(struct env *env)
{
	for (size_t i = 0; i < env->n; i++)
		free(env->v[i]);
	free(env->v);
	*env = (struct env){ 0 };
}

/* Takes @s, which may be NULL for want of memory. */
static int append(struct env *env, char *s, struct hutch_err *e)
{
	char **v = NULL;

	if (s)
		v = reallocarray(env->v, env->n + 2, sizeof(*v));
	if (!v) {
		free(s);
		return fail(e, -ENOMEM, "--env: out of memory");
	}
	v[env->n++] = s;
	v[env->n] = NULL;
	env->v = v;
	return 0;
}

int env_add(struct env *env, const char *word, struct hutch_err *e)
{
	size_t len = strcspn(word, "=");
	char q[QUOTE_MAX], *s = NULL;
	const char *value;

	if (len == 0 || strcspn(word, BLANKS "\n") < len)
		return fail(e, -EINVAL,
			    "--env: '%s' has no name in front of '=': write "
			    "NAME=VALUE",
			    hutch_escape(q, sizeof(q), word, strlen(word)));
	if (env->n >= HUTCH_ARGS_MAX)
		return fail(e, -E2BIG, "--env: more than %d variables",
			    HUTCH_ARGS_MAX);
	if (word[len])
		return append(env, strdup(word), e);
	value = getenv(word);
	if (!value)
		return 0;
	if (asprintf(&s, "%s=%s", word, value) < 0)
		s = NULL;
	return append(env, s, e);
}

/* @line ends in a NUL where its newline was. */
static int add_line(struct env *env, char *line, struct hutch_err *e)
{
	size_t len = strlen(line);

	/* A file from elsewhere may end its lines in CR LF. */
	if (len > 0 && line[len - 1] == '\r')
		line[len - 1] = '\0';
	line += strspn(line, BLANKS);
	if (!*line || *line == '#')
		return 0;
	return env_add(env, line, e);
}

static int add_lines(struct env *env, char *text, struct hutch_err *e)
{
	int r = 0;

	while (r == 0 && *text) {
		size_t len = strcspn(text, "\n");
		char *next = text + len + (text[len] == '\n');

		text[len] = '\0';
		r = add_line(env, text, e);
		text = next;
	}
	return r;
}

int env_add_file(struct env *env, const char *path, struct hutch_err *e)
{
	AUTO_FREE char *text = malloc(ENV_FILE_MAX + 2);
	FILE *f = fopen(path, "re");
	int code = f ? 0 : errno;
	char q[QUOTE_MAX];
	size_t n = 0;

	(void)hutch_escape(q, sizeof(q), path, strlen(path));
	if (f && text) {
		n = fread(text, 1, ENV_FILE_MAX + 1, f);
		code = ferror(f) ? errno : 0;
	}
	if (f)
		(void)fclose(f);
	if (!text)
		return fail(e, -ENOMEM, "--env-file: out of memory");
	if (code)
		return fail(e, -code, "--env-file '%s': %s", q, strerror(code));
	if (n > ENV_FILE_MAX)
		return fail(e, -EFBIG, "--env-file '%s' is larger than 1 MiB",
			    q);
	text[n] = '\0';
	if (strlen(text) != n)
		return fail(e, -EINVAL,
			    "--env-file '%s' is not text: it has a NUL", q);
	return add_lines(env, text, e);
}
