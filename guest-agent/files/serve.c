/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/files/serve.c - see serve.h
 *
 * The child inherits what the agent had read of the connection, goes on from
 * there, and says the last word itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "common/io.h"
#include "guest-agent/child.h"
#include "guest-agent/files/ops.h"
#include "guest-agent/files/serve.h"
#include "guest-agent/user.h"

static int copy(const char **s)
{
	*s = strdup(*s);
	return *s ? 0 : -ENOMEM;
}

/* The request lies in the reader's buffer, which is going to be used. */
static int take_request(struct files *f, const struct files_spawn *s)
{
	f->req = *s->req;
	f->fd = s->fd;
	f->in = s->in;
	if (copy(&f->req.user) < 0 || copy(&f->req.path) < 0)
		return -ENOMEM;
	return copy(&f->req.other);
}

static int send_rest(struct files *f, struct ring *out, struct err *e)
{
	struct iovec iov[2];
	int r = 0;

	while (r == 0 && ring_peek(out, iov) > 0) {
		r = files_send(f, iov[0].iov_base, iov[0].iov_len, NULL, 0, e);
		ring_drop(out, iov[0].iov_len);
	}
	return r;
}

static int be_user(const struct files *f, const struct msg_boot *boot,
		   struct err *e)
{
	const char *spec = *f->req.user ? f->req.user : boot->user;
	auto_fd int etc = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct user *u = calloc(1, sizeof(*u));
	int r = u ? user_find(etc, spec, u, e)
		  : err_set(e, -ENOMEM, "out of memory");

	if (r == 0)
		r = user_become(u, e);
	free(u);
	return r;
}

/* Relative paths are from where processes start. */
static int be_there(const struct files *f, const struct msg_boot *boot,
		    struct err *e)
{
	const char *cwd = *boot->cwd ? boot->cwd : "/";

	if (*f->req.path == '/' && (!*f->req.other || *f->req.other == '/'))
		return 0;
	return chdir(cwd) < 0 ? files_fail(e, -errno, cwd) : 0;
}

static int operate(struct files *f, struct err *e)
{
	switch (f->req.op) {
	case WIRE_FILE_READ:
		return files_read(f, e);
	case WIRE_FILE_WRITE:
		return files_write(f, e);
	case WIRE_FILE_STAT:
		return files_stat(f, e);
	case WIRE_FILE_LIST:
		return files_list(f, e);
	case WIRE_FILE_MKDIR:
		return files_mkdir(f, e);
	case WIRE_FILE_REMOVE:
		return files_remove(f, e);
	case WIRE_FILE_RENAME:
		return files_rename(f, e);
	case WIRE_FILE_GET:
		return files_get(f, e);
	case WIRE_FILE_PUT:
		return files_put(f, e);
	case WIRE_FILE_WATCH:
		return files_watch(f, e);
	default:
		return err_set(e, -ENOSYS, "this agent cannot do that");
	}
}

static enum wire_error_kind kind_of(const struct files *f, int r)
{
	if (f->broke)
		return WIRE_ERR_BAD_REQUEST;
	return r == -ENOMEM ? WIRE_ERR_LIMIT : WIRE_ERR_GENERAL;
}

static void say_last(struct files *f, int r, const struct err *why)
{
	uint8_t buf[WIRE_HDR_LEN + 13 + ERR_MSG_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct err e;

	if (r == 0)
		wire_empty_put(&wr, WIRE_DONE);
	else
		wire_error_put(&wr,
			       &(struct msg_error){ .code = (uint32_t)-r,
						    .kind = kind_of(f, r),
						    .sentence = why->msg });
	if (f->gone || files_send_wr(f, &wr, &e) < 0)
		return;
	/* Closing first could throw away what the client has not read. */
	(void)shutdown(f->fd, SHUT_WR);
	while (read(f->fd, f->data, sizeof(f->data)) > 0)
		;
}

void files_serve(const struct files_spawn *s)
{
	struct files *f = calloc(1, sizeof(*f));
	struct err e = { 0 };
	int r;

	if (!f || take_request(f, s) < 0)
		_exit(1);
	child_keep_only(f->fd);
	child_reset_signals();
	child_reset_limits();
	/* What they would end us for is an error like any other. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	/* Modes come with the request. */
	(void)umask(0);
	r = io_set_nonblock(f->fd, 0);
	if (r == 0)
		r = send_rest(f, s->out, &e);
	if (r == 0)
		r = be_user(f, s->boot, &e);
	if (r == 0)
		r = be_there(f, s->boot, &e);
	if (r == 0)
		r = operate(f, &e);
	say_last(f, r, &e);
	_exit(0);
}

pid_t files_spawn(const struct files_spawn *s)
{
	pid_t pid = child_fork(s->cgroup_fd);

	if (pid == 0)
		files_serve(s);
	return pid;
}
