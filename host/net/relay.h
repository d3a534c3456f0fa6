/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/relay.h - the sockets and the clock of the guest's resolver
 *
 * What is asked and answered is policy/dns.h's business; here are those who are
 * asked: a socket with a port of its own for each try, the next resolver when one
 * is silent for DNS_WAIT_NS, DNS_ROUNDS times round and DNS_TRIES_MIN times in
 * all, from the one on that answered last. A guest that asks by TCP has a stream of its own (relay_stream.c), on
 * which one question at a time is answered.
 */
#ifndef HUTCH_HOST_NET_RELAY_H
#define HUTCH_HOST_NET_RELAY_H

#include "host/net/denials.h"
#include "host/net/guard.h"
#include "host/net/limits.h"
#include "host/net/net.h"

struct relay_stream;

/**
 * struct relay - The guest's resolver; fields are its own
 * @first:	Of the resolvers: who is asked first, as it answered last
 */
struct relay {
	struct net *net;
	struct guard *guard;
	struct denials *denials;
	unsigned int n_resolvers;
	unsigned int first;
	struct net_addr resolver[DNS_RESOLVERS_MAX];
	struct net_rate rate;
	struct list asks; /* oldest first */
	unsigned int n_asks;
	struct list streams;
	unsigned int n_streams;
	uint8_t *in; /* DNS_MSG_MAX bytes, of a resolver */
};

/**
 * struct relay_ask - A question under way
 * @key:	Of the guest's datagram
 * @stream:	Or the guest's stream; then @key is nothing
 * @first:	Who was asked first
 * @try:	How often somebody was asked before
 * @out:	@out_len bytes for the resolver, with a length if by TCP
 * @in:		By TCP: @in_len bytes that came
 */
struct relay_ask {
	struct relay *relay;
	struct list link;
	struct loop_io io;
	struct loop_timer timer;
	struct loop_defer defer;
	int fd;
	struct dns_query q;
	struct flow_key key;
	struct relay_stream *stream;
	unsigned int first;
	unsigned int try;
	size_t out_len;
	uint8_t out[sizeof(be16) + DNS_ASK_MAX];
	bool asked;
	size_t in_len;
	uint8_t *in;
};

/** relay_prepare() - Nobody is asked yet */
void relay_prepare(struct relay *r, struct net *n, struct guard *g,
		   struct denials *d);

/** relay_resolvers() - Whom to ask: @n of them, DNS_RESOLVERS_MAX at most */
void relay_resolvers(struct relay *r, const struct net_addr *a, unsigned int n);

/** relay_done() - Zeroed is fine; before net_close() */
void relay_done(struct relay *r);

/** relay_datagram() - A datagram of the guest's, see net.h */
void relay_datagram(struct relay *r, const struct flow_key *key,
		    const void *msg, size_t len);

/** relay_stream() - A stream of the guest's, see net.h */
MUST_CHECK int relay_stream(struct relay *r, int fd);

/* ---- Between relay.c and relay_stream.c ---- */

/** relay_question() - A message came on a stream: answer it, or ask */
void relay_question(struct relay *r, struct relay_stream *s, const void *msg,
		    size_t len);

/** relay_forget() - A stream has gone: so have its questions */
void relay_forget(struct relay *r, const struct relay_stream *s);

/** relay_stream_answer() - For the guest, without a length in front */
void relay_stream_answer(struct relay_stream *s, void *msg, size_t len);

/** relay_stream_close() - End it */
void relay_stream_close(struct relay_stream *s);

/** relay_streams_close() - End all of them */
void relay_streams_close(struct relay *r);

#endif
