/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/vsock_flow.c - bytes both ways and the credit that bounds them */
#include <errno.h>
#include <sys/socket.h>

#include "vmm/virtio/vsock_conn.h"

#define BIT(op) (1u << (op))

/* Bytes that the guest has room for and has not been sent. */
uint32_t vsock_flow_room(const struct vsock_conn *c)
{
	uint32_t flying = c->sent_cnt - c->peer_fwd;

	return c->peer_alloc > flying ? c->peer_alloc - flying : 0;
}

void vsock_flow_credit(struct vsock_conn *c, const struct vsock_hdr *h)
{
	uint32_t fwd = le32_get(h->fwd_cnt);

	c->peer_alloc = le32_get(h->buf_alloc);
	/* Packets may overtake each other: never back, never past sent_cnt. */
	if (c->sent_cnt - fwd <= c->sent_cnt - c->peer_fwd)
		c->peer_fwd = fwd;
	if (vsock_flow_room(c) == 0)
		return;
	c->asked = false;
	if (c->state != VSOCK_OPEN)
		return;
	if (c->readable)
		vsock_conn_ready(c);
	else
		vsock_conn_watch(c);
}

void vsock_flow_window(struct vsock_conn *c, uint32_t window)
{
	struct vsock *v = c->v;

	v->pool_left = v->pool_left + c->window - window;
	v->window_sum = v->window_sum - c->window + window;
	c->window = window;
	c->ring.cap = window;
}

/*
 * The windows' sum.  Each connection has VSOCK_WINDOW_MIN of its own; what it
 * has beyond comes from the pool.  A window doubles each time that the host
 * has taken half of it: a slow reader's stays small.  When the pool runs low,
 * windows above their share give back, but only as bytes are forwarded, so
 * that what the guest was once allowed is never taken away.
 */
static uint32_t fair_share(const struct vsock *v)
{
	size_t share = v->cfg.pool / MAX(v->n_open, 1u);

	if (v->pool_left >= v->cfg.pool / 4)
		return VSOCK_WINDOW_MAX;
	return (uint32_t)MIN(VSOCK_WINDOW_MIN + share, VSOCK_WINDOW_MAX);
}

static void grow(struct vsock_conn *c)
{
	uint32_t share = fair_share(c->v);
	uint32_t more;

	if (c->window >= share)
		return;
	more = MIN(c->window, share - c->window);
	vsock_flow_window(c, c->window + (uint32_t)MIN(more, c->v->pool_left));
}

static void shrink(struct vsock_conn *c, uint32_t forwarded)
{
	uint32_t share = fair_share(c->v);

	if (c->window > share)
		vsock_flow_window(c, c->window -
					     MIN(c->window - share, forwarded));
}

static void forwarded(struct vsock_conn *c, uint32_t n)
{
	c->fwd_cnt += n;
	shrink(c, n);
	if (c->state != VSOCK_OPEN || c->guest_shut & VSOCK_SHUT_SEND ||
	    c->due & BIT(VSOCK_OP_CREDIT_UPDATE))
		return;
	if (c->fwd_cnt - c->told_fwd < c->told_window / 2)
		return;
	if (!c->host_deaf)
		grow(c);
	vsock_conn_due(c, VSOCK_OP_CREDIT_UPDATE);
}

/* The host takes no more: drop what waits, and have the guest stop. */
void vsock_flow_deafen(struct vsock_conn *c)
{
	uint32_t lost = (uint32_t)c->ring.len;

	ring_done(&c->ring);
	c->host_deaf = true;
	vsock_conn_shutdown(c, VSOCK_SHUT_RCV);
	forwarded(c, lost);
}

