/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/net_hdr.h - what a frame says of itself (virtio 1.2, 5.1.6) */
#ifndef HUTCH_VMM_VIRTIO_NET_HDR_H
#define HUTCH_VMM_VIRTIO_NET_HDR_H

#include "vmm/net/link.h"

/* Feature bits: virtio 1.2, 5.1.3. */
#define VIRTIO_NET_F_CSUM                (1ull << 0)
#define VIRTIO_NET_F_GUEST_CSUM          (1ull << 1)
#define VIRTIO_NET_F_CTRL_GUEST_OFFLOADS (1ull << 2)
#define VIRTIO_NET_F_MTU                 (1ull << 3)
#define VIRTIO_NET_F_MAC                 (1ull << 5)
#define VIRTIO_NET_F_GUEST_TSO4          (1ull << 7)
#define VIRTIO_NET_F_GUEST_TSO6          (1ull << 8)
#define VIRTIO_NET_F_GUEST_ECN           (1ull << 9)
#define VIRTIO_NET_F_HOST_TSO4           (1ull << 11)
#define VIRTIO_NET_F_HOST_TSO6           (1ull << 12)
#define VIRTIO_NET_F_HOST_ECN            (1ull << 13)
#define VIRTIO_NET_F_MRG_RXBUF           (1ull << 15)
#define VIRTIO_NET_F_STATUS              (1ull << 16)
#define VIRTIO_NET_F_CTRL_VQ             (1ull << 17)
#define VIRTIO_NET_F_CTRL_RX             (1ull << 18)
#define VIRTIO_NET_F_CTRL_RX_EXTRA       (1ull << 20)
#define VIRTIO_NET_F_GUEST_ANNOUNCE      (1ull << 21)
#define VIRTIO_NET_F_MQ                  (1ull << 22)
#define VIRTIO_NET_F_CTRL_MAC_ADDR       (1ull << 23)
#define VIRTIO_NET_F_GUEST_USO4          (1ull << 54)
#define VIRTIO_NET_F_GUEST_USO6          (1ull << 55)
#define VIRTIO_NET_F_HOST_USO            (1ull << 56)

/** net_hdr_host() - NET_OFFLOAD_* that a driver's frames may need, by features */
unsigned int net_hdr_host(uint64_t features);

/** net_hdr_guest() - The same of frames that it receives */
unsigned int net_hdr_guest(uint64_t features);

/** net_hdr_features() - Feature bits, both ways, of what a link can do */
uint64_t net_hdr_features(unsigned int offloads);

/**
 * net_hdr_check() - Whether a frame may say that of itself
 * @h:		A copy of ours; bits that mean nothing to us are cleared
 * @len:	Bytes of the frame, without @h
 * @may:	NET_OFFLOAD_* that were agreed upon for this direction
 * @rx:		It is for the guest, and may be known to be valid
 *
 * Return: 0, or -EBADMSG
 */
MUST_CHECK int net_hdr_check(struct vnet_hdr *h, size_t len, unsigned int may,
			     bool rx);

#endif
