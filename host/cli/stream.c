/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/stream.c - see stream.h */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#include "host/cli/cli.h"
#include "host/cli/input.h"
#include "host/cli/output.h"
#include "host/cli/stream.h"
#include "host/cli/term.h"
#include "host/cli/text.h"

/* Events in a row before anything else is looked at. */
#define EVENTS_MAX 16
/* With this many signals a person means it: leave. */
#define SIGNALS_LAST 3u

enum {
	FD_SIGNAL,
	FD_EXEC,
	FD_IN,
	FD_OUT,
	FD_ERR,
	N_FDS
};

static const int passed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/**
 * struct stream - One run of stream_run()
 * @started:	The command runs
 * @start_ns:	Since then
 * @done:	Its last event is here
 * @resize:	The new size is still to be told
 * @signals:	Signals still to be passed on, bit n is signal n
 * @n_signals:	Came so far
 */
struct stream {
	struct hutch_exec *x;
	const struct stream_opts *o;
	struct stream_end *end;
	struct term term;
	struct output out;
	struct input in;
	int sigfd;
	int64_t start_ns;
	bool started;
	bool done;
	bool resize;
	uint64_t signals;
	unsigned int n_signals;
};

void stream_take_error(struct stream_end *end,
		       const struct hutch_exec_event *ev)
{
	end->error = ev->code;
	end->failed = (int)ev->error;
	end->e.code = ev->code;
	(void)snprintf(end->e.msg, sizeof(end->e.msg), "%s", ev->msg);
}

static void take_event(struct stream *s, const struct hutch_exec_event *ev)
{
	switch (ev->kind) {
	case HUTCH_EXEC_STARTED:
		s->started = true;
		s->start_ns = ev->start_ns;
		(void)text_show(s->end->id, sizeof(s->end->id),
				ev->id ? ev->id : "", HUTCH_PROC_MAX);
		break;
	case HUTCH_EXEC_STDOUT:
	case HUTCH_EXEC_STDERR:
	case HUTCH_EXEC_TRUNCATED:
		break;
	case HUTCH_EXEC_EXIT:
		s->done = true;
		s->end->exited = true;
		s->end->exit = *ev;
		/* The guest says it once. */
		if (ev->start_ns == 0)
			s->end->exit.start_ns = s->start_ns;
		break;
	case HUTCH_EXEC_END:
		s->done = true;
		break;
	case HUTCH_EXEC_ERROR:
		s->done = true;
		stream_take_error(s->end, ev);
		break;
	}
	output_event(&s->out, ev);
}

/*
 * A bounded number of them, so that endless output to a quick reader does not
 * keep signals and input waiting. Return: whether more may be there already.
 */
static bool take_events(struct stream *s)
{
	struct hutch_exec_event ev;

	for (int i = 0; i < EVENTS_MAX && !s->done && !output_waits(&s->out);
	     i++) {
		int r = hutch_exec_next(s->x, &ev, &s->end->e);

		if (r == 0)
			return false;
		if (r > 0) {
			take_event(s, &ev);
			continue;
		}
		s->done = true;
		s->end->error = r;
	}
	return !s->done && !output_waits(&s->out);
}

/* -EAGAIN: once more later. Everything else: told, or never to be told. */
static bool is_told(int r)
{
	return r != -EAGAIN;
}

static void tell_signals(struct stream *s)
{
	for (size_t i = 0; i < ARRAY_LEN(passed_on); i++) {
		uint64_t bit = 1ull << passed_on[i];

		if (s->signals & bit &&
		    is_told(hutch_exec_signal(s->x, passed_on[i], 0)))
			s->signals &= ~bit;
	}
}

static void tell_size(struct stream *s)
{
	unsigned short cols, rows;

	if (!s->resize)
		return;
	s->resize = term_size(&s->term, &cols, &rows) == 0 &&
		    !is_told(hutch_exec_resize(s->x, cols, rows));
}

static void tell_all(struct stream *s)
{
	if (s->done)
		return;
	tell_signals(s);
	tell_size(s);
	output_tell(&s->out, s->x);
	input_tell(&s->in, s->x);
}

/* Keys that leave, or, where the command is only watched, nobody watching. */
static void look_whether_to_leave(struct stream *s)
{
	if (s->in.left) {
		/* What was typed in front of them. */
		input_tell(&s->in, s->x);
		s->end->left = true;
	}
	if (s->o->watch && s->out.sink[0].error == -EPIPE)
		s->end->gave_up = SIGPIPE;
}

/* @sig asks this process to end. */
static void take_end_signal(struct stream *s, int sig)
{
	bool raw = s->term.wanted;

	/* Whoever only watches goes, and nothing happens to what he watched. */
	if (s->o->watch) {
		s->end->gave_up = sig;
		return;
	}
	s->n_signals++;
	s->signals |= 1ull << (raw ? SIGHUP : sig);
	tell_signals(s);
	/* Before it runs there is nothing that could end in good order. */
	if (raw || !s->started || s->n_signals >= SIGNALS_LAST) {
		s->end->gave_up = sig;
		return;
	}
	if (s->n_signals + 1 == SIGNALS_LAST)
		cli_warn("the command has the signal and still runs: once "
			 "more to leave it");
}

