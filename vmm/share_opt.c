/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/share_opt.c - see share_opt.h */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/words.h"
#include "vmm/fs/quota.h"
#include "vmm/opt.h"
#include "vmm/share_opt.h"

#define FD_MAX (1u << 20)

static int take_tag(void *ctx, const struct opt_value *v, struct err *e)
{
	struct share_opt *s = ctx;
	if (v->len == 0 || v->len > VIRTIO_FS_TAG_MAX)
		return err_set(e, -EINVAL,
			       "--fs: a tag has 1 to %u bytes, not %zu",
			       VIRTIO_FS_TAG_MAX, v->len);
	memcpy(s->tag, v->s, v->len);
	s->tag[v->len] = '\0';
	return 0;
}

static int take_dir(void *ctx, const struct opt_value *v, struct err *e)
{
	struct share_opt *s = ctx;
	if (v->len == 0 || v->len >= PATH_MAX)
		return err_set(e, -EINVAL,
			       "--fs: dir: a path has 1 to %d bytes",
			       PATH_MAX - 1);
	s->dir = v->s;
	s->dir_len = v->len;
	return 0;
}

static int take_fd_n(void *ctx, const struct opt_value *v, struct err *e)
{
	struct share_opt *s = ctx;
	uint64_t n = 0;
	int r = opt_uint("--fs: fd", v, 0, FD_MAX, &n, e);

	if (r == 0)
		s->fd = (int)n;
	return r;
}

static int take_ro(void *ctx, const struct opt_value *v, struct err *e)
{
	struct share_opt *s = ctx;
	(void)v;
	(void)e;
	s->ro = true;
	return 0;
}

static int take_upper(void *ctx, const struct opt_value *v, struct err *e)
{
	struct share_opt *s = ctx;
	(void)v;
	(void)e;
	s->upper = true;
	return 0;
}

static int take_lower(void *ctx, const struct opt_value *v, struct err *e)
{
	struct share_opt *s = ctx;
	(void)v;
	(void)e;
	s->lower = true;
	return 0;
}

static int take_cache(void *ctx, const struct opt_value *v, struct err *e)
{
	struct share_opt *s = ctx;
	char q[OPT_QUOTE_MAX];

	if (opt_is(v, "auto"))
		s->cache = FS_CACHE_AUTO;
	else if (opt_is(v, "always"))
		s->cache = FS_CACHE_ALWAYS;
	else if (opt_is(v, "never"))
		s->cache = FS_CACHE_NEVER;
	else
		return err_set(e, -EINVAL,
			       "--fs: cache is auto, always or never, not '%s'",
			       opt_quote(q, v));
	return 0;
}

static int take_owner(void *ctx, const struct opt_value *v, struct err *e)
{
	struct share_opt *s = ctx;
	char q[OPT_QUOTE_MAX];

	if (opt_is(v, "host"))
		s->owner = FS_OWNER_HOST;
	else if (opt_is(v, "mapped"))
		s->owner = FS_OWNER_MAPPED;
	else
		return err_set(e, -EINVAL,
			       "--fs: owner is host or mapped, not '%s'",
			       opt_quote(q, v));
	return 0;
}

/* The last number means "no change" to chown(2). */
static int take_id(const char *what, const struct opt_value *v, uint32_t *ret,
		   struct err *e)
{
	uint64_t n = 0;
	int r = opt_uint(what, v, 0, UINT32_MAX - 1, &n, e);

	if (r == 0)
		*ret = (uint32_t)n;
	return r;
}

static int take_uid(void *ctx, const struct opt_value *v, struct err *e)
{
	struct share_opt *s = ctx;
	return take_id("--fs: uid", v, &s->uid, e);
}

static int take_gid(void *ctx, const struct opt_value *v, struct err *e)
{
	struct share_opt *s = ctx;
	return take_id("--fs: gid", v, &s->gid, e);
}

static int take_queues(void *ctx, const struct opt_value *v, struct err *e)
{
	struct share_opt *s = ctx;
	uint64_t n = 0;
	int r = opt_uint("--fs: queues", v, 1, VIRTIO_FS_QUEUES_MAX, &n, e);

	if (r == 0)
		s->queues = (unsigned int)n;
	return r;
}

