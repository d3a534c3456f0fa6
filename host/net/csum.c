/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/csum.c - see csum.h */
#include <string.h>

#include "host/net/csum.h"
#include "host/net/proto.h"

/*
 * In the machine's byte order, 32 bits at a time: the sum of ones' complement
 * does not depend on it, so that the result only has to be stored as it is.
 */
uint64_t csum_add(uint64_t sum, const void *buf, size_t len)
{
	const uint8_t *p = buf;
	uint32_t w;
	uint16_t h = 0;

	for (; len >= sizeof(w); len -= sizeof(w), p += sizeof(w)) {
		memcpy(&w, p, sizeof(w));
		sum += w;
	}
	for (; len >= sizeof(h); len -= sizeof(h), p += sizeof(h)) {
		memcpy(&h, p, sizeof(h));
		sum += h;
	}
	if (len) {
		h = 0;
		memcpy(&h, p, 1);
		sum += h;
	}
	return sum;
}

uint64_t csum_pseudo(const void *l3, bool v6, uint8_t proto, size_t l4_len)
{
	const be32 tail[2] = { be32_put((uint32_t)l4_len), be32_put(proto) };
	uint64_t sum = csum_add(0, tail, sizeof(tail));
	const struct ip4_hdr *ip4 = l3;
	const struct ip6_hdr *ip6 = l3;

	if (v6)
		return csum_add(sum, ip6->src, 32);
	return csum_add(sum, ip4->src, 8);
}

static uint16_t fold(uint64_t sum)
{
	sum = (sum >> 32) + (sum & 0xffffffffu);
	for (int i = 0; i < 3; i++)
		sum = (sum >> 16) + (sum & 0xffffu);
	return (uint16_t)sum;
}

be16 csum_fold(uint64_t sum)
{
	uint16_t v = fold(sum);
	be16 r;

	memcpy(&r, &v, sizeof(r));
	return r;
}

be16 csum_end(uint64_t sum)
{
	uint16_t v = (uint16_t)~fold(sum);
	be16 r;

	memcpy(&r, &v, sizeof(r));
	return r;
}
