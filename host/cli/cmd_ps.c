/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_ps.c - hutch ps: what runs in a VM, and what has ended */
#include "host/cli/cli.h"
#include "host/cli/process.h"
#include "host/cli/text.h"

struct ps_opts {
	struct cli_common common;
	bool quiet;
	bool no_trunc;
	bool env;
};

static const struct opt ps_opts[] = {
	{ "quiet", 'q', OPT_FLAG, offsetof(struct ps_opts, quiet), NULL,
	  "print ids only" },
	{ "no-trunc", 0, OPT_FLAG, offsetof(struct ps_opts, no_trunc), NULL,
	  "do not cut long commands" },
	{ "env", 0, OPT_FLAG, offsetof(struct ps_opts, env), NULL,
	  "with --json: environments too" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static void print_json(struct hutch_process *const *list)
{
	struct jsonw j = cli_json();

	jsonw_array(&j, NULL);
	for (; *list; list++)
		process_json(&j, *list);
	jsonw_array_end(&j);
}

static int print_list(const struct cli *c, const struct ps_opts *o,
		      struct hutch_process *const *list)
{
	if (c->json)
		print_json(list);
	else if (!o->quiet)
		return process_table(list, o->no_trunc);
	else
		for (; *list; list++)
			text_print((*list)->id);
	return 0;
}

static int cmd_ps(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct ps_opts *o = opts;
	const char *proc = opt_word(w, 1);
	struct hutch_process **list = NULL;
	struct hutch_err e = { 0 };
	int r = cli_open(c);

	if (r != 0)
		return r;
	if (hutch_processes(c->h, opt_word(w, 0), proc,
			    o->env ? HUTCH_PROCESSES_ENV : 0, &list, &e) < 0)
		return cli_fail(c, &e);
	r = print_list(c, o, list);
	hutch_processes_free(list);
	return r < 0 ? cli_usage(c, "ps: out of memory") : 0;
}

const struct verb verb_ps = {
	.name = "ps",
	.args = "[OPTIONS] NAME [PROC]",
	.summary = "list the processes started in a VM",
	.help = "Lists what hutch has started in VM NAME: what runs, what "
		"has ended and left\nchildren behind (lingering), and what "
		"has ended in the background. That stays\nlisted until "
		"hutch drop, or until the oldest of 1,024 goes; a command "
		"of hutch\nexec is forgotten when that has its exit.\n",
	.rules = { .table = ps_opts },
	.opts_size = sizeof(struct ps_opts),
	.min = 1,
	.max = 2,
	.run = cmd_ps,
};
