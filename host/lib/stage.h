/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/stage.h - what is made or removed beside its place
 *
 *	STORE/lock	flock: held, and briefly, by who changes anything
 *	STORE/tmp/HEX/	what is being made or removed; flock: by somebody
 *
 * How it works.  What is made is a folder in tmp/ until one rename puts it in
 * its place; what is removed goes the other way.  Whoever does either holds that
 * folder locked, so one that is not locked was left by a crash, and the next who
 * comes by sweeps it away.  Images and volumes are stores of this kind.
 */
#ifndef HUTCH_HOST_LIB_STAGE_H
#define HUTCH_HOST_LIB_STAGE_H

#include "common/err.h"

#define STAGE_LEN 16 /* hexadecimal digits of a name in tmp/ */

/** struct stage - A folder in tmp/, locked; @fd is -1 for none, @name "" once moved */
struct stage {
	int fd;
	char name[STAGE_LEN + 1];
};

#define STAGE_INIT       \
	{                \
		.fd = -1 \
	}

/**
 * stage_lock() - Wait for the lock of a store
 * @store_fd:	Its folder
 * @what:	What is in it, for the sentence: "images"
 *
 * Return: a descriptor that holds the lock; closing it lets go. -errno
 */
MUST_CHECK int stage_lock(int store_fd, const char *what, struct err *e);

/**
 * stage_lock_dir() - Open the folder @name, and lock it without waiting
 * @how:	LOCK_SH or LOCK_EX
 *
 * Return: a descriptor that holds the lock; -EWOULDBLOCK; -errno
 */
MUST_CHECK int stage_lock_dir(int dirfd, const char *name, int how);

/** stage_name() - A name in tmp/ that nobody else has */
void stage_name(char ret[STAGE_LEN + 1]);

/**
 * stage_new() - A new folder in tmp/, ours until it is closed
 *
 * Context: the store is locked, so that no sweep comes before our lock
 */
MUST_CHECK int stage_new(int tmp_fd, struct stage *ret);

/** stage_close() - Remove it, if it is still in tmp/; takes none */
void stage_close(int tmp_fd, struct stage *st);

/** stage_moved() - It is in its place, and others may lock it */
void stage_moved(struct stage *st);

/**
 * stage_sweep() - Remove what nobody holds in tmp/, as far as it goes
 *
 * Context: the store is not locked by the caller
 */
void stage_sweep(int store_fd, int tmp_fd);

#endif
