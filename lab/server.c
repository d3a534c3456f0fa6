/* SPDX-License-Identifier: Apache-2.0 */
/* PID 1 of a lab: makes the lab, then runs what clients ask for. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto.h"
#include "session.h"
#include "spawn.h"
#include "world.h"

/* The keeper's end, the signals, three of each session. */
#define POLL_MAX (2 + 3 * LAB_SESSIONS_MAX)

struct server {
	int port;
	int sigchld;
	bool stale; /* a command ran before, so caches may hold old files */
	struct lab_buf in;
	struct lab_world world;
	struct lab_session *session[LAB_SESSIONS_MAX];
};

static int say_fail(struct server *s, uint16_t id, const char *text)
{
	return lab_frame_put(&s->world.out,
			     &(struct lab_frame){
				     .payload = (const uint8_t *)text,
				     .len = (uint32_t)strlen(text),
				     .session = id,
				     .type = LAB_FAIL,
			     });
}

static struct lab_session **find(struct server *s, uint16_t id)
{
	for (unsigned int i = 0; i < LAB_SESSIONS_MAX; i++)
		if (s->session[i] && s->session[i]->id == id)
			return &s->session[i];
	return NULL;
}

static struct lab_session **find_room(struct server *s, uint16_t id)
{
	for (unsigned int i = 0; i < LAB_SESSIONS_MAX; i++) {
		if (s->session[i])
			continue;
		s->session[i] = session_new(id);
		return s->session[i] ? &s->session[i] : NULL;
	}
	return NULL;
}

/* What the host has changed since the last command must be seen. */
static void drop_caches(struct server *s)
{
	int fd;

	if (!s->stale) {
		s->stale = true;
		return;
	}
	for (unsigned int i = 0; i < LAB_SESSIONS_MAX; i++)
		if (s->session[i] && s->session[i]->pid)
			return;
	fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)!write(fd, "3", 1);
	close(fd);
}

static int on_frame(struct server *s, const struct lab_frame *f)
{
	struct lab_session **p = find(s, f->session);
	int r;

	if (!f->session)
		return 0;
	if (!p && f->type == LAB_ARGS)
		p = find_room(s, f->session);
	/* A frame may cross with the end of its session: not an error. */
	if (!p)
		return f->type == LAB_ARGS
			       ? say_fail(
					 s, f->session,
					 "the lab runs as many commands as it can")
			       : 0;
	if (f->type == LAB_START && s->world.cgroup)
		drop_caches(s);
	r = session_frame(*p, &s->world, f);
	if (f->type == LAB_KILL && !(*p)->pid)
		r = -ECANCELED;
	if (r >= 0)
		return 0;
	spawn_kill(*p, &s->world);
	*p = session_free(*p);
	return say_fail(s, f->session, strerror(-r));
}

static int on_frames(struct server *s)
{
	struct lab_frame f;
	int r;

	while ((r = lab_frame_get(&s->in, &f)) > 0) {
		r = on_frame(s, &f);
		if (r < 0)
			return r;
		lab_frame_drop(&s->in, &f);
	}
	return r;
}

static int on_port(struct server *s, int events)
{
	ssize_t n;

	if (events & POLLOUT && s->world.out.len) {
		n = lab_buf_flush(&s->world.out, s->port, 32768);
		if (n < 0 && n != -EAGAIN && n != -EINTR)
			return (int)n;
	}
	if (!(events & (POLLIN | POLLHUP | POLLERR)))
		return 0;
	n = lab_buf_fill(&s->in, s->port, 65536);
	if (n == -EAGAIN || n == -EINTR)
		return 0;
	if (n <= 0)
		return n ? (int)n : -EPIPE;
	return on_frames(s);
}

static void reap(struct server *s)
{
	struct signalfd_siginfo si;
	int status;
	pid_t pid;

	(void)!read(s->sigchld, &si, sizeof(si));
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (unsigned int i = 0; i < LAB_SESSIONS_MAX; i++)
			if (s->session[i] && s->session[i]->pid == pid)
				session_ended(s->session[i], status);
	}
}

static int finish(struct server *s)
{
	for (unsigned int i = 0; i < LAB_SESSIONS_MAX; i++) {
		int r;

		if (!s->session[i])
			continue;
		r = session_finish(s->session[i], &s->world);
		if (r < 0)
			return r;
		if (r)
			s->session[i] = session_free(s->session[i]);
	}
	return 0;
}

