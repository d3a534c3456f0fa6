/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/kcall.c - see kcall.h */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "common/io.h"
#include "common/unix.h"
#include "host/lib/internal.h"
#include "host/lib/kcall.h"
#include "host/lib/names.h"
#include "host/lib/record.h"
#include "host/lib/vmdir.h"

/* A keeper that dies closes its sockets a moment before its lock. */
#define LOCK_STEP_MS     5 /* at first, and then twice that each time */
#define LOCK_STEP_MAX_MS 200
#define LOCK_WAIT_MS     5000

static int send_line(int run_fd, struct ctl_out *o, const int *fds, int n,
		     struct err *e)
{
	auto_fd int fd =
		unix_connect(run_fd, VMDIR_KEEPER_SOCK, SOCK_STREAM, e);
	int len = ctl_end(o);

	if (fd < 0)
		return fd;
	bug_on(len < 0);
	/* A new socket has room for a line: all of it goes or none. */
	if (unix_send_fds(fd, o->buf, (size_t)len, fds, n) != len)
		return err_set(e, -EPIPE, "the VM's keeper does not listen");
	return take_fd(&fd);
}

int kcall_send_line(int run_fd, struct ctl_out *o, struct err *e)
{
	return send_line(run_fd, o, NULL, 0, e);
}

int kcall_send(int run_fd, const char *verb, const char *key, const char *arg,
	       struct err *e)
{
	struct ctl_out o;

	ctl_begin(&o, verb);
	if (key)
		ctl_add(&o, key, arg);
	return kcall_send_line(run_fd, &o, e);
}

static int parse_answer(char *line, size_t len, struct ctl_msg *ret,
			struct err *e)
{
	int r = ctl_parse(line, len, ret, e);

	if (r < 0)
		return err_wrap(e, r, "the VM's keeper answers nonsense");
	if (strcmp(ret->verb, "error") == 0)
		return err_set(e, ctl_errno_code(ret->code), "%s",
			       ret->sentence);
	return 0;
}

/* Keeps the first descriptor that comes with an answer, if one is wanted. */
static ssize_t receive(int fd, char *buf, size_t len, int *ret_fd)
{
	int fds[UNIX_FDS_MAX], n_fds = 0;
	ssize_t n;

	if (!ret_fd) {
		n = recv(fd, buf, len, MSG_DONTWAIT);
		return n < 0 ? -errno : n;
	}
	n = unix_recv_fds(fd, buf, len, fds, &n_fds);
	for (int i = 0; n >= 0 && i < n_fds; i++) {
		if (*ret_fd < 0)
			*ret_fd = fds[i];
		else
			(void)close(fds[i]);
	}
	return n;
}

/* With @ret_fd the socket does not block. */
static int get_answer(int fd, int timeout_ms, char line[CTL_LINE_MAX],
		      struct ctl_msg *ret, int *ret_fd, struct err *e)
{
	uint64_t end = deadline_in(timeout_ms);
	size_t len = 0;

	for (;;) {
		/* What is here already is read without patience, too. */
		ssize_t n =
			receive(fd, line + len, CTL_LINE_MAX - 1 - len, ret_fd);
		const char *nl;

		if (n == -EAGAIN || n == -EINTR) {
			int r = deadline_poll(fd, POLLIN, end);

			if (r < 0)
				return err_set(e, r, "poll: %s", strerror(-r));
			if (r > 0)
				continue;
			return err_set(e, -ETIMEDOUT, "no answer after %d ms",
				       timeout_ms);
		}
		if (n <= 0)
			return err_set(e, -EPIPE, "the VM's keeper is gone");
		len += (size_t)n;
		nl = memchr(line, '\n', len);
		if (nl)
			return parse_answer(line, (size_t)(nl - line), ret, e);
		if (len == CTL_LINE_MAX - 1)
			return err_set(e, -EBADMSG,
				       "the VM's keeper answers too much");
	}
}

int kcall_answer(int fd, int timeout_ms, char line[CTL_LINE_MAX],
		 struct ctl_msg *ret, struct err *e)
{
	return get_answer(fd, timeout_ms, line, ret, NULL, e);
}

int kcall_pass(int run_fd, const char *verb, const int fds[2], int timeout_ms,
	       int *ret_fd, struct err *e)
{
	auto_free char *line = malloc(CTL_LINE_MAX);
	auto_fd int fd = -1;
	struct ctl_msg m;
	struct ctl_out o;
	int r;

	*ret_fd = -1;
	ctl_begin(&o, verb);
	fd = line ? send_line(run_fd, &o, fds, fds ? 2 : 0, e)
		  : err_set(e, -ENOMEM, "no memory");
	if (fd < 0)
		return fd;
	r = io_set_nonblock(fd, 1) < 0
		    ? err_set(e, -EIO, "cannot set up a socket")
		    : get_answer(fd, timeout_ms, line, &m, ret_fd, e);
	if (r < 0)
		drop_fd(ret_fd);
	return r;
}

