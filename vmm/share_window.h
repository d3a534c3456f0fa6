/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/share_window.h - what a FUSE server knows of a window of guest memory */
#ifndef HUTCH_VMM_SHARE_WINDOW_H
#define HUTCH_VMM_SHARE_WINDOW_H

#include "vmm/core/mem.h"
#include "vmm/core/window.h"
#include "vmm/fs/server.h"

/**
 * share_window_give() - The server of @o maps files into @w
 * @mem:	Guest memory with @w in it, to and from which answers are copied
 */
void share_window_give(struct fs_opts *o, struct window *w,
		       const struct gmem *mem);

#endif
