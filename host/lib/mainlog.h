/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/mainlog.h - the main process's output on disk, capped
 *
 * STATE/NAME/main.log is a row of pieces: le64 time (nanoseconds since 1970),
 * le64 cursor (bytes of this stream before these; a gap is what was lost), le32
 * length (1 to MAINLOG_PIECE_MAX), u8 stream (1 stdout, 2 stderr), three zero
 * bytes, then the bytes.  When the file would pass MAINLOG_FILE_MAX it
 * becomes main.log.1, replacing the one before: what is kept is at least half
 * of the newest 2 * MAINLOG_FILE_MAX bytes.  A piece that is cut at the end of
 * the file, by a crash or a full disk, is not there.
 */
#ifndef HUTCH_HOST_LIB_MAINLOG_H
#define HUTCH_HOST_LIB_MAINLOG_H

#include "common/err.h"
#include "common/le.h"
#include "host/lib/capfile.h"

#define MAINLOG_FILE_MAX  (512u << 10)
#define MAINLOG_PIECE_MAX 65536u

/** struct mainlog_head - In front of each piece */
struct mainlog_head {
	le64 time_ns;
	le64 cursor;
	le32 len;
	uint8_t stream;
	uint8_t zero[3];
};
_Static_assert(sizeof(struct mainlog_head) == 24, "file layout is ABI");

/**
 * struct mainlog - The writer; one a VM, the keeper
 * @file:	In STATE/NAME
 * @lost:	Bytes that could not be written, for the record
 */
struct mainlog {
	struct capfile file;
	uint64_t lost;
};

void mainlog_init(struct mainlog *l, int dirfd);
void mainlog_done(struct mainlog *l);

/**
 * mainlog_put() - Append a piece, got now
 * @stream:	1 or 2
 * @len:	1 to MAINLOG_PIECE_MAX
 *
 * What cannot be written is counted: output never stops for a full disk.
 */
void mainlog_put(struct mainlog *l, int stream, uint64_t cursor,
		 const void *data, size_t len);

/**
 * mainlog_next() - Take the next piece apart
 * @buf:	All of a file from the piece on, @len bytes
 * @ret:	Its head; the bytes follow it
 *
 * Return: bytes of head and piece together; 0 at the end, where a cut piece
 *         is too; -EBADMSG
 */
MUST_CHECK ptrdiff_t mainlog_next(const void *buf, size_t len,
				  const struct mainlog_head **ret);

#endif
