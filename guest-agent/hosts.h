/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/hosts.h - /etc/hosts: the guest's own names beside the others
 *
 * What the image has there, or the VM's user has written, stays.  Our lines end
 * in HOSTS_MARK, so that the next start knows them.
 */
#ifndef HUTCH_GUEST_AGENT_HOSTS_H
#define HUTCH_GUEST_AGENT_HOSTS_H

#include "common/base.h"

#define HOSTS_MARK "# hutch"

/* Of a larger one nothing is read, and nothing changed. */
#define HOSTS_MAX (256u << 10)

/**
 * hosts_text() - What is to be there
 * @old:	What is there; "" for nothing
 * @name:	Of the guest
 *
 * All of @old but our lines, then those of ours that it does not say itself.
 *
 * Return: to be free()d; NULL if there is no memory
 */
char *hosts_text(const char *old, const char *name);

/**
 * hosts_set() - Let the file @path say so
 *
 * A file that says it already is not touched, and one in which there is no room
 * loses no line of others.
 *
 * Return: 0; -EINVAL if it is no regular file, or no text; -EFBIG; -errno
 */
MUST_CHECK int hosts_set(const char *path, const char *name);

#endif
