/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/builder.h - the program that makes a root, and what holds it
 *
 * How it works.  A root is made by running thousands of lines of other people's
 * shell as root.  So the program runs under unshare(1), in a mount and a PID
 * namespace of its own, for an ordinary user in a user namespace too, in which
 * the user is root and has the ids that /etc/subuid grants.  Its first process
 * is killed when unshare dies, unshare when the thread that called us does; with
 * the first process all others of the namespace go, and with the last the mounts
 * and what was made on them.
 */
#ifndef HUTCH_HOST_LIB_BUILDER_H
#define HUTCH_HOST_LIB_BUILDER_H

#include "common/err.h"

#define BUILDER_TAIL 4096 /* bytes kept of what it says */

/**
 * struct builder - One run
 * @script:	Shell script: build-debian
 * @args:	Its arguments, a list that ends in NULL; none begins with '-'
 * @out_fd:	Its standard output: the tar
 * @log_fd:	Its standard error, if that is a terminal; else the end of what it
 *		said is written there when it fails.  -1: nowhere
 */
struct builder {
	const char *script;
	const char *const *args;
	int out_fd;
	int log_fd;
};

/**
 * builder_check() - Whether the programs are there that it takes
 *
 * Return: 0; -ENOENT with a sentence that says what to install
 */
MUST_CHECK int builder_check(struct err *e);

/**
 * builder_run() - Run it to its end
 *
 * Blocks.  What runs ends with the calling thread.
 *
 * Return: 0; -EIO with what it said last, if it failed; -errno
 */
MUST_CHECK int builder_run(const struct builder *b, struct err *e);

#endif