static ssize_t send_some(int fd, struct iovec *iov, int n)
{
	struct msghdr mh = { .msg_iov = iov, .msg_iovlen = (size_t)n };
	ssize_t r;

	do
		r = sendmsg(fd, &mh, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return errno == EAGAIN ? 0 : -errno;
	return r;
}

/* The host's socket has room again. */
void vsock_flow_flush(struct vsock_conn *c)
{
	struct iovec iov[2];
	int n = ring_peek(&c->ring, iov);
	ssize_t r = n ? send_some(c->fd, iov, n) : 0;

	if (r < 0) {
		vsock_flow_deafen(c);
	} else {
		ring_drop(&c->ring, (size_t)r);
		forwarded(c, (uint32_t)r);
	}
	if (c->ring.len == 0) {
		ring_done(&c->ring);
		if (c->state != VSOCK_OPEN || c->guest_shut & VSOCK_SHUT_SEND)
			vsock_conn_guest_end(c);
	}
	vsock_conn_watch(c);
}

/* Straight from guest memory. Return: bytes that the host took, or -errno */
static ssize_t send_chain(struct vsock_conn *c, uint32_t len)
{
	struct iovec iov[VSOCK_IOV];
	uint32_t done = 0;

	while (done < len) {
		int n = virtq_chain_out(&c->v->chain, VSOCK_HDR_LEN + done,
					len - done, iov, VSOCK_IOV);
		size_t want = 0;
		ssize_t r;

		for (int i = 0; i < n; i++)
			want += iov[i].iov_len;
		r = send_some(c->fd, iov, n);
		if (r < 0)
			return r;
		done += (uint32_t)r;
		if ((size_t)r < want)
			break;
	}
	return done;
}

void vsock_flow_take(struct vsock_conn *c, uint32_t len)
{
	struct vsock *v = c->v;
	ssize_t sent = 0;

	if (c->guest_shut & VSOCK_SHUT_SEND ||
	    len > c->told_fwd + c->told_window - c->recv_cnt) {
		vsock_conn_reset(c); /* more than it was allowed */
		return;
	}
	c->recv_cnt += len;
	v->stats.tx_bytes += len;
	if (len && !v->stats.first_byte_ns)
		v->stats.first_byte_ns = loop_now_ns();
	if (!c->host_deaf && c->ring.len == 0)
		sent = send_chain(c, len);
	if (sent == -EFAULT) {
		vsock_conn_reset(c); /* the guest's page is no more */
		return;
	}
	if (sent < 0)
		vsock_flow_deafen(c);
	if (c->host_deaf) {
		forwarded(c, len);
		return;
	}
	if (virtq_chain_keep(&v->chain, VSOCK_HDR_LEN + (size_t)sent,
			     len - (size_t)sent, &c->ring) < 0) {
		vsock_conn_reset(c); /* say so, lose nothing */
		return;
	}
	v->stats.copied_bytes += len - (size_t)sent;
	forwarded(c, (uint32_t)sent);
	vsock_conn_watch(c);
}

/* Every packet tells the guest our credit, so an update is never due after. */
void vsock_flow_header(struct vsock_conn *c, struct vsock_hdr *h,
		       enum vsock_op op, uint32_t len)
{
	h->src_port = le32_put(c->host_port);
	h->dst_port = le32_put(c->guest_port);
	h->len = le32_put(len);
	h->op = le16_put((uint16_t)op);
	h->buf_alloc = le32_put(c->window);
	h->fwd_cnt = le32_put(c->fwd_cnt);
	c->told_window = c->window;
	c->told_fwd = c->fwd_cnt;
	c->due &= ~(BIT(op) | BIT(VSOCK_OP_CREDIT_UPDATE));
}

/* readv(2) had nothing: @n is 0 at the end, or it failed with errno. */
static void fill_nothing(struct vsock_conn *c, ssize_t n)
{
	if (n < 0 && (errno == EAGAIN || errno == EINTR) && !c->hup) {
		c->readable = false;
		vsock_conn_watch(c);
		return;
	}
	/* An error means that the host is gone altogether. */
	vsock_conn_host_end(c);
	if (n < 0)
		vsock_flow_deafen(c);
}

/* No room: an end needs none, and is told; for more than that, ask. */
static void fill_blocked(struct vsock_conn *c)
{
	char b;
	ssize_t n = recv(c->fd, &b, sizeof(b), MSG_PEEK | MSG_DONTWAIT);

	if (n <= 0) {
		fill_nothing(c, n);
		return;
	}
	if (!c->asked)
		c->due |= BIT(VSOCK_OP_CREDIT_REQUEST);
	c->asked = true;
}

int vsock_flow_fill(struct vsock_conn *c, struct vsock_hdr *h)
{
	struct vsock *v = c->v;
	size_t room = MIN(vsock_flow_room(c), VSOCK_TURN_MAX), want = 0;
	struct iovec iov[VSOCK_IOV];
	ssize_t n;
	int parts;

	if (!c->readable || !vsock_conn_wants_bytes(c))
		return -EAGAIN;
	if (room == 0) {
		fill_blocked(c);
		return -EAGAIN;
	}
	parts = virtq_chain_in(&v->chain, VSOCK_HDR_LEN, room, iov, VSOCK_IOV);
	for (int i = 0; i < parts; i++)
		want += iov[i].iov_len;
	n = readv(c->fd, iov, parts);
	if (n <= 0) {
		fill_nothing(c, n);
		return -EAGAIN;
	}
	/* A short read has emptied it; epoll will tell of more. */
	c->readable = (size_t)n == want || c->hup;
	if (!c->readable)
		vsock_conn_watch(c);
	c->sent_cnt += (uint32_t)n;
	v->stats.rx_bytes += (uint64_t)n;
	vsock_flow_header(c, h, VSOCK_OP_RW, (uint32_t)n);
	return (int)n;
}
