/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/fake_vsock.c - see fake_vsock.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/unix.h"
#include "tests/lib/fake_vsock.h"

#define RX 0u
#define TX 1u

/* Receive buffers, then one buffer to send from. */
#define RX_BUF(i) (FG_DATA + (i)*FV_RX_LEN)
#define TX_BUF    RX_BUF(FV_QUEUE)

static void on_bell(void *ctx)
{
	struct fake_vsock *f = ctx;

	f->bells++;
}

/* Autobind: an abstract name of the kernel's choice. */
static int listen_anywhere(struct fake_vsock *f)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	bug_on(fd < 0);
	f->addr.sun_family = AF_UNIX;
	bug_on(bind(fd, (struct sockaddr *)&f->addr, sizeof(sa_family_t)));
	f->addr_len = sizeof(f->addr);
	bug_on(getsockname(fd, (struct sockaddr *)&f->addr, &f->addr_len));
	bug_on(listen(fd, 1024));
	return fd;
}

void fv_init(struct fake_vsock *f, const struct vsock_config *cfg)
{
	struct vsock_config c = *cfg;
	struct err e = { 0 };
	int sv[2];

	memset(f, 0, sizeof(*f));
	fake_guest_init(&f->g, FG_LEN, FV_QUEUE);
	bug_on(loop_init(&f->loop, &e) < 0);
	bug_on(irq_init(&f->irq, &e) < 0);
	bug_on(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv));
	f->connector = sv[0];
	c.loop = &f->loop;
	c.listen_fd = listen_anywhere(f);
	c.connector_fd = sv[1];
	c.bell = on_bell;
	c.ctx = f;
	bug_on(vsock_new(&c, &f->v, &e) < 0);
	bug_on(virtio_mmio_init(&f->mmio, vsock_dev(f->v), &f->g.mem, &f->irq,
				&e) < 0);
	bug_on(virtio_mmio_start(&f->mmio, &f->loop, &e) < 0);
	f->g.mmio = &f->mmio;
	f->rx_max = FV_QUEUE;
}

void fv_done(struct fake_vsock *f)
{
	virtio_mmio_done(&f->mmio);
	vsock_free(f->v);
	base_closep(&f->connector);
	irq_done(&f->irq);
	loop_done(&f->loop);
	fake_guest_done(&f->g);
}

static void put_desc(struct fake_vsock *f, unsigned int qi, unsigned int i,
		     uint64_t addr, uint32_t len)
{
	struct virtq_desc d = {
		.addr = le64_put(addr),
		.len = le32_put(len),
		.flags = le16_put(qi == RX ? VIRTQ_DESC_F_WRITE : 0),
	};

	fake_guest_table(&f->g, FG_DESC(qi), i, &d);
}

/* Notify always: what the device asked for is test_virtq.c's business. */
static void fill_rx(struct fake_vsock *f)
{
	unsigned int before = f->rx_out;

	while (f->rx_out < f->rx_max && f->n_free > 0) {
		uint16_t i = f->rx_free[--f->n_free];

		put_desc(f, RX, i, RX_BUF(i), FV_RX_LEN);
		fake_guest_offer(&f->g, RX, i);
		f->rx_out++;
	}
	if (f->rx_out != before)
		fake_guest_set(&f->g, VIRTIO_MMIO_NOTIFY, RX);
}

void fv_boot(struct fake_vsock *f)
{
	fake_guest_boot(&f->g, FV_FEATURES);
	bug_on(fake_guest_reg(&f->g, 0x070) != 0xf);
	f->rx_out = 0;
	f->n_free = FV_QUEUE;
	for (unsigned int i = 0; i < FV_QUEUE; i++)
		f->rx_free[i] = (uint16_t)(FV_QUEUE - 1 - i);
	fill_rx(f);
	fv_run(f);
}

void fv_run(struct fake_vsock *f)
{
	int r;

	do
		r = loop_step(&f->loop, 0);
	while (r > 0);
	bug_on(r < 0);
}

