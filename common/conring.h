/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/conring.h - the last 64 KiB of a console, in a mapped file
 *
 * The writer stores into the mapping, so what the guest said last is in the
 * file however the writer dies.  The file has CONRING_FILE_LEN bytes:
 *
 *	0	le32	magic, "HCON"
 *	4	le32	version, 1
 *	8	le64	bytes ever written
 *	4096	the ring: byte n of the stream is at 4096 + n % 65536
 */
#ifndef HUTCH_COMMON_CONRING_H
#define HUTCH_COMMON_CONRING_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define CONRING_MAGIC    0x4e4f4348u
#define CONRING_VERSION  1u
#define CONRING_DATA_OFF 4096u
#define CONRING_DATA_LEN 65536u
#define CONRING_FILE_LEN (CONRING_DATA_OFF + CONRING_DATA_LEN)

/** struct conring - The writer's side; @map is NULL when closed */
struct conring {
	uint8_t *map;
	uint64_t total;
};

/**
 * conring_open() - Make @fd an empty ring and map it
 * @fd:		A regular file, read-write; may be closed afterwards
 *
 * All of its blocks are allocated now, so that a full disk is an error here
 * and not a signal later.  Return: 0 or -errno with a sentence
 */
MUST_CHECK int conring_open(struct conring *c, int fd, struct err *e);

/** conring_close() - Unmap; takes a closed one too */
void conring_close(struct conring *c);

/** conring_put() - Append. Context: one thread at a time */
void conring_put(struct conring *c, const void *buf, size_t len);

/**
 * conring_read() - What the ring in @fd holds, oldest byte first
 * @ret:	malloc()ed, the caller's; with a NUL behind it
 *
 * Safe while a writer writes: then the oldest bytes may be newer ones.
 *
 * Return: 0; -EBADMSG if it is no such file; or -errno; with a sentence
 */
MUST_CHECK int conring_read(int fd, char **ret, size_t *ret_len, struct err *e);

#endif
