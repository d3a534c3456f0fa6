/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/files/tree.c - see ops.h: trees, out of the guest and into it */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/newfile.h"
#include "common/rmtree.h"
#include "common/tree.h"
#include "guest-agent/files/ops.h"

static int on_frame(void *ctx, const void *head, size_t head_len,
		    const void *data, size_t len, struct err *e)
{
	return files_send(ctx, head, head_len, data, len, e);
}

static int on_note(void *ctx, int code, const char *sentence, struct err *e)
{
	uint8_t buf[WIRE_HDR_LEN + 13 + ERR_MSG_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_note_put(&wr, &(struct msg_note){ .code = (uint32_t)code,
					       .sentence = sentence });
	return files_send_wr(ctx, &wr, e);
}

int files_get(struct files *f, struct err *e)
{
	const struct tree_sink sink = { .frame = on_frame,
					.note = on_note,
					.ctx = f };
	uint32_t flags = f->req.flags;

	return tree_send(
		f->req.path,
		(flags & WIRE_FILE_FOLLOW ? TREE_FOLLOW : 0) |
			(flags & WIRE_FILE_ARCHIVE ? TREE_ARCHIVE : 0) |
			(flags & WIRE_FILE_ONE_FS ? TREE_ONE_FS : 0),
		&sink, e);
}

/* Entries until the client says that this is all. */
static int take_tree(struct files *f, struct tree_in *t, struct err *e)
{
	struct wire_frame frame;
	int r;

	while ((r = files_next(f, &frame, e)) == 0) {
		if (frame.type == WIRE_FILE_COMMIT && tree_in_whole(t))
			return 0;
		r = tree_in_frame(t, &frame, e);
		if (r == -EPROTO || r == -EBADMSG)
			f->broke = true;
		if (r < 0)
			break;
	}
	return r;
}

static int put(struct files *f, const struct tree_place *place, struct err *e)
{
	AUTO(tree_in_freep) struct tree_in *t = tree_in_new(place, on_note, f);

	if (!t)
		return err_set(e, -ENOMEM, "out of memory");
	return take_tree(f, t, e);
}

/**
 * struct swap - A folder that is to be replaced as a whole
 * @parent:	Folder that it is in, which is our own then
 * @temp:	Where the new one is made
 */
struct swap {
	int parent;
	bool there;
	char name[WIRE_NAME_MAX + 1];
	char temp[NEWFILE_TEMP_MAX];
};

static int swap_find(struct swap *s, const char *path, struct err *e)
{
	char real[PATH_MAX + 1];
	struct stat st;
	int r;

	s->there = stat(path, &st) == 0;
	if (!s->there && errno != ENOENT)
		return files_fail(e, -errno, path);
	if (s->there && !S_ISDIR(st.st_mode))
		return files_fail(e, -ENOTDIR, path);
	r = tree_real_path(path, real);
	if (r < 0)
		return files_fail(e, r, path);
	s->parent = tree_open_parent(real, s->name, e);
	if (s->parent < 0)
		return s->parent;
	newfile_temp_name(s->temp);
	/* The receiver takes a path: from here it is a short one. */
	return fchdir(s->parent) < 0 ? files_fail(e, -errno, path) : 0;
}

/* All of it to the disk, and then one rename. */
static int swap_in(const struct swap *s, struct err *e)
{
	auto_fd int fd =
		openat(s->parent, s->temp,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || syncfs(fd) < 0)
		return files_fail(e, -errno, s->name);
	if (syscall(SYS_renameat2, s->parent, s->temp, s->parent, s->name,
		    s->there ? RENAME_EXCHANGE : RENAME_NOREPLACE) < 0)
		return files_fail(e, -errno, s->name);
	return syncfs(fd) < 0 ? files_fail(e, -errno, s->name) : 0;
}

static int put_in_place(struct files *f, struct err *e)
{
	struct swap s = { .parent = -1 };
	const struct tree_place place = {
		.path = s.temp,
		.base = "",
		.flags = TREE_ARCHIVE | TREE_SETUID | TREE_DEVICES,
	};
	int r = swap_find(&s, f->req.path, e);

	if (r == 0) {
		r = put(f, &place, e);
		if (r == 0)
			r = swap_in(&s, e);
		/* The new one if that failed, and else the old one. */
		if (rmtree(s.parent, s.temp) < 0 && r == 0)
			r = on_note(f, EIO, "the old folder cannot be removed",
				    e);
	}
	if (s.parent >= 0)
		(void)close(s.parent);
	return r;
}

int files_put(struct files *f, struct err *e)
{
	uint32_t flags = f->req.flags;
	const struct tree_place place = {
		.path = f->req.path,
		.base = f->req.other,
		.flags = TREE_FOLLOW |
			 (flags & WIRE_FILE_CONTENTS ? TREE_INSIDE : 0) |
			 (flags & WIRE_FILE_ARCHIVE
				  ? TREE_ARCHIVE | TREE_SETUID | TREE_DEVICES
				  : 0),
	};

	return flags & WIRE_FILE_REPLACE ? put_in_place(f, e)
					 : put(f, &place, e);
}
