/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/utimensat.c - utimensat(), futimens() */
#include "tests/conform/conform.h"

#define A_TIME   1000000001
#define M_TIME   1234567890
#define BAD_NSEC 1000000000
#define FAR_TIME ((time_t)5000000000)

static const struct timespec set_both[2] = {
	{ A_TIME, 123456789 },
	{ M_TIME, 987654321 },
};
static const struct timespec now_both[2] = {
	{ 0, UTIME_NOW },
	{ 0, UTIME_NOW },
};
static const struct timespec omit_both[2] = {
	{ 0, UTIME_OMIT },
	{ 0, UTIME_OMIT },
};

static int set(const char *name, const struct timespec ts[2])
{
	return utimensat(AT_FDCWD, name, ts, 0);
}

static void has(const char *name, const struct timespec ts[2])
{
	struct stat st = stat_of(name);

	eq(ts[0].tv_sec, st.st_atim.tv_sec);
	eq(ts[0].tv_nsec, st.st_atim.tv_nsec);
	eq(ts[1].tv_sec, st.st_mtim.tv_sec);
	eq(ts[1].tv_nsec, st.st_mtim.tv_nsec);
}

static void sets_to_the_nanosecond(void)
{
	struct stat before, after;

	make_file("f", 0644);
	before = stat_of("f");
	tick();
	ok(set("f", set_both));
	has("f", set_both);
	after = stat_of("f");
	so(later(after.st_ctim, before.st_ctim));
}

static void of_kind(unsigned int kind)
{
	make((enum kind)kind, "x");
	ok(utimensat(AT_FDCWD, "x", set_both, AT_SYMLINK_NOFOLLOW));
	has("x", set_both);
}

static void symlink_itself(void)
{
	struct stat before, after;

	make_file("f", 0644);
	make_link("f", "l");
	before = stat_of("f");
	ok(utimensat(AT_FDCWD, "l", set_both, AT_SYMLINK_NOFOLLOW));
	has("l", set_both);
	after = stat_of("f");
	so(same_time(before.st_mtim, after.st_mtim));
	ok(utimensat(AT_FDCWD, "l", set_both, 0));
	has("f", set_both);
}

static void to_now(void)
{
	struct stat before, after;

	make_file("f", 0644);
	ok(set("f", set_both));
	before = stat_of("f");
	tick();
	ok(set("f", now_both));
	after = stat_of("f");
	eq(CHANGED | WRITTEN | READ, stamps(&before, &after));
	so(same_time(after.st_atim, after.st_mtim));
	ok(set("f", set_both));
	ok(set("f", NULL));
	after = stat_of("f");
	eq(CHANGED | WRITTEN | READ, stamps(&before, &after));
}

static void one_to_now(void)
{
	const struct timespec ts[2] = { { 0, UTIME_NOW },
					{ M_TIME, 987654321 } };
	struct stat st;

	make_file("f", 0644);
	ok(set("f", set_both));
	ok(set("f", ts));
	st = stat_of("f");
	eq(M_TIME, st.st_mtim.tv_sec);
	so(st.st_atim.tv_sec > M_TIME);
}

static void one_left_out(void)
{
	const struct timespec a[2] = { { 5, 6 }, { 7, UTIME_OMIT } };
	const struct timespec m[2] = { { 7, UTIME_OMIT }, { 8, 9 } };
	const struct timespec want[2] = { { 5, 6 }, { 8, 9 } };

	make_file("f", 0644);
	ok(set("f", set_both));
	ok(set("f", a));
	ok(set("f", m));
	has("f", want);
}

static void both_left_out(void)
{
	struct stat before, after;

	make_file("f", 0600);
	ok(set("f", set_both));
	before = stat_of("f");
	tick();
	ok(set("f", omit_both));
	be(USER, GROUP);
	ok(set("f", omit_both));
	be_root();
	after = stat_of("f");
	eq(0, stamps(&before, &after));
	has("f", set_both);
}

static void writer_sets_to_now(void)
{
	make_file("f", 0602);
	be(USER, GROUP);
	ok(set("f", NULL));
	ok(set("f", now_both));
}

