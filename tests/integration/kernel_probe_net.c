/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_probe's questions about the network. */
#include <fcntl.h>
#include <linux/if_alg.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "common/base.h"
#include "kernel_probe.h"

int probe_sockets(void)
{
	static const int kinds[][3] = {
		{ AF_INET, SOCK_STREAM, 0 },
		{ AF_INET6, SOCK_STREAM, 0 },
		{ AF_UNIX, SOCK_SEQPACKET, 0 },
		{ AF_VSOCK, SOCK_STREAM, 0 },
		{ AF_NETLINK, SOCK_RAW, NETLINK_ROUTE },
		{ AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG },
		{ AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER },
	};
	int r;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		r = closed(socket(kinds[i][0], kinds[i][1] | SOCK_CLOEXEC,
				  kinds[i][2]));
		if (r < 0) {
			(void)printf("# family %d, protocol %d\n", kinds[i][0],
				     kinds[i][2]);
			return r;
		}
	}
	return 0;
}

int probe_packet_socket(void)
{
	return closed(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
}

int probe_hash_socket(void)
{
	struct sockaddr_alg a = { .salg_family = AF_ALG,
				  .salg_type = "hash",
				  .salg_name = "hmac(sha256)" };
	int fd = socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	r = result(bind(fd, (struct sockaddr *)&a, sizeof(a)));
	(void)close(fd);
	return r;
}

int probe_tun(void)
{
	struct ifreq ifr = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = result(ioctl(fd, TUNSETIFF, &ifr));
	(void)close(fd);
	return r;
}

struct link_request {
	struct nlmsghdr head;
	struct ifinfomsg info;
	char attrs[64];
};

static struct rtattr *link_attr(struct link_request *q, unsigned short type,
				const char *text)
{
	struct rtattr *a;
	size_t len = text == NULL ? 0 : strlen(text);

	a = (struct rtattr *)(void *)((char *)q +
				      NLMSG_ALIGN(q->head.nlmsg_len));
	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	if (len > 0)
		memcpy(RTA_DATA(a), text, len);
	q->head.nlmsg_len =
		(__u32)(NLMSG_ALIGN(q->head.nlmsg_len) + RTA_ALIGN(a->rta_len));
	return a;
}

/* As "ip link add type KIND"; returns the kernel's answer. */
static int link_add(int fd, const char *kind)
{
	struct link_request q;
	struct rtattr *outer;
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[256];
	} answer;

	memset(&q, 0, sizeof(q));
	memset(&answer, 0, sizeof(answer));
	q.head.nlmsg_len = NLMSG_LENGTH(sizeof(q.info));
	q.head.nlmsg_type = RTM_NEWLINK;
	q.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE |
			     NLM_F_EXCL;
	outer = link_attr(&q, IFLA_LINKINFO, NULL);
	(void)link_attr(&q, IFLA_INFO_KIND, kind);
	outer->rta_len =
		(unsigned short)((char *)&q + q.head.nlmsg_len - (char *)outer);
	if (send(fd, &q, q.head.nlmsg_len, 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) < 0)
		return -errno;
	return answer.head.nlmsg_type == NLMSG_ERROR ? answer.error.error
						     : WRONG;
}

static int links_of_all_kinds(void)
{
	static const char *const kinds[] = { "dummy", "bridge", "veth" };
	int fd, r = 0;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return -errno;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_LEN(kinds) && r == 0; i++)
		r = link_add(fd, kinds[i]);
	(void)close(fd);
	return r;
}

int probe_links(void)
{
	return in_child(links_of_all_kinds);
}

/* iptables-legacy's first question, to each table of both protocols. */
static int tables_of_all_kinds(void)
{
	static const char *const names[] = { "filter", "nat", "mangle", "raw" };
	static const int family[] = { AF_INET, AF_INET6 };
	static const int level[] = { IPPROTO_IP, IPPROTO_IPV6 };
	struct {
		char name[32];
		unsigned int numbers[13];
	} info;
	socklen_t len;
	int fd;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return -errno;
	for (size_t i = 0; i < 8; i++) {
		fd = socket(family[i / 4], SOCK_RAW | SOCK_CLOEXEC,
			    IPPROTO_RAW);
		if (fd < 0)
			return -errno;
		memset(&info, 0, sizeof(info));
		(void)snprintf(info.name, sizeof(info.name), "%s",
			       names[i % 4]);
		len = sizeof(info);
		/* IPT_SO_GET_INFO and IP6T_SO_GET_INFO are both 64. */
		if (getsockopt(fd, level[i / 4], 64, &info, &len) < 0)
			return -errno;
		(void)close(fd);
	}
	return 0;
}

int probe_iptables(void)
{
	return in_child(tables_of_all_kinds);
}
