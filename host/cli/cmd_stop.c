/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_stop.c - hutch stop: end VMs in good order */
#include "host/cli/cli.h"
#include "host/cli/names.h"
#include "host/cli/value.h"

struct stop_opts {
	struct cli_common common;
	const char *grace;
};

static const struct opt stop_opts[] = {
	{ "grace", 't', OPT_STR, offsetof(struct stop_opts, grace), "TIME",
	  "between SIGTERM and SIGKILL (10s)" },
	/* Docker's words for it. */
	{ "time", 0, OPT_STR, offsetof(struct stop_opts, grace), "TIME", NULL },
	{ "timeout", 0, OPT_STR, offsetof(struct stop_opts, grace), "TIME",
	  NULL },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int stop_one(struct cli *c, const char *name, const void *arg,
		    struct hutch_err *e)
{
	const int *grace_ms = arg;

	return hutch_stop(c->h, name, *grace_ms, e);
}

static int cmd_stop(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct stop_opts *o = opts;
	struct hutch_err e = { 0 };
	int grace_ms = -1;

	if (value_ms("--grace", o->grace, &grace_ms, &e) < 0)
		return cli_fail(c, &e);
	return names_each(c, w, 0, stop_one, &grace_ms);
}

const struct verb verb_stop = {
	.name = "stop",
	.args = "[OPTIONS] NAME...",
	.summary = "end VMs in good order",
	.help = "Sends SIGTERM to all processes of each VM, SIGKILL after "
		"the grace, then powers\nit off, and waits until it has "
		"ended. The record stays: hutch rm removes it.\n",
	.rules = { .table = stop_opts },
	.opts_size = sizeof(struct stop_opts),
	.min = 1,
	.max = OPT_WORDS_ANY,
	.run = cmd_stop,
};
