/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/image/jail.h - a child that may write one folder and nothing else
 *
 * How it works.  What takes a stranger's archive apart runs in a process of its
 * own: no new privileges, no capabilities, no descriptors but those it needs,
 * bounded memory, Landlock on the folder where the kernel has it, and a seccomp
 * list without network, exec, or anything that names another process.  It tells
 * how it went in messages, which the parent reads as it reads any stranger's.
 */
#ifndef HUTCH_HOST_IMAGE_JAIL_H
#define HUTCH_HOST_IMAGE_JAIL_H

#include "common/err.h"
#include "host/image/unpack.h"

#define JAIL_MEMORY (1ull << 30) /* bytes of address space */
#define JAIL_FDS    640          /* a folder removed takes one a level */

/** jail_landlock() - Whether this kernel has a Landlock that is good for it */
bool jail_landlock(void);

/**
 * jail_narrow() - From now on this process writes beneath @store_fd, runs no
 *		   other program and gains no privilege; it may still read
 * @caps:	Keep those it has, to read what root may
 *
 * Without Landlock only the last of these.
 */
MUST_CHECK int jail_narrow(int store_fd, bool caps, struct err *e);

/** What runs in the jail; @report takes bytes done now and then. */
typedef int jail_fn(const struct unpack_job *job, stream_fn *report, void *arg,
		    struct unpack_result *ret, struct err *e);

/**
 * jail_run() - Run @fn in such a child, and wait for it
 * @fn:		unpack_run(), or what a test wants to try
 * @job:	Its descriptors are those that the child keeps
 * @report:	Called here with the bytes of the blob that were read; or NULL
 *
 * Context: a process with one thread.
 *
 * Return: what @fn returned, with its sentence; -EPROTO if the child died
 */
MUST_CHECK int jail_run(jail_fn *fn, const struct unpack_job *job,
			stream_fn *report, void *arg, struct unpack_result *ret,
			struct err *e);

#endif
