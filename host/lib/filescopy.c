/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/filescopy.c - trees of files, out of a VM and into it */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/tree.h"
#include "host/lib/files.h"

/**
 * struct source - What is copied, as its path says
 * @base:	Its last component; "" if it has none of its own
 * @contents:	What is in the folder, and not the folder: "x/.", "..", "/"
 * @folder:	It has a slash at its end, which is a folder's
 */
struct source {
	char base[WIRE_NAME_MAX + 1];
	bool contents;
	bool folder;
};

static int source_of(const char *path, struct source *ret, struct err *e)
{
	size_t len = strlen(path), from;

	*ret = (struct source){ .base = "" };
	if (len == 0)
		return err_set(e, -EINVAL, "the path is empty");
	if (len > WIRE_PATH_MAX)
		return err_set(e, -ENAMETOOLONG,
			       "the path has more than %u bytes",
			       WIRE_PATH_MAX);
	ret->folder = path[len - 1] == '/';
	while (len && path[len - 1] == '/')
		len--;
	from = len;
	while (from && path[from - 1] != '/')
		from--;
	if (len - from > WIRE_NAME_MAX)
		return err_set(e, -ENAMETOOLONG, "a name of %zu bytes",
			       len - from);
	memcpy(ret->base, path + from, len - from);
	ret->base[len - from] = '\0';
	if (wire_name_ok(ret->base))
		return 0;
	ret->base[0] = '\0';
	ret->contents = true;
	return 0;
}

static int pass_note(void *ctx, int code, const char *sentence, struct err *e)
{
	(void)e;
	files_say(ctx, -code, sentence);
	return 0;
}

/* ---- Out of the VM ---- */

#define STATUS_MAX \
	512 /* of /proc/PID/status; the umask is in its second line */
#define UMASK_UNKNOWN 077

/* umask() itself would take it from the program's other threads meanwhile. */
static mode_t read_umask(void)
{
	static const char key[] = "\nUmask:\t";
	auto_fd int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
	char buf[STATUS_MAX];
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	const char *at;

	if (n < 0)
		return UMASK_UNKNOWN;
	buf[n] = '\0';
	at = strstr(buf, key);
	return at ? (mode_t)strtoul(at + strlen(key), NULL, 8) & 0777
		  : UMASK_UNKNOWN;
}

static unsigned int place_flags(const struct source *src, unsigned int flags)
{
	return (src->contents ? TREE_INSIDE : 0) |
	       (src->folder ? TREE_FOLDER : 0) |
	       (flags & HUTCH_FS_FOLLOW ? TREE_NO_LINK : 0) |
	       (flags & HUTCH_FS_ARCHIVE ? TREE_ARCHIVE : 0) |
	       /* A program of a guest that is setuid here is root's risk. */
	       (geteuid() == 0 ? TREE_SETUID : 0);
}

static int take_tree(struct hutch_fs *fs, const struct tree_place *place,
		     struct err *e)
{
	AUTO(tree_in_freep)
	struct tree_in *t = tree_in_new(place, pass_note, fs);
	struct wire_frame f;
	int r;

	if (!t)
		return err_set(e, -ENOMEM, "no memory");
	while ((r = files_next(fs, &f, e)) > 0) {
		r = tree_in_frame(t, &f, e);
		if (r == -EBADMSG || r == -EPROTO)
			return err_wrap(e, -EBADMSG,
					"VM '%s' sent what is not the protocol",
					fs->name);
		if (r < 0)
			return r;
	}
	if (r == 0 && !tree_in_whole(t))
		return err_set(e, -EBADMSG, "VM '%s' sent half a tree",
			       fs->name);
	return r;
}

int hutch_fs_get(struct hutch_fs *fs, const char *path, unsigned int flags,
		 const char *to, struct hutch_err *e)
{
	struct msg_file m = {
		.op = WIRE_FILE_GET,
		.flags = (flags & HUTCH_FS_FOLLOW ? WIRE_FILE_FOLLOW : 0) |
			 (flags & HUTCH_FS_ARCHIVE ? WIRE_FILE_ARCHIVE : 0),
		.path = path,
	};
	struct tree_place place = { .path = to };
	struct source src = { .base = "" };
	int r = files_check_flags(flags, HUTCH_FS_FOLLOW | HUTCH_FS_ARCHIVE,
				  err_of(e));

	if (r == 0)
		r = source_of(path, &src, err_of(e));
	if (r == 0 && (!*to || strlen(to) > WIRE_PATH_MAX))
		r = err_set(err_of(e), -EINVAL,
			    "the path to copy to has no bytes, or more than %u",
			    WIRE_PATH_MAX);
	if (r == 0)
		r = files_begin(fs, &m, err_of(e));
	if (r == 0) {
		place.base = src.base;
		place.flags = place_flags(&src, flags);
		place.umask = read_umask();
		r = take_tree(fs, &place, err_of(e));
	}
	files_end(fs);
	return r < 0 ? r : fs->left_out;
}

/* ---- Into the VM ---- */

static int send_frame(void *ctx, const void *head, size_t head_len,
		      const void *data, size_t len, struct err *e)
{
	return files_send(ctx, head, head_len, data, len, e);
}

int hutch_fs_put(struct hutch_fs *fs, const char *from, unsigned int flags,
		 const char *path, struct hutch_err *e)
{
	const struct tree_sink sink = { .frame = send_frame,
					.note = pass_note,
					.ctx = fs };
	struct msg_file m = {
		.op = WIRE_FILE_PUT,
		.flags = flags & HUTCH_FS_ARCHIVE ? WIRE_FILE_ARCHIVE : 0,
		.path = path,
	};
	struct source src = { .base = "" };
	int r = files_check_flags(flags, HUTCH_FS_FOLLOW | HUTCH_FS_ARCHIVE,
				  err_of(e));

	if (r == 0)
		r = source_of(from, &src, err_of(e));
	if (r < 0)
		return r;
	m.other = src.base;
	m.flags |= src.contents ? WIRE_FILE_CONTENTS : 0;
	r = files_begin(fs, &m, err_of(e));
	if (r == 0)
		r = tree_send(
			from,
			(flags & HUTCH_FS_FOLLOW ? TREE_FOLLOW : 0) |
				(flags & HUTCH_FS_ARCHIVE ? TREE_ARCHIVE : 0),
			&sink, err_of(e));
	if (r == 0)
		r = files_commit(fs, err_of(e));
	files_end(fs);
	return r < 0 ? r : fs->left_out;
}
