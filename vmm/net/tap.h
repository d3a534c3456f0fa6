/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/net/tap.h - frames of a tap interface of the host
 *
 * Always with a struct vnet_hdr, so that the host's kernel computes checksums
 * and cuts segments where a frame leaves the machine, and never before.
 */
#ifndef HUTCH_VMM_NET_TAP_H
#define HUTCH_VMM_NET_TAP_H

#include "vmm/net/link.h"

#define NET_TAP_NAME_MAX 15u

/**
 * struct net_tap - Open queues of one interface; owned by who opened them
 * @fd:		@n of them
 * @offloads:	NET_OFFLOAD_* that it can do
 * @mtu:	Of the interface
 */
struct net_tap {
	int fd[NET_QUEUES_MAX];
	unsigned int n;
	unsigned int offloads;
	unsigned int mtu;
};

/**
 * net_tap_open() - Queues of an interface that is there already
 * @most:	Queues that the guest has use for; one if the interface has not
 *		been made for several
 *
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int net_tap_open(const char *name, unsigned int most,
			    struct net_tap *ret, struct err *e);

/**
 * net_tap_take() - A queue that somebody else has opened
 * @fd:		Taken over if 0 is returned
 *
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int net_tap_take(int fd, struct net_tap *ret, struct err *e);

/** net_tap_done() - Close what is still open */
void net_tap_done(struct net_tap *t);

/** net_tap_new() - A link of them, which are taken over. Return: 0, -ENOMEM */
MUST_CHECK int net_tap_new(struct net_tap *t, struct net_link **ret);

#endif
