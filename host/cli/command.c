/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/command.c - see command.h */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host/cli/command.h"
#include "host/cli/term.h"
#include "host/cli/text.h"
#include "host/cli/value.h"

#define TERM_DEFAULT "xterm"
#define TERM_MAX     128
/* Of one process, in KiB and MiB for the sentences. */
#define PROC_MEMORY_MIN (1ull << 20)
#define RING_MIN        (4ull << 10)
#define RING_MAX        (64ull << 20)
#define PIDS_MAX        4194304u
#define CPU_WEIGHT_MAX  10000u

static const char *const on_exits[] = { "stop", "keep", NULL };
static const char *const keep_alives[] = { "processes", NULL };
static const char *const pulls[] = { "missing", "always", "never", NULL };
static const char *const keeps[] = { "tail", "head", NULL };

/* A time of which 0 would mean "never": what was meant is anyone's guess. */
static int read_time(const char *what, const char *word, uint64_t *ret,
		     struct hutch_err *e)
{
	int r;

	if (!word)
		return 0;
	r = hutch_parse_duration(what, word, ret, e);
	if (r == 0 && *ret == 0)
		r = value_refuse(e, what, word, "is no time at all");
	return r;
}

static int read_vm(const struct command_opts *o, struct command *cmd,
		   struct hutch_err *e)
{
	unsigned int choice = 0;
	int r, signo;

	r = value_size("--memory", o->memory, &cmd->memory, e);
	if (r == 0 && o->memory && cmd->memory < HUTCH_MEMORY_MIN)
		r = value_refuse(e, "--memory", o->memory,
				 "is too little: a VM needs 64M");
	if (r == 0)
		r = value_uint("--cpus", o->cpus, 1, HUTCH_CPUS_MAX, &cmd->cpus,
			       e);
	if (r == 0)
		r = read_time("--idle-timeout", o->idle_timeout,
			      &cmd->idle_timeout_ms, e);
	if (r == 0)
		r = value_choice("--keep-alive", o->keep_alive, keep_alives,
				 &choice, e);
	cmd->keep_alive = o->keep_alive != NULL;
	if (r == 0)
		r = value_choice("--on-exit", o->on_exit, on_exits, &choice, e);
	cmd->on_exit = o->on_exit && choice ? HUTCH_ON_EXIT_KEEP
					    : HUTCH_ON_EXIT_STOP;
	choice = 0;
	cmd->disk_ram = o->disk && strcmp(o->disk, "ram") == 0;
	if (r == 0 && !cmd->disk_ram)
		r = value_size("--disk", o->disk, &cmd->disk, e);
	if (r == 0 && o->disk && !cmd->disk_ram && cmd->disk < HUTCH_DISK_MIN)
		r = value_refuse(e, "--disk", o->disk,
				 "is too little: a disk needs 1M");
	if (r == 0)
		r = value_choice("--pull", o->pull, pulls, &choice, e);
	cmd->pull = o->pull ? (enum command_pull)choice : COMMAND_PULL_MISSING;
	for (size_t i = 0; r == 0 && i < o->volume.n; i++)
		r = mount_volume(&cmd->mounts, o->volume.v[i], e);
	for (size_t i = 0; r == 0 && i < o->mount.n; i++)
		r = mount_words(&cmd->mounts, o->mount.v[i], e);
	if (r == 0 && o->stop_signal)
		r = hutch_parse_signal("--stop-signal", o->stop_signal, &signo,
				       e);
	if (r == 0)
		r = mount_image_dax(o->image_dax, &cmd->image_dax,
				    &cmd->image_window, e);
	if (r == 0)
		r = netopt_parse(o->net, &o->net_rules, &cmd->net, e);
	if (r == 0)
		r = forwards_read(&cmd->forwards, o->publish.v, o->publish.n,
				  e);
	return r;
}
_Static_assert(HUTCH_MEMORY_MIN >> 20 == 64, "the sentence says so");

static int read_process(const struct command_opts *o, struct command *cmd,
			struct hutch_err *e)
{
	uint64_t ring = 0;
	unsigned int head = 0;
	int r;

