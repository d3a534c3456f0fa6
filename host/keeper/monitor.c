/* SPDX-License-Identifier: Apache-2.0 */
/* host/keeper/monitor.c - run hutch-vmm, and understand how it ended */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/io.h"
#include "common/log.h"
#include "host/keeper/keeper.h"
#include "host/lib/bootmsg.h"
#include "host/lib/child.h"
#include "host/lib/dax.h"
#include "host/lib/mounts.h"
#include "host/lib/vmdir.h"
#include "host/lib/volume.h"

#define WORD_MAX  160
#define WORDS_MAX (10 + HUTCH_MOUNTS_MAX)
/* ",quota=" and a number */
#define QUOTA_MAX 32
#define OWNER_MAX 40
#define ARGS_MAX  (38 + 2 * HUTCH_MOUNTS_MAX)

/* What the monitor serves files of: the last in enum launch_fd, but for the
 * image's lock, which is the keeper's.
 */
static bool is_share(int i)
{
	return i == LAUNCH_FD_IMAGE || i >= LAUNCH_FD_DISK;
}

/* hutch-vmm's exit statuses, see its man page. */
enum {
	VMM_POWEROFF = 0,
	VMM_HOST_ERROR = 1,
	VMM_USAGE = 2,
	VMM_RESET = 3,
	VMM_PANIC = 4,
	VMM_CRASH = 5,
	VMM_STOPPED = 6
};

/* ---- Start ---- */

/**
 * struct vmm_fds - The monitor's ends; ours are in struct keeper
 * @err:	Its stderr
 */
struct vmm_fds {
	int lifeline;
	int connector;
	int err;
};

static void vmm_fds_done(struct vmm_fds *f)
{
	if (f->lifeline >= 0)
		(void)close(f->lifeline);
	if (f->connector >= 0)
		(void)close(f->connector);
	if (f->err >= 0)
		(void)close(f->err);
}

static int make_fds(struct keeper *k, struct vmm_fds *f)
{
	int p[2], r;

	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	f->lifeline = p[0];
	k->vmm_lifeline = p[1];
	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	k->stderr_fd = p[0];
	f->err = p[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p) < 0)
		return -errno;
	k->connector = p[0];
	f->connector = p[1];
	/* A monitor that takes no answers must not hold us up. */
	r = io_set_nonblock(k->connector, 1);
	return r < 0 ? r : io_set_nonblock(k->stderr_fd, 1);
}

static int spawn_argv(struct keeper *k, const struct vmm_fds *f,
		      char *const argv[])
{
	/* Nothing in it is for the monitor, but some want a PATH. */
	static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char *const env[] = { path, NULL };
	const int keep[] = { f->lifeline,
			     f->connector,
			     k->fd[LAUNCH_FD_BOOT],
			     k->fd[LAUNCH_FD_VMM_SOCK],
			     k->fd[LAUNCH_FD_VSOCK_SOCK],
			     k->net.link };
	struct child_fds fds = { .n = 0 };
	const struct child s = {
		.argv = argv,
		.env = env,
		.fds = &fds,
		/* So that the console's name is short in any folder. */
		.cwd = k->fd[LAUNCH_FD_STATE],
		/* So that a limit on files is a sentence of its, and no crash.
		 */
		.block = SIGXFSZ,
	};
	pid_t pid = 0;
	int r;

	child_put(&fds, f->err, 2);
	for (size_t i = 0; i < ARRAY_LEN(keep); i++)
		child_put(&fds, keep[i], keep[i]);
	for (int i = 0; i < LAUNCH_N_FDS; i++)
		if (is_share(i))
			child_put(&fds, k->fd[i], k->fd[i]);
	r = child_run(&s, &pid);
	if (r == 0)
		k->rec->vmm_pid = pid;
	return r;
}

/* execve() takes its strings as if it might write to them. */
static char *arg(const char *s)
{
	char *p;

	memcpy(&p, &s, sizeof(s));
	return p;
}

/**
 * struct command_line - The monitor's, with room for what is not text of ours
 * @n:		Words so far
 */
struct command_line {
	char *argv[ARGS_MAX + 1];
	unsigned int n;
	char text[WORDS_MAX][WORD_MAX];
	char net[KEEPER_NET_WORDS];
	unsigned int n_text;
};

static void add(struct command_line *c, const char *s)
{
	bug_on(c->n == ARGS_MAX);
	c->argv[c->n++] = arg(s);
}

PRINTF(3, 4)
static void add_text(struct command_line *c, const char *option,
		     const char *fmt, ...)
{
	va_list ap;

	bug_on(c->n_text == WORDS_MAX);
	va_start(ap, fmt);
	(void)vsnprintf(c->text[c->n_text], WORD_MAX, fmt, ap);
	va_end(ap);
	add(c, option);
	add(c, c->text[c->n_text++]);
}

