/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/vsock_conn.c - one connection; see vsock_conn.h */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "vmm/virtio/vsock_conn.h"

#define BIT(op) (1u << (op))

static void set_state(struct vsock_conn *c, enum vsock_state state)
{
	c->v->n_open += (state == VSOCK_OPEN);
	c->v->n_open -= (c->state == VSOCK_OPEN);
	c->state = state;
}

static void set_ready(struct vsock_conn *c)
{
	if (list_empty(&c->ready))
		list_add_tail(&c->v->ready, &c->ready);
	vsock_schedule(c->v);
}

void vsock_conn_due(struct vsock_conn *c, enum vsock_op op)
{
	c->due |= BIT(op);
	set_ready(c);
}

static void due_shutdown(struct vsock_conn *c, unsigned int flags)
{
	if (c->state != VSOCK_OPEN)
		return;
	c->shut_due |= (uint8_t)(flags & ~c->shut_sent);
	set_ready(c);
}

/* Bytes that the guest has room for and has not been sent. */
static uint32_t peer_room(const struct vsock_conn *c)
{
	uint32_t flying = c->sent_cnt - c->peer_fwd;

	return c->peer_alloc > flying ? c->peer_alloc - flying : 0;
}

static bool wants_host_bytes(const struct vsock_conn *c)
{
	return c->state == VSOCK_OPEN && !c->host_eof &&
	       !(c->guest_shut & VSOCK_SHUT_RCV);
}

/*
 * Level-triggered.  EPOLLIN of a connection that is known to be readable but
 * has to wait is taken away only when it fires: mostly it does not wait.
 */
static void watch(struct vsock_conn *c)
{
	uint32_t events = 0;

	if (wants_host_bytes(c) && !c->readable)
		events |= EPOLLIN;
	if (c->ring.len > 0)
		events |= EPOLLOUT;
	loop_mod(&c->io, events);
}

struct vsock_conn *vsock_conn_new(struct vsock *v, int fd)
{
	struct vsock_conn *c;

	if (v->n_conns >= v->conns_max)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->v = v;
	c->fd = fd;
	c->window = VSOCK_WINDOW_MIN;
	c->ring.cap = c->window;
	list_init(&c->ready);
	list_init(&c->wait);
	list_add_tail(&v->conns, &c->all);
	v->n_conns++;
	v->window_sum += c->window;
	return c;
}

void vsock_conn_wait(struct vsock_conn *c, struct list *list, uint64_t ns)
{
	struct vsock *v = c->v;

	c->deadline_ns = loop_now_ns() + ns;
	list_del(&c->wait);
	list_add_tail(list, &c->wait);
	if (!loop_timer_is_set(&v->timer))
		loop_timer_set(v->loop, &v->timer, ns, v->timer.fn);
}

static void set_window(struct vsock_conn *c, uint32_t window)
{
	struct vsock *v = c->v;

	v->pool_left = v->pool_left + c->window - window;
	v->window_sum = v->window_sum - c->window + window;
	c->window = window;
	c->ring.cap = window;
}

/* What the host has not read is lost, as when any socket is closed. */
static void host_close(struct vsock_conn *c)
{
	if (c->fd < 0)
		return;
	loop_del(&c->io);
	(void)close(c->fd);
	c->fd = -1;
	c->readable = false;
	ring_done(&c->ring);
	set_window(c, VSOCK_WINDOW_MIN);
	vsock_host_room(c->v);
}

void vsock_conn_drop(struct vsock_conn *c)
{
	struct vsock *v = c->v;

	if (c->dead)
		return;
	host_close(c);
	if (c->state == VSOCK_HELD)
		v->n_held--;
	if (c->state == VSOCK_DIALING)
		vsock_host_undial(c);
	vsock_table_del(v, c);
	set_state(c, VSOCK_GONE);
	list_del(&c->ready);
	list_del(&c->wait);
	list_del(&c->all);
	list_add_tail(&v->dead, &c->all);
	c->dead = true;
	c->due = 0;
	v->n_conns--;
	v->n_guest -= c->from_guest;
	v->window_sum -= c->window;
	vsock_schedule(v);
}

