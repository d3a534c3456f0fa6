/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/virtio/net.h - network device (virtio 1.2, 5.1)
 *
 * It moves frames between the guest's queues and a link (vmm/net/link.h), and
 * knows nothing of what is in them.  docs/devices/net.md tells what it does for
 * the host and for the guest.
 */
#ifndef HUTCH_VMM_VIRTIO_NET_H
#define HUTCH_VMM_VIRTIO_NET_H

#include "vmm/net/link.h"
#include "vmm/net/rate.h"
#include "vmm/virtio/device.h"

#define VIRTIO_NET_MAC_LEN 6u

/* IPv4's least and the largest packet that a frame holds. */
#define VIRTIO_NET_MTU_MIN 68u
#define VIRTIO_NET_MTU_MAX 65535u

/* Frames of one direction before it is the other's turn. */
#define VIRTIO_NET_TURN 64u

/* When the host has no memory for a system call: so long until the next. */
#define VIRTIO_NET_RETRY_MS 10u

/* So long a frame may wait for the buffers it needs; then it makes do. */
#define VIRTIO_NET_STARVE_MS 50u

/**
 * struct virtio_net_config - What virtio_net_new() needs
 * @link:	Taken over if 0 is returned
 * @mac:	Of the guest's interface
 * @mtu:	VIRTIO_NET_MTU_MIN to VIRTIO_NET_MTU_MAX
 * @rate:	Of each direction; zeros for no limit
 * @still:	Nothing is under way after virtio_net_pause(). Context: a
 *		thread of the device, lock held; as for @lost
 * @lost:	The link is gone, of @why, a negative errno
 * @jail:	Called by each thread first. Return: 0 or -errno
 */
struct virtio_net_config {
	struct net_link *link;
	uint8_t mac[VIRTIO_NET_MAC_LEN];
	unsigned int mtu;
	struct net_rate rate;
	void (*still)(void *ctx);
	void (*lost)(void *ctx, int why);
	int (*jail)(struct err *e);
	void *ctx;
};

/**
 * struct virtio_net_stats - Since the beginning
 * @tx_bad:	Frames of the guest that were no frames, or lied, or that the
 *		link had no memory for or could not take
 * @rx_dropped:	Frames for the guest that it had no room for, or that nobody
 *		may give it
 */
struct virtio_net_stats {
	uint64_t tx_frames;
	uint64_t tx_bytes;
	uint64_t tx_bad;
	uint64_t rx_frames;
	uint64_t rx_bytes;
	uint64_t rx_dropped;
	bool up;
};

struct virtio_net;

/** virtio_net_new() - No thread yet. Return: 0 or -errno with a sentence */
MUST_CHECK int virtio_net_new(const struct virtio_net_config *cfg,
			      struct virtio_net **ret, struct err *e);

/**
 * virtio_net_start() - Make the threads; returns when all are jailed
 *
 * Context: the transport is there.
 *
 * Return: 0 or -errno with a sentence; virtio_net_stop() cleans up either way
 */
MUST_CHECK int virtio_net_start(struct virtio_net *n, struct err *e);

/** virtio_net_stop() - End the threads. Context: the transport is there */
void virtio_net_stop(struct virtio_net *n);

/** virtio_net_free() - After virtio_net_stop() and the transport; takes NULL */
void virtio_net_free(struct virtio_net *n);

/** virtio_net_pause() - Begin nothing; @still tells of the end of the rest */
void virtio_net_pause(struct virtio_net *n);

/** virtio_net_is_paused() - Whether that was asked for and nothing goes on */
bool virtio_net_is_paused(struct virtio_net *n);

/**
 * virtio_net_resume() - Go on; the guest is asked to make itself known
 *
 * Context: any thread.
 */
void virtio_net_resume(struct virtio_net *n);

struct virtio_dev *virtio_net_dev(struct virtio_net *n);

/** virtio_net_stats() - Context: any thread */
void virtio_net_stats(struct virtio_net *n, struct virtio_net_stats *ret);

#endif
