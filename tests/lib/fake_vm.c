/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/fake_vm.c - see fake_vm.h */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "common/base.h"
#include "host/cli/cli.h"
#include "tests/lib/fake_hutch.h"
#include "tests/lib/fake_vm.h"

#define TEXT_MAX  65536
#define WORDS_MAX 32

/* Files that a child writes and the test reads. */
enum {
	OUT,
	ERR,
	CALLS,
	N_TEXTS
};

struct hutch_logs {
	int at;
};

struct hutch_events {
	int at;
};

struct hutch_vm {
	char name[HUTCH_NAME_MAX + 1];
};

/* A fake for single-threaded tests may have what our code may not. */
/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables) */
static struct fake_vm vm;
static char texts[N_TEXTS][TEXT_MAX];
static int fds[N_TEXTS];
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

static void need(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	abort();
}

void fake_vm_set(const struct fake_vm *to)
{
	vm = *to;
}

const char *fake_vm_calls(void)
{
	return texts[CALLS];
}

const char *fake_vm_out(void)
{
	return texts[OUT];
}

const char *fake_vm_err(void)
{
	return texts[ERR];
}

static void child(int argc, char **argv)
{
	int in[2] = { open("/dev/null", O_RDONLY | O_CLOEXEC), -1 };

	if (vm.piped) {
		need(pipe2(in, O_CLOEXEC) == 0, "pipe2");
		(void)close(in[1]);
	}
	(void)dup2(in[0], STDIN_FILENO);
	(void)dup2(fds[OUT], STDOUT_FILENO);
	(void)dup2(fds[ERR], STDERR_FILENO);
	exit(cli_main(argc, argv));
}

static void read_text(int i)
{
	ssize_t n = pread(fds[i], texts[i], TEXT_MAX - 1, 0);

	need(n >= 0, "pread");
	texts[i][n] = '\0';
	(void)close(fds[i]);
}

