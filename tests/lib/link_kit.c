/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/link_kit.c - see link_kit.h */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/io.h"
#include "host/net/csum.h"
#include "host/net/limits.h"
#include "tests/lib/link_kit.h"

#define STEPS_MAX 100000
#define WAITS_MAX 600 /* of 100 ms */

static struct verdict judge(void *arg, const struct attempt *a)
{
	struct link_kit *k = arg;

	k->asked++;
	k->attempt = *a;
	return (struct verdict){ .how = k->how, .rule = -1, .why = "a test" };
}

static void denied(void *arg, const struct attempt *a, const struct verdict *v)
{
	struct link_kit *k = arg;

	bug_on(!v->why || !a);
	k->denied++;
}

static int take_stream(struct link_kit *k, int fd)
{
	base_closep(&k->stream);
	k->stream = fd;
	return 0;
}

static int intercept(void *arg, const struct attempt *a,
		     const struct verdict *v, int fd, int up_fd)
{
	bug_on(a->proto != NET_TCP || v->how != JUDGE_INTERCEPT);
	/* It was looked at, and somebody real is there: no more of that. */
	if (up_fd >= 0)
		(void)close(up_fd);
	return take_stream(arg, fd);
}

static int dns_stream(void *arg, int fd)
{
	return take_stream(arg, fd);
}

static void over(void *arg, int r)
{
	struct link_kit *k = arg;

	bug_on(k->over);
	k->over = true;
	k->result = r;
}

void lk_init_with(struct link_kit *k, struct net_config cfg)
{
	int sv[2];

	memset(k, 0, sizeof(*k));
	k->how = JUDGE_ALLOW;
	k->stream = -1;
	cfg.judge = judge;
	cfg.denied = denied;
	cfg.intercept = intercept;
	cfg.dns_stream = dns_stream;
	cfg.over = over;
	cfg.arg = k;
	bug_on(loop_init(&k->loop, NULL) < 0);
	bug_on(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0);
	bug_on(net_open(&k->net, &k->loop, sv[0], &cfg, NULL) < 0);
	k->link = sv[1];
}

void lk_init(struct link_kit *k)
{
	lk_init_with(k, (struct net_config){ .mtu = NET_MTU_MAX });
}

void lk_done(struct link_kit *k)
{
	net_close(&k->net);
	bug_on(loop_step(&k->loop, 0) < 0);
	loop_done(&k->loop);
	base_closep(&k->stream);
	base_closep(&k->link);
}

void lk_run(struct link_kit *k)
{
	int steps = 0;

	while (loop_step(&k->loop, 0) > 0)
		bug_on(++steps > STEPS_MAX);
}

void lk_send(struct link_kit *k, const void *frame, size_t len)
{
	static uint8_t buf[LK_FRAME_MAX];
	const size_t head = sizeof(be32) + sizeof(struct vnet_hdr);
	const be32 prefix = be32_put((uint32_t)(head - sizeof(be32) + len));

	bug_on(head + len > sizeof(buf));
	memset(buf, 0, head);
	memcpy(buf, &prefix, sizeof(prefix));
	memcpy(buf + head, frame, len);
	bug_on(io_write_full(k->link, buf, head + len) < 0);
	lk_run(k);
}

size_t lk_recv(struct link_kit *k, uint8_t buf[LK_FRAME_MAX])
{
	struct vnet_hdr vnet;
	be32 prefix;
	size_t len;
	ssize_t n;

	lk_run(k);
	n = recv(k->link, &prefix, sizeof(prefix), MSG_DONTWAIT | MSG_WAITALL);
	if (n <= 0)
		return 0;
	bug_on(n != sizeof(prefix));
	len = be32_get(prefix);
	bug_on(len < sizeof(vnet) + sizeof(struct eth_hdr) ||
	       len > NET_FRAME_MAX);
	bug_on(io_read_full(k->link, &vnet, sizeof(vnet)) != sizeof(vnet));
	len -= sizeof(vnet);
	bug_on(io_read_full(k->link, buf, len) != (ssize_t)len);
	/* All is for the guest, from the gateway. */
	bug_on(memcmp(buf, ends_guest_mac, 6) != 0 ||
	       memcmp(buf + 6, ends_gateway_mac, 6) != 0);
	return len;
}

size_t lk_wait(struct link_kit *k, uint8_t buf[LK_FRAME_MAX])
{
	size_t len = lk_recv(k, buf);

	for (int i = 0; !len; i++) {
		bug_on(i > WAITS_MAX);
		bug_on(loop_step(&k->loop, 100) < 0);
		len = lk_recv(k, buf);
	}
	return len;
}

