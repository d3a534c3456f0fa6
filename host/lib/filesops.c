/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/filesops.c - files of a VM: one of them at a time */
#include <errno.h>
#include <string.h>

#include "host/lib/files.h"

/** struct file - A public one, with its strings */
struct file {
	struct hutch_file pub;
	char text[];
};

struct hutch_file *files_of_entry(const struct msg_entry *m)
{
	size_t name_len = strlen(m->name) + 1;
	size_t target_len = strlen(m->target) + 1;
	struct file *f = malloc(sizeof(*f) + name_len + target_len);

	_Static_assert(HUTCH_FILE_REGULAR == (int)WIRE_KIND_FILE &&
			       HUTCH_FILE_FOLDER == (int)WIRE_KIND_DIR &&
			       HUTCH_FILE_SYMLINK == (int)WIRE_KIND_SYMLINK &&
			       HUTCH_FILE_FIFO == (int)WIRE_KIND_FIFO &&
			       HUTCH_FILE_SOCKET == (int)WIRE_KIND_SOCKET &&
			       HUTCH_FILE_BLOCK_DEVICE == (int)WIRE_KIND_BLOCK,
		       "kinds are those of the wire");
	if (!f)
		return NULL;
	memcpy(f->text, m->name, name_len);
	memcpy(f->text + name_len, m->target, target_len);
	f->pub = (struct hutch_file){
		.kind = (enum hutch_file_kind)m->kind,
		.mode = m->mode,
		.uid = m->uid,
		.gid = m->gid,
		.nlink = m->nlink,
		.rdev_major = m->rdev_major,
		.rdev_minor = m->rdev_minor,
		.bytes = m->size,
		.allocated = MIN(m->blocks, (uint64_t)INT64_MAX / 512) * 512,
		.ino = m->ino,
		.atime_ns = m->atime_ns,
		.mtime_ns = m->mtime_ns,
		.ctime_ns = m->ctime_ns,
		.name = f->text,
		.target = f->text + name_len,
	};
	return &f->pub;
}

void hutch_file_free(struct hutch_file *f)
{
	free(f ? container_of(f, struct file, pub) : NULL);
}

/* An entry of the answer, on its own or in a folder. */
static int take_entry(struct hutch_fs *fs, const struct wire_frame *f,
		      bool named, struct hutch_file **ret, struct err *e)
{
	struct msg_entry m;
	int r;

	if (f->type != WIRE_FILE_ENTRY)
		return files_unexpected(fs, f, e);
	r = wire_entry_parse(f->data, f->len, &m, e);
	if (r < 0)
		return r;
	if (m.kind == WIRE_KIND_LINK || named != (*m.name != '\0'))
		return err_set(e, -EBADMSG,
			       "VM '%s' sent a file that cannot be one",
			       fs->name);
	*ret = files_of_entry(&m);
	return *ret ? 0 : err_set(e, -ENOMEM, "no memory");
}

static int stat_answer(struct hutch_fs *fs, struct hutch_file **ret,
		       struct err *e)
{
	struct wire_frame f;
	int r = files_next(fs, &f, e);

	if (r == 0)
		return files_unexpected(fs, &f, e);
	return r < 0 ? r : take_entry(fs, &f, false, ret, e);
}

int hutch_fs_stat(struct hutch_fs *fs, const char *path, unsigned int flags,
		  struct hutch_file **ret, struct hutch_err *e)
{
	struct msg_file m = { .op = WIRE_FILE_STAT,
			      .flags = flags & HUTCH_FS_FOLLOW
					       ? WIRE_FILE_FOLLOW
					       : 0,
			      .path = path };
	struct hutch_file *file = NULL;
	int r = files_check_flags(flags, HUTCH_FS_FOLLOW, err_of(e));

	if (r == 0)
		r = files_begin(fs, &m, err_of(e));
	if (r == 0)
		r = stat_answer(fs, &file, err_of(e));
	if (r == 0)
		r = files_await_done(fs, err_of(e));
	files_end(fs);
	if (r < 0)
		hutch_file_free(file);
	else
		*ret = file;
	return r;
}

int hutch_fs_list(struct hutch_fs *fs, const char *path, hutch_file_fn fn,
		  void *arg, struct hutch_err *e)
{
	struct msg_file m = { .op = WIRE_FILE_LIST, .path = path };
	struct wire_frame f;
	int r = files_begin(fs, &m, err_of(e));

	while (r == 0 && (r = files_next(fs, &f, err_of(e))) > 0) {
		struct hutch_file *file = NULL;

		r = take_entry(fs, &f, true, &file, err_of(e));
		if (r < 0)
			break;
		r = fn(arg, file);
		hutch_file_free(file);
		if (r < 0)
			r = err_set(err_of(e), r, "stopped");
	}
	files_end(fs);
	return r;
}

