/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/bench/net_peer.c - whom net_timer speaks to; static
 *
 *	net_peer ADDRESS RESOLVER
 *
 * Serves TCP and UDP at ADDRESS, as net_wire.h says, one connection at a time; and
 * answers each question of DNS at RESOLVER with ADDRESS.  Prints "ready".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "tests/bench/net_wire.h"

#define BACKLOG 64

static uint8_t buf[NET_PIECE_MAX];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int bound(int type, const char *address, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(port) };
	const int on = 1;
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || inet_pton(AF_INET, address, &in.sin_addr) != 1)
		die(address);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&in, sizeof(in)) < 0)
		die(address);
	return fd;
}

/* ---- TCP ---- */

static bool get(int fd, void *to, size_t len)
{
	return recv(fd, to, len, MSG_WAITALL) == (ssize_t)len;
}

static bool put(int fd, const void *from, size_t len)
{
	return send(fd, from, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static bool echo(int fd, uint32_t n, uint32_t len)
{
	for (uint32_t i = 0; i < n; i++)
		if (!get(fd, buf, len) || !put(fd, buf, len))
			return false;
	return true;
}

static bool sink(int fd, uint64_t left)
{
	while (left > 0) {
		ssize_t n = recv(fd, buf, MIN(left, sizeof(buf)), 0);

		if (n <= 0)
			return false;
		left -= (uint64_t)n;
	}
	return put(fd, "", 1);
}

static bool source(int fd, uint32_t n, uint32_t len)
{
	for (uint32_t i = 0; i < n; i++)
		if (!put(fd, buf, len))
			return false;
	return true;
}

static bool serve_ask(int fd)
{
	struct net_ask ask;
	uint32_t n, len;
	int nodelay;

	if (!get(fd, &ask, sizeof(ask)))
		return false;
	n = le32_get(ask.n);
	len = MIN(le32_get(ask.len), NET_PIECE_MAX);
	nodelay = le32_get(ask.op) == NET_ECHO;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay,
			 sizeof(nodelay));
	switch (le32_get(ask.op)) {
	case NET_ECHO:
		return echo(fd, n, len);
	case NET_SINK:
		return sink(fd, (uint64_t)n * len);
	case NET_SOURCE:
		return source(fd, n, len);
	default:
		return false;
	}
}

static void serve_tcp(int fd)
{
	for (;;) {
		int c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (c < 0)
			die("accept");
		while (serve_ask(c))
			;
		(void)close(c);
	}
}

/* ---- UDP ---- */

/** struct peer - Who sent a datagram */
struct peer {
	struct sockaddr_in in;
	socklen_t len;
};

static ssize_t hear(int fd, struct peer *from)
{
	ssize_t n;

	from->len = sizeof(from->in);
	do
		n = recvfrom(fd, buf, sizeof(buf), 0,
			     (struct sockaddr *)&from->in, &from->len);
	while (n < 0 && errno == ECONNREFUSED);
	if (n < 0)
		die("recvfrom");
	return n;
}

static void tell(int fd, const struct peer *to, const void *from, size_t len)
{
	if (sendto(fd, from, len, 0, (const struct sockaddr *)&to->in,
		   to->len) < 0)
		perror("sendto");
}

static void serve_udp(int fd)
{
	uint32_t sunk = 0;

	for (;;) {
		struct peer from;
		ssize_t got = hear(fd, &from);
		struct net_ask ask;
		le32 count;

		if (got < (ssize_t)sizeof(ask))
			continue;
		memcpy(&ask, buf, sizeof(ask));
		switch (le32_get(ask.op)) {
		case NET_ECHO:
			tell(fd, &from, buf, (size_t)got);
			break;
		case NET_SINK:
			sunk++;
			if (le32_get(ask.n) == 0)
				break;
			count = le32_put(sunk);
			tell(fd, &from, &count, sizeof(count));
			sunk = 0;
			break;
		case NET_SOURCE:
			for (uint32_t i = 0; i < le32_get(ask.n); i++)
				tell(fd, &from, buf,
				     MIN(le32_get(ask.len), NET_DGRAM_MAX));
			break;
		default:
			break;
		}
	}
}

/* ---- DNS ---- */

#define DNS_HEAD 12u

/* Return: where the question ends, or 0 */
static size_t question_end(size_t len)
{
	size_t at = DNS_HEAD;

	while (at < len && buf[at])
		at += 1u + buf[at];
	return at + 5 <= len ? at + 5 : 0;
}

static void serve_dns(int fd, const char *address)
{
	/* Its name is the question's; type A, class IN, a minute, 4 bytes. */
	uint8_t answer[16] = { 0xc0, DNS_HEAD, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4 };

	if (inet_pton(AF_INET, address, answer + 12) != 1)
		die(address);
	for (;;) {
		struct peer from;
		ssize_t got = hear(fd, &from);
		size_t end = got > 0 ? question_end((size_t)got) : 0;

		if (end == 0 || end + sizeof(answer) > sizeof(buf))
			continue;
		buf[2] |= 0x80; /* a response */
		buf[3] = 0x80;  /* recursion is available */
		memset(buf + 6, 0, 6);
		buf[7] = 1; /* answers */
		memcpy(buf + end, answer, sizeof(answer));
		tell(fd, &from, buf, end + sizeof(answer));
	}
}

static bool is_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid == 0;
}

int main(int argc, char **argv)
{
	int tcp, udp, dns;

	if (argc != 3)
		return 2;
	tcp = bound(SOCK_STREAM, argv[1], NET_PORT);
	udp = bound(SOCK_DGRAM, argv[1], NET_PORT);
	dns = bound(SOCK_DGRAM, argv[2], NET_DNS_PORT);
	if (listen(tcp, BACKLOG) < 0)
		die("listen");
	if (is_child())
		serve_udp(udp);
	if (is_child())
		serve_dns(dns, argv[1]);
	if (puts("ready") < 0 || fflush(stdout) < 0)
		die("stdout");
	serve_tcp(tcp);
}
