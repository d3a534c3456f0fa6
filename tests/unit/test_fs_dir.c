/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_dir.c - folders read to their end, in any steps */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"
#include "vmm/fs/attr.h"

#define ROOT  FUSE_ROOT_ID
#define FILES 300

static void fill(struct fuse_kit *k, unsigned int n)
{
	char name[32];

	for (unsigned int i = 0; i < n; i++) {
		(void)snprintf(name, sizeof(name), "file-%u", i);
		fk_host_file(k, name, "");
	}
}

/**
 * struct seen - What a reader of the folder has got so far
 * @file:	It had the file of that number
 * @count:	Files
 * @dots:	"." and ".."
 */
struct seen {
	bool file[FILES];
	unsigned int count;
	unsigned int dots;
};

static void take(struct seen *seen, const struct fk_dirent *de, bool plus)
{
	unsigned long i;
	char *end = NULL;

	if (de->name[0] == '.') {
		ck_assert_uint_eq(de->entry.nodeid, 0);
		seen->dots++;
		return;
	}
	ck_assert_int_eq(strncmp(de->name, "file-", 5), 0);
	i = strtoul(de->name + 5, &end, 10);
	ck_assert(*end == '\0' && i < FILES && !seen->file[i]);
	ck_assert_uint_eq(de->type, DT_REG);
	seen->file[i] = true;
	seen->count++;
	if (plus)
		ck_assert_uint_eq(de->ino, de->entry.attr.ino);
}

/* Read all of the open folder; each file must be there once. */
static void expect_all(struct fuse_kit *k, unsigned int n, uint32_t size,
		       bool plus)
{
	struct seen seen = { .count = 0 };
	struct fk_dirent de;
	uint64_t off = 0;

	for (;;) {
		size_t at = 0;

		ck_assert_int_eq(fk_readdir(k, ROOT, off, size, plus), 0);
		if (k->len == 0)
			break;
		ck_assert_uint_le(k->len, size);
		while (fk_dirent(k, &at, plus, &de)) {
			off = de.off;
			take(&seen, &de, plus);
		}
	}
	ck_assert_uint_eq(seen.count, n);
	ck_assert_uint_eq(seen.dots, 2);
}

START_TEST(readdir_in_steps_of_any_size_finds_each_file_once)
{
	static const uint32_t sizes[] = { 64, 152, 4096, 65536 };
	struct fuse_kit k;

	fk_init(&k, NULL);
	fill(&k, FILES);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
		expect_all(&k, FILES, sizes[i], false);
		/* Once more from the beginning, with the same handle. */
		expect_all(&k, FILES, sizes[i], false);
		ck_assert_int_eq(fk_releasedir(&k, ROOT, k.fh), 0);
	}
	fk_done(&k);
}
END_TEST

START_TEST(readdirplus_looks_up_what_it_lists)
{
	static const uint32_t sizes[] = { 192, 4096, 65536 };
	struct fuse_attr attr;
	struct fk_dirent de;
	struct fuse_kit k;
	uint64_t node;
	size_t at = 0;

	fk_init(&k, NULL);
	fill(&k, FILES);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
		expect_all(&k, FILES, sizes[i], true);
		ck_assert_int_eq(fk_releasedir(&k, ROOT, k.fh), 0);
	}
	/* Each is a lookup, which the guest has to forget. */
	ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
	ck_assert_int_eq(fk_readdir(&k, ROOT, 0, 65536, true), 0);
	while (fk_dirent(&k, &at, true, &de) && de.name[0] == '.')
		;
	node = de.entry.nodeid;
	fk_forget(&k, node, 3);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	fk_forget(&k, node, 1);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), -ESTALE);
	fk_done(&k);
}
END_TEST

static uint64_t host_ino(const struct fuse_kit *k, const char *name)
{
	struct stat st;

	ck_assert_int_eq(fstatat(k->fd, name, &st, 0), 0);
	return st.st_ino;
}

/* What is above the folder is none of the guest's business. */
START_TEST(dots_of_the_root_do_not_tell_of_the_host)
{
	struct fk_dirent de;
	struct fuse_kit k;
	struct stat st;
	size_t at = 0;

	fk_init(&k, NULL);
	ck_assert_int_eq(fstat(k.top_fd, &st), 0);
	ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
	ck_assert_int_eq(fk_readdir(&k, ROOT, 0, 4096, false), 0);
	while (fk_dirent(&k, &at, false, &de))
		ck_assert_uint_ne(de.ino, st.st_ino);
	fk_done(&k);
}
END_TEST

