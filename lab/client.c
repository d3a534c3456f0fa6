/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one command in a lab as if it ran here. */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "frame.h"
#include "proto.h"

/* After a signal the command has so long to end by itself, in ms. */
#define GRACE_MS 20000

struct output {
	int fd;
	struct lab_buf buf;
	uint32_t taken; /* written, not yet granted back */
	bool broken;
};

struct run {
	const struct host_opts *o;
	int sock;
	int signals;
	int parent;
	struct lab_buf in;
	struct lab_buf out;
	struct output std[2];
	uint32_t credit; /* stdin bytes that may still be sent */
	bool in_eof;
	bool started;
	bool done; /* @code is final; only output is left to write */
	int signo; /* that we were told to end with, or 0 */
	int code;
};

static int say(struct run *r, uint8_t type, uint8_t arg, const void *payload,
	       size_t len)
{
	return lab_frame_put(&r->out, &(struct lab_frame){
					      .payload = payload,
					      .len = (uint32_t)len,
					      .type = type,
					      .arg = arg,
				      });
}

static void window_size(uint8_t ret[4])
{
	struct winsize ws = { 0 };

	(void)ioctl(0, TIOCGWINSZ, &ws);
	lab_put16(ret, ws.ws_row);
	lab_put16(ret + 2, ws.ws_col);
}

static int add_strings(struct lab_buf *b, const struct strings *s)
{
	int r = 0;

	for (unsigned int i = 0; i < s->n && r >= 0; i++)
		r = lab_buf_add(b, s->v[i], strlen(s->v[i]) + 1);
	return r;
}

static int send_start(struct run *r)
{
	struct lab_buf b = { 0 };
	uint8_t head[LAB_ARGS_HEAD] = { 0 };
	uint8_t flags = 0;
	char cwd[PATH_MAX];
	int e;

	if (!getcwd(cwd, sizeof(cwd)))
		return host_fail("cannot find", "the current folder");
	if (r->o->tty)
		window_size(head);
	lab_put32(head + 4, r->o->command.n);
	lab_put32(head + 8, r->o->env.n);
	e = lab_buf_add(&b, head, sizeof(head));
	if (e >= 0)
		e = lab_buf_add(&b, cwd, strlen(cwd) + 1);
	if (e >= 0)
		e = add_strings(&b, &r->o->command);
	if (e >= 0)
		e = add_strings(&b, &r->o->env);
	if (e >= 0 && b.len > LAB_START_MAX) {
		errno = E2BIG;
		e = host_fail("cannot run", r->o->command.v[0]);
	}
	while (e >= 0 && b.len) {
		size_t n = b.len < LAB_PAYLOAD_MAX ? b.len : LAB_PAYLOAD_MAX;

		e = say(r, LAB_ARGS, 0, b.p + b.head, n);
		lab_buf_drop(&b, n);
	}
	lab_buf_done(&b);
	flags |= r->o->tty ? LAB_START_TTY : 0;
	flags |= r->o->root ? LAB_START_ROOT : 0;
	return e < 0 ? e : say(r, LAB_START, flags, NULL, 0);
}

static void fail_text(struct run *r, const struct lab_frame *f)
{
	(void)fprintf(stderr, "lab: %.*s\n", (int)f->len,
		      (const char *)f->payload);
	r->code = r->signo ? 128 + r->signo : EXIT_LAB;
	r->done = true;
}

static int on_output(struct run *r, struct output *o, uint8_t stream,
		     const struct lab_frame *f)
{
	if (o->broken)
		return lab_frame_put_credit(&r->out, 0, stream, f->len);
	return lab_buf_add(&o->buf, f->payload, f->len);
}

static int on_frame(struct run *r, const struct lab_frame *f)
{
	switch (f->type) {
	case LAB_STARTED:
		r->started = true;
		return 0;
	case LAB_STDOUT:
		return on_output(r, &r->std[0], 1, f);
	case LAB_STDERR:
		return on_output(r, &r->std[1], 2, f);
	case LAB_EXIT:
		r->code = f->arg;
		r->done = true;
		return 0;
	case LAB_FAIL:
		fail_text(r, f);
		return 0;
	case LAB_CREDIT:
		if (f->len != 4)
			return -EBADMSG;
		r->credit += lab_get32(f->payload);
		return 0;
	default:
		return -EBADMSG;
	}
}

