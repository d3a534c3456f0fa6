/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/say.c - the half of cli.h that talks to people and programs */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "host/cli/cli.h"

#define SENTENCE_MAX 512
#define JSON_INDENT  2

void cli_warn(const char *fmt, ...)
{
	char line[SENTENCE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* One write, so that lines of two programs do not mix. */
	(void)fprintf(stderr, "hutch: %s\n", line);
}

void cli_warn_after(const char *before, const char *sentence)
{
	(void)fprintf(stderr, "%shutch: %s\n", before, sentence);
}

const char *cli_errno_name(int code)
{
	const char *name = strerrorname_np(code < 0 ? -code : code);

	return name ? name : "EIO";
}

struct jsonw cli_json(void)
{
	return (struct jsonw){ .out = stdout, .indent = JSON_INDENT };
}

int cli_fail(const struct cli *c, const struct hutch_err *e)
{
	struct jsonw j = cli_json();

	cli_warn("%s", e->msg);
	if (!c->json)
		return CLI_EXIT_FAILED;
	jsonw_object(&j, NULL);
	jsonw_object(&j, "error");
	jsonw_str(&j, "code", cli_errno_name(e->code));
	jsonw_str(&j, "message", e->msg);
	jsonw_object_end(&j);
	jsonw_object_end(&j);
	return CLI_EXIT_FAILED;
}

int cli_usage(const struct cli *c, const char *fmt, ...)
{
	struct hutch_err e = { .code = -EINVAL };
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(e.msg, sizeof(e.msg), fmt, ap);
	va_end(ap);
	return cli_fail(c, &e);
}