/* With the highest bit set, as overlayfs sets it, and the next one clear. */
START_TEST(numbers_of_a_lower_layer_are_exact_in_floating_point)
{
	static const uint64_t n[] = { 1,          2,
				      UINT32_MAX, (1ull << 51) - 1,
				      1ull << 51, UINT64_MAX };
	struct fs_opts o = fk_usual();
	struct fuse_attr attr;
	struct fk_dirent de;
	struct fuse_kit k;
	struct err e;
	size_t at = 0;

	o.lower = true;
	o.root_fd = open("/tmp", O_PATH | O_CLOEXEC);
	ck_assert_int_eq(fs_server_new(&o, &k.s, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.msg, "lower layer"));
	o.ro = true;
	fk_init(&k, &o);
	fk_host_file(&k, "f", "1");
	for (size_t i = 0; i < ARRAY_LEN(n); i++) {
		uint64_t got = fs_attr_number(k.s, n[i]),
			 big = got | 1ull << 63;

		ck_assert(n[i] >> 51 ? got == n[i]
				     : got >> 62 == 0 && got >> 11 == n[i]);
		ck_assert(n[i] >> 51 || (uint64_t)(double)big == big);
	}
	ck_assert_int_eq(fk_getattr(&k, fk_at(&k, "f"), &attr), 0);
	ck_assert_uint_eq(attr.ino, fs_attr_number(k.s, host_ino(&k, "f")));
	ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
	ck_assert_int_eq(fk_readdir(&k, ROOT, 0, 4096, false), 0);
	while (fk_dirent(&k, &at, false, &de))
		if (strcmp(de.name, "f") == 0)
			ck_assert_uint_eq(de.ino, attr.ino);
	fk_done(&k);
}
END_TEST

START_TEST(readdir_with_no_room_or_a_strange_position)
{
	struct fuse_kit k;

	fk_init(&k, NULL);
	fill(&k, 10);
	ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
	for (uint32_t size = 0; size < 32; size++) {
		ck_assert_int_eq(fk_readdir(&k, ROOT, 0, size, false), -EINVAL);
		ck_assert_int_eq(fk_readdir(&k, ROOT, 0, size, true), -EINVAL);
	}
	ck_assert_int_eq(fk_readdir(&k, ROOT, 0, 32, false), 0);
	ck_assert_int_eq(fk_readdir(&k, ROOT, 0, UINT32_MAX, false), -EINVAL);
	ck_assert_int_eq(fk_readdir(&k, ROOT, UINT64_MAX, 4096, false),
			 -EINVAL);
	/* Whatever the host says to that, it is an answer. */
	(void)fk_readdir(&k, ROOT, 12345, 4096, false);
	(void)fk_readdir(&k, ROOT, INT64_MAX, 4096, false);
	/* Less room than it says. */
	k.room = 64;
	ck_assert_int_eq(fk_readdir(&k, ROOT, 0, 4096, false), 0);
	ck_assert_uint_le(k.len, 64);
	k.room = 4;
	ck_assert_int_eq(fk_readdir(&k, ROOT, 0, 4096, true), -EINVAL);
	fk_done(&k);
}
END_TEST

START_TEST(readdir_of_a_file_handle_is_refused)
{
	struct fuse_kit k;
	uint64_t node, dir;

	fk_init(&k, NULL);
	fk_host_file(&k, "f", "");
	node = fk_at(&k, "f");
	ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
	dir = k.fh;
	ck_assert_int_eq(fk_open(&k, node, O_RDONLY), 0);
	ck_assert_int_eq(fk_readdir(&k, node, 0, 4096, false), -EBADF);
	ck_assert_int_eq(fk_read(&k, ROOT, dir, 0, 10), -EBADF);
	ck_assert_int_eq(fk_release(&k, ROOT, dir), -EBADF);
	fk_done(&k);
}
END_TEST

/* A listing of what the guest cannot reach is still a listing. */
START_TEST(readdir_of_a_folder_that_the_host_moved_away)
{
	struct fk_dirent de;
	struct fuse_kit k;
	uint64_t dir;
	size_t at = 0;

	fk_init(&k, NULL);
	fk_host_dir(&k, "d");
	fk_host_file(&k, "d/f", "");
	dir = fk_at(&k, "d");
	ck_assert_int_eq(fk_opendir(&k, dir), 0);
	fk_host_move(&k, "d", "../moved");

	ck_assert_int_eq(fk_readdir(&k, dir, 0, 4096, true), 0);
	while (fk_dirent(&k, &at, true, &de))
		ck_assert_uint_eq(de.entry.nodeid, 0);
	fk_done(&k);
}
END_TEST

START_TEST(names_that_are_no_text_pass_as_they_are)
{
	static const char *const names[] = { "\xff\xfe", " ", "\n", "\xc3(",
					     "a\\b" };
	struct fuse_kit k;

	fk_init(&k, NULL);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct fk_dirent de;
		bool found = false;
		size_t at = 0;

		ck_assert_int_eq(fk_mkdir(&k, ROOT, names[i], 0755), 0);
		ck_assert_int_eq(fk_lookup(&k, ROOT, names[i]), 0);
		ck_assert_int_eq(fk_opendir(&k, ROOT), 0);
		ck_assert_int_eq(fk_readdir(&k, ROOT, 0, 4096, false), 0);
		while (fk_dirent(&k, &at, false, &de))
			found |= strcmp(de.name, names[i]) == 0;
		ck_assert(found);
		ck_assert_int_eq(fk_rmdir(&k, ROOT, names[i]), 0);
	}
	fk_done(&k);
}
END_TEST

CHECK_MAIN("fs_dir", readdir_in_steps_of_any_size_finds_each_file_once,
	   readdirplus_looks_up_what_it_lists,
	   dots_of_the_root_do_not_tell_of_the_host,
	   numbers_of_a_lower_layer_are_exact_in_floating_point,
	   readdir_with_no_room_or_a_strange_position,
	   readdir_of_a_file_handle_is_refused,
	   readdir_of_a_folder_that_the_host_moved_away,
	   names_that_are_no_text_pass_as_they_are)
