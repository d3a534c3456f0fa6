/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/net/link.h - where a guest's frames go and come from
 *
 * A link has one or more queues, each used by one thread.  It carries whole
 * Ethernet frames, with a struct vnet_hdr in front of each if @vnet says so.
 * Nothing here blocks: a link that cannot go on says -EAGAIN, and its
 * descriptor tells when it can.
 *
 * Pieces of frames (struct iovec) may be guest memory, even of a window
 * (core/mem.h), so links touch them by system calls and gmem_copy() alone.
 */
#ifndef HUTCH_VMM_NET_LINK_H
#define HUTCH_VMM_NET_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "common/err.h"
#include "common/vnet.h"
#include "vmm/core/mem.h"

/* Sizes of a frame, without a net_hdr. */
#define NET_FRAME_MIN 14u            /* an Ethernet header */
#define NET_FRAME_MAX (65535u + 14u) /* the largest IP packet and a header */

#define NET_QUEUES_MAX 32u

/* What may be left to whoever is at the other end of a frame's way. */
#define NET_OFFLOAD_CSUM 0x01u
#define NET_OFFLOAD_TSO4 0x02u
#define NET_OFFLOAD_TSO6 0x04u
#define NET_OFFLOAD_ECN  0x08u
#define NET_OFFLOAD_USO  0x10u

struct net_link;

/**
 * struct net_link_ops - A kind of link; const
 * @fd:		Of queue @q, to poll
 * @next:	Bytes of room that the next frame of @q may need.
 *		Return: as @recv, but 0 is never returned
 * @recv:	Receive a frame into @iov, @n pieces, with room for one piece
 *		more behind them, which is the link's.
 *		Return: its bytes; -EAGAIN if there is none, or not all of it:
 *		then call again with the same @iov; -EMSGSIZE if it had no room
 *		and is lost; -EFAULT if memory of the guest cannot be had;
 *		-ENOBUFS if the host has no memory for it now: call again a
 *		little later, with the same @iov; any other error: the link is
 *		gone
 * @skip:	Drop what there is of a frame that @recv has begun
 * @send:	Send a frame of @len bytes, @n pieces from @iov[1] on; @iov[0] is
 *		the link's.  Return: 0; -EAGAIN; -EFAULT or -EINVAL if this frame
 *		is lost, as it cannot be sent or the host has no memory for it;
 *		any other error: the link is gone
 * @flush:	Send what @send took and did not send, @unsent bytes: to be called
 *		when no more frames are at hand.
 *		Return: 0; -EAGAIN, or -ENOBUFS as of @recv, if some is left; or
 *		the link is gone
 * @offload:	NET_OFFLOAD_* that frames of @recv may have from now on.
 *		Return: 0 or -errno
 * @spread:	Frames come on the first @n queues from now on.
 *		Return: 0 or -errno: then it is between the old and the new
 * @free:	Close and free
 */
struct net_link_ops {
	int (*fd)(struct net_link *l, unsigned int q);
	ssize_t (*next)(struct net_link *l, unsigned int q);
	ssize_t (*recv)(struct net_link *l, unsigned int q, struct iovec *iov,
			int n);
	void (*skip)(struct net_link *l, unsigned int q);
	int (*send)(struct net_link *l, unsigned int q, struct iovec *iov,
		    int n, size_t len);
	int (*flush)(struct net_link *l, unsigned int q);
	int (*offload)(struct net_link *l, unsigned int offloads);
	int (*spread)(struct net_link *l, unsigned int n);
	void (*free)(struct net_link *l);
};

/**
 * struct net_link - Embedded first in each link's own struct
 * @mem:	For gmem_copy(); NULL until the guest's memory is there, or if
 *		it has no windows
 * @n_queues:	1 to NET_QUEUES_MAX
 * @vnet:	Frames have a struct vnet_hdr in front
 * @offloads:	NET_OFFLOAD_* that it can do, both ways; 0 without @vnet
 * @mtu:	Its own, or 0 if it has none
 * @unsent:	Of the link alone to write: see @flush
 */
struct net_link {
	const struct net_link_ops *ops;
	const struct gmem *mem;
	unsigned int n_queues;
	bool vnet;
	unsigned int offloads;
	unsigned int mtu;
	size_t unsent;
};

/**
 * net_link_error() - What a link returns when a system call has failed
 *
 * Return: -@code, but -EAGAIN and -ENOBUFS for all that mean the same
 */
int net_link_error(int code);

/** net_link_free() - Takes NULL */
void net_link_free(struct net_link *l);

/** net_iov_len() - Bytes of @n pieces */
size_t net_iov_len(const struct iovec *iov, int n);

/**
 * net_iov_cut() - Have @iov begin @skip bytes later and be @len bytes long
 *
 * Return: pieces that are left, moved to the front of @iov
 */
int net_iov_cut(struct iovec *iov, int n, size_t skip, size_t len);

#endif
