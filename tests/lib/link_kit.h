/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/link_kit.h - a network without a guest: frames made by hand
 *
 * The engine of hutch-net with its link's other end in the test's hands. What
 * the policy says is a field; streams that end here are handed to the test.
 */
#ifndef HUTCH_TESTS_LIB_LINK_KIT_H
#define HUTCH_TESTS_LIB_LINK_KIT_H

#include "host/net/ends.h"
#include "host/net/net.h"
#include "host/net/proto.h"

#define LK_FRAME_MAX 70000u

/**
 * struct link_kit - The network, and what it has said
 * @how:	What the policy says to all there is
 * @asked:	How often it was asked; @attempt was the last
 * @denied:	How often it told of a denial
 * @stream:	The far end of the last stream that ended here, or -1
 * @over, @result: The link's end
 */
struct link_kit {
	struct loop loop;
	struct net net;
	int link;
	enum judgment how;
	unsigned int asked;
	struct attempt attempt;
	unsigned int denied;
	int stream;
	bool over;
	int result;
};

/** struct lk_tcp - A connection as the guest has it */
struct lk_tcp {
	struct net_addr peer;
	uint16_t port;
	uint16_t peer_port;
	uint32_t seq;
	uint32_t ack;
	uint16_t window;
};

/** lk_init() - A network with an MTU of 65520 that allows all */
void lk_init(struct link_kit *k);
void lk_init_with(struct link_kit *k, struct net_config cfg);
void lk_done(struct link_kit *k);

/** lk_run() - Serve until there is nothing to do */
void lk_run(struct link_kit *k);

/** lk_send() - A frame from Ethernet on, and what follows from it */
void lk_send(struct link_kit *k, const void *frame, size_t len);

/** lk_recv() - The next frame, from Ethernet on. Return: bytes, 0: none */
size_t lk_recv(struct link_kit *k, uint8_t buf[LK_FRAME_MAX]);

/** lk_wait() - The same, but wait for it; aborts if it never comes */
size_t lk_wait(struct link_kit *k, uint8_t buf[LK_FRAME_MAX]);

/* Frames of the guest's. Each returns its length; checksums are right. */
size_t lk_eth(uint8_t *buf, uint16_t type);
size_t lk_ip4(uint8_t *buf, uint8_t proto, const struct net_addr *dst,
	      const void *l4, size_t len);
size_t lk_ip6(uint8_t *buf, uint8_t proto, const struct net_addr *dst,
	      const void *l4, size_t len);

/** lk_csum4() - Make an IPv4 frame's header checksum right again */
void lk_csum4(uint8_t *frame);

/** lk_segment() - Send a segment of @t's, with @len bytes at @data */
void lk_segment(struct link_kit *k, struct lk_tcp *t, uint8_t flags,
		const void *data, size_t len);

/**
 * lk_answer() - The next segment for @t
 * @ret_data:	NULL, or where its @ret_len bytes lie, until the next call
 *
 * Return: its header, in host order what is asked for by be*_get(); NULL: none
 */
const struct tcp_hdr *lk_answer(struct link_kit *k, const struct lk_tcp *t,
				const uint8_t **ret_data, size_t *ret_len);

/** lk_open() - Open a connection that ends here; @k->stream is its far end */
void lk_open(struct link_kit *k, struct lk_tcp *t);

#endif
