/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/xattr.c - extended attributes
 *
 * Of the host's files the guest has user.* alone: all others mean something to
 * the host.  In a mapped tree it has user.*, but for our own, security.* and
 * trusted.*, which are kept under MAPPED_XATTR, and so are POSIX ACLs, if the
 * guest obeys them: acl.h.
 */
#include <errno.h>
#include <limits.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/xattr.h>

#include "common/killed.h"
#include "common/words.h"
#include "vmm/fs/acl.h"
#include "vmm/fs/ops.h"
#include "vmm/fs/owner.h"
#include "vmm/fs/waiter.h"
#include "vmm/fs/walk.h"

#define KEPT_LEN (sizeof(MAPPED_XATTR) - 1)

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/*
 * The host's name of the guest's @name.
 *
 * Return: 0; -EOPNOTSUPP if there is no such attribute; -ERANGE if it would be
 * too long
 */
static int host_name(const struct fs_server *s, const char *name,
		     char ret[XATTR_NAME_MAX + 1])
{
	bool kept = fs_is_mapped(s) && mapped_xattr_kept(name) &&
		    (!begins(name, "system.") ||
		     atomic_load_explicit(&s->acl, memory_order_relaxed));
	size_t len = strlen(name);

	if (begins(name, KILLED_RESERVED))
		return -EOPNOTSUPP;
	if (!kept && !begins(name, "user."))
		return -EOPNOTSUPP;
	if (fs_is_mapped(s) && begins(name, MAPPED_PREFIX))
		return -EOPNOTSUPP;
	if (len + (kept ? KEPT_LEN : 0) > XATTR_NAME_MAX)
		return -ERANGE;
	if (kept)
		memcpy(ret, MAPPED_XATTR, KEPT_LEN);
	memcpy(ret + (kept ? KEPT_LEN : 0), name, len + 1);
	return 0;
}

/* Return: 0 and the name as the guest has it; else what to answer */
static int read_guest_name(struct fs_req *r, char ret[XATTR_NAME_MAX + 1])
{
	int n = fs_req_string(r, ret, XATTR_NAME_MAX + 1);

	if (n == -ENAMETOOLONG)
		return -ERANGE;
	return n == 0 ? -EINVAL : MIN(n, 0);
}

/* Return: 0 and the host's name; else what to answer */
static int read_name(struct fs_req *r, char ret[XATTR_NAME_MAX + 1])
{
	char name[XATTR_NAME_MAX + 1];
	int n = read_guest_name(r, name);

	return n < 0 ? n : host_name(r->s, name, ret);
}

/* As sizes go: 0 asks how much there is, and too little is ERANGE. */
static int answer(struct fs_req *r, const void *value, size_t len, size_t room)
{
	struct fuse_getxattr_out out = { .size = (uint32_t)len };

	if (room == 0)
		return fs_req_put(r, &out, sizeof(out));
	return len > room ? -ERANGE : fs_req_put(r, value, len);
}

/* Not an attribute: the guest's agent says that a thread is to wait no more. */
static int killed(struct fs_req *r, const char *number, size_t room)
{
	uint64_t tid;
	int e;

	if (!r->s->o.locks)
		return -EOPNOTSUPP;
	/* As Linux answers in place of us. */
	if (r->h.uid != 0)
		return -ENODATA;
	if (words_uint("thread", number, 1, UINT32_MAX, &tid,
		       &(struct err){ 0 }) < 0)
		return -EINVAL;
	e = fs_waiter_killed(r->s, (uint32_t)tid);
	return e < 0 ? e : answer(r, "", 0, room);
}

static int get(struct fs_req *r, const char *guest, size_t room)
{
	char name[XATTR_NAME_MAX + 1];
	auto_free uint8_t *value = NULL;
	struct fs_at at;
	ssize_t n = 0;
	size_t cap = MIN(room, XATTR_SIZE_MAX);
	int e = host_name(r->s, guest, name);

	if (e < 0)
		return e;
	value = malloc(cap ? cap : 1);
	if (!value)
		return -ENOMEM;
	e = fs_get_open(r->s, r->h.nodeid, FS_ANY_ACCESS, &at);
	if (e == 0) {
		n = fgetxattr(at.fd, name, value, cap);
		e = n < 0 ? -errno : 0;
	}
	fs_put(r->s, &at);
	return e < 0 ? e : answer(r, value, (size_t)n, room);
}

int fs_op_getxattr(struct fs_req *r)
{
	char name[XATTR_NAME_MAX + 1];
	struct fuse_getxattr_in in;
	int e = fs_req_get(r, &in, sizeof(in));

	if (e == 0)
		e = read_guest_name(r, name);
	if (e == 0)
		e = fs_req_end(r);
	if (e < 0)
		return e;
	if (begins(name, KILLED_PREFIX))
		return killed(r, name + sizeof(KILLED_PREFIX) - 1, in.size);
	return get(r, name, in.size);
}

static int read_setxattr(struct fs_req *r, struct fuse_setxattr_in *in)
{
	bool ext =
		atomic_load_explicit(&r->s->setxattr_ext, memory_order_relaxed);

	*in = (struct fuse_setxattr_in){ 0 };
	return fs_req_get(r, in,
			  ext ? sizeof(*in) : FUSE_COMPAT_SETXATTR_IN_SIZE);
}

