/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_tarball.c - an archive of hutch backup, or of an enemy
 *
 * Input: one byte, 1 if the rest is compressed already; the archive.  What is
 * not is compressed here, so that the search is for headers.  Whatever is
 * handed on must be frames of a tree, in which no name leads anywhere.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "common/io.h"
#include "host/lib/tarball.h"
#include "tests/fuzz/fuzz.h"

#define INPUT_MAX 100000u

/** struct tree - What has come of it */
struct tree {
	struct wire_reader rd;
	int depth;
	bool in_file;
};

static void take(struct tree *t, const struct wire_frame *f)
{
	struct msg_file_data data;
	struct msg_file_end end;
	struct msg_entry m;
	struct err e;

	switch (f->type) {
	case WIRE_FILE_ENTRY:
		bug_on(t->in_file);
		/* What it is may be refused by who receives it. */
		(void)!wire_entry_parse(f->data, f->len, &m, &e);
		t->depth += f->data[0] == WIRE_KIND_DIR;
		t->in_file = f->data[0] == WIRE_KIND_FILE;
		break;
	case WIRE_FILE_DATA:
		bug_on(!t->in_file ||
		       wire_file_data_parse(f->data, f->len, &data, &e) < 0);
		break;
	case WIRE_FILE_END:
		bug_on(!t->in_file ||
		       wire_file_end_parse(f->data, f->len, &end, &e) < 0);
		t->in_file = false;
		break;
	default:
		bug_on(f->type != WIRE_FILE_UP || t->in_file);
		t->depth--;
	}
	bug_on(t->depth < 0 || t->depth > (int)WIRE_TREE_DEPTH_MAX + 1);
}

static int on_frame(void *arg, const void *head, size_t head_len,
		    const void *data, size_t len, struct err *e)
{
	struct tree *t = arg;
	struct wire_frame f;
	int r;

	(void)e;
	bug_on(wire_reader_push(&t->rd, head, head_len) != (ssize_t)head_len);
	bug_on(len && wire_reader_push(&t->rd, data, len) != (ssize_t)len);
	r = wire_reader_next(&t->rd, &f, e);
	/* A name or target that the wire forbids is refused by its receiver. */
	if (r < 0)
		return r;
	bug_on(r != 1);
	take(t, &f);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	auto_fd int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char sha[TARBALL_SHA_HEX + 1];
	struct tree t = { .depth = 0 };
	auto_free uint8_t *packed = NULL;
	struct err e = { 0 };
	int r;

	if (len < 1 || len > INPUT_MAX)
		return 0;
	bug_on(fd < 0);
	if (data[0] == 1) {
		bug_on(io_write_full(fd, data + 1, len - 1) < 0);
	} else {
		size_t room = ZSTD_compressBound(len), n;

		packed = malloc(room);
		bug_on(!packed);
		n = ZSTD_compress(packed, room, data + 1, len - 1, 1);
		bug_on(ZSTD_isError(n) || io_write_full(fd, packed, n) < 0);
	}
	bug_on(lseek(fd, 0, SEEK_SET) < 0);
	wire_reader_init(&t.rd, WIRE_FROM_CLIENT);
	r = tarball_read(fd, on_frame, &t, sha, &e);
	bug_on(r < 0 && !*e.msg);
	bug_on(r == 0 &&
	       (t.depth || t.in_file || strlen(sha) != TARBALL_SHA_HEX));
	wire_reader_done(&t.rd);
	return 0;
}
