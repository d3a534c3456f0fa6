/* SPDX-License-Identifier: Apache-2.0 */
/* common/mapped.c - see mapped.h */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/mapped.h"
#include "common/rd.h"
#include "common/wr.h"

#define VERSION 1u

#define MAJOR_MAX 0xfffu
#define MINOR_MAX 0xfffffu

static bool is_device(uint32_t mode)
{
	return S_ISCHR(mode) || S_ISBLK(mode);
}

static bool known_type(uint32_t mode)
{
	return is_device(mode) || S_ISREG(mode) || S_ISDIR(mode) ||
	       S_ISLNK(mode) || S_ISFIFO(mode) || S_ISSOCK(mode);
}

bool mapped_valid(const struct mapped_stat *st)
{
	if (!known_type(st->mode) || st->mode & ~(S_IFMT | 07777u))
		return false;
	if (st->uid == UINT32_MAX || st->gid == UINT32_MAX)
		return false;
	if (!is_device(st->mode))
		return st->rdev_major == 0 && st->rdev_minor == 0;
	return st->rdev_major <= MAJOR_MAX && st->rdev_minor <= MINOR_MAX;
}

void mapped_put(const struct mapped_stat *st, uint8_t ret[MAPPED_STAT_LEN])
{
	struct wr wr = wr_init(ret, MAPPED_STAT_LEN);

	bug_on(!mapped_valid(st));
	wr_le32(&wr, VERSION);
	wr_le32(&wr, st->mode);
	wr_le32(&wr, st->uid);
	wr_le32(&wr, st->gid);
	wr_le32(&wr, st->rdev_major);
	wr_le32(&wr, st->rdev_minor);
	bug_on(wr_end(&wr) != MAPPED_STAT_LEN);
}

int mapped_get(const void *buf, size_t len, struct mapped_stat *ret)
{
	struct rd rd = rd_init(buf, len);
	uint32_t version = rd_le32(&rd);
	struct mapped_stat st;

	st.mode = rd_le32(&rd);
	st.uid = rd_le32(&rd);
	st.gid = rd_le32(&rd);
	st.rdev_major = rd_le32(&rd);
	st.rdev_minor = rd_le32(&rd);
	if (rd_end(&rd) < 0 || version != VERSION || !mapped_valid(&st))
		return -EBADMSG;
	*ret = st;
	return 0;
}

uint32_t mapped_host_mode(const struct mapped_stat *st)
{
	return S_ISDIR(st->mode) ? S_IFDIR | 0700u : S_IFREG | 0600u;
}

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

bool mapped_xattr_kept(const char *name)
{
	return begins(name, "security.") || begins(name, "trusted.") ||
	       strcmp(name, "system.posix_acl_access") == 0 ||
	       strcmp(name, "system.posix_acl_default") == 0;
}