static int take_quota(void *ctx, const struct opt_value *v, struct err *e)
{
	struct share_opt *s = ctx;
	char word[OPT_WORD_MAX];
	int r;

	opt_word(word, v);
	r = words_size("--fs: quota", word, &s->quota_bytes, e);
	if (r == 0 &&
	    (s->quota_bytes < FS_QUOTA_MIN || s->quota_bytes > INT64_MAX))
		return err_set(e, -ERANGE,
			       "--fs: quota is at least 1M, not '%s'", word);
	return r;
}

static int take_inodes(void *ctx, const struct opt_value *v, struct err *e)
{
	struct share_opt *s = ctx;
	return opt_uint("--fs: inodes", v, 1, UINT64_MAX, &s->quota_inodes, e);
}

static int take_dax(void *ctx, const struct opt_value *v, struct err *e)
{
	struct share_opt *s = ctx;
	char q[OPT_QUOTE_MAX];

	s->dax_auto = opt_is(v, "auto");
	if (s->dax_auto || opt_is(v, "never"))
		s->dax = FS_DAX_NEVER;
	else if (opt_is(v, "inode"))
		s->dax = FS_DAX_INODE;
	else if (opt_is(v, "always"))
		s->dax = FS_DAX_ALWAYS;
	else
		return err_set(e, -EINVAL,
			       "--fs: dax is auto, never, inode or always, "
			       "not '%s'",
			       opt_quote(q, v));
	return 0;
}

static int take_locks(void *ctx, const struct opt_value *v, struct err *e)
{
	struct share_opt *s = ctx;
	char q[OPT_QUOTE_MAX];

	if (opt_is(v, "guest"))
		s->locks = FS_LOCKS_GUEST;
	else if (opt_is(v, "host"))
		s->locks = FS_LOCKS_HOST;
	else
		return err_set(e, -EINVAL,
			       "--fs: locks is guest or host, not '%s'",
			       opt_quote(q, v));
	return 0;
}

static int take_window(void *ctx, const struct opt_value *v, struct err *e)
{
	struct share_opt *s = ctx;
	char word[OPT_WORD_MAX];
	uint64_t n = 0;
	int r;

	opt_word(word, v);
	r = words_size("--fs: window", word, &n, e);
	if (r < 0)
		return r;
	if (n < SHARE_WINDOW_MIN || n > SHARE_WINDOW_MAX || n % WINDOW_SLOT)
		return err_set(e, -ERANGE,
			       "--fs: window is %lluM to %lluM, in steps of "
			       "%lluM, not '%.32s'",
			       SHARE_WINDOW_MIN >> 20, SHARE_WINDOW_MAX >> 20,
			       WINDOW_SLOT >> 20, word);
	s->window = n;
	return 0;
}

static const struct opt_key keys[] = {
	{ "tag", false, take_tag },       { "dir", false, take_dir },
	{ "fd", false, take_fd_n },       { "ro", true, take_ro },
	{ "cache", false, take_cache },   { "owner", false, take_owner },
	{ "uid", false, take_uid },       { "gid", false, take_gid },
	{ "queues", false, take_queues }, { "upper", true, take_upper },
	{ "quota", false, take_quota },   { "inodes", false, take_inodes },
	{ "dax", false, take_dax },       { "window", false, take_window },
	{ "locks", false, take_locks },   { "lower", true, take_lower },
};

static const struct opt_keys keys_of_fs = { "--fs", keys, ARRAY_LEN(keys) };

