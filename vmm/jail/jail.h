/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/jail/jail.h - giving up what the monitor does not need once it is set up */
#ifndef HUTCH_VMM_JAIL_JAIL_H
#define HUTCH_VMM_JAIL_JAIL_H

#include "common/err.h"

/** enum jail_kind - Kinds of thread; each has its own list of system calls */
enum jail_kind {
	JAIL_LOOP,
	JAIL_VCPU,
	JAIL_FS,
	JAIL_NET,
	JAIL_KINDS
};

/**
 * jail_close_others() - Close every descriptor from @first on but @keep
 * @keep:	@n of them, in any order; negative ones are ignored
 */
void jail_close_others(int first, const int *keep, unsigned int n);

/**
 * jail_drop() - No new privileges, no capabilities, no core file with secrets
 *
 * Context: the process's only thread, before others are made.
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int jail_drop(struct err *e);

/**
 * jail_enter() - Allow the calling thread the calls of its kind, no others
 *
 * What is not in filters.def kills the process.  Context: each thread for
 * itself, after jail_drop(), when all that it needs is open.
 *
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int jail_enter(enum jail_kind kind, struct err *e);

#endif
