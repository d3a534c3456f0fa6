/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/vmwatch.h - be woken when a VM's folder changes, or its keeper goes
 *
 * One descriptor to poll for all: an epoll instance of an inotify instance and
 * a connection to each keeper, with "wait for=exit" under way.  So a log that
 * grows wakes us, and the end of a keeper that could not write it any more.
 *
 * A keeper that has all the clients that it can have closes our connection at
 * once.  So one that breaks tells nothing: the record does.  If the VM lives we
 * ask again when a timer wakes us, and until then its end wakes nobody.
 */
#ifndef HUTCH_HOST_LIB_VMWATCH_H
#define HUTCH_HOST_LIB_VMWATCH_H

#include <stdbool.h>

#include "common/err.h"

struct hutch;

#define VMWATCH_AGAIN_MS 200 /* before a keeper without room is asked again */

/**
 * struct vmwatch - What is waited for; -1 for what is not open
 * @later:	@timer is set: no keeper is asked before it has expired
 */
struct vmwatch {
	int epfd;
	int inotify;
	int timer;
	bool later;
};

#define VMWATCH_INIT                                    \
	{                                               \
		.epfd = -1, .inotify = -1, .timer = -1, \
	}

/** vmwatch_open() - Nothing watched yet. Return: 0 or -errno */
MUST_CHECK int vmwatch_open(struct vmwatch *f);

void vmwatch_close(struct vmwatch *f);

/**
 * vmwatch_dir() - Watch a folder's files
 *
 * Return: the watch's number; -errno
 */
MUST_CHECK int vmwatch_dir(const struct vmwatch *f, int dirfd);

/** vmwatch_undir() - Let go of that watch */
void vmwatch_undir(const struct vmwatch *f, int wd);

/**
 * vmwatch_keeper() - Watch the end of a VM that lives
 * @run_fd:	Folder RUN/NAME
 * @keeper_fd:	-1, or as vmwatch_quiet() has left it.  Becomes the connection,
 *		which the caller closes, or -1 if there is none now: then the
 *		timer will wake us to ask again
 */
void vmwatch_keeper(struct vmwatch *f, int run_fd, int *keeper_fd);

/**
 * vmwatch_quiet() - Whether the VM lives as far as we can know
 * @keeper_fd:	Of vmwatch_keeper(); becomes negative if it has broken
 *
 * Does not block.
 *
 * Return: false: look at the record, and if it lives call vmwatch_keeper()
 */
bool vmwatch_quiet(struct vmwatch *f, int *keeper_fd);

/**
 * vmwatch_clear() - Take in what woke us: whatever it was, look
 *
 * Return: whether the folder of the watch @wd was part of it
 */
bool vmwatch_clear(struct vmwatch *f, int wd);

/**
 * vmwatch_wait() - Wait for any of it
 * @end_ns:	See deadline_in()
 *
 * Return: 1; 0: time is over, whatever has happened; -errno with a sentence
 */
MUST_CHECK int vmwatch_wait(const struct vmwatch *f, uint64_t end_ns,
			    struct err *e);

#endif
