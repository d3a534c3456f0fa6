/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/fake_net.h - a network device, its driver, and who is at the other
 * end of its stream
 *
 * The device has its own thread; the test is the vCPU and the peer.
 */
#ifndef HUTCH_TESTS_FAKE_NET_H
#define HUTCH_TESTS_FAKE_NET_H

#include "tests/lib/fake_guest.h"
#include "vmm/net/stream.h"
#include "vmm/virtio/net_dev.h"

#define FN_QUEUE 16u
#define FN_RX    0u
#define FN_TX    1u
#define FN_CTRL  2u

/* Of buffer @i of a queue in guest memory: room for the largest frame in two. */
#define FN_BUF_LEN    0x8800u
#define FN_BUF(qi, i) (FG_DATA + ((qi)*FN_QUEUE + (i)) * (uint64_t)FN_BUF_LEN)
#define FN_RAM        (FN_BUF(3, 0) + 0x10000u)

/**
 * struct fake_net - All of it
 * @features:	What the driver has accepted
 * @peer:	The other end; -1: closed, or no stream
 * @lost:	Times the link was lost
 * @still:	Times it was told that nothing is under way
 */
struct fake_net {
	struct fake_guest g;
	struct virtio_mmio m;
	struct irq irq;
	struct virtio_net *n;
	uint64_t features;
	int peer;
	atomic_uint lost;
	atomic_uint still;
};

/** fake_net_new() - A device on a stream, with a net_hdr or without */
struct fake_net *fake_net_new(bool vnet, const struct net_rate *rate);

/** fake_net_new_on() - A device on another link, which is taken over */
struct fake_net *fake_net_new_on(struct net_link *link,
				 const struct net_rate *rate);

/** fake_net_new_pairs() - One of several pairs, of which the first has a link */
struct fake_net *fake_net_new_pairs(unsigned int n_pairs);

void fake_net_free(struct fake_net *t);

/** fake_net_boot() - Reset it and start its driver; VERSION_1 is added */
void fake_net_boot(struct fake_net *t, uint64_t features);

/** struct fake_piece - What a descriptor says */
struct fake_piece {
	uint64_t at;
	uint32_t len;
	unsigned int flags;
	uint16_t next;
};

/** fake_net_desc() - Descriptor @i of queue @qi */
void fake_net_desc(struct fake_net *t, unsigned int qi, unsigned int i,
		   struct fake_piece p);

/** fake_net_offer() - Make descriptor @head available, and notify */
void fake_net_offer(struct fake_net *t, unsigned int qi, uint16_t head);

/** fake_net_give() - A buffer of @len bytes to receive into: descriptor @i */
void fake_net_give(struct fake_net *t, unsigned int i, uint32_t len);

/** fake_net_send() - A frame of @len bytes after @h, in descriptor @i */
void fake_net_send(struct fake_net *t, unsigned int i, const struct vnet_hdr *h,
		   const void *frame, uint32_t len);

/** fake_net_take() - Wait for a used entry of @qi. Return: its head */
unsigned int fake_net_take(struct fake_net *t, unsigned int qi, uint32_t *len);

/** fake_net_command() - On the control queue. Return: the answer, 0 for OK */
uint8_t fake_net_command(struct fake_net *t, uint8_t class, uint8_t command,
			 const void *args, uint32_t len);

/** fake_net_put() - The peer sends a frame */
void fake_net_put(struct fake_net *t, const void *frame, uint32_t len);

/** fake_net_get() - The peer takes one of up to @cap bytes. Return: its bytes */
size_t fake_net_get(struct fake_net *t, void *frame, size_t cap);

/** fake_net_frame() - Bytes that say which frame it is */
void fake_net_frame(uint8_t *frame, size_t len, unsigned int seed);

#endif
