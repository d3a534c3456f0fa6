/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/vnet.h - struct virtio_net_hdr_v1: what of a frame nobody has computed
 *
 * Spec: virtio 1.2, 5.1.6. The same on a device's queue, a tap and a stream.
 */
#ifndef HUTCH_COMMON_VNET_H
#define HUTCH_COMMON_VNET_H

#include "common/le.h"

#define VNET_NEEDS_CSUM 1u
#define VNET_DATA_VALID 2u

#define VNET_GSO_NONE   0u
#define VNET_GSO_TCPV4  1u
#define VNET_GSO_TCPV6  4u
#define VNET_GSO_UDP_L4 5u
#define VNET_GSO_ECN    0x80u /* beside one of TCP */

struct vnet_hdr {
	uint8_t flags;
	uint8_t gso_type;
	le16 hdr_len;
	le16 gso_size;
	le16 csum_start;
	le16 csum_offset;
	le16 num_buffers;
};
_Static_assert(sizeof(struct vnet_hdr) == 12, "virtio 1.2, 5.1.6");

#define VNET_HDR_LEN sizeof(struct vnet_hdr)

#endif
