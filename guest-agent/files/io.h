/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/files/io.h - the child's side of the connection, blocking */
#ifndef HUTCH_GUEST_AGENT_FILES_IO_H
#define HUTCH_GUEST_AGENT_FILES_IO_H

#include <stdbool.h>

#include "common/wire_file.h"

#define FILES_QUOTE_MAX 160

/**
 * struct files - A request being served
 * @req:	Its strings are ours
 * @fd:		The connection
 * @gone:	Nobody is there any more
 * @broke:	The client broke the protocol
 * @data:	Bytes on their way
 */
struct files {
	struct msg_file req;
	int fd;
	struct wire_reader *in;
	bool gone;
	bool broke;
	uint8_t data[WIRE_DATA_MAX];
};

/**
 * files_send() - Send a frame, part of which may lie elsewhere
 *
 * Return: 0; -EPIPE if nobody is there, with a sentence that nobody reads
 */
MUST_CHECK int files_send(struct files *f, const void *head, size_t head_len,
			  const void *data, size_t len, struct err *e);

/** files_send_wr() - Send what was composed; as files_send() */
MUST_CHECK int files_send_wr(struct files *f, const struct wr *wr,
			     struct err *e);

/**
 * files_next() - Wait for the client's next frame
 *
 * Return: 0; -EPIPE if it has gone; -EBADMSG
 */
MUST_CHECK int files_next(struct files *f, struct wire_frame *ret,
			  struct err *e);

/**
 * files_wait() - Wait for a file that is none on a disk
 * @events:	POLLIN or POLLOUT
 *
 * Return: 0; -EPIPE if the client goes meanwhile
 */
MUST_CHECK int files_wait(struct files *f, int fd, short events, struct err *e);

/** files_broken() - -EPROTO and that this frame cannot come here */
int files_broken(struct files *f, const struct wire_frame *frame,
		 struct err *e);

/** files_fail() - -errno and a sentence that names @path */
int files_fail(struct err *e, int code, const char *path);

#endif
