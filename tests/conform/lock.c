/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/lock.c - flock(), record locks and those of descriptions */
#include <sys/file.h>

#include "tests/conform/conform.h"

static int lock(int fd, int cmd, short type, off_t start, off_t len)
{
	struct flock l = { .l_type = type,
			   .l_whence = SEEK_SET,
			   .l_start = start,
			   .l_len = len };

	return fcntl(fd, cmd, &l);
}

static void whole_file(void)
{
	int a, b;

	make_file("f", 0644);
	a = open_file("f", O_RDONLY);
	b = open_file("f", O_RDONLY);
	ok(flock(a, LOCK_SH | LOCK_NB));
	ok(flock(b, LOCK_SH | LOCK_NB));
	fails(EWOULDBLOCK, flock(a, LOCK_EX | LOCK_NB));
	ok(flock(b, LOCK_UN));
	ok(flock(a, LOCK_EX | LOCK_NB));
	fails(EWOULDBLOCK, flock(b, LOCK_SH | LOCK_NB));
	ok(close(a));
	ok(flock(b, LOCK_EX | LOCK_NB));
	fails(EINVAL, flock(b, 0));
}

static void whole_file_of_a_fork(void)
{
	int a, b;
	pid_t pid;

	make_file("f", 0644);
	a = open_file("f", O_RDONLY);
	ok(flock(a, LOCK_EX));
	pid = child();
	if (pid == 0) {
		/* It is ours as much: the description's. */
		ok(flock(a, LOCK_EX | LOCK_NB));
		leave();
	}
	joined(pid);
	b = open_file("f", O_RDONLY);
	fails(EWOULDBLOCK, flock(b, LOCK_EX | LOCK_NB));
	ok(flock(a, LOCK_UN));
	ok(flock(b, LOCK_EX | LOCK_NB));
}

static void other_names_have_it(void)
{
	make_file("f", 0644);
	ok(link("f", "g"));
	ok(flock(open_file("f", O_RDONLY), LOCK_EX));
	fails(EWOULDBLOCK, flock(open_file("g", O_RDONLY), LOCK_EX | LOCK_NB));
	ok(rename("g", "h"));
	fails(EWOULDBLOCK, flock(open_file("h", O_RDONLY), LOCK_EX | LOCK_NB));
	make_file("g", 0644);
	ok(flock(open_file("g", O_RDONLY), LOCK_EX | LOCK_NB));
}

static void of_a_folder(void)
{
	make_dir("d", 0755);
	ok(flock(open_file("d", O_RDONLY), LOCK_EX));
	fails(EWOULDBLOCK, flock(open_file("d", O_RDONLY), LOCK_SH | LOCK_NB));
}

static void waits_for_it(void)
{
	int a, pipe_fd[2];
	pid_t pid;
	char c;

	make_file("f", 0644);
	ok(pipe2(pipe_fd, O_CLOEXEC));
	a = open_file("f", O_RDWR);
	ok(flock(a, LOCK_EX));
	pid = child();
	if (pid == 0) {
		eq(1, write(pipe_fd[1], "x", 1));
		ok(flock(open_file("f", O_RDWR), LOCK_EX));
		file_is("f", "CONTENT");
		leave();
	}
	eq(1, read(pipe_fd[0], &c, 1));
	write_text(a, "CONTENT", 0);
	ok(flock(a, LOCK_UN));
	joined(pid);
}

static void records(void)
{
	struct flock l = { .l_type = F_WRLCK,
			   .l_whence = SEEK_SET,
			   .l_start = 5,
			   .l_len = 1 };
	pid_t pid, me = getpid();
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	ok(lock(fd, F_SETLK, F_WRLCK, 0, 10));
	ok(lock(fd, F_SETLK, F_RDLCK, 20, 10));
	pid = child();
	if (pid == 0) {
		int other = open_file("f", O_RDWR);

		fails(EAGAIN, lock(other, F_SETLK, F_RDLCK, 9, 1));
		fails(EAGAIN, lock(other, F_SETLK, F_WRLCK, 25, 1));
		ok(lock(other, F_SETLK, F_RDLCK, 25, 1));
		ok(lock(other, F_SETLK, F_WRLCK, 10, 10));
		ok(fcntl(other, F_GETLK, &l));
		eq(F_WRLCK, l.l_type);
		eq(0, l.l_start);
		eq(10, l.l_len);
		eq(me, l.l_pid);
		leave();
	}
	joined(pid);
	ok(fcntl(fd, F_GETLK, &l));
	eq(F_UNLCK, l.l_type);
}

static void record_is_split(void)
{
	pid_t pid;
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	ok(lock(fd, F_SETLK, F_WRLCK, 0, 0));
	ok(lock(fd, F_SETLK, F_UNLCK, 10, 10));
	pid = child();
	if (pid == 0) {
		int other = open_file("f", O_RDWR);

		ok(lock(other, F_SETLK, F_WRLCK, 10, 10));
		fails(EAGAIN, lock(other, F_SETLK, F_WRLCK, 9, 1));
		fails(EAGAIN, lock(other, F_SETLK, F_WRLCK, 20, 1));
		fails(EAGAIN, lock(other, F_SETLK, F_WRLCK, 1000000, 1));
		leave();
	}
	joined(pid);
}

/* By whatever descriptor of the file the process closes first. */
static void records_go_with_any_close(void)
{
	pid_t pid;
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	ok(lock(fd, F_SETLK, F_WRLCK, 0, 0));
	ok(close(open_file("f", O_RDONLY)));
	pid = child();
	if (pid == 0) {
		ok(lock(open_file("f", O_RDWR), F_SETLK, F_WRLCK, 0, 0));
		leave();
	}
	joined(pid);
}

static void record_needs_the_way(void)
{
	make_file("f", 0644);
	fails(EBADF, lock(open_file("f", O_RDONLY), F_SETLK, F_WRLCK, 0, 0));
	fails(EBADF, lock(open_file("f", O_WRONLY), F_SETLK, F_RDLCK, 0, 0));
	fails(EINVAL, lock(open_file("f", O_RDWR), F_SETLK, 99, 0, 0));
	fails(EINVAL, lock(open_file("f", O_RDWR), F_SETLK, F_WRLCK, -5, 1));
}

static void of_descriptions(void)
{
	int a, b;

	make_file("f", 0644);
	a = open_file("f", O_RDWR);
	b = open_file("f", O_RDWR);
	ok(lock(a, F_OFD_SETLK, F_WRLCK, 0, 10));
	fails(EAGAIN, lock(b, F_OFD_SETLK, F_RDLCK, 5, 1));
	fails(EAGAIN, lock(b, F_SETLK, F_WRLCK, 5, 1));
	ok(lock(b, F_OFD_SETLK, F_WRLCK, 10, 10));
	ok(close(open_file("f", O_RDONLY)));
	fails(EAGAIN, lock(b, F_OFD_SETLK, F_RDLCK, 5, 1));
	ok(close(a));
	/* FUSE tells of a close when it has time to: it goes, but not at once. */
	ok(lock(b, F_OFD_SETLKW, F_WRLCK, 5, 1));
}

static const struct rule lock_rules[] = {
	RULE(whole_file),           RULE(whole_file_of_a_fork),
	RULE(other_names_have_it),  RULE(of_a_folder),
	RULE(waits_for_it),         RULE(records),
	RULE(record_is_split),      RULE(records_go_with_any_close),
	RULE(record_needs_the_way), RULE(of_descriptions),
};

const struct rules lock_set = RULES(lock);