/* Which session a polled entry belongs to is found again by its descriptor. */
static int on_session(struct server *s, const struct pollfd *p)
{
	for (unsigned int i = 0; i < LAB_SESSIONS_MAX; i++) {
		struct lab_session *x = s->session[i];

		if (x && (x->in_fd == p->fd || x->out[0].fd == p->fd ||
			  x->out[1].fd == p->fd))
			return session_io(x, &s->world, p->fd, p->revents);
	}
	return 0;
}

static int serve_once(struct server *s)
{
	struct pollfd p[POLL_MAX] = {
		{ .fd = s->port, .events = POLLIN },
		{ .fd = s->sigchld, .events = POLLIN },
	};
	unsigned int n = 2;
	int r = 0;

	if (s->world.out.len)
		p[0].events |= POLLOUT;
	for (unsigned int i = 0; i < LAB_SESSIONS_MAX; i++)
		if (s->session[i])
			n += session_poll(s->session[i], &s->world, p + n);
	if (poll(p, n, -1) < 0)
		return errno == EINTR ? 0 : -errno;
	for (unsigned int i = 2; i < n && r >= 0; i++)
		if (p[i].revents)
			r = on_session(s, &p[i]);
	if (r >= 0 && p[1].revents)
		reap(s);
	if (r >= 0 && p[0].revents)
		r = on_port(s, p[0].revents);
	return r < 0 ? r : finish(s);
}

static int serve(struct server *s)
{
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 ||
	    signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return -errno;
	s->sigchld = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->sigchld < 0 || fcntl(s->port, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	r = lab_frame_put(&s->world.out, &(struct lab_frame){
						 .type = LAB_READY,
						 .arg = LAB_VERSION,
					 });
	/* Some came in one piece with the configuration. */
	if (r >= 0)
		r = on_frames(s);
	while (r >= 0)
		r = serve_once(s);
	return r;
}

static int open_shares(struct server *s, const struct world *w)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

	s->world.tree = open(w->s[WORLD_TREE], flags);
	s->world.cache = open(w->s[WORLD_CACHE], flags);
	if (s->world.tree < 0 || s->world.cache < 0)
		return world_fail("cannot open", w->s[WORLD_TREE]);
	s->world.user = (struct lab_account){
		.uid = w->uid,
		.gid = w->gid,
		.kvm_gid = w->kvm_gid,
	};
	return 0;
}

static int boot_vm(struct server *s, struct world *w)
{
	if (mount("dev", "/dev", "devtmpfs", 0, NULL) < 0 && errno != EBUSY) {
		(void)world_fail("cannot mount", "/dev");
		return -1;
	}
	if (world_load_modules("/modules") < 0)
		return -1;
	s->port = world_open_port();
	if (s->port < 0 || world_read(s->port, &s->in, w) < 0)
		return -1;
	s->world.cgroup = true;
	return world_make_vm(w);
}

/* This machine, in namespaces: the keeper's stream is open already. */
static int boot_ns(struct server *s, struct world *w)
{
	s->port = 3;
	if (fcntl(s->port, F_SETFD, FD_CLOEXEC) < 0 ||
	    world_read(s->port, &s->in, w) < 0)
		return -1;
	return world_make_ns(w, s->port);
}

static void power_off(void)
{
	int fd;

	(void)mkdir("/proc", 0555);
	(void)mount("proc", "/proc", "proc", 0, NULL);
	fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);
	sync();
	(void)!write(fd, "o", 1);
	for (;;)
		(void)pause();
}

int main(int argc, char **argv)
{
	const bool ns = argc > 1 && !strcmp(argv[1], "ns");
	struct world w;
	struct server s = { .port = -1, .sigchld = -1 };
	int r;

	umask(022);
	r = ns ? boot_ns(&s, &w) : boot_vm(&s, &w);
	if (!r)
		r = open_shares(&s, &w);
	if (!r)
		r = serve(&s);
	/* The keeper is gone, or the lab is of no use. */
	if (r < 0 && r != -EPIPE)
		(void)fprintf(stderr, "lab: ends: %s\n", strerror(-r));
	if (!ns)
		power_off();
	return 0;
}