void kcall_apply_exit(const struct ctl_msg *m, struct hutch_record *rec)
{
	const char *reason = ctl_get(m, "reason");
	const char *text = ctl_get(m, "text");
	int k = reason ? reason_from_name(reason) : -1;
	uint64_t v;

	rec->state = HUTCH_STATE_STOPPED;
	rec->reason = k > 0 ? (enum hutch_reason)k : HUTCH_REASON_LOST;
	rec->exit_code = -1;
	if (k == HUTCH_REASON_EXITED && ctl_get_u64(m, "exit_code", &v) == 0)
		rec->exit_code = (int)v;
	if (ctl_get_u64(m, "signal", &v) == 0)
		rec->signal = (int)v;
	if (ctl_get_u64(m, "ended", &v) == 0)
		rec->ended_ns = (int64_t)v;
	record_set_text(rec, text ? text : "", text ? strlen(text) : 0);
	rec->keeper_pid = 0;
	rec->vmm_pid = 0;
}

/* Return: 0 with a record that is final; -EAGAIN: not yet; or -errno. */
static int read_final(const struct kcall_vm *vm, struct hutch_record **ret,
		      struct err *e)
{
	AUTO(record_freep) struct hutch_record *rec = NULL;
	int r = vmdir_read(vm->h, vm->name, &rec, e);

	if (r < 0)
		return r;
	if (vm->id && strcmp(rec->id, vm->id) != 0)
		return err_set(e, -ENOENT,
			       "VM '%s' has ended, and another has its name by "
			       "now",
			       vm->name);
	if (rec->state != HUTCH_STATE_STOPPED)
		return -EAGAIN;
	*ret = take_ptr(&rec);
	return 0;
}

static int await_lock(const struct kcall_vm *vm, uint64_t end_ns,
		      struct hutch_record **ret, struct err *e)
{
	const uint64_t last_ns = deadline_in(LOCK_WAIT_MS);
	struct timespec step = { .tv_nsec = LOCK_STEP_MS * 1000000l };

	for (;;) {
		int r = read_final(vm, ret, e);

		if (r != -EAGAIN)
			return r;
		if (deadline_left_ms(end_ns) == 0 ||
		    deadline_left_ms(last_ns) == 0)
			return err_set(e, -ETIMEDOUT,
				       "the keeper of '%s' does not answer: "
				       "it may have all the clients that it "
				       "can have",
				       vm->name);
		(void)nanosleep(&step, NULL);
		step.tv_nsec =
			MIN(2 * step.tv_nsec, LOCK_STEP_MAX_MS * 1000000l);
	}
}

/*
 * What an answer says, in the record on disk or, if that is gone or of
 * another VM by now, in a new one.
 */
static int apply(struct hutch *h, const char *name, const struct ctl_msg *m,
		 struct hutch_record **ret, struct err *e)
{
	AUTO(record_freep) struct hutch_record *rec = NULL;
	const char *id = ctl_get(m, "id");
	int r = vmdir_read(h, name, &rec, e);

	if (r < 0 && r != -ENOENT)
		return r;
	if (rec && id && strcmp(rec->id, id) != 0) {
		hutch_record_free(rec);
		rec = NULL;
	}
	if (!rec) {
		rec = record_new();
		if (!rec)
			return err_set(e, -ENOMEM, "no memory");
		(void)snprintf(rec->name, sizeof(rec->name), "%s", name);
		(void)snprintf(rec->id, sizeof(rec->id), "%s", id ? id : "");
	}
	kcall_apply_exit(m, rec);
	*ret = take_ptr(&rec);
	return 0;
}

int kcall_await_end(const struct kcall_vm *vm, int fd, int timeout_ms,
		    struct hutch_record **ret, struct err *e)
{
	const uint64_t end = deadline_in(timeout_ms);
	auto_free char *line = NULL;
	struct ctl_msg m;
	int r = -EPIPE;

	if (fd >= 0) {
		line = malloc(CTL_LINE_MAX);
		if (!line)
			return err_set(e, -ENOMEM, "no memory");
		r = kcall_answer(fd, timeout_ms, line, &m, e);
	}
	if (r == 0)
		return apply(vm->h, vm->name, &m, ret, e);
	if (r == -ETIMEDOUT)
		return r;
	/* No keeper, or none any more: the record and the lock will tell. */
	return await_lock(vm, end, ret, e);
}

int kcall_ended(const struct hutch_record *rec, struct err *e)
{
	char buf[RECORD_TEXT + 32];
	const char *more = rec->text;

	if (rec->reason == HUTCH_REASON_HOST_ERROR)
		more = ""; /* it is in brackets already */
	return err_set(e, -ESRCH, "VM '%s' has ended: %s%s%s", rec->name,
		       hutch_reason_text(rec, buf, sizeof(buf)),
		       *more ? ", " : "", more);
}
