/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_kill.c - hutch kill: end a VM at once, or signal a process */
#include <signal.h>

#include "host/cli/cli.h"
#include "host/cli/names.h"
#include "host/cli/signals.h"
#include "host/cli/value.h"

/* Between SIGTERM and SIGKILL, as when a command's time is up. */
#define GRACE_MS 2000

struct kill_opts {
	struct cli_common common;
	const char *signal;
	const char *grace;
	bool one;
};

static const struct opt kill_opts[] = {
	{ "signal", 's', OPT_STR, offsetof(struct kill_opts, signal), "SIGNAL",
	  "send this, by name or number (TERM, then KILL)" },
	{ "one", 0, OPT_FLAG, offsetof(struct kill_opts, one), NULL,
	  "to the process alone, not to what it started" },
	{ "grace", 0, OPT_STR, offsetof(struct kill_opts, grace), "TIME",
	  "then SIGKILL what is left (2s; with -s: never)" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

/** struct deed - What is to be sent, and where to */
struct deed {
	const char *vm;
	int signo;
	unsigned int flags;
	int grace_ms;
};

static int kill_vm(struct cli *c, const char *name, const void *arg,
		   struct hutch_err *e)
{
	(void)arg;
	return hutch_kill(c->h, name, e);
}

static int kill_process(struct cli *c, const char *proc, const void *arg,
			struct hutch_err *e)
{
	const struct deed *d = arg;

	return hutch_process_kill(c->h, d->vm, proc, d->signo, d->flags,
				  d->grace_ms, e);
}

/* Return: 0, or an exit code after complaining. */
static int read_deed(const struct cli *c, const struct kill_opts *o,
		     struct deed *d)
{
	struct hutch_err e = { 0 };
	int r = 0;

	d->signo = SIGTERM;
	d->flags = o->one ? HUTCH_KILL_ONE : 0;
	d->grace_ms = o->signal || o->one ? 0 : GRACE_MS;
	if (o->one && o->grace)
		return cli_usage(c, "--one and --grace do not go together: "
				    "the SIGKILL after the grace is for all");
	if (o->signal)
		r = hutch_parse_signal("--signal", o->signal, &d->signo, &e);
	if (r == 0)
		r = value_ms("--grace", o->grace, &d->grace_ms, &e);
	return r < 0 ? cli_fail(c, &e) : 0;
}

static int cmd_kill(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct kill_opts *o = opts;
	struct deed d = { .vm = opt_word(w, 0) };
	int r;

	if (!opt_word(w, 1)) {
		if (o->signal || o->one || o->grace)
			return cli_usage(c,
					 "kill ends a whole VM at once: --%s "
					 "is for a process, hutch kill %s PROC",
					 o->signal ? "signal"
					 : o->one  ? "one"
						   : "grace",
					 d.vm);
		return names_each(c, w, 0, kill_vm, NULL);
	}
	r = read_deed(c, o, &d);
	return r ? r : names_each(c, w, 1, kill_process, &d);
}

const struct verb verb_kill = {
	.name = "kill",
	.args = "[OPTIONS] NAME [PROC...]",
	.summary = "end a VM at once, or processes in it",
	.help = "Without PROC, ends VM NAME as if its power were cut: "
		"nothing in it is asked or\ntold. With PROC, sends SIGTERM "
		"to that process and to all that it has started,\nwherever "
		"they went, and SIGKILL to those left two seconds later. "
		"It does not\nwait for them: hutch wait NAME PROC. One that "
		"has ended is an error (125).\n\n"
		"  hutch kill web server\n"
		"  hutch kill -s HUP --one web server\n",
	.rules = { .table = kill_opts },
	.opts_size = sizeof(struct kill_opts),
	.min = 1,
	.max = OPT_WORDS_ANY,
	.run = cmd_kill,
};
