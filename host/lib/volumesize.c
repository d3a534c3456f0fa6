/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/volumesize.c - how large a volume may be; see volume.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#include "common/mapped.h"
#include "common/treesize.h"
#include "common/words.h"
#include "host/lib/volume.h"

/* Beside those of common/mapped.h; a guest does not see it. */
#define SIZE_ATTR MAPPED_PREFIX "size"
#define SIZE_LEN  20 /* digits of UINT64_MAX */

int volume_set_size(int fd, uint64_t bytes)
{
	char text[SIZE_LEN + 1];
	int n = snprintf(text, sizeof(text), "%" PRIu64, bytes);

	return fsetxattr(fd, SIZE_ATTR, text, (size_t)n, 0) < 0 ? -errno : 0;
}

int volume_size(int fd, uint64_t *ret)
{
	char text[SIZE_LEN + 1] = { 0 };
	ssize_t n = fgetxattr(fd, SIZE_ATTR, text, SIZE_LEN);
	uint64_t bytes;

	*ret = 0;
	if (n < 0 && (errno == ENODATA || errno == EOPNOTSUPP))
		return 0;
	if (n < 0 && errno != ERANGE)
		return -errno;
	if (n < 0 || strlen(text) != (size_t)n ||
	    words_uint("size", text, HUTCH_VOLUME_SIZE_MIN, INT64_MAX, &bytes,
		       &(struct err){ 0 }) < 0)
		return -EBADMSG;
	*ret = bytes;
	return 0;
}

int64_t volume_used(int fd)
{
	struct treesize t;

	return treesize_count(fd, &t) < 0 || t.bytes > INT64_MAX
		       ? -1
		       : (int64_t)t.bytes;
}
