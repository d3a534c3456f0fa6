/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/ctl.h - the line protocol of control sockets (monitor and keeper)
 *
 * A client sends a line, the server answers each with one line, in order:
 *
 *	request:	VERB [KEY=VALUE]...\n
 *	answer:		ok [KEY=VALUE]...\n
 *			error CODE SENTENCE\n	(CODE is an errno name: EINVAL)
 *
 * VERB and KEY are [a-z][a-z0-9_-]*.  A VALUE has no blank: bytes outside
 * '!' to '~', and '%', are written as %XX.  A line is at most CTL_LINE_MAX
 * bytes with its newline and has at most CTL_ARGS_MAX values.  "wait" is
 * answered when it is over; a connection may have one request under way.
 */
#ifndef HUTCH_COMMON_CTL_H
#define HUTCH_COMMON_CTL_H

#include <stdint.h>

#include "common/err.h"

#define CTL_LINE_MAX 8192
#define CTL_ARGS_MAX 64

/** struct ctl_arg - One KEY=VALUE; both point into the parsed line */
struct ctl_arg {
	const char *key;
	const char *value;
};

/**
 * struct ctl_msg - A parsed line, either way
 * @verb:	First word: the verb, "ok" or "error"
 * @code:	Of an error: its errno name
 * @sentence:	Of an error: the rest of the line, unescaped
 */
struct ctl_msg {
	const char *verb;
	const char *code;
	const char *sentence;
	unsigned int n_args;
	struct ctl_arg arg[CTL_ARGS_MAX];
};

/**
 * ctl_parse() - Take one line apart, in place
 * @line:	@len bytes with no newline, plus room for a NUL at line[len]
 *
 * Return: 0; -EBADMSG with a sentence if it is not well formed
 */
MUST_CHECK int ctl_parse(char *line, size_t len, struct ctl_msg *ret,
			 struct err *e);

/** ctl_get() - Value of @key, or NULL if the message has none */
const char *ctl_get(const struct ctl_msg *m, const char *key);

/** ctl_get_u64() - Value of @key as a number. Return: 0, -ENOENT, -EINVAL */
MUST_CHECK int ctl_get_u64(const struct ctl_msg *m, const char *key,
			   uint64_t *ret);

/** struct ctl_out - A line being composed; overflow is sticky */
struct ctl_out {
	size_t len;
	int bad;
	char buf[CTL_LINE_MAX];
};

/** ctl_begin() - Start a line with a verb or "ok" */
void ctl_begin(struct ctl_out *o, const char *verb);
void ctl_add(struct ctl_out *o, const char *key, const char *value);
void ctl_add_u64(struct ctl_out *o, const char *key, uint64_t value);

/** ctl_error() - Make the line an error answer: errno name and sentence */
void ctl_error(struct ctl_out *o, int code, const char *sentence);

/** ctl_end() - Add the newline. Return: length, or -EMSGSIZE */
MUST_CHECK int ctl_end(struct ctl_out *o);

/**
 * ctl_call() - Send one request and wait for its answer, blocking
 * @fd:		Connected, blocking stream socket
 * @req:	Composed with ctl_begin() and ctl_add(), not yet ended
 * @line:	Holds the answer that *@ret points into
 *
 * Return: 0; the negative errno of an error answer, with its sentence in @e;
 *         -EPIPE if the peer went away; -EBADMSG if it answered nonsense
 */
MUST_CHECK int ctl_call(int fd, struct ctl_out *req, char line[CTL_LINE_MAX],
			struct ctl_msg *ret, struct err *e);

/** ctl_errno_name() - "EINVAL" for -EINVAL; "EIO" for one with no name here */
const char *ctl_errno_name(int code);

/** ctl_errno_code() - -EINVAL for "EINVAL"; -EIO for an unknown name */
int ctl_errno_code(const char *name);

#endif
