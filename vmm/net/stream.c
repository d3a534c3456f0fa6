/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/net/stream.c - see stream.h
 *
 * Receiving.  What is known to be of the current frame goes straight to where
 * the caller wants it; what comes behind it in the same call of the kernel goes
 * into a small buffer, from which it is copied: the next frame's length, and
 * whole small frames.  After a large frame the buffer is made small, as what
 * follows is likely to be large too, and is better not copied.  A read that was not
 * filled has left nothing: the next asks nobody, and says so.
 *
 * Sending.  Small frames are gathered, and go with one call of the kernel when
 * the device has no more for now.  Of a large frame that the socket takes only
 * in part the rest goes by the same buffer, since the guest may not wait for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/unix.h"
#include "vmm/net/stream.h"

#define PREFIX_LEN 4u

/* Read ahead: much of small frames, little behind large ones. */
#define AHEAD_MAX 16384u
#define AHEAD_MIN 64u
#define LARGE     4096u

/* A frame up to that is cheaper to copy than to send by itself. */
#define SMALL 2048u

/* As many large frames as the host lets a socket hold, rather than three. */
#define SEND_LEN (1 << 20)

#define TAIL_MAX (PREFIX_LEN + VNET_HDR_LEN + NET_FRAME_MAX)

/**
 * struct stream - The link
 * @fd:		Owned
 * @len:	Bytes of the frame under way; 0 if its length is not known
 * @done:	Of these, received
 * @skip:	Bytes to come that nobody wants
 * @large:	The last frame was
 * @drained:	The last read left nothing, and that was not told yet
 * @head:	First byte of @ahead not used yet
 * @end:	End of what is in @ahead
 * @tail_off:	From here on link.unsent bytes of @tail are to be sent
 */
struct stream {
	struct net_link link;
	int fd;
	size_t len;
	size_t done;
	size_t skip;
	bool large;
	bool drained;
	size_t head;
	size_t end;
	size_t tail_off;
	uint8_t prefix[PREFIX_LEN];
	uint8_t ahead[AHEAD_MAX];
	uint8_t tail[TAIL_MAX];
};

static struct stream *stream_of(struct net_link *l)
{
	return container_of(l, struct stream, link);
}

static int stream_fd(struct net_link *l, unsigned int q)
{
	(void)q;
	return stream_of(l)->fd;
}

static size_t hdr_len(const struct stream *s)
{
	return s->link.vnet ? VNET_HDR_LEN : 0;
}

/* Return: bytes, at least one, or -errno. */
static ssize_t receive(struct stream *s, struct iovec *iov, int n)
{
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = (size_t)n };
	ssize_t got;

	if (s->drained) {
		s->drained = false;
		return -EAGAIN;
	}
	do
		got = recvmsg(s->fd, &m, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return net_link_error(errno);
	s->drained = (size_t)got < net_iov_len(iov, n);
	return got == 0 ? -EPIPE : got;
}

/* More into @ahead, of which less than PREFIX_LEN is left. */
static int look_ahead(struct stream *s)
{
	struct iovec v;
	ssize_t got;

	memmove(s->ahead, s->ahead + s->head, s->end - s->head);
	s->end -= s->head;
	s->head = 0;
	v.iov_base = s->ahead + s->end;
	v.iov_len = (s->large && !s->skip ? AHEAD_MIN : AHEAD_MAX) - s->end;
	got = receive(s, &v, 1);
	if (got > 0)
		s->end += (size_t)got;
	return (int)MIN(got, 0);
}

