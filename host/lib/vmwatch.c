/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/vmwatch.c - see vmwatch.h */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/socket.h>

#include "host/lib/vmwatch.h"
#include "host/lib/internal.h"
#include "host/lib/kcall.h"

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
	if (f->epfd < 0 || f->inotify < 0)
		r = -errno;
	if (r == 0)
		r = watch(f, f->inotify);
	if (r < 0)
		vmwatch_close(f);
	return r;
}

void vmwatch_close(struct vmwatch *f)
{
	if (f->inotify >= 0)
		(void)close(take_fd(&f->inotify));
	if (f->epfd >= 0)
		(void)close(take_fd(&f->epfd));
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

int vmwatch_keeper(const struct vmwatch *f, int run_fd)
{
	int fd = kcall_send(run_fd, "wait", "for", "exit", NULL), r;

	if (fd < 0)
		return fd;
	r = watch(f, fd);
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	return fd;
}

bool vmwatch_ended(int keeper_fd)
{
	char c;
	ssize_t n = recv(keeper_fd, &c, 1, MSG_PEEK | MSG_DONTWAIT);

	return n >= 0 || (errno != EAGAIN && errno != EINTR);
}

bool vmwatch_clear(const struct vmwatch *f, int wd)
{
	_Alignas(struct inotify_event) char buf[4096];
	bool seen = false;
	ssize_t n;

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

int vmwatch_wait(const struct vmwatch *f, uint64_t end_ns)
{
	struct pollfd p = { .fd = f->epfd, .events = POLLIN };
	int r = poll(&p, 1, deadline_left_ms(end_ns));

	if (r < 0)
		return errno == EINTR ? 1 : -errno;
	return r > 0;
}