/* The host's @name as the guest has it, or NULL if it is none of its own. */
static const char *guest_name(const struct fs_server *s, const char *name)
{
	char host[XATTR_NAME_MAX + 1];

	if (fs_is_mapped(s) && begins(name, MAPPED_XATTR)) {
		name += KEPT_LEN;
		return host_name(s, name, host) == 0 ? name : NULL;
	}
	return host_name(s, name, host) == 0 && begins(name, "user.") ? name
								      : NULL;
}

/* Of what the guest sees of them: names as it has them, and values. */
static size_t held(const struct fs_server *s, int fd, const char *but)
{
	auto_free char *list = malloc(XATTR_LIST_MAX);
	ssize_t n = list ? flistxattr(fd, list, XATTR_LIST_MAX) : -1;
	size_t sum = 0, len;

	if (n < 0)
		return errno == EOPNOTSUPP ? 0 : FS_QUOTA_XATTR_MAX;
	for (size_t at = 0; at < (size_t)n; at += len) {
		const char *name = list + at;
		ssize_t size;

		len = strlen(name) + 1;
		if (!guest_name(s, name) || strcmp(name, but) == 0)
			continue;
		size = fgetxattr(fd, name, NULL, 0);
		sum += strlen(name) + (size > 0 ? (size_t)size : 0);
	}
	return sum;
}

/* With a quota they are held to what they have on most disks. */
static int set(struct fs_server *s, const struct fs_at *at, const char *name,
	       const void *value, const struct fuse_setxattr_in *in)
{
	bool kill_sgid = in->setxattr_flags & FUSE_SETXATTR_ACL_KILL_SGID;
	size_t more = strlen(name) + in->size;
	struct fs_growing g;
	int r = 0;

	fs_quota_holding(s, at->ino, at->fd, &g);
	if (g.lock && (more > FS_QUOTA_XATTR_MAX ||
		       held(s, at->fd, name) > FS_QUOTA_XATTR_MAX - more))
		r = -ENOSPC;
	else if (begins(name, MAPPED_XATTR "system."))
		r = fs_acl_set(s, at->fd, name + KEPT_LEN, value, in->size,
			       kill_sgid);
	else if (fsetxattr(at->fd, name, value, in->size, (int)in->flags) < 0)
		r = -errno;
	fs_quota_grown(s, &g);
	return r;
}

int fs_op_setxattr(struct fs_req *r)
{
	char name[XATTR_NAME_MAX + 1];
	auto_free uint8_t *value = NULL;
	struct fuse_setxattr_in in;
	struct fs_at at;
	int e = read_setxattr(r, &in);

	if (e == 0)
		e = read_name(r, name);
	if (e < 0)
		return e;
	if (in.size > XATTR_SIZE_MAX)
		return -E2BIG;
	if (in.flags & ~(uint32_t)(XATTR_CREATE | XATTR_REPLACE))
		return -EINVAL;
	value = malloc(in.size ? in.size : 1);
	if (!value)
		return -ENOMEM;
	e = fs_req_last(r, value, in.size);
	if (e < 0)
		return e;
	e = fs_get_open(r->s, r->h.nodeid, FS_ANY_ACCESS, &at);
	if (e == 0)
		e = set(r->s, &at, name, value, &in);
	fs_put(r->s, &at);
	return e;
}

int fs_op_removexattr(struct fs_req *r)
{
	char name[XATTR_NAME_MAX + 1];
	struct fs_at at;
	int e = read_name(r, name);

	if (e == 0)
		e = fs_req_end(r);
	if (e < 0)
		return e;
	e = fs_get_open(r->s, r->h.nodeid, FS_ANY_ACCESS, &at);
	if (e == 0)
		e = fremovexattr(at.fd, name) < 0 ? -errno : 0;
	fs_put(r->s, &at);
	return e;
}

/*
 * Whoever is not root does not see that there are trusted ones; the guest's
 * kernel looks after the rest of what he may do.
 */
static bool may_see(const struct fs_req *r, const char *name)
{
	return r->h.uid == 0 || !begins(name, "trusted.");
}

/* In place: no name gets longer. Return: bytes of the guest's list */
static size_t to_guest(const struct fs_req *r, char *list, size_t len)
{
	size_t out = 0, n;

	for (size_t at = 0; at < len; at += n) {
		const char *name;

		n = strlen(list + at) + 1;
		name = guest_name(r->s, list + at);
		if (!name || !may_see(r, name))
			continue;
		memmove(list + out, name, strlen(name) + 1);
		out += strlen(list + out) + 1;
	}
	return out;
}

int fs_op_listxattr(struct fs_req *r)
{
	auto_free char *list = NULL;
	struct fuse_getxattr_in in;
	struct fs_at at;
	ssize_t n = 0;
	int e = fs_req_last(r, &in, sizeof(in));

	if (e < 0)
		return e;
	list = malloc(XATTR_LIST_MAX);
	if (!list)
		return -ENOMEM;
	e = fs_get_open(r->s, r->h.nodeid, FS_ANY_ACCESS, &at);
	if (e == 0) {
		n = flistxattr(at.fd, list, XATTR_LIST_MAX);
		e = n < 0 ? -errno : 0;
	}
	fs_put(r->s, &at);
	if (e == -EOPNOTSUPP) /* it has none, and can have none */
		e = (int)(n = 0);
	if (e < 0)
		return e;
	return answer(r, list, to_guest(r, list, (size_t)n), in.size);
}
