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
#include "vmm/share_opt.h"

#define QUOTE_MAX 64
#define FD_MAX    (1u << 20)
#define WORD_MAX  64 /* of all values but a path */

/**
 * struct value - What stands behind '='
 * @s:		Not terminated, @len bytes; NULL if there is no '='
 */
struct value {
	const char *s;
	size_t len;
};

/**
 * struct key - A word of --fs
 * @flag:	It takes no value
 * @take:	Stores the value. Return: 0 or -errno with a sentence
 */
struct key {
	const char *name;
	bool flag;
	int (*take)(struct share_opt *s, const struct value *v, struct err *e);
};

static bool is(const struct value *v, const char *word)
{
	return v->len == strlen(word) && memcmp(v->s, word, v->len) == 0;
}

static const char *quote(char q[QUOTE_MAX], const struct value *v)
{
	return log_escape(q, QUOTE_MAX, v->s, v->len);
}

static int take_number(const char *what, const struct value *v, uint64_t min,
		       uint64_t max, uint64_t *ret, struct err *e)
{
	char word[WORD_MAX];

	(void)snprintf(word, sizeof(word), "%.*s",
		       (int)MIN(v->len, sizeof(word) - 1), v->s);
	return words_uint(what, word, min, max, ret, e);
}

static int take_tag(struct share_opt *s, const struct value *v, struct err *e)
{
	if (v->len == 0 || v->len > VIRTIO_FS_TAG_MAX)
		return err_set(e, -EINVAL,
			       "--fs: a tag has 1 to %u bytes, not %zu",
			       VIRTIO_FS_TAG_MAX, v->len);
	memcpy(s->tag, v->s, v->len);
	s->tag[v->len] = '\0';
	return 0;
}

static int take_dir(struct share_opt *s, const struct value *v, struct err *e)
{
	if (v->len == 0 || v->len >= PATH_MAX)
		return err_set(e, -EINVAL,
			       "--fs: dir: a path has 1 to %d bytes",
			       PATH_MAX - 1);
	s->dir = v->s;
	s->dir_len = v->len;
	return 0;
}

static int take_fd_n(struct share_opt *s, const struct value *v, struct err *e)
{
	uint64_t n = 0;
	int r = take_number("--fs: fd", v, 0, FD_MAX, &n, e);

	if (r == 0)
		s->fd = (int)n;
	return r;
}

static int take_ro(struct share_opt *s, const struct value *v, struct err *e)
{
	(void)v;
	(void)e;
	s->ro = true;
	return 0;
}

static int take_upper(struct share_opt *s, const struct value *v, struct err *e)
{
	(void)v;
	(void)e;
	s->upper = true;
	return 0;
}

static int take_cache(struct share_opt *s, const struct value *v, struct err *e)
{
	char q[QUOTE_MAX];

	if (is(v, "auto"))
		s->cache = FS_CACHE_AUTO;
	else if (is(v, "always"))
		s->cache = FS_CACHE_ALWAYS;
	else if (is(v, "never"))
		s->cache = FS_CACHE_NEVER;
	else
		return err_set(e, -EINVAL,
			       "--fs: cache is auto, always or never, not '%s'",
			       quote(q, v));
	return 0;
}

static int take_owner(struct share_opt *s, const struct value *v, struct err *e)
{
	char q[QUOTE_MAX];

	if (is(v, "host"))
		s->owner = FS_OWNER_HOST;
	else if (is(v, "mapped"))
		s->owner = FS_OWNER_MAPPED;
	else
		return err_set(e, -EINVAL,
			       "--fs: owner is host or mapped, not '%s'",
			       quote(q, v));
	return 0;
}

/* The last number means "no change" to chown(2). */
static int take_id(const char *what, const struct value *v, uint32_t *ret,
		   struct err *e)
{
	uint64_t n = 0;
	int r = take_number(what, v, 0, UINT32_MAX - 1, &n, e);

	if (r == 0)
		*ret = (uint32_t)n;
	return r;
}

static int take_uid(struct share_opt *s, const struct value *v, struct err *e)
{
	return take_id("--fs: uid", v, &s->uid, e);
}

static int take_gid(struct share_opt *s, const struct value *v, struct err *e)
{
	return take_id("--fs: gid", v, &s->gid, e);
}

static int take_queues(struct share_opt *s, const struct value *v,
		       struct err *e)
{
	uint64_t n = 0;
	int r = take_number("--fs: queues", v, 1, VIRTIO_FS_QUEUES_MAX, &n, e);

	if (r == 0)
		s->queues = (unsigned int)n;
	return r;
}

