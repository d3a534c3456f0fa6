/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_help.c - hutch help: what can be done and how */
#include "host/cli/cli.h"
#include "host/cli/text.h"

#define QUOTE_MAX 80

static const struct opt help_opts[] = {
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int cmd_help(struct cli *c, const void *opts, const struct opt_words *w)
{
	const char *word = opt_word(w, 0);
	const struct verb *v;
	char q[QUOTE_MAX];
	const char *near;

	(void)opts;
	if (!word) {
		cli_print_help(NULL, stdout);
		return 0;
	}
	v = cli_find_verb(word);
	if (v && v->subs && opt_word(w, 1))
		v = cli_find_sub(v, opt_word(w, 1));
	else if (v && opt_word(w, 1))
		return cli_usage(c, "'%s' has no verbs of its own", v->name);
	if (v) {
		cli_print_help(v, stdout);
		return 0;
	}
	(void)text_show(q, sizeof(q), word, 60);
	near = cli_suggest_verb(word);
	if (near)
		return cli_usage(c,
				 "unknown verb '%s': did you mean "
				 "'hutch help %s'?",
				 q, near);
	return cli_usage(c, "unknown verb '%s': hutch help lists them", q);
}

const struct verb verb_help = {
	.name = "help",
	.args = "[VERB [VERB]]",
	.summary = "say what can be done, or more about one verb",
	.rules = { .table = help_opts },
	.opts_size = sizeof(struct cli_common),
	.max = 2,
	.run = cmd_help,
};
