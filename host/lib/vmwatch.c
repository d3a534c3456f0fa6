/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/vmwatch.c - see vmwatch.h */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>

#include "host/lib/vmwatch.h"
#include "host/lib/internal.h"
#include "host/lib/kcall.h"

/* In place of a connection: there was one. */
#define BROKEN (-2)

static int watch(const struct vmwatch *f, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP };

	return epoll_ctl(f->epfd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

int vmwatch_open(struct vmwatch *f)
{
	int r = 0;

	f->epfd = epoll_create1(EPOLL_CLOEXEC);
	f->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	f->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (f->epfd < 0 || f->inotify < 0 || f->timer < 0)
		r = -errno;
	if (r == 0)
		r = watch(f, f->inotify);
	if (r == 0)
		r = watch(f, f->timer);
	if (r < 0)
		vmwatch_close(f);
	return r;
}

void vmwatch_close(struct vmwatch *f)
{
	drop_fd(&f->inotify);
	drop_fd(&f->timer);
	drop_fd(&f->epfd);
}

int vmwatch_dir(const struct vmwatch *f, int dirfd)
{
	char path[32];
	int wd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", dirfd);
	wd = inotify_add_watch(f->inotify, path,
			       IN_CREATE | IN_MODIFY | IN_MOVED_TO | IN_DELETE |
				       IN_DELETE_SELF | IN_ONLYDIR);
	return wd < 0 ? -errno : wd;
}

void vmwatch_undir(const struct vmwatch *f, int wd)
{
	if (wd >= 0)
		(void)inotify_rm_watch(f->inotify, wd);
}

/* Wakes whoever waits, even if nothing happens. */
static void set_timer(struct vmwatch *f)
{
	static const struct itimerspec again = {
		.it_value = { .tv_nsec = VMWATCH_AGAIN_MS * 1000000l }
	};

	bug_on(timerfd_settime(f->timer, 0, &again, NULL) < 0);
	f->later = true;
}

void vmwatch_keeper(struct vmwatch *f, int run_fd, int *keeper_fd)
{
	auto_fd int fd = -1;

	/* It lives, so there was no room: no use to ask at once. */
	if (*keeper_fd == -1 && !f->later)
		fd = kcall_send(run_fd, "wait", "for", "exit", NULL);
	*keeper_fd = -1;
	if (fd >= 0 && watch(f, fd) == 0)
		*keeper_fd = take_fd(&fd);
	else if (!f->later)
		set_timer(f);
}

static bool has_said(int keeper_fd)
{
	char c;
	ssize_t n = recv(keeper_fd, &c, 1, MSG_PEEK | MSG_DONTWAIT);

	return n >= 0 || (errno != EAGAIN && errno != EINTR);
}

bool vmwatch_quiet(struct vmwatch *f, int *keeper_fd)
{
	if (*keeper_fd < 0)
		return f->later;
	if (!has_said(*keeper_fd))
		return true;
	(void)close(*keeper_fd);
	*keeper_fd = BROKEN;
	return false;
}

bool vmwatch_clear(struct vmwatch *f, int wd)
{
	_Alignas(struct inotify_event) char buf[4096];
	bool seen = false;
	uint64_t times;
	ssize_t n;

	if (f->timer >= 0 && read(f->timer, &times, sizeof(times)) > 0)
		f->later = false;
	while (f->inotify >= 0 &&
	       (n = read(f->inotify, buf, sizeof(buf))) > 0) {
		struct inotify_event ie;

		for (ssize_t off = 0; off < n;
		     off += (ssize_t)(sizeof(ie) + ie.len)) {
			memcpy(&ie, buf + off, sizeof(ie));
			seen |= ie.wd == wd || (ie.mask & IN_Q_OVERFLOW);
		}
	}
	return seen;
}

int vmwatch_wait(const struct vmwatch *f, uint64_t end_ns, struct err *e)
{
	int r = deadline_poll(f->epfd, POLLIN, end_ns);

	return r < 0 ? err_set(e, r, "poll: %s", strerror(-r)) : r;
}
