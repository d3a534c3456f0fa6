/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/net_opt.h - the value of --net: a link and what the guest sees of it */
#ifndef HUTCH_VMM_NET_OPT_H
#define HUTCH_VMM_NET_OPT_H

#include <stdbool.h>

#include "common/err.h"
#include "vmm/net/rate.h"
#include "vmm/net/tap.h"
#include "vmm/virtio/net.h"

/* What a guest's interface has where nothing else is said. */
#define NET_OPT_MAC                                \
	{                                          \
		0x02, 0x68, 0x75, 0x74, 0x63, 0x02 \
	}
#define NET_OPT_MTU 1500u

/** enum net_kind - What the guest's frames go to */
enum net_kind {
	NET_NONE,
	NET_TAP,
	NET_FD, /* a tap or a stream: net_opt_open() sees which */
	NET_UNIX,
	NET_STREAM
};

/**
 * struct net_opt - A --net
 * @tap:	Name of the interface; once opened, its queues are in @queues
 * @path:	Of the socket, as it stands on the command line
 * @fd:		-1 until given or opened; then owned. Of a stream
 * @mtu:	0 if it was not given
 * @vnet:	Frames of a stream have a struct vnet_hdr
 */
struct net_opt {
	enum net_kind kind;
	char tap[NET_TAP_NAME_MAX + 1];
	struct net_tap queues;
	const char *path;
	size_t path_len;
	int fd;
	uint8_t mac[VIRTIO_NET_MAC_LEN];
	unsigned int mtu;
	struct net_rate rate;
	bool vnet;
};

/**
 * net_opt_parse() - "tap=IF,mac=...": touches nothing but @ret
 * @v:		Borrowed as long as @ret is used
 *
 * Return: 0, or -EINVAL or -ERANGE with a sentence
 */
MUST_CHECK int net_opt_parse(const char *v, struct net_opt *ret, struct err *e);

/**
 * net_opt_open() - Open what was named, or see what the descriptor is
 * @most:	Queues that the guest has use for
 *
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int net_opt_open(struct net_opt *o, unsigned int most,
			    struct err *e);

/** net_opt_close() - Close what is still open */
void net_opt_close(struct net_opt *o);

/** net_opt_link() - A link of what is open. Return: 0 or -ENOMEM */
MUST_CHECK int net_opt_link(struct net_opt *o, struct net_link **ret);

#endif
