/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/jail.h - hutch-net gives up all but sockets */
#ifndef HUTCH_HOST_NET_JAIL_H
#define HUTCH_HOST_NET_JAIL_H

#include "common/err.h"

/**
 * jail_fds() - Raise the limit of descriptors to what is needed
 *
 * Return: how many there can be, NET_FDS_MAX at most
 */
unsigned int jail_fds(void);

/**
 * jail_enter() - Give up everything else, for good
 *
 * No new privileges, no capabilities, no core file; namespaces of its own but
 * for the network, and an empty root, where the host allows it to an ordinary
 * user; Landlock that allows nothing, where the kernel has it; and the system
 * calls of filters.def.
 *
 * Context: the process's only thread, when all that has a path is open.
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int jail_enter(struct err *e);

#endif
