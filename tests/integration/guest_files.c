/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/integration/guest_files.c - what a shell cannot do with files
 *
 *	guest_files unlinked FILE	use it after its name is gone
 *	guest_files replace FILE	rename another over it while it is open
 *	guest_files many DIR N		so many open at once
 *	guest_files deep DIR N		so many folders, one in the other
 *	guest_files list DIR N		read N names while others come and go
 *	guest_files sparse FILE		three islands in 10 GiB
 *	guest_files map FILE		write it by a mapping and by calls
 *	guest_files lock FILE		two who flock() it
 *	guest_files sync FILE N		lines, each printed when it is on disk
 *
 * Says what went wrong and ends with 1; what went right is not told.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME_LEN 4200
#define BLOCK    4096
#define MAP_LEN  65536L
#define ONE_AT   4093L /* on both sides of where a page ends */
#define OTHER_AT 20477L
#define PASSING  125u
#define GIB      (1ull << 30)

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void must(int ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "not so: %s\n", what);
	exit(1);
}

static int open_or_die(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		die(path);
	return fd;
}

static void put_at(int fd, const char *s, off_t at)
{
	ssize_t n = (ssize_t)strlen(s);

	if (pwrite(fd, s, (size_t)n, at) != n)
		die("pwrite");
}

static void has_at(int fd, const char *s, off_t at)
{
	char buf[64] = { 0 };
	size_t n = strlen(s);

	if (pread(fd, buf, n, at) != (ssize_t)n)
		die("pread");
	must(memcmp(buf, s, n) == 0, s);
}

static struct stat stat_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		die("fstat");
	return st;
}

static void unlinked(const char *path)
{
	int fd = open_or_die(path, O_RDWR | O_CREAT | O_EXCL);
	struct stat before, st;

	put_at(fd, "first", 0);
	before = stat_of(fd);
	if (unlink(path) < 0)
		die("unlink");
	must(access(path, F_OK) < 0, "the name is gone");
	st = stat_of(fd);
	must(st.st_ino == before.st_ino, "the same inode");
	must(st.st_size == 5, "its size");
	must(st.st_nlink == 0, "no links");
	put_at(fd, "second", 5);
	has_at(fd, "firstsecond", 0);
	if (ftruncate(fd, 3) < 0 || fchmod(fd, 0600) < 0)
		die("change of what has no name");
	st = stat_of(fd);
	must(st.st_size == 3 && (st.st_mode & 0777) == 0600, "it changed");
	(void)close(fd);
}

/* As git and editors do it: whoever has it open keeps the old one. */
static void replace(const char *path)
{
	char other[NAME_LEN];
	int old = open_or_die(path, O_RDWR | O_CREAT), fd;

	put_at(old, "old", 0);
	(void)snprintf(other, sizeof(other), "%s.lock", path);
	fd = open_or_die(other, O_RDWR | O_CREAT | O_EXCL);
	put_at(fd, "new", 0);
	if (rename(other, path) < 0)
		die("rename");
	has_at(old, "old", 0);
	put_at(old, "OLD", 0);
	has_at(fd, "new", 0);
	(void)close(fd);
	fd = open_or_die(path, O_RDONLY);
	has_at(fd, "new", 0);
	must(access(other, F_OK) < 0, "the other name is gone");
	has_at(old, "OLD", 0);
	(void)close(fd);
	(void)close(old);
}

/* Of all that are open, some are used. */
static void many(const char *dir, unsigned int n)
{
	int *fd = calloc((size_t)n + 1, sizeof(*fd));
	char text[NAME_LEN];

	must(fd != NULL, "memory");
	for (unsigned int i = 0; i < n; i++) {
		(void)snprintf(text, sizeof(text), "%s/open-%u", dir, i);
		fd[i] = open_or_die(text, O_RDWR | O_CREAT);
	}
	for (unsigned int i = n; i-- > 0;) {
		(void)snprintf(text, sizeof(text), "this is %u", i);
		if (i % 10 == 9) {
			put_at(fd[i], text, 0);
			has_at(fd[i], text, 0);
		}
		(void)close(fd[i]);
	}
	free(fd);
}

static void deep(const char *dir, unsigned int n)
{
	char path[NAME_LEN];
	size_t len = (size_t)snprintf(path, sizeof(path), "%s", dir);
	int fd;

	for (unsigned int i = 0; i < n; i++) {
		len += (size_t)snprintf(path + len, sizeof(path) - len,
					"/level-%u", i);
		if (mkdir(path, 0755) < 0)
			die(path);
	}
	(void)snprintf(path + len, sizeof(path) - len, "/bottom");
	fd = open_or_die(path, O_RDWR | O_CREAT);
	put_at(fd, "found", 0);
	has_at(fd, "found", 0);
	(void)close(fd);
}

static void touch(const char *dir, const char *name, unsigned int i)
{
	char path[NAME_LEN];

	(void)snprintf(path, sizeof(path), "%s/%s-%u", dir, name, i);
	(void)close(open_or_die(path, O_WRONLY | O_CREAT));
}

static void untouch(const char *dir, const char *name, unsigned int i)
{
	char path[NAME_LEN];

	(void)snprintf(path, sizeof(path), "%s/%s-%u", dir, name, i);
	if (unlink(path) < 0)
		die(path);
}

