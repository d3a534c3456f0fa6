/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/csum.h - the Internet checksum, RFC 1071 */
#ifndef HUTCH_HOST_NET_CSUM_H
#define HUTCH_HOST_NET_CSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/net/be.h"

/** csum_add() - Add @len bytes to a sum; only the last piece may be odd */
uint64_t csum_add(uint64_t sum, const void *buf, size_t len);

/** csum_pseudo() - Sum of the pseudo-header of an IPv4 or IPv6 packet
 * @l3:		struct ip4_hdr or struct ip6_hdr: the addresses are taken
 * @l4_len:	Bytes of the transport's header and data
 */
uint64_t csum_pseudo(const void *l3, bool v6, uint8_t proto, size_t l4_len);

/** csum_fold() - The sum, not complemented: what NEEDS_CSUM starts from */
be16 csum_fold(uint64_t sum);

/** csum_end() - The sum's complement, as it stands in a header */
be16 csum_end(uint64_t sum);

#endif
