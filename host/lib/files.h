/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/files.h - a request about files of a VM, under way */
#ifndef HUTCH_HOST_LIB_FILES_H
#define HUTCH_HOST_LIB_FILES_H

#include "common/wire_file.h"
#include "host/lib/internal.h"
#include "host/lib/session.h"

/* Sent before it is looked whether the guest has said something. */
#define FILES_LOOK_EVERY 16u

/* Waits to be sent before more is read from where it comes. */
#define FILES_QUEUE_MAX (4ul * WIRE_DATA_MAX)

/* The guest's frames that are heard before we go on sending. */
#define FILES_LISTEN_MAX 64u

/**
 * struct hutch_fs - See hutch.h
 * @s:		Of the call under way
 * @refused:	The guest refused the last call
 * @left_out:	The notes of the last call told of something
 * @notes:	How many there were, and are not told again
 * @since_look:	Frames sent since the guest was last listened to
 * @more:	It had more to say by then, which poll() may not know
 */
struct hutch_fs {
	struct hutch *h;
	char name[HUTCH_NAME_MAX + 1];
	char *user;
	hutch_fs_note_fn note;
	void *arg;
	struct session s;
	bool refused;
	bool left_out;
	uint64_t notes;
	unsigned int since_look;
	bool more;
};

/**
 * files_begin() - Connect and send a request; its user is @fs's
 *
 * For files_end(), also when it fails.
 *
 * Return: 0; -EINVAL for a path that cannot be one; as session_open()
 */
MUST_CHECK int files_begin(struct hutch_fs *fs, struct msg_file *m,
			   struct err *e);

/** files_end() - Close the connection; say how many notes were not passed on */
void files_end(struct hutch_fs *fs);

/**
 * files_next() - Wait for the next frame of the answer
 *
 * Notes are passed on and never seen here.
 *
 * Return: 1; 0 if it was DONE; -errno, that of the guest if it refused
 */
MUST_CHECK int files_next(struct hutch_fs *fs, struct wire_frame *ret,
			  struct err *e);

/** files_await_done() - Wait for DONE and nothing else. 0 or as files_next() */
MUST_CHECK int files_await_done(struct hutch_fs *fs, struct err *e);

/**
 * files_send() - Send a frame, part of which may lie elsewhere
 *
 * Waits while much is queued, and listens to the guest meanwhile.
 *
 * Return: 0; -errno, as files_next()
 */
MUST_CHECK int files_send(struct hutch_fs *fs, const void *head,
			  size_t head_len, const void *data, size_t len,
			  struct err *e);

/** files_wait_readable() - Until @fd is, listening. 0; as files_next() */
MUST_CHECK int files_wait_readable(struct hutch_fs *fs, int fd, struct err *e);

/** files_commit() - Say that this was all, and wait for DONE */
MUST_CHECK int files_commit(struct hutch_fs *fs, struct err *e);

/** files_unexpected() - -EBADMSG: the guest's frame cannot come here */
int files_unexpected(const struct hutch_fs *fs, const struct wire_frame *f,
		     struct err *e);

/** files_say() - Pass on a note of our own; as the guest's, @code from errno */
void files_say(struct hutch_fs *fs, int code, const char *sentence);

/** files_check_flags() - 0, or -EINVAL if there are others than @known */
MUST_CHECK int files_check_flags(unsigned int flags, unsigned int known,
				 struct err *e);

/**
 * files_of_entry() - An entry as hutch.h has it
 *
 * Return: malloc()ed with its strings; NULL if there is no memory
 */
struct hutch_file *files_of_entry(const struct msg_entry *m);

#endif