static void take_signals(struct stream *s)
{
	struct signalfd_siginfo si;

	while (!s->end->gave_up &&
	       read(s->sigfd, &si, sizeof(si)) == sizeof(si)) {
		switch (si.ssi_signo) {
		case SIGWINCH:
			s->resize = s->o->tty;
			break;
		case SIGTSTP:
			term_suspend(&s->term);
			s->resize = s->o->tty;
			break;
		case SIGCONT:
			term_again(&s->term);
			s->resize = s->o->tty;
			break;
		default:
			take_end_signal(s, (int)si.ssi_signo);
			break;
		}
	}
}

static void set_fds(const struct stream *s, struct pollfd fd[N_FDS])
{
	for (int i = 0; i < N_FDS; i++)
		fd[i] = (struct pollfd){ .fd = -1 };
	fd[FD_SIGNAL].fd = s->sigfd;
	fd[FD_SIGNAL].events = POLLIN;
	/* Not while output waits: see the head of stream.h. */
	if (!s->done && !output_waits(&s->out)) {
		fd[FD_EXEC].fd = hutch_exec_fd(s->x);
		fd[FD_EXEC].events = hutch_exec_poll_events(s->x);
	}
	if (!s->done && input_wants(&s->in)) {
		fd[FD_IN].fd = STDIN_FILENO;
		fd[FD_IN].events = POLLIN;
	}
	for (int i = 0; i < 2; i++) {
		if (sink_waits(&s->out.sink[i])) {
			fd[FD_OUT + i].fd = s->out.sink[i].fd;
			fd[FD_OUT + i].events = POLLOUT;
		}
	}
}

static void serve(struct stream *s, int timeout_ms)
{
	struct pollfd fd[N_FDS];
	int r;

	set_fds(s, fd);
	r = poll(fd, N_FDS, timeout_ms);
	if (r > 0 && fd[FD_IN].revents)
		input_read(&s->in);
	input_late(&s->in);
	if (r <= 0)
		return;
	if (fd[FD_SIGNAL].revents)
		take_signals(s);
	for (unsigned int i = 0; i < 2; i++) {
		if (fd[FD_OUT + i].revents)
			output_flush(&s->out, i);
	}
}

static bool is_left(const struct stream *s)
{
	return s->end->gave_up || s->end->left;
}

static void drain(struct stream *s)
{
	while (output_waits(&s->out) && !is_left(s))
		serve(s, -1);
}

/* How long nothing may happen before something is to be done. */
static int idle_ms(const struct stream *s)
{
	int in = input_wait_ms(&s->in), x = hutch_exec_timeout_ms(s->x);

	return in < 0 ? x : x < 0 ? in : MIN(in, x);
}

static void loop(struct stream *s)
{
	bool more;

	for (;;) {
		more = take_events(s);
		look_whether_to_leave(s);
		if (is_left(s) || (s->done && !output_waits(&s->out)))
			break;
		tell_all(s);
		serve(s, more ? 0 : idle_ms(s));
	}
	for (unsigned int i = 0; i < 2; i++) {
		drain(s);
		if (!output_waits(&s->out))
			output_end(&s->out, i);
	}
	drain(s);
}

/* nohup(1), or a shell that keeps ^C from its background. */
static bool is_ignored(int sig)
{
	struct sigaction sa;

	return sigaction(sig, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN;
}

/* Blocks the signals and opens them as a descriptor. */
static int watch_signals(const struct stream *s, sigset_t *ret_old)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGWINCH);
	for (size_t i = 0; i < ARRAY_LEN(passed_on); i++) {
		if (!is_ignored(passed_on[i]))
			(void)sigaddset(&set, passed_on[i]);
	}
	/* Elsewhere ^Z does what it always does. */
	if (s->o->tty && s->o->in) {
		(void)sigaddset(&set, SIGTSTP);
		(void)sigaddset(&set, SIGCONT);
	}
	(void)sigprocmask(SIG_BLOCK, &set, ret_old);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void join(struct stream *s)
{
	sigset_t old;

	/* In this order, so that no signal finds the terminal raw. */
	s->sigfd = watch_signals(s, &old);
	if (s->sigfd >= 0) {
		/* Without input there are no keys: leave it as it is. */
		if (s->o->tty && s->o->in)
			(void)!term_raw(&s->term);
		s->out.raw = s->term.wanted && isatty(STDERR_FILENO);
		loop(s);
		(void)close(s->sigfd);
	} else {
		s->end->error = -errno;
		(void)snprintf(s->end->e.msg, sizeof(s->end->e.msg),
			       "cannot watch signals: %s", strerror(errno));
	}
	term_restore(&s->term);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
}

void stream_run(struct hutch_exec *x, const struct stream_opts *o,
		struct stream_end *ret)
{
	struct stream *s = calloc(1, sizeof(*s));

	*ret = (struct stream_end){ 0 };
	if (!s) {
		ret->error = -ENOMEM;
		(void)snprintf(ret->e.msg, sizeof(ret->e.msg), "out of memory");
		return;
	}
	s->x = x;
	s->o = o;
	s->end = ret;
	s->in.open = o->in;
	if (o->keys)
		s->in.keys = *o->keys;
	s->resize = o->tty;
	s->term.fd = o->tty ? STDIN_FILENO : -1;
	(void)signal(SIGPIPE, SIG_IGN);
	output_open(&s->out, o->json);
	s->out.replay.until = o->past;
	join(s);
	ret->write_error = s->out.error;
	output_close(&s->out);
	free(s);
}
