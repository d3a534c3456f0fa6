/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/follow.h - be woken when a VM's folder changes, or its keeper goes
 *
 * One descriptor to poll for all: an epoll instance of an inotify instance and
 * a connection to each keeper, with "wait for=exit" under way.  So a log that
 * grows wakes us, and the end of a keeper that could not write it any more.
 */
#ifndef HUTCH_HOST_LIB_FOLLOW_H
#define HUTCH_HOST_LIB_FOLLOW_H

#include <stdbool.h>

#include "common/err.h"

struct hutch;

/** struct follow - What is waited for; -1 for what is not open */
struct follow {
	int epfd;
	int inotify;
};

#define FOLLOW_INIT                       \
	{                                 \
		.epfd = -1, .inotify = -1 \
	}

/** follow_open() - Nothing watched yet. Return: 0 or -errno */
MUST_CHECK int follow_open(struct follow *f);

void follow_close(struct follow *f);

/**
 * follow_dir() - Watch a folder's files
 *
 * Return: the watch's number; -errno
 */
MUST_CHECK int follow_dir(const struct follow *f, int dirfd);

/** follow_undir() - Let go of that watch */
void follow_undir(const struct follow *f, int wd);

/**
 * follow_keeper() - Watch the end of a VM
 * @run_fd:	Folder RUN/NAME
 *
 * Return: the connection, which the caller closes; -errno: no keeper is there
 */
MUST_CHECK int follow_keeper(const struct follow *f, int run_fd);

/**
 * follow_ended() - Whether the keeper behind a connection has said so, or died
 *
 * Does not block.
 */
bool follow_ended(int keeper_fd);

/**
 * follow_clear() - Take in what inotify has to say: whatever it was, look
 *
 * Return: whether the folder of the watch @wd was part of it
 */
bool follow_clear(const struct follow *f, int wd);

/**
 * follow_wait() - Wait for any of it
 * @end_ns:	See deadline_in()
 *
 * Return: 1; 0: time is over; -errno
 */
MUST_CHECK int follow_wait(const struct follow *f, uint64_t end_ns);

#endif
