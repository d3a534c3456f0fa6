/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/server.c - one server, and which operation a request is; see server.h */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "vmm/fs/dax.h"
#include "vmm/fs/ops.h"
#include "vmm/fs/owner.h"
#include "vmm/fs/probe.h"
#include "vmm/fs/walk.h"

#define HASH_BITS_MIN 8u

/* May be sent before INIT was answered. */
#define OP_ANYTIME 1u
/* Changes something: not if the folder is shared read-only. */
#define OP_WRITES 2u
/* Not if there is no window. */
#define OP_MAPS 4u
/* Not if locks are the guest's. */
#define OP_LOCKS 8u

struct op {
	int (*fn)(struct fs_req *r);
	unsigned int flags;
};

/* What is not here is ENOSYS, upon which Linux does without; see fuse.md. */
static const struct op ops[] = {
	[FUSE_LOOKUP] = { fs_op_lookup, 0 },
	[FUSE_FORGET] = { fs_op_forget, 0 },
	[FUSE_GETATTR] = { fs_op_getattr, 0 },
	[FUSE_SETATTR] = { fs_op_setattr, OP_WRITES },
	[FUSE_READLINK] = { fs_op_readlink, 0 },
	[FUSE_SYMLINK] = { fs_op_symlink, OP_WRITES },
	[FUSE_MKNOD] = { fs_op_mknod, OP_WRITES },
	[FUSE_MKDIR] = { fs_op_mkdir, OP_WRITES },
	[FUSE_UNLINK] = { fs_op_unlink, OP_WRITES },
	[FUSE_RMDIR] = { fs_op_rmdir, OP_WRITES },
	[FUSE_RENAME] = { fs_op_rename, OP_WRITES },
	[FUSE_LINK] = { fs_op_link, OP_WRITES },
	[FUSE_OPEN] = { fs_op_open, 0 },
	[FUSE_READ] = { fs_op_read, 0 },
	[FUSE_WRITE] = { fs_op_write, OP_WRITES },
	[FUSE_STATFS] = { fs_op_statfs, 0 },
	[FUSE_RELEASE] = { fs_op_release, 0 },
	[FUSE_FSYNC] = { fs_op_fsync, 0 },
	[FUSE_SETXATTR] = { fs_op_setxattr, OP_WRITES },
	[FUSE_GETXATTR] = { fs_op_getxattr, 0 },
	[FUSE_LISTXATTR] = { fs_op_listxattr, 0 },
	[FUSE_REMOVEXATTR] = { fs_op_removexattr, OP_WRITES },
	[FUSE_FLUSH] = { fs_op_flush, 0 },
	[FUSE_INIT] = { fs_op_init, OP_ANYTIME },
	[FUSE_OPENDIR] = { fs_op_opendir, 0 },
	[FUSE_READDIR] = { fs_op_readdir, 0 },
	[FUSE_RELEASEDIR] = { fs_op_releasedir, 0 },
	[FUSE_FSYNCDIR] = { fs_op_fsyncdir, 0 },
	[FUSE_GETLK] = { fs_op_getlk, OP_LOCKS },
	[FUSE_SETLK] = { fs_op_setlk, OP_LOCKS },
	[FUSE_SETLKW] = { fs_op_setlkw, OP_LOCKS },
	[FUSE_CREATE] = { fs_op_create, OP_WRITES },
	[FUSE_INTERRUPT] = { fs_op_interrupt, 0 },
	[FUSE_DESTROY] = { fs_op_destroy, 0 },
	[FUSE_BATCH_FORGET] = { fs_op_batch_forget, 0 },
	[FUSE_FALLOCATE] = { fs_op_fallocate, OP_WRITES },
	[FUSE_READDIRPLUS] = { fs_op_readdirplus, 0 },
	[FUSE_RENAME2] = { fs_op_rename2, OP_WRITES },
	[FUSE_LSEEK] = { fs_op_lseek, 0 },
	[FUSE_COPY_FILE_RANGE] = { fs_op_copy_file_range, OP_WRITES },
	[FUSE_SETUPMAPPING] = { fs_op_setupmapping, OP_MAPS },
	[FUSE_REMOVEMAPPING] = { fs_op_removemapping, OP_MAPS },
	[FUSE_SYNCFS] = { fs_op_syncfs, 0 },
	[FUSE_TMPFILE] = { fs_op_tmpfile, OP_WRITES },
	[FUSE_STATX] = { fs_op_statx, 0 },
};

