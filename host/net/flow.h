/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/flow.h - what the guest has going with whom, in one bounded table
 *
 * A flow is a conversation of the guest's: a TCP connection, the datagrams of
 * one port to one other, the pings of one identifier. Each has one descriptor
 * of the host's and is the owner of it. The guest has one address of each
 * family, so that a peer's address, both ports and the protocol name a flow.
 */
#ifndef HUTCH_HOST_NET_FLOW_H
#define HUTCH_HOST_NET_FLOW_H

#include "common/list.h"
#include "common/loop.h"
#include "host/net/policy/policy.h"
#include "host/net/siphash.h"

struct net;
struct flow;

#define FLOW_BUCKETS 4096u

/** struct flow_key - What names a flow */
struct flow_key {
	struct net_addr peer;
	uint16_t peer_port;  /* 0 of a ping */
	uint16_t guest_port; /* the identifier of a ping */
	uint32_t proto;      /* enum net_proto */
};
_Static_assert(sizeof(struct flow_key) == 24, "hashed as it lies, no holes");

/**
 * struct flow_ops - What a kind of flow can do
 * @event:	Its descriptor has something, EPOLLIN and so on
 * @turn:	It may send to the guest. Return: whether it has more to send
 * @settle:	It asked for it by flow_settle(): the batch of events is over
 * @may_look:	Whether none of its bytes has gone out, and they are looked at
 * @refuse:	It is not allowed any more: end it, and say so
 * @free:	Let go of all that is the kind's own, the flow with it
 */
struct flow_ops {
	void (*event)(struct flow *f, uint32_t events);
	bool (*turn)(struct flow *f);
	void (*settle)(struct flow *f);
	bool (*may_look)(struct flow *f);
	void (*refuse)(struct flow *f);
	void (*free)(struct flow *f);
};

/** enum flow_seen - What somebody who looked at the first bytes has seen */
enum flow_seen {
	FLOW_UNSEEN,
	FLOW_PLAIN,   /* no TLS */
	FLOW_TLS,     /* for the flow's name */
	FLOW_NAMELESS /* TLS that names nobody */
};

/**
 * struct flow - The part that all kinds have; embedded in theirs
 * @hash:	In its bucket
 * @kind:	In the list of its kind, the one that was used last at the end
 * @ready:	In the list of those who have something for the guest, or not
 * @settle:	In the list of those who want to be settled, or not
 * @io:		Of @fd, which is the flow's; -1 if it has none (yet)
 * @name:	By which it was judged; NULL: by its address alone
 * @pinned:	The address had been given for @name
 * @ends_here:	The other end of @fd is in this process
 * @seen:	What is known of the first bytes, of TCP
 * @rule:	By which it was allowed, -1 if by none
 * @large:	Its buffers grow as the host lets them: the network counts these
 * @dead:	Ended; its memory goes at the end of the batch
 */
struct flow {
	struct net *net;
	const struct flow_ops *ops;
	struct flow_key key;
	struct list hash;
	struct list kind;
	struct list ready;
	struct list settle;
	struct loop_io io;
	struct loop_timer timer;
	struct loop_defer defer;
	int fd;
	char *name;
	bool pinned;
	enum flow_seen seen;
	int rule;
	bool ends_here;
	bool large;
	bool dead;
};

/**
 * struct flows - The table
 * @all:	By enum net_proto, least recently used first
 * @n:		By enum net_proto
 */
struct flows {
	struct siphash_key hash_key;
	struct list bucket[FLOW_BUCKETS];
	struct list all[3];
	unsigned int n[3];
	struct list ready;
	struct list settle;
};

/** flows_init() - An empty table; its @hash_key is to be made random */
void flows_init(struct flows *fs);

/** flows_done() - End all flows at once, without a word to either side */
void flows_done(struct flows *fs);

/** flow_find() - The flow of that name, or NULL */
struct flow *flow_find(struct flows *fs, const struct flow_key *key);

/** flow_first() - The least recently used of its kind, or NULL */
struct flow *flow_first(const struct flows *fs, enum net_proto proto);

/** flow_add() - Put a flow, zeroed but for @ops and @key, into the table */
void flow_add(struct net *net, struct flow *f);

/**
 * flow_watch() - Give it a descriptor, which is the flow's from now on
 * @events:	As of loop_add()
 *
 * Return: 0 or -errno, and @fd is still the caller's
 */
MUST_CHECK int flow_watch(struct flow *f, int fd, uint32_t events);

/** flow_judged() - Remember what it was allowed by. Return: 0 or -ENOMEM */
MUST_CHECK int flow_judged(struct flow *f, const struct verdict *v);

/** flow_attempt() - What is to be judged, of a flow; borrows from it */
struct attempt flow_attempt(const struct flow *f);

/** flow_used() - It was used just now */
void flow_used(struct flow *f);

/** flow_ready() - It has something for the guest: give it turns */
void flow_ready(struct flow *f);

/** flow_settle() - Call its settle() when this batch is over */
void flow_settle(struct flow *f);

/** flow_end() - Out of the table, its descriptor closed; idempotent */
void flow_end(struct flow *f);

#endif