/* Each name that was there all the time comes once; others may. */
static void list(const char *dir, unsigned int n)
{
	unsigned char *seen = calloc((size_t)n + 1, 1);
	/* As many of those others, however many stay. */
	unsigned int k = 0, step = n / PASSING < 16 ? 16 : n / PASSING;
	struct dirent *de;
	DIR *d;

	must(seen != NULL, "memory");
	d = opendir(dir);
	if (!d)
		die(dir);
	while ((de = readdir(d))) {
		unsigned long i;
		char *end;

		if (k++ % step == 0)
			touch(dir, "passing", k);
		if (k % step == step / 2 + 1)
			untouch(dir, "passing", k - step / 2);
		if (strncmp(de->d_name, "stay-", 5) != 0)
			continue;
		i = strtoul(de->d_name + 5, &end, 10);
		must(!*end && i < n && !seen[i], de->d_name);
		seen[i] = 1;
	}
	for (unsigned int i = 0; i < n; i++)
		must(seen[i], "every name that stays was told");
	(void)closedir(d);
	free(seen);
}

static void sparse(const char *path)
{
	static const uint64_t at[] = { 0, 5 * GIB + 123, 10 * GIB - 5 };
	int fd = open_or_die(path, O_RDWR | O_CREAT | O_TRUNC);
	char zero[BLOCK] = { 0 }, buf[BLOCK];
	struct stat st;

	for (unsigned int i = 0; i < 3; i++)
		put_at(fd, "isle!", (off_t)at[i]);
	if (fsync(fd) < 0)
		die("fsync");
	for (unsigned int i = 0; i < 3; i++)
		has_at(fd, "isle!", (off_t)at[i]);
	st = stat_of(fd);
	must((uint64_t)st.st_size == 10 * GIB, "its size is 10 GiB");
	must(st.st_blocks < 1024, "it takes no more than its islands");
	if (pread(fd, buf, BLOCK, (off_t)(3 * GIB)) != BLOCK)
		die("pread of a hole");
	must(memcmp(buf, zero, BLOCK) == 0, "a hole is zeroes");
	(void)close(fd);
}

static void map(const char *path)
{
	int fd = open_or_die(path, O_RDWR | O_CREAT | O_EXCL);
	char *p;

	if (ftruncate(fd, MAP_LEN) < 0)
		die("ftruncate");
	p = mmap(NULL, MAP_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die("mmap");
	/* One sees what the other writes, within a page and across two. */
	memcpy(p + ONE_AT, "mapped", 6);
	has_at(fd, "mapped", ONE_AT);
	put_at(fd, "written", OTHER_AT);
	must(memcmp(p + OTHER_AT, "written", 7) == 0, "it is mapped");
	if (msync(p, MAP_LEN, MS_SYNC) < 0)
		die("msync");
	memcpy(p + MAP_LEN - 4, "last", 4);
	if (munmap(p, MAP_LEN) < 0)
		die("munmap");
	(void)close(fd);
	fd = open_or_die(path, O_RDONLY);
	has_at(fd, "mapped", ONE_AT);
	has_at(fd, "written", OTHER_AT);
	has_at(fd, "last", MAP_LEN - 4);
	must(stat_of(fd).st_size == MAP_LEN, "its size");
	(void)close(fd);
}

/* Waits for who has the lock, and says so in the file. */
static void lock_as_second(const char *path, int ready)
{
	int fd = open_or_die(path, O_RDWR);

	must(flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK,
	     "it is locked");
	must(flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK,
	     "for readers too");
	if (write(ready, "x", 1) != 1 || flock(fd, LOCK_EX) < 0)
		die("flock");
	has_at(fd, "first", 0);
	put_at(fd, "second", 0);
	exit(0);
}

static void lock(const char *path)
{
	int fd = open_or_die(path, O_RDWR | O_CREAT | O_EXCL), ready[2];
	int status = -1;
	char c;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0 || flock(fd, LOCK_EX) < 0)
		die("flock");
	pid = fork();
	if (pid == 0)
		lock_as_second(path, ready[1]);
	(void)close(ready[1]);
	must(read(ready[0], &c, 1) == 1, "the second has come");
	put_at(fd, "first", 0);
	if (flock(fd, LOCK_UN) < 0)
		die("flock");
	must(waitpid(pid, &status, 0) == pid && status == 0, "the second");
	has_at(fd, "second", 0);
	(void)close(ready[0]);
	(void)close(fd);
}

static void sync_lines(const char *path, unsigned int n)
{
	int fd = open_or_die(path, O_WRONLY | O_CREAT | O_TRUNC);

	for (unsigned int i = 1; i <= n; i++) {
		if (dprintf(fd, "%u\n", i) < 0 || fsync(fd) < 0)
			die("write");
		(void)printf("%u\n", i);
		(void)fflush(stdout);
	}
	(void)close(fd);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	unsigned int n = argc > 3 ? (unsigned int)strtoul(argv[3], NULL, 10)
				  : 0;

	if (strcmp(what, "unlinked") == 0)
		unlinked(argv[2]);
	else if (strcmp(what, "replace") == 0)
		replace(argv[2]);
	else if (strcmp(what, "many") == 0)
		many(argv[2], n);
	else if (strcmp(what, "deep") == 0)
		deep(argv[2], n);
	else if (strcmp(what, "list") == 0)
		list(argv[2], n);
	else if (strcmp(what, "sparse") == 0)
		sparse(argv[2]);
	else if (strcmp(what, "map") == 0)
		map(argv[2]);
	else if (strcmp(what, "lock") == 0)
		lock(argv[2]);
	else if (strcmp(what, "sync") == 0)
		sync_lines(argv[2], n);
	else
		return 2;
	return 0;
}
