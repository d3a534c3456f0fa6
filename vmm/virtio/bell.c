/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/bell.c - see bell.h */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "vmm/virtio/bell.h"

int bell_open(struct bell *b)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	auto_fd int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	auto_fd int ep = epoll_create1(EPOLL_CLOEXEC);

	if (fd < 0 || ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) < 0)
		return -errno;
	b->fd = take_fd(&fd);
	b->ep = take_fd(&ep);
	return 0;
}

void bell_close(struct bell *b)
{
	base_closep(&b->ep);
	base_closep(&b->fd);
	b->ep = -1;
	b->fd = -1;
}

void bell_ring(const struct bell *b)
{
	static const uint64_t one = 1;

	/* It counts up to 2^64 before it is full, and then has rung anyway. */
	if (write(b->fd, &one, sizeof(one)) < 0)
		bug_on(errno != EAGAIN && errno != EINTR);
}

bool bell_wait(const struct bell *b, int timeout_ms)
{
	struct epoll_event ev;

	/* A signal that stops the process and lets it go on is like a ring. */
	return epoll_wait(b->ep, &ev, 1, timeout_ms) != 0;
}
