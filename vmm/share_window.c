/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/share_window.c - see share_window.h */
#include "vmm/share_window.h"

static int op_map(void *ctx, const struct fs_mapping *m)
{
	const struct window_piece p = { .off = m->off,
					.len = m->len,
					.fd = m->fd,
					.file_off = m->file_off,
					.writable = m->writable,
					.tag = m->node };

	return window_map(ctx, &p);
}

static int op_unmap(void *ctx, uint64_t off, uint64_t len)
{
	return window_unmap(ctx, off, len);
}

static void op_clear(void *ctx)
{
	window_clear(ctx);
}

static void op_heal(void *ctx, uint64_t node)
{
	window_heal(ctx, node);
}

static int op_copy(const void *ctx, void *dst, const void *src, size_t len)
{
	return gmem_copy(ctx, dst, src, len);
}

static const struct fs_window_ops window_ops = { .map = op_map,
						 .unmap = op_unmap,
						 .clear = op_clear,
						 .heal = op_heal };

void share_window_give(struct fs_opts *o, struct window *w,
		       const struct gmem *mem)
{
	o->window = &window_ops;
	o->window_ctx = w;
	o->window_len = w->len;
	o->copy = op_copy;
	o->copy_ctx = mem;
}
