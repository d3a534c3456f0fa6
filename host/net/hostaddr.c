/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/hostaddr.c - see hostaddr.h; rtnetlink(7) */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "common/rd.h"
#include "host/net/hostaddr.h"

#define BUFFER_MAX 32768u
#define READS_MAX  100

int hostaddr_open(struct hostaddr *h, struct err *e)
{
	const struct sockaddr_nl all = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};

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
	return 0;
}

static int ask(struct hostaddr *h)
{
	const struct {
		struct nlmsghdr head;
		struct ifaddrmsg msg;
	} req = {
		.head = { .nlmsg_len = sizeof(req),
			  .nlmsg_type = RTM_GETADDR,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.msg = { .ifa_family = AF_UNSPEC },
	};

	h->n = 0;
	h->listing = true;
	h->stale = false;
	return send(h->fd, &req, sizeof(req), 0) < 0 ? -errno : 0;
}

/* Each header says how long it and what follows are; the rest is padding. */
static const void *piece(struct rd *rd, size_t head, size_t len)
{
	const void *p = len < head ? NULL : rd_bytes(rd, len - head);

	(void)rd_bytes(rd, MIN(rd->left, NLMSG_ALIGN(len) - len));
	return p;
}

/* On a link with a peer IFA_ADDRESS is the other's. */
static const void *find_local(struct rd *rd, size_t *ret_len)
{
	const void *found = NULL;
	struct rtattr attr;

	while (rd->left >= sizeof(attr)) {
		const void *p;

		memcpy(&attr, rd_bytes(rd, sizeof(attr)), sizeof(attr));
		p = piece(rd, sizeof(attr), attr.rta_len);
		if (!p || (attr.rta_type != IFA_LOCAL &&
			   (attr.rta_type != IFA_ADDRESS || found)))
			continue;
		found = p;
		*ret_len = attr.rta_len - sizeof(attr);
	}
	return found;
}

static int take_addr(struct hostaddr *h, struct rd rd)
{
	size_t len = 0;
	const void *local;

	(void)rd_bytes(&rd, sizeof(struct ifaddrmsg));
	local = find_local(&rd, &len);
	if (!local)
		return 0;
	if (h->n == PINS_LOCAL_MAX)
		return -E2BIG;
	if (len == 4)
		h->addr[h->n++] = addr_v4(local);
	else if (len == sizeof(h->addr[0].b))
		memcpy(h->addr[h->n++].b, local, len);
	return 0;
}

/* Return: 1: a list is complete; 0; or -errno */
static int take(struct hostaddr *h, const struct nlmsghdr *m, struct rd body)
{
	switch (m->nlmsg_type) {
	case NLMSG_DONE:
		h->listing = false;
		return 1;
	case NLMSG_ERROR:
		return -EIO;
	case RTM_NEWADDR:
		/* Part of a list, or news: those have no number of ours. */
		if (h->listing && (m->nlmsg_flags & NLM_F_MULTI))
			return take_addr(h, body);
		h->stale = true;
		return 0;
	case RTM_DELADDR:
		h->stale = true;
		return 0;
	default:
		return 0;
	}
}

/* Return: 1: a list is complete; 0: nothing more for now; or -errno */
static int receive(struct hostaddr *h)
{
	uint8_t buf[BUFFER_MAX];
	struct nlmsghdr head;
	struct rd rd;
	ssize_t n;
	int r = 0;

	n = recv(h->fd, buf, sizeof(buf), MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	rd = rd_init(buf, (size_t)n);
	while (r == 0 && rd.left >= sizeof(head)) {
		const void *body;

		memcpy(&head, rd_bytes(&rd, sizeof(head)), sizeof(head));
		body = piece(&rd, sizeof(head), head.nlmsg_len);
		r = body ? take(h, &head,
				rd_init(body, head.nlmsg_len - sizeof(head)))
			 : -EBADMSG;
	}
	return r;
}

static void on_io(struct loop_io *io, uint32_t events)
{
	struct hostaddr *h = container_of(io, struct hostaddr, io);
	int r = receive(h);

	(void)events;
	if (r > 0)
		h->fn(h, 0);
	/* News were lost, or the list was cut: ask for all of it. */
	if (r < 0)
		h->stale = true;
	if (r == -ENOBUFS || (h->stale && !h->listing))
		r = ask(h);
	if (r < 0)
		h->fn(h, r);
}

int hostaddr_watch(struct hostaddr *h, struct loop *l, hostaddr_fn *fn,
		   struct err *e)
{
	int r = ask(h);

	h->fn = fn;
	/* The kernel composes a list while it is read: it is there. */
	for (int i = 0; r == 0; i++)
		r = i < READS_MAX ? receive(h) : -EIO;
	if (r > 0)
		r = loop_add(l, &h->io, h->fd, EPOLLIN, on_io);
	if (r < 0)
		return err_set(e, r, "cannot list the host's addresses: %s",
			       strerror(-r));
	fn(h, 0);
	return 0;
}

void hostaddr_close(struct hostaddr *h)
{
	loop_del(&h->io);
	if (h->fd >= 0)
		(void)close(take_fd(&h->fd));
	h->fd = -1;
}
