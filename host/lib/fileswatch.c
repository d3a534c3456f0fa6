/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/fileswatch.c - files of a VM: what happens to them */
#include <errno.h>

#include "host/lib/files.h"

/* Return: as the callback; -EBADMSG with a sentence. */
static int pass_on(struct hutch_fs *fs, const struct wire_frame *f,
		   hutch_fs_event_fn fn, void *arg, struct err *e)
{
	struct hutch_fs_event ev;
	struct msg_watch m;
	int r;

	_Static_assert(HUTCH_FS_READY == (int)WIRE_WATCH_READY &&
			       HUTCH_FS_WRITTEN == (int)WIRE_WATCH_WRITTEN &&
			       HUTCH_FS_GONE == (int)WIRE_WATCH_GONE,
		       "events are those of the wire");
	if (f->type != WIRE_FILE_EVENT)
		return files_unexpected(fs, f, e);
	r = wire_watch_parse(f->data, f->len, &m, e);
	if (r < 0)
		return r;
	ev = (struct hutch_fs_event){
		.kind = (enum hutch_fs_event_kind)m.what,
		.folder = !!(m.flags & WIRE_WATCH_DIR),
		.cookie = m.cookie,
		.path = m.path,
	};
	r = fn(arg, &ev);
	return r < 0 ? err_set(e, r, "stopped") : r;
}

int hutch_fs_watch(struct hutch_fs *fs, const char *path, unsigned int flags,
		   hutch_fs_event_fn fn, void *arg, struct hutch_err *e)
{
	struct msg_file m = { .op = WIRE_FILE_WATCH,
			      .flags = flags & HUTCH_FS_RECURSIVE
					       ? WIRE_FILE_RECURSIVE
					       : 0,
			      .path = path };
	struct wire_frame f;
	int r = files_check_flags(flags, HUTCH_FS_RECURSIVE, err_of(e));

	if (r == 0)
		r = files_begin(fs, &m, err_of(e));
	while (r == 0 && (r = files_next(fs, &f, err_of(e))) > 0) {
		r = pass_on(fs, &f, fn, arg, err_of(e));
		if (r > 0) {
			r = 0;
			break;
		}
	}
	files_end(fs);
	return r;
}
