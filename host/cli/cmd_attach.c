/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_attach.c - hutch attach: join a process that runs */
#include <signal.h>

#include "host/cli/cli.h"
#include "host/cli/names.h"
#include "host/cli/report.h"

/* What a terminal is given of what it has missed. */
#define TERMINAL_BACK (256u << 10)

struct attach_opts {
	struct cli_common common;
	bool no_stdin;
	const char *detach_keys;
};

static const struct opt attach_opts[] = {
	{ "no-stdin", 0, OPT_FLAG, offsetof(struct attach_opts, no_stdin), NULL,
	  "pass no input on" },
	{ "detach-keys", 0, OPT_STR, offsetof(struct attach_opts, detach_keys),
	  "KEYS", "leave a terminal by these (" KEYS_DEFAULT ")" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

/**
 * struct look - What a process is like, before we join it
 * @total:	Bytes of stdout so far: what comes from now on nobody else may
 *		have answered
 */
struct look {
	bool tty;
	uint64_t total;
	uint64_t timeout_ms;
	unsigned int grace_ms;
};

/* Return: 0 or -errno. */
static int look_at(struct cli *c, const char *vm, const char *proc,
		   struct look *ret, struct hutch_err *e)
{
	struct hutch_process **list = NULL;
	int r = hutch_processes(c->h, vm, proc, 0, &list, e);

	if (r < 0)
		return r;
	if (list[0])
		*ret = (struct look){
			.tty = list[0]->tty,
			.total = list[0]->stdout_total,
			.timeout_ms = list[0]->timeout_ms,
			.grace_ms = list[0]->grace_ms,
		};
	hutch_processes_free(list);
	return 0;
}

static void join(struct cli *c, const char *vm, const char *proc,
		 const struct stream_opts *so, const struct look *look,
		 struct stream_end *ret)
{
	struct hutch_attach_opts ao = HUTCH_ATTACH_OPTS_INIT;
	struct hutch_exec *x = NULL;

	ao.flags = HUTCH_ATTACH_FOLLOW | (so->in ? HUTCH_ATTACH_STDIN : 0);
	ao.timeout_ms = look->timeout_ms;
	ao.grace_ms = look->grace_ms;
	if (look->tty) {
		ao.flags |= HUTCH_ATTACH_BACK;
		ao.stdout_from = ao.stderr_from = TERMINAL_BACK;
	}
	*ret = (struct stream_end){ 0 };
	ret->error = hutch_attach(c->h, vm, proc, &ao, &x, &ret->e);
	if (ret->error == 0)
		stream_run(x, so, ret);
	hutch_exec_close(x);
}

static int cmd_attach(struct cli *c, const void *opts,
		      const struct opt_words *w)
{
	const struct attach_opts *o = opts;
	const char *vm = opt_word(w, 0);
	const char *proc = opt_word(w, 1);
	struct stream_opts so = { .in = !o->no_stdin, .watch = true };
	struct stream_end end;
	struct hutch_err e = { 0 };
	struct keys keys;
	struct look look = { 0 };
	int r;

	if (keys_parse(&keys, o->detach_keys ? o->detach_keys : KEYS_DEFAULT,
		       &e) < 0)
		return cli_fail(c, &e);
	r = cli_open(c);
	if (r != 0)
		return r;
	if ((!proc && names_main(c, vm, &proc, &e) < 0) ||
	    look_at(c, vm, proc, &look, &e) < 0)
		return cli_fail(c, &e);
	so.json = c->json;
	so.tty = look.tty && so.in && !so.json && isatty(STDIN_FILENO);
	so.keys = so.tty ? &keys : NULL;
	so.past = look.tty && isatty(STDOUT_FILENO) ? look.total : 0;
	join(c, vm, proc, &so, &look, &end);
	/* Whose reader has gone away needs no advice. */
	if (end.gave_up && end.gave_up != SIGPIPE && end.id[0])
		report_goes_on(vm, end.id);
	return report_end(c, vm, &end, false);
}

const struct verb verb_attach = {
	.name = "attach",
	.args = "[OPTIONS] NAME [PROC]",
	.summary = "join a process that runs in a VM",
	.help = "Prints what process PROC of VM NAME has written, as far "
		"as it is kept, and what\nit writes from now on; of a "
		"terminal the last 256 KiB. Standard input goes to it\nif "
		"it has one. Ends when PROC does, with its exit code. "
		"Without PROC it is the\nmain process.\n\n"
		"If PROC has a terminal (exec -t) and standard input is one, "
		"ctrl-p ctrl-q leaves\nand Ctrl-C is PROC's; else Ctrl-C "
		"leaves, with exit code 130. PROC goes on. Of\nseveral "
		"clients that are attached none holds up PROC: one that is "
		"too slow\nmisses something, and is told.\n",
	.rules = { .table = attach_opts },
	.opts_size = sizeof(struct attach_opts),
	.min = 1,
	.max = 2,
	.run = cmd_attach,
};
