/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/oom.h - whether it was the kernel's oom-killer */
#ifndef HUTCH_GUEST_AGENT_OOM_H
#define HUTCH_GUEST_AGENT_OOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Records of the kernel's log that are looked through. */
#define OOM_RECORDS_MAX 65536u

/**
 * oom_record_names() - Whether a record of /dev/kmsg reports that kill
 * @rec:	One record, "PRIO,SEQ,USEC,FLAGS;TEXT", NUL-terminated
 * @since_us:	Older ones are about an earlier process with that pid
 *
 * Only what the kernel itself says counts (facility 0): a process can write
 * to the log too.
 */
bool oom_record_names(const char *rec, pid_t pid, uint64_t since_us);

/**
 * oom_killed() - Whether the log has such a record
 * @since_ns:	CLOCK_MONOTONIC when the process was started
 *
 * By the log, since counters (vmstat, memory.events) do not say who it was.
 */
bool oom_killed(pid_t pid, uint64_t since_ns);

#endif
