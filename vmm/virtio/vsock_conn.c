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

void vsock_conn_ready(struct vsock_conn *c)
{
	if (list_empty(&c->ready))
		list_add_tail(&c->v->ready, &c->ready);
	vsock_schedule(c->v);
}

void vsock_conn_due(struct vsock_conn *c, enum vsock_op op)
{
	c->due |= BIT(op);
	vsock_conn_ready(c);
}

void vsock_conn_shutdown(struct vsock_conn *c, unsigned int flags)
{
	if (c->state != VSOCK_OPEN)
		return;
	c->shut_due |= (uint8_t)(flags & ~c->shut_sent);
	vsock_conn_ready(c);
}

bool vsock_conn_wants_bytes(const struct vsock_conn *c)
{
	return c->state == VSOCK_OPEN && !c->host_eof &&
	       !(c->guest_shut & VSOCK_SHUT_RCV);
}

/*
 * Level-triggered.  EPOLLIN of a connection that is known to be readable but
 * has to wait is taken away only when it fires: mostly it does not wait.
 */
void vsock_conn_watch(struct vsock_conn *c)
{
	uint32_t events = 0;

	if (vsock_conn_wants_bytes(c) && !c->readable)
		events |= EPOLLIN;
	if (c->ring.len > 0)
		events |= EPOLLOUT;
	loop_mod(&c->io, events);
}

struct vsock_conn *vsock_conn_new(struct vsock *v, int fd)
{
	struct vsock_conn *c = calloc(1, sizeof(*c));

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
	vsock_flow_window(c, VSOCK_WINDOW_MIN);
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
		vsock_conn_watch(c);
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

/* All that the guest had to say has been said. */
void vsock_conn_guest_end(struct vsock_conn *c)
{
	if (c->state == VSOCK_OPEN) {
		(void)shutdown(c->fd, SHUT_WR);
		return;
	}
	host_close(c);
	if (c->state == VSOCK_GONE)
		vsock_conn_drop(c);
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
		vsock_conn_guest_end(c);
	if (news & VSOCK_SHUT_RCV) {
		(void)shutdown(c->fd, SHUT_RD);
		c->readable = false;
		if (c->hup) {
			c->host_eof = true;
			vsock_conn_shutdown(c, VSOCK_SHUT_SEND);
		}
	}
	vsock_conn_watch(c);
}

static void packet_open(struct vsock_conn *c, const struct vsock_hdr *h)
{
	vsock_flow_credit(c, h);
	switch (le16_get(h->op)) {
	case VSOCK_OP_RW:
		vsock_flow_take(c, le32_get(h->len));
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

	if (op == VSOCK_OP_RST) {
		c->v->stats.refused++;
		vsock_conn_drop(c);
	} else if (op == VSOCK_OP_RESPONSE && c->requested) {
		vsock_flow_credit(c, h);
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
		vsock_flow_credit(c, h);
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

void vsock_conn_host_end(struct vsock_conn *c)
{
	c->readable = false;
	c->host_eof = true;
	vsock_conn_shutdown(c, VSOCK_SHUT_SEND);
	vsock_conn_watch(c);
}

/* Once the guest knows that both ways are shut, it owes us a RST. */
static void fill_shutdown(struct vsock_conn *c, struct vsock_hdr *h)
{
	c->shut_sent |= c->shut_due;
	c->shut_due = 0;
	vsock_flow_header(c, h, VSOCK_OP_SHUTDOWN, 0);
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
			vsock_flow_header(c, h, order[i], 0);
			return 0;
		}
	}
	n = vsock_flow_fill(c, h);
	if (n > 0)
		return n;
	if (c->shut_due) {
		fill_shutdown(c, h);
		return 0;
	}
	if (c->due & BIT(VSOCK_OP_CREDIT_REQUEST)) {
		vsock_flow_header(c, h, VSOCK_OP_CREDIT_REQUEST, 0);
		return 0;
	}
	if (c->due & BIT(VSOCK_OP_CREDIT_UPDATE)) {
		vsock_flow_header(c, h, VSOCK_OP_CREDIT_UPDATE, 0);
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
	if (c->due || c->shut_due || (c->readable && vsock_conn_wants_bytes(c)))
		vsock_conn_ready(c);
	return n;
}

void vsock_conn_open(struct vsock_conn *c)
{
	set_state(c, VSOCK_OPEN);
	c->v->stats.opened++;
	/* Likely: a client may send its first bytes with its CONNECT. */
	c->readable = true;
	vsock_conn_ready(c);
}

/*
 * EPOLLHUP cannot be masked, and bytes may still wait for the guest to take
 * them: so no more watching; what is there is read to its end, turn by turn.
 */
static void hang_up(struct vsock_conn *c)
{
	c->hup = true;
	loop_del(&c->io);
	vsock_flow_deafen(c);
	if (vsock_conn_wants_bytes(c))
		c->readable = true;
	else
		vsock_conn_host_end(c);
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
		vsock_flow_flush(c);
	if (events & EPOLLIN && vsock_conn_wants_bytes(c)) {
		bool waits = c->readable || vsock_flow_room(c) == 0;

		c->readable = true;
		vsock_conn_ready(c);
		/* It has to wait: or else this event would come for ever. */
		if (waits || c->v->rx_starved)
			vsock_conn_watch(c);
	}
}
