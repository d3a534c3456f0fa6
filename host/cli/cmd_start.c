/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_start.c - hutch start: a VM that stays */
#include "host/cli/command.h"
#include "host/cli/show.h"

static const struct opt start_opts[] = {
	COMMAND_PROCESS_OPTS,
	COMMAND_VM_OPTS,
	{ "no-wait", 0, OPT_FLAG, COMMAND_OFF(no_wait), NULL,
	  "do not wait until the VM is ready" },
	CLI_COMMON_OPTS(0),
	OPT_END,
};

static int report(const struct cli *c, const char *name)
{
	struct hutch_record *rec = NULL;
	struct hutch_err e = { 0 };
	int r;

	if (!c->json) {
		(void)printf("%s\n", name);
		return 0;
	}
	if (hutch_inspect(c->h, name, &rec, &e) < 0)
		return cli_fail(c, &e);
	r = show_record(rec);
	hutch_record_free(rec);
	return r < 0 ? cli_usage(c, "start: out of memory") : 0;
}

/* When it ends, of a VM that goes on: what is not said again is as it was. */
static void go_on(struct hutch_start_opts *so, const struct command_opts *o,
		  const struct hutch_record *old)
{
	if (!o->on_exit)
		so->on_exit = (enum hutch_on_exit)old->on_exit;
	if (old->keep_alive_processes)
		so->flags |= HUTCH_START_KEEP_ALIVE_PROCESSES;
	so->timeout_ms = so->timeout_ms ? so->timeout_ms : old->timeout_ms;
	so->idle_timeout_ms = so->idle_timeout_ms ? so->idle_timeout_ms
						  : old->idle_timeout_ms;
	so->grace_ms = old->grace_ms;
}

static int start_vm(struct cli *c, const struct command_opts *o,
		    const struct command *cmd, const struct opt_words *w)
{
	struct hutch_start_opts so = command_start_opts(o, cmd);
	struct hutch_err e = { 0 };

	so.name = w->word[0];
	so.timeout_ms = cmd->timeout_ms;
	if (cmd->old)
		go_on(&so, o, cmd->old);
	/* A shell with nothing to read waits for who attaches. */
	so.flags |= cmd->image_says ? HUTCH_START_STDIN : 0;
	so.wait = o->no_wait ? HUTCH_WAIT_STARTED : HUTCH_WAIT_READY;
	if (hutch_start(c->h, &so, NULL, &e) < 0)
		return cli_fail(c, &e);
	command_tell_ports(c, so.name, cmd);
	return report(c, so.name);
}

static int cmd_start(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct command_opts *o = opts;
	struct command cmd = { 0 };
	int r;

	if (w->n == 0 && o->hostname)
		return cli_usage(c, "start needs a name in front of '--'; -h "
				    "is --hostname here: --help prints the "
				    "options");
	if (w->n == 0)
		return cli_usage(c, "start needs a name in front of '--': "
				    "hutch start NAME -- COMMAND");
	r = command_read(c, o, w->rest, &cmd);
	if (r == 0)
		r = cli_open(c);
	if (r == 0)
		r = command_image(c, o, w->rest, w->dashes, w->word[0], &cmd);
	if (r == 0)
		r = start_vm(c, o, &cmd, w);
	command_done(&cmd);
	return r;
}

const struct verb verb_start = {
	.name = "start",
	.args = "[OPTIONS] NAME [IMAGE [COMMAND [ARG...]]]\n"
		"       hutch start [OPTIONS] NAME -- COMMAND [ARG...]",
	.summary = "start a VM that stays",
	.help = "Boots a VM in the background and prints its name when it "
		"is ready. With COMMAND,\nor one that IMAGE names, it ends "
		"when that does, and hutch logs prints its\noutput; "
		"without, it stays until it is stopped. What an image "
		"names has a stdin\nthat nobody writes to, so a shell "
		"stays. The options for a process are the\ndefault of each "
		"hutch exec in it, --timeout is the VM's. A VM that was "
		"stopped\ngoes on as it was by its name alone, but for what "
		"is said anew.\n\n"
		"  hutch start web debian\n"
		"  hutch start --memory 2G job -- sh -c 'make all'\n",
	.rules = { .table = start_opts, .command = true, .n_words = 1 },
	.opts_size = sizeof(struct command_opts),
	.run = cmd_start,
};
