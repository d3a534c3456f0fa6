/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_rm.c - hutch rm: forget stopped VMs */
#include "host/cli/cli.h"
#include "host/cli/names.h"

struct rm_opts {
	struct cli_common common;
	bool force;
};

static const struct opt rm_opts[] = {
	{ "force", 'f', OPT_FLAG, offsetof(struct rm_opts, force), NULL,
	  "kill it first if it is alive" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int rm_one(struct cli *c, const char *name, const void *arg,
		  struct hutch_err *e)
{
	const struct rm_opts *o = arg;

	return hutch_rm(c->h, name, o->force ? HUTCH_RM_FORCE : 0, e);
}

static int cmd_rm(struct cli *c, const void *opts, const struct opt_words *w)
{
	return names_each(c, w, 0, rm_one, opts);
}

const struct verb verb_rm = {
	.name = "rm",
	.args = "[OPTIONS] NAME...",
	.summary = "remove the records, logs and disks of stopped VMs",
	.help = "Removes what is left of each VM that has ended: its record, "
		"its logs\nand its disk. One that lives is refused without "
		"-f.\n",
	.rules = { .table = rm_opts },
	.opts_size = sizeof(struct rm_opts),
	.min = 1,
	.max = OPT_WORDS_ANY,
	.run = cmd_rm,
};