static int serve(struct fs_req *r)
{
	const struct op *op;

	if (r->h.opcode >= ARRAY_LEN(ops) || !ops[r->h.opcode].fn)
		return -ENOSYS;
	op = &ops[r->h.opcode];
	if (op->flags & OP_MAPS && !r->s->o.dax)
		return -ENOSYS;
	if (op->flags & OP_LOCKS && !r->s->o.locks)
		return -ENOSYS;
	if (!(op->flags & OP_ANYTIME) &&
	    !atomic_load_explicit(&r->s->ready, memory_order_acquire))
		return -EIO;
	if (op->flags & OP_WRITES && r->s->o.ro)
		return -EROFS;
	return op->fn(r);
}

/*
 * Once the count was left for the next server nothing may change. Both sides
 * store and then look, sequentially consistent: one of them sees the other.
 */
static int serve_counted(struct fs_req *r)
{
	struct fs_quota *q = &r->s->quota;
	int e = -EIO;

	if (!q->on)
		return serve(r);
	(void)atomic_fetch_add(&q->serving, 1);
	if (!atomic_load(&q->closed))
		e = serve(r);
	(void)atomic_fetch_sub(&q->serving, 1);
	return e;
}

size_t fs_serve(struct fs_server *s, const struct iovec *in, unsigned int n_in,
		const struct iovec *out, unsigned int n_out)
{
	struct fs_req r = { .s = s };
	int e = fs_req_init(&r, in, n_in, out, n_out);

	if (e == 0)
		e = serve_counted(&r);
	/* Before the guest knows that a file is longer than it was. */
	fs_dax_heal(s, r.h.nodeid);
	if (e == FS_LATER)
		return FS_SERVE_LATER;
	/* FORGET has no answer, whatever became of it. */
	if (e == FS_NO_REPLY || r.h.opcode == FUSE_FORGET ||
	    r.h.opcode == FUSE_BATCH_FORGET)
		return 0;
	return fs_req_reply(&r, e);
}

size_t fs_refuse(struct fs_server *s, const struct iovec *in, unsigned int n_in,
		 const struct iovec *out, unsigned int n_out, int error)
{
	struct fs_req r = { .s = s };
	int e = fs_req_init(&r, in, n_in, out, n_out);

	if (e == 0 && r.h.opcode == FUSE_SETLKW)
		fs_waiter_forget(s, r.h.unique);
	return e == FS_NO_REPLY ? 0 : fs_req_reply(&r, e < 0 ? e : error);
}

static int check_opts(const struct fs_opts *o, struct err *e)
{
	if (o->fds_max < FS_FDS_MIN || o->fds_max > FS_FDS_MAX)
		return err_set(e, -EINVAL,
			       "share: %u descriptors are not in %u..%u",
			       o->fds_max, FS_FDS_MIN, FS_FDS_MAX);
	if (o->quota_inodes && !o->quota_bytes)
		return err_set(e, -EINVAL,
			       "share: a limit of inodes needs one of bytes");
	if (o->quota_bytes && (o->ro || o->owner != FS_OWNER_MAPPED))
		return err_set(e, -EINVAL,
			       "share: a quota is for a writable folder with "
			       "owner=mapped");
	if (o->quota_bytes &&
	    (o->quota_bytes < FS_QUOTA_MIN || o->quota_bytes > INT64_MAX))
		return err_set(e, -ERANGE,
			       "share: a quota is at least %u bytes",
			       FS_QUOTA_MIN);
	if (o->cache > FS_CACHE_NEVER || o->owner > FS_OWNER_MAPPED ||
	    o->dax > FS_DAX_ALWAYS || o->locks > FS_LOCKS_HOST)
		return err_set(e, -EINVAL,
			       "share: no such way to cache, own, map or "
			       "lock");
	if (o->upper && (o->ro || o->owner != FS_OWNER_MAPPED))
		return err_set(e, -EINVAL,
			       "share: the upper layer of an overlayfs is a "
			       "writable folder with owner=mapped");
	if (o->lower && !o->ro)
		return err_set(e, -EINVAL,
			       "share: the lower layer of an overlayfs is "
			       "read-only");
	return 0;
}

static int take_root(struct fs_server *s, const struct fs_opts *o,
		     struct err *e)
{
	struct stat st;
	int fl;

