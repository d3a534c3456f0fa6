/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/unpack.c - see unpack.h */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/log.h"
#include "host/image/acl.h"
#include "host/image/tree.h"
#include "host/image/unpack.h"

#define WHITEOUT  ".wh."
#define WH_META   ".wh..wh."
#define WH_OPAQUE ".wh..wh..opq"
#define WHY_MAX   100

/* A header, and what pax may put in front of it, in bytes of the tar. */
#define ENTRY_BYTES 4096u

/** struct folder_time - To be set when nothing is made in it any more */
struct folder_time {
	char *name;
	struct timespec mtime;
};

/**
 * struct unpack - One reading of a tar
 * @st:		Gives the plain bytes of the tar, and their digests
 * @a:		Takes the tar apart
 * @why:	Why @st failed, if it did
 * @times:	Of folders, in the order they came
 */
struct unpack {
	const struct unpack_job *job;
	struct stream st;
	struct archive *a;
	struct tree tree;
	struct err why;
	uint64_t bytes;
	struct folder_time *times;
	size_t n_times, room;
};

static int refuse(const char *name, int code, const char *why, struct err *e)
{
	char q[TREE_QUOTE_MAX];

	return err_set(e, code, "'%s': %s", tree_quote(name, q), why);
}

static ssize_t on_read(struct archive *a, void *arg, const void **ret)
{
	struct unpack *u = arg;
	ptrdiff_t n = stream_next(&u->st, ret, &u->why);

	if (n < 0)
		archive_set_error(a, EIO, "%s", u->why.msg);
	return n;
}

/* Of libarchive; the reason may be that the stream below it failed. */
static int failed(struct unpack *u, const char *name, struct err *e)
{
	const char *s = archive_error_string(u->a);
	char q[WHY_MAX], text[WHY_MAX + 30];

	if (u->why.code < 0 && name)
		return refuse(name, u->why.code, u->why.msg, e);
	if (u->why.code < 0)
		return err_set(e, u->why.code, "%s", u->why.msg);
	s = s ? s : "no reason known";
	(void)snprintf(text, sizeof(text), "the tar is damaged: %s",
		       log_escape(q, sizeof(q), s, strlen(s)));
	return name ? refuse(name, -EBADMSG, text, e)
		    : err_set(e, -EBADMSG, "%s", text);
}

/* ---- Contents ---- */

