/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/keeper/resolv.h - see when the host's resolv.conf changes
 *
 * How it works.  The file is written in place, replaced by rename, or a link that
 * leads to another place than before, whose file is replaced in turn
 * (systemd-resolved, NetworkManager, resolvconf).  So each name on the way is
 * watched in its folder, and the file itself, which may be mounted over its name.
 * After each change the way is walked anew.  A name whose folder is not there is
 * waited for in the folder above.
 */
#ifndef HUTCH_HOST_KEEPER_RESOLV_H
#define HUTCH_HOST_KEEPER_RESOLV_H

#include <limits.h>

#include "common/err.h"
#include "common/loop.h"

#define RESOLV_HOPS_MAX  8          /* links on the way */
#define RESOLV_SETTLE_NS 100000000u /* after a change, for what belongs to it */

/** struct resolv_name - A name in a watched folder */
struct resolv_name {
	int wd;
	char name[NAME_MAX + 1];
};

/**
 * struct resolv - The watch
 * @path:	Borrowed
 * @changed:	It is, or may be, another one now
 * @fd:		Of inotify; -1: nothing is watched
 * @file_wd:	Of the file itself; -1: it is not there
 * @settle:	Set while a change is under way
 */
struct resolv {
	struct loop *loop;
	const char *path;
	void (*changed)(struct resolv *r);
	int fd;
	struct loop_io io;
	struct loop_timer settle;
	int file_wd;
	unsigned int n;
	struct resolv_name name[RESOLV_HOPS_MAX];
};

#define RESOLV_INIT       \
	{                 \
		.fd = -1, \
	}

/**
 * resolv_watch() - Begin
 *
 * Of inotify a user has 128 (fs.inotify.max_user_instances), of which this is one.
 *
 * Return: 0; -EMFILE: there is none left; or -errno
 */
MUST_CHECK int resolv_watch(struct resolv *r, struct loop *l, const char *path,
			    void (*changed)(struct resolv *r));

/** resolv_close() - Takes one that never began, and one that is closed */
void resolv_close(struct resolv *r);

#endif