int fake_vm_cli(const char *word, ...)
{
	char self[] = "hutch", *argv[WORDS_MAX + 1] = { self };
	int argc = 1, status = 0;
	va_list ap;
	pid_t pid;

	va_start(ap, word);
	/* argv is not const by C's own custom alone. */
	for (; word && argc < WORDS_MAX; word = va_arg(ap, const char *))
		memcpy(&argv[argc++], &word, sizeof(word));
	va_end(ap);
	for (int i = 0; i < N_TEXTS; i++) {
		fds[i] = memfd_create("text", MFD_CLOEXEC);
		need(fds[i] >= 0, "memfd_create");
	}
	(void)fflush(NULL);
	pid = fork();
	need(pid >= 0, "fork");
	if (pid == 0)
		child(argc, argv);
	need(waitpid(pid, &status, 0) == pid, "waitpid");
	for (int i = 0; i < N_TEXTS; i++)
		read_text(i);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int fake_vm_call(struct hutch_err *e, const char *fmt, ...)
{
	char line[TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	(void)dprintf(fds[CALLS], "%s", line);
	if (vm.only && !strstr(line, vm.only))
		return 0;
	if (vm.error && e) {
		e->code = vm.error;
		(void)snprintf(e->msg, sizeof(e->msg), "failed for a test");
	}
	return vm.error;
}

static const char *or_dash(const char *s)
{
	return s ? s : "-";
}

int hutch_open(const struct hutch_opts *opts, struct hutch **ret,
	       struct hutch_err *e)
{
	*ret = (struct hutch *)(void *)&vm;
	return 0;
}

void hutch_close(struct hutch *h)
{
}

int hutch_path(const struct hutch *h, enum hutch_path what, char **ret,
	       struct hutch_err *e)
{
	return -ENOENT;
}

int hutch_start(struct hutch *h, const struct hutch_start_opts *o,
		struct hutch_vm **ret, struct hutch_err *e)
{
	static struct hutch_vm started = { "made-up" };
	int r = fake_vm_call(
		e, "start %s flags %#x idle %llu on-exit %d timeout %llu",
		or_dash(o->name), o->flags,
		(unsigned long long)o->idle_timeout_ms, (int)o->on_exit,
		(unsigned long long)o->timeout_ms);

	for (size_t i = 0; o->labels && o->labels[i]; i++)
		(void)dprintf(fds[CALLS], " %s", o->labels[i]);
	if (o->net)
		(void)dprintf(fds[CALLS], " net %s", o->net);
	if (o->net_policy)
		(void)dprintf(fds[CALLS], " %s", o->net_policy);
	if (o->image)
		(void)dprintf(fds[CALLS], " image");
	else if (o->argv)
		(void)dprintf(fds[CALLS], " runs %s", o->argv[0]);
	for (size_t i = 0; o->forwards && o->forwards[i]; i++)
		(void)dprintf(fds[CALLS], " %u:%u", o->forwards[i]->port,
			      o->forwards[i]->guest_port);
	(void)dprintf(fds[CALLS], "\n");
	if (r == 0 && ret)
		*ret = &started;
	return r;
}

const char *hutch_vm_name(const struct hutch_vm *v)
{
	return v->name;
}

int hutch_vm_wait(struct hutch *h, struct hutch_vm *v, int timeout_ms,
		  struct hutch_record **ret, struct hutch_err *e)
{
	*ret = vm.record;
	return fake_vm_call(e, "vm-wait %d\n", timeout_ms);
}

void hutch_vm_close(struct hutch_vm *v)
{
	(void)fake_vm_call(NULL, "vm-close\n");
}

int hutch_list(struct hutch *h, struct hutch_record ***ret, struct hutch_err *e)
{
	*ret = vm.records;
	return vm.error;
}

void hutch_list_free(struct hutch_record **list)
{
}

int hutch_inspect(struct hutch *h, const char *name, struct hutch_record **ret,
		  struct hutch_err *e)
{
	int r = fake_vm_call(e, "inspect %s\n", name);

	*ret = vm.record;
	return r == 0 && !vm.record ? -ENOENT : r;
}

void hutch_record_free(struct hutch_record *rec)
{
}

char *hutch_record_json(const struct hutch_record *rec)
{
	return strdup("{}");
}

int hutch_wait(struct hutch *h, const char *name, enum hutch_wait what,
	       int timeout_ms, struct hutch_record **ret, struct hutch_err *e)
{
	int r = fake_vm_call(e, "wait %s %d\n", name, timeout_ms);

	if (r == 0 && vm.vm_wait_error == 0)
		*ret = vm.record;
	return r ? r : vm.vm_wait_error;
}

int hutch_stop(struct hutch *h, const char *name, int grace_ms,
	       struct hutch_err *e)
{
	return fake_vm_call(e, "stop %s %d\n", name, grace_ms);
}

int hutch_kill(struct hutch *h, const char *name, struct hutch_err *e)
{
	return fake_vm_call(e, "kill %s\n", name);
}

int hutch_rm(struct hutch *h, const char *name, unsigned int flags,
	     struct hutch_err *e)
{
	return fake_vm_call(e, "rm %s %#x\n", name, flags);
}

/* Pending until whoever waits for it by signalfd looks. */
static void send_self(int sig)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, sig);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)raise(sig);
}

static struct hutch_exec *process(void)
{
	if (vm.sh)
		return fake_hutch_sh(vm.sh);
	return fake_hutch_events(vm.ev, vm.n_ev, vm.breaks ? vm.left : -1);
}

int hutch_exec_open(struct hutch *h, const char *name,
		    const struct hutch_exec_opts *o, struct hutch_exec **ret,
		    struct hutch_err *e)
{
	int r = fake_vm_call(e,
			     "exec %s %s flags %#x memory %llu ring %u pids %u "
			     "weight %u timeout %llu\n",
			     name, or_dash(o->id), o->flags,
			     (unsigned long long)o->memory, o->ring, o->pids,
			     o->cpu_weight, (unsigned long long)o->timeout_ms);

	if (r == 0)
		*ret = process();
	return r;
}

int hutch_exec_wait(struct hutch_exec *x, struct hutch_exec_event *ev,
		    int timeout_ms, struct hutch_err *e)
{
	return hutch_exec_next(x, ev, e);
}

int hutch_attach(struct hutch *h, const char *name, const char *proc,
		 const struct hutch_attach_opts *o, struct hutch_exec **ret,
		 struct hutch_err *e)
{
	int r = fake_vm_call(e, "attach %s %s flags %#x from %llu %llu\n", name,
			     or_dash(proc), o->flags,
			     (unsigned long long)o->stdout_from,
			     (unsigned long long)o->stderr_from);

	if (r == 0)
		*ret = process();
	if (r == 0 && vm.sig)
		send_self(vm.sig);
	return r;
}