/* The guest's side is gone; stay only to hand the host what it is owed. */
static void guest_gone(struct vsock_conn *c, enum vsock_state state)
{
	if (c->state == VSOCK_DIALING)
		vsock_host_undial(c);
	list_del(&c->wait);
	set_state(c, state);
	c->due = 0;
	c->shut_due = 0;
	c->readable = false;
	if (c->ring.len == 0)
		host_close(c);
	else
		watch(c);
	if (state == VSOCK_RESETTING) {
		vsock_conn_due(c, VSOCK_OP_RST);
		return;
	}
	list_del(&c->ready);
	vsock_table_del(c->v, c);
	if (c->fd < 0)
		vsock_conn_drop(c);
}

void vsock_conn_guest_gone(struct vsock_conn *c)
{
	guest_gone(c, VSOCK_GONE);
}

void vsock_conn_reset(struct vsock_conn *c)
{
	host_close(c);
	if (c->state < VSOCK_REQUESTED ||
	    (c->state == VSOCK_REQUESTED && !c->requested))
		vsock_conn_drop(c);
	else
		guest_gone(c, VSOCK_RESETTING);
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
	set_window(c, c->window + (uint32_t)MIN(more, c->v->pool_left));
}

static void shrink(struct vsock_conn *c, uint32_t forwarded)
{
	uint32_t share = fair_share(c->v);

	if (c->window > share)
		set_window(c, c->window - MIN(c->window - share, forwarded));
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
static void deafen(struct vsock_conn *c)
{
	uint32_t lost = (uint32_t)c->ring.len;

	ring_done(&c->ring);
	c->host_deaf = true;
	due_shutdown(c, VSOCK_SHUT_RCV);
	forwarded(c, lost);
}

/* All that the guest had to say has been said. */
static void end_of_guest_bytes(struct vsock_conn *c)
{
	if (c->state == VSOCK_OPEN) {
		(void)shutdown(c->fd, SHUT_WR);
		return;
	}
	host_close(c);
	if (c->state == VSOCK_GONE)
		vsock_conn_drop(c);
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
static void flush(struct vsock_conn *c)
{
	struct iovec iov[2];
	int n = ring_peek(&c->ring, iov);
	ssize_t r = n ? send_some(c->fd, iov, n) : 0;

	if (r < 0) {
		deafen(c);
	} else {
		ring_drop(&c->ring, (size_t)r);
		forwarded(c, (uint32_t)r);
	}
	if (c->ring.len == 0) {
		ring_done(&c->ring);
		if (c->state != VSOCK_OPEN || c->guest_shut & VSOCK_SHUT_SEND)
			end_of_guest_bytes(c);
	}
	watch(c);
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

static void take_bytes(struct vsock_conn *c, uint32_t len)
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
	if (sent < 0)
		deafen(c);
	if (c->host_deaf) {
		forwarded(c, len);
		return;
	}
	if (virtq_chain_keep(&v->chain, VSOCK_HDR_LEN + (size_t)sent,
			     len - (size_t)sent, &c->ring) < 0) {
		vsock_conn_reset(c); /* no memory: say so, lose nothing */
		return;
	}
	v->stats.copied_bytes += len - (size_t)sent;
	forwarded(c, (uint32_t)sent);
	watch(c);
}

static void take_shutdown(struct vsock_conn *c, uint32_t flags)
{
	uint8_t news = (uint8_t)(flags & VSOCK_SHUT_BOTH & ~c->guest_shut);

	c->guest_shut |= news;
	if (c->guest_shut == VSOCK_SHUT_BOTH) {
		guest_gone(c, VSOCK_RESETTING);
		return;
	}
	if (news & VSOCK_SHUT_SEND && c->ring.len == 0)
		end_of_guest_bytes(c);
	if (news & VSOCK_SHUT_RCV) {
		(void)shutdown(c->fd, SHUT_RD);
		c->readable = false;
		if (c->hup) {
			c->host_eof = true;
			due_shutdown(c, VSOCK_SHUT_SEND);
		}
	}
	watch(c);
}

static void take_credit(struct vsock_conn *c, const struct vsock_hdr *h)
{
	uint32_t fwd = le32_get(h->fwd_cnt);

	c->peer_alloc = le32_get(h->buf_alloc);
	/* Packets may overtake each other: never back, never past sent_cnt. */
	if (c->sent_cnt - fwd <= c->sent_cnt - c->peer_fwd)
		c->peer_fwd = fwd;
	if (peer_room(c) == 0)
		return;
	c->asked = false;
	if (c->state != VSOCK_OPEN)
		return;
	if (c->readable)
		set_ready(c);
	else
		watch(c);
}

static void packet_open(struct vsock_conn *c, const struct vsock_hdr *h)
{
	take_credit(c, h);
	switch (le16_get(h->op)) {
	case VSOCK_OP_RW:
		take_bytes(c, le32_get(h->len));
		break;
	case VSOCK_OP_SHUTDOWN:
		take_shutdown(c, le32_get(h->flags));
		break;
	case VSOCK_OP_RST:
		vsock_conn_guest_gone(c);
		break;
	case VSOCK_OP_CREDIT_UPDATE:
		break;
	case VSOCK_OP_CREDIT_REQUEST:
		vsock_conn_due(c, VSOCK_OP_CREDIT_UPDATE);
		break;
	default:
		vsock_conn_reset(c);
		break;
	}
}

static void packet_requested(struct vsock_conn *c, const struct vsock_hdr *h)
{
	unsigned int op = le16_get(h->op);

	if (op == VSOCK_OP_RST && c->requested) {
		c->v->stats.refused++;
		vsock_conn_drop(c);
	} else if (op == VSOCK_OP_RESPONSE && c->requested) {
		take_credit(c, h);
		if (vsock_host_opened(c) < 0)
			vsock_conn_reset(c);
		else
			vsock_conn_open(c);
	} else {
		vsock_conn_reset(c);
	}
}

static void packet_dialing(struct vsock_conn *c, const struct vsock_hdr *h)
{
	unsigned int op = le16_get(h->op);

	if (op == VSOCK_OP_RST)
		vsock_conn_drop(c);
	else if (op == VSOCK_OP_CREDIT_UPDATE || op == VSOCK_OP_CREDIT_REQUEST)
		take_credit(c, h);
	else
		vsock_conn_reset(c);
}

/* What was on its way when we said that it is over is dropped. */
static void packet_closing(struct vsock_conn *c, const struct vsock_hdr *h)
{
	unsigned int op = le16_get(h->op);

	if (op == VSOCK_OP_RST) {
		vsock_conn_guest_gone(c);
	} else if (op == VSOCK_OP_REQUEST) {
		/* The guest has forgotten it, and uses its port again. */
		vsock_conn_drop(c);
		vsock_host_dial(c->v, h);
	} else if (op == VSOCK_OP_SHUTDOWN) {
		c->guest_shut |=
			(uint8_t)(le32_get(h->flags) & VSOCK_SHUT_BOTH);
		if (c->guest_shut == VSOCK_SHUT_BOTH)
			vsock_conn_reset(c);
	}
}

void vsock_conn_packet(struct vsock_conn *c, const struct vsock_hdr *h)
{
	switch (c->state) {
	case VSOCK_REQUESTED:
		packet_requested(c, h);
		break;
	case VSOCK_DIALING:
		packet_dialing(c, h);
		break;
	case VSOCK_OPEN:
		packet_open(c, h);
		break;
	case VSOCK_CLOSING:
		packet_closing(c, h);
		break;
	case VSOCK_RESETTING:
		if (le16_get(h->op) == VSOCK_OP_RST)
			vsock_conn_guest_gone(c); /* crossed with ours */
		break;
	default:
		bug_on(1); /* no other is in the table */
	}
}

/* Every packet tells the guest our credit, so an update is never due after. */
static void header(struct vsock_conn *c, struct vsock_hdr *h, enum vsock_op op,
		   uint32_t len)
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

static void host_at_end(struct vsock_conn *c)
{
	c->readable = false;
	c->host_eof = true;
	due_shutdown(c, VSOCK_SHUT_SEND);
	watch(c);
}

/* readv(2) had nothing: @n is 0 at the end, or it failed with errno. */
static void fill_nothing(struct vsock_conn *c, ssize_t n)
{
	if (n < 0 && (errno == EAGAIN || errno == EINTR) && !c->hup) {
		c->readable = false;
		watch(c);
		return;
	}
	/* An error means that the host is gone altogether. */
	host_at_end(c);
	if (n < 0)
		deafen(c);
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

static int fill_bytes(struct vsock_conn *c, struct vsock_hdr *h)
{
	struct vsock *v = c->v;
	size_t room = MIN(peer_room(c), VSOCK_TURN_MAX), want = 0;
	struct iovec iov[VSOCK_IOV];
	ssize_t n;
	int parts;

	if (!c->readable || !wants_host_bytes(c))
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
	watch(c);
	c->sent_cnt += (uint32_t)n;
	v->stats.rx_bytes += (uint64_t)n;
	header(c, h, VSOCK_OP_RW, (uint32_t)n);
	return (int)n;
}

/* Once the guest knows that both ways are shut, it owes us a RST. */
static void fill_shutdown(struct vsock_conn *c, struct vsock_hdr *h)
{
	c->shut_sent |= c->shut_due;
	c->shut_due = 0;
	header(c, h, VSOCK_OP_SHUTDOWN, 0);
	h->flags = le32_put(c->shut_sent);
	if (c->shut_sent != VSOCK_SHUT_BOTH)
		return;
	host_close(c);
	set_state(c, VSOCK_CLOSING);
	c->due = 0;
	vsock_conn_wait(c, &c->v->closing, VSOCK_CLOSING_NS);
}

static int fill_due(struct vsock_conn *c, struct vsock_hdr *h)
{
	static const uint8_t order[] = {
		VSOCK_OP_RST,
		VSOCK_OP_REQUEST,
		VSOCK_OP_RESPONSE,
	};
	int n;

	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		if (c->due & BIT(order[i])) {
			header(c, h, order[i], 0);
			return 0;
		}
	}
	n = fill_bytes(c, h);
	if (n > 0)
		return n;
	if (c->shut_due) {
		fill_shutdown(c, h);
		return 0;
	}
	if (c->due & BIT(VSOCK_OP_CREDIT_REQUEST)) {
		header(c, h, VSOCK_OP_CREDIT_REQUEST, 0);
		return 0;
	}
	if (c->due & BIT(VSOCK_OP_CREDIT_UPDATE)) {
		header(c, h, VSOCK_OP_CREDIT_UPDATE, 0);
		return 0;
	}
	return n;
}

int vsock_conn_fill(struct vsock_conn *c, struct vsock_hdr *h)
{
	int n = fill_due(c, h);

	if (n < 0)
		return n;
	if (le16_get(h->op) == VSOCK_OP_REQUEST)
		c->requested = true;
	if (le16_get(h->op) == VSOCK_OP_RST) {
		c->v->stats.resets++;
		guest_gone(c, VSOCK_GONE);
		return n;
	}
	if (c->due || c->shut_due || (c->readable && wants_host_bytes(c)))
		set_ready(c);
	return n;
}

void vsock_conn_open(struct vsock_conn *c)
{
	set_state(c, VSOCK_OPEN);
	c->v->stats.opened++;
	/* Likely: a client may send its first bytes with its CONNECT. */
	c->readable = true;
	set_ready(c);
}

/*
 * EPOLLHUP cannot be masked, and bytes may still wait for the guest to take
 * them: so no more watching; what is there is read to its end, turn by turn.
 */
static void hang_up(struct vsock_conn *c)
{
	c->hup = true;
	loop_del(&c->io);
	deafen(c);
	if (wants_host_bytes(c))
		c->readable = true;
	else
		host_at_end(c);
}

void vsock_conn_event(struct vsock_conn *c, uint32_t events)
{
	if (events & (EPOLLHUP | EPOLLERR)) {
		if (c->state == VSOCK_OPEN) {
			hang_up(c);
			return;
		}
		host_close(c);
		if (c->state == VSOCK_GONE)
			vsock_conn_drop(c);
		return;
	}
	if (events & EPOLLOUT)
		flush(c);
	if (events & EPOLLIN && wants_host_bytes(c)) {
		c->readable = true;
		set_ready(c);
		/* It has to wait: or else this event would come for ever. */
		if (peer_room(c) == 0 || c->v->rx_starved)
			watch(c);
	}
}
