/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/stream.c - see stream.h */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#include "host/cli/cli.h"
#include "host/cli/event.h"
#include "host/cli/sink.h"
#include "host/cli/stream.h"
#include "host/cli/term.h"

#define IN_MAX 65536u
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
 * @done:	Its last event is here
 * @in_open:	More may come from standard input
 * @in_close:	Its end is still to be told
 * @close_out:	Per output: that it is closed is still to be told
 * @resize:	The new size is still to be told
 * @signals:	Signals still to be passed on, bit n is signal n
 * @n_signals:	Came so far
 */
struct stream {
	struct hutch_exec *x;
	const struct stream_opts *o;
	struct stream_end *end;
	struct term term;
	struct sink out[2];
	struct event_text text[2];
	int sigfd;
	bool started;
	bool done;
	bool in_open;
	bool in_close;
	bool close_out[2];
	bool resize;
	uint64_t signals;
	unsigned int n_signals;
	char in[IN_MAX];
	size_t in_off, in_len;
};

static bool output_waits(const struct stream *s)
{
	return sink_waits(&s->out[0]) || sink_waits(&s->out[1]);
}

/* @r is what a sink has said about output @i. */
static void check_sink(struct stream *s, unsigned int i, int r)
{
	if (r == 0 || s->close_out[i])
		return;
	if (r != -EPIPE && s->end->write_error == 0)
		s->end->write_error = r;
	/* Both streams of events go one way. */
	s->close_out[i] = true;
	if (s->o->json)
		s->close_out[0] = s->close_out[1] = true;
}

static void put_event(struct stream *s, unsigned int i, const void *p,
		      size_t len)
{
	AUTO_FREE char *line = NULL;
	size_t n = 0;
	struct jsonw j = { .out = open_memstream(&line, &n) };
	bool worked = s->out[0].error == 0;
	int r = -ENOMEM;

	if (j.out) {
		event_output(&j, &s->text[i], i ? "stderr" : "stdout", p, len);
		if (fclose(j.out) == 0)
			r = sink_put(&s->out[0], line, n);
	}
	if (worked)
		check_sink(s, 0, r);
}

static void put_output(struct stream *s, unsigned int i,
		       const struct hutch_exec_event *ev)
{
	bool worked = s->out[i].error == 0;
	int r;

	if (s->o->json) {
		put_event(s, i, ev->data, ev->len);
		return;
	}
	r = sink_put(&s->out[i], ev->data, ev->len);
	if (worked)
		check_sink(s, i, r);
}

static void take_event(struct stream *s, const struct hutch_exec_event *ev)
{
	switch (ev->kind) {
	case HUTCH_EXEC_STARTED:
		s->started = true;
		break;
	case HUTCH_EXEC_STDOUT:
		put_output(s, 0, ev);
		break;
	case HUTCH_EXEC_STDERR:
		put_output(s, 1, ev);
		break;
	case HUTCH_EXEC_EXIT:
		s->done = true;
		s->end->exited = true;
		s->end->exit = *ev;
		break;
	case HUTCH_EXEC_ERROR:
		s->done = true;
		s->end->error = ev->code;
		s->end->failed = (int)ev->error;
		s->end->e.code = ev->code;
		(void)snprintf(s->end->e.msg, sizeof(s->end->e.msg), "%s",
			       ev->msg);
		break;
	case HUTCH_EXEC_TRUNCATED: /* of an attached one only */
	case HUTCH_EXEC_END:
		break;
	}
}

/*
 * A bounded number of them, so that endless output to a quick reader does not
 * keep signals and input waiting. Return: whether more may be there already.
 */
static bool take_events(struct stream *s)
{
	struct hutch_exec_event ev;

	for (int i = 0; i < EVENTS_MAX && !s->done && !output_waits(s); i++) {
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
	return !s->done && !output_waits(s);
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

static void tell_input(struct stream *s)
{
	while (s->in_len > 0) {
		ssize_t n =
			hutch_exec_write(s->x, s->in + s->in_off, s->in_len);

		if (n == -EAGAIN)
			return;
		if (n < 0) {
			/* Nobody reads it: nor do we. */
			s->in_open = s->in_close = false;
			s->in_len = 0;
			return;
		}
		s->in_off += (size_t)n;
		s->in_len -= (size_t)n;
	}
	if (s->in_close && is_told(hutch_exec_close_stdin(s->x)))
		s->in_close = false;
}

static void tell_all(struct stream *s)
{
	static const enum hutch_exec_kind kind[] = { HUTCH_EXEC_STDOUT,
						     HUTCH_EXEC_STDERR };

	if (s->done)
		return;
	tell_signals(s);
	tell_size(s);
	for (unsigned int i = 0; i < 2; i++) {
		if (s->close_out[i] &&
		    is_told(hutch_exec_close_output(s->x, kind[i])))
			s->close_out[i] = false;
	}
	tell_input(s);
}

static void read_input(struct stream *s)
{
	ssize_t n = read(STDIN_FILENO, s->in, sizeof(s->in));

	if (n > 0) {
		s->in_off = 0;
		s->in_len = (size_t)n;
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		s->in_open = false;
		s->in_close = true;
	}
}

/* @sig asks this process to end. */
static void take_end_signal(struct stream *s, int sig)
{
	bool raw = s->term.wanted;

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
	if (!s->done && !output_waits(s)) {
		fd[FD_EXEC].fd = hutch_exec_fd(s->x);
		fd[FD_EXEC].events = hutch_exec_poll_events(s->x);
	}
	if (!s->done && s->in_open && s->in_len == 0) {
		fd[FD_IN].fd = STDIN_FILENO;
		fd[FD_IN].events = POLLIN;
	}
	for (int i = 0; i < 2; i++) {
		if (sink_waits(&s->out[i])) {
			fd[FD_OUT + i].fd = s->out[i].fd;
			fd[FD_OUT + i].events = POLLOUT;
		}
	}
}

static void serve(struct stream *s, int timeout_ms)
{
	struct pollfd fd[N_FDS];

	set_fds(s, fd);
	if (poll(fd, N_FDS, timeout_ms) <= 0)
		return;
	if (fd[FD_SIGNAL].revents)
		take_signals(s);
	if (fd[FD_IN].revents)
		read_input(s);
	for (unsigned int i = 0; i < 2; i++) {
		if (fd[FD_OUT + i].revents)
			check_sink(s, i, sink_flush(&s->out[i]));
	}
}

/* A character whose end never came is told as bytes. */
static void end_text(struct stream *s)
{
	for (unsigned int i = 0; i < 2 && s->o->json; i++) {
		while (sink_waits(&s->out[0]) && !s->end->gave_up)
			serve(s, -1);
		if (!sink_waits(&s->out[0]))
			put_event(s, i, NULL, 0);
	}
}

static void loop(struct stream *s)
{
	bool more;

	for (;;) {
		more = take_events(s);
		if (s->end->gave_up || (s->done && !output_waits(s)))
			break;
		tell_all(s);
		serve(s, more ? 0 : -1);
	}
	end_text(s);
	while (output_waits(s) && !s->end->gave_up)
		serve(s, -1);
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
	s->in_open = o->in;
	s->resize = o->tty;
	s->term.fd = o->tty ? STDIN_FILENO : -1;
	(void)signal(SIGPIPE, SIG_IGN);
	sink_open(&s->out[0], STDOUT_FILENO);
	sink_open(&s->out[1], STDERR_FILENO);
	join(s);
	sink_close(&s->out[0]);
	sink_close(&s->out[1]);
	free(s);
}
