/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/vmwatch.h - be woken when a VM's folder changes, or its keeper goes
 *
 * One descriptor to poll for all: an epoll instance of an inotify instance and
 * a connection to each keeper, with "wait for=exit" under way.  So a log that
 * grows wakes us, and the end of a keeper that could not write it any more.
 */
#ifndef HUTCH_HOST_LIB_VMWATCH_H
#define HUTCH_HOST_LIB_VMWATCH_H

#include <stdbool.h>

#include "common/err.h"

struct hutch;

/** struct vmwatch - What is waited for; -1 for what is not open */
struct vmwatch {
	int epfd;
	int inotify;
};

#define VMWATCH_INIT                      \
	{                                 \
		.epfd = -1, .inotify = -1 \
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
 * vmwatch_keeper() - Watch the end of a VM
 * @run_fd:	Folder RUN/NAME
 *
 * Return: the connection, which the caller closes; -errno: no keeper is there
 */
MUST_CHECK int vmwatch_keeper(const struct vmwatch *f, int run_fd);

/**
 * vmwatch_ended() - Whether the keeper behind a connection has said so, or died
 *
 * Does not block.
 */
bool vmwatch_ended(int keeper_fd);

/**
 * vmwatch_clear() - Take in what inotify has to say: whatever it was, look
 *
 * Return: whether the folder of the watch @wd was part of it
 */
bool vmwatch_clear(const struct vmwatch *f, int wd);

/**
 * vmwatch_wait() - Wait for any of it
 * @end_ns:	See deadline_in()
 *
 * Return: 1; 0: time is over; -errno
 */
MUST_CHECK int vmwatch_wait(const struct vmwatch *f, uint64_t end_ns);

#endif
