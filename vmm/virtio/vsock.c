/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/vsock.c - the socket device: queues and packets; vsock_conn.h */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

#include "vmm/virtio/vsock_conn.h"

#define QUEUE_MAX 128u

/* Packets of one turn of the loop, so that no guest can hold it. */
#define TX_BUDGET 256u
#define RX_BUDGET 256u

/* The rest needs descriptors too: 32 vCPUs, 64 control clients, and others. */
#define FDS_SPARE 160u
#define CONNS_MIN 8u

#define VSOCK_F_STREAM (1ull << 0)

_Static_assert(offsetof(struct vsock, vd) == 0, "vsock_of() casts");

static struct vsock *vsock_of(struct virtio_dev *vd)
{
	return container_of(vd, struct vsock, vd);
}

static struct vsock_conn **bucket(struct vsock *v, uint32_t guest_port,
				  uint32_t host_port)
{
	uint64_t h = v->mult[0] * guest_port + v->mult[1] * host_port;

	return &v->table[h >> (64 - v->table_bits)];
}

struct vsock_conn *vsock_find(struct vsock *v, uint32_t guest_port,
			      uint32_t host_port)
{
	struct vsock_conn *c = *bucket(v, guest_port, host_port);

	while (c && (c->guest_port != guest_port || c->host_port != host_port))
		c = c->hash_next;
	return c;
}

void vsock_table_add(struct vsock *v, struct vsock_conn *c)
{
	struct vsock_conn **b = bucket(v, c->guest_port, c->host_port);

	c->hash_next = *b;
	*b = c;
}

void vsock_table_del(struct vsock *v, struct vsock_conn *c)
{
	struct vsock_conn **b = bucket(v, c->guest_port, c->host_port);

	while (*b && *b != c)
		b = &(*b)->hash_next;
	if (*b)
		*b = c->hash_next;
	c->hash_next = NULL;
}

void vsock_stray(struct vsock *v, uint32_t guest_port, uint32_t host_port,
		 uint16_t type)
{
	unsigned int at = (v->stray_head + v->n_strays) % VSOCK_STRAYS_MAX;

	/*
	 * A guest that sends on and on without receive buffers loses answers.
	 * Waiting for it instead could wait for ever: it may wait for us.
	 */
	if (v->n_strays == VSOCK_STRAYS_MAX) {
		v->stats.dropped++;
		return;
	}
	v->stray[at] = (struct vsock_stray){ guest_port, host_port, type };
	v->n_strays++;
	vsock_schedule(v);
}

static void fill_stray(struct vsock *v, struct vsock_hdr *h)
{
	const struct vsock_stray *s = &v->stray[v->stray_head];

	h->src_port = le32_put(s->host_port);
	h->dst_port = le32_put(s->guest_port);
	h->type = le16_put(s->type);
	h->op = le16_put(VSOCK_OP_RST);
	v->stray_head = (v->stray_head + 1) % VSOCK_STRAYS_MAX;
	v->n_strays--;
	v->stats.resets++;
}

/* One packet into v->chain. Return: bytes of payload, -EAGAIN if no packet */
static int fill_packet(struct vsock *v, struct vsock_hdr *h)
{
	*h = (struct vsock_hdr){
		.src_cid = le64_put(VSOCK_CID_HOST),
		.dst_cid = le64_put(VSOCK_CID_GUEST),
		.type = le16_put(VSOCK_TYPE_STREAM),
	};
	if (v->n_strays) {
		fill_stray(v, h);
		return 0;
	}
	while (!list_empty(&v->ready)) {
		struct vsock_conn *c =
			list_entry(v->ready.next, struct vsock_conn, ready);
		int n;

		list_del(&c->ready);
		n = vsock_conn_fill(c, h);
		if (n >= 0)
			return n;
	}
	return -EAGAIN;
}

/* Return: 1 if a packet went out, 0 if there was none or no buffer, or error */
static int rx_packet(struct vsock *v)
{
	struct virtq *q = &v->vd.vq[VSOCK_RX];
	struct virtq_chain *c = &v->chain;
	struct vsock_hdr h;
	int r, n;

	r = virtq_pop(q, c);
	if (r == 0)
		r = virtq_arm(q) ? virtq_pop(q, c) : 0;
	if (r <= 0) {
		v->rx_starved = (r == 0);
		return r;
	}
	/* Room for the header and a byte, and nothing to read: 5.10.6.1. */
	if (c->n_out || c->in_len <= sizeof(h))
		return -EBADMSG;
	n = fill_packet(v, &h);
	if (n < 0) {
		virtq_unpop(q);
		return 0;
	}
	(void)virtq_chain_put(c, 0, &h, sizeof(h));
	r = virtq_push(q, c->head, (uint32_t)(sizeof(h) + (size_t)n));
	return r < 0 ? r : 1;
}

static bool rx_pending(const struct vsock *v)
{
	return !v->rx_starved && (v->n_strays || !list_empty(&v->ready));
}

