/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/files/tree.c - see ops.h: trees, out of the guest and into it */
#include <errno.h>
#include <string.h>

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

int files_put(struct files *f, struct err *e)
{
	uint32_t flags = f->req.flags;
	const struct tree_place place = {
		.path = f->req.path,
		.base = f->req.other,
		.flags = (flags & WIRE_FILE_CONTENTS ? TREE_INSIDE : 0) |
			 (flags & WIRE_FILE_ARCHIVE
				  ? TREE_ARCHIVE | TREE_SETUID | TREE_DEVICES
				  : 0),
	};

	return put(f, &place, e);
}
