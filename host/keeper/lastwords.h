/* SPDX-License-Identifier: Apache-2.0 */
/* host/keeper/lastwords.h - what a program of ours said last, by its stderr */
#ifndef HUTCH_HOST_KEEPER_LASTWORDS_H
#define HUTCH_HOST_KEEPER_LASTWORDS_H

#include <sys/types.h>

#include "common/base.h"

#define LASTWORDS_MAX 1024 /* bytes kept */

/** struct lastwords - The end of it; zeroed is none */
struct lastwords {
	size_t len;
	char buf[LASTWORDS_MAX];
};

/**
 * lastwords_read() - Take in what is there
 * @fd:		Of a pipe that does not block
 *
 * Return: bytes read, 0 when there are none and will be none, -errno
 */
ssize_t lastwords_read(struct lastwords *w, int fd);

/**
 * lastwords_line() - The last line, escaped; the sentence is in it
 * @me:		What stands in front of it, "hutch-vmm: ", and is left out
 * @buf:	Always terminated
 *
 * Return: @buf
 */
const char *lastwords_line(const struct lastwords *w, const char *me, char *buf,
			   size_t cap);

#endif