static int rx_run(struct vsock *v)
{
	unsigned int budget = RX_BUDGET;
	int r = 0;

	while (rx_pending(v) && budget > 0) {
		r = rx_packet(v);
		if (r <= 0)
			break;
		budget--;
	}
	if (r < 0)
		return r;
	r = virtio_dev_signal(&v->vd, VSOCK_RX);
	return r < 0 ? r : rx_pending(v);
}

static void free_dead(struct vsock *v)
{
	struct list *p, *n;

	list_for_each_safe (p, n, &v->dead) {
		struct vsock_conn *c = list_entry(p, struct vsock_conn, all);

		list_del(&c->all);
		free(c);
	}
}

static void settle(struct loop_defer *d)
{
	struct vsock *v = container_of(d, struct vsock, settle);

	/*
	 * Serving the receive queue is sending what is due.  What does not fit
	 * in one turn waits for the next batch of events, not for us to be
	 * called again in this one, which a busy guest would never let end.
	 */
	v->settling = true;
	if (rx_pending(v))
		virtio_dev_serve(&v->vd, VSOCK_RX);
	free_dead(v);
	v->settling = false;
}

void vsock_schedule(struct vsock *v)
{
	if (!v->settling)
		loop_defer(v->loop, &v->settle, settle);
}

static void tx_packet(struct vsock *v, const struct vsock_hdr *h)
{
	uint32_t guest_port = le32_get(h->src_port);
	uint32_t host_port = le32_get(h->dst_port);
	unsigned int op = le16_get(h->op);
	struct vsock_conn *c;

	if (le64_get(h->src_cid) != VSOCK_CID_GUEST ||
	    le64_get(h->dst_cid) != VSOCK_CID_HOST) {
		v->stats.dropped++;
		return;
	}
	if (le16_get(h->type) != VSOCK_TYPE_STREAM) {
		/* 5.10.6.4.2: types that we do not know get a RST. */
		if (op != VSOCK_OP_RST)
			vsock_stray(v, guest_port, host_port,
				    le16_get(h->type));
		return;
	}
	c = vsock_find(v, guest_port, host_port);
	if (c && le32_get(h->len) > v->chain.out_len - sizeof(*h))
		vsock_conn_reset(c); /* it says more than there is */
	else if (c)
		vsock_conn_packet(c, h);
	else if (op == VSOCK_OP_REQUEST)
		vsock_host_dial(v, h);
	else if (op != VSOCK_OP_RST)
		vsock_stray(v, guest_port, host_port, VSOCK_TYPE_STREAM);
}

static int tx_run(struct vsock *v)
{
	struct virtq *q = &v->vd.vq[VSOCK_TX];
	struct virtq_chain *c = &v->chain;
	int r = virtq_disarm(q);

	for (unsigned int n = 0; r >= 0 && n < TX_BUDGET; n++) {
		struct vsock_hdr h;

		r = virtq_pop(q, c);
		if (r == 0) {
			r = virtq_arm(q);
			if (r <= 0)
				break;
			continue;
		}
		if (r < 0)
			return r;
		if (c->n_in || virtq_chain_get(c, 0, &h, sizeof(h)) < sizeof(h))
			return -EBADMSG;
		tx_packet(v, &h);
		r = virtq_push(q, c->head, 0);
		if (r == 0)
			r = 1; /* there may be more */
	}
	if (r < 0 || virtio_dev_signal(&v->vd, VSOCK_TX) < 0)
		return -EBADMSG;
	return r;
}

static int vsock_process(struct virtio_dev *vd, unsigned int qi)
{
	struct vsock *v = vsock_of(vd);

	switch (qi) {
	case VSOCK_RX:
		v->rx_starved = false;
		/* Only when it has run dry do we want to hear of more. */
		if (virtq_disarm(&vd->vq[qi]) < 0)
			return -EBADMSG;
		return rx_run(v);
	case VSOCK_TX:
		return tx_run(v);
	default:
		return 0; /* its buffers wait for events, of which none comes */
	}
}

/* Host clients that the guest has not heard of stay; it will yet. */
static void reset_conn(struct vsock_conn *c)
{
	if (c->state < VSOCK_REQUESTED ||
	    (c->state == VSOCK_REQUESTED && !c->requested))
		return;
	vsock_conn_guest_gone(c);
}

static void vsock_reset(struct virtio_dev *vd)
{
	struct vsock *v = vsock_of(vd);
	struct list *p, *n;

	v->n_strays = 0;
	v->rx_starved = false;
	v->rung = false;
	list_for_each_safe (p, n, &v->conns)
		reset_conn(list_entry(p, struct vsock_conn, all));
}

static void vsock_config(struct virtio_dev *vd, size_t off, uint8_t *dst,
			 size_t len)
{
	le64 guest_cid = le64_put(VSOCK_CID_GUEST);

	(void)vd;
	memcpy(dst, guest_cid.b + off, len);
}

static const struct virtio_ops vsock_ops = {
	.name = "vsock",
	.id = VIRTIO_ID_VSOCK,
	.n_queues = VSOCK_QUEUES,
	.queue_max = QUEUE_MAX,
	.features = VSOCK_F_STREAM,
	.process = vsock_process,
	.reset = vsock_reset,
	.config_len = sizeof(le64),
	.config = vsock_config,
};

