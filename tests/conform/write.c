/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/write.c - reading and writing, and what it does to stamps */
#include <string.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/xattr.h>

#include "tests/conform/conform.h"

#define CHUNK      70000u
#define CAPABILITY "security.capability"

static void writing_marks(void)
{
	struct stat before, after;
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	before = stat_fd(fd);
	tick();
	write_text(fd, "x", 0);
	after = stat_fd(fd);
	eq(CHANGED | WRITTEN, stamps(&before, &after));
	before = stat_of("f");
	so(same_time(before.st_mtim, after.st_mtim));
}

static void writing_nothing_marks_nothing(void)
{
	struct stat before, after;
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	before = stat_fd(fd);
	tick();
	eq(0, write(fd, "", 0));
	eq(0, pwrite(fd, "", 0, 100));
	after = stat_fd(fd);
	eq(0, stamps(&before, &after));
	eq(TEXT_LEN, after.st_size);
}

/* With relatime, which mounts have by default, it does after a write. */
static void reading_marks(void)
{
	struct stat before, after;
	int fd;

	make_file("f", 0644);
	ok(utimensat(AT_FDCWD, "f",
		     (const struct timespec[2]){ { 1000, 0 }, { 2000, 0 } },
		     0));
	before = stat_of("f");
	tick();
	fd = open_file("f", O_RDONLY);
	has_text(fd, TEXT, 0);
	ok(close(fd));
	after = stat_of("f");
	eq(READ, stamps(&before, &after));
}

static void opening_marks_nothing(void)
{
	struct stat before, after;

	make_file("f", 0644);
	before = stat_of("f");
	tick();
	ok(close(open_file("f", O_RDWR)));
	after = stat_of("f");
	eq(0, stamps(&before, &after));
}

static void beyond_the_end(void)
{
	char buf[5000];
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	write_text(fd, "x", 4999);
	eq(5000, stat_fd(fd).st_size);
	eq(5000, pread(fd, buf, sizeof(buf), 0));
	so(memcmp(buf, TEXT, TEXT_LEN) == 0);
	for (unsigned int i = TEXT_LEN; i < 4999; i++)
		so(buf[i] == 0);
	so(buf[4999] == 'x');
	eq(0, pread(fd, buf, 1, 5000));
	eq(0, pread(fd, buf, 1, (off_t)1 << 40));
	eq(1, pread(fd, buf, sizeof(buf), 4999));
}

static void in_odd_pieces(void)
{
	static char out[CHUNK], in[CHUNK];
	size_t at = 0, n = 1;
	int fd = open_file("f", O_RDWR | O_CREAT);

	for (unsigned int i = 0; i < CHUNK; i++)
		out[i] = (char)(i * 7 + i / 251);
	for (; at < CHUNK; at += n, n = n * 3 + 1) {
		n = MIN(n, CHUNK - at);
		eq(n, write(fd, out + at, n));
	}
	eq(CHUNK, stat_fd(fd).st_size);
	eq(CHUNK, pread(fd, in, CHUNK, 0));
	so(memcmp(in, out, CHUNK) == 0);
	/* From a new look at it as well. */
	ok(fsync(fd));
	ok(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0 ? 0 : -1);
	memset(in, 0, CHUNK);
	eq(CHUNK, pread(open_file("f", O_RDONLY), in, CHUNK, 0));
	so(memcmp(in, out, CHUNK) == 0);
}

static void two_descriptors_see_it(void)
{
	int a, b;

	make_file("f", 0644);
	a = open_file("f", O_RDWR);
	b = open_file("f", O_RDWR);
	has_text(b, TEXT, 0);
	write_text(a, "CON", 0);
	has_text(b, "CONtent", 0);
	write_text(b, "longer than it was", 0);
	eq(18, stat_fd(a).st_size);
	has_text(a, "longer than it was", 0);
}

static void vectors(void)
{
	char a[3], b[4];
	struct iovec out[3] = { { (char[]){ "one" }, 3 },
				{ NULL, 0 },
				{ (char[]){ "four" }, 4 } };
	struct iovec in[2] = { { a, 3 }, { b, 4 } };
	int fd = open_file("f", O_RDWR | O_CREAT);

	eq(7, writev(fd, out, 3));
	file_is("f", "onefour");
	eq(7, preadv(fd, in, 2, 0));
	so(memcmp(a, "one", 3) == 0 && memcmp(b, "four", 4) == 0);
	eq(7, pwritev(fd, out, 3, 3));
	file_is("f", "oneonefour");
}

static void append_by_one_write(void)
{
	struct iovec out = { (char[]){ "+" }, 1 };
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	eq(1, pwritev2(fd, &out, 1, 0, RWF_APPEND));
	file_is("f", TEXT "+");
}

