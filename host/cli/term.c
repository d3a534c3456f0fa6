/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/term.c - see term.h */
#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "host/cli/term.h"

/* A bug of ours ends in one of these; all else arrives by signalfd. */
static const int crash_signals[] = { SIGSEGV, SIGBUS,  SIGILL,
				     SIGFPE,  SIGABRT, SIGSYS };

/*
 * A handler has no context and we have no globals, so this does not bring
 * back what was there: it makes standard input a terminal on which a person
 * can type "reset". SA_RESETHAND lets the signal then do what it does.
 */
static void make_usable(int sig)
{
	struct termios t;

	if (tcgetattr(STDIN_FILENO, &t) == 0) {
		t.c_iflag |= BRKINT | ICRNL | IXON;
		t.c_oflag |= OPOST | ONLCR;
		t.c_lflag |= ECHO | ICANON | IEXTEN | ISIG;
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &t);
	}
	(void)raise(sig);
}

static void watch_crashes(void)
{
	struct sigaction sa = { .sa_handler = make_usable,
				.sa_flags = (int)SA_RESETHAND | SA_NODEFER };

	for (size_t i = 0; i < ARRAY_LEN(crash_signals); i++)
		(void)sigaction(crash_signals[i], &sa, NULL);
}

/*
 * tcsetattr() from the background would stop us by SIGTTOU; with the signal
 * blocked it is simply done.
 */
static int set_attr(const struct term *t, const struct termios *to)
{
	sigset_t ttou, old;
	int r;

	(void)sigemptyset(&ttou);
	(void)sigaddset(&ttou, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &ttou, &old);
	do {
		r = tcsetattr(t->fd, TCSANOW, to) < 0 ? -errno : 0;
	} while (r == -EINTR);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	return r;
}

static int make_raw(struct term *t)
{
	struct termios raw = t->saved;
	int r;

	cfmakeraw(&raw);
	r = set_attr(t, &raw);
	t->raw = r == 0;
	return r;
}

int term_raw(struct term *t)
{
	if (t->fd < 0 || t->wanted)
		return 0;
	if (tcgetattr(t->fd, &t->saved) < 0)
		return -errno;
	watch_crashes();
	t->wanted = true;
	return make_raw(t);
}

void term_restore(struct term *t)
{
	if (t->raw)
		(void)set_attr(t, &t->saved);
	t->raw = false;
}

void term_suspend(struct term *t)
{
	term_restore(t);
	(void)raise(SIGSTOP);
	term_again(t);
}

void term_again(struct term *t)
{
	if (t->wanted && tcgetpgrp(t->fd) == getpgrp())
		(void)make_raw(t);
}

int term_size(const struct term *t, unsigned short *ret_cols,
	      unsigned short *ret_rows)
{
	struct winsize ws = { 0 };

	if (t->fd < 0)
		return -ENOTTY;
	if (ioctl(t->fd, TIOCGWINSZ, &ws) < 0)
		return -errno;
	if (ws.ws_col == 0 || ws.ws_row == 0)
		return -EINVAL;
	*ret_cols = ws.ws_col;
	*ret_rows = ws.ws_row;
	return 0;
}
