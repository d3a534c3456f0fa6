/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_logs.c - hutch logs: what a process or the guest kernel wrote */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/cli.h"
#include "host/cli/names.h"
#include "host/cli/tail.h"
#include "host/cli/print.h"
#include "host/cli/value.h"

#define NUMBER_MAX 24

struct logs_opts {
	struct cli_common common;
	bool console;
	bool follow;
	bool timestamps;
	const char *since;
};

static const struct opt logs_opts[] = {
	{ "follow", 'f', OPT_FLAG, offsetof(struct logs_opts, follow), NULL,
	  "go on as more is written, until it ends" },
	{ "since", 0, OPT_STR, offsetof(struct logs_opts, since), "CURSOR",
	  "only what is behind this byte of each stream (0)" },
	{ "timestamps", 't', OPT_FLAG, offsetof(struct logs_opts, timestamps),
	  NULL, "the time in front of each line" },
	{ "console", 0, OPT_FLAG, offsetof(struct logs_opts, console), NULL,
	  "the guest kernel's messages, the last 64 KiB" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

/* "100", or "100,20" for stdout and stderr. */
static int read_since(const char *word, uint64_t next[2], struct hutch_err *e)
{
	size_t len = word ? strcspn(word, ",") : 0;
	char first[NUMBER_MAX];
	int r;

	if (!word)
		return 0;
	if (len >= sizeof(first))
		return value_refuse(e, "--since", word, "is no cursor");
	(void)snprintf(first, sizeof(first), "%.*s", (int)len, word);
	r = hutch_parse_uint("--since", first, 0, INT64_MAX, &next[0], e);
	next[1] = next[0];
	if (r == 0 && word[len])
		r = hutch_parse_uint("--since", word + len + 1, 0, INT64_MAX,
				     &next[1], e);
	return r;
}

/* Return: 0; 1 if the reader's own output failed; -errno. */
static int print_log(struct hutch_logs *l, const struct logs_opts *o,
		     struct print *p, struct hutch_err *e)
{
	struct hutch_log_piece piece;

	while (!ferror(stdout)) {
		int r = hutch_logs_next(l, &piece, e);

		if (r < 0)
			return r == -ENODATA ? 0 : r;
		if (r > 0 && o->console)
			print_console(p, &piece);
		else if (r > 0)
			print_piece(p, &piece);
		else if (!o->follow)
			return 0;
		if (o->follow)
			tail_flush();
		if (r == 0)
			tail_wait(hutch_logs_fd(l), POLLIN);
	}
	return 0;
}

/* What is kept here: the main process's, or the console. */
static int log_of_vm(const struct cli *c, const struct logs_opts *o,
		     const char *vm, struct print *p)
{
	struct hutch_logs *l = NULL;
	struct hutch_err e = { 0 };
	int r;

	if (hutch_logs_open(c->h, vm,
			    o->console ? HUTCH_LOG_CONSOLE : HUTCH_LOG_MAIN,
			    o->follow ? HUTCH_LOGS_FOLLOW : 0, &l, &e) < 0)
		return cli_fail(c, &e);
	r = print_log(l, o, p, &e);
	print_end(p);
	hutch_logs_close(l);
	return r < 0 ? cli_fail(c, &e) : 0;
}

/* Return: 0 at its end; -errno. */
static int print_process(struct hutch_exec *x, struct print *p,
			 struct hutch_err *e)
{
	struct hutch_exec_event ev;

	/* Cut short by the VM's end is not the end: there may have been more. */
	while (!ferror(stdout)) {
		int r = hutch_exec_next(x, &ev, e);

		if (r < 0)
			return r;
		if (r == 0) {
			tail_wait(hutch_exec_fd(x), hutch_exec_poll_events(x));
			continue;
		}
		if (ev.kind == HUTCH_EXEC_ERROR) {
			e->code = ev.code;
			(void)snprintf(e->msg, sizeof(e->msg), "%s", ev.msg);
			return ev.code;
		}
		if (ev.kind == HUTCH_EXEC_EXIT || ev.kind == HUTCH_EXEC_END)
			return 0;
		if (ev.kind != HUTCH_EXEC_STARTED)
			print_event(p, &ev);
		tail_flush();
	}
	return 0;
}

static int log_of_process(const struct cli *c, const struct logs_opts *o,
			  const char *vm, const char *proc, struct print *p)
{
	struct hutch_attach_opts ao = HUTCH_ATTACH_OPTS_INIT;
	struct hutch_exec *x = NULL;
	struct hutch_err e = { 0 };
	int r;

	ao.flags = o->follow ? HUTCH_ATTACH_FOLLOW : 0;
	ao.stdout_from = p->next[0];
	ao.stderr_from = p->next[1];
	r = hutch_attach(c->h, vm, proc, &ao, &x, &e);
	if (r == 0)
		r = print_process(x, p, &e);
	print_end(p);
	hutch_exec_close(x);
	return r < 0 ? cli_fail(c, &e) : 0;
}

static int check(const struct cli *c, const struct logs_opts *o,
		 const char *proc)
{
	if (o->console && proc)
		return cli_usage(c, "--console is the VM's: leave out the "
				    "process");
	if (o->console && (o->follow || o->since))
		return cli_usage(c, "--console goes with neither --follow nor "
				    "--since");
	return 0;
}

static int cmd_logs(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct logs_opts *o = opts;
	const char *vm = opt_word(w, 0), *proc = opt_word(w, 1);
	const char *main_id = NULL;
	struct print p = { .json = c->json, .timestamps = o->timestamps };
	struct hutch_err e = { 0 };
	int r = check(c, o, proc);

	if (r != 0)
		return r;
	margin_init(&p.margin, STDOUT_FILENO, STDERR_FILENO);
	if (read_since(o->since, p.next, &e) < 0)
		return cli_fail(c, &e);
	r = cli_open(c);
	if (r != 0)
		return r;
	if (o->console)
		return log_of_vm(c, o, vm, &p);
	if (proc && strcmp(proc, NAMES_MAIN) != 0)
		return log_of_process(c, o, vm, proc, &p);
	r = names_main(c, vm, &main_id, &e);
	if (r == 0)
		return log_of_vm(c, o, vm, &p);
	/* Any process may be called that, where there is no main one. */
	if (r == -ENOENT && proc)
		return log_of_process(c, o, vm, proc, &p);
	return cli_fail(c, &e);
}

const struct verb verb_logs = {
	.name = "logs",
	.args = "[OPTIONS] NAME [PROC]",
	.summary = "print what a process in a VM, or its kernel, wrote",
	.help = "Prints the output of the main process of VM NAME, which "
		"is kept here and\noutlives the VM, or of process PROC, "
		"which is kept in the VM: what it wrote to\nstdout on "
		"stdout, what it wrote to stderr on stderr. Of long output "
		"the end is\nkept; how much is lost is said. A CURSOR is a "
		"number of bytes, or two for\nstdout,stderr; with --json "
		"each piece tells its own.\n\n"
		"  hutch logs -f web server\n",
	.rules = { .table = logs_opts },
	.opts_size = sizeof(struct logs_opts),
	.min = 1,
	.max = 2,
	.run = cmd_logs,
};
