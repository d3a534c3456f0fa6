/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/net_hdr.c - see net_hdr.h */
#include <errno.h>

#include "vmm/virtio/net_hdr.h"

#define CSUM_LEN 2u

/* Each offload, and the features of a driver that has it one way and the other;
 * USO of guests comes for both IPs or not at all.
 */
static const struct {
	unsigned int offload;
	uint64_t host;
	uint64_t guest;
} map[] = {
	{ NET_OFFLOAD_CSUM, VIRTIO_NET_F_CSUM, VIRTIO_NET_F_GUEST_CSUM },
	{ NET_OFFLOAD_TSO4, VIRTIO_NET_F_HOST_TSO4, VIRTIO_NET_F_GUEST_TSO4 },
	{ NET_OFFLOAD_TSO6, VIRTIO_NET_F_HOST_TSO6, VIRTIO_NET_F_GUEST_TSO6 },
	{ NET_OFFLOAD_ECN, VIRTIO_NET_F_HOST_ECN, VIRTIO_NET_F_GUEST_ECN },
	{ NET_OFFLOAD_USO, VIRTIO_NET_F_HOST_USO,
	  VIRTIO_NET_F_GUEST_USO4 | VIRTIO_NET_F_GUEST_USO6 },
};

/* What rests on checksums is not there without them: 5.1.3.1. */
static unsigned int settle(unsigned int offloads)
{
	if (!(offloads & NET_OFFLOAD_CSUM))
		return 0;
	if (!(offloads & (NET_OFFLOAD_TSO4 | NET_OFFLOAD_TSO6)))
		offloads &= ~NET_OFFLOAD_ECN;
	return offloads;
}

unsigned int net_hdr_host(uint64_t features)
{
	unsigned int o = 0;

	for (size_t i = 0; i < ARRAY_LEN(map); i++)
		if (features & map[i].host)
			o |= map[i].offload;
	return settle(o);
}

unsigned int net_hdr_guest(uint64_t features)
{
	unsigned int o = 0;

	for (size_t i = 0; i < ARRAY_LEN(map); i++)
		if ((features & map[i].guest) == map[i].guest)
			o |= map[i].offload;
	return settle(o);
}

uint64_t net_hdr_features(unsigned int offloads)
{
	uint64_t f = 0;

	for (size_t i = 0; i < ARRAY_LEN(map); i++)
		if (offloads & map[i].offload)
			f |= map[i].host | map[i].guest;
	return f;
}

static unsigned int offload_of(unsigned int gso_type)
{
	switch (gso_type) {
	case VNET_GSO_TCPV4:
		return NET_OFFLOAD_TSO4;
	case VNET_GSO_TCPV6:
		return NET_OFFLOAD_TSO6;
	case VNET_GSO_TCPV4 | VNET_GSO_ECN:
		return NET_OFFLOAD_TSO4 | NET_OFFLOAD_ECN;
	case VNET_GSO_TCPV6 | VNET_GSO_ECN:
		return NET_OFFLOAD_TSO6 | NET_OFFLOAD_ECN;
	case VNET_GSO_UDP_L4:
		return NET_OFFLOAD_USO;
	default:
		return 0;
	}
}

int net_hdr_check(struct vnet_hdr *h, size_t len, unsigned int may, bool rx)
{
	unsigned int known = VNET_NEEDS_CSUM | (rx ? VNET_DATA_VALID : 0);
	size_t start = le16_get(h->csum_start);

	/* Unknown flags are ignored: 5.1.6.2. */
	h->flags = (uint8_t)(h->flags & known);
	h->num_buffers = le16_put(0);
	if (!(may & NET_OFFLOAD_CSUM) && rx)
		h->flags = (uint8_t)(h->flags & ~VNET_DATA_VALID);
	if (h->flags & VNET_NEEDS_CSUM) {
		if (!(may & NET_OFFLOAD_CSUM))
			return -EBADMSG;
		/* Two numbers of 16 bits each. */
		if (start + le16_get(h->csum_offset) + CSUM_LEN > len)
			return -EBADMSG;
	}
	if (h->gso_type != VNET_GSO_NONE) {
		unsigned int need = offload_of(h->gso_type);

		if (!need || (need & may) != need)
			return -EBADMSG;
		if (!(h->flags & VNET_NEEDS_CSUM))
			return -EBADMSG;
		if (le16_get(h->gso_size) == 0 || le16_get(h->gso_size) > len)
			return -EBADMSG;
	}
	return le16_get(h->hdr_len) > len ? -EBADMSG : 0;
}