	s->root_fd = o->root_fd;
	if (fstat(s->root_fd, &st) < 0)
		return err_set(e, -errno, "share: cannot look at it: %s",
			       strerror(errno));
	if (S_ISDIR(st.st_mode))
		return 0;
	s->file_fd = take_fd(&s->root_fd);
	if (!S_ISREG(st.st_mode))
		return err_set(e, -EINVAL,
			       "share: it is no folder and no regular file");
	fl = fcntl(s->file_fd, F_GETFL);
	if (fl < 0 || fl & O_PATH || (fl & O_ACCMODE) == O_WRONLY)
		return err_set(e, -EINVAL,
			       "share: a file must be open for reading");
	/* Each write would go to the end, whatever its place. */
	if (fl & O_APPEND && !o->ro)
		return err_set(e, -EINVAL,
			       "share: a file must not be open for appending");
	/* Opened again it would be at the host's rights; it never is. */
	if (o->owner == FS_OWNER_MAPPED)
		return err_set(e, -EINVAL,
			       "share: a single file cannot be mapped");
	return 0;
}

static int make_root(struct fs_server *s)
{
	int fd = s->file_fd < 0 ? s->root_fd : s->file_fd;
	struct fs_ident ident;
	int r;

	r = fs_ident_probe(s, fd);
	if (r == 0)
		r = fs_ident_get(s, fd, "", &ident);
	if (r < 0)
		return r;
	/* The file itself is to be found by that; the folder by no means. */
	if (s->file_fd >= 0)
		ident.len = 0;
	r = fs_inode_add(s, &ident, S_IFDIR, &s->root);
	if (r < 0)
		return r;
	s->root->stub = s->file_fd >= 0;
	s->root->refs = 1;
	return 0;
}

static int make_tables(struct fs_server *s)
{
	s->mem_max =
		MIN(MAX(s->o.guest_mem / FS_MEM_SHARE, FS_MEM_MIN), FS_MEM_MAX);
	s->inodes.max = (uint32_t)(s->mem_max / sizeof(struct fs_inode));
	s->handles.max = s->o.fds_max;
	s->hash_bits = HASH_BITS_MIN;
	s->hash = calloc((size_t)1 << s->hash_bits, sizeof(struct fs_inode *));
	if (!s->hash)
		return -ENOMEM;
	/* Up to 256 bytes are never cut short. */
	if (getrandom(s->mult, sizeof(s->mult), 0) != sizeof(s->mult))
		return -errno;
	s->mult[1] |= 1;
	return 0;
}

static struct fs_server *server_alloc(const struct fs_opts *o)
{
	struct fs_server *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	if (pthread_mutex_init(&s->lock, NULL) != 0) {
		free(s);
		return NULL;
	}
	s->o = *o;
	s->root_fd = -1;
	s->file_fd = -1;
	s->self_fd = -1;
	s->quota.dir_fd = -1;
	list_init(&s->idle);
	list_init(&s->locks);
	s->uid = geteuid();
	s->gid = getegid();
	s->keeps_suid = s->uid == 0;
	return s;
}

int fs_server_new(const struct fs_opts *o, struct fs_server **ret,
		  struct err *e)
{
	struct fs_server *s = server_alloc(o);
	int r = s ? check_opts(o, e) : -ENOMEM;

	if (!s || r < 0) {
		base_closep(&o->root_fd);
		fs_server_free(s);
		return s ? r : err_set(e, r, "share: %s", strerror(ENOMEM));
	}
	r = take_root(s, o, e);
	if (r == 0)
		r = fs_probe(s, e);
	if (r < 0) {
		fs_server_free(s);
		return r;
	}
	s->self_fd = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = make_tables(s);
	if (r == 0)
		r = fs_owner_init(s);
	if (r == 0)
		r = make_root(s);
	if (r < 0) {
		(void)err_set(e, r, "share: %s", strerror(-r));
		fs_server_free(s);
		return r;
	}
	r = fs_quota_start(s, e);
	if (r < 0) {
		fs_server_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void fs_server_stats(struct fs_server *s, struct fs_stats *ret)
{
	struct treesize u;

	fs_lock(s);
	*ret = (struct fs_stats){
		.n_inodes = s->inodes.used,
		.n_handles = s->n_handles,
		.n_fds = s->n_idle + s->n_busy + s->n_pinned + s->n_handles +
			 s->n_locks,
	};
	fs_unlock(s);
	if (!s->quota.on)
		return;
	u = fs_quota_now(s);
	ret->bytes = u.bytes;
	ret->inodes = u.inodes;
}

void fs_server_free(struct fs_server *s)
{
	if (!s)
		return;
	fs_server_settle(s);
	fs_server_reset(s);
	if (s->root)
		fs_drop(s, s->root);
	bug_on(s->inodes.used || s->n_handles || s->mem);
	fs_ids_done(&s->inodes);
	fs_ids_done(&s->handles);
	free(s->hash);
	base_closep(&s->root_fd);
	base_closep(&s->file_fd);
	base_closep(&s->self_fd);
	fs_quota_done(s);
	fs_owner_done(s);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
}
