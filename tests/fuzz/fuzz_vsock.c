/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_vsock.c - the input is what guest and hosts do, in turn
 *
 * Records of an action and its few bytes; see act().  After each one the
 * device must have kept its books: no more memory promised than the pool has,
 * no more held than promised, and nothing that spins.
 */
#include <errno.h>
#include <string.h>

#include "common/rd.h"
#include "common/unix.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/fake_vsock.h"
#include "vmm/virtio/vsock_conn.h"

#define CLIENTS   6u
#define CONNS_MAX 12u
#define POOL      65536u
#define STEPS_MAX 2000
#define FILL_MAX  20000u

enum action {
	GUEST_PACKET, /* fields made of few bytes, so that they often fit */
	GUEST_RAW,    /* a header as it stands in the input */
	GUEST_CHAIN,  /* a chain of any two descriptors, any queue */
	GUEST_TAKE,   /* take packets, give buffers back */
	GUEST_STARVE, /* how many buffers there are from now on */
	GUEST_BOOT,
	HOST_CLIENT, /* a new one says something */
	HOST_SEND,
	HOST_READ,
	HOST_SHUT,
	HOST_CLOSE,
	CONNECTOR, /* answers: a socket, an error, nonsense */
	TIMEOUT,
	N_ACTIONS
};

/**
 * struct world - The device and those around it
 * @client:	Host clients and sockets that the connector made, -1 for none
 */
struct world {
	struct fake_vsock f;
	int client[CLIENTS];
};

static void check_conn(struct vsock *v, struct vsock_conn *c)
{
	bug_on(c->dead);
	bug_on(c->recv_cnt - c->fwd_cnt != c->ring.len);
	bug_on(c->ring.len > c->window);
	bug_on(c->window < VSOCK_WINDOW_MIN || c->window > VSOCK_WINDOW_MAX);
	bug_on(c->fd >= 0 && !c->hup && !c->io.loop);
	bug_on(c->fd < 0 && c->ring.len);
	bug_on(c->state == VSOCK_GONE && c->fd < 0);
	bug_on(c->state >= VSOCK_REQUESTED && c->state < VSOCK_GONE &&
	       vsock_find(v, c->guest_port, c->host_port) != c);
	/* What the guest was promised stands. */
	bug_on(c->state == VSOCK_OPEN &&
	       c->told_fwd + c->told_window - c->recv_cnt > c->window);
}

static void check(struct world *w)
{
	struct vsock *v = w->f.v;
	uint64_t windows = 0;
	unsigned int n = 0, open = 0;
	struct list *p;

	list_for_each (p, &v->conns) {
		struct vsock_conn *c = list_entry(p, struct vsock_conn, all);

		check_conn(v, c);
		windows += c->window;
		open += c->state == VSOCK_OPEN;
		n++;
	}
	bug_on(n != v->n_conns || n > v->conns_max);
	bug_on(open != v->n_open);
	bug_on(windows != v->window_sum);
	bug_on(windows !=
	       n * (uint64_t)VSOCK_WINDOW_MIN + (v->cfg.pool - v->pool_left));
	bug_on(!list_empty(&v->dead));
	bug_on(v->n_held > VSOCK_HELD_MAX || v->n_guest > v->guest_max);
	bug_on(v->n_dials > VSOCK_DIALS_MAX || v->n_strays > VSOCK_STRAYS_MAX);
}

static void run(struct world *w)
{
	int steps = 0;

	while (loop_step(&w->f.loop, 0) > 0)
		bug_on(++steps > STEPS_MAX);
}

static const uint8_t *fill(void)
{
	static uint8_t bytes[FILL_MAX];

	return bytes;
}

/* Ports of a small world; host ports as the device gives them out. */
static struct fv_conn pick_conn(struct rd *rd)
{
	uint8_t port = rd_u8(rd);
	struct fv_conn c = {
		.guest_port = port & 3u,
		.host_port = (port >> 2) & 15u,
		.buf_alloc = 1u << (rd_u8(rd) & 31),
		.fwd_cnt = rd_le16(rd),
	};

	if (port & 0x40)
		c.host_port += VSOCK_PORT_FIRST;
	if (port & 0x80)
		c.host_port = 1001;
	return c;
}

static void guest_packet(struct world *w, struct rd *rd)
{
	struct fv_conn c = pick_conn(rd);
	unsigned int op = rd_u8(rd) % 9;
	uint32_t len = rd_le16(rd) % FILL_MAX;

	if (op == VSOCK_OP_SHUTDOWN)
		fv_shutdown(&w->f, &c, len & 7);
	else
		fv_send(&w->f, &c, op, fill(),
			op == VSOCK_OP_RW ? len : len & 7);
}

static void guest_raw(struct world *w, struct rd *rd)
{
	const struct vsock_hdr *h = rd_bytes(rd, sizeof(*h));
	uint32_t len = rd_u8(rd);

	if (h)
		fv_send_raw(&w->f, h, fill(), len);
}

