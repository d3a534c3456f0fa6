/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/relay_stream.c - DNS by TCP with the guest: see relay.h */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "host/net/relay.h"

/* A question is a name and little more; longer ones are refused. */
#define QUESTION_MAX 1024u

/**
 * struct relay_stream - A stream, of which we are the far end
 * @in:		@in_len bytes of a question, with its length
 * @busy:	It is being answered; no other is read meanwhile
 */
struct relay_stream {
	struct list link;
	struct relay *relay;
	struct loop_io io;
	struct loop_timer timer;
	struct loop_defer defer;
	int fd;
	bool closed;
	bool busy;
	size_t in_len;
	uint8_t in[sizeof(be16) + QUESTION_MAX];
};

static void free_stream(struct loop_defer *d)
{
	free(container_of(d, struct relay_stream, defer));
}

void relay_stream_close(struct relay_stream *s)
{
	struct relay *r = s->relay;

	if (s->closed)
		return;
	s->closed = true;
	relay_forget(r, s);
	loop_del(&s->io);
	loop_timer_cancel(&s->timer);
	(void)close(take_fd(&s->fd));
	list_del(&s->link);
	r->n_streams--;
	loop_defer(r->net->loop, &s->defer, free_stream);
}

static void on_time(struct loop_timer *t)
{
	relay_stream_close(container_of(t, struct relay_stream, timer));
}

/* Bytes of the question that @in holds the beginning of. */
static size_t whole(const struct relay_stream *s)
{
	be16 prefix;

	if (s->in_len < sizeof(prefix))
		return sizeof(prefix);
	memcpy(&prefix, s->in, sizeof(prefix));
	return sizeof(prefix) + be16_get(prefix);
}

/* Reads one question and no more: the next waits in the socket. */
static void on_io(struct loop_io *io, uint32_t events)
{
	struct relay_stream *s = container_of(io, struct relay_stream, io);
	size_t want = whole(s);
	ssize_t n;

	(void)events;
	/* Asked for no event, epoll tells of the end: nobody waits any more. */
	if (s->busy) {
		relay_stream_close(s);
		return;
	}
	n = want > sizeof(s->in) ? 0
				 : recv(s->fd, s->in + s->in_len,
					want - s->in_len, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		relay_stream_close(s);
		return;
	}
	s->in_len += (size_t)n;
	loop_timer_set(s->relay->net->loop, &s->timer, DNS_STREAM_NS, on_time);
	want = whole(s);
	if (s->in_len < want || want == sizeof(be16))
		return;
	s->in_len = 0;
	s->busy = true;
	loop_mod(io, 0);
	relay_question(s->relay, s, s->in + sizeof(be16), want - sizeof(be16));
}

void relay_stream_answer(struct relay_stream *s, void *msg, size_t len)
{
	const be16 prefix = be16_put((uint16_t)len);
	struct iovec iov[2] = { { .iov_len = sizeof(prefix) },
				{ .iov_len = len } };
	uint8_t head[sizeof(prefix)];
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };

	memcpy(head, &prefix, sizeof(prefix));
	iov[0].iov_base = head;
	iov[1].iov_base = msg;
	/* The buffer holds an answer; who does not take it gets no more. */
	if (sendmsg(s->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) !=
	    (ssize_t)(sizeof(prefix) + len)) {
		relay_stream_close(s);
		return;
	}
	s->busy = false;
	loop_mod(&s->io, EPOLLIN);
}

int relay_stream(struct relay *r, int fd)
{
	struct loop *loop = r->net->loop;
	struct relay_stream *s;
	int ret;

	if (r->n_streams >= DNS_STREAMS_MAX)
		return -EMFILE;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	ret = loop_add(loop, &s->io, fd, EPOLLIN, on_io);
	if (ret < 0) {
		free(s);
		return ret;
	}
	s->relay = r;
	s->fd = fd;
	list_add_tail(&r->streams, &s->link);
	r->n_streams++;
	loop_timer_set(loop, &s->timer, DNS_STREAM_NS, on_time);
	return 0;
}

void relay_streams_close(struct relay *r)
{
	while (!list_empty(&r->streams))
		relay_stream_close(
			list_entry(r->streams.next, struct relay_stream, link));
}
