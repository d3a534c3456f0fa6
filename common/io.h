/* SPDX-License-Identifier: Apache-2.0 */
/* common/io.h - whole reads and writes, descriptor flags */
#ifndef HUTCH_COMMON_IO_H
#define HUTCH_COMMON_IO_H

#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"

/**
 * io_read_full() - Read until @len bytes are there or the end is
 *
 * For blocking descriptors; goes on after EINTR.
 *
 * Return: bytes read, less than @len only at the end of the file; or -errno
 */
MUST_CHECK ssize_t io_read_full(int fd, void *buf, size_t len);

/** io_write_full() - Write all of it, blocking. Return: 0 or -errno */
MUST_CHECK int io_write_full(int fd, const void *buf, size_t len);

/**
 * io_read_file() - All of a file, with a NUL behind it
 * @max:	More than this is -EFBIG
 * @ret:	malloc()ed, the caller's
 * @ret_len:	Bytes, without the NUL; may be NULL
 *
 * Return: 0, or -errno with the sentence in @e naming @path
 */
MUST_CHECK int io_read_file(int dirfd, const char *path, size_t max, char **ret,
			    size_t *ret_len, struct err *e);

/** io_set_nonblock() - O_NONBLOCK on or off. Return: 0 or -errno */
MUST_CHECK int io_set_nonblock(int fd, int on);

/** io_set_cloexec() - FD_CLOEXEC on or off. Return: 0 or -errno */
MUST_CHECK int io_set_cloexec(int fd, int on);

#endif
