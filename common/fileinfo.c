/* SPDX-License-Identifier: Apache-2.0 */
/* common/fileinfo.c - see fileinfo.h */
#include <errno.h>
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "common/fileinfo.h"

#define NS_PER_S 1000000000

static int64_t ns_of(struct timespec ts)
{
	int64_t ns;

	/* A time that is out of range is the last one within. */
	if (__builtin_mul_overflow(ts.tv_sec, NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, ts.tv_nsec, &ns))
		return ts.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

static struct timespec time_of(int64_t ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / NS_PER_S),
			       .tv_nsec = (long)(ns % NS_PER_S) };

	if (ts.tv_nsec < 0) {
		ts.tv_nsec += NS_PER_S;
		ts.tv_sec--;
	}
	return ts;
}

static enum wire_file_kind kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return WIRE_KIND_DIR;
	case S_IFLNK:
		return WIRE_KIND_SYMLINK;
	case S_IFIFO:
		return WIRE_KIND_FIFO;
	case S_IFSOCK:
		return WIRE_KIND_SOCKET;
	case S_IFCHR:
		return WIRE_KIND_CHAR;
	case S_IFBLK:
		return WIRE_KIND_BLOCK;
	default:
		return WIRE_KIND_FILE;
	}
}

void fileinfo_of(const struct stat *st, struct msg_entry *ret)
{
	*ret = (struct msg_entry){
		.kind = kind_of(st->st_mode),
		.mode = st->st_mode & WIRE_MODE_MAX,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.nlink = (uint32_t)MIN(st->st_nlink, UINT32_MAX),
		.rdev_major = major(st->st_rdev),
		.rdev_minor = minor(st->st_rdev),
		.size = (uint64_t)st->st_size,
		.blocks = (uint64_t)st->st_blocks,
		.ino = st->st_ino,
		.atime_ns = ns_of(st->st_atim),
		.mtime_ns = ns_of(st->st_mtim),
		.ctime_ns = ns_of(st->st_ctim),
		.name = "",
		.target = "",
	};
}

const char *fileinfo_kind_name(enum wire_file_kind kind)
{
	switch (kind) {
	case WIRE_KIND_DIR:
		return "folder";
	case WIRE_KIND_SYMLINK:
		return "symbolic link";
	case WIRE_KIND_FIFO:
		return "FIFO";
	case WIRE_KIND_SOCKET:
		return "socket";
	case WIRE_KIND_CHAR:
	case WIRE_KIND_BLOCK:
		return "device";
	case WIRE_KIND_FILE:
	case WIRE_KIND_LINK:
		break;
	}
	return "file";
}

int fileinfo_target(int dirfd, const char *name, char ret[WIRE_PATH_MAX + 1])
{
	ssize_t n = readlinkat(dirfd, name, ret, WIRE_PATH_MAX + 1);

	if (n < 0)
		return -errno;
	if ((size_t)n > WIRE_PATH_MAX)
		return -ENAMETOOLONG;
	ret[n] = '\0';
	return n ? 0 : -ENOENT;
}

mode_t fileinfo_mode(const struct msg_entry *m, bool archive)
{
	mode_t keep = 0777;

	if (archive)
		keep = WIRE_MODE_MAX;
	else if (m->kind == WIRE_KIND_DIR)
		keep |= S_ISVTX;
	return m->mode & keep;
}

int fileinfo_set_time(int dirfd, const char *name, int64_t mtime_ns)
{
	const struct timespec ts[2] = { { .tv_nsec = UTIME_OMIT },
					time_of(mtime_ns) };

	return utimensat(dirfd, name, ts, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

int fileinfo_set_time_fd(int fd, int64_t mtime_ns)
{
	const struct timespec ts[2] = { { .tv_nsec = UTIME_OMIT },
					time_of(mtime_ns) };

	return futimens(fd, ts) < 0 ? -errno : 0;
}
