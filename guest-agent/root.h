/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/root.h - the file systems that make a guest's root */
#ifndef HUTCH_GUEST_AGENT_ROOT_H
#define HUTCH_GUEST_AGENT_ROOT_H

#include "common/err.h"

struct boot;

#define ROOT_BUILTIN "/.hutch/root"
#define ROOT_LINKS   "/.hutch/links"
#define ROOT_LOWER   "/.hutch/lower" /* what is read of an overlay */
#define ROOT_UPPER   "/.hutch/disk"  /* what is written, and more: */
#define ROOT_DATA    "/var/lib/hutch/data"

/* Of ROOT_LINKS; a busybox has about 300 links in 8 KiB. */
#define ROOT_LINKS_MAX 65536u

/**
 * root_make() - Make the root that the boot message asks for, and go there
 *
 * With what every guest has in it: /dev, /proc, /sys, ROOT_DATA and so on.  A
 * layer that cannot be mounted is kept as b->failed, the rest as b->problem.
 */
void root_make(struct boot *b);

/**
 * root_mount_message() - Make the mounts of the boot message, in their order
 *
 * One that fails is kept as b->failed, and the others are made all the same.
 */
void root_mount_message(struct boot *b);

/** root_unmount_message() - Undo that, as far as it goes */
void root_unmount_message(const struct boot *b);

/** root_make_folders() - A path and all in front of it; errors are left to
 *  whoever uses it
 */
void root_make_folders(const char *path);

/**
 * root_links() - Make hard links, in the current folder
 * @text:	Lines "OLD NEW", taken apart in place
 *
 * One system call a link here; the kernel, unpacking an archive, would look
 * up each name three times.
 *
 * Return: how many were made; -EBADMSG at a line that is not one
 */
MUST_CHECK int root_links(char *text);

#endif