static void writer_sets_no_other(void)
{
	const struct timespec a[2] = { { 0, UTIME_NOW }, { 0, UTIME_OMIT } };
	const struct timespec m[2] = { { 0, UTIME_OMIT }, { 0, UTIME_NOW } };

	make_file("f", 0666);
	be(USER, GROUP);
	fails(EPERM, set("f", set_both));
	fails(EPERM, set("f", a));
	fails(EPERM, set("f", m));
}

static void reader_sets_nothing(void)
{
	make_file("f", 0644);
	be(USER, GROUP);
	fails(EACCES, set("f", NULL));
	fails(EACCES, set("f", now_both));
	fails(EPERM, set("f", set_both));
}

static void owner_sets_all(void)
{
	make_file("f", 0400);
	give("f", USER, GROUP);
	be(USER, GROUP);
	ok(set("f", NULL));
	ok(set("f", set_both));
	has("f", set_both);
}

static void no_time(void)
{
	const struct timespec a[2] = { { 0, BAD_NSEC }, { 0, 0 } };
	const struct timespec m[2] = { { 0, 0 }, { 0, BAD_NSEC } };
	const struct timespec n[2] = { { 0, -1 }, { 0, 0 } };

	make_file("f", 0644);
	ok(set("f", set_both));
	fails(EINVAL, set("f", a));
	fails(EINVAL, set("f", m));
	fails(EINVAL, set("f", n));
	fails(EINVAL, utimensat(AT_FDCWD, "f", set_both, 0x40000000));
	has("f", set_both);
}

static void before_1970(void)
{
	const struct timespec ts[2] = { { -1, 1 }, { -1000000, 999999999 } };

	make_file("f", 0644);
	ok(set("f", ts));
	has("f", ts);
}

static void after_2106(void)
{
	const struct timespec ts[2] = { { FAR_TIME, 1 }, { FAR_TIME + 1, 2 } };

	make_file("f", 0644);
	ok(set("f", ts));
	has("f", ts);
}

static void zero(void)
{
	const struct timespec ts[2] = { { 0, 0 }, { 0, 0 } };

	make_file("f", 0644);
	ok(set("f", ts));
	has("f", ts);
}

static void of_what_is_open(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDONLY);
	ok(futimens(fd, set_both));
	has("f", set_both);
	ok(unlink("f"));
	ok(futimens(fd, now_both));
	so(stat_fd(fd).st_mtim.tv_sec > M_TIME);
	fails(EBADF, futimens(-1, NULL));
}

static void by_path_descriptor(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_PATH);
	ok(utimensat(fd, "", set_both, AT_EMPTY_PATH));
	has("f", set_both);
}

/* Times that were set are not undone by what was written before. */
static void after_writing(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	write_text(fd, "CONTENT", 0);
	ok(futimens(fd, set_both));
	has("f", set_both);
	ok(fsync(fd));
	ok(close(fd));
	has("f", set_both);
}

static void survives_rename(void)
{
	make_file("f", 0644);
	ok(set("f", set_both));
	ok(rename("f", "g"));
	has("g", set_both);
	ok(link("g", "h"));
	ok(chmod("g", 0600));
	has("h", set_both);
}

static const struct rule utimensat_rules[] = {
	RULE(sets_to_the_nanosecond),
	{ .name = "of_folder", .check_with = of_kind, .with = DIR_ },
	{ .name = "of_fifo", .check_with = of_kind, .with = FIFO_ },
	{ .name = "of_socket", .check_with = of_kind, .with = SOCK_ },
	{ .name = "of_symlink", .check_with = of_kind, .with = LINK_ },
	{ .name = "of_device",
	  .check_with = of_kind,
	  .with = CHR_,
	  .needs = DEVICES },
	RULE(symlink_itself),
	RULE(to_now),
	RULE(one_to_now),
	RULE(one_left_out),
	RULE(both_left_out),
	RULE(writer_sets_to_now),
	RULE(writer_sets_no_other),
	RULE(reader_sets_nothing),
	RULE_NEEDS(owner_sets_all, OWNERS),
	RULE(no_time),
	RULE(before_1970),
	RULE(after_2106),
	RULE(zero),
	RULE(of_what_is_open),
	RULE(by_path_descriptor),
	RULE(after_writing),
	RULE(survives_rename),
};

const struct rules utimensat_set = RULES(utimensat);
