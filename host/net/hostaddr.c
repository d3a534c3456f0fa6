/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/hostaddr.c - see hostaddr.h; rtnetlink(7) */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "common/rd.h"
#include "host/net/hostaddr.h"

#define BUFFER_MAX 32768u
#define READS_MAX  10000

/* What this system's headers may be too old to name, or keep to themselves. */
#define NETLINK_LEVEL  270 /* SOL_NETLINK */
#define NETLINK_STRICT 12  /* NETLINK_GET_STRICT_CHK */

int hostaddr_open(struct hostaddr *h, struct err *e)
{
	const struct sockaddr_nl all = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR |
			     RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE,
	};
	const int on = 1;

	memset(h, 0, sizeof(*h));
	h->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       NETLINK_ROUTE);
	if (h->fd < 0 ||
	    bind(h->fd, (const struct sockaddr *)&all, sizeof(all)) < 0) {
		int r = -errno;

		hostaddr_close(h);
		return err_set(e, r, "cannot watch the host's addresses: %s",
			       strerror(-r));
	}
	/* Before Linux 4.20 all tables come, of which ours is picked. */
	(void)setsockopt(h->fd, NETLINK_LEVEL, NETLINK_STRICT, &on, sizeof(on));
	return 0;
}

/** struct request - Of a list; what is behind the header depends on its type */
struct request {
	struct nlmsghdr head;
	union {
		struct ifaddrmsg addr;
		struct rtmsg route;
	} body;
};

/* Return: 0, or -errno and no list is under way */
static int ask(struct hostaddr *h, enum hostaddr_state what)
{
	const size_t len = what == HOSTADDR_ADDRS ? sizeof(struct ifaddrmsg)
						  : sizeof(struct rtmsg);
	struct request req = {
		.head = { .nlmsg_len = (uint32_t)NLMSG_LENGTH(len),
			  .nlmsg_type = what == HOSTADDR_ADDRS ? RTM_GETADDR
							       : RTM_GETROUTE,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			  .nlmsg_seq = ++h->seq },
	};

	if (what == HOSTADDR_ROUTES)
		req.body.route.rtm_table = RT_TABLE_LOCAL;
	h->state = what;
	if (send(h->fd, &req, req.head.nlmsg_len, 0) >= 0)
		return 0;
	h->state = HOSTADDR_IDLE;
	return -errno;
}

static int ask_all(struct hostaddr *h)
{
	locals_clear(&h->list);
	h->bad = 0;
	h->stale = false;
	return ask(h, HOSTADDR_ADDRS);
}

/* Each header says how long it and what follows are; the rest is padding. */
static const void *piece(struct rd *rd, size_t head, size_t len)
{
	const void *p = len < head ? NULL : rd_bytes(rd, len - head);

	(void)rd_bytes(rd, MIN(rd->left, NLMSG_ALIGN(len) - len));
	return p;
}

/* Return: the value of the last attribute @want, or NULL */
static const void *find(struct rd rd, unsigned int want, size_t *ret_len)
{
	const void *found = NULL;
	struct rtattr attr;

	while (rd.left >= sizeof(attr)) {
		const void *p;

		memcpy(&attr, rd_bytes(&rd, sizeof(attr)), sizeof(attr));
		p = piece(&rd, sizeof(attr), attr.rta_len);
		if (!p || attr.rta_type != want)
			continue;
		found = p;
		*ret_len = attr.rta_len - sizeof(attr);
	}
	return found;
}

/* @bits of @len bytes, which are an address of one family or the other. */
static int add(struct hostaddr *h, const void *at, size_t len,
	       unsigned int bits)
{
	struct net_addr a;

	if (len == 4)
		a = addr_v4(at);
	else if (len == sizeof(a.b))
		memcpy(a.b, at, len);
	else
		return 0;
	return locals_add(&h->list, &a, bits + 128 - (unsigned int)len * 8);
}

/* On a link with a peer IFA_ADDRESS is the other's. */
static int take_addr(struct hostaddr *h, struct rd rd)
{
	size_t len = 0;
	const void *local;

	(void)rd_bytes(&rd, sizeof(struct ifaddrmsg));
	local = find(rd, IFA_LOCAL, &len);
	if (!local)
		local = find(rd, IFA_ADDRESS, &len);
	return local ? add(h, local, len, (unsigned int)len * 8) : 0;
}

/* Of other tables only what has a mark, or a rule of its own, comes here. */
static bool is_ours(struct rd rd, struct rtmsg *ret)
{
	const void *p = rd_bytes(&rd, sizeof(*ret));

	if (!p)
		return false;
	memcpy(ret, p, sizeof(*ret));
	return ret->rtm_table == RT_TABLE_LOCAL &&
	       (ret->rtm_family == AF_INET || ret->rtm_family == AF_INET6) &&
	       (ret->rtm_type == RTN_LOCAL || ret->rtm_type == RTN_ANYCAST ||
		ret->rtm_type == RTN_BROADCAST);
}

