/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/open.c - open() of what is there */
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/conform/conform.h"

static void ways_of_others(void)
{
	make_file("r", 0604);
	make_file("w", 0602);
	make_file("n", 0660);
	be(USER, GROUP);
	ok(open("r", O_RDONLY));
	fails(EACCES, open("r", O_WRONLY));
	fails(EACCES, open("r", O_RDWR));
	ok(open("w", O_WRONLY));
	fails(EACCES, open("w", O_RDONLY));
	fails(EACCES, open("w", O_RDWR));
	fails(EACCES, open("n", O_RDONLY));
	fails(EACCES, open("n", O_WRONLY));
}

static void folder_for_writing(void)
{
	make_dir("d", 0755);
	fails(EISDIR, open("d", O_WRONLY));
	fails(EISDIR, open("d", O_RDWR));
	fails(EISDIR, open("d", O_RDONLY | O_CREAT, 0644));
	fails(EISDIR, open("d", O_RDONLY | O_TRUNC));
	fails(EISDIR, open(".", O_WRONLY));
	ok(open("d", O_RDONLY));
}

static void folder_is_asked_for(void)
{
	make_file("f", 0644);
	make_link("f", "l");
	fails(ENOTDIR, open("f", O_RDONLY | O_DIRECTORY));
	fails(ENOTDIR, open("l", O_RDONLY | O_DIRECTORY));
	fails(ENOTDIR, open("l", O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
	make(FIFO_, "p");
	fails(ENOTDIR, open("p", O_RDONLY | O_DIRECTORY));
}

static void symlink_is_not_followed(void)
{
	int fd;

	make_file("f", 0644);
	make_link("f", "l");
	fails(ELOOP, open("l", O_RDONLY | O_NOFOLLOW));
	fails(ELOOP, open("l", O_RDWR | O_NOFOLLOW));
	fd = ok(open("l", O_PATH | O_NOFOLLOW));
	so(S_ISLNK(stat_fd(fd).st_mode));
	ok(open("f", O_RDONLY | O_NOFOLLOW));
	/* That is about the last name alone. */
	make_dir("d", 0755);
	make_file("d/x", 0644);
	make_link("d", "e");
	ok(open("e/x", O_RDONLY | O_NOFOLLOW));
}

static void truncates(void)
{
	struct stat before, after;

	make_file("f", 0644);
	before = stat_of("f");
	tick();
	ok(open("f", O_WRONLY | O_TRUNC));
	after = stat_of("f");
	eq(0, after.st_size);
	eq(0, after.st_blocks);
	eq(CHANGED | WRITTEN, stamps(&before, &after));
	eq(before.st_ino, after.st_ino);
	eq(before.st_mode, after.st_mode);
}

static void truncates_what_is_empty(void)
{
	struct stat before, after;

	make_file("f", 0644);
	ok(truncate("f", 0));
	before = stat_of("f");
	tick();
	ok(open("f", O_WRONLY | O_TRUNC));
	after = stat_of("f");
	eq(CHANGED | WRITTEN, stamps(&before, &after));
}

static void truncation_denied(void)
{
	make_file("f", 0644);
	be(USER, GROUP);
	fails(EACCES, open("f", O_RDONLY | O_TRUNC));
	fails(EACCES, open("f", O_WRONLY | O_TRUNC));
	file_is("f", TEXT);
}

/* Linux has it truncate, where POSIX leaves it open. */
static void truncates_for_a_reader(void)
{
	make_file("f", 0644);
	ok(open("f", O_RDONLY | O_TRUNC));
	eq(0, stat_of("f").st_size);
}

static void truncates_for_others_too(void)
{
	char c;
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDONLY);
	has_text(fd, TEXT, 0);
	ok(open("f", O_WRONLY | O_TRUNC));
	eq(0, pread(fd, &c, 1, 0));
	eq(0, stat_fd(fd).st_size);
}

static void appends(void)
{
	int a, b;

	make_file("f", 0644);
	a = open_file("f", O_WRONLY | O_APPEND);
	b = open_file("f", O_WRONLY | O_APPEND);
	eq(2, write(a, "-a", 2));
	eq(2, write(b, "-b", 2));
	eq(0, lseek(a, 0, SEEK_SET));
	eq(2, write(a, "-c", 2));
	eq(TEXT_LEN + 6, lseek(a, 0, SEEK_CUR));
	file_is("f", TEXT "-a-b-c");
	/* Of Linux: pwrite() does so as well. */
	eq(1, pwrite(a, "d", 1, 0));
	file_is("f", TEXT "-a-b-cd");
}

static void append_is_switched_on(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_WRONLY);
	ok(fcntl(fd, F_SETFL, O_APPEND));
	eq(1, write(fd, "+", 1));
	file_is("f", TEXT "+");
	ok(fcntl(fd, F_SETFL, 0));
	eq(1, pwrite(fd, "C", 1, 0));
	file_is("f", "Content+");
}

