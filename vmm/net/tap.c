/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/net/tap.c - see tap.h */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "common/io.h"
#include "vmm/net/tap.h"

/* Linux 6.2; the headers of Debian 12 have them not. */
#ifndef TUN_F_USO4
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif

#define TUN_DEVICE "/dev/net/tun"
#define ALL_OFFLOADS                                              \
	(NET_OFFLOAD_CSUM | NET_OFFLOAD_TSO4 | NET_OFFLOAD_TSO6 | \
	 NET_OFFLOAD_ECN)

_Static_assert(NET_TAP_NAME_MAX == IFNAMSIZ - 1, "an interface's name");

/**
 * struct tap - The link
 * @n_active:	Queues that frames come on
 * @over:	What does not fit a frame's room, by queue, tells that it did not
 */
struct tap {
	struct net_link link;
	struct net_tap q;
	unsigned int n_active;
	unsigned int offloads;
	uint8_t over[NET_QUEUES_MAX];
};

static struct tap *tap_of(struct net_link *l)
{
	return container_of(l, struct tap, link);
}

static unsigned int tun_flags(unsigned int offloads)
{
	static const struct {
		unsigned int ours;
		unsigned int tun;
	} map[] = {
		{ NET_OFFLOAD_CSUM, TUN_F_CSUM },
		{ NET_OFFLOAD_TSO4, TUN_F_TSO4 },
		{ NET_OFFLOAD_TSO6, TUN_F_TSO6 },
		{ NET_OFFLOAD_ECN, TUN_F_TSO_ECN },
		{ NET_OFFLOAD_USO, TUN_F_USO4 | TUN_F_USO6 },
	};
	unsigned int flags = 0;

	for (size_t i = 0; i < ARRAY_LEN(map); i++)
		if (offloads & map[i].ours)
			flags |= map[i].tun;
	return flags;
}

static int set_offload(int fd, unsigned int offloads)
{
	unsigned long flags = tun_flags(offloads);

	return ioctl(fd, TUNSETOFFLOAD, flags) < 0 ? -errno : 0;
}

/* ---- Opening ---- */

/* A queue that is ours by now: its headers, its offloads. */
static int set_up(int fd, struct net_tap *t)
{
	int len = VNET_HDR_LEN, little = 1;
	int r;

	if (ioctl(fd, TUNSETVNETHDRSZ, &len) < 0 ||
	    ioctl(fd, TUNSETVNETLE, &little) < 0)
		return -errno;
	t->offloads = ALL_OFFLOADS | NET_OFFLOAD_USO;
	if (set_offload(fd, t->offloads) < 0)
		t->offloads = ALL_OFFLOADS;
	/* None until the guest says that it can do with them. */
	r = set_offload(fd, 0);
	return r < 0 ? r : io_set_nonblock(fd, 1);
}