bool fv_recv(struct fake_vsock *f, struct fv_packet *p)
{
	const struct vsock_hdr *h;
	uint32_t id, len;
	const uint8_t *b;

	if (!fake_guest_used(&f->g, RX, &id, &len)) {
		fill_rx(f);
		fv_run(f);
		if (!fake_guest_used(&f->g, RX, &id, &len))
			return false;
	}
	bug_on(id >= FV_QUEUE || len < VSOCK_HDR_LEN || len > FV_RX_LEN);
	b = fake_guest_at(&f->g, RX_BUF(id), len);
	h = (const struct vsock_hdr *)(const void *)b;
	bug_on(le64_get(h->src_cid) != VSOCK_CID_HOST);
	bug_on(le64_get(h->dst_cid) != VSOCK_CID_GUEST);
	bug_on(le32_get(h->len) != len - VSOCK_HDR_LEN);
	*p = (struct fv_packet){
		.guest_port = le32_get(h->dst_port),
		.host_port = le32_get(h->src_port),
		.op = le16_get(h->op),
		.type = le16_get(h->type),
		.flags = le32_get(h->flags),
		.buf_alloc = le32_get(h->buf_alloc),
		.fwd_cnt = le32_get(h->fwd_cnt),
		.len = len - VSOCK_HDR_LEN,
	};
	memcpy(p->data, b + VSOCK_HDR_LEN, p->len);
	f->rx_free[f->n_free++] = (uint16_t)id;
	f->rx_out--;
	return true;
}

void fv_expect(struct fake_vsock *f, struct fv_packet *p, unsigned int op)
{
	if (!fv_recv(f, p)) {
		(void)fprintf(stderr, "no packet, op %u expected\n", op);
		bug_on(1);
	}
	if (p->op != op) {
		(void)fprintf(stderr, "op %u, %u expected\n", p->op, op);
		bug_on(1);
	}
}

void fv_send_raw(struct fake_vsock *f, const struct vsock_hdr *h,
		 const void *data, uint32_t payload)
{
	uint16_t at = (uint16_t)(f->g.q[TX].avail_idx % FV_QUEUE);
	uint32_t id, len;

	bug_on(payload > FV_TX_MAX);
	memcpy(fake_guest_at(&f->g, TX_BUF, sizeof(*h)), h, sizeof(*h));
	if (payload)
		memcpy(fake_guest_at(&f->g, TX_BUF + sizeof(*h), payload), data,
		       payload);
	put_desc(f, TX, at, TX_BUF, VSOCK_HDR_LEN + payload);
	fake_guest_offer(&f->g, TX, at);
	fake_guest_set(&f->g, VIRTIO_MMIO_NOTIFY, TX);
	fv_run(f);
	while (fake_guest_used(&f->g, TX, &id, &len))
		bug_on(len != 0);
}

static struct vsock_hdr header(const struct fv_conn *c, unsigned int op,
			       uint32_t len)
{
	return (struct vsock_hdr){
		.src_cid = le64_put(VSOCK_CID_GUEST),
		.dst_cid = le64_put(VSOCK_CID_HOST),
		.src_port = le32_put(c->guest_port),
		.dst_port = le32_put(c->host_port),
		.len = le32_put(len),
		.type = le16_put(VSOCK_TYPE_STREAM),
		.op = le16_put((uint16_t)op),
		.buf_alloc = le32_put(c->buf_alloc),
		.fwd_cnt = le32_put(c->fwd_cnt),
	};
}

void fv_send(struct fake_vsock *f, struct fv_conn *c, unsigned int op,
	     const void *data, uint32_t len)
{
	struct vsock_hdr h = header(c, op, len);

	c->tx_cnt += len;
	fv_send_raw(f, &h, data, len);
}

void fv_shutdown(struct fake_vsock *f, struct fv_conn *c, uint32_t flags)
{
	struct vsock_hdr h = header(c, VSOCK_OP_SHUTDOWN, 0);

	h.flags = le32_put(flags);
	fv_send_raw(f, &h, NULL, 0);
}