static void access_time_of_others(void)
{
	make_file("f", 0644);
	ok(open("f", O_RDONLY | O_NOATIME));
	be(USER, GROUP);
	fails(EPERM, open("f", O_RDONLY | O_NOATIME));
}

static void path_only(void)
{
	char c;
	int fd;

	make_file("f", 0600);
	be(USER, GROUP);
	fd = ok(open("f", O_PATH));
	fails(EBADF, read(fd, &c, 1));
	fails(EBADF, write(fd, &c, 1));
	fails(EBADF, fchmod(fd, 0644));
	fails(EBADF, ftruncate(fd, 0));
	eq(TEXT_LEN, stat_fd(fd).st_size);
}

static void too_many_of_the_process(void)
{
	struct rlimit lim;

	make_file("f", 0644);
	ok(getrlimit(RLIMIT_NOFILE, &lim));
	lim.rlim_cur = 10;
	ok(setrlimit(RLIMIT_NOFILE, &lim));
	for (unsigned int i = 0; i < 10; i++)
		if (open("f", O_RDONLY) < 0)
			break;
	fails(EMFILE, open("f", O_RDONLY));
	fails(EMFILE, open("g", O_WRONLY | O_CREAT, 0644));
	so(!there("g"));
}

/* A program of our own, on the file system that is tried. */
static void bring_program(const char *name)
{
	int from = ok(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	int to = ok(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
	char buf[65536];
	ssize_t n;

	while ((n = read(from, buf, sizeof(buf))) > 0)
		eq(n, write(to, buf, (size_t)n));
	eq(0, n);
	ok(close(from));
	ok(close(to));
}

/* Waits for its stdin to end, if its name is "waits". */
static pid_t run_program(const char *name, int *ret_hold)
{
	char *const argv[] = { (char[]){ "conform" }, (char[]){ "--wait" },
			       NULL };
	int hold[2], told[2];
	pid_t pid;
	char c;

	ok(pipe2(hold, O_CLOEXEC));
	ok(pipe2(told, O_CLOEXEC));
	pid = child();
	if (pid == 0) {
		ok(dup2(hold[0], STDIN_FILENO));
		ok(dup2(told[1], STDOUT_FILENO));
		ok(execv(name, argv));
	}
	ok(close(told[1]));
	eq(1, read(told[0], &c, 1));
	*ret_hold = hold[1];
	return pid;
}

static void program_that_runs(void)
{
	pid_t pid;
	int hold;

	bring_program("p");
	pid = run_program("./p", &hold);
	fails(ETXTBSY, open("p", O_WRONLY));
	fails(ETXTBSY, open("p", O_RDWR | O_TRUNC));
	fails(ETXTBSY, truncate("p", 0));
	ok(open("p", O_RDONLY));
	ok(unlink("p"));
	ok(close(hold));
	joined(pid);
}

static void program_that_is_written(void)
{
	char *const argv[] = { (char[]){ "p" }, NULL };
	int fd;

	make_file("p", 0755);
	fd = open_file("p", O_WRONLY);
	fails(ETXTBSY, execv("./p", argv));
	ok(close(fd));
	fails(ENOEXEC, execv("./p", argv));
}

static void offsets(void)
{
	char buf[4];
	int a, b, c;

	make_file("f", 0644);
	a = open_file("f", O_RDONLY);
	b = ok(dup(a));
	c = open_file("f", O_RDONLY);
	eq(3, read(a, buf, 3));
	eq(3, lseek(b, 0, SEEK_CUR));
	eq(0, lseek(c, 0, SEEK_CUR));
	eq(TEXT_LEN + 10, lseek(a, 10, SEEK_END));
	eq(0, read(a, buf, 1));
	fails(EINVAL, lseek(a, -1, SEEK_SET));
	fails(EINVAL, lseek(a, 0, 99));
	eq(TEXT_LEN + 10, lseek(b, 0, SEEK_CUR));
}

static void ways_are_kept(void)
{
	char c = 0;
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDONLY);
	fails(EBADF, write(fd, &c, 1));
	fails(EBADF, pwrite(fd, &c, 1, 0));
	fd = open_file("f", O_WRONLY);
	fails(EBADF, read(fd, &c, 1));
	fails(EBADF, pread(fd, &c, 1, 0));
	eq(O_WRONLY, fcntl(fd, F_GETFL) & O_ACCMODE);
}

static void again_by_its_number(void)
{
	char path[64];
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDONLY);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	write_text(ok(open(path, O_WRONLY)), "C", 0);
	file_is("f", "Content");
}