static int sock_io(struct run *r, int events)
{
	struct lab_frame f;
	ssize_t n = 0;
	int e = 0;

	if (events & POLLOUT && r->out.len)
		n = lab_buf_flush(&r->out, r->sock, LAB_WINDOW);
	/* What the lab said before it went may still be there to read. */
	if (n < 0 && n != -EAGAIN && n != -EPIPE)
		return (int)n;
	if (!(events & (POLLIN | POLLHUP | POLLERR)))
		return 0;
	n = lab_buf_fill(&r->in, r->sock, 65536);
	if (n == -EAGAIN)
		return 0;
	if (n <= 0)
		return n ? (int)n : -EPIPE;
	while (!r->done && (e = lab_frame_get(&r->in, &f)) > 0) {
		e = on_frame(r, &f);
		if (e < 0)
			return e;
		lab_frame_drop(&r->in, &f);
	}
	return e;
}

static int stdin_io(struct run *r)
{
	uint8_t data[LAB_PAYLOAD_MAX];
	size_t max = r->credit < sizeof(data) ? r->credit : sizeof(data);
	ssize_t n = read(0, data, max);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	/* An unreadable stdin is an empty one. */
	if (n <= 0) {
		r->in_eof = true;
		return say(r, LAB_STDIN_EOF, 0, NULL, 0);
	}
	r->credit -= (uint32_t)n;
	return say(r, LAB_STDIN, 0, data, (size_t)n);
}

static int output_broken(struct run *r, struct output *o, uint8_t stream)
{
	lab_buf_drop(&o->buf, o->buf.len);
	o->broken = true;
	return r->done ? 0 : say(r, LAB_BROKEN, stream, NULL, 0);
}

/*
 * The descriptor may be shared, so it is not made non-blocking. A pipe that
 * polls writable takes PIPE_BUF bytes without blocking.
 */
static int output_io(struct run *r, int i, int events)
{
	struct output *o = &r->std[i];
	uint8_t stream = (uint8_t)(i + 1);
	ssize_t n = 0;
	int e;

	if (events & POLLOUT && o->buf.len)
		n = lab_buf_flush(&o->buf, o->fd, PIPE_BUF);
	else if (events & (POLLERR | POLLNVAL))
		n = -EPIPE;
	if (n == -EAGAIN || n == -EINTR)
		return 0;
	if (n < 0)
		return output_broken(r, o, stream);
	o->taken += (uint32_t)n;
	if (o->taken < LAB_WINDOW / 4 && o->buf.len)
		return 0;
	e = lab_frame_put_credit(&r->out, 0, stream, o->taken);
	o->taken = 0;
	return e;
}

static int on_signal(struct run *r)
{
	struct signalfd_siginfo si;
	uint8_t size[4];

	if (read(r->signals, &si, sizeof(si)) != sizeof(si))
		return 0;
	if (si.ssi_signo == SIGWINCH) {
		window_size(size);
		return r->o->tty ? say(r, LAB_WINCH, 0, size, 4) : 0;
	}
	if (!r->started || r->signo) {
		r->signo = (int)si.ssi_signo;
		return -ECANCELED;
	}
	r->signo = (int)si.ssi_signo;
	return say(r, LAB_SIGNAL, (uint8_t)r->signo, NULL, 0);
}

static int poll_all(struct run *r, struct pollfd p[6])
{
	const bool more = r->out.len < LAB_WINDOW;

	p[0] = (struct pollfd){ .fd = r->done ? -1 : r->sock,
				.events = POLLIN };
	if (r->out.len)
		p[0].events |= POLLOUT;
	p[1] = (struct pollfd){ .fd = r->signals, .events = POLLIN };
	p[2] = (struct pollfd){ .fd = r->parent, .events = POLLIN };
	p[3] = (struct pollfd){ .fd = -1, .events = POLLIN };
	if (!r->in_eof && r->credit && more && !r->done)
		p[3].fd = 0;
	for (int i = 0; i < 2; i++) {
		p[4 + i] = (struct pollfd){ .fd = r->std[i].fd };
		if (r->std[i].broken)
			p[4 + i].fd = -1;
		if (r->std[i].buf.len)
			p[4 + i].events = POLLOUT;
	}
	if (poll(p, 6, r->signo ? GRACE_MS : -1) < 0)
		return errno == EINTR ? 0 : -errno;
	return 1;
}