uint32_t fv_credit(const struct fv_conn *c)
{
	return c->peer_alloc - (c->tx_cnt - c->peer_fwd);
}

void fv_note(struct fv_conn *c, const struct fv_packet *p)
{
	c->peer_alloc = p->buf_alloc;
	c->peer_fwd = p->fwd_cnt;
	/* A driver subtracts these two: if it wrapped, all credit is off. */
	bug_on(c->tx_cnt - c->peer_fwd > c->peer_alloc);
}

int fv_client(struct fake_vsock *f)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	bug_on(fd < 0);
	bug_on(connect(fd, (struct sockaddr *)&f->addr, f->addr_len));
	return fd;
}

int fv_connect(struct fake_vsock *f, uint32_t port, struct fv_conn *c)
{
	char line[32], want[32];
	int fd = fv_client(f);
	struct fv_packet p;
	int n;

	n = snprintf(line, sizeof(line), "CONNECT %u\n", port);
	bug_on(send(fd, line, (size_t)n, 0) != n);
	fv_run(f);
	fv_expect(f, &p, VSOCK_OP_REQUEST);
	*c = (struct fv_conn){
		.guest_port = p.guest_port,
		.host_port = p.host_port,
		.buf_alloc = 256u << 10,
	};
	fv_note(c, &p);
	fv_send(f, c, VSOCK_OP_RESPONSE, NULL, 0);
	n = snprintf(want, sizeof(want), "OK %u\n", c->host_port);
	bug_on(recv(fd, line, (size_t)n, MSG_WAITALL | MSG_DONTWAIT) != n);
	bug_on(memcmp(line, want, (size_t)n) != 0);
	return fd;
}

void fv_call(struct fake_vsock *f, struct fv_conn *c, uint32_t guest_port,
	     uint32_t port, int *ret)
{
	le32 answer[2] = { le32_put(port), le32_put(0) };
	struct fv_packet p;
	le32 asked;
	int sv[2];

	*c = (struct fv_conn){
		.guest_port = guest_port,
		.host_port = port,
		.buf_alloc = 256u << 10,
	};
	fv_send(f, c, VSOCK_OP_REQUEST, NULL, 0);
	bug_on(recv(f->connector, &asked, sizeof(asked), MSG_DONTWAIT) !=
	       sizeof(asked));
	bug_on(le32_get(asked) != port);
	bug_on(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv));
	bug_on(unix_send_fds(f->connector, answer, sizeof(answer), &sv[1], 1) !=
	       sizeof(answer));
	(void)close(sv[1]);
	fv_run(f);
	fv_expect(f, &p, VSOCK_OP_RESPONSE);
	bug_on(p.guest_port != guest_port || p.host_port != port);
	fv_note(c, &p);
	*ret = sv[0];
}

struct vsock_hdr fv_packet(uint32_t guest_port, uint32_t host_port,
			   unsigned int op)
{
	struct fv_conn c = {
		.guest_port = guest_port,
		.host_port = host_port,
		.buf_alloc = 65536,
	};

	return header(&c, op, 0);
}

struct vsock_stats fv_stats(struct fake_vsock *f)
{
	struct vsock_stats s;

	vsock_stats(f->v, &s);
	return s;
}

int fv_say(struct fake_vsock *f, const char *text)
{
	ssize_t len = (ssize_t)strlen(text);
	int fd = fv_client(f);

	bug_on(send(fd, text, (size_t)len, 0) != len);
	fv_run(f);
	return fd;
}

bool fv_closed(int fd)
{
	char b;
	ssize_t n = recv(fd, &b, 1, MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno == ECONNRESET);
}

bool fv_waiting(int fd)
{
	char b;

	return recv(fd, &b, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

void fv_starve(struct fake_vsock *f, struct fv_conn *c, unsigned int n)
{
	struct fv_packet p;

	f->rx_max = n;
	while (f->rx_out > n) {
		fv_send(f, c, VSOCK_OP_CREDIT_REQUEST, NULL, 0);
		bug_on(!fv_recv(f, &p));
	}
}