static int take_quota(struct share_opt *s, const struct value *v, struct err *e)
{
	char word[WORD_MAX];
	int r;

	(void)snprintf(word, sizeof(word), "%.*s",
		       (int)MIN(v->len, sizeof(word) - 1), v->s);
	r = words_size("--fs: quota", word, &s->quota_bytes, e);
	if (r == 0 &&
	    (s->quota_bytes < FS_QUOTA_MIN || s->quota_bytes > INT64_MAX))
		return err_set(e, -ERANGE,
			       "--fs: quota is at least 1M, not '%s'", word);
	return r;
}

static int take_inodes(struct share_opt *s, const struct value *v,
		       struct err *e)
{
	return take_number("--fs: inodes", v, 1, UINT64_MAX, &s->quota_inodes,
			   e);
}

static int take_dax(struct share_opt *s, const struct value *v, struct err *e)
{
	char q[QUOTE_MAX];

	if (is(v, "never"))
		s->dax = FS_DAX_NEVER;
	else if (is(v, "inode"))
		s->dax = FS_DAX_INODE;
	else if (is(v, "always"))
		s->dax = FS_DAX_ALWAYS;
	else
		return err_set(e, -EINVAL,
			       "--fs: dax is never, inode or always, not '%s'",
			       quote(q, v));
	return 0;
}

static int take_window(struct share_opt *s, const struct value *v,
		       struct err *e)
{
	char word[WORD_MAX];
	uint64_t n = 0;
	int r;

	(void)snprintf(word, sizeof(word), "%.*s",
		       (int)MIN(v->len, sizeof(word) - 1), v->s);
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

static const struct key keys[] = {
	{ "tag", false, take_tag },       { "dir", false, take_dir },
	{ "fd", false, take_fd_n },       { "ro", true, take_ro },
	{ "cache", false, take_cache },   { "owner", false, take_owner },
	{ "uid", false, take_uid },       { "gid", false, take_gid },
	{ "queues", false, take_queues }, { "upper", true, take_upper },
	{ "quota", false, take_quota },   { "inodes", false, take_inodes },
	{ "dax", false, take_dax },       { "window", false, take_window },
};

static int find(const struct value *name)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (is(name, keys[i].name))
			return (int)i;
	return -ENOENT;
}

/* One word, up to a comma; @seen has a bit for each key that was given. */
static int take_word(struct share_opt *s, const char *w, size_t len,
		     unsigned int *seen, struct err *e)
{
	const char *eq = memchr(w, '=', len);
	struct value name = { w, eq ? (size_t)(eq - w) : len };
	struct value v = { eq ? eq + 1 : NULL, eq ? len - name.len - 1 : 0 };
	int i = find(&name);
	char q[QUOTE_MAX];

	if (i < 0)
		return err_set(e, -EINVAL,
			       "--fs: '%s' is no word of it; see hutch-vmm "
			       "--help",
			       quote(q, &name));
	if (*seen & 1u << i)
		return err_set(e, -EINVAL, "--fs: %s is given twice",
			       keys[i].name);
	*seen |= 1u << i;
	if (keys[i].flag != !eq)
		return err_set(e, -EINVAL, "--fs: %s %s value", keys[i].name,
			       keys[i].flag ? "takes no" : "needs a");
	return keys[i].take(s, &v, e);
}

static int check(const struct share_opt *s, unsigned int seen, struct err *e)
{
	if (!s->tag[0])
		return err_set(e, -EINVAL, "--fs: tag is missing");
	if (!s->dir == (s->fd < 0))
		return err_set(e, -EINVAL,
			       "--fs: tag=%s: give one of dir=PATH and fd=N",
			       s->tag);
	if (s->owner == FS_OWNER_MAPPED &&
	    seen & (1u << find(&(struct value){ "uid", 3 }) |
		    1u << find(&(struct value){ "gid", 3 })))
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
	if (s->window && !s->dax)
		return err_set(e, -EINVAL,
			       "--fs: tag=%s: a window is for dax=inode or "
			       "dax=always",
			       s->tag);
	return 0;
}

int share_opt_parse(const char *v, struct share_opt *ret, struct err *e)
{
	struct share_opt s = { .fd = -1, .queues = 1 };
	unsigned int seen = 0;
	int r = 0;

	while (r == 0) {
		size_t len = strcspn(v, ",");

		r = take_word(&s, v, len, &seen, e);
		if (r == 0 && !v[len])
			break;
		v += len + 1;
	}
	if (r == 0)
		r = check(&s, seen, e);
	if (r == 0 && s.dax && !s.window)
		s.window = SHARE_WINDOW_DEFAULT;
	if (r == 0)
		*ret = s;
	return r;
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
