/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/capfile.h - a log of two files that stays under a cap
 *
 * NAME grows by whole items.  When one more would take it past its cap it
 * becomes OLD, in place of the one before, and a new NAME begins.  What is kept
 * is given up for that alone: if the file cannot be renamed it stays as it is,
 * and the new item is refused, until it can.
 */
#ifndef HUTCH_HOST_LIB_CAPFILE_H
#define HUTCH_HOST_LIB_CAPFILE_H

#include <stdbool.h>
#include <sys/uio.h>

#include "common/err.h"

/**
 * struct capfile - The writer, of which there is one
 * @dirfd:	Its folder, borrowed, as are @name and @old
 * @max:	Bytes of a file
 * @fd:		-1: not opened yet
 * @torn:	A part of an item, to be cut off, is behind @size
 * @size:	Bytes in the file
 */
struct capfile {
	int dirfd;
	const char *name;
	const char *old;
	uint64_t max;
	int fd;
	bool torn;
	uint64_t size;
};

/** capfile_init() - Nothing is opened, or made, before the first item */
void capfile_init(struct capfile *c, int dirfd, const char *name,
		  const char *old, uint64_t max);

/** capfile_done() - Takes one that was never opened, and one that is done */
void capfile_done(struct capfile *c);

/**
 * capfile_append() - Write an item, all of it or nothing
 * @n:		Parts of it, together at most @max bytes
 *
 * Return: 0; -ENOSPC and other -errno, and then the files are as they were
 */
MUST_CHECK int capfile_append(struct capfile *c, const struct iovec *part,
			      int n);

#endif
