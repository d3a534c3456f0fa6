/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/start.h - from an EXEC request to a running process */
#ifndef HUTCH_GUEST_AGENT_START_H
#define HUTCH_GUEST_AGENT_START_H

#include <stdbool.h>

struct proc;

/* proc_start() of process.h is here too. */

/**
 * start_finish() - The child has said, or shown by execve, how it went
 *
 * Sends STARTED; or ERROR, and then the object is gone.
 *
 * Return: whether it runs, or ran
 */
bool start_finish(struct proc *p);

#endif
