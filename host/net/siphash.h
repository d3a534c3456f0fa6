/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/siphash.h - a keyed hash that a guest cannot aim at */
#ifndef HUTCH_HOST_NET_SIPHASH_H
#define HUTCH_HOST_NET_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

struct siphash_key {
	uint64_t k[2];
};

/** siphash() - SipHash-2-4 of @len bytes, a multiple of 8 */
uint64_t siphash(const struct siphash_key *key, const void *buf, size_t len);

#endif
