/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/procs.h - answers about processes, taken apart */
#ifndef HUTCH_HOST_LIB_PROCS_H
#define HUTCH_HOST_LIB_PROCS_H

#include "common/err.h"
#include "common/wire.h"
#include "host/lib/hutch.h"

/** procs_error() - What an ERROR frame says. Return: its -errno, or -EBADMSG */
MUST_CHECK int procs_error(const struct wire_frame *f, struct err *e);

/**
 * procs_find() - hutch_processes() of one, with a deadline
 * @end_ns:	See deadline_in()
 * @ret:	With one process and a NULL, for hutch_processes_free()
 *
 * Return: 0; as hutch_processes()
 */
MUST_CHECK int procs_find(struct hutch *h, const char *name, const char *proc,
			  uint64_t end_ns, struct hutch_process ***ret,
			  struct err *e);

/**
 * procs_parse() - A PROCESS frame as what hutch_processes() hands out
 * @ret:	For hutch_processes_free(), in a list
 *
 * Return: 0; -EBADMSG with a sentence; -ENOMEM
 */
MUST_CHECK int procs_parse(const struct wire_frame *f, unsigned int flags,
			   struct hutch_process **ret, struct err *e);

#endif
