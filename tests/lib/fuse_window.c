/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/fuse_window.c - see fuse_window.h */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base.h"
#include "tests/lib/fuse_window.h"
#include "vmm/share_window.h"

#define TEXT_MAX 64u

void fw_init(struct fuse_window *f, unsigned int n, struct fs_opts *o)
{
	*f = (struct fuse_window){ .mem = { .fd = -1 } };
	bug_on(window_init(&f->w, n * WINDOW_SLOT, NULL) < 0);
	bug_on(gmem_add_window(&f->mem, 1ull << 32, f->w.hva, f->w.len, "test",
			       NULL) < 0);
	f->probe = memfd_create("probe", MFD_CLOEXEC);
	bug_on(f->probe < 0);
	share_window_give(o, &f->w, &f->mem);
}

void fw_done(struct fuse_window *f)
{
	gmem_done(&f->mem);
	window_done(&f->w);
	base_closep(&f->probe);
}

static int look(const struct fuse_window *f, uint64_t off, char *buf, size_t n)
{
	if (pwrite(f->probe, f->w.hva + off, n, 0) != (ssize_t)n)
		return -errno;
	return pread(f->probe, buf, n, 0) == (ssize_t)n ? 0 : -errno;
}

int fw_byte(const struct fuse_window *f, uint64_t off)
{
	unsigned char c = 0;
	int r = look(f, off, (char *)&c, 1);

	return r < 0 ? r : c;
}

bool fw_has(const struct fuse_window *f, uint64_t off, const char *text)
{
	char buf[TEXT_MAX] = { 0 };
	size_t n = strlen(text);

	bug_on(n > sizeof(buf));
	return look(f, off, buf, n) == 0 && memcmp(buf, text, n) == 0;
}

int fw_put(const struct fuse_window *f, uint64_t off, const char *text)
{
	ssize_t n = (ssize_t)strlen(text);

	bug_on(pwrite(f->probe, text, (size_t)n, 0) != n);
	return pread(f->probe, f->w.hva + off, (size_t)n, 0) == n ? 0 : -errno;
}
