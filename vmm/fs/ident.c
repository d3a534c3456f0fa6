/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/ident.c - see ident.h */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "vmm/fs/ident.h"
#include "vmm/fs/state.h"

/* Linux 6.5: bytes that identify, even where they cannot be opened. */
#ifndef AT_HANDLE_FID
#define AT_HANDLE_FID 0x200
#endif

/* Linux' own for file systems that have none: i_ino and i_generation. */
#define TYPE_INO64_GEN 0x81

/* No file system's: those are small and positive. */
#define TYPE_STAT (-1)

static int by_stat(int fd, const char *name, struct fs_ident *ret,
		   int *ret_mount)
{
	struct statx st;
	uint64_t w[4];

	if (statx(fd, name,
		  AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		  STATX_INO | STATX_BTIME | STATX_MNT_ID, &st) < 0)
		return -errno;
	w[0] = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	w[1] = st.stx_ino;
	w[2] = st.stx_mask & STATX_BTIME ? (uint64_t)st.stx_btime.tv_sec : 0;
	w[3] = st.stx_mask & STATX_BTIME ? st.stx_btime.tv_nsec : 0;
	ret->type = TYPE_STAT;
	ret->len = sizeof(w);
	memcpy(ret->bytes, w, sizeof(w));
	*ret_mount = st.stx_mask & STATX_MNT_ID ? (int)st.stx_mnt_id : 0;
	return 0;
}

static int by_handle(int fd, const char *name, int flags, struct fs_ident *ret,
		     int *ret_mount)
{
	union {
		struct file_handle h;
		uint8_t room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u;

	u.h.handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(fd, name, &u.h, ret_mount,
			      flags | AT_EMPTY_PATH) < 0)
		return -errno;
	ret->type = u.h.handle_type;
	ret->len = u.h.handle_bytes;
	memcpy(ret->bytes, u.room + offsetof(struct file_handle, f_handle),
	       MIN(u.h.handle_bytes, MAX_HANDLE_SZ));
	return 0;
}

/*
 * On an overlay the numbers of folders, and of files of each layer, are counted
 * apart, and are told apart by st_dev.  The time of birth is no help: it becomes
 * another when a file is copied up.
 */
static int add_device(int fd, const char *name, struct fs_ident *i)
{
	struct statx st = { 0 };
	uint64_t w[2];

	if (i->len > FS_IDENT_MAX - sizeof(w))
		return -EOVERFLOW;
	if (statx(fd, name,
		  AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		  STATX_INO, &st) < 0)
		return -errno;
	w[0] = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	w[1] = st.stx_ino;
	memcpy(i->bytes + i->len, w, sizeof(w));
	i->len += sizeof(w);
	return 0;
}

int fs_ident_probe(struct fs_server *s, int fd)
{
	static const int tries[] = { 0, AT_HANDLE_FID };
	struct fs_ident ident = { 0 };
	int r = -EOPNOTSUPP;

	for (size_t i = 0; i < ARRAY_LEN(tries) && r < 0; i++) {
		s->ident_flags = tries[i];
		r = by_handle(fd, "", tries[i], &ident, &s->root_mount);
	}
	s->ident_stat = r < 0;
	s->ident_device = r == 0 && s->ident_flags == AT_HANDLE_FID &&
			  ident.type == TYPE_INO64_GEN;
	return s->ident_stat ? by_stat(fd, "", &ident, &s->root_mount) : 0;
}

int fs_ident_get(const struct fs_server *s, int fd, const char *name,
		 struct fs_ident *ret)
{
	int mount = -1, r;

	if (s->ident_stat)
		r = by_stat(fd, name, ret, &mount);
	else
		r = by_handle(fd, name, s->ident_flags, ret, &mount);
	if (r == 0 && s->ident_device)
		r = add_device(fd, name, ret);
	if (r < 0)
		return r;
	return mount == s->root_mount ? 0 : -EXDEV;
}

bool fs_ident_same(const struct fs_ident *a, const struct fs_ident *b)
{
	return a->type == b->type && a->len == b->len &&
	       memcmp(a->bytes, b->bytes, a->len) == 0;
}

uint64_t fs_ident_hash(const struct fs_server *s, const struct fs_ident *i)
{
	uint64_t h = s->mult[0] ^ i->len;

	for (unsigned int at = 0; at < i->len; at += sizeof(uint64_t)) {
		uint64_t w = 0;

		memcpy(&w, i->bytes + at, MIN(i->len - at, sizeof(w)));
		h = (h ^ w) * s->mult[1];
		h ^= h >> 32;
	}
	return h * s->mult[1];
}
