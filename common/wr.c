/* SPDX-License-Identifier: Apache-2.0 */
/* common/wr.c - see wr.h */
#include <errno.h>
#include <string.h>

#include "common/le.h"
#include "common/wr.h"

void wr_bytes(struct wr *wr, const void *src, size_t len)
{
	if (wr->bad || len > wr->cap - wr->len) {
		wr->bad = true;
		return;
	}
	if (len)
		memcpy(wr->buf + wr->len, src, len);
	wr->len += len;
}

void wr_u8(struct wr *wr, uint8_t v)
{
	wr_bytes(wr, &v, sizeof(v));
}

void wr_le16(struct wr *wr, uint16_t v)
{
	le16 w = le16_put(v);

	wr_bytes(wr, &w, sizeof(w));
}

void wr_le32(struct wr *wr, uint32_t v)
{
	le32 w = le32_put(v);

	wr_bytes(wr, &w, sizeof(w));
}

void wr_le64(struct wr *wr, uint64_t v)
{
	le64 w = le64_put(v);

	wr_bytes(wr, &w, sizeof(w));
}

void wr_str(struct wr *wr, const char *s)
{
	size_t len = strlen(s);

	if (len > UINT32_MAX) {
		wr->bad = true;
		return;
	}
	wr_le32(wr, (uint32_t)len);
	wr_bytes(wr, s, len + 1);
}

ptrdiff_t wr_end(const struct wr *wr)
{
	return wr->bad ? -EMSGSIZE : (ptrdiff_t)wr->len;
}