size_t lk_eth(uint8_t *buf, uint16_t type)
{
	struct eth_hdr eth = { .type = be16_put(type) };

	memcpy(eth.dst, ends_gateway_mac, 6);
	memcpy(eth.src, ends_guest_mac, 6);
	memcpy(buf, &eth, sizeof(eth));
	return sizeof(eth);
}

void lk_csum4(uint8_t *frame)
{
	struct ip4_hdr *ip = (void *)(frame + sizeof(struct eth_hdr));

	ip->csum = be16_put(0);
	ip->csum = csum_end(csum_add(0, ip, (ip->ver_ihl & 15u) * (size_t)4));
}

size_t lk_ip4(uint8_t *buf, uint8_t proto, const struct net_addr *dst,
	      const void *l4, size_t len)
{
	struct ip4_hdr ip = { .ver_ihl = 0x45,
			      .len = be16_put((uint16_t)(sizeof(ip) + len)),
			      .ttl = 64,
			      .proto = proto };
	size_t at = lk_eth(buf, ETH_IP4);

	memcpy(ip.src, ends_guest4.b + 12, 4);
	memcpy(ip.dst, dst->b + 12, 4);
	memcpy(buf + at, &ip, sizeof(ip));
	if (len)
		memcpy(buf + at + sizeof(ip), l4, len);
	lk_csum4(buf);
	return at + sizeof(ip) + len;
}

size_t lk_ip6(uint8_t *buf, uint8_t proto, const struct net_addr *dst,
	      const void *l4, size_t len)
{
	struct ip6_hdr ip = { .ver_flow = be32_put(6u << 28),
			      .len = be16_put((uint16_t)len),
			      .next = proto,
			      .hops = proto == IP_ICMP6 ? 255 : 64 };
	size_t at = lk_eth(buf, ETH_IP6);

	memcpy(ip.src, ends_guest6.b, 16);
	memcpy(ip.dst, dst->b, 16);
	memcpy(buf + at, &ip, sizeof(ip));
	if (len)
		memcpy(buf + at + sizeof(ip), l4, len);
	return at + sizeof(ip) + len;
}

void lk_segment(struct link_kit *k, struct lk_tcp *t, uint8_t flags,
		const void *data, size_t len)
{
	static uint8_t l4[LK_FRAME_MAX], frame[LK_FRAME_MAX];
	const struct tcp_hdr h = { .sport = be16_put(t->port),
				   .dport = be16_put(t->peer_port),
				   .seq = be32_put(t->seq),
				   .ack = be32_put(t->ack),
				   .off = 5 << 4,
				   .flags = flags,
				   .window = be16_put(t->window) };

	memcpy(l4, &h, sizeof(h));
	if (len)
		memcpy(l4 + sizeof(h), data, len);
	len += sizeof(h);
	if (addr_is_v4(&t->peer))
		len = lk_ip4(frame, IP_TCP, &t->peer, l4, len);
	else
		len = lk_ip6(frame, IP_TCP, &t->peer, l4, len);
	lk_send(k, frame, len);
}

const struct tcp_hdr *lk_answer(struct link_kit *k, const struct lk_tcp *t,
				const uint8_t **ret_data, size_t *ret_len)
{
	static uint8_t frame[LK_FRAME_MAX];
	const size_t ip_len = addr_is_v4(&t->peer) ? sizeof(struct ip4_hdr)
						   : sizeof(struct ip6_hdr);
	const size_t at = sizeof(struct eth_hdr) + ip_len;
	const struct tcp_hdr *h = (const void *)(frame + at);
	size_t len = lk_recv(k, frame), head;

	if (len < at + sizeof(*h))
		return NULL;
	bug_on(be16_get(h->dport) != t->port ||
	       be16_get(h->sport) != t->peer_port);
	head = (size_t)(h->off >> 4) * 4;
	bug_on(head < sizeof(*h) || at + head > len);
	if (ret_data) {
		*ret_data = frame + at + head;
		*ret_len = len - at - head;
	}
	return h;
}

void lk_open(struct link_kit *k, struct lk_tcp *t)
{
	const struct tcp_hdr *h;

	k->how = JUDGE_INTERCEPT;
	t->window = t->window ? t->window : 65535;
	lk_segment(k, t, TCP_SYN, NULL, 0);
	h = lk_answer(k, t, NULL, NULL);
	bug_on(!h || h->flags != (TCP_SYN | TCP_ACK) ||
	       be32_get(h->ack) != t->seq + 1);
	t->seq++;
	t->ack = be32_get(h->seq) + 1;
	lk_segment(k, t, TCP_ACK, NULL, 0);
	bug_on(k->stream < 0);
}
