/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/bench/net_timer.c - time a guest's network; static
 *
 *	net_timer ADDRESS RESOLVER PAUSE_MS PART
 *
 * Times what goes to net_peer at ADDRESS and comes from there, and questions to
 * RESOLVER, with lines as of timing.h that pause so long; the PARTth part of each
 * count.  What a row needs is done a few times before, so that addresses are
 * known, and buffers and windows are as large as they get.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "tests/bench/net_wire.h"
#include "tests/bench/timing.h"

/* Datagrams before an answer is waited for: none of them is to be lost. */
#define BURST 32u

/* Of what is timed; done before. */
#define WARM_UP 4u

#define LOST_S 10

static struct timing timing = { .what = "net" };

/** struct timer - Whom to speak to, and what with */
struct timer {
	struct sockaddr_in peer;
	struct sockaddr_in resolver;
	unsigned int part;
	uint8_t buf[NET_PIECE_MAX];
};

__attribute__((noreturn)) static void die(const char *what)
{
	timing_die(&timing, what);
}

static struct sockaddr_in address(const char *s, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(port) };

	if (inet_pton(AF_INET, s, &in.sin_addr) != 1)
		die(s);
	return in;
}

static int connected(int type, const struct sockaddr_in *to)
{
	const struct timeval lost = { .tv_sec = LOST_S };
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &lost, sizeof(lost)) < 0)
		die("socket");
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0)
		die("connect");
	return fd;
}

static void put(int fd, const void *from, size_t len)
{
	if (send(fd, from, len, MSG_NOSIGNAL) != (ssize_t)len)
		die("send");
}

/* Of a datagram it is the length that matters. */
static void get(int fd, void *to, size_t len)
{
	if (recv(fd, to, len, MSG_WAITALL) != (ssize_t)len)
		die("receive");
}

static struct net_ask ask(enum net_op op, unsigned int n, size_t len)
{
	return (struct net_ask){ .op = le32_put(op),
				 .n = le32_put(n),
				 .len = le32_put((uint32_t)len) };
}

/* ---- TCP ---- */

static void tcp_echo(struct timer *t, int fd, unsigned int n, size_t len)
{
	const struct net_ask a = ask(NET_ECHO, n, len);
	const int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	put(fd, &a, sizeof(a));
	for (unsigned int i = 0; i < n; i++) {
		put(fd, t->buf, len);
		get(fd, t->buf, len);
	}
}

static void tcp_out(struct timer *t, int fd, unsigned int n, size_t len)
{
	const struct net_ask a = ask(NET_SINK, n, len);

	put(fd, &a, sizeof(a));
	for (unsigned int i = 0; i < n; i++)
		put(fd, t->buf, len);
	get(fd, t->buf, 1);
}

static void tcp_in(struct timer *t, int fd, unsigned int n, size_t len)
{
	const struct net_ask a = ask(NET_SOURCE, n, len);
	uint64_t left = (uint64_t)n * len;

	put(fd, &a, sizeof(a));
	while (left > 0) {
		ssize_t got = recv(fd, t->buf, MIN(left, sizeof(t->buf)), 0);

		if (got <= 0)
			die("receive");
		left -= (uint64_t)got;
	}
}

/* Begun, ended by us, ended by the peer. */
static void tcp_connect(struct timer *t, int ignored, unsigned int n,
			size_t len)
{
	(void)ignored;
	(void)len;
	for (unsigned int i = 0; i < n; i++) {
		int fd = connected(SOCK_STREAM, &t->peer);

		if (shutdown(fd, SHUT_WR) < 0 || recv(fd, t->buf, 1, 0) != 0)
			die("end");
		(void)close(fd);
	}
}

/* ---- UDP ---- */

static void udp_echo(struct timer *t, int fd, unsigned int n, size_t len)
{
	const struct net_ask a = ask(NET_ECHO, 1, len);

	for (unsigned int i = 0; i < n; i++) {
		memcpy(t->buf, &a, sizeof(a));
		put(fd, t->buf, len);
		get(fd, t->buf, len);
	}
}

