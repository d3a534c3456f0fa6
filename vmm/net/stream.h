/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/net/stream.h - frames over a Unix stream socket
 *
 * QEMU's "-netdev stream": each frame is its length, 32 bits, big-endian, and
 * its bytes.  passt speaks it.  A peer that knows of it has a struct vnet_hdr
 * in front of each frame, inside the length: then neither side computes
 * checksums or cuts segments that never leave the machine.
 */
#ifndef HUTCH_VMM_NET_STREAM_H
#define HUTCH_VMM_NET_STREAM_H

#include "vmm/net/link.h"

/**
 * net_stream_new() - A link of one queue
 * @fd:		Connected; taken over, on failure too.  Whether it blocks does
 *		not matter, and is not changed: the peer may share that
 * @vnet:	Frames have a struct vnet_hdr
 *
 * Return: 0 or -ENOMEM
 */
MUST_CHECK int net_stream_new(int fd, bool vnet, struct net_link **ret);

/** net_stream_connect() - To a socket by its path. Return: fd or -errno */
MUST_CHECK int net_stream_connect(const char *path, struct err *e);

#endif
