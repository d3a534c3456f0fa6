/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_run.c - hutch run: a new VM for one command */
#include <errno.h>
#include <string.h>

#include "host/cli/command.h"
#include "host/cli/report.h"

/* A command has ended and its VM has not: more than a guest needs. */
#define POWER_OFF_MS 60000

static const struct opt run_opts[] = {
	COMMAND_STDIO_OPTS,
	COMMAND_PROCESS_OPTS,
	{ "name", 0, OPT_STR, COMMAND_OFF(name), "NAME",
	  "name of the VM (one is made up)" },
	COMMAND_VM_OPTS,
	{ "detach", 'd', OPT_FLAG, COMMAND_OFF(detach), NULL, NULL },
	CLI_COMMON_OPTS(0),
	OPT_END,
};

static int check(const struct cli *c, const struct command_opts *o,
		 const struct opt_words *w)
{
	if (o->detach)
		return cli_usage(c, "run has no --detach: write hutch start "
				    "NAME -- COMMAND");
	if (w->n_rest == 0)
		return cli_usage(c, "run needs an image or a command: hutch "
				    "run IMAGE, or hutch run -- COMMAND");
	return 0;
}

/* Frees @rec. Return: whether the VM's time was up. */
static bool timed_out(struct hutch_record *rec)
{
	bool r = rec && rec->reason == HUTCH_REASON_TIMEOUT;

	hutch_record_free(rec);
	return r;
}

/*
 * Comes back when the VM has ended, so that "hutch list" tells the truth at
 * once. Takes @vm.
 */
static int run_in(struct cli *c, struct hutch_vm *vm,
		  const struct command_opts *o, const struct command *cmd)
{
	char name[HUTCH_NAME_MAX + 1];
	struct hutch_record *rec = NULL;
	bool keep = cmd->on_exit == HUTCH_ON_EXIT_KEEP;
	bool stays = keep;
	struct stream_end end;
	int r = -ETIMEDOUT;

	(void)snprintf(name, sizeof(name), "%s", hutch_vm_name(vm));
	command_join(c, name, o, cmd, &end);
	if (end.exited)
		r = keep ? 0
			 : hutch_vm_wait(c->h, vm, POWER_OFF_MS, &rec, NULL);
	/* Left alone, never begun, or deaf: let go of the lifeline. */
	hutch_vm_close(vm);
	if (r == -ETIMEDOUT)
		stays = hutch_wait(c->h, name, HUTCH_WAIT_EXIT,
				   keep ? 0 : POWER_OFF_MS, &rec,
				   NULL) == -ETIMEDOUT &&
			keep;
	r = report_end(c, name, &end, timed_out(rec));
	/* Nobody could know what it is called. */
	if (stays && !o->name)
		cli_warn("VM '%s' stays", name);
	return r;
}

static int run_command(struct cli *c, const struct command_opts *o,
		       const struct command *cmd)
{
	struct hutch_start_opts so = command_start_opts(o, cmd);
	struct hutch_vm *vm = NULL;
	struct hutch_err e = { 0 };

	if (!*cmd->argv)
		return cli_usage(c, "the image says nothing of what to run: "
				    "write a command behind its name");
	so.flags |= HUTCH_START_ATTACH;
	/* A VM that is to stay outlives us and the command. */
	if (cmd->on_exit == HUTCH_ON_EXIT_STOP) {
		so.flags |= HUTCH_START_LIFELINE;
		so.timeout_ms = cmd->timeout_ms;
	}
	if (hutch_start(c->h, &so, &vm, &e) < 0)
		return cli_fail(c, &e);
	command_tell_ports(c, hutch_vm_name(vm), cmd);
	return run_in(c, vm, o, cmd);
}

static int cmd_run(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct command_opts *o = opts;
	struct command cmd = { 0 };
	int r = check(c, o, w);

	if (r == 0)
		r = command_read(c, o, w->rest, &cmd);
	cmd.flags |= HUTCH_EXEC_MAIN;
	if (r == 0)
		r = cli_open(c);
	if (r == 0)
		r = command_image(c, o, w->rest, w->dashes, o->name, &cmd);
	if (r == 0)
		r = run_command(c, o, &cmd);
	command_done(&cmd);
	return r;
}

const struct verb verb_run = {
	.name = "run",
	.args = "[OPTIONS] IMAGE [COMMAND [ARG...]]\n"
		"       hutch run [OPTIONS] -- COMMAND [ARG...]",
	.summary = "run a command in a new VM",
	.help = "Boots a VM from IMAGE, or without one from a small "
		"built-in root, runs COMMAND,\nor what the image says, and "
		"ends the VM when that has ended. The exit code is\nthe "
		"command's own; 124: its time was up, 125: hutch failed, "
		"126: it cannot be\nrun, 127: it was not found, 128+N: "
		"signal N ended it. An image that is not here\nis pulled "
		"(see hutch image pull).\n\n"
		"  hutch run debian python3 -c 'print(1)'\n"
		"  hutch run --rm -it debian bash\n"
		"  hutch run -- sh -c 'uname -a; exit 7'\n"
		"  hutch run --rm -i --timeout 10 -- sh < script.sh\n"
		"  hutch run --rm -it -- sh\n",
	.rules = { .table = run_opts, .command = true },
	.opts_size = sizeof(struct command_opts),
	.run = cmd_run,
};
