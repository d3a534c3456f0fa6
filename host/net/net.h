/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/net.h - the network of one guest: frames here, host sockets there
 *
 * Works on what the loop hands it and keeps nothing that it need not: the
 * bytes of a TCP connection lie in the socket buffers of the host's kernel
 * until the guest has acknowledged them (tcp.h). A batch of events goes like
 * this:
 *
 *	frames of the guest, events of sockets	note what is to be done
 *	net's own deferred call, when they are over:
 *		turns	flows with something for the guest get turns, as long
 *			as the link has room
 *		settle	acknowledgements that no data carried
 *		flush	one send(2) for all of it
 *
 * Context: one thread, the loop's.
 */
#ifndef HUTCH_HOST_NET_NET_H
#define HUTCH_HOST_NET_NET_H

#include "host/net/flow.h"
#include "host/net/frag.h"
#include "host/net/link.h"
#include "host/net/packet.h"

#define NET_SCRATCH 65535u /* a piece of it */

/**
 * struct net_config - What a network is made of
 * @mtu:	NET_MTU_MIN to NET_MTU_MAX
 * @tcp_max:	Connections, NET_TCP_MAX at most; 0: so many
 * @udp_max:	Flows of UDP, NET_UDP_MAX at most; 0: so many
 * @new_burst:	Flows to outside that may begin at once, and then one each
 *		NET_NEW_NS; 0: no limit
 * @no_peek_off: Do as on a kernel without SO_PEEK_OFF for TCP (before 6.9)
 * @judge:	Asked about each new flow to somebody outside
 * @denied:	It was denied; for counting and telling
 * @is_local:	Whether @judge knows that @a is the host itself, and so meant what
 *		it said. May be NULL: it is never asked whether the host is
 * @intercept:	Of a flow with JUDGE_INTERCEPT: take @fd, one end of a stream
 *		socket, on which you are the peer, and @up_fd, which is connected
 *		to whom the guest wanted (-1: it was not tried yet, or is an
 *		address of own.h, where nobody is), and 0; or -errno. What the
 *		guest has sent is still to come on @fd; it is TLS unless
 *		@a->plain. May be NULL: such flows are denied
 * @dns:		A datagram of @len bytes for the gateway's port 53, to be
 *		answered by udp_to_guest(). May be NULL: nobody listens there
 * @dns_stream:	The same of TCP: take @fd, as of @intercept
 * @over:	The link has ended, by -errno or 0; no call of net's follows
 * @arg:	For these
 */
struct net_config {
	uint32_t mtu;
	unsigned int tcp_max;
	unsigned int udp_max;
	unsigned int new_burst;
	bool no_peek_off;
	struct verdict (*judge)(void *arg, const struct attempt *a);
	void (*denied)(void *arg, const struct attempt *a,
		       const struct verdict *v);
	bool (*is_local)(void *arg, const struct net_addr *a);
	int (*intercept)(void *arg, const struct attempt *a,
			 const struct verdict *v, int fd, int up_fd);
	void (*dns)(void *arg, const struct flow_key *key, const void *msg,
		    size_t len);
	int (*dns_stream)(void *arg, int fd);
	void (*over)(void *arg, int r);
	void *arg;
};

/**
 * struct net_stats - Counted since the start
 * @bad_frames:	Dropped since they were not what they said
 * @spoofed:	Dropped since their sender was not the guest
 * @unserved:	Dropped since nobody here speaks that: multicast and the like
 * @refused:	Flows that a limit did not let be, or not so soon
 * @evicted:	Flows that went since a newer one wanted to be
 */
struct net_stats {
	uint64_t frames_in;
	uint64_t frames_out;
	uint64_t bad_frames;
	uint64_t spoofed;
	uint64_t unserved;
	uint64_t fragments;
	uint64_t tcp_opened;
	uint64_t udp_opened;
	uint64_t ping_opened;
	uint64_t denied;
	uint64_t refused;
	uint64_t evicted;
	uint64_t retransmits;
};

