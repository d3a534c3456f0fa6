/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/image/acl.h - POSIX ACLs of an archive, as the mapped layout keeps them
 *
 * In pax they are text (SCHILY.acl.access, SCHILY.acl.default), which libarchive
 * reads; in an image they are the attributes that Linux has for them.
 */
#ifndef HUTCH_HOST_IMAGE_ACL_H
#define HUTCH_HOST_IMAGE_ACL_H

#include <archive_entry.h>

#include "common/err.h"

/* As many entries as Linux takes from a file system in a guest: a page. */
#define ACL_MAX 511u

/**
 * acl_perm() - Permissions of @ae, 07777 at most
 *
 * Where an ACL says more than these, those of the group stand for the most that
 * it gives to all but owner and others.
 */
unsigned int acl_perm(struct archive_entry *ae);

/**
 * acl_put() - Keep the ACLs of @ae, if they say more than its permissions
 * @fd:		Of the new file or folder
 *
 * Who is named without a number, or with one beyond 2^31-2, is left out, and so
 * is a default of what is no folder or that Linux would not take.
 *
 * Return: 0; -E2BIG; -errno, with a sentence
 */
MUST_CHECK int acl_put(int fd, struct archive_entry *ae, const char *name,
		       struct err *e);

#endif