static void guest_chain(struct world *w, struct rd *rd)
{
	const struct virtq_desc *d = rd_bytes(rd, 2 * sizeof(*d));
	unsigned int qi = rd_u8(rd) % FG_QUEUES;

	if (!d)
		return;
	fake_guest_table(&w->f.g, FG_DESC(qi), 0, &d[0]);
	fake_guest_table(&w->f.g, FG_DESC(qi), 1, &d[1]);
	fake_guest_offer(&w->f.g, qi, 0);
	fake_guest_set(&w->f.g, VIRTIO_MMIO_NOTIFY, qi);
}

/* Receive descriptors may be such as the input made: take none of those. */
static void guest_take(struct world *w, struct rd *rd)
{
	unsigned int n = rd_u8(rd);
	uint32_t id, len;

	while (n-- > 0 && fake_guest_used(&w->f.g, 0, &id, &len)) {
		bug_on(len > FG_LEN);
		fake_guest_offer(&w->f.g, 0, (uint16_t)id);
	}
	fake_guest_set(&w->f.g, VIRTIO_MMIO_NOTIFY, 0);
}

static void guest_boot(struct world *w)
{
	w->f.rx_max = FV_QUEUE;
	fv_boot(&w->f);
}

static void host_client(struct world *w, struct rd *rd)
{
	static const char *const lines[] = {
		"CONNECT 1\n", "CONNECT 2\nmore", "CONNECT 1000\n", "CONN", "",
	};
	unsigned int i = rd_u8(rd) % CLIENTS, n = rd_u8(rd);
	const void *text = NULL;

	base_closep(&w->client[i]);
	w->client[i] = fv_client(&w->f);
	if (n < ARRAY_LEN(lines)) {
		text = lines[n];
		n = (unsigned int)strlen(lines[n]);
	} else {
		text = rd_bytes(rd, n);
	}
	if (text)
		(void)send(w->client[i], text, n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void host_socket(struct world *w, struct rd *rd, enum action action)
{
	static uint8_t buf[FILL_MAX];
	unsigned int i = rd_u8(rd) % CLIENTS;
	size_t n = rd_le16(rd) % FILL_MAX;
	int *fd = &w->client[i];

	if (*fd < 0)
		return;
	if (action == HOST_SEND) {
		(void)send(*fd, fill(), n, MSG_DONTWAIT | MSG_NOSIGNAL);
	} else if (action == HOST_READ) {
		(void)recv(*fd, buf, n, MSG_DONTWAIT);
	} else if (action == HOST_SHUT) {
		(void)shutdown(*fd, (int)(n % 3));
	} else {
		(void)close(*fd);
		*fd = -1;
	}
}

static void connector(struct world *w, struct rd *rd)
{
	unsigned int how = rd_u8(rd), i = rd_u8(rd) % CLIENTS;
	le32 answer[2] = { le32_put(how), le32_put(how & 1) };
	ssize_t r;
	int sv[2];

	if (how == 0xff) {
		(void)shutdown(w->f.connector, SHUT_RDWR);
		return;
	}
	bug_on(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv));
	/* Nonsense: too short, or a failure with a socket. Nobody may be there. */
	r = unix_send_fds(w->f.connector, answer, how & 4 ? 7 : 8, &sv[1],
			  (how & 1) == (how >> 1 & 1) ? 1 : 0);
	bug_on(r > 8);
	(void)close(sv[1]);
	base_closep(&w->client[i]);
	w->client[i] = sv[0];
}

static void time_out(struct world *w)
{
	struct vsock *v = w->f.v;
	struct list *p;

	list_for_each (p, &v->conns)
		list_entry(p, struct vsock_conn, all)->deadline_ns = 0;
	v->timer.fn(&v->timer);
}

static void act(struct world *w, struct rd *rd, enum action action)
{
	switch (action) {
	case GUEST_PACKET:
		guest_packet(w, rd);
		break;
	case GUEST_RAW:
		guest_raw(w, rd);
		break;
	case GUEST_CHAIN:
		guest_chain(w, rd);
		break;
	case GUEST_TAKE:
		guest_take(w, rd);
		break;
	case GUEST_STARVE:
		w->f.rx_max = rd_u8(rd) % FV_QUEUE;
		break;
	case GUEST_BOOT:
		guest_boot(w);
		break;
	case HOST_CLIENT:
		host_client(w, rd);
		break;
	case CONNECTOR:
		connector(w, rd);
		break;
	case TIMEOUT:
		time_out(w);
		break;
	default:
		host_socket(w, rd, action);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rd rd = rd_init(data, len);
	struct world w;

	fv_init(&w.f, &(struct vsock_config){ .conns_max = CONNS_MAX,
					      .pool = POOL,
					      .hold_port = 1000,
					      .bell_port = 1001 });
	for (unsigned int i = 0; i < CLIENTS; i++)
		w.client[i] = -1;
	guest_boot(&w);
	while (rd.left > 0 && !rd.bad) {
		act(&w, &rd, rd_u8(&rd) % N_ACTIONS);
		run(&w);
		check(&w);
	}
	for (unsigned int i = 0; i < CLIENTS; i++)
		base_closep(&w.client[i]);
	run(&w);
	check(&w);
	fv_done(&w.f);
	return 0;
}