int hutch_processes(struct hutch *h, const char *name, const char *proc,
		    unsigned int flags, struct hutch_process ***ret,
		    struct hutch_err *e)
{
	*ret = vm.procs;
	return fake_vm_call(e, "processes %s %s %#x\n", name, or_dash(proc),
			    flags);
}

void hutch_processes_free(struct hutch_process **list)
{
}

/* NOLINTNEXTLINE(readability-function-size): hutch.h has it so */
int hutch_process_kill(struct hutch *h, const char *name, const char *proc,
		       int signo, unsigned int flags, int grace_ms,
		       struct hutch_err *e)
{
	return fake_vm_call(e, "kill %s %s %d %#x %d\n", name, proc, signo,
			    flags, grace_ms);
}

int hutch_process_drop(struct hutch *h, const char *name, const char *proc,
		       struct hutch_err *e)
{
	return fake_vm_call(e, "drop %s %s\n", name, proc);
}

int hutch_forward_add(struct hutch *h, const char *name,
		      const struct hutch_forward *f, unsigned int *ret_port,
		      struct hutch_err *e)
{
	*ret_port = f->port ? f->port : 40001;
	return fake_vm_call(e, "forward %s %s %u %u\n", name, or_dash(f->host),
			    f->port, f->guest_port);
}

int hutch_forward_remove(struct hutch *h, const char *name,
			 const struct hutch_forward *f, struct hutch_err *e)
{
	return fake_vm_call(e, "unforward %s %s %u\n", name, or_dash(f->host),
			    f->port);
}

/* One that is known, and one whose process is not. */
int hutch_ports(struct hutch *h, const char *name, struct hutch_port ***ret,
		struct hutch_err *e)
{
	static struct hutch_port port[] = {
		{ .address = "::", .port = 22, .process = "" },
		{ .address = "127.0.0.1",
		  .port = 80,
		  .pid = 57,
		  .process = "a\033b" },
	};
	static struct hutch_port *list[] = { &port[0], &port[1], NULL };
	int r = fake_vm_call(e, "ports %s\n", name);

	if (r == 0)
		*ret = list;
	return r < 0 ? r : 2;
}

void hutch_ports_free(struct hutch_port **list)
{
	(void)list;
}

int hutch_process_wait(struct hutch *h, const char *name, const char *proc,
		       const struct hutch_wait_opts *o,
		       struct hutch_wait_result *ret, struct hutch_err *e)
{
	int r = fake_vm_call(
		e, "wait %s %s for %d line %s from %llu port %u %d\n", name,
		or_dash(proc), (int)o->what, or_dash(o->line),
		(unsigned long long)o->from, o->port, o->timeout_ms);

	if (r == 0 && vm.wait_error) {
		e->code = vm.wait_error;
		(void)snprintf(e->msg, sizeof(e->msg), "failed for a test");
		return vm.wait_error;
	}
	*ret = vm.wait;
	return r;
}

int hutch_events_open(struct hutch *h, const char *name, unsigned int flags,
		      struct hutch_events **ret, struct hutch_err *e)
{
	static struct hutch_events events;

	*ret = &events;
	return fake_vm_call(e, "events %s %#x\n", or_dash(name), flags);
}

int hutch_events_fd(const struct hutch_events *ev)
{
	return -1;
}

int hutch_events_next(struct hutch_events *ev, struct hutch_vm_event *ret,
		      struct hutch_err *e)
{
	if (ev->at == vm.n_events)
		return vm.ended ? -ENODATA : 0;
	*ret = vm.events[ev->at++];
	return 1;
}

void hutch_events_close(struct hutch_events *ev)
{
}

int hutch_logs_open(struct hutch *h, const char *name, enum hutch_log which,
		    unsigned int flags, struct hutch_logs **ret,
		    struct hutch_err *e)
{
	static struct hutch_logs logs;

	*ret = &logs;
	return fake_vm_call(e, "logs %s %d %#x\n", name, (int)which, flags);
}

int hutch_logs_fd(const struct hutch_logs *l)
{
	return -1;
}

int hutch_logs_next(struct hutch_logs *l, struct hutch_log_piece *piece,
		    struct hutch_err *e)
{
	if (l->at == vm.n_pieces)
		return vm.ended ? -ENODATA : 0;
	*piece = vm.pieces[l->at++];
	return 1;
}

void hutch_logs_close(struct hutch_logs *l)
{
}
