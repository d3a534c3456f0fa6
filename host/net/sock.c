/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/sock.c - see sock.h */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "host/net/limits.h"
#include "host/net/sock.h"

static int set(int fd, int level, int what, int value)
{
	return setsockopt(fd, level, what, &value, sizeof(value)) < 0 ? -errno
								      : 0;
}

static int make(const struct flow_key *key, bool v4)
{
	const int domain = v4 ? AF_INET : AF_INET6;
	const int flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
	int fd;

	if (key->proto == NET_TCP)
		fd = socket(domain, SOCK_STREAM | flags, 0);
	else if (key->proto == NET_UDP)
		fd = socket(domain, SOCK_DGRAM | flags, 0);
	else
		fd = socket(domain, SOCK_DGRAM | flags,
			    v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
	return fd < 0 ? -errno : fd;
}

/* Each makes things better and none is needed: failures are passed over. */
static void tune(int fd, const struct flow_key *key, bool v4, bool small)
{
	if (small) {
		(void)set(fd, SOL_SOCKET, SO_RCVBUF, NET_SMALL_BUFFER);
		(void)set(fd, SOL_SOCKET, SO_SNDBUF, NET_SMALL_BUFFER);
	}
	if (key->proto == NET_TCP) {
		(void)set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
		/* Elsewhere than among the rest it would shift what is peeked. */
		(void)set(fd, SOL_SOCKET, SO_OOBINLINE, 1);
		/* The guest's own TCP has waited already, if it wanted to. */
		(void)set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	} else if (v4) {
		(void)set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT);
	} else {
		(void)set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER,
			  IPV6_PMTUDISC_DONT);
	}
}

static socklen_t to_sock(const struct net_addr *a, uint16_t port,
			 struct sockaddr_storage *ret)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(port) };
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(port) };

	memset(ret, 0, sizeof(*ret));
	if (addr_is_v4(a)) {
		memcpy(&in.sin_addr, a->b + 12, 4);
		memcpy(ret, &in, sizeof(in));
		return sizeof(in);
	}
	memcpy(&in6.sin6_addr, a->b, 16);
	memcpy(ret, &in6, sizeof(in6));
	return sizeof(in6);
}

int sock_connect(const struct flow_key *key, bool small)
{
	bool v4 = addr_is_v4(&key->peer);
	struct sockaddr_storage ss;
	socklen_t len = to_sock(&key->peer, key->peer_port, &ss);
	auto_fd int fd = make(key, v4);

	if (fd < 0)
		return fd;
	tune(fd, key, v4, small);
	if (connect(fd, (const struct sockaddr *)&ss, len) < 0 &&
	    errno != EINPROGRESS)
		return -errno;
	return take_fd(&fd);
}

/* To itself a host speaks as the one it speaks to. */
bool sock_is_own(int fd, const struct net_addr *peer)
{
	struct sockaddr_storage own;
	socklen_t len = sizeof(own);

	memset(&own, 0, sizeof(own));
	if (getsockname(fd, (struct sockaddr *)&own, &len) < 0)
		return false;
	if (own.ss_family == AF_INET)
		return memcmp(&((struct sockaddr_in *)&own)->sin_addr,
			      peer->b + 12, 4) == 0;
	return own.ss_family == AF_INET6 &&
	       memcmp(&((struct sockaddr_in6 *)&own)->sin6_addr, peer->b,
		      sizeof(peer->b)) == 0;
}

int sock_error(int fd)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return -errno;
	return -error;
}

void sock_abort(int fd)
{
	const struct linger now = { .l_onoff = 1 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static bool has_peek_off(int domain)
{
	auto_fd int fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* A host without IPv6 has no socket that could lack it. */
	return fd < 0 || set(fd, SOL_SOCKET, SO_PEEK_OFF, 0) == 0;
}

bool sock_has_peek_off(void)
{
	return has_peek_off(AF_INET) && has_peek_off(AF_INET6);
}