/* The rest of a frame that nobody wants, through the same buffer. */
static int drop_rest(struct stream *s)
{
	while (s->skip > 0) {
		size_t n = MIN(s->skip, s->end - s->head);
		int r;

		s->head += n;
		s->skip -= n;
		r = s->skip > 0 ? look_ahead(s) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

static ssize_t stream_next(struct net_link *l, unsigned int q)
{
	struct stream *s = stream_of(l);
	size_t len;
	int r;

	(void)q;
	if (s->len)
		return (ssize_t)s->len;
	r = drop_rest(s);
	while (r == 0 && s->end - s->head < PREFIX_LEN)
		r = look_ahead(s);
	if (r < 0)
		return r;
	len = be32(s->ahead + s->head);
	/* There is no finding the next frame after a length that is none. */
	if (len < hdr_len(s) + NET_FRAME_MIN ||
	    len > hdr_len(s) + NET_FRAME_MAX)
		return -EPROTO;
	s->head += PREFIX_LEN;
	s->len = len;
	s->done = 0;
	return (ssize_t)len;
}

static void drop_frame(struct stream *s)
{
	s->skip += s->len - s->done;
	s->len = 0;
	s->done = 0;
}

/* One of which only the length is known can still be had. */
static void stream_skip(struct net_link *l, unsigned int q)
{
	struct stream *s = stream_of(l);

	(void)q;
	if (s->done)
		drop_frame(s);
}

/* What was read ahead of this frame. Return: 0 or -EFAULT */
static int take_ahead(struct stream *s, const struct iovec *iov, int n)
{
	for (int i = 0; i < n && s->head < s->end; i++) {
		size_t here = MIN(iov[i].iov_len, s->end - s->head);

		if (gmem_copy(s->link.mem, iov[i].iov_base, s->ahead + s->head,
			      here) < 0)
			return -EFAULT;
		s->head += here;
		s->done += here;
	}
	return 0;
}

static ssize_t stream_recv(struct net_link *l, unsigned int q,
			   struct iovec *iov, int n)
{
	struct stream *s = stream_of(l);
	ssize_t r = stream_next(l, q);
	size_t had;

	if (r < 0)
		return r;
	if (net_iov_len(iov, n) < s->len) {
		drop_frame(s);
		return -EMSGSIZE;
	}
	n = net_iov_cut(iov, n, s->done, s->len - s->done);
	had = s->done;
	if (take_ahead(s, iov, n) < 0)
		return -EFAULT;
	if (s->done < s->len) {
		bug_on(s->head != s->end);
		n = net_iov_cut(iov, n, s->done - had, s->len - s->done);
		s->head = 0;
		s->end = 0;
		iov[n].iov_base = s->ahead;
		iov[n].iov_len = s->len >= LARGE ? AHEAD_MIN : AHEAD_MAX;
		r = receive(s, iov, n + 1);
		if (r < 0)
			return r;
		had = MIN((size_t)r, s->len - s->done);
		s->done += had;
		s->end = (size_t)r - had;
	}
	if (s->done < s->len) {
		s->drained = false;
		return -EAGAIN;
	}
	r = (ssize_t)s->len;
	s->large = s->len >= LARGE;
	s->len = 0;
	return r;
}

/* Return: bytes, or -errno. */
static ssize_t transmit(const struct stream *s, struct iovec *iov, int n)
{
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = (size_t)n };
	ssize_t sent;

	do
		sent = sendmsg(s->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return net_link_error(errno);
	return sent;
}

static int stream_flush(struct net_link *l, unsigned int q)
{
	struct stream *s = stream_of(l);

	(void)q;
	while (l->unsent > 0) {
		struct iovec v = { s->tail + s->tail_off, l->unsent };
		ssize_t sent = transmit(s, &v, 1);

		if (sent < 0)
			return (int)sent;
		s->tail_off += (size_t)sent;
		l->unsent -= (size_t)sent;
	}
	s->tail_off = 0;
	return 0;
}

/*
 * A piece that cannot be had is kept as zeros.
 *
 * Return: 0, or -EFAULT if there was one
 */
static int keep_tail(struct stream *s, const struct iovec *iov, int n)
{
	int r = 0;

	for (int i = 0; i < n; i++) {
		size_t used = s->tail_off + s->link.unsent;
		uint8_t *to = s->tail + used;

		bug_on(iov[i].iov_len > sizeof(s->tail) - used);
		if (gmem_copy(s->link.mem, to, iov[i].iov_base,
			      iov[i].iov_len) < 0) {
			memset(to, 0, iov[i].iov_len);
			r = -EFAULT;
		}
		s->link.unsent += iov[i].iov_len;
	}
	return r;
}

/*
 * Of a frame of which nothing is sent yet: as on an interface whose queue is
 * full, it is lost.  The rest of one has to come, or there is no finding the
 * next.
 */
static int lost_or(int r)
{
	return r == -ENOBUFS ? -EINVAL : r;
}

/* A small one, that goes with others. Return: 0 or -EFAULT */
static int gather(struct stream *s, const struct iovec *iov, int n)
{
	const size_t before = s->link.unsent;
	int r = keep_tail(s, iov, n);

	if (r < 0)
		s->link.unsent = before;
	return r;
}

static int stream_send(struct net_link *l, unsigned int q, struct iovec *iov,
		       int n, size_t len)
{
	struct stream *s = stream_of(l);
	const size_t all = PREFIX_LEN + len;
	size_t room = sizeof(s->tail) - s->tail_off - l->unsent;
	int r = all <= SMALL && all <= room ? 0 : stream_flush(l, q);
	ssize_t sent;

	if (r < 0)
		return lost_or(r);
	bug_on(len > VNET_HDR_LEN + NET_FRAME_MAX);
	s->prefix[0] = 0;
	s->prefix[1] = (uint8_t)(len >> 16);
	s->prefix[2] = (uint8_t)(len >> 8);
	s->prefix[3] = (uint8_t)len;
	iov[0].iov_base = s->prefix;
	iov[0].iov_len = PREFIX_LEN;
	if (all <= SMALL)
		return gather(s, iov, n + 1);
	sent = transmit(s, iov, n + 1);
	if (sent < 0)
		return lost_or((int)sent);
	if ((size_t)sent < all) {
		n = net_iov_cut(iov, n + 1, (size_t)sent, all - (size_t)sent);
		/* The length stands, whatever has become of the rest. */
		(void)keep_tail(s, iov, n);
	}
	return 0;
}

static int stream_offload(struct net_link *l, unsigned int offloads)
{
	(void)l;
	(void)offloads;
	return 0; /* the device judges each frame by its header */
}

static int stream_spread(struct net_link *l, unsigned int n)
{
	(void)l;
	return n == 1 ? 0 : -EINVAL;
}

static void stream_free(struct net_link *l)
{
	struct stream *s = stream_of(l);

	base_closep(&s->fd);
	free(s);
}

static const struct net_link_ops stream_ops = {
	.fd = stream_fd,
	.next = stream_next,
	.recv = stream_recv,
	.skip = stream_skip,
	.send = stream_send,
	.flush = stream_flush,
	.offload = stream_offload,
	.spread = stream_spread,
	.free = stream_free,
};

int net_stream_new(int fd, bool vnet, struct net_link **ret)
{
	static const int room = SEND_LEN;
	struct stream *s = calloc(1, sizeof(*s));

	if (!s) {
		(void)close(fd);
		return -ENOMEM;
	}
	s->fd = fd;
	/* Less will do as well. */
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	s->link = (struct net_link){
		.ops = &stream_ops,
		.n_queues = 1,
		.vnet = vnet,
		.offloads = vnet ? NET_OFFLOAD_CSUM | NET_OFFLOAD_TSO4 |
					    NET_OFFLOAD_TSO6 | NET_OFFLOAD_ECN
				 : 0,
	};
	*ret = &s->link;
	return 0;
}

int net_stream_connect(const char *path, struct err *e)
{
	return unix_connect(AT_FDCWD, path, SOCK_STREAM, e);
}
