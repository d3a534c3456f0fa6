/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/bench/net_wire.h - what net_timer and net_peer say to each other
 *
 * On a connection a struct net_ask says what follows; then the next comes.  A
 * datagram begins with one.  Who ends its side of a connection gets the other's
 * end.
 */
#ifndef HUTCH_TESTS_BENCH_NET_WIRE_H
#define HUTCH_TESTS_BENCH_NET_WIRE_H

#include "common/base.h"
#include "common/le.h"

#define NET_PORT     5000
#define NET_DNS_PORT 53

/* The most of one read or write, and of a datagram. */
#define NET_PIECE_MAX 65536u
#define NET_DGRAM_MAX 65507u
#define NET_DNS_MAX   512u

/**
 * enum net_op - What is asked for
 * @NET_ECHO:	@n times @len bytes, each of which comes back before the next; a
 *		datagram comes back
 * @NET_SINK:	@n pieces of @len bytes, and then a byte comes back; of
 *		datagrams each is one, and the one with @n 1 is answered with the
 *		number of those that came since the last such
 * @NET_SOURCE:	Send @n pieces, or datagrams, of @len bytes
 */
enum net_op {
	NET_ECHO = 1,
	NET_SINK = 2,
	NET_SOURCE = 3
};

/** struct net_ask - See above */
struct net_ask {
	le32 op;
	le32 n;
	le32 len;
};
_Static_assert(sizeof(struct net_ask) == 12, "both ends agree");

#endif
