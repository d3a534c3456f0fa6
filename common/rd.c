/* SPDX-License-Identifier: Apache-2.0 */
/* common/rd.c - see rd.h */
#include <errno.h>
#include <string.h>

#include "common/le.h"
#include "common/rd.h"

const void *rd_bytes(struct rd *rd, size_t len)
{
	const void *p = rd->p;

	if (rd->bad || len > rd->left) {
		rd->bad = true;
		return NULL;
	}
	rd->p += len;
	rd->left -= len;
	return p;
}

uint8_t rd_u8(struct rd *rd)
{
	const uint8_t *p = rd_bytes(rd, 1);

	return p ? *p : 0;
}

uint16_t rd_le16(struct rd *rd)
{
	const le16 *p = rd_bytes(rd, sizeof(*p));

	return p ? le16_get(*p) : 0;
}

uint32_t rd_le32(struct rd *rd)
{
	const le32 *p = rd_bytes(rd, sizeof(*p));

	return p ? le32_get(*p) : 0;
}

uint64_t rd_le64(struct rd *rd)
{
	const le64 *p = rd_bytes(rd, sizeof(*p));

	return p ? le64_get(*p) : 0;
}

const char *rd_str(struct rd *rd)
{
	size_t n = rd_le32(rd);
	/* One read each for the bytes and the NUL: n + 1 is never formed. */
	const char *s = rd_bytes(rd, n);
	const char *nul = rd_bytes(rd, 1);

	if (!s || !nul || *nul != '\0' || (n && memchr(s, '\0', n))) {
		rd->bad = true;
		return NULL;
	}
	return s;
}

int rd_end(const struct rd *rd)
{
	return rd->bad || rd->left ? -EBADMSG : 0;
}
