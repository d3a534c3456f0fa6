/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/be.h - big-endian integers as types of their own
 *
 * What common/le.h is for our own formats, for those of the network: alignment
 * 1, so that headers lie on any buffer, and no sum by mistake.
 */
#ifndef HUTCH_HOST_NET_BE_H
#define HUTCH_HOST_NET_BE_H

#include <stdint.h>

typedef struct {
	uint8_t b[2];
} be16;

typedef struct {
	uint8_t b[4];
} be32;

static inline uint16_t be16_get(be16 v)
{
	return (uint16_t)(v.b[0] << 8 | v.b[1]);
}

static inline uint32_t be32_get(be32 v)
{
	return (uint32_t)v.b[0] << 24 | (uint32_t)v.b[1] << 16 |
	       (uint32_t)v.b[2] << 8 | (uint32_t)v.b[3];
}

static inline be16 be16_put(uint16_t v)
{
	return (be16){ { (uint8_t)(v >> 8), (uint8_t)v } };
}

static inline be32 be32_put(uint32_t v)
{
	return (be32){ { (uint8_t)(v >> 24), (uint8_t)(v >> 16),
			 (uint8_t)(v >> 8), (uint8_t)v } };
}

#endif