static void after_its_name_is_gone(void)
{
	char path[64];
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	ok(unlink("f"));
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	has_text(ok(open(path, O_RDONLY)), TEXT, 0);
	write_text(ok(open(path, O_RDWR)), "C", 0);
	has_text(fd, "Content", 0);
}

static void relative_to_a_descriptor(void)
{
	int fd;

	make_dir("d", 0755);
	make_file("d/x", 0644);
	fd = open_file("d", O_RDONLY | O_DIRECTORY);
	ok(openat(fd, "x", O_RDONLY));
	ok(rename("d", "e"));
	ok(openat(fd, "x", O_RDONLY));
	ok(openat(fd, "../e/x", O_RDONLY));
	fails(ENOENT, openat(fd, "../d/x", O_RDONLY));
	fails(ENOTDIR, openat(open_file("e/x", O_RDONLY), "x", O_RDONLY));
	fails(EBADF, openat(-1, "x", O_RDONLY));
}

static void many_at_once(void)
{
	char name[16];
	int fd[200];

	for (unsigned int i = 0; i < ARRAY_LEN(fd); i++) {
		(void)snprintf(name, sizeof(name), "%u", i);
		fd[i] = open_file(name, O_RDWR | O_CREAT | O_EXCL);
		write_text(fd[i], name, 0);
		ok(unlink(name));
	}
	for (unsigned int i = 0; i < ARRAY_LEN(fd); i++) {
		(void)snprintf(name, sizeof(name), "%u", i);
		has_text(fd[i], name, 0);
	}
}

static const struct rule open_rules[] = {
	RULE(ways_of_others),
	RULE(folder_for_writing),
	RULE(folder_is_asked_for),
	RULE(symlink_is_not_followed),
	RULE(truncates),
	RULE(truncates_what_is_empty),
	RULE(truncation_denied),
	RULE(truncates_for_a_reader),
	RULE(truncates_for_others_too),
	RULE(appends),
	RULE(append_is_switched_on),
	RULE(access_time_of_others),
	RULE(path_only),
	RULE(too_many_of_the_process),
	RULE(program_that_runs),
	RULE(program_that_is_written),
	RULE(offsets),
	RULE(ways_are_kept),
	RULE(again_by_its_number),
	RULE(after_its_name_is_gone),
	RULE(relative_to_a_descriptor),
	RULE(many_at_once),
};

const struct rules open_set = RULES(open);
