/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/unix.h - Unix sockets named relative to a folder, descriptors sent
 *
 * sun_path holds 107 bytes, a state folder's path may be longer.  So all names
 * are relative to an open folder and go to the kernel as /proc/self/fd/N/NAME.
 */
#ifndef HUTCH_COMMON_UNIX_H
#define HUTCH_COMMON_UNIX_H

#include "common/err.h"

#define UNIX_FDS_MAX 4

/**
 * unix_listen() - Bind and listen at @name in @dirfd
 * @dirfd:	Folder, or AT_FDCWD: then @name may be any path that fits
 * @type:	SOCK_STREAM or SOCK_SEQPACKET; CLOEXEC and NONBLOCK are added
 *
 * A socket file of that name that nobody listens on is replaced.
 *
 * Return: the descriptor; -EADDRINUSE if somebody listens there; or -errno
 */
MUST_CHECK int unix_listen(int dirfd, const char *name, int type,
			   struct err *e);

/**
 * unix_connect() - Connect to @name in @dirfd; blocks, close-on-exec
 *
 * Return: the descriptor, or -errno (-ENOENT, -ECONNREFUSED: nobody there)
 */
MUST_CHECK int unix_connect(int dirfd, const char *name, int type,
			    struct err *e);

/**
 * unix_connect_file() - As unix_connect(), to the socket file that @fd (O_PATH) is
 *
 * Return: the descriptor, or -errno
 */
MUST_CHECK int unix_connect_file(int fd, int type);

/**
 * unix_send_fds() - Send bytes with descriptors (SCM_RIGHTS)
 *
 * Return: bytes sent or -errno; MSG_NOSIGNAL is implied
 */
MUST_CHECK ssize_t unix_send_fds(int sock, const void *buf, size_t len,
				 const int *fds, int n_fds);

/**
 * unix_recv_fds() - Receive bytes and up to UNIX_FDS_MAX descriptors
 * @fds:	Room for UNIX_FDS_MAX; filled in, all close-on-exec
 * @ret_n:	How many came
 *
 * Descriptors beyond the limit are closed, never leaked.
 *
 * Return: bytes, 0 at the end, or -errno (-EMSGSIZE if control data was cut)
 */
MUST_CHECK ssize_t unix_recv_fds(int sock, void *buf, size_t len, int *fds,
				 int *ret_n);

#endif
