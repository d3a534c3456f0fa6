/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_drop.c - hutch drop: forget processes that have ended */
#include "host/cli/cli.h"
#include "host/cli/names.h"

static const struct opt drop_opts[] = {
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int drop_one(struct cli *c, const char *proc, const void *arg,
		    struct hutch_err *e)
{
	return hutch_process_drop(c->h, arg, proc, e);
}

static int cmd_drop(struct cli *c, const void *opts, const struct opt_words *w)
{
	(void)opts;
	return names_each(c, w, 1, drop_one, opt_word(w, 0));
}

const struct verb verb_drop = {
	.name = "drop",
	.args = "[OPTIONS] NAME PROC...",
	.summary = "forget processes that have ended in a VM",
	.help = "Forgets processes of VM NAME that have ended, and what "
		"they wrote. One that is\nstarted under the id of such a "
		"process takes its place, too, and the oldest go\nby "
		"themselves when there are very many.\n",
	.rules = { .table = drop_opts },
	.opts_size = sizeof(struct cli_common),
	.min = 2,
	.max = OPT_WORDS_ANY,
	.run = cmd_drop,
};