static int attach(const char *name, int flags)
{
	struct ifreq ifr = { .ifr_flags = (short)flags };
	auto_fd int fd = open(TUN_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	memcpy(ifr.ifr_name, name, strlen(name) + 1);
	return ioctl(fd, TUNSETIFF, &ifr) < 0 ? -errno : take_fd(&fd);
}

static int refuse(const char *name, int code, struct err *e)
{
	switch (code) {
	case -EBUSY:
		return err_set(e, code,
			       "tap '%s': somebody else uses it already", name);
	case -EPERM:
		return err_set(e, code,
			       "tap '%s': it is not yours: make one with 'ip "
			       "tuntap add dev %s mode tap user ...'",
			       name, name);
	case -EINVAL:
		return err_set(e, code, "tap '%s': the interface is no tap",
			       name);
	case -ENOENT:
		return err_set(e, -ENODEV, "tap '%s': there is no " TUN_DEVICE,
			       name);
	case -EACCES:
		return err_set(e, code,
			       "tap '%s': " TUN_DEVICE " is not for you to "
			       "open",
			       name);
	default:
		return err_set(e, code, "tap '%s': %s", name, strerror(-code));
	}
}

/* One queue of a tap for one, or the first of one that is made for several. */
static int attach_first(const char *name, unsigned int most, int *ret_flags)
{
	static const int kind[] = { IFF_TAP | IFF_NO_PI | IFF_VNET_HDR,
				    IFF_TAP | IFF_NO_PI | IFF_VNET_HDR |
					    IFF_MULTI_QUEUE };
	int first = most > 1, fd;

	*ret_flags = kind[first];
	fd = attach(name, *ret_flags);
	if (fd != -EINVAL)
		return fd;
	*ret_flags = kind[!first];
	return attach(name, *ret_flags);
}

/* Of the interface @name, or 0. */
static unsigned int get_mtu(const char *name)
{
	struct ifreq ifr = { 0 };
	auto_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(ifr.ifr_name, name, strnlen(name, NET_TAP_NAME_MAX));
	if (fd < 0 || ioctl(fd, SIOCGIFMTU, &ifr) < 0 || ifr.ifr_mtu < 0)
		return 0;
	return (unsigned int)ifr.ifr_mtu;
}

/* Up to @most queues; those that are not to be had are not missed. */
static int open_queues(const char *name, unsigned int most, struct net_tap *t)
{
	int flags = 0, fd = attach_first(name, most, &flags), r = 0;

	while (fd >= 0) {
		t->fd[t->n++] = fd;
		r = set_up(fd, t);
		if (r < 0 || t->n == most || !(flags & IFF_MULTI_QUEUE))
			return r;
		fd = attach(name, flags);
	}
	return t->n > 0 ? 0 : fd;
}

int net_tap_open(const char *name, unsigned int most, struct net_tap *ret,
		 struct err *e)
{
	struct net_tap t = { .n = 0 };
	int r;

	bug_on(most == 0 || most > NET_QUEUES_MAX);
	/* For who is root the kernel would make one of any name. */
	if (if_nametoindex(name) == 0)
		return err_set(e, -ENOENT,
			       "tap '%s': there is no such interface: make one "
			       "with 'ip tuntap add dev %s mode tap user ...'",
			       name, name);
	r = open_queues(name, most, &t);
	if (r < 0) {
		net_tap_done(&t);
		return refuse(name, r, e);
	}
	t.mtu = get_mtu(name);
	*ret = t;
	return 0;
}

int net_tap_take(int fd, struct net_tap *ret, struct err *e)
{
	struct net_tap t = { .fd = { fd }, .n = 1 };
	struct ifreq ifr = { 0 };
	int r;

	if (ioctl(fd, TUNGETIFF, &ifr) < 0 || !(ifr.ifr_flags & IFF_TAP))
		return err_set(e, -EINVAL,
			       "descriptor %d is neither a tap nor a Unix "
			       "stream socket",
			       fd);
	if (!(ifr.ifr_flags & IFF_VNET_HDR) || !(ifr.ifr_flags & IFF_NO_PI))
		return err_set(e, -EINVAL,
			       "descriptor %d is a tap without IFF_VNET_HDR or "
			       "without IFF_NO_PI, and both are needed",
			       fd);
	r = set_up(fd, &t);
	if (r < 0)
		return err_set(e, r, "descriptor %d: %s", fd, strerror(-r));
	ifr.ifr_name[NET_TAP_NAME_MAX] = '\0';
	t.mtu = get_mtu(ifr.ifr_name);
	*ret = t;
	return 0;
}

void net_tap_done(struct net_tap *t)
{
	while (t->n > 0)
		(void)close(t->fd[--t->n]);
}

/* ---- The link ---- */

static int tap_fd(struct net_link *l, unsigned int q)
{
	return tap_of(l)->q.fd[q];
}

/* How long the next one is the kernel does not tell. */
static ssize_t tap_next(struct net_link *l, unsigned int q)
{
	const struct tap *t = tap_of(l);
	size_t vlan = 4;

	(void)q;
	if (t->offloads & ~NET_OFFLOAD_CSUM)
		return VNET_HDR_LEN + NET_FRAME_MAX;
	return (ssize_t)(VNET_HDR_LEN + NET_FRAME_MIN + vlan +
			 (t->q.mtu ? t->q.mtu : 1500));
}

static ssize_t tap_recv(struct net_link *l, unsigned int q, struct iovec *iov,
			int n)
{
	struct tap *t = tap_of(l);
	size_t room = net_iov_len(iov, n);
	ssize_t got;

	iov[n].iov_base = &t->over[q];
	iov[n].iov_len = 1;
	do
		got = readv(t->q.fd[q], iov, n + 1);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return net_link_error(errno);
	return (size_t)got > room ? -EMSGSIZE : got;
}

static void tap_skip(struct net_link *l, unsigned int q)
{
	(void)l;
	(void)q; /* a frame comes whole or not at all */
}

static int tap_send(struct net_link *l, unsigned int q, struct iovec *iov,
		    int n, size_t len)
{
	const struct tap *t = tap_of(l);
	ssize_t sent;

	(void)len;
	do
		sent = writev(t->q.fd[q], iov + 1, n);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0)
		return 0;
	switch (errno) {
	case EWOULDBLOCK:
		return -EAGAIN;
	case EFAULT:
	case EINVAL:   /* what it says of itself is not so */
	case EMSGSIZE: /* more than the interface takes */
	case ENOMEM:
	case ENOBUFS:
	case EIO: /* the interface is down: as a cable would, it is lost */
		return -EINVAL;
	default:
		return -errno;
	}
}

static int tap_flush(struct net_link *l, unsigned int q)
{
	(void)l;
	(void)q;
	return 0;
}

static int tap_offload(struct net_link *l, unsigned int offloads)
{
	struct tap *t = tap_of(l);
	int r = set_offload(t->q.fd[0], offloads & l->offloads);

	if (r == 0)
		t->offloads = offloads & l->offloads;
	return r;
}

static int set_queue(int fd, int how)
{
	struct ifreq ifr = { .ifr_flags = (short)how };

	return ioctl(fd, TUNSETQUEUE, &ifr) < 0 ? -errno : 0;
}

/* One by one from the end, so that n_active is right wherever it stops. */
static int tap_spread(struct net_link *l, unsigned int n)
{
	struct tap *t = tap_of(l);
	int r = 0;

	if (n == 0 || n > l->n_queues)
		return -EINVAL;
	for (; r == 0 && t->n_active > n; t->n_active -= r == 0)
		r = set_queue(t->q.fd[t->n_active - 1], IFF_DETACH_QUEUE);
	for (; r == 0 && t->n_active < n; t->n_active += r == 0)
		r = set_queue(t->q.fd[t->n_active], IFF_ATTACH_QUEUE);
	return r;
}

static void tap_free(struct net_link *l)
{
	struct tap *t = tap_of(l);

	net_tap_done(&t->q);
	free(t);
}

static const struct net_link_ops tap_ops = {
	.fd = tap_fd,
	.next = tap_next,
	.recv = tap_recv,
	.skip = tap_skip,
	.send = tap_send,
	.flush = tap_flush,
	.offload = tap_offload,
	.spread = tap_spread,
	.free = tap_free,
};

int net_tap_new(struct net_tap *q, struct net_link **ret)
{
	struct tap *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->q = *q;
	t->n_active = q->n;
	t->link = (struct net_link){ .ops = &tap_ops,
				     .n_queues = q->n,
				     .vnet = true,
				     .offloads = q->offloads,
				     .mtu = q->mtu };
	q->n = 0;
	*ret = &t->link;
	return 0;
}