static int check(const struct share_opt *s, unsigned int seen, struct err *e)
{
	if (!s->tag[0])
		return err_set(e, -EINVAL, "--fs: tag is missing");
	if (!s->dir == (s->fd < 0))
		return err_set(e, -EINVAL,
			       "--fs: tag=%s: give one of dir=PATH and fd=N",
			       s->tag);
	if (s->owner == FS_OWNER_MAPPED &&
	    (opt_seen(&keys_of_fs, seen, "uid") ||
	     opt_seen(&keys_of_fs, seen, "gid")))
		return err_set(e, -EINVAL,
			       "--fs: tag=%s: uid and gid are for owner=host",
			       s->tag);
	if (s->quota_inodes && !s->quota_bytes)
		return err_set(e, -EINVAL, "--fs: tag=%s: inodes needs quota",
			       s->tag);
	if (s->quota_bytes && (s->ro || s->owner != FS_OWNER_MAPPED))
		return err_set(e, -EINVAL,
			       "--fs: tag=%s: quota is for owner=mapped, and "
			       "not for ro",
			       s->tag);
	if (s->upper && (s->ro || s->owner != FS_OWNER_MAPPED))
		return err_set(e, -EINVAL,
			       "--fs: tag=%s: upper is for owner=mapped, and "
			       "not for ro",
			       s->tag);
	if (s->lower && !s->ro)
		return err_set(e, -EINVAL, "--fs: tag=%s: lower is for ro",
			       s->tag);
	if (s->window && !s->dax)
		return err_set(e, -EINVAL,
			       "--fs: tag=%s: a window is for dax=inode or "
			       "dax=always",
			       s->tag);
	return 0;
}

int share_opt_parse(const char *v, struct share_opt *ret, struct err *e)
{
	struct share_opt s = { .fd = -1, .queues = 1, .dax_auto = true };
	unsigned int seen = 0;
	int r = opt_parse(&keys_of_fs, v, &s, &seen, e);

	if (r == 0)
		r = check(&s, seen, e);
	if (r == 0 && s.dax && !s.window)
		s.window = SHARE_WINDOW_DEFAULT;
	if (r == 0)
		*ret = s;
	return r;
}

bool share_opt_is_still(const struct share_opt *s)
{
	return s->ro && s->cache == FS_CACHE_ALWAYS;
}

void share_opt_settle(struct share_opt *s, uint64_t memory)
{
	if (!s->dax_auto || !share_opt_is_still(s) || memory < SHARE_DAX_MEMORY)
		return;
	s->dax = FS_DAX_INODE;
	s->window = SHARE_WINDOW_DEFAULT;
}

void share_opt_no_window(struct share_opt *s)
{
	s->dax = FS_DAX_NEVER;
	s->window = 0;
}

/*
 * Opening twice is a race that the user has with himself: see check_type().
 * Who only reads leaves no time of access, if the file is the user's own.
 */
static int open_path(const char *path, bool ro)
{
	int flags = (ro ? O_RDONLY : O_RDWR) | O_NONBLOCK | O_NOCTTY |
		    O_CLOEXEC;
	auto_fd int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return take_fd(&fd);
	/* Not to be held up if it has become a FIFO since. */
	(void)close(take_fd(&fd));
	fd = open(path, flags | (ro ? O_NOATIME : 0));
	if (fd < 0 && errno == EPERM && ro)
		fd = open(path, flags);
	return fd < 0 ? -errno : take_fd(&fd);
}

static int check_type(const struct share_opt *s, struct err *e)
{
	struct stat st;
	int flags = fcntl(s->fd, F_GETFL), mode = flags & O_ACCMODE;

	if (flags < 0 || fstat(s->fd, &st) < 0)
		return err_set(e, -EINVAL,
			       "--fs: tag=%s: descriptor %d is not open",
			       s->tag, s->fd);
	if (S_ISDIR(st.st_mode))
		return 0;
	if (!S_ISREG(st.st_mode))
		return err_set(e, -ENOTDIR,
			       "--fs: tag=%s: neither a folder nor a regular "
			       "file",
			       s->tag);
	if (flags & O_PATH || mode == O_WRONLY || (!s->ro && mode != O_RDWR))
		return err_set(e, -EACCES,
			       "--fs: tag=%s: a file must come open for %s",
			       s->tag,
			       s->ro ? "reading" : "reading and writing");
	if (flags & O_APPEND && !s->ro)
		return err_set(e, -EINVAL,
			       "--fs: tag=%s: a file that is open for "
			       "appending can be shared read-only alone",
			       s->tag);
	return 0;
}

int share_opt_open(struct share_opt *s, struct err *e)
{
	char path[PATH_MAX];
	int r;

	if (s->dir) {
		(void)snprintf(path, sizeof(path), "%.*s", (int)s->dir_len,
			       s->dir);
		r = open_path(path, s->ro);
		if (r < 0)
			return err_set(e, r,
				       "--fs: tag=%s: cannot open '%s': %s",
				       s->tag, path, strerror(-r));
		s->fd = r;
	}
	return check_type(s, e);
}
