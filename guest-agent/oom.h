/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/oom.h - whether it was the kernel's oom-killer */
#ifndef HUTCH_GUEST_AGENT_OOM_H
#define HUTCH_GUEST_AGENT_OOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/loop.h"
#include "common/wire.h"

/* Records of the kernel's log that are looked through. */
#define OOM_RECORDS_MAX 65536u

struct agent;

/**
 * struct oom - Watches for the oom-killer
 * @io:		memory.events of the cgroup that all processes are in
 * @kmsg_fd:	The kernel's log, behind what has been looked at
 */
struct oom {
	struct loop_io io;
	int kmsg_fd;
};

/** oom_watch() - Tell of each kill from now on; nothing without cgroups */
void oom_watch(struct agent *a);

/** oom_done() - Watch no more; may be called twice */
void oom_done(struct agent *a);

/**
 * oom_record_pid() - Whom a record of /dev/kmsg reports as killed
 * @since_us:	Older records do not count
 *
 * Return: pid; 0 if the record is about something else
 */
pid_t oom_record_pid(const char *rec, uint64_t since_us);

/**
 * oom_cgroup_id() - The process whose cgroup this is
 * @line:	Of /proc/PID/cgroup: "0::/work/plain/ID", or below that
 * @id:		Set to ID
 */
bool oom_cgroup_id(const char *line, char id[WIRE_ID_MAX + 1]);

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
