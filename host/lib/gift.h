/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/gift.h - all that hutch-keeper is given when a VM starts */
#ifndef HUTCH_HOST_LIB_GIFT_H
#define HUTCH_HOST_LIB_GIFT_H

#include <stdbool.h>

#include "common/err.h"
#include "host/lib/hutch.h"
#include "host/lib/launch.h"
#include "host/lib/mounts.h"
#include "host/lib/vmdir.h"

/**
 * struct gift - Everything for the keeper, and what stays ours
 * @fd:		By enum launch_fd; -1: not given
 * @start_fd:	Our end: the keeper says here whether it has started the VM
 * @lifeline:	Our end: closing it ends the VM
 * @mounts:	Opened; their descriptors move to @fd
 * @id:		Of the VM
 * @old:	Record of the VM of that name, of which the disk stays; or NULL
 */
struct gift {
	int fd[LAUNCH_N_FDS];
	int start_fd;
	int lifeline;
	struct mounts mounts;
	char *path[LAUNCH_N_PATHS];
	char id[HUTCH_ID_LEN + 1];
	bool keep;
	struct hutch_record *old;
};

/** gift_init() - Nothing yet */
void gift_init(struct gift *g);

/** gift_done() - Close and free what is left in it */
void gift_done(struct gift *g);

/**
 * gift_find() - What the user may have got wrong, before anything is made
 *
 * Programs, the kernel, the network's policy; and what is to be mounted, opened.
 *
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int gift_find(struct hutch *h, const struct hutch_start_opts *o,
			 struct gift *g, struct err *e);

/**
 * gift_fill() - Image and disk, messages, sockets and pipes
 * @d:		Its folders are there
 *
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int gift_fill(const struct hutch_start_opts *o,
			 const struct vmdir *d, const char *hostname,
			 struct gift *g, struct err *e);

/**
 * gift_dirs() - Folders, lock and mounts: their descriptors move to @g
 *
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int gift_dirs(struct hutch *h, struct vmdir *d, struct gift *g,
			 struct err *e);

#endif
