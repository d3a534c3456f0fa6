/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/sha.h - SHA-256 as image digests are written */
#ifndef HUTCH_HOST_IMAGE_SHA_H
#define HUTCH_HOST_IMAGE_SHA_H

#include <nettle/sha2.h>
#include <stddef.h>

#define SHA_HEX 64 /* digits */

/** struct sha - A digest being made */
struct sha {
	struct sha256_ctx ctx;
};

/** sha_init() - Begin */
void sha_init(struct sha *s);

/** sha_add() - More bytes */
void sha_add(struct sha *s, const void *p, size_t len);

/** sha_end() - The digest in small hexadecimal digits; @s begins anew */
void sha_end(struct sha *s, char ret[SHA_HEX + 1]);

/** sha_of() - All at once */
void sha_of(const void *p, size_t len, char ret[SHA_HEX + 1]);

#endif
