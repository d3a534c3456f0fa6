/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/owner.c - see owner.h */
#include <errno.h>
#include <stdlib.h>
#include <sys/xattr.h>

#include "vmm/fs/owner.h"

static bool host_has_bytes(uint32_t mode)
{
	return S_ISREG(mode) || S_ISDIR(mode);
}

int fs_owner_init(struct fs_server *s)
{
	pthread_rwlockattr_t a;

	if (!fs_is_mapped(s))
		return 0;
	s->making = malloc(sizeof(*s->making));
	if (!s->making)
		return -ENOMEM;
	/* Who waits is not to be overtaken for ever. */
	bug_on(pthread_rwlockattr_init(&a) != 0);
	bug_on(pthread_rwlockattr_setkind_np(
		       &a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) != 0);
	bug_on(pthread_rwlock_init(s->making, &a) != 0);
	(void)pthread_rwlockattr_destroy(&a);
	return 0;
}

void fs_owner_done(struct fs_server *s)
{
	if (s->making)
		(void)pthread_rwlock_destroy(s->making);
	free(s->making);
	s->making = NULL;
}

void fs_owner_making(const struct fs_server *s)
{
	if (s->making)
		bug_on(pthread_rwlock_rdlock(s->making) != 0);
}

void fs_owner_made(const struct fs_server *s)
{
	if (s->making)
		bug_on(pthread_rwlock_unlock(s->making) != 0);
}

/* What was being made when this was called has been made. */
static void wait_for_makers(const struct fs_server *s)
{
	bug_on(pthread_rwlock_wrlock(s->making) != 0);
	bug_on(pthread_rwlock_unlock(s->making) != 0);
}

/* Return: 0; -ENODATA if there is none; -EIO if it cannot be; or -errno */
static int get(const struct fs_server *s, int fd, struct mapped_stat *ret)
{
	uint8_t buf[MAPPED_STAT_LEN + 1];
	ssize_t n = fgetxattr(fd, MAPPED_STAT, buf, sizeof(buf));

	if (n < 0 && errno == ENODATA) {
		wait_for_makers(s);
		n = fgetxattr(fd, MAPPED_STAT, buf, sizeof(buf));
	}
	if (n < 0)
		return errno == ERANGE ? -EIO : -errno;
	return mapped_get(buf, (size_t)n, ret) < 0 ? -EIO : 0;
}

static int see_mapped(const struct fs_server *s, int fd, struct statx *st)
{
	struct mapped_stat m = { 0 };
	int r;

	st->stx_uid = 0;
	st->stx_gid = 0;
	if (!host_has_bytes(st->stx_mode))
		return 0;
	r = get(s, fd, &m);
	if (r < 0)
		return r == -ENODATA ? 0 : r;
	if (S_ISDIR(m.mode) != S_ISDIR(st->stx_mode))
		return -EIO;
	if (!host_has_bytes(m.mode) && !S_ISLNK(m.mode)) {
		st->stx_size = 0;
		st->stx_blocks = 0;
	}
	st->stx_mode = (uint16_t)m.mode;
	st->stx_uid = m.uid;
	st->stx_gid = m.gid;
	st->stx_rdev_major = m.rdev_major;
	st->stx_rdev_minor = m.rdev_minor;
	return 0;
}

int fs_owner_see(const struct fs_server *s, int fd, struct statx *st)
{
	if (fs_is_mapped(s))
		return see_mapped(s, fd, st);
	if (st->stx_uid == s->uid)
		st->stx_uid = s->o.uid;
	if (st->stx_gid == s->gid)
		st->stx_gid = s->o.gid;
	return 0;
}

uint32_t fs_owner_type(const struct fs_server *s, int fd)
{
	struct mapped_stat m = { 0 };
	int r = get(s, fd, &m);

	if (r < 0)
		return r == -ENODATA ? S_IFREG : 0;
	return S_ISDIR(m.mode) ? 0 : m.mode & S_IFMT;
}

static int put(int fd, const struct mapped_stat *m)
{
	uint8_t buf[MAPPED_STAT_LEN];

	if (!mapped_valid(m))
		return -EINVAL;
	mapped_put(m, buf);
	return fsetxattr(fd, MAPPED_STAT, buf, sizeof(buf), 0) < 0 ? -errno : 0;
}

int fs_owner_born(const struct fs_server *s, int fd, const struct statx *dir,
		  const struct fs_birth *b)
{
	struct mapped_stat m = {
		.mode = b->mode,
		.uid = b->uid,
		.gid = b->gid,
	};

	if (!fs_is_mapped(s))
		return 0;
	if (dir->stx_mode & S_ISGID) {
		m.gid = dir->stx_gid;
		if (S_ISDIR(m.mode))
			m.mode |= S_ISGID;
	}
	if (S_ISCHR(m.mode) || S_ISBLK(m.mode)) {
		m.rdev_major = b->rdev >> 8 & 0xfff;
		m.rdev_minor = (b->rdev & 0xff) | (b->rdev >> 12 & 0xfff00);
	}
	return put(fd, &m);
}

int fs_owner_change(const struct fs_server *s, int fd, const struct statx *st)
{
	struct mapped_stat m = {
		.mode = st->stx_mode,
		.uid = st->stx_uid,
		.gid = st->stx_gid,
	};

	bug_on(!fs_is_mapped(s));
	if (S_ISCHR(m.mode) || S_ISBLK(m.mode)) {
		m.rdev_major = st->stx_rdev_major;
		m.rdev_minor = st->stx_rdev_minor;
	}
	return put(fd, &m);
}
