/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_exec.c - hutch exec: a command in a VM that runs */
#include "host/cli/command.h"
#include "host/cli/event.h"
#include "host/cli/report.h"
#include "host/cli/text.h"

static const struct opt exec_opts[] = {
	COMMAND_STDIO_OPTS,
	COMMAND_PROCESS_OPTS,
	COMMAND_EXEC_OPTS,
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static void put_started(const struct cli *c, const struct hutch_exec_event *ev)
{
	struct jsonw j = { .out = stdout };

	if (c->json)
		event_put(&j, NULL, ev);
	else
		text_print(ev->id);
}

/* Return: exit code; an event of @x says that it runs, or why it does not. */
static int await_start(const struct cli *c, const char *vm,
		       struct hutch_exec *x)
{
	struct stream_end end = { 0 };
	struct hutch_exec_event ev;

	end.error = hutch_exec_wait(x, &ev, -1, &end.e);
	if (end.error > 0 && ev.kind == HUTCH_EXEC_STARTED) {
		put_started(c, &ev);
		return 0;
	}
	if (end.error > 0)
		stream_take_error(&end, &ev);
	return report_end(c, vm, &end, false);
}

static int detach(const struct cli *c, const char *vm,
		  const struct command_opts *o, const struct command *cmd)
{
	const struct hutch_exec_opts xo = command_exec_opts(o, cmd);
	struct hutch_exec *x = NULL;
	struct hutch_err e = { 0 };
	int r;

	if (hutch_exec_open(c->h, vm, &xo, &x, &e) < 0)
		return cli_fail(c, &e);
	r = await_start(c, vm, x);
	hutch_exec_close(x);
	return r;
}

static int exec_in(struct cli *c, const struct command_opts *o,
		   const struct command *cmd, const char *vm)
{
	struct stream_end end;
	int r = cli_open(c);

	if (r != 0)
		return r;
	if (o->detach)
		return detach(c, vm, o, cmd);
	command_join(c, vm, o, cmd, &end);
	/* Deaf to the signals that were passed on, and alone now. */
	if (end.gave_up && end.id[0] && !o->tty)
		cli_warn("'%s' goes on: hutch kill %s %s", end.id, vm, end.id);
	return report_end(c, vm, &end, false);
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
		r = exec_in(c, o, &cmd, w->word[0]);
	command_done(&cmd);
	return r;
}

const struct verb verb_exec = {
	.name = "exec",
	.args = "[OPTIONS] NAME [--] COMMAND [ARG...]",
	.summary = "run a command in a VM that runs",
	.help = "Runs COMMAND in VM NAME; if that boots, waits until it is "
		"ready. Exit codes are\nthose of hutch run. It goes on "
		"when this program is left: by the detach keys on\na "
		"terminal, or because it died. With -d nobody is there "
		"from the start; hutch ps\nlists such processes, hutch "
		"attach, logs, wait and kill take their ids. Input of\none "
		"that was started with -d -i comes from hutch attach.\n\n"
		"  hutch exec web -- id\n"
		"  hutch exec -it web -- sh\n"
		"  hutch exec -d --name server web -- httpd -f -p 8080\n"
		"  tar c src | hutch exec -i web -- tar x -C /root\n",
	.rules = { .table = exec_opts, .command = true, .n_words = 1 },
	.opts_size = sizeof(struct command_opts),
	.run = cmd_exec,
};