static void udp_out(struct timer *t, int fd, unsigned int n, size_t len)
{
	for (unsigned int i = 0; i < n; i += BURST) {
		struct net_ask a = ask(NET_SINK, 0, len);
		le32 count = le32_put(0);

		for (unsigned int k = 1; k <= BURST; k++) {
			a.n = le32_put(k == BURST);
			memcpy(t->buf, &a, sizeof(a));
			put(fd, t->buf, len);
		}
		get(fd, &count, sizeof(count));
		if (le32_get(count) != BURST)
			die("some were lost");
	}
}

static void udp_in(struct timer *t, int fd, unsigned int n, size_t len)
{
	const struct net_ask a = ask(NET_SOURCE, BURST, len);

	for (unsigned int i = 0; i < n; i += BURST) {
		put(fd, &a, sizeof(a));
		for (unsigned int k = 0; k < BURST; k++)
			get(fd, t->buf, len);
	}
}

/* As C libraries do: a socket of its own for each question. */
static void dns(struct timer *t, int ignored, unsigned int n, size_t len)
{
	static const uint8_t question[] =
		"\0\0\1\0\0\1\0\0\0\0\0\0\3www\7example\3org\0\0\1\0\1";

	(void)ignored;
	(void)len;
	for (unsigned int i = 0; i < n; i++) {
		int fd = connected(SOCK_DGRAM, &t->resolver);

		memcpy(t->buf, question, sizeof(question) - 1);
		t->buf[1] = (uint8_t)i;
		put(fd, t->buf, sizeof(question) - 1);
		if (recv(fd, t->buf, NET_DNS_MAX, 0) <= 0)
			die("no answer");
		(void)close(fd);
	}
}

/** enum how - By what a row speaks with its peer; NEW: a socket each time */
enum how {
	TCP,
	UDP,
	NEW
};

/**
 * struct row - What is timed
 * @n:		How often; of UDP whole bursts
 * @len:	Bytes of each
 */
static const struct row {
	const char *name;
	enum how how;
	void (*run)(struct timer *t, int fd, unsigned int n, size_t len);
	unsigned int n;
	unsigned int len;
} rows[] = {
	{ "tcp-round-trip", TCP, tcp_echo, 256, 1 },
	{ "tcp-connect-close", NEW, tcp_connect, 64, 0 },
	{ "tcp-out-64K", TCP, tcp_out, 256, 65536 },
	{ "tcp-in-64K", TCP, tcp_in, 256, 65536 },
	{ "tcp-out-1400", TCP, tcp_out, 4096, 1400 },
	{ "tcp-in-1400", TCP, tcp_in, 4096, 1400 },
	{ "udp-round-trip", UDP, udp_echo, 256, 16 },
	{ "udp-out-1400", UDP, udp_out, 2048, 1400 },
	{ "udp-in-1400", UDP, udp_in, 2048, 1400 },
	{ "dns", NEW, dns, 128, 0 },
};

static void time_row(struct timer *t, const struct row *row)
{
	const unsigned int n = row->n / t->part;
	int fd = -1;
	int64_t start;

	if (row->how == TCP)
		fd = connected(SOCK_STREAM, &t->peer);
	else if (row->how == UDP)
		fd = connected(SOCK_DGRAM, &t->peer);
	row->run(t, fd, n / WARM_UP, row->len);
	start = timing_begin(&timing, row->name);
	row->run(t, fd, n, row->len);
	timing_done(&timing, row->name, n, row->len, start);
	base_closep(&fd);
}

int main(int argc, char **argv)
{
	static struct timer t;

	if (argc != 5)
		return 2;
	t.peer = address(argv[1], NET_PORT);
	t.resolver = address(argv[2], NET_DNS_PORT);
	timing.pause_ms = (unsigned int)strtoul(argv[3], NULL, 10);
	t.part = MAX((unsigned int)strtoul(argv[4], NULL, 10), 1u);
	for (unsigned int i = 0; i < ARRAY_LEN(rows); i++)
		time_row(&t, &rows[i]);
	timing_say("net done\n");
	return 0;
}