static int write_at(int fd, const void *p, size_t len, la_int64_t off)
{
	while (len) {
		ssize_t n = pwrite(fd, p, len, off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p = (const char *)p + n;
		len -= (size_t)n;
		off += n;
	}
	return 0;
}

static int too_large(const struct unpack *u, const char *name, struct err *e)
{
	char why[WHY_MAX];

	(void)snprintf(why, sizeof(why),
		       "with it the files have more than %llu bytes",
		       (unsigned long long)u->job->max_bytes);
	return refuse(name, -E2BIG, why, e);
}

/* Only what is there is written: holes stay holes. */
static int put_content(struct unpack *u, int fd, struct archive_entry *ae,
		       const char *name, struct err *e)
{
	la_int64_t size = archive_entry_size(ae), off = 0;
	const void *p = NULL;
	size_t len = 0;
	int r;

	while ((r = archive_read_data_block(u->a, &p, &len, &off)) ==
	       ARCHIVE_OK) {
		if (off < 0 || off > size || len > (uint64_t)(size - off))
			return refuse(name, -EBADMSG,
				      "it has more bytes than it says", e);
		if (len > u->job->max_bytes - u->bytes)
			return too_large(u, name, e);
		u->bytes += len;
		r = write_at(fd, p, len, off);
		if (r < 0)
			return refuse(name, r, strerror(-r), e);
	}
	if (r != ARCHIVE_EOF)
		return failed(u, name, e);
	if (ftruncate(fd, size) < 0)
		return refuse(name, -errno, strerror(errno), e);
	return 0;
}

static int put_symlink(int fd, struct archive_entry *ae, const char *name,
		       struct err *e)
{
	const char *to = archive_entry_symlink(ae);
	size_t len = to ? strlen(to) : 0;
	int r;

	if (len == 0 || len >= PATH_MAX)
		return refuse(name, -EBADMSG, "its target cannot be", e);
	r = write_at(fd, to, len, 0);
	return r < 0 ? refuse(name, r, strerror(-r), e) : 0;
}

/* ---- Whose it is, and what else is known of it ---- */

static int put_stat(int fd, struct archive_entry *ae, const char *name,
		    struct err *e)
{
	la_int64_t uid = archive_entry_uid(ae), gid = archive_entry_gid(ae);
	struct mapped_stat st = {
		.mode = archive_entry_filetype(ae) | acl_perm(ae),
		.uid = (uint32_t)uid,
		.gid = (uint32_t)gid,
	};

	if (uid < 0 || gid < 0 || uid >= UINT32_MAX || gid >= UINT32_MAX)
		return refuse(name, -EPERM, "its owner is no 32-bit number", e);
	if (S_ISCHR(st.mode) || S_ISBLK(st.mode)) {
		st.rdev_major = (uint32_t)archive_entry_rdevmajor(ae);
		st.rdev_minor = (uint32_t)archive_entry_rdevminor(ae);
	}
	return tree_stat(fd, &st, name, e);
}

static int put_xattrs(int fd, struct archive_entry *ae, const char *name,
		      struct err *e)
{
	const char *attr;
	const void *value;
	size_t len;
	int r = 0;

	(void)archive_entry_xattr_reset(ae);
	while (r == 0 &&
	       archive_entry_xattr_next(ae, &attr, &value, &len) == ARCHIVE_OK)
		if (attr)
			r = tree_xattr(fd, attr, value, len, name, e);
	return r;
}

static struct timespec mtime_of(struct archive_entry *ae)
{
	return (struct timespec){ .tv_sec = archive_entry_mtime(ae),
				  .tv_nsec = archive_entry_mtime_nsec(ae) };
}

/* Making a file in a folder changes the folder's time: that comes last. */
static int keep_time(struct unpack *u, const struct tree_path *p,
		     struct archive_entry *ae)
{
	if (u->n_times == u->room) {
		size_t room = u->room ? u->room * 2 : 256;
		struct folder_time *more =
			realloc(u->times, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		u->times = more;
		u->room = room;
	}
	u->times[u->n_times].mtime = mtime_of(ae);
	u->times[u->n_times].name = strdup(p->text);
	return u->times[u->n_times++].name ? 0 : -ENOMEM;
}

static int set_times(struct unpack *u, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < u->n_times && r == 0; i++)
		r = tree_folder_time(&u->tree, u->times[i].name,
				     &u->times[i].mtime, e);
	return r;
}

/* ---- Entries ---- */

static int put_link(struct unpack *u, const struct tree_path *p,
		    const char *name, const char *to, struct err *e)
{
	struct tree_path target;
	struct err why = { 0 };
	int r = tree_path(to, &target, &why);

	if (r < 0)
		return refuse(name, r, why.msg, e);
	return tree_link(&u->tree, p, &target, e);
}

static int put_object(struct unpack *u, struct archive_entry *ae,
		      const struct tree_path *p, struct err *e)
{
	unsigned int type = archive_entry_filetype(ae);
	const char *name = *p->text ? p->text : ".";
	auto_fd int fd = -1;
	struct timespec t;
	int r = 0;

	fd = type == AE_IFDIR ? tree_folder(&u->tree, p, e)
			      : tree_file(&u->tree, p, e);
	if (fd < 0)
		return fd;
	if (type == AE_IFREG)
		r = put_content(u, fd, ae, name, e);
	else if (type == AE_IFLNK)
		r = put_symlink(fd, ae, name, e);
	r = r < 0 ? r : put_stat(fd, ae, name, e);
	r = r < 0 ? r : put_xattrs(fd, ae, name, e);
	r = r < 0 ? r : acl_put(fd, ae, name, e);
	if (r < 0)
		return r;
	if (type == AE_IFDIR) {
		r = keep_time(u, p, ae);
		return r < 0 ? refuse(name, r, strerror(-r), e) : 0;
	}
	t = mtime_of(ae);
	return tree_time(fd, &t, name, e);
}

static int put_entry(struct unpack *u, struct archive_entry *ae,
		     const struct tree_path *p, const char *name, struct err *e)
{
	const char *to = archive_entry_hardlink(ae);

	if (to)
		return put_link(u, p, name, to, e);
	switch (archive_entry_filetype(ae)) {
	case AE_IFREG:
	case AE_IFDIR:
	case AE_IFLNK:
	case AE_IFCHR:
	case AE_IFBLK:
	case AE_IFIFO:
	case AE_IFSOCK:
		return put_object(u, ae, p, e);
	default:
		return refuse(name, -EPERM, "it is of no known type", e);
	}
}

/* What "DIR/.wh.NAME" says is gone: "DIR/NAME", or all in DIR. */
static int do_whiteout(struct unpack *u, const struct tree_path *p,
		       struct err *e)
{
	size_t dir = (size_t)(p->base - p->text);
	const char *gone = p->base + strlen(WHITEOUT);
	char name[PATH_MAX];
	struct tree_path q;
	int r;

	if (strcmp(p->base, WH_OPAQUE) == 0)
		gone = "";
	else if (strncmp(p->base, WH_META, strlen(WH_META)) == 0)
		return 0;
	else if (!*gone || base_is_dots(gone))
		return refuse(p->text, -EPERM,
			      "a whiteout of no name is refused", e);
	(void)snprintf(name, sizeof(name), "%.*s%s", (int)dir, p->text, gone);
	r = tree_path(name, &q, e);
	if (r < 0)
		return r;
	return *gone ? tree_remove(&u->tree, &q, e)
		     : tree_empty(&u->tree, &q, e);
}

static int one_entry(struct unpack *u, struct archive_entry *ae, bool whiteouts,
		     struct err *e)
{
	const char *name = archive_entry_pathname(ae);
	struct tree_path p;
	bool is_wh;
	int r;

	if (!name)
		return err_set(e, -EBADMSG, "an entry has no name");
	r = tree_path(name, &p, e);
	if (r < 0)
		return r;
	is_wh = strncmp(p.base, WHITEOUT, strlen(WHITEOUT)) == 0;
	if (whiteouts)
		return is_wh ? do_whiteout(u, &p, e) : 0;
	/* With nothing below there is nothing that could be gone. */
	return is_wh ? 0 : put_entry(u, ae, &p, name, e);
}

/* To the end of an entry; @ret_at is where that is. */
static int skip_rest(struct unpack *u, la_int64_t *ret_at, struct err *e)
{
	if (archive_read_data_skip(u->a) < ARCHIVE_WARN)
		return failed(u, NULL, e);
	*ret_at = archive_filter_bytes(u->a, 0);
	return 0;
}

/* libarchive takes the end of the bytes for that of the tar as well. */
static int check_end(struct unpack *u, la_int64_t at, struct err *e)
{
	if (!u->job->want_end || at == 0 || archive_filter_bytes(u->a, 0) > at)
		return 0;
	return err_set(
		e, -EBADMSG,
		"the tar is damaged: it ends without the zero block that "
		"ends a tar");
}

static int all_entries(struct unpack *u, bool whiteouts, struct err *e)
{
	struct archive_entry *ae;
	uint64_t n = u->job->used_entries;
	la_int64_t at = 0;
	int r;

	for (;;) {
		r = archive_read_next_header(u->a, &ae);
		if (r == ARCHIVE_EOF)
			return check_end(u, at, e);
		/* A warning is about what is ours to check. */
		if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
			return failed(u, NULL, e);
		/* Those that make nothing count as well. */
		if (n++ >= u->job->max_entries)
			return err_set(e, -E2BIG,
				       "there are more than %llu entries",
				       (unsigned long long)u->job->max_entries);
		r = one_entry(u, ae, whiteouts, e);
		r = r < 0 ? r : skip_rest(u, &at, e);
		if (r < 0)
			return r;
	}
}

static uint64_t max_plain(const struct unpack_job *job)
{
	uint64_t heads = MIN(job->max_entries, UINT32_MAX) * ENTRY_BYTES;

	/* 1 MiB for padding: tars come in records of any size. */
	return MIN(job->max_bytes, UINT64_MAX / 4) + heads + (1u << 20);
}

static int open_both(struct unpack *u, struct err *e)
{
	int r;

	if (lseek(u->job->src_fd, 0, SEEK_SET) < 0)
		return err_set(e, -errno, "cannot read it: %s",
			       strerror(errno));
	r = stream_open(&u->st, u->job->src_fd, max_plain(u->job), e);
	if (r < 0)
		return r;
	u->a = archive_read_new();
	if (!u->a)
		return err_set(e, -ENOMEM, "no memory");
	if (archive_read_support_format_tar(u->a) != ARCHIVE_OK ||
	    archive_read_support_format_empty(u->a) != ARCHIVE_OK)
		return err_set(e, -ENOTSUP, "libarchive here has no tar");
	if (archive_read_open(u->a, u, NULL, on_read, NULL) != ARCHIVE_OK)
		return failed(u, NULL, e);
	return 0;
}

static void clean_up(struct unpack *u)
{
	if (u->a)
		(void)archive_read_free(u->a);
	stream_close(&u->st);
	tree_done(&u->tree);
	for (size_t i = 0; i < u->n_times; i++)
		free(u->times[i].name);
	free(u->times);
	free(u);
}

static int one_pass(const struct unpack_job *job, bool whiteouts, stream_fn *fn,
		    void *arg, struct unpack_result *ret, struct err *e)
{
	struct unpack *u = calloc(1, sizeof(*u));
	int r;

	if (!u)
		return err_set(e, -ENOMEM, "no memory");
	u->job = job;
	u->bytes = job->used_bytes;
	tree_init(&u->tree, job->tree_fd, job->max_entries);
	u->tree.entries = job->used_entries;
	r = open_both(u, e);
	u->st.fn = fn;
	u->st.arg = arg;
	r = r < 0 ? r : all_entries(u, whiteouts, e);
	r = r < 0 ? r : set_times(u, e);
	if (r == 0)
		r = stream_finish(&u->st, ret->packed, ret->plain, e);
	ret->bytes = u->bytes;
	ret->entries = u->tree.entries;
	clean_up(u);
	return r;
}

int unpack_run(const struct unpack_job *job, stream_fn *fn, void *arg,
	       struct unpack_result *ret, struct err *e)
{
	struct unpack_result first = { 0 }, res = { 0 };
	int r = 0;

	if (job->upper)
		r = one_pass(job, true, fn, arg, &first, e);
	r = r < 0 ? r : one_pass(job, false, fn, arg, &res, e);
	if (r < 0)
		return r;
	if (job->upper && strcmp(first.plain, res.plain) != 0)
		return err_set(e, -EBADMSG, "it was changed while it was read");
	*ret = res;
	return 0;
}