static int take_route(struct hostaddr *h, struct rd rd)
{
	static const uint8_t all[16];
	struct rtmsg m;
	const void *dst;
	size_t len;

	if (!is_ours(rd, &m))
		return 0;
	len = m.rtm_family == AF_INET ? 4 : sizeof(all);
	(void)rd_bytes(&rd, sizeof(m));
	dst = find(rd, RTA_DST, &len);
	return add(h, dst ? dst : all, len, m.rtm_dst_len);
}

/* What has changed, of what is listed here. */
static bool is_news(const struct nlmsghdr *m, struct rd body)
{
	struct rtmsg route;

	if (m->nlmsg_type == RTM_NEWADDR || m->nlmsg_type == RTM_DELADDR)
		return true;
	return (m->nlmsg_type == RTM_NEWROUTE ||
		m->nlmsg_type == RTM_DELROUTE) &&
	       is_ours(body, &route);
}

static void spoil(struct hostaddr *h, int r)
{
	if (r < 0 && h->bad == 0)
		h->bad = r;
}

/* Something of a list that was asked for. */
static void take(struct hostaddr *h, const struct nlmsghdr *m, struct rd body)
{
	/* It changed while it was read: the kernel tells, and so do the news. */
	if (m->nlmsg_flags & NLM_F_DUMP_INTR)
		h->stale = true;
	if (h->bad < 0)
		return;
	if (m->nlmsg_type == RTM_NEWADDR && h->state == HOSTADDR_ADDRS)
		spoil(h, take_addr(h, body));
	else if (m->nlmsg_type == RTM_NEWROUTE && h->state == HOSTADDR_ROUTES)
		spoil(h, take_route(h, body));
}

/* Return: whether both lists are complete, or as complete as they get */
static bool list_over(struct hostaddr *h, const struct nlmsghdr *m,
		      struct rd body)
{
	const bool addrs = h->state == HOSTADDR_ADDRS;
	const void *p = rd_bytes(&body, sizeof(int));
	int r = 0;

	/* Either begins with an errno, that of success being 0. */
	if (p)
		memcpy(&r, p, sizeof(r));
	if (r < 0 || m->nlmsg_type == NLMSG_ERROR)
		spoil(h, -EIO);
	h->state = HOSTADDR_IDLE;
	if (addrs && h->bad == 0)
		spoil(h, ask(h, HOSTADDR_ROUTES));
	return h->state == HOSTADDR_IDLE;
}

/* Return: as list_over() */
static bool message(struct hostaddr *h, const struct nlmsghdr *m,
		    struct rd body)
{
	const bool asked = h->state != HOSTADDR_IDLE && m->nlmsg_seq == h->seq;

	if (asked &&
	    (m->nlmsg_type == NLMSG_DONE || m->nlmsg_type == NLMSG_ERROR))
		return list_over(h, m, body);
	/* News have a number of somebody else's, and are no part of a list. */
	if (asked && (m->nlmsg_flags & NLM_F_MULTI))
		take(h, m, body);
	else if (is_news(m, body))
		h->stale = true;
	return false;
}

/* Return: 1: the lists are over; 0: not yet, or nothing is there; or -errno */
static int receive(struct hostaddr *h)
{
	uint8_t buf[BUFFER_MAX];
	struct nlmsghdr head;
	bool over = false;
	struct rd rd;
	ssize_t n;

	n = recv(h->fd, buf, sizeof(buf), MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	rd = rd_init(buf, (size_t)n);
	while (rd.left >= sizeof(head)) {
		const void *body;

		memcpy(&head, rd_bytes(&rd, sizeof(head)), sizeof(head));
		body = piece(&rd, sizeof(head), head.nlmsg_len);
		if (!body)
			return -EBADMSG;
		over |= message(h, &head,
				rd_init(body, head.nlmsg_len - sizeof(head)));
	}
	return over;
}

/*
 * An error is of what was in the way, news or list: all of it is asked for, once
 * the list that is under way is over, as there can be but one.
 */
static void on_io(struct loop_io *io, uint32_t events)
{
	struct hostaddr *h = container_of(io, struct hostaddr, io);
	int r = receive(h);

	(void)events;
	if (r < 0)
		h->stale = true;
	if (r > 0)
		h->fn(h, h->bad);
	if (h->state != HOSTADDR_IDLE || !h->stale)
		return;
	r = ask_all(h);
	if (r < 0)
		h->fn(h, r);
}

int hostaddr_watch(struct hostaddr *h, struct loop *l, hostaddr_fn *fn,
		   struct err *e)
{
	int r = ask_all(h);

	h->fn = fn;
	/* The kernel composes a list while it is read: it is there. */
	for (int i = 0; r == 0; i++)
		r = i < READS_MAX ? receive(h) : -EIO;
	if (r > 0)
		r = h->bad;
	/* Not for ever: when there are fewer, it is told. */
	if (r == 0 || r == -E2BIG) {
		fn(h, r);
		r = loop_add(l, &h->io, h->fd, EPOLLIN, on_io);
	}
	if (r < 0)
		return err_set(e, r, "cannot list the host's addresses: %s",
			       strerror(-r));
	return 0;
}

void hostaddr_close(struct hostaddr *h)
{
	loop_del(&h->io);
	drop_fd(&h->fd);
	h->fd = -1;
	locals_clear(&h->list);
}
