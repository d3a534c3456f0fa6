/* SPDX-License-Identifier: Apache-2.0 */
/* common/beneath.c - see beneath.h */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/beneath.h"

/* openat2() takes less than PATH_MAX at once. */
#define PIECE_MAX (PATH_MAX - 1)

/* EAGAIN is for a rename or mount that was too near; it does not last. */
#define TRIES 8

int beneath_open(int dirfd, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (unsigned int)flags | O_CLOEXEC | O_NOFOLLOW,
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	long fd = -1;

	if (!(flags & O_PATH))
		how.flags |= O_NONBLOCK | O_NOCTTY;
	for (int i = 0; i < TRIES; i++) {
		fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return fd < 0 ? -errno : (int)fd;
}

int beneath_steps(int dirfd, char *p, size_t len, int flags, mode_t mode)
{
	auto_fd int here = -1;

	while (len > PIECE_MAX) {
		char *cut = memrchr(p, '/', PIECE_MAX);
		int next;

		if (!cut)
			return -ENAMETOOLONG;
		*cut = '\0';
		next = beneath_open(here < 0 ? dirfd : here, p,
				    O_PATH | O_DIRECTORY, 0);
		*cut = '/';
		if (next < 0)
			return next;
		base_closep(&here);
		here = next;
		len -= (size_t)(cut + 1 - p);
		p = cut + 1;
	}
	return beneath_open(here < 0 ? dirfd : here, p, flags, mode);
}
