/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/siphash.c - see siphash.h; Aumasson and Bernstein, 2012 */
#include <string.h>

#include "common/base.h"
#include "host/net/siphash.h"

static uint64_t rotate(uint64_t v, int n)
{
	return v << n | v >> (64 - n);
}

static void mix(uint64_t v[4], int rounds)
{
	while (rounds-- > 0) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

uint64_t siphash(const struct siphash_key *key, const void *buf, size_t len)
{
	uint64_t v[4] = { key->k[0] ^ 0x736f6d6570736575ull,
			  key->k[1] ^ 0x646f72616e646f6dull,
			  key->k[0] ^ 0x6c7967656e657261ull,
			  key->k[1] ^ 0x7465646279746573ull };
	const uint8_t *p = buf;
	uint64_t m;

	bug_on(len % sizeof(m));
	for (size_t at = 0; at < len; at += sizeof(m)) {
		memcpy(&m, p + at, sizeof(m));
		v[3] ^= m;
		mix(v, 2);
		v[0] ^= m;
	}
	m = (uint64_t)len << 56;
	v[3] ^= m;
	mix(v, 2);
	v[0] ^= m;
	v[2] ^= 0xff;
	mix(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