	cmd->id = o->name;
	r = value_size("--memory", o->memory, &cmd->memory_limit, e);
	if (r == 0 && o->memory && cmd->memory_limit < PROC_MEMORY_MIN)
		r = value_refuse(e, "--memory", o->memory,
				 "is too little: a process needs 1M");
	if (r == 0)
		r = value_uint("--pids", o->pids, 1, PIDS_MAX, &cmd->pids, e);
	if (r == 0)
		r = value_uint("--cpu-weight", o->cpu_weight, 1, CPU_WEIGHT_MAX,
			       &cmd->cpu_weight, e);
	if (r == 0)
		r = value_size("--ring", o->ring, &ring, e);
	if (r == 0 && o->ring && (ring < RING_MIN || ring > RING_MAX))
		r = value_refuse(e, "--ring", o->ring, "is not from 4K to 64M");
	cmd->ring = (uint32_t)ring;
	if (r == 0)
		r = value_choice("--keep", o->keep, keeps, &head, e);
	cmd->flags |= (head ? HUTCH_EXEC_KEEP_HEAD : 0) |
		      (o->clear_env ? HUTCH_EXEC_CLEAR_ENV : 0);
	if (r == 0)
		r = keys_parse(&cmd->keys,
			       o->detach_keys ? o->detach_keys : KEYS_DEFAULT,
			       e);
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

static int check_terminal(const struct cli *c, const struct command_opts *o)
{
	if (!o->tty || o->detach)
		return 0;
	if (o->common.json)
		return cli_usage(c, "--tty and --json do not go together: a "
				    "terminal's output is no text");
	if (!isatty(STDIN_FILENO))
		return cli_usage(c, "the input device is not a TTY: leave "
				    "--tty (-t) out, or run this in a "
				    "terminal");
	return 0;
}

/* Something that whoever wrote it may expect to arrive. */
static bool has_input(void)
{
	struct stat null, st;

	return !isatty(STDIN_FILENO) && fstat(STDIN_FILENO, &st) == 0 &&
	       stat("/dev/null", &null) == 0 &&
	       !(S_ISCHR(st.st_mode) && st.st_rdev == null.st_rdev);
}

static int check_detach(const struct cli *c, const struct command_opts *o)
{
	if (!o->detach || !o->interactive || !has_input())
		return 0;
	return cli_usage(c, "--detach passes no input on, and with "
			    "--interactive it comes from hutch attach: pipe it "
			    "into that, and give this one </dev/null");
}

int command_read(const struct cli *c, const struct command_opts *o,
		 const char *const *argv, struct command *ret)
{
	struct hutch_err e = { 0 };
	int r;

	*ret = (struct command){ .argv = argv };
	ret->n_term = o->tty ? 1 : 0;
	ret->flags = (o->interactive ? HUTCH_EXEC_STDIN : 0) |
		     (o->tty ? HUTCH_EXEC_TTY : 0) |
		     (o->detach ? HUTCH_EXEC_DETACH : 0);
	r = read_time("--timeout", o->timeout, &ret->timeout_ms, &e);
	if (r == 0)
		r = c->verb == &verb_exec ? read_process(o, ret, &e)
					  : read_vm(o, ret, &e);
	if (r == 0)
		r = read_env(o, &ret->env, &e);
	if (r < 0)
		return cli_fail(c, &e);
	r = check_detach(c, o);
	return r ? r : check_terminal(c, o);
}

void command_done(struct command *cmd)
{
	env_done(&cmd->env);
	mount_done(&cmd->mounts);
	netopt_done(&cmd->net);
	forwards_done(&cmd->forwards);
	command_image_done(cmd);
}

static const char *const *env_of(const struct command *cmd)
{
	if (!cmd->env.v)
		return NULL;
	return (const char *const *)cmd->env.v + cmd->n_term;
}

/* Its network, and who gets to it from outside. */
static void go_on_net(struct hutch_start_opts *so,
		      const struct hutch_record *old)
{
	if (!so->net && text_or_null(old->net)) {
		so->net = old->net;
		so->net_policy = text_or_null(old->net_policy);
	}
	so->forwards = so->forwards ? so->forwards : old->forwards;
}

/* What is not said again is as it was; "" is nothing, and all of a bad record. */
static void go_on(struct hutch_start_opts *so, const struct command_opts *o,
		  const struct hutch_record *old)
{
	so->memory = so->memory ? so->memory : old->memory;
	so->cpus = so->cpus ? so->cpus : old->cpus;
	so->hostname = so->hostname ? so->hostname
				    : text_or_null(old->hostname);
	so->env = so->env ? so->env : old->env;
	so->user = so->user ? so->user : text_or_null(old->user);
	so->workdir = so->workdir ? so->workdir : text_or_null(old->workdir);
	so->mounts = so->mounts ? so->mounts : old->mounts;
	so->labels = so->labels ? so->labels : old->labels;
	if (!o->disk && old->disk == HUTCH_DISK_RAM)
		so->flags |= HUTCH_START_DISK_RAM;
	go_on_net(so, old);
	so->stop_signal = so->stop_signal ? so->stop_signal
					  : text_or_null(old->stop_signal);
	if (!o->image_dax) {
		so->image_dax = old->image_dax;
		so->image_window = old->image_window;
	}
}

struct hutch_start_opts command_start_opts(const struct command_opts *o,
					   const struct command *cmd)
{
	struct hutch_start_opts so = HUTCH_START_OPTS_INIT;

	so.name = o->name;
	so.memory = cmd->memory;
	so.cpus = cmd->cpus;
	so.flags = (o->rm ? HUTCH_START_RM : 0) |
		   (cmd->keep_alive ? HUTCH_START_KEEP_ALIVE_PROCESSES : 0);
	so.hostname = o->hostname;
	so.argv = *cmd->argv ? cmd->argv : NULL;
	so.env = env_of(cmd);
	so.user = o->user;
	so.workdir = o->workdir;
	so.kernel = o->kernel;
	so.labels = o->label.v;
	so.idle_timeout_ms = cmd->idle_timeout_ms;
	so.on_exit = cmd->on_exit;
	so.mounts = mount_list(&cmd->mounts);
	so.forwards = cmd->forwards.list;
	so.image = cmd->image;
	so.disk = cmd->disk;
	so.stop_signal = o->stop_signal;
	so.image_dax = cmd->image_dax;
	so.image_window = cmd->image_window;
	if (cmd->net.warning.code)
		cli_warn("%s", cmd->net.warning.msg);
	so.net = cmd->net.net;
	so.net_policy = cmd->net.policy;
	if (cmd->old)
		go_on(&so, o, cmd->old);
	so.flags |= cmd->disk_ram ? HUTCH_START_DISK_RAM : 0;
	return so;
}

void command_tell_ports(const struct cli *c, const char *name,
			const struct command *cmd)
{
	const struct hutch_forward *const *v;
	struct hutch_record *rec = NULL;
	char place[FORWARD_PLACE_MAX];
	bool any = false;

	for (size_t i = 0; i < cmd->forwards.n; i++)
		any = any || cmd->forwards.list[i]->port == 0;
	if (!any || hutch_inspect(c->h, name, &rec, NULL) < 0)
		return;
	/* In the order in which they were asked for. */
	v = rec->forwards;
	for (size_t i = 0; v && v[i] && i < cmd->forwards.n; i++)
		if (cmd->forwards.list[i]->port == 0)
			cli_warn("%s leads to port %u",
				 forward_place(v[i], place), v[i]->guest_port);
	hutch_record_free(rec);
}

struct hutch_exec_opts command_exec_opts(const struct command_opts *o,
					 const struct command *cmd)
{
	struct hutch_exec_opts xo = HUTCH_EXEC_OPTS_INIT;
	const struct term term = { .fd = STDIN_FILENO };

	xo.argv = cmd->argv;
	xo.env = (const char *const *)cmd->env.v;
	xo.user = o->user;
	xo.workdir = o->workdir;
	xo.timeout_ms = cmd->timeout_ms;
	xo.flags = cmd->flags;
	xo.id = cmd->id;
	xo.memory = cmd->memory_limit;
	xo.pids = cmd->pids;
	xo.cpu_weight = cmd->cpu_weight;
	xo.ring = cmd->ring;
	if (o->tty && term_size(&term, &xo.cols, &xo.rows) < 0)
		xo.cols = xo.rows = 0;
	return xo;
}

void command_join(const struct cli *c, const char *name,
		  const struct command_opts *o, const struct command *cmd,
		  struct stream_end *ret)
{
	const struct hutch_exec_opts xo = command_exec_opts(o, cmd);
	const struct stream_opts so = {
		.in = o->interactive,
		.tty = o->tty,
		.json = c->json,
		.keys = o->tty ? &cmd->keys : NULL,
	};
	struct hutch_exec *x = NULL;

	*ret = (struct stream_end){ 0 };
	ret->error = hutch_exec_open(c->h, name, &xo, &x, &ret->e);
	if (ret->error == 0)
		stream_run(x, &so, ret);
	hutch_exec_close(x);
}
