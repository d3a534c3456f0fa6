/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/shutdown.h - SIGTERM, grace, SIGKILL, power off */
#ifndef HUTCH_GUEST_AGENT_SHUTDOWN_H
#define HUTCH_GUEST_AGENT_SHUTDOWN_H

#include <stdint.h>

struct agent;

/**
 * shutdown_begin() - End everything, then power off
 *
 * With nothing running the power goes at the end of this batch.  Asked a
 * second time, the grace of the later request holds.
 */
void shutdown_begin(struct agent *a, uint32_t grace_ms);

/** shutdown_progress() - Something has ended: was it the last? */
void shutdown_progress(struct agent *a);

#endif
