/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/tail.h - read a log that another program writes and turns over
 *
 * A log is two files: NAME, which grows, and OLD, which NAME becomes when it is
 * large (mainlog.h, eventlog.h).  Reads the old one, then the new one, then
 * what it grows by, through any number of turns that it keeps up with.
 *
 * The caller takes whole items from the front; what is not whole yet is read
 * anew with what has come, so that a writer may take back a part of an item.
 */
#ifndef HUTCH_HOST_LIB_TAIL_H
#define HUTCH_HOST_LIB_TAIL_H

#include "common/err.h"

/**
 * struct tail - A log being read
 * @dirfd:	Its folder, borrowed
 * @name:	NULL: all there will be is in @buf
 * @fd:		File that is read; -1: not there yet
 * @next_fd:	The newer one, if both were there; -1: none, or not looked for
 * @off:	In the file, of @buf
 * @buf:	@len bytes of @cap, of which @pos are taken
 */
struct tail {
	int dirfd;
	const char *name;
	int fd;
	int next_fd;
	uint64_t off;
	char *buf;
	size_t cap;
	size_t len;
	size_t pos;
};

/** tail_init() - Nothing open; also what tail_done() leaves */
void tail_init(struct tail *t);

/**
 * tail_open() - Open what there is
 * @old, @name:	Borrowed
 * @cap:	Bytes of the largest item
 *
 * Return: 0, also if there are no files yet; -ENOMEM; -errno
 */
MUST_CHECK int tail_open(struct tail *t, int dirfd, const char *name,
			 const char *old, size_t cap);

void tail_done(struct tail *t);

/**
 * tail_load() - Take all there is into memory and close the files
 *
 * Return: 0; -ENOMEM; -errno
 */
MUST_CHECK int tail_load(struct tail *t);

/** tail_left() - What has been read and not taken; *@ret_len bytes */
const char *tail_left(const struct tail *t, size_t *ret_len);

/** tail_take() - @n bytes of it are done with */
void tail_take(struct tail *t, size_t n);

/**
 * tail_more() - Read on
 *
 * Return: 1: there is more, or another file begins; 0: not now; -errno;
 *         -EBADMSG if an item is larger than any may be
 */
MUST_CHECK int tail_more(struct tail *t);

#endif