/* Both are hutch's own trees, which nobody else changes while it runs. */
static void add_root(struct command_line *c, const struct keeper *k)
{
	char dax[DAX_WORDS_MAX];

	if (k->fd[LAUNCH_FD_IMAGE] < 0) {
		add(c, "--initrd");
		add(c, k->path[LAUNCH_PATH_ROOT]);
		return;
	}
	add_text(c, "--fs", "tag=%s,fd=%d,ro,cache=always,owner=mapped,lower%s",
		 BOOTMSG_TAG_IMAGE, k->fd[LAUNCH_FD_IMAGE],
		 dax_words(k->rec->image_dax, k->rec->image_window, dax));
	if (k->fd[LAUNCH_FD_DISK] >= 0)
		add_text(c, "--fs",
			 "tag=%s,fd=%d,cache=always,owner=mapped,upper,"
			 "quota=%llu",
			 BOOTMSG_TAG_DISK, k->fd[LAUNCH_FD_DISK],
			 (unsigned long long)k->rec->disk_bytes);
}

/* Of a volume with a size; what cannot be learned has been before. */
static const char *quota_of(char buf[QUOTA_MAX], const struct hutch_mount *m,
			    int fd)
{
	const unsigned int kind = HUTCH_MOUNT_VOLUME | HUTCH_MOUNT_RDONLY;
	uint64_t bytes = 0;

	if ((m->flags & kind) != HUTCH_MOUNT_VOLUME ||
	    volume_size(fd, &bytes) < 0 || !bytes)
		return "";
	(void)snprintf(buf, QUOTA_MAX, ",quota=%llu",
		       (unsigned long long)bytes);
	return buf;
}

/* Of a folder of the host. */
static const char *owner_of(char buf[OWNER_MAX], const struct hutch_mount *m)
{
	if (m->flags & HUTCH_MOUNT_VOLUME)
		return ",owner=mapped";
	(void)snprintf(buf, OWNER_MAX, ",uid=%u,gid=%u", m->uid, m->gid);
	return buf;
}

static void add_mounts(struct command_line *c, const struct keeper *k)
{
	const struct hutch_mount *const *m = k->rec->mounts;
	char tag[MOUNTS_TAG_MAX], dax[DAX_WORDS_MAX], quota[QUOTA_MAX];
	char owner[OWNER_MAX];

	for (unsigned int i = 0; m && m[i] && i < HUTCH_MOUNTS_MAX; i++) {
		mounts_tag(tag, i);
		add_text(c, "--fs", "tag=%s,fd=%d%s%s%s%s%s", tag,
			 k->fd[LAUNCH_FD_MOUNT + i],
			 m[i]->flags & HUTCH_MOUNT_RDONLY ? ",ro" : "",
			 owner_of(owner, m[i]),
			 m[i]->flags & HUTCH_MOUNT_LOCKS_HOST ? ",locks=host"
							      : "",
			 dax_words(m[i]->dax, m[i]->window, dax),
			 quota_of(quota, m[i], k->fd[LAUNCH_FD_MOUNT + i]));
	}
}

static int spawn_vmm(struct keeper *k, const struct vmm_fds *f)
{
	struct command_line c = { .n = 0 };

	add(&c, k->path[LAUNCH_PATH_VMM]);
	add(&c, "--kernel");
	add(&c, k->path[LAUNCH_PATH_KERNEL]);
	add_text(&c, "--cpus", "%u", k->rec->cpus);
	add_text(&c, "--memory", "%llu", (unsigned long long)k->rec->memory);
	add_root(&c, k);
	add(&c, "--agent");
	add(&c, k->path[LAUNCH_PATH_AGENT]);
	add_text(&c, "--boot-config", "fd=%d", k->fd[LAUNCH_FD_BOOT]);
	add_text(&c, "--vsock", "fd=%d", k->fd[LAUNCH_FD_VSOCK_SOCK]);
	add_text(&c, "--connector", "fd=%d", f->connector);
	add(&c, "--console");
	add(&c, VMDIR_CONSOLE);
	add_text(&c, "--control", "fd=%d", k->fd[LAUNCH_FD_VMM_SOCK]);
	add_text(&c, "--lifeline", "fd=%d", f->lifeline);
	add_mounts(&c, k);
	if (net_words(k, c.net)) {
		add(&c, "--net");
		add(&c, c.net);
	}
	return spawn_argv(k, f, c.argv);
}

/* ---- While it lives ---- */