static void no_place(void)
{
	char c;
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	fails(EINVAL, pread(fd, &c, 1, -1));
	fails(EINVAL, pwrite(fd, "x", 1, -1));
	fails(EBADF, read(-1, &c, 1));
	file_is("f", TEXT);
}

static void bad_address(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	fails(EFAULT, read(fd, nowhere(), 4));
	fails(EFAULT, write(fd, nowhere(), 4));
	eq(TEXT_LEN, stat_fd(fd).st_size);
}

static void of_a_folder(void)
{
	char c;
	int fd;

	make_dir("d", 0755);
	fd = open_file("d", O_RDONLY);
	fails(EISDIR, read(fd, &c, 1));
	fails(EISDIR, pread(fd, &c, 1, 0));
	fails(EBADF, write(fd, &c, 1));
}

static void clears_setuid(void)
{
	int fd;

	make_file("f", 06777);
	be(USER, GROUP);
	fd = open_file("f", O_RDWR);
	eq(06777, stat_fd(fd).st_mode & 07777);
	write_text(fd, "x", 0);
	eq(0777, stat_fd(fd).st_mode & 07777);
}

static void roots_write_keeps_setuid(void)
{
	make_file("f", 06777);
	write_text(open_file("f", O_RDWR), "x", 0);
	eq(06777, stat_of("f").st_mode & 07777);
}

static void clears_capabilities(void)
{
	/* Revision 2, none effective, CAP_CHOWN permitted. */
	static const uint8_t cap[20] = { 0, 0, 0, 2, 1 };

	char buf[sizeof(cap)];
	int fd;

	make_file("f", 0777);
	ok(setxattr("f", CAPABILITY, cap, sizeof(cap), 0));
	eq(sizeof(cap), getxattr("f", CAPABILITY, buf, sizeof(buf)));
	fd = open_file("f", O_RDWR);
	write_text(fd, "x", 0);
	fails(ENODATA, getxattr("f", CAPABILITY, buf, sizeof(buf)));
	ok(setxattr("f", CAPABILITY, cap, sizeof(cap), 0));
	ok(chown("f", 0, 0));
	fails(ENODATA, getxattr("f", CAPABILITY, buf, sizeof(buf)));
}

static void syncs(void)
{
	int fd;

	make_file("f", 0644);
	make_dir("d", 0755);
	fd = open_file("f", O_RDWR);
	write_text(fd, "x", 0);
	ok(fsync(fd));
	ok(fdatasync(fd));
	ok(syncfs(fd));
	ok(fsync(open_file("f", O_RDONLY)));
	ok(fsync(open_file("d", O_RDONLY)));
	fails(EBADF, fsync(open_file("f", O_PATH)));
}

static void written_in_step(void)
{
	int fd = open_file("f", O_RDWR | O_CREAT | O_SYNC);

	write_text(fd, "one", 0);
	ok(close(fd));
	fd = open_file("f", O_RDWR | O_DSYNC);
	write_text(fd, "two", 3);
	file_is("f", "onetwo");
}

static void copies_a_range(void)
{
	off_t from = 3, to = 1;
	int a, b;

	make_file("a", 0644);
	a = open_file("a", O_RDONLY);
	b = open_file("b", O_RDWR | O_CREAT);
	eq(4, copy_file_range(a, &from, b, &to, 100, 0));
	eq(7, from);
	eq(5, to);
	eq(5, stat_fd(b).st_size);
	has_text(b, "tent", 1);
	from = 100;
	eq(0, copy_file_range(a, &from, b, &to, 10, 0));
	fails(EINVAL, copy_file_range(a, &from, b, &to, 10, 99));
	fails(EBADF, copy_file_range(a, NULL, a, NULL, 1, 0));
}

static void sends_a_file(void)
{
	off_t from = 3;
	int a, b;

	make_file("a", 0644);
	a = open_file("a", O_RDONLY);
	b = open_file("b", O_RDWR | O_CREAT);
	eq(4, sendfile(b, a, &from, 100));
	eq(7, from);
	file_is("b", "tent");
}

static const struct rule write_rules[] = {
	RULE(writing_marks),
	RULE(writing_nothing_marks_nothing),
	RULE(reading_marks),
	RULE(opening_marks_nothing),
	RULE(beyond_the_end),
	RULE(in_odd_pieces),
	RULE(two_descriptors_see_it),
	RULE(vectors),
	RULE(append_by_one_write),
	RULE(no_place),
	RULE(bad_address),
	RULE(of_a_folder),
	RULE_NEEDS(clears_setuid, SUID),
	RULE_NEEDS(roots_write_keeps_setuid, SUID),
	RULE_NEEDS(clears_capabilities, TRUSTED),
	RULE(syncs),
	RULE(written_in_step),
	RULE(copies_a_range),
	RULE(sends_a_file),
};

const struct rules write_set = RULES(write);
