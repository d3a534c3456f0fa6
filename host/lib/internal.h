/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/internal.h - what the files of libhutch and the keeper share */
#ifndef HUTCH_HOST_LIB_INTERNAL_H
#define HUTCH_HOST_LIB_INTERNAL_H

#include "common/err.h"
#include "host/lib/hutch.h"

_Static_assert(sizeof(struct err) == sizeof(struct hutch_err) &&
		       ERR_MSG_MAX == HUTCH_ERR_MAX,
	       "the public error object is ours under another name");

/** err_of() - The caller's error object as the kind that err_set() fills */
static inline struct err *err_of(struct hutch_err *e)
{
	return (struct err *)(void *)e;
}

/**
 * struct hutch - See hutch.h; nothing changes after hutch_open()
 * @run_fd:	Folder of HUTCH_PATH_RUN
 * @state_fd:	Folder of HUTCH_PATH_STATE
 * @run:	Their paths, for people
 * @libexec:	NULL: to be found from /proc/self/exe
 */
struct hutch {
	int run_fd;
	int state_fd;
	char *run;
	char *state;
	char *data;
	char *libexec;
};

/* Bytes of "KEY=VALUE"; three for one that is not UTF-8, see docs/json.md. */
#define HUTCH_LABEL_MAX (HUTCH_LABEL_KEY_MAX + 1 + 3 * HUTCH_LABEL_VALUE_MAX)

/**
 * struct hutch_vm - See hutch.h
 * @lifeline:	-1 if not asked for
 * @keeper_fd:	"wait for=exit" under way; -1 if the keeper had no room
 * @rec:	How it ended, once known
 */
struct hutch_vm {
	int lifeline;
	int keeper_fd;
	struct hutch_record *rec;
	char name[HUTCH_NAME_MAX + 1];
	char id[HUTCH_ID_LEN + 1];
};

/**
 * opts_take() - Copy a caller's options into a struct of today's size
 * @size:	What the caller has compiled, the first field of @src
 *
 * Return: 0; -EINVAL if @size is nonsense or has fields we do not know
 */
MUST_CHECK int opts_take(void *dst, size_t dst_size, const void *src,
			 size_t size, struct err *e);

/** name_check() - 0, or -EINVAL with a sentence */
MUST_CHECK int name_check(const char *name, struct err *e);

/** strv_len() - Strings in a list that ends in NULL; 0 for no list */
size_t strv_len(const char *const *v);

/** strv_borrow() - For a message: it only borrows, its lists are just not const */
const char **strv_borrow(const char *const *v);

/**
 * file_size_ok() - Whether this process may write a file of @len bytes
 *
 * Beyond RLIMIT_FSIZE a write raises SIGXFSZ, which ends a program that has
 * not thought of it, and a library may not touch its handlers: so ask first.
 *
 * Return: 0 or -EFBIG
 */
MUST_CHECK int file_size_ok(uint64_t len);

/**
 * deadline_in() - The moment so many milliseconds from now, CLOCK_MONOTONIC
 * @timeout_ms:	-1: never, which is 0
 */
uint64_t deadline_in(int64_t timeout_ms);

/** deadline_sooner() - Of two such moments */
uint64_t deadline_sooner(uint64_t a_ns, uint64_t b_ns);

/** deadline_left_ms() - For poll(): rounded up, at most INT_MAX; -1: never */
int deadline_left_ms(uint64_t end_ns);

/**
 * deadline_poll() - Wait for a descriptor, but not beyond a moment
 * @events:	As for poll()
 * @end_ns:	See deadline_in()
 *
 * Return: 1: look again; 0: time is over, whether it is ready or not; -errno
 */
MUST_CHECK int deadline_poll(int fd, short events, uint64_t end_ns);

/** now_ns() - CLOCK_REALTIME in nanoseconds */
int64_t now_ns(void);

/** exec_adopt_attach() - As exec_adopt(), attached to the main process */
MUST_CHECK int exec_adopt_attach(struct hutch *h, int fd,
				 const struct hutch_attach_opts *o,
				 struct hutch_exec **ret, struct err *e);

/**
 * exec_adopt() - hutch_exec_open() over a socket, for tests
 * @fd:		Connected; taken over, also on failure
 *
 * The VM's name is "none", and no VM has it.
 *
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int exec_adopt(struct hutch *h, int fd,
			  const struct hutch_exec_opts *o,
			  struct hutch_exec **ret, struct err *e);

#endif
