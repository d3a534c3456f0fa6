/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/truncate.c - truncate(), ftruncate() */
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/conform/conform.h"

static void shorter(void)
{
	make_file("f", 0644);
	ok(truncate("f", 3));
	file_is("f", "con");
	ok(truncate("f", 0));
	eq(0, stat_of("f").st_size);
}

/* What comes back is zeroes, also in the page that was cut. */
static void longer(void)
{
	char buf[8192];
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	ok(ftruncate(fd, 3));
	ok(ftruncate(fd, sizeof(buf)));
	eq(sizeof(buf), stat_fd(fd).st_size);
	eq(sizeof(buf), pread(fd, buf, sizeof(buf), 0));
	so(memcmp(buf, "con", 3) == 0);
	for (unsigned int i = 3; i < sizeof(buf); i++)
		so(buf[i] == 0);
}

static void place_stays(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	eq(5, lseek(fd, 5, SEEK_SET));
	ok(ftruncate(fd, 2));
	eq(5, lseek(fd, 0, SEEK_CUR));
	eq(1, write(fd, "x", 1));
	eq(6, stat_fd(fd).st_size);
	ok(ftruncate(fd, 2));
	has_text(fd, "co", 0);
}

static void very_long(void)
{
	make_file("f", 0644);
	ok(truncate("f", (off_t)1 << 40));
	eq((off_t)1 << 40, stat_of("f").st_size);
	so(stat_of("f").st_blocks <= 16);
}

static void no_length(void)
{
	make_file("f", 0644);
	fails(EINVAL, truncate("f", -1));
	fails(EINVAL, ftruncate(open_file("f", O_WRONLY), -1));
	file_is("f", TEXT);
}

static void beyond_the_limit(void)
{
	const struct rlimit lim = { 1000, 1000 };
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	so(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	ok(setrlimit(RLIMIT_FSIZE, &lim));
	fails(EFBIG, truncate("f", 1001));
	fails(EFBIG, ftruncate(fd, 1001));
	ok(ftruncate(fd, 1000));
	fails(EFBIG, pwrite(fd, "x", 1, 1000));
	eq(2, pwrite(fd, "xyz", 3, 998));
}

static void folder(void)
{
	make_dir("d", 0755);
	fails(EISDIR, truncate("d", 0));
	fails(EINVAL, ftruncate(open_file("d", O_RDONLY), 0));
}

static void opened_for_reading(void)
{
	make_file("f", 0666);
	fails(EINVAL, ftruncate(open_file("f", O_RDONLY), 0));
	fails(EBADF, ftruncate(open_file("f", O_PATH), 0));
	fails(EBADF, ftruncate(-1, 0));
	file_is("f", TEXT);
}

static void denied(void)
{
	make_file("f", 0644);
	be(USER, GROUP);
	fails(EACCES, truncate("f", 0));
	file_is("f", TEXT);
}

static void by_who_may_write(void)
{
	make_file("f", 0602);
	be(USER, GROUP);
	ok(truncate("f", 3));
	eq(3, stat_of("f").st_size);
}

/* Whatever became of the mode. */
static void by_who_has_it_open(void)
{
	int fd;

	make_file("f", 0666);
	be(USER, GROUP);
	fd = open_file("f", O_RDWR);
	be_root();
	ok(chmod("f", 0600));
	be(USER, GROUP);
	ok(ftruncate(fd, 3));
	fails(EACCES, truncate("f", 1));
	eq(3, stat_fd(fd).st_size);
}

static void without_a_name(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	ok(unlink("f"));
	ok(ftruncate(fd, 3));
	eq(3, stat_fd(fd).st_size);
	has_text(fd, "con", 0);
}

static void through_a_descriptor_marks(void)
{
	struct stat before, after;
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	before = stat_fd(fd);
	tick();
	ok(ftruncate(fd, 100));
	after = stat_fd(fd);
	eq(CHANGED | WRITTEN, stamps(&before, &after));
}

static void clears_setuid(void)
{
	make_file("f", 06777);
	eq(06777, stat_of("f").st_mode & 07777);
	be(USER, GROUP);
	ok(truncate("f", 3));
	eq(0777, stat_of("f").st_mode & 07777);
}

static const struct rule truncate_rules[] = {
	RULE(shorter),
	RULE(longer),
	RULE(place_stays),
	RULE(very_long),
	RULE(no_length),
	RULE(beyond_the_limit),
	RULE(folder),
	RULE(opened_for_reading),
	RULE(denied),
	RULE(by_who_may_write),
	RULE(by_who_has_it_open),
	RULE(without_a_name),
	RULE(through_a_descriptor_marks),
	RULE_NEEDS(clears_setuid, SUID),
};

const struct rules truncate_set = RULES(truncate);
