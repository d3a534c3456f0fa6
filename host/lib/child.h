/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/child.h - run a program of ours or of others, as our child
 *
 * It has what it is given and nothing else: descriptors are close-on-exec with us,
 * nothing is ignored, and nothing is blocked but what is asked for.
 */
#ifndef HUTCH_HOST_LIB_CHILD_H
#define HUTCH_HOST_LIB_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base.h"

#define CHILD_FDS_MAX 64u

/**
 * struct child_fds - Descriptors of a child, in the order in which they are put
 *		      there: a number that is used is not to be another's source
 */
struct child_fds {
	unsigned int n;
	struct {
		int from;
		int to;
	} v[CHILD_FDS_MAX];
};

/** child_put() - @from will be @to there; onto itself: it stays. -1: none */
void child_put(struct child_fds *f, int from, int to);

/**
 * struct child - A program
 * @argv:	As for execve(): the path first
 * @env:	Likewise
 * @fds:	What it has besides 0, 1 and 2, and instead of those
 * @quiet:	0, 1 and 2 are /dev/null; else ours
 * @cwd:	Its working folder; -1: ours
 * @session:	It has one of its own
 * @block:	A signal that it is not ended by; 0: none
 */
struct child {
	char *const *argv;
	char *const *env;
	const struct child_fds *fds;
	bool quiet;
	int cwd;
	bool session;
	int block;
};

/** child_run() - Return: 0 with its *@ret, to be waited for; or -errno */
MUST_CHECK int child_run(const struct child *s, pid_t *ret);

#endif
