/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/command.c - see command.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/command.h"
#include "host/cli/event.h"
#include "host/cli/term.h"

#define TERM_DEFAULT  "xterm"
#define TERM_MAX      128
#define SIZE_WORD_MAX 32

/* Docker's people write 512m; all units here are powers of 1024 anyway. */
static int read_memory(const char *word, uint64_t *ret, struct hutch_err *e)
{
	char up[SIZE_WORD_MAX];
	size_t len = strlen(word);

	if (len > 0 && len < sizeof(up)) {
		memcpy(up, word, len + 1);
		if (up[len - 1] >= 'a' && up[len - 1] <= 'z')
			up[len - 1] = (char)(up[len - 1] - 'a' + 'A');
		if (hutch_parse_size("--memory", up, ret, NULL) == 0)
			return 0;
	}
	return hutch_parse_size("--memory", word, ret, e);
}

static int read_numbers(const struct command_opts *o, struct command *cmd,
			struct hutch_err *e)
{
	uint64_t cpus = 0;
	int r = 0;

	if (o->timeout)
		r = hutch_parse_duration("--timeout", o->timeout,
					 &cmd->timeout_ms, e);
	if (r == 0 && o->memory)
		r = read_memory(o->memory, &cmd->memory, e);
	if (r == 0 && o->cpus)
		r = hutch_parse_uint("--cpus", o->cpus, 1, HUTCH_CPUS_MAX,
				     &cpus, e);
	cmd->cpus = (unsigned int)cpus;
	return r;
}

static int add_term(struct env *env, struct hutch_err *e)
{
	const char *term = getenv("TERM");
	char word[TERM_MAX];

	(void)snprintf(word, sizeof(word), "TERM=%s",
		       term && *term ? term : TERM_DEFAULT);
	return env_add(env, word, e);
}

/* Docker's order: files first, single variables win. */
static int read_env(const struct command_opts *o, struct env *env,
		    struct hutch_err *e)
{
	int r = 0;

	if (o->tty)
		r = add_term(env, e);
	for (size_t i = 0; r == 0 && i < o->env_file.n; i++)
		r = env_add_file(env, o->env_file.v[i], e);
	for (size_t i = 0; r == 0 && i < o->env.n; i++)
		r = env_add(env, o->env.v[i], e);
	return r;
}

int command_read(const struct cli *c, const struct command_opts *o,
		 const char *const *argv, struct command *ret)
{
	struct hutch_err e = { 0 };

	*ret = (struct command){ .argv = argv };
	ret->n_term = o->tty ? 1 : 0;
	if (read_numbers(o, ret, &e) < 0 || read_env(o, &ret->env, &e) < 0)
		return cli_fail(c, &e);
	if (o->memory && ret->memory < HUTCH_MEMORY_MIN)
		return cli_usage(c,
				 "--memory: '%s' is too little: a VM needs "
				 "%lluM",
				 o->memory, HUTCH_MEMORY_MIN >> 20);
	if (o->timeout && ret->timeout_ms == 0)
		return cli_usage(c, "--timeout: '%s' is no time at all",
				 o->timeout);
	if (o->tty && o->common.json)
		return cli_usage(c, "--tty and --json do not go together: a "
				    "terminal's output is no text");
	if (o->tty && !isatty(STDIN_FILENO))
		return cli_usage(c, "the input device is not a TTY: leave "
				    "--tty (-t) out, or run this in a "
				    "terminal");
	return 0;
}

void command_done(struct command *cmd)
{
	env_done(&cmd->env);
}

struct hutch_start_opts command_start_opts(const struct command_opts *o,
					   const struct command *cmd)
{
	struct hutch_start_opts so = HUTCH_START_OPTS_INIT;

	so.name = o->name;
	so.memory = cmd->memory;
	so.cpus = cmd->cpus;
	so.flags = o->rm ? HUTCH_START_RM : 0;
	so.hostname = o->hostname;
	so.argv = *cmd->argv ? cmd->argv : NULL;
	if (cmd->env.v)
		so.env = (const char *const *)cmd->env.v + cmd->n_term;
	so.user = o->user;
	so.workdir = o->workdir;
	so.kernel = o->kernel;
	return so;
}

static unsigned int exec_flags(const struct command_opts *o)
{
	return (o->interactive ? HUTCH_EXEC_STDIN : 0) |
	       (o->tty ? HUTCH_EXEC_TTY : 0);
}

void command_attach(const struct cli *c, const char *name,
		    const struct command_opts *o, const struct command *cmd,
		    struct stream_end *ret)
{
	const struct stream_opts so = { .in = o->interactive,
					.tty = o->tty,
					.json = c->json };
	struct hutch_exec_opts xo = HUTCH_EXEC_OPTS_INIT;
	struct term term = { .fd = STDIN_FILENO };
	struct hutch_exec *x = NULL;

	xo.argv = cmd->argv;
	xo.env = (const char *const *)cmd->env.v;
	xo.user = o->user;
	xo.workdir = o->workdir;
	xo.timeout_ms = cmd->timeout_ms;
	xo.flags = cmd->exec_flags | exec_flags(o);
	if (o->tty && term_size(&term, &xo.cols, &xo.rows) < 0)
		xo.cols = xo.rows = 0;
	*ret = (struct stream_end){ 0 };
	ret->error = hutch_exec_open(c->h, name, &xo, &x, &ret->e);
	if (ret->error == 0)
		stream_run(x, &so, ret);
	hutch_exec_close(x);
}

static int exit_code(const struct hutch_exec_event *ev)
{
	if (ev->timed_out)
		return CLI_EXIT_TIMEOUT;
	if (ev->how == HUTCH_EXEC_SIGNALLED)
		return CLI_EXIT_SIGNAL + (ev->value & 0x7f);
	return ev->value & 0xff;
}

static int error_code(const struct stream_end *end, bool timed_out)
{
	if (timed_out)
		return CLI_EXIT_TIMEOUT;
	switch (end->failed) {
	case HUTCH_EXEC_ERROR_NOT_FOUND:
		return CLI_EXIT_NOT_FOUND;
	case HUTCH_EXEC_ERROR_NOT_EXECUTABLE:
		return CLI_EXIT_NOT_EXECUTABLE;
	default:
		return CLI_EXIT_FAILED;
	}
}

static int report_exit(const struct cli *c, const struct stream_end *end)
{
	struct jsonw j = { .out = stdout };
	int code = exit_code(&end->exit);

	if (end->exit.timed_out)
		cli_warn("the command was ended: its time was up");
	else if (end->exit.oom)
		cli_warn("the command was ended: the VM had no memory left");
	if (end->write_error) {
		cli_warn("cannot write the command's output: %s",
			 strerror(-end->write_error));
		code = code ? code : CLI_EXIT_FAILED;
	}
	if (c->json)
		event_exit(&j, &end->exit, code);
	return code;
}

int command_report(const struct cli *c, const struct stream_end *end,
		   bool timed_out)
{
	struct jsonw j = { .out = stdout };
	int code;

	if (end->exited)
		return report_exit(c, end);
	if (end->gave_up) {
		code = CLI_EXIT_SIGNAL + end->gave_up;
		if (c->json)
			event_error(&j, "left by a signal", -EINTR, code);
		return code;
	}
	code = error_code(end, timed_out);
	cli_warn("%s", end->e.msg);
	if (c->json)
		event_error(&j, end->e.msg, end->error, code);
	return code;
}
