/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/dax.c - SETUPMAPPING and REMOVEMAPPING; see dax.h
 *
 * Linux cuts the window into ranges of 2 MiB and never asks for others, so we
 * take none: it bounds the mappings and descriptors that a guest can cause.
 * It names the file by its inode alone, and maps for reading before it maps
 * the same range again for writing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#include "vmm/fs/attr.h"
#include "vmm/fs/dax.h"
#include "vmm/fs/handle.h"
#include "vmm/fs/open.h"
#include "vmm/fs/ops.h"

/* As Linux has it: as many as fit into a page. */
#define REMOVE_MAX 256u

#define FLAGS_KNOWN (FUSE_SETUPMAPPING_FLAG_READ | FUSE_SETUPMAPPING_FLAG_WRITE)

/* What Linux gives as a handle, as it keeps none for what it maps. */
#define NO_HANDLE UINT64_MAX

bool fs_dax_wanted(const struct fs_server *s, const struct statx *st)
{
	if (!S_ISREG(st->stx_mode))
		return false;
	switch (s->o.dax) {
	case FS_DAX_ALWAYS:
		return true;
	case FS_DAX_INODE:
		return st->stx_size >= FS_DAX_SIZE_MIN;
	default:
		return false;
	}
}

void fs_dax_clear(struct fs_server *s)
{
	if (s->o.dax)
		s->o.window->clear(s->o.window_ctx);
}

void fs_dax_heal(const struct fs_server *s, uint64_t node)
{
	if (s->o.dax)
		s->o.window->heal(s->o.window_ctx, node);
}

/* No sum of two of the guest's numbers. */
static bool in_window(const struct fs_server *s, uint64_t off, uint64_t len)
{
	if (off % FS_DAX_UNIT || len % FS_DAX_UNIT || len == 0)
		return false;
	return off < s->o.window_len && len <= s->o.window_len - off;
}

static int check(const struct fs_server *s,
		 const struct fuse_setupmapping_in *in)
{
	if (in->flags & ~FLAGS_KNOWN ||
	    !(in->flags & FUSE_SETUPMAPPING_FLAG_READ))
		return -EINVAL;
	if (!in_window(s, in->moffset, in->len) || in->foffset % FS_DAX_UNIT ||
	    in->foffset > INT64_MAX - in->len)
		return -EINVAL;
	if (in->flags & FUSE_SETUPMAPPING_FLAG_WRITE && s->o.ro)
		return -EROFS;
	return 0;
}

/* Return: a descriptor that may do that; or -errno */
static int open_inode(struct fs_req *r, bool writes)
{
	struct fs_inode *ino = NULL;
	int fd, e = fs_find(r->s, r->h.nodeid, &ino);

	if (e < 0)
		return e;
	if (S_ISREG(ino->type))
		fd = fs_open_inode(r->s, ino, writes ? O_RDWR : O_RDONLY);
	else
		fd = -ENODEV;
	fs_drop(r->s, ino);
	return fd;
}

static int dup_handle(struct fs_req *r, uint64_t fh, bool writes)
{
	struct fs_handle *h = NULL;
	int fd, e = fs_handle_get(r->s, fh, r->h.nodeid, false, &h);

	if (e < 0)
		return e;
	if ((h->flags & O_ACCMODE) == O_WRONLY ||
	    (writes && (h->flags & O_ACCMODE) != O_RDWR)) {
		fd = -EACCES;
	} else {
		fd = fcntl(h->fd, F_DUPFD_CLOEXEC, 0);
		fd = fd < 0 ? -errno : fd;
	}
	fs_handle_put(r->s, h);
	return fd;
}

/* In a mapped tree it may be a symlink, or stand for a device. */
static int check_file(const struct fs_server *s, int fd)
{
	struct statx st = { 0 };
	int e = fs_stat(s, fd, &st);

	if (e < 0)
		return e;
	return S_ISREG(st.stx_mode) ? 0 : -ENODEV;
}

/*
 * A guest that writes to a page for which the host has no room cannot be told
 * so then; its vCPU could not go on.  So the room is made before it may write.
 */
static int make_room(int fd, uint64_t off, uint64_t len)
{
	off_t size = lseek(fd, 0, SEEK_END), hole;

	if (size < 0 || (uint64_t)size <= off)
		return 0;
	len = MIN(len, (uint64_t)size - off);
	hole = lseek(fd, (off_t)off, SEEK_HOLE);
	if (hole < 0 || (uint64_t)hole >= off + len)
		return 0;
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, hole,
		      (off_t)(off + len) - hole) < 0 &&
	    errno != EOPNOTSUPP)
		return -errno;
	return 0;
}

int fs_op_setupmapping(struct fs_req *r)
{
	auto_fd int fd = -1;
	struct fs_server *s = r->s;
	struct fuse_setupmapping_in in;
	struct fs_mapping m;
	bool writes;
	int e = fs_req_last(r, &in, sizeof(in));

	if (e == 0)
		e = check(s, &in);
	if (e < 0)
		return e;
	writes = in.flags & FUSE_SETUPMAPPING_FLAG_WRITE;
	fd = in.fh == NO_HANDLE ? open_inode(r, writes)
				: dup_handle(r, in.fh, writes);
	if (fd < 0)
		return fd;
	e = check_file(s, fd);
	if (e == 0 && writes)
		e = make_room(fd, in.foffset, in.len);
	if (e < 0)
		return e;
	m = (struct fs_mapping){ .off = in.moffset,
				 .len = in.len,
				 .fd = fd,
				 .file_off = in.foffset,
				 .writable = writes,
				 .node = r->h.nodeid };
	return s->o.window->map(s->o.window_ctx, &m);
}

int fs_op_removemapping(struct fs_req *r)
{
	struct fuse_removemapping_one one[REMOVE_MAX] = { 0 };
	struct fuse_removemapping_in in;
	struct fs_server *s = r->s;
	int e = fs_req_get(r, &in, sizeof(in));

	if (e == 0 && (in.count == 0 || in.count > REMOVE_MAX))
		e = -EINVAL;
	if (e == 0)
		e = fs_req_last(r, one, in.count * sizeof(one[0]));
	if (e < 0)
		return e;
	/* All or nothing. */
	for (uint32_t i = 0; i < in.count; i++)
		if (!in_window(s, one[i].moffset, one[i].len))
			return -EINVAL;
	for (uint32_t i = 0; e == 0 && i < in.count; i++)
		e = s->o.window->unmap(s->o.window_ctx, one[i].moffset,
				       one[i].len);
	return e;
}
