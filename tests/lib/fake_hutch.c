/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/fake_hutch.c - see fake_hutch.h */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/base.h"
#include "tests/lib/fake_hutch.h"

#define PIECE_MAX 65536

/* An epoll descriptor stands for all three pipes, as a socket would. */
struct hutch_exec {
	pid_t pid;
	int epfd;
	int in;
	int out[2];
	int started;
	int ended;
	int left; /* events until it breaks, -1 never */
	const struct hutch_exec_event *script;
	int n_script;
	uint64_t cursor[2];
	int tells_size;
	int left_ms; /* until it must be looked at, -1 never */
	char data[PIECE_MAX];
};

static void need(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	abort();
}

static void watch(const struct hutch_exec *x, int fd, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.fd = fd };

	need(fcntl(fd, F_SETFL, O_NONBLOCK) == 0, "fcntl");
	need(epoll_ctl(x->epfd, EPOLL_CTL_ADD, fd, &ev) == 0, "epoll_ctl");
}

static void child(const char *script, int in, int out, int err)
{
	sigset_t none;

	/* Nothing outlives a test that gives up on its command. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The agent starts a process with nothing blocked or ignored. */
	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)dup2(in, STDIN_FILENO);
	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(err, STDERR_FILENO);
	(void)execl("/bin/sh", "sh", "-c", script, (char *)NULL);
	_exit(127);
}

struct hutch_exec *fake_hutch_sh(const char *script)
{
	struct hutch_exec *x = calloc(1, sizeof(*x));
	int in[2], out[2], err[2];

	need(x != NULL, "calloc");
	x->left = -1;
	x->left_ms = -1;
	need(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 &&
		     pipe2(err, O_CLOEXEC) == 0,
	     "pipe2");
	x->epfd = epoll_create1(EPOLL_CLOEXEC);
	need(x->epfd >= 0, "epoll_create1");
	x->pid = fork();
	need(x->pid >= 0, "fork");
	if (x->pid == 0)
		child(script, in[0], out[1], err[1]);
	(void)close(in[0]);
	(void)close(out[1]);
	(void)close(err[1]);
	x->in = in[1];
	x->out[0] = out[0];
	x->out[1] = err[0];
	watch(x, x->out[0], EPOLLIN);
	watch(x, x->out[1], EPOLLIN);
	watch(x, x->in, 0);
	return x;
}

struct hutch_exec *fake_hutch_events(const struct hutch_exec_event *ev, int n,
				     int left)
{
	struct hutch_exec *x = calloc(1, sizeof(*x));

	need(x != NULL, "calloc");
	x->in = x->out[0] = x->out[1] = -1;
	/* Always ready, as there is always an event or an end. */
	x->epfd = eventfd(1, EFD_CLOEXEC);
	need(x->epfd >= 0, "eventfd");
	x->script = ev;
	x->n_script = n;
	x->left = left;
	x->left_ms = -1;
	return x;
}

void fake_hutch_deaf(struct hutch_exec *x)
{
	x->left_ms = 1;
}

void fake_hutch_tell_size(struct hutch_exec *x)
{
	x->tells_size = 1;
}

