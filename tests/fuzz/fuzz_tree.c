/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_tree.c - a tree of files from whoever is at the other end
 *
 * Input: one byte, flags of the receiver (bits 0 to 3, 7), who sends (bit 4) and
 * what is at the place already (bits 5 and 6); then frames.  The tree goes to
 * "in/to" of a scratch folder, beside which there is "out".  Whatever comes,
 * nothing but "in" may have changed, and no half-made file may be left when it
 * is over.  Of who may do what there is no more than the receiver's flags say.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "common/rmtree.h"
#include "common/tree.h"
#include "tests/fuzz/fuzz.h"

#define INPUT_MAX 100000u
#define TEMP      ".hutch-"

/* So that a hole at the end of the world is no trouble for later files. */
#define FILE_MAX (1u << 20)

static int take_note(void *ctx, int code, const char *sentence, struct err *e)
{
	(void)ctx;
	bug_on(code < 0 || !*sentence);
	/* Bounded by its sender alone: stop some of them. */
	return code == EMLINK ? err_set(e, -ECANCELED, "enough") : 0;
}

static void receive(const char *to, const uint8_t *data, size_t len)
{
	const struct tree_place place = {
		.path = to,
		.base = "base",
		.flags = (data[0] & 1 ? TREE_ARCHIVE : 0) |
			 (data[0] & 2 ? TREE_SETUID : 0) |
			 (data[0] & 4 ? TREE_DEVICES : 0) |
			 (data[0] & 8 ? TREE_INSIDE : 0) |
			 (data[0] & 128 ? TREE_FOLDER | TREE_NO_LINK : 0),
		.umask = 077,
	};
	AUTO(tree_in_freep)
	struct tree_in *t = tree_in_new(&place, take_note, NULL);
	struct wire_reader rd;
	struct wire_frame f;
	struct err e = { 0 };
	size_t at = 1;
	int r = 0;

	bug_on(!t);
	wire_reader_init(&rd,
			 data[0] & 16 ? WIRE_FROM_CLIENT : WIRE_FROM_AGENT);
	while (r == 0 && at < len) {
		ssize_t n = wire_reader_push(&rd, data + at, len - at);

		bug_on(n < 0);
		at += (size_t)n;
		while ((r = wire_reader_next(&rd, &f, &e)) > 0) {
			/* A copy of exact size, so that overreads are seen. */
			auto_free uint8_t *p = malloc(f.len ? f.len : 1);

			bug_on(!p);
			memcpy(p, f.data, f.len);
			f.data = p;
			r = tree_in_frame(t, &f, &e);
			if (r < 0)
				break;
		}
		bug_on(r < 0 && !*e.msg);
		if (n == 0)
			break;
	}
	wire_reader_done(&rd);
}

static int count(int dirfd, const char *name)
{
	int fd = openat(dirfd, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fdopendir(fd);
	const struct dirent *de;
	int n = 0;

	bug_on(!dir);
	while ((de = readdir(dir)) != NULL) {
		n += wire_name_ok(de->d_name);
		bug_on(strncmp(de->d_name, TEMP, strlen(TEMP)) == 0);
	}
	(void)closedir(dir);
	return n;
}

static bool is_link(int dirfd)
{
	struct stat st;

	return fstatat(dirfd, "in/to", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISLNK(st.st_mode);
}

/* Whether others may do more with the root than they should. */
static bool is_too_open(const char *to, uint8_t flags)
{
	bool archive = flags & 1, setuid = flags & 2;
	struct stat st;

	if (lstat(to, &st) < 0 || S_ISLNK(st.st_mode))
		return false;
	return (!archive && (st.st_mode & 077)) ||
	       (!(archive && setuid) &&
		(lgetxattr(to, "system.posix_acl_access", NULL, 0) >= 0 ||
		 (st.st_mode & (S_ISUID | S_ISGID))));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct rlimit limit = { .rlim_cur = FILE_MAX,
				      .rlim_max = RLIM_INFINITY };
	char dir[] = "/tmp/hutch-fuzz-XXXXXX", to[64];
	auto_fd int fd = -1;

	if (len < 1 || len > INPUT_MAX)
		return 0;
	bug_on(setrlimit(RLIMIT_FSIZE, &limit) < 0);
	bug_on(!mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bug_on(fd < 0 || mkdirat(fd, "in", 0700) < 0 ||
	       mkdirat(fd, "out", 0700) < 0);
	(void)snprintf(to, sizeof(to), "%s/in/to", dir);
	/* Into a folder that is there, with what may be in the way. */
	if (data[0] & 32)
		bug_on(mkdirat(fd, "in/to", 0700) < 0 ||
		       mkdirat(fd, "in/to/d", 0700) < 0 ||
		       symlinkat("../../out", fd, "in/to/l") < 0);
	/* Or with what an earlier tree may have made there. */
	else if (data[0] & 64)
		bug_on(symlinkat("../out", fd, "in/to") < 0);
	receive(to, data, len);
	bug_on(count(fd, ".") != 2 || count(fd, "out") != 0);
	bug_on(count(fd, "in") > 1);
	bug_on(is_too_open(to, data[0]));
	/* Nor is a link made where none was asked for. */
	bug_on((data[0] & (8 | 128)) && !(data[0] & 64) && is_link(fd));
	bug_on(rmtree_inside(fd) < 0 || rmdir(dir) < 0);
	return 0;
}