static void on_timer(struct loop_timer *t)
{
	struct vsock *v = container_of(t, struct vsock, timer);
	struct list *const lists[] = { &v->hello, &v->closing };
	uint64_t now = loop_now_ns(), next = UINT64_MAX;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		while (!list_empty(lists[i])) {
			struct vsock_conn *c = list_entry(
				lists[i]->next, struct vsock_conn, wait);

			if (c->deadline_ns > now) {
				next = MIN(next, c->deadline_ns);
				break;
			}
			list_del(&c->wait);
			vsock_conn_reset(c);
		}
	}
	if (next != UINT64_MAX)
		loop_timer_set(v->loop, t, next - now, on_timer);
}

/* Each connection costs a descriptor: leave some for the rest. */
static unsigned int conns_limit(const struct vsock_config *cfg)
{
	unsigned int n = cfg->conns_max ? cfg->conns_max : VSOCK_CONNS_DEFAULT;
	rlim_t others = (rlim_t)FDS_SPARE + cfg->fds_taken;
	struct rlimit rl;

	n = MIN(n, VSOCK_CONNS_MAX);
	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		return n;
	if (rl.rlim_cur < others + CONNS_MIN)
		return MIN(n, CONNS_MIN);
	return (unsigned int)MIN((rlim_t)n, rl.rlim_cur - others);
}

static int make_table(struct vsock *v)
{
	v->table_bits = 4;
	while ((1u << v->table_bits) < v->conns_max)
		v->table_bits++;
	v->table =
		calloc((size_t)1 << v->table_bits, sizeof(struct vsock_conn *));
	if (!v->table)
		return -ENOMEM;
	/* Up to 256 bytes are never cut short. */
	if (getrandom(v->mult, sizeof(v->mult), 0) != sizeof(v->mult))
		return -errno;
	v->mult[0] |= 1;
	v->mult[1] |= 1;
	return 0;
}

static void init_fields(struct vsock *v, const struct vsock_config *cfg)
{
	struct list *const heads[] = { &v->conns, &v->dead, &v->ready,
				       &v->hello, &v->held, &v->closing };

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		list_init(heads[i]);
	v->cfg = *cfg;
	v->loop = cfg->loop;
	v->reserve_fd = -1;
	v->timer.fn = on_timer;
	v->next_port = VSOCK_PORT_FIRST;
	v->conns_max = conns_limit(cfg);
	v->guest_max = v->conns_max - v->conns_max / 4;
	if (v->cfg.pool == 0)
		v->cfg.pool = VSOCK_POOL_DEFAULT;
	v->cfg.pool = MIN(v->cfg.pool, VSOCK_POOL_MAX);
	v->pool_left = v->cfg.pool;
}

int vsock_new(const struct vsock_config *cfg, struct vsock **ret, struct err *e)
{
	struct vsock *v = calloc(1, sizeof(*v));
	int r = -ENOMEM;

	if (v)
		r = virtio_dev_init(&v->vd, &vsock_ops);
	if (r < 0) {
		free(v);
		base_closep(&cfg->listen_fd);
		base_closep(&cfg->connector_fd);
		return err_set(e, r, "vsock: %s", strerror(-r));
	}
	init_fields(v, cfg);
	r = make_table(v);
	if (r < 0)
		(void)err_set(e, r, "vsock: %s", strerror(-r));
	else
		r = vsock_host_start(v, e);
	if (r < 0) {
		vsock_free(v);
		return r;
	}
	*ret = v;
	return 0;
}

void vsock_free(struct vsock *v)
{
	struct list *p, *n;

	if (!v)
		return;
	list_for_each_safe (p, n, &v->conns)
		vsock_conn_drop(list_entry(p, struct vsock_conn, all));
	vsock_host_stop(v);
	loop_timer_cancel(&v->timer);
	loop_defer_cancel(v->loop, &v->settle);
	free_dead(v);
	free(v->table);
	virtio_dev_done(&v->vd);
	free(v);
}

bool vsock_drain(struct vsock *v)
{
	struct list *p;
	int queued = 0;

	virtio_dev_serve(&v->vd, VSOCK_TX);
	if (virtio_dev_enter(&v->vd))
		queued = virtq_waiting(&v->vd.vq[VSOCK_TX]);
	virtio_dev_leave(&v->vd);
	if (queued > 0)
		return true;
	list_for_each (p, &v->conns)
		if (list_entry(p, struct vsock_conn, all)->ring.len > 0)
			return true;
	return false;
}

struct virtio_dev *vsock_dev(struct vsock *v)
{
	return &v->vd;
}

void vsock_stats(struct vsock *v, struct vsock_stats *ret)
{
	struct list *p;

	*ret = v->stats;
	ret->n_conns = v->n_conns;
	ret->window_bytes = v->window_sum;
	ret->buffered_bytes = 0;
	list_for_each (p, &v->conns)
		ret->buffered_bytes +=
			list_entry(p, struct vsock_conn, all)->ring.len;
}