/* Return: 0; negative once the command is of no more interest. */
static int run_once(struct run *r)
{
	struct pollfd p[6];
	int e = poll_all(r, p), any = 0;

	if (e <= 0)
		return e;
	for (int i = 0; i < 6; i++)
		any |= p[i].revents;
	/* It had its time: the connection's end is its end. */
	if (!any || p[2].revents)
		return -ECANCELED;
	if (p[1].revents)
		e = on_signal(r);
	if (e >= 0 && p[3].revents)
		e = stdin_io(r);
	for (int i = 0; i < 2 && e >= 0; i++)
		if (p[4 + i].revents)
			e = output_io(r, i, p[4 + i].revents);
	if (e >= 0 && p[0].revents)
		e = sock_io(r, p[0].revents);
	return e < 0 ? e : 0;
}

static int client_signals(void)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT,
				      SIGWINCH };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(caught) / sizeof(*caught); i++)
		sigaddset(&set, caught[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 ||
	    signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * A pidfd, and not PR_SET_PDEATHSIG: that fires when the thread that started
 * us ends, though its process lives on.
 */
static int watch_parent(pid_t parent)
{
	int fd;

	if (!parent)
		return -1;
	fd = (int)syscall(SYS_pidfd_open, parent, 0);
	if (getppid() != parent) {
		if (fd >= 0)
			close(fd);
		return -2;
	}
	return fd;
}

static int run_all(struct run *r)
{
	int e = send_start(r);

	while (e >= 0 && !(r->done && !r->std[0].buf.len && !r->std[1].buf.len))
		e = run_once(r);
	if (e < 0 && r->signo)
		return 128 + r->signo;
	if (e < 0 && !r->done) {
		if (e != -ECANCELED)
			(void)fprintf(stderr, "lab: lost the lab: %s\n",
				      strerror(-e));
		return EXIT_LAB;
	}
	return r->code;
}

/**
 * client_run() - Run a command
 * @o:		Options
 * @sock:	Connection to a keeper
 *
 * Return: the command's exit code, 128+n if signal n ended it or us, EXIT_LAB
 *         if the lab failed.
 */
int client_run(const struct host_opts *o, int sock)
{
	struct run r = {
		.o = o,
		.sock = sock,
		.signals = client_signals(),
		.parent = watch_parent(o->parent),
		.credit = LAB_WINDOW,
		.std = { { .fd = 1 }, { .fd = 2 } },
	};
	struct termios saved, raw;
	int code;

	if (r.signals < 0 || r.parent == -2 ||
	    fcntl(sock, F_SETFL, O_NONBLOCK) < 0)
		return EXIT_LAB;
	if (o->tty) {
		if (tcgetattr(0, &saved) < 0) {
			(void)host_fail("-t needs a terminal on", "stdin");
			return EXIT_LAB;
		}
		raw = saved;
		cfmakeraw(&raw);
		(void)tcsetattr(0, TCSADRAIN, &raw);
	}
	code = run_all(&r);
	if (o->tty)
		(void)tcsetattr(0, TCSADRAIN, &saved);
	lab_buf_done(&r.in);
	lab_buf_done(&r.out);
	lab_buf_done(&r.std[0].buf);
	lab_buf_done(&r.std[1].buf);
	return code;
}

/**
 * client_ask() - Ask a keeper something about itself
 * @sock:	Connection
 * @type:	LAB_DOWN or LAB_STATUS; an answer goes to stdout
 *
 * Return: 0 once the keeper has closed the connection, EXIT_LAB.
 */
int client_ask(int sock, uint8_t type)
{
	struct lab_buf b = { 0 };
	struct lab_frame f;
	ssize_t n = -1;

	if (lab_frame_put(&b, &(struct lab_frame){ .type = type }) >= 0)
		n = lab_buf_flush(&b, sock, SIZE_MAX);
	while (n > 0)
		n = lab_buf_fill(&b, sock, 4096);
	if (lab_frame_get(&b, &f) > 0 && f.type == LAB_STATUS)
		(void)printf("%.*s", (int)f.len, (const char *)f.payload);
	lab_buf_done(&b);
	return n == 0 ? 0 : EXIT_LAB;
}
