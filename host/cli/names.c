/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/names.c - see names.h */
#include <errno.h>
#include <stdio.h>

#include "host/cli/names.h"

static void report(struct jsonw *j, const char *name, int r,
		   const struct hutch_err *e)
{
	jsonw_object(j, NULL);
	jsonw_str(j, "name", name);
	if (r < 0) {
		jsonw_object(j, "error");
		jsonw_str(j, "code", cli_errno_name(r));
		jsonw_str(j, "message", e->msg);
		jsonw_object_end(j);
	} else {
		jsonw_null(j, "error");
	}
	jsonw_object_end(j);
}

int names_each(struct cli *c, const struct opt_words *w, size_t first,
	       names_fn *fn, const void *arg)
{
	struct jsonw j = cli_json();
	int code = cli_open(c);

	if (code != 0)
		return code;
	if (c->json)
		jsonw_array(&j, NULL);
	for (size_t i = first; opt_word(w, i); i++) {
		const char *name = opt_word(w, i);
		struct hutch_err e = { 0 };
		int r = fn(c, name, arg, &e);

		if (r < 0) {
			cli_warn("%s", e.msg);
			code = CLI_EXIT_FAILED;
		}
		if (c->json)
			report(&j, name, r, &e);
		else if (r >= 0)
			(void)printf("%s\n", name);
		/* Stopping takes its time: show what is done already. */
		(void)fflush(stdout);
	}
	if (c->json)
		jsonw_array_end(&j);
	return code;
}

int names_main(const struct cli *c, const char *vm, const char **ret,
	       struct hutch_err *e)
{
	struct hutch_record *rec = NULL;
	int r = hutch_inspect(c->h, vm, &rec, e);

	if (r < 0)
		return r;
	if (!rec->argv) {
		r = e->code = -ENOENT;
		(void)snprintf(e->msg, sizeof(e->msg),
			       "VM '%s' has no main process", rec->name);
	}
	*ret = NAMES_MAIN;
	hutch_record_free(rec);
	return r;
}
