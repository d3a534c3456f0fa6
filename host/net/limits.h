/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/limits.h - what one guest can take of the host's network, at most
 *
 * All in one place, since they are to be read together: memory is about
 * NET_TCP_MAX * 400 bytes of ours and the kernel's socket buffers (bounded by
 * net.ipv4.tcp_rmem and tcp_wmem), descriptors are NET_FDS_MAX.
 */
#ifndef HUTCH_HOST_NET_LIMITS_H
#define HUTCH_HOST_NET_LIMITS_H

#include <stddef.h>

/* Flows of each kind. Of one too many the oldest goes; of TCP that is open only if
 * it is half closed or has been idle for TCP_IDLE_NS, else the new one is refused. */
#define NET_TCP_MAX       4096u
#define NET_HALF_MAX      256u /* of them: SYN seen, not open on both sides */
#define NET_UDP_MAX       1024u
#define NET_PING_MAX      64u
#define NET_LOOK_MAX      128u /* of them: bytes held until they were judged */
#define NET_INTERCEPT_MAX 256u /* and of them: three descriptors each */
#define NET_OWN_MAX       256u /* to own.h's, nothing said yet: two each */

/*
 * How fast flows to outside may begin: so many at once, and one each NET_NEW_NS. A
 * connection leaves its host an entry of conntrack for two minutes, and a port of
 * its own for one, so that a rate is a number of these too.
 */
#define NET_NEW_BURST 1024u
#define NET_NEW_NS    4000000ull /* 250 a second */

/*
 * What the host's kernel keeps for flows is the host's memory, of all that run on
 * it. So the buffers of a few may become as large as the host lets them (6 MiB and
 * 4 MiB of TCP, as Linux comes); each of the others has so many bytes each way,
 * and what managing them costs, as much again: at most 0.7 GiB of all of these.
 */
#define NET_LARGE_MAX    128u
#define NET_SMALL_BUFFER (64 << 10)

/* Descriptors: a socket for each flow, and the few that are always open. */
#define NET_FDS_OTHER \
	(256u + 2u * NET_INTERCEPT_MAX + NET_OWN_MAX) /* DNS has up to 160 */
#define NET_FDS_MAX (NET_TCP_MAX + NET_UDP_MAX + NET_PING_MAX + NET_FDS_OTHER)

/* The link. */
#define NET_MTU_MIN    1280u
#define NET_MTU_MAX    65520u
#define NET_FRAME_MAX  ((size_t)65535 + 14 + 12)
#define LINK_IN_MAX    (256u << 10)
#define LINK_OUT_MAX   (768u << 10)
#define LINK_OUT_SPARE (64u << 10) /* kept for answers when data fills it */

/* A header without data, of any kind. */
#define NET_BARE_MAX 128u

/* Whoever has a turn can send: the largest datagram, in pieces if need be. */
#define NET_TURN_ROOM (2 * NET_FRAME_MAX)

/* Reassembly. */
#define FRAG_DATAGRAMS_MAX 8u
#define FRAG_PIECES_MAX    64u /* of one datagram: 64 KiB in 1280s, and some */
#define FRAG_TIMEOUT_NS    (5ull * 1000000000)
#define IP6_EXT_MAX        8u

/* TCP. */
#define TCP_INFLIGHT_MAX   (1u << 20) /* bytes that the guest has not acked */
#define TCP_WINDOW_MAX     (4u << 20)
#define TCP_WSCALE         7u
#define TCP_MSS_MIN        128u
#define TCP_MSS_UNSAID     536u
#define TCP_ACK_NS         1000000ull /* an answer may carry it until then */
#define TCP_ACK_BYTES      4096u      /* more than that is acked at once */
#define TCP_ACK_QUICK      16u        /* so are so many after one that waited */
#define TCP_RETRY_NS       (1ull * 1000000000) /* doubled each time */
#define TCP_DOUBLINGS_MAX  6u
#define TCP_RETRIES_MAX    12u
#define TCP_HALF_RETRIES   5u
#define TCP_CONNECT_NS     (130ull * 1000000000)
#define TCP_HALF_CLOSED_NS (60ull * 1000000000)   /* then the guest is asked */
#define TCP_IDLE_NS        (3600ull * 1000000000) /* may go for another */
#define TCP_LOOK_NS        (10ull * 1000000000)
#define TCP_LOOK_BYTES_MAX (64u << 10)
#define TCP_TURN_BYTES     (256u << 10) /* of one flow before the next has one */

/* Interceptions. Of one too many the one goes that rests the longest. */
#define INTERCEPT_BEGIN_NS (30ull * 1000000000)   /* TLS on both sides */
#define INTERCEPT_REST_NS  (300ull * 1000000000)  /* between two requests */
#define INTERCEPT_IDLE_NS  (3600ull * 1000000000) /* in one, or a WebSocket */

/* DNS: questions under way, of all that the guest asks. */
#define NET_DNS_PORT      53u
#define DNS_ASKS_MAX      128u
#define DNS_NEW_BURST     512u /* that go to a resolver; each its own socket */
#define DNS_NEW_NS        2000000ull /* 500 a second */
#define DNS_STREAMS_MAX   16u
#define DNS_RESOLVERS_MAX 4u
#define DNS_ROUNDS        2u
#define DNS_TRIES_MIN     4u /* however few resolvers there are */
#define DNS_WAIT_NS       (2ull * 1000000000)
#define DNS_STREAM_NS     (10ull * 1000000000)

/* Datagrams. */
#define UDP_IDLE_NS     (180ull * 1000000000)
#define UDP_UNHEARD_NS  (30ull * 1000000000)
#define DGRAM_BATCH     5u  /* received with one system call */
#define UDP_TURN        32u /* datagrams of one flow before the next has one */
#define UDP_PAYLOAD_MAX 65527u
#define PING_IDLE_NS    (30ull * 1000000000)

#endif
