/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/net_dev.h - what the files of the network device share */
#ifndef HUTCH_VMM_VIRTIO_NET_DEV_H
#define HUTCH_VMM_VIRTIO_NET_DEV_H

#include "vmm/virtio/crew.h"
#include "vmm/virtio/net.h"
#include "vmm/virtio/net_hdr.h"

#define NET_QUEUE_MAX 256u

/* Pieces in one system call, of 1,024 that Linux takes. */
#define NET_IOV_MAX 1000u

/* Configuration space as the driver sees it: virtio 1.2, 5.1.4. */
struct net_config_space {
	uint8_t mac[VIRTIO_NET_MAC_LEN];
	le16 status;
	le16 max_pairs;
	le16 mtu;
};
_Static_assert(sizeof(struct net_config_space) == 12, "virtio 1.2, 5.1.4");

#define NET_S_LINK_UP  1u
#define NET_S_ANNOUNCE 2u

/** struct net_buf - A buffer that the driver gave: @n pieces of net_rx.iov */
struct net_buf {
	uint16_t head;
	uint16_t n;
	uint32_t len;
};

/**
 * struct net_rx - Buffers that wait for frames, taken off the queue already
 * @chain:	Only while one is taken off
 * @buf:	@n_buf of them, in order
 * @iov:	@n_iov pieces, of all
 * @len:	Bytes of all
 * @hdr:	Of the frame under way
 * @io:		What the link is given: @hdr, pieces, and one of its own
 * @starved_ns:	Since when there have been too few; 0: there are enough
 * @frames:	And the next: see struct virtio_net_stats
 */
struct net_rx {
	struct virtq_chain chain;
	struct net_buf buf[NET_QUEUE_MAX];
	unsigned int n_buf;
	struct iovec iov[NET_IOV_MAX];
	unsigned int n_iov;
	size_t len;
	struct vnet_hdr hdr;
	struct iovec io[NET_IOV_MAX + 2];
	uint64_t starved_ns;
	uint64_t frames;
	uint64_t bytes;
	uint64_t dropped;
};

/** struct net_tx - The frame under way; @io: the link's, @hdr, pieces */
struct net_tx {
	struct virtq_chain chain;
	struct vnet_hdr hdr;
	struct iovec io[NET_QUEUE_MAX + 2];
	uint64_t frames;
	uint64_t bytes;
	uint64_t bad;
};

/** enum net_dir - Of the queues of a pair, in their order: 5.1.2 */
enum net_dir {
	NET_RX = 0,
	NET_TX = 1
};

/**
 * struct net_pair - A queue to receive, one to send, and their thread
 * @busy:	The thread is in a system call that touches buffers of that
 *		queue (enum net_dir), without the lock
 * @want_in:	It waits for the link to have a frame
 * @want_out:	It waits for the link to take one
 * @wake_ns:	It looks again then; 0: never
 * @fd:		Notifications: of its queues, and of the control queue
 */
struct net_pair {
	struct virtio_net *n;
	unsigned int i;
	pthread_t id;
	bool busy[2];
	bool want_in;
	bool want_out;
	uint64_t wake_ns;
	int fd[3];
	struct net_rx rx;
	struct net_tx tx;
};

/**
 * struct virtio_net - All but what never changes is under @vd.lock
 * @ops:	Ours, with the number of queues and the features
 * @pair:	@n_pairs of them; the first serves the control queue too
 * @n_active:	Pairs that the driver uses
 * @set_up:	The link knows what was agreed upon, since the last reset
 * @host:	NET_OFFLOAD_* of frames that the driver sends
 * @guest:	And of those it receives
 * @up:		The link is there
 * @crew:	The threads' beginning
 * @ctrl:	Of the control queue
 */
struct virtio_net {
	struct virtio_dev vd;
	struct virtio_ops ops;
	struct virtio_net_config cfg;
	struct net_link *link;
	struct net_config_space space;
	struct net_limit tx_limit;
	struct net_limit rx_limit;
	pthread_cond_t calm;
	struct net_pair *pair;
	unsigned int n_pairs;
	unsigned int n_active;
	bool set_up;
	unsigned int host;
	unsigned int guest;
	bool up;
	bool paused;
	bool quit;
	struct crew crew;
	struct virtq_chain ctrl;
};

static inline unsigned int net_rx_queue(const struct net_pair *p)
{
	return 2 * p->i;
}

static inline unsigned int net_tx_queue(const struct net_pair *p)
{
	return 2 * p->i + 1;
}

static inline void net_lock(struct virtio_net *n)
{
	(void)pthread_mutex_lock(&n->vd.lock);
}

static inline void net_unlock(struct virtio_net *n)
{
	(void)pthread_mutex_unlock(&n->vd.lock);
}

/* All of them: lock held. */

/** net_is_still() - Whether no system call that touches buffers is under way */
bool net_is_still(const struct virtio_net *n);

/** net_is_agreed() - Whether the driver runs, and the link knows what with */
bool net_is_agreed(const struct virtio_net *n);

/** net_wake() - All threads look at what has changed */
void net_wake(struct virtio_net *n);

/** net_may_serve() - Whether @p may begin anything */
bool net_may_serve(const struct net_pair *p);

/** net_begin() - Give the lock up, for a system call that touches buffers */
void net_begin(struct net_pair *p, enum net_dir dir);

/**
 * net_end() - Take it again
 *
 * Return: whether the device is still the driver's, so that what was done is to
 * be finished; whether more may be begun only net_may_serve() tells
 */
MUST_CHECK bool net_end(struct net_pair *p, enum net_dir dir);

/** net_lost() - The link is gone; what waits for it is given back */
void net_lost(struct virtio_net *n, int why);

/** net_flush() - What is left of frames. Return: true if @p waits with some left */
bool net_flush(struct net_pair *p);

/** net_retry() - The host has no memory now: @p looks again a little later */
void net_retry(struct net_pair *p);

/** net_wake_at() - Have the thread of @p look again at that time */
void net_wake_at(struct net_pair *p, uint64_t at_ns);

/**
 * net_rx_serve() - Frames from the link to the guest, a turn of them
 *
 * Return: 1 if there is more to do, 0 if @p tells what for to wait, -EBADMSG
 */
MUST_CHECK int net_rx_serve(struct net_pair *p);

/** net_rx_drop() - Forget the buffers: the driver takes them back */
void net_rx_drop(struct net_pair *p);

/** net_tx_serve() - The other way. Return: as net_rx_serve() */
MUST_CHECK int net_tx_serve(struct net_pair *p);

/** net_ctrl_queue() - Which it is: 5.1.2 */
unsigned int net_ctrl_queue(const struct virtio_net *n);

/** net_ctrl_serve() - All requests that there are. Return: 0 or -EBADMSG */
MUST_CHECK int net_ctrl_serve(struct virtio_net *n);

#endif
