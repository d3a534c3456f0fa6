/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/kit.c - how a rule arranges what it looks at */
#include <grp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/conform/conform.h"

#define TICK_NS 500000

/* What a new file does not get: the umask, and bits that have a meaning. */
#define BEYOND_UMASK 07022

void make_file(const char *name, mode_t mode)
{
	int fd = ok(open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));

	write_text(fd, TEXT, 0);
	if (mode & BEYOND_UMASK)
		ok(fchmod(fd, mode));
	ok(close(fd));
}

void make_dir(const char *name, mode_t mode)
{
	ok(mkdir(name, mode));
	if (mode & BEYOND_UMASK)
		ok(chmod(name, mode));
}

void make_link(const char *target, const char *name)
{
	ok(symlink(target, name));
}

mode_t type_of(enum kind kind)
{
	static const mode_t type[] = {
		[FILE_] = S_IFREG,  [DIR_] = S_IFDIR,  [FIFO_] = S_IFIFO,
		[SOCK_] = S_IFSOCK, [LINK_] = S_IFLNK, [CHR_] = S_IFCHR,
		[BLK_] = S_IFBLK,
	};

	return type[kind];
}

void make(enum kind kind, const char *name)
{
	switch (kind) {
	case FILE_:
		make_file(name, 0644);
		break;
	case DIR_:
		make_dir(name, 0755);
		break;
	case LINK_:
		make_link("nowhere", name);
		break;
	default:
		/* Of a device that no driver has. */
		ok(mknod(name, type_of(kind) | 0644, makedev(233, 17)));
	}
}

void give(const char *name, uid_t uid, gid_t gid)
{
	ok(lchown(name, uid, gid));
}

static void become(uid_t uid, const gid_t *group, size_t n)
{
	ok(setgroups(n, group));
	ok(setresgid(group[0], group[0], 0));
	ok(setresuid(uid, uid, 0));
}

void be(uid_t uid, gid_t gid)
{
	become(uid, &gid, 1);
}

void be_in(uid_t uid, gid_t gid, gid_t second)
{
	const gid_t group[] = { gid, second };

	become(uid, group, 2);
}

void be_root(void)
{
	ok(setresuid(0, 0, 0));
	ok(setresgid(0, 0, 0));
	ok(setgroups(0, NULL));
}

int open_file(const char *name, int flags)
{
	return ok(open(name, flags | O_CLOEXEC, 0644));
}

void write_text(int fd, const char *text, off_t at)
{
	eq(strlen(text), pwrite(fd, text, strlen(text), at));
}

void has_text(int fd, const char *text, off_t at)
{
	char buf[64] = { 0 };
	size_t len = strlen(text);

	so(len < sizeof(buf));
	eq(len, pread(fd, buf, len, at));
	so(memcmp(buf, text, len) == 0);
}

void file_is(const char *name, const char *text)
{
	int fd = open_file(name, O_RDONLY);

	eq(strlen(text), stat_fd(fd).st_size);
	has_text(fd, text, 0);
	ok(close(fd));
}

struct stat stat_of(const char *name)
{
	struct stat st = { 0 };

	ok(lstat(name, &st));
	return st;
}

struct stat stat_fd(int fd)
{
	struct stat st = { 0 };

	ok(fstat(fd, &st));
	return st;
}

bool there(const char *name)
{
	struct stat st;

	if (lstat(name, &st) == 0)
		return true;
	so(errno == ENOENT);
	return false;
}

bool later(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec
				    : a.tv_nsec > b.tv_nsec;
}

bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

unsigned int stamps(const struct stat *before, const struct stat *after)
{
	return (later(after->st_ctim, before->st_ctim) ? CHANGED : 0u) |
	       (later(after->st_mtim, before->st_mtim) ? WRITTEN : 0u) |
	       (later(after->st_atim, before->st_atim) ? READ : 0u);
}

static struct timespec clock_now(int fd)
{
	ok(futimens(fd, NULL));
	return stat_fd(fd).st_ctim;
}

void tick(void)
{
	const struct timespec wait = { .tv_nsec = TICK_NS };
	int fd = ok(open("../clock", O_WRONLY | O_CLOEXEC));
	struct timespec start = clock_now(fd);

	while (!later(clock_now(fd), start))
		(void)nanosleep(&wait, NULL);
	ok(close(fd));
}

const char *long_name(char buf[NAME_LEN + 1], size_t n)
{
	so(n <= NAME_LEN);
	memset(buf, 'n', n);
	buf[n] = '\0';
	return buf;
}

const char *long_path(char buf[LONG_PATH], size_t n, const char *name)
{
	size_t len = strlen(name), at = 0;

	so(n < LONG_PATH && len < n);
	for (; at + 2 + len <= n; at += 2) {
		buf[at] = '.';
		buf[at + 1] = '/';
	}
	if (at + len < n)
		buf[at++] = '/';
	memcpy(buf + at, name, len + 1);
	return buf;
}

void *nowhere(void)
{
	void *p =
		mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	so(p != MAP_FAILED);
	return p;
}

/* Mounts of this process alone, that end with it. */
static void own_mounts(void)
{
	ok(unshare(CLONE_NEWNS));
	ok(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
}

void make_ro(const char *dir)
{
	own_mounts();
	ok(mount(dir, dir, NULL, MS_BIND, NULL));
	ok(mount(NULL, dir, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL));
}

void mount_other(const char *dir)
{
	own_mounts();
	ok(mount("other", dir, "tmpfs", 0, NULL));
}

pid_t child(void)
{
	return ok(fork());
}

void joined(pid_t pid)
{
	int status = 0;

	eq(pid, waitpid(pid, &status, 0));
	/* It has told of it if not. */
	if (status != 0)
		_exit(1);
}

void leave(void)
{
	_exit(0);
}