int hutch_fs_read(struct hutch_fs *fs, const char *path, hutch_fs_data_fn fn,
		  void *arg, struct hutch_err *e)
{
	struct msg_file m = { .op = WIRE_FILE_READ, .path = path };
	struct msg_file_data data;
	struct wire_frame f;
	uint64_t at = 0;
	int r = files_begin(fs, &m, err_of(e));

	while (r == 0 && (r = files_next(fs, &f, err_of(e))) > 0) {
		if (f.type != WIRE_FILE_DATA) {
			r = files_unexpected(fs, &f, err_of(e));
			break;
		}
		r = wire_file_data_parse(f.data, f.len, &data, err_of(e));
		if (r == 0 && data.offset != at)
			r = err_set(err_of(e), -EBADMSG,
				    "VM '%s' left out bytes of a file",
				    fs->name);
		if (r < 0)
			break;
		at += data.len;
		r = fn(arg, data.data, data.len);
		if (r < 0)
			r = err_set(err_of(e), r, "stopped");
	}
	files_end(fs);
	return r;
}

/* What @fd gives, as frames; the guest may have had enough meanwhile. */
static int send_from(struct hutch_fs *fs, int fd, uint8_t *buf, struct err *e)
{
	uint8_t head[WIRE_HDR_LEN + 8];
	uint64_t at = 0;

	for (;;) {
		struct wr wr = wr_init(head, sizeof(head));
		int r = files_wait_readable(fs, fd, e);
		ssize_t n;

		if (r < 0)
			return r;
		n = read(fd, buf, WIRE_DATA_MAX);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return err_set(e, -errno, "what is to be written: %s",
				       strerror(errno));
		if (n == 0)
			return files_commit(fs, e);
		wire_file_data_head_put(&wr, at, (size_t)n);
		r = files_send(fs, head, wr.len, buf, (size_t)n, e);
		if (r < 0)
			return r;
		at += (uint64_t)n;
	}
}

int hutch_fs_write(struct hutch_fs *fs, const char *path, unsigned int flags,
		   unsigned int mode, int fd, struct hutch_err *e)
{
	struct msg_file m = { .op = WIRE_FILE_WRITE,
			      .flags = flags & HUTCH_FS_ATOMIC
					       ? WIRE_FILE_ATOMIC
					       : 0,
			      .mode = mode,
			      .path = path };
	auto_free uint8_t *buf = malloc(WIRE_DATA_MAX);
	int r = files_check_flags(flags, HUTCH_FS_ATOMIC, err_of(e));

	if (r == 0 && !buf)
		r = err_set(err_of(e), -ENOMEM, "no memory");
	if (r == 0)
		r = files_begin(fs, &m, err_of(e));
	if (r == 0)
		r = send_from(fs, fd, buf, err_of(e));
	files_end(fs);
	return r;
}

/* A request whose answer is DONE. */
static int ask(struct hutch_fs *fs, struct msg_file *m, struct hutch_err *e)
{
	int r = files_begin(fs, m, err_of(e));

	if (r == 0)
		r = files_await_done(fs, err_of(e));
	files_end(fs);
	return r;
}

int hutch_fs_mkdir(struct hutch_fs *fs, const char *path, unsigned int flags,
		   unsigned int mode, struct hutch_err *e)
{
	struct msg_file m = { .op = WIRE_FILE_MKDIR,
			      .flags = flags & HUTCH_FS_PARENTS
					       ? WIRE_FILE_PARENTS
					       : 0,
			      .mode = mode,
			      .path = path };
	int r = files_check_flags(flags, HUTCH_FS_PARENTS, err_of(e));

	return r < 0 ? r : ask(fs, &m, e);
}

int hutch_fs_remove(struct hutch_fs *fs, const char *path, unsigned int flags,
		    struct hutch_err *e)
{
	struct msg_file m = {
		.op = WIRE_FILE_REMOVE,
		.flags =
			(flags & HUTCH_FS_RECURSIVE ? WIRE_FILE_RECURSIVE : 0) |
			(flags & HUTCH_FS_FORCE ? WIRE_FILE_FORCE : 0),
		.path = path,
	};
	int r = files_check_flags(flags, HUTCH_FS_RECURSIVE | HUTCH_FS_FORCE,
				  err_of(e));

	return r < 0 ? r : ask(fs, &m, e);
}

int hutch_fs_rename(struct hutch_fs *fs, const char *from, const char *to,
		    struct hutch_err *e)
{
	struct msg_file m = { .op = WIRE_FILE_RENAME,
			      .path = from,
			      .other = to };

	return ask(fs, &m, e);
}
