/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/fake_hutch.h - a command that runs here in place of one in a VM
 *
 * Offers the hutch_exec_* half of libhutch over pipes to a local process, so
 * that what joins a command to a terminal or pipe is tested without a VM.
 */
#ifndef HUTCH_TESTS_FAKE_HUTCH_H
#define HUTCH_TESTS_FAKE_HUTCH_H

#include "host/lib/hutch.h"

#define FAKE_HUTCH_ID "p1" /* of each process */

/** fake_hutch_sh() - Run "sh -c script". Aborts the test if it cannot */
struct hutch_exec *fake_hutch_sh(const char *script);

/**
 * fake_hutch_events() - A process of which these events are all that is seen
 * @ev:		Borrowed
 * @left:	Fail with -ESRCH after this many, -1: never
 */
struct hutch_exec *fake_hutch_events(const struct hutch_exec_event *ev, int n,
				     int left);

/** fake_hutch_deaf() - Once started its time-out passes, and it is silent */
void fake_hutch_deaf(struct hutch_exec *x);

/** fake_hutch_tell_size() - The command reads "COLSxROWS" on each resize */
void fake_hutch_tell_size(struct hutch_exec *x);

/** fake_hutch_break_after() - Fail with -ESRCH after this many events */
void fake_hutch_break_after(struct hutch_exec *x, int n_events);

#endif