/**
 * struct net_rate - How fast something may be done
 * @left:	Times that are left now
 * @most:	At once; 0: no limit
 * @each_ns:	Until there is one more
 * @filled_ns:	Up to when that was counted
 */
struct net_rate {
	unsigned int left;
	unsigned int most;
	uint64_t each_ns;
	uint64_t filled_ns;
};

/** struct net - See the head of this file */
struct net {
	struct loop *loop;
	struct link link;
	struct net_config cfg;
	struct net_stats stats;
	struct flows flows;
	struct frags frags;
	struct siphash_key isn_key;
	struct loop_defer batch;
	uint64_t now_ns;       /* of this batch; 0 if not asked for yet */
	uint64_t heard_ns;     /* when the guest's last frame came */
	struct net_rate begin; /* of flows to outside */
	struct list half;      /* TCP that is not open yet, oldest first */
	unsigned int n_half;
	struct list owed; /* TCP whose guest is owed an acknowledgement */
	struct loop_timer owed_timer;
	unsigned int tcp_max; /* NET_TCP_MAX, or what descriptors allow */
	struct list looks;    /* TCP that is being looked at, oldest first */
	unsigned int n_look;
	unsigned int n_large; /* flows with buffers as large as they get */
	unsigned int n_own;   /* TCP whose other end nobody has yet */
	bool peek_off;
	uint8_t *scratch; /* for what is being composed: DGRAM_BATCH pieces */
	uint16_t ip4_id;
	uint32_t ip6_id;
};

/**
 * net_open() - Begin to serve a guest
 * @fd:		The link; the network's from now on
 *
 * Return: 0, or -errno with a sentence, and @fd is still the caller's
 */
MUST_CHECK int net_open(struct net *n, struct loop *loop, int fd,
			const struct net_config *cfg, struct err *e);

/** net_close() - End all of it; takes a half-made and a closed one too */
void net_close(struct net *n);

/** net_wake() - Something happened: do what is due at the end of the batch */
void net_wake(struct net *n);

/** net_now() - CLOCK_MONOTONIC, asked once a batch */
uint64_t net_now(struct net *n);

/** net_rate() - So many at once and one each so long after, from now on */
struct net_rate net_rate(unsigned int most, uint64_t each_ns);

/** net_rate_take() - Whether it may be done once more; no: it is counted */
bool net_rate_take(struct net *n, struct net_rate *r);

/**
 * net_may_begin() - Whether one more flow to outside may begin now
 *
 * Asked before it is judged, since that takes time too. If not, say nothing: the
 * guest asks again, and slows down by that.
 */
bool net_may_begin(struct net *n);

/** net_judge() - Ask the policy, and tell of a denial */
struct verdict net_judge(struct net *n, const struct attempt *a);

/**
 * net_connect() - sock_connect(), but not to the host itself unawares
 *
 * Return: the descriptor, or -errno; -EACCES: told as a denial
 */
MUST_CHECK int net_connect(struct net *n, const struct flow_key *key);

/** net_is_crowded() - Whether one more flow is to have small buffers */
bool net_is_crowded(const struct net *n);

/** net_judge_key() - The same, of a flow that is to be */
struct verdict net_judge_key(struct net *n, const struct flow_key *key);

/**
 * net_judge_all() - Judge all flows once more: the policy has changed
 *
 * Those that are not allowed any more end. So do those that the new policy wants
 * looked at and nobody has: their first bytes are gone.
 */
void net_judge_all(struct net *n);

/** net_judge_some() - The same, of flows to an address that @is says */
void net_judge_some(struct net *n,
		    bool (*is)(void *arg, const struct net_addr *peer),
		    void *arg);

/** net_frame() - A frame of the guest's, from its vnet header on */
void net_frame(struct net *n, const uint8_t *frame, size_t len);

#endif
