/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_kill.c - hutch kill: end VMs at once */
#include "host/cli/cli.h"
#include "host/cli/names.h"

static const struct opt kill_opts[] = {
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int kill_one(struct cli *c, const char *name, const void *arg,
		    struct hutch_err *e)
{
	(void)arg;
	return hutch_kill(c->h, name, e);
}

static int cmd_kill(struct cli *c, const void *opts, const struct opt_words *w)
{
	(void)opts;
	return names_each(c, w, kill_one, NULL);
}

const struct verb verb_kill = {
	.name = "kill",
	.args = "[OPTIONS] NAME...",
	.summary = "end VMs at once",
	.help = "Ends each VM as if its power were cut: nothing in it is "
		"asked or told. To send a\nsignal to a process instead: "
		"hutch exec NAME -- kill -TERM PID\n",
	.rules = { .table = kill_opts },
	.opts_size = sizeof(struct cli_common),
	.min = 1,
	.run = cmd_kill,
};
