/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/fuse_window.h - a window for a FUSE server under test
 *
 * A real one (vmm/core/window.h).  It is looked at by system calls, since what
 * lies past the end of a file would kill the test.
 */
#ifndef HUTCH_TESTS_FUSE_WINDOW_H
#define HUTCH_TESTS_FUSE_WINDOW_H

#include "vmm/core/mem.h"
#include "vmm/core/window.h"
#include "vmm/fs/server.h"

/**
 * struct fuse_window - Window, and guest memory that has nothing but it
 * @probe:	A file that bytes go through
 */
struct fuse_window {
	struct window w;
	struct gmem mem;
	int probe;
};

/** fw_init() - @n slots, which @o gets as its window; @o->dax is the caller's */
void fw_init(struct fuse_window *f, unsigned int n, struct fs_opts *o);

/** fw_done() - After the server */
void fw_done(struct fuse_window *f);

/** fw_byte() - What is there. Return: a byte, or -EFAULT */
int fw_byte(const struct fuse_window *f, uint64_t off);

/** fw_has() - Whether @text is there */
bool fw_has(const struct fuse_window *f, uint64_t off, const char *text);

/** fw_put() - As a guest writes there. Return: 0 or -EFAULT */
int fw_put(const struct fuse_window *f, uint64_t off, const char *text);

#endif
