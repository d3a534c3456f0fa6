/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/net.c - see net.h
 *
 * One write to the kernel and one read, whatever there is to set up: nothing is
 * asked of anybody on the network, and no address waits to be found unique.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "common/io.h"
#include "guest-agent/boot.h"
#include "guest-agent/net.h"
#include "guest-agent/trust.h"

/* What Linux calls the first one. */
#define KERNEL_NAME "eth0"

#define RESOLV     "resolv.conf"
#define ANSWER_LEN 16384u

/* Nobody advertises routers, and no other has the same address. */
static const char *const settings[][2] = {
	{ "/proc/sys/net/ipv6/conf/" KERNEL_NAME "/accept_ra", "0" },
	{ "/proc/sys/net/ipv6/conf/" KERNEL_NAME "/autoconf", "0" },
	{ "/proc/sys/net/ipv6/conf/" KERNEL_NAME "/accept_dad", "0" },
};

/* ---- Requests ---- */

static void *put(struct net_batch *b, size_t len)
{
	void *p = b->buf + b->len;

	bug_on(NLMSG_ALIGN(len) > sizeof(b->buf) - b->len);
	memset(p, 0, NLMSG_ALIGN(len));
	b->len += NLMSG_ALIGN(len);
	return p;
}

static size_t begin(struct net_batch *b, uint16_t type, const char *what)
{
	size_t at = b->len;
	/* An interface is there, and cannot be replaced. */
	const uint16_t make =
		type == RTM_NEWLINK ? 0 : NLM_F_CREATE | NLM_F_REPLACE;
	const struct nlmsghdr h = {
		.nlmsg_type = type,
		.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | make),
		.nlmsg_seq = b->n,
	};

	bug_on(b->n == ARRAY_LEN(b->what));
	b->what[b->n++] = what;
	memcpy(put(b, sizeof(h)), &h, sizeof(h));
	return at;
}

static void end(struct net_batch *b, size_t at)
{
	uint32_t len = (uint32_t)(b->len - at);

	memcpy(b->buf + at, &len, sizeof(len));
}

static void put_attr(struct net_batch *b, uint16_t type, const void *value,
		     size_t len)
{
	const struct rtattr a = { .rta_type = type,
				  .rta_len = (uint16_t)RTA_LENGTH(len) };
	uint8_t *p = put(b, RTA_LENGTH(len));

	memcpy(p, &a, sizeof(a));
	memcpy(p + sizeof(a), value, len);
}

static void put_u32(struct net_batch *b, uint16_t type, uint32_t v)
{
	put_attr(b, type, &v, sizeof(v));
}

static size_t ip_len(const struct wire_ip *ip)
{
	return wire_ip_bits(ip) / 8;
}

static uint8_t ip_family(const struct wire_ip *ip)
{
	return ip->family == 4 ? AF_INET : AF_INET6;
}

static void put_link(struct net_batch *b, const struct msg_net *m,
		     unsigned int index)
{
	size_t at = begin(b, RTM_NEWLINK, "interface");
	const struct ifinfomsg i = { .ifi_family = AF_UNSPEC,
				     .ifi_index = (int)index,
				     .ifi_flags = IFF_UP,
				     .ifi_change = IFF_UP };

	memcpy(put(b, sizeof(i)), &i, sizeof(i));
	if (m->mtu)
		put_u32(b, IFLA_MTU, m->mtu);
	if (strcmp(m->name, KERNEL_NAME) != 0)
		put_attr(b, IFLA_IFNAME, m->name, strlen(m->name) + 1);
	end(b, at);
}

static void put_broadcast(struct net_batch *b, const struct wire_ip *ip)
{
	uint8_t all[4];

	if (ip->family != 4 || ip->prefix > 30)
		return;
	memcpy(all, ip->addr, sizeof(all));
	for (unsigned int i = ip->prefix; i < 32; i++)
		all[i / 8] = (uint8_t)(all[i / 8] | 0x80 >> i % 8);
	put_attr(b, IFA_BROADCAST, all, sizeof(all));
}

static void put_address(struct net_batch *b, const struct wire_ip *ip,
			unsigned int index)
{
	size_t at = begin(b, RTM_NEWADDR, "address");
	const struct ifaddrmsg a = {
		.ifa_family = ip_family(ip),
		.ifa_prefixlen = ip->prefix,
		.ifa_flags = ip->family == 6 ? IFA_F_NODAD : 0,
		.ifa_index = index,
	};

	memcpy(put(b, sizeof(a)), &a, sizeof(a));
	put_attr(b, IFA_LOCAL, ip->addr, ip_len(ip));
	put_attr(b, IFA_ADDRESS, ip->addr, ip_len(ip));
	put_broadcast(b, ip);
	end(b, at);
}

static void put_route(struct net_batch *b, const struct wire_route *w,
		      unsigned int index)
{
	size_t at = begin(b, RTM_NEWROUTE, "route");
	const struct rtmsg r = { .rtm_family = ip_family(&w->to),
				 .rtm_dst_len = w->to.prefix,
				 .rtm_table = RT_TABLE_MAIN,
				 .rtm_protocol = RTPROT_BOOT,
				 .rtm_scope = RT_SCOPE_UNIVERSE,
				 .rtm_type = RTN_UNICAST };

	memcpy(put(b, sizeof(r)), &r, sizeof(r));
	if (w->to.prefix)
		put_attr(b, RTA_DST, w->to.addr, ip_len(&w->to));
	put_attr(b, RTA_GATEWAY, w->via.addr, ip_len(&w->via));
	put_u32(b, RTA_OIF, index);
	end(b, at);
}

