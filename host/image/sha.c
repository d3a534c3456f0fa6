/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/sha.c - see sha.h */
#include <stdint.h>

#include "common/words.h"
#include "host/image/sha.h"

_Static_assert(2 * SHA256_DIGEST_SIZE == SHA_HEX, "two digits a byte");

void sha_init(struct sha *s)
{
	sha256_init(&s->ctx);
}

void sha_add(struct sha *s, const void *p, size_t len)
{
	sha256_update(&s->ctx, len, p);
}

void sha_end(struct sha *s, char ret[SHA_HEX + 1])
{
	uint8_t d[SHA256_DIGEST_SIZE];

	sha256_digest(&s->ctx, sizeof(d), d);
	words_hex_text(ret, d, sizeof(d));
}

void sha_of(const void *p, size_t len, char ret[SHA_HEX + 1])
{
	struct sha s;

	sha_init(&s);
	sha_add(&s, p, len);
	sha_end(&s, ret);
}