void fake_hutch_break_after(struct hutch_exec *x, int n_events)
{
	x->left = n_events;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

void hutch_exec_close(struct hutch_exec *x)
{
	if (!x)
		return;
	shut(&x->in);
	shut(&x->out[0]);
	shut(&x->out[1]);
	shut(&x->epfd);
	free(x);
}

int hutch_exec_fd(const struct hutch_exec *x)
{
	return x->epfd;
}

short hutch_exec_poll_events(const struct hutch_exec *x)
{
	(void)x;
	return 1; /* POLLIN: of the epoll descriptor */
}

int hutch_exec_timeout_ms(const struct hutch_exec *x)
{
	return x->left_ms;
}

/* Return: 1 with *@ev set, 0 if there is nothing. */
static int read_out(struct hutch_exec *x, int i, struct hutch_exec_event *ev)
{
	ssize_t n = -1;

	if (x->out[i] < 0)
		return 0;
	n = read(x->out[i], x->data, sizeof(x->data));
	if (n == 0)
		shut(&x->out[i]);
	if (n <= 0)
		return 0;
	ev->kind = i ? HUTCH_EXEC_STDERR : HUTCH_EXEC_STDOUT;
	ev->data = x->data;
	ev->len = (size_t)n;
	ev->cursor = x->cursor[i];
	x->cursor[i] += (uint64_t)n;
	return 1;
}

static int reap(struct hutch_exec *x, struct hutch_exec_event *ev)
{
	int status = 0;

	need(waitpid(x->pid, &status, 0) == x->pid, "waitpid");
	x->ended = 1;
	ev->kind = HUTCH_EXEC_EXIT;
	ev->how = WIFSIGNALED(status) ? HUTCH_EXEC_SIGNALLED
				      : HUTCH_EXEC_EXITED;
	ev->value = WIFSIGNALED(status) ? WTERMSIG(status)
					: WEXITSTATUS(status);
	return 1;
}

int hutch_exec_next(struct hutch_exec *x, struct hutch_exec_event *ev,
		    struct hutch_err *e)
{
	*ev = (struct hutch_exec_event){ 0 };
	if (x->ended)
		return -ENODATA;
	if (x->left == 0) {
		e->code = -ESRCH;
		(void)snprintf(e->msg, sizeof(e->msg), "broken for a test");
		return -ESRCH;
	}
	if (x->started && x->left_ms >= 0) {
		e->code = -ETIMEDOUT;
		(void)snprintf(e->msg, sizeof(e->msg), "deaf for a test");
		return -ETIMEDOUT;
	}
	x->left -= x->left > 0;
	if (x->script) {
		x->ended = x->n_script == 0;
		if (x->ended)
			return -ENODATA;
		x->n_script--;
		*ev = *x->script++;
		return 1;
	}
	if (!x->started) {
		x->started = 1;
		ev->kind = HUTCH_EXEC_STARTED;
		ev->id = FAKE_HUTCH_ID;
		ev->pid = x->pid;
		return 1;
	}
	if (read_out(x, 0, ev) || read_out(x, 1, ev))
		return 1;
	if (x->out[0] < 0 && x->out[1] < 0)
		return reap(x, ev);
	x->left += x->left >= 0;
	return 0;
}

static void want_room(const struct hutch_exec *x, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.fd = x->in };

	(void)epoll_ctl(x->epfd, EPOLL_CTL_MOD, x->in, &ev);
}

ssize_t hutch_exec_write(struct hutch_exec *x, const void *buf, size_t len)
{
	ssize_t n;

	if (x->in < 0)
		return -EPIPE;
	n = write(x->in, buf, len);
	want_room(x, n < 0 && errno == EAGAIN ? (uint32_t)EPOLLOUT : 0);
	return n < 0 ? -errno : n;
}

int hutch_exec_close_stdin(struct hutch_exec *x)
{
	shut(&x->in);
	return 0;
}

int hutch_exec_signal(struct hutch_exec *x, int signo, int tree)
{
	(void)tree;
	return kill(x->pid, signo) < 0 ? -errno : 0;
}

int hutch_exec_resize(struct hutch_exec *x, unsigned short cols,
		      unsigned short rows)
{
	char line[32];
	int n = snprintf(line, sizeof(line), "%ux%u\n", cols, rows);

	/* Told to the command as input, where a test can have it read. */
	if (x->tells_size)
		(void)!write(x->in, line, (size_t)n);
	return 0;
}

int hutch_exec_close_output(struct hutch_exec *x, enum hutch_exec_kind kind)
{
	shut(&x->out[kind == HUTCH_EXEC_STDERR]);
	return 0;
}
