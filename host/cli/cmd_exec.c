/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_exec.c - hutch exec: a command in a VM that runs */
#include "host/cli/command.h"

static const struct opt exec_opts[] = {
	COMMAND_STDIO_OPTS,
	COMMAND_PROCESS_OPTS,
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int exec_in(struct cli *c, const struct command_opts *o,
		   const struct command *cmd, const struct opt_words *w)
{
	struct stream_end end;
	int r = cli_open(c);

	if (r != 0)
		return r;
	command_attach(c, w->word[0], o, cmd, &end);
	return command_report(c, &end, false);
}

static int cmd_exec(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct command_opts *o = opts;
	struct command cmd = { 0 };
	int r;

	if (w->n == 0)
		return cli_usage(c, "exec needs a VM's name in front of the "
				    "command: hutch exec NAME -- COMMAND");
	if (w->n_rest == 0)
		return cli_usage(c,
				 "exec needs a command: hutch exec %s -- "
				 "COMMAND",
				 w->word[0]);
	r = command_read(c, o, w->rest, &cmd);
	if (r == 0)
		r = exec_in(c, o, &cmd, w);
	command_done(&cmd);
	return r;
}

const struct verb verb_exec = {
	.name = "exec",
	.args = "[OPTIONS] NAME [--] COMMAND [ARG...]",
	.summary = "run a command in a VM that runs",
	.help = "Runs COMMAND in VM NAME; if that boots, waits until it is "
		"ready. Exit codes are\nthose of hutch run.\n\n"
		"  hutch exec web -- id\n"
		"  hutch exec -it web -- sh\n"
		"  tar c src | hutch exec -i web -- tar x -C /root\n",
	.rules = { .table = exec_opts, .command = true, .n_words = 1 },
	.opts_size = sizeof(struct command_opts),
	.run = cmd_exec,
};