void net_compose(struct net_batch *b, const struct msg_net *m,
		 unsigned int index)
{
	b->len = 0;
	b->n = 0;
	put_link(b, m, index);
	for (unsigned int i = 0; i < m->n_addrs; i++)
		put_address(b, &m->addr[i], index);
	for (unsigned int i = 0; i < m->n_routes; i++)
		put_route(b, &m->route[i], index);
}

/* ---- Answers ---- */

int net_answers(const struct net_batch *b, const void *p, size_t len,
		unsigned int *n_done, struct err *e)
{
	const uint8_t *at = p;

	while (len >= NLMSG_LENGTH(sizeof(struct nlmsgerr))) {
		struct nlmsghdr h;
		struct nlmsgerr a;

		memcpy(&h, at, sizeof(h));
		memcpy(&a, at + NLMSG_LENGTH(0), sizeof(a));
		if (h.nlmsg_type != NLMSG_ERROR || h.nlmsg_seq >= b->n ||
		    h.nlmsg_len < NLMSG_LENGTH(sizeof(a)) || h.nlmsg_len > len)
			break;
		if (a.error)
			return err_set(e, a.error, "network: %s: %s",
				       b->what[h.nlmsg_seq],
				       strerror(-a.error));
		(*n_done)++;
		at += MIN(NLMSG_ALIGN(h.nlmsg_len), len);
		len -= MIN(NLMSG_ALIGN(h.nlmsg_len), len);
	}
	return len == 0 ? 0
			: err_set(e, -EBADMSG,
				  "network: the kernel's answer is none");
}

/* The kernel has answered by the time that send() returns. */
static int carry_out(const struct net_batch *b, struct err *e)
{
	auto_fd int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	uint8_t answer[ANSWER_LEN];
	unsigned int n = 0;
	int r = 0;

	if (fd < 0 || send(fd, b->buf, b->len, 0) < 0)
		return err_set(e, -errno, "network: netlink: %s",
			       strerror(errno));
	while (r == 0 && n < b->n) {
		ssize_t len = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);

		if (len <= 0)
			return err_set(e, -EIO,
				       "network: the kernel has not answered");
		r = net_answers(b, answer, (size_t)len, &n, e);
	}
	return r;
}

static int find_index(unsigned int *ret)
{
	struct ifreq ifr = { .ifr_name = KERNEL_NAME };
	auto_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCGIFINDEX, &ifr) < 0)
		return -errno;
	*ret = (unsigned int)ifr.ifr_ifindex;
	return 0;
}

static int configure(const struct msg_net *m, struct err *e)
{
	struct net_batch b;
	unsigned int index = 0;
	int r = find_index(&index);

	if (r < 0)
		return err_set(e, r, "network: interface '" KERNEL_NAME "': %s",
			       strerror(-r));
	/* A kernel without IPv6 has no use for them. */
	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		if (boot_write_file(settings[i][0], 0, settings[i][1]) < 0)
			break;
	net_compose(&b, m, index);
	return carry_out(&b, e);
}

/* ---- Names ---- */

static size_t add(char *text, size_t len, const char *a, const char *b)
{
	int n = snprintf(text + len, NET_RESOLV_MAX - len, "%s%s", a, b);

	bug_on(n < 0 || (size_t)n >= NET_RESOLV_MAX - len);
	return len + (size_t)n;
}

void net_resolv_text(const struct msg_net *m, char text[NET_RESOLV_MAX])
{
	char ip[INET6_ADDRSTRLEN + 1];
	size_t len = 0;

	text[0] = '\0';
	for (unsigned int i = 0; i < m->n_search; i++)
		len = add(text, len, i ? " " : "search ", m->search[i]);
	if (len)
		len = add(text, len, "\n", "");
	for (unsigned int i = 0; i < m->n_dns; i++) {
		(void)inet_ntop(ip_family(&m->dns[i]), m->dns[i].addr, ip,
				INET6_ADDRSTRLEN);
		len = add(text, len, "nameserver ", ip);
		len = add(text, len, "\n", "");
	}
}

int net_write_resolv(int dirfd, const char *text)
{
	int fd, r;

	if (unlinkat(dirfd, RESOLV, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(dirfd, RESOLV,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	r = io_write_full(fd, text, strlen(text));
	(void)close(fd);
	return r;
}

static int write_resolv(const struct msg_net *m, struct err *e)
{
	char text[NET_RESOLV_MAX];
	auto_fd int etc = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = etc < 0 ? -errno : 0;

	net_resolv_text(m, text);
	if (r == 0)
		r = net_write_resolv(etc, text);
	return r < 0 ? err_set(e, r, "network: write '/etc/" RESOLV "': %s",
			       strerror(-r))
		     : 0;
}

void net_set_up(struct boot *b)
{
	const struct msg_net *m = &b->msg.net;
	struct err e = { 0 };
	int r;

	if (!(b->msg.flags & WIRE_BOOT_NET))
		return;
	r = configure(m, &e);
	/* Where no server is given, the image knows one or there is none. */
	if (r == 0 && (m->n_dns || m->n_search) && write_resolv(m, &e) < 0)
		boot_problem(b, &e); /* on a full disk, say, one must get in */
	if (r == 0 && trust_is_on(&b->msg))
		r = trust_set_up(&b->msg, &e);
	if (r < 0)
		boot_failed(b, &e);
}
