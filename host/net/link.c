/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/link.c - see link.h */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/io.h"
#include "host/net/limits.h"
#include "host/net/link.h"
#include "host/net/proto.h"

#define FRAME_MIN (sizeof(struct vnet_hdr) + sizeof(struct eth_hdr))

static void end(struct link *l, int r)
{
	if (l->over)
		return;
	l->over = true;
	loop_del(&l->io);
	l->ops->end(l, r);
}

/* Hands out the whole frames; what is left moves to the front. */
static int hand_out(struct link *l)
{
	size_t at = 0, len;
	be32 prefix;

	while (l->in_len - at >= sizeof(prefix)) {
		memcpy(&prefix, l->in + at, sizeof(prefix));
		len = be32_get(prefix);
		if (len < FRAME_MIN || len > NET_FRAME_MAX)
			return -EPROTO;
		if (l->in_len - at - sizeof(prefix) < len)
			break;
		l->ops->frame(l, l->in + at + sizeof(prefix), len);
		if (l->over)
			return 0;
		at += sizeof(prefix) + len;
	}
	l->in_len -= at;
	memmove(l->in, l->in + at, l->in_len);
	return 0;
}

/* One read a batch: the loop has others to serve. */
static void receive(struct link *l)
{
	ssize_t n = recv(l->fd, l->in + l->in_len, LINK_IN_MAX - l->in_len,
			 MSG_DONTWAIT);
	int r;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end(l, n < 0 && errno != ECONNRESET ? -errno : 0);
		return;
	}
	l->in_len += (size_t)n;
	r = hand_out(l);
	if (r < 0)
		end(l, r);
}

size_t link_room(const struct link *l)
{
	if (l->over || l->out_len >= LINK_OUT_MAX - LINK_OUT_SPARE)
		return 0;
	return LINK_OUT_MAX - LINK_OUT_SPARE - l->out_len;
}

size_t link_spare(const struct link *l)
{
	return l->over ? 0 : LINK_OUT_MAX - l->out_len;
}

void *link_reserve(struct link *l, size_t len)
{
	if (l->over || len > LINK_OUT_MAX - l->out_len) {
		l->dropped++;
		return NULL;
	}
	return l->out + l->out_len;
}

void link_commit(struct link *l, size_t len)
{
	bug_on(len > LINK_OUT_MAX - l->out_len);
	l->out_len += len;
}

/*
 * What the socket did not take is moved to the front only when it is the
 * smaller part, so that no byte is moved more than once on average.
 */
static void compact(struct link *l)
{
	size_t left = l->out_len - l->out_sent;

	if (left && l->out_sent < left)
		return;
	memmove(l->out, l->out + l->out_sent, left);
	l->out_sent = 0;
	l->out_len = left;
}

static void await_room(struct link *l, bool full)
{
	l->full = full;
	loop_mod(&l->io, EPOLLIN | (full ? EPOLLOUT : 0u));
}

void link_flush(struct link *l)
{
	ssize_t n;

	if (l->over || l->out_sent == l->out_len)
		return;
	n = send(l->fd, l->out + l->out_sent, l->out_len - l->out_sent,
		 MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		end(l, errno == EPIPE || errno == ECONNRESET ? 0 : -errno);
		return;
	}
	l->out_sent += n > 0 ? (size_t)n : 0;
	await_room(l, l->out_sent < l->out_len);
	compact(l);
}

void link_more(struct link *l)
{
	if (!l->over)
		await_room(l, true);
}

static void on_io(struct loop_io *io, uint32_t events)
{
	struct link *l = container_of(io, struct link, io);

	if (events & EPOLLOUT) {
		await_room(l, false);
		link_flush(l);
		if (!l->over && !l->full)
			l->ops->room(l);
	}
	if (!l->over && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		receive(l);
}

int link_open(struct link *l, struct loop *loop, int fd,
	      const struct link_ops *ops)
{
	const int buffer = LINK_OUT_MAX;
	int r = io_set_nonblock(fd, 1);

	memset(l, 0, sizeof(*l));
	l->fd = -1;
	l->ops = ops;
	if (r < 0)
		return r;
	/* As much of it as the host allows: fewer, longer turns. */
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	l->in = malloc(LINK_IN_MAX);
	l->out = malloc(LINK_OUT_MAX);
	r = l->in && l->out ? loop_add(loop, &l->io, fd, EPOLLIN, on_io)
			    : -ENOMEM;
	if (r < 0) {
		link_close(l);
		return r;
	}
	l->fd = fd;
	return 0;
}

void link_close(struct link *l)
{
	l->over = true;
	loop_del(&l->io);
	drop_fd(&l->fd);
	free(take_ptr(&l->in));
	free(take_ptr(&l->out));
}