static void on_stderr(struct loop_io *io, uint32_t events)
{
	struct keeper *k = container_of(io, struct keeper, stderr_io);
	ssize_t n = lastwords_read(&k->stderr_words, k->stderr_fd);

	(void)events;
	if (n == 0 || (n < 0 && n != -EAGAIN && n != -EINTR))
		loop_del(io);
}

static void on_vmm_end(struct loop_io *io, uint32_t events)
{
	struct keeper *k = container_of(io, struct keeper, vmm_io);

	(void)events;
	if (waitpid(k->rec->vmm_pid, &k->status, WNOHANG) != k->rec->vmm_pid)
		return;
	loop_del(io);
	k->gone = true;
}

int monitor_start(struct keeper *k, struct err *e)
{
	struct vmm_fds f = { -1, -1, -1 };
	int r = make_fds(k, &f);

	if (r == 0)
		r = spawn_vmm(k, &f);
	vmm_fds_done(&f);
	net_given(k);
	if (r < 0)
		return err_set(e, r, "cannot run '%s': %s",
			       k->path[LAUNCH_PATH_VMM], strerror(-r));
	/* Its sockets: when it dies, those who connect must be refused. */
	(void)close(take_fd(&k->fd[LAUNCH_FD_VSOCK_SOCK]));
	(void)close(take_fd(&k->fd[LAUNCH_FD_VMM_SOCK]));
	(void)close(take_fd(&k->fd[LAUNCH_FD_BOOT]));
	for (int i = 0; i < LAUNCH_N_FDS; i++)
		if (is_share(i))
			drop_fd(&k->fd[i]);
	k->pidfd = pidfd_open(k->rec->vmm_pid, 0);
	if (k->pidfd < 0)
		return err_set(e, -errno, "pidfd: %s", strerror(errno));
	r = loop_add(&k->loop, &k->vmm_io, k->pidfd, EPOLLIN, on_vmm_end);
	if (r == 0)
		r = loop_add(&k->loop, &k->stderr_io, k->stderr_fd, EPOLLIN,
			     on_stderr);
	return r < 0 ? err_set(e, r, "keeper: %s", strerror(-r)) : 0;
}

void monitor_kill(struct keeper *k)
{
	/* It may not have begun. */
	if (k->gone || k->killed || k->pidfd < 0)
		return;
	k->killed = true;
	(void)pidfd_send_signal(k->pidfd, SIGKILL, NULL, 0);
}

/* ---- How it ended ---- */

/* The last line it said, without its name in front, escaped. */
static const char *last_words(struct keeper *k)
{
	return lastwords_line(&k->stderr_words, "hutch-vmm: ", k->cause_buf,
			      sizeof(k->cause_buf));
}

static struct cause from_status(struct keeper *k, int code)
{
	struct cause c = { .reason = HUTCH_REASON_STOPPED };

	switch (code) {
	case VMM_POWEROFF:
		c.text = "powered off from inside";
		break;
	case VMM_RESET:
		c.text = "reset from inside";
		break;
	case VMM_PANIC:
		c.reason = HUTCH_REASON_GUEST_PANIC;
		break;
	case VMM_CRASH:
		c.reason = HUTCH_REASON_GUEST_CRASH;
		break;
	case VMM_STOPPED:
		c.text = "the monitor was told to end";
		break;
	case VMM_HOST_ERROR:
	case VMM_USAGE:
		c.reason = HUTCH_REASON_HOST_ERROR;
		c.text = last_words(k);
		break;
	default:
		c.reason = HUTCH_REASON_HOST_ERROR;
		(void)snprintf(k->cause_buf, sizeof(k->cause_buf),
			       "hutch-vmm ended with status %d", code);
		c.text = k->cause_buf;
	}
	return c;
}

static bool is_of_main(const struct keeper *k)
{
	return k->cause.reason != HUTCH_REASON_NONE &&
	       k->cause.reason == k->main_end.reason;
}

struct cause monitor_verdict(struct keeper *k)
{
	struct cause c = k->cause;

	for (int i = 0; i < LASTWORDS_MAX; i++)
		if (lastwords_read(&k->stderr_words, k->stderr_fd) <= 0)
			break;
	if (is_of_main(k))
		return c;
	if (WIFSIGNALED(k->status)) {
		int sig = WTERMSIG(k->status);

		if (k->killed && sig == SIGKILL &&
		    c.reason != HUTCH_REASON_NONE)
			return c;
		return (struct cause){ .reason = HUTCH_REASON_VMM_CRASH,
				       .signal = sig };
	}
	if (c.reason != HUTCH_REASON_NONE &&
	    WEXITSTATUS(k->status) != VMM_HOST_ERROR)
		return c;
	return from_status(k, WEXITSTATUS(k->status));
}
