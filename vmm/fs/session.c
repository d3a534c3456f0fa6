/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/session.c - INIT and DESTROY: what is spoken, and when */
#include <errno.h>

#include "vmm/fs/dax.h"
#include "vmm/fs/handle.h"
#include "vmm/fs/lock.h"
#include "vmm/fs/ops.h"
#include "vmm/fs/owner.h"

/* virtio-fs came with 7.31; all that we answer is there in 7.40. */
#define MINOR_MIN 31u
#define MINOR_MAX 40u

#define READAHEAD_MAX FS_IO_MAX
#define PAGE          4096u

/* Requests that Linux has under way on its own account. */
#define BACKGROUND_MAX 256u
#define CONGESTION     192u

#define INIT_IN_MIN 16u /* without flags2 */

/*
 * What we ask for if it is offered; docs/devices/fuse.md has the reasons, and
 * those why the others are not here.
 */
static const uint64_t wanted = FUSE_ASYNC_READ | FUSE_ATOMIC_O_TRUNC |
			       FUSE_BIG_WRITES | FUSE_DO_READDIRPLUS |
			       FUSE_READDIRPLUS_AUTO | FUSE_ASYNC_DIO |
			       FUSE_PARALLEL_DIROPS | FUSE_MAX_PAGES |
			       FUSE_CACHE_SYMLINKS | FUSE_HANDLE_KILLPRIV_V2 |
			       FUSE_SETXATTR_EXT | FUSE_INIT_EXT |
			       FUSE_NO_EXPORT_SUPPORT;

static uint64_t choose(const struct fs_server *s, uint64_t offered)
{
	uint64_t flags = wanted;

	/* A default ACL is in place of the umask, so both come together. */
	if (fs_is_mapped(s))
		flags |= FUSE_POSIX_ACL | FUSE_DONT_MASK;
	switch (s->o.cache) {
	case FS_CACHE_AUTO:
		flags |= FUSE_AUTO_INVAL_DATA;
		break;
	case FS_CACHE_NEVER:
		flags |= FUSE_DIRECT_IO_ALLOW_MMAP;
		break;
	case FS_CACHE_ALWAYS:
		break;
	}
	if (s->o.locks)
		flags |= FUSE_POSIX_LOCKS | FUSE_FLOCK_LOCKS;
	if (s->o.dax)
		flags |= FUSE_MAP_ALIGNMENT | FUSE_HAS_INODE_DAX;
	return flags & offered;
}

static int read_init(struct fs_req *r, struct fuse_init_in *in)
{
	size_t len = MIN(r->in_left, sizeof(*in));

	*in = (struct fuse_init_in){ 0 };
	if (len < INIT_IN_MIN)
		return -EINVAL;
	/* What a later version has behind it is for flags that we refuse. */
	if (fs_req_get(r, in, len) < 0)
		return -EINVAL;
	if (!(in->flags & FUSE_INIT_EXT))
		in->flags2 = 0;
	return 0;
}

int fs_op_init(struct fs_req *r)
{
	struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION };
	struct fs_server *s = r->s;
	struct fuse_init_in in;
	uint64_t flags;
	int e = read_init(r, &in);

	if (e == 0)
		e = fs_req_needs(r, sizeof(out));
	if (e < 0)
		return e;
	out.minor = MIN(in.minor, MINOR_MAX);
	/* A newer major is told ours, and then comes again with that. */
	if (in.major > FUSE_KERNEL_VERSION)
		return fs_req_put(r, &out, sizeof(out));
	if (in.major < FUSE_KERNEL_VERSION || in.minor < MINOR_MIN)
		return -EPROTO;
	if (atomic_load_explicit(&s->ready, memory_order_acquire))
		return -EBUSY;
	flags = choose(s, (uint64_t)in.flags2 << 32 | in.flags);
	out.max_readahead = MIN(in.max_readahead, READAHEAD_MAX);
	out.flags = (uint32_t)flags;
	out.flags2 = (uint32_t)(flags >> 32);
	out.max_background = BACKGROUND_MAX;
	out.congestion_threshold = CONGESTION;
	out.max_write = FS_IO_MAX;
	out.time_gran = 1;
	if (flags & FUSE_MAP_ALIGNMENT)
		out.map_alignment = FS_DAX_SHIFT;
	out.max_pages = FS_IO_MAX / PAGE;
	fs_dax_clear(s);
	atomic_store_explicit(&s->setxattr_ext, flags & FUSE_SETXATTR_EXT,
			      memory_order_relaxed);
	atomic_store_explicit(&s->acl, flags & FUSE_POSIX_ACL,
			      memory_order_relaxed);
	/* What was agreed on is there before any request that goes by it. */
	atomic_store_explicit(&s->ready, true, memory_order_release);
	return fs_req_put(r, &out, sizeof(out));
}

void fs_server_reset(struct fs_server *s)
{
	atomic_store_explicit(&s->ready, false, memory_order_release);
	fs_dax_clear(s);
	fs_waiters_forget_all(s);
	fs_locks_drop_all(s);
	fs_handles_close_all(s);
	fs_lock(s);
	fs_inodes_forget_all(s);
	fs_unlock(s);
}

int fs_op_destroy(struct fs_req *r)
{
	fs_server_reset(r->s);
	return 0;
}
