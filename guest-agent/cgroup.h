/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/cgroup.h - a cgroup (v2) a process, to know and end all of it
 *
 * Folders are given by descriptor; -1 stands for a machine without cgroups,
 * as in unit tests, where each call does nothing and says so.
 */
#ifndef HUTCH_GUEST_AGENT_CGROUP_H
#define HUTCH_GUEST_AGENT_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base.h"

/* Cgroups that a process made below its own are looked at so far down... */
#define CGROUP_DEPTH_MAX 8u

/* ...and so many of them, each time. */
#define CGROUP_WALK_MAX 4096u

/**
 * struct cgroups - Folders that processes' cgroups are made in; -1: none
 * @work:	Above the other two
 * @plain:	For processes without a memory limit
 * @limited:	For those with one: below it the memory controller is on
 */
struct cgroups {
	int work;
	int plain;
	int limited;
};

#define CGROUPS_NONE                                   \
	{                                              \
		.work = -1, .plain = -1, .limited = -1 \
	}

/** struct cgroup_limits - Of one process; 0: none, as EXEC has them */
struct cgroup_limits {
	uint64_t memory;
	uint32_t pids;
	uint32_t cpu_weight;
};

/**
 * cgroup_make() - A new one; an empty one of that name is replaced
 *
 * Return: the folder's descriptor; -EEXIST if somebody uses that name
 */
MUST_CHECK int cgroup_make(int parent, const char *name);

/** cgroup_write() - Text into a file of it. Return: 0 or -errno */
MUST_CHECK int cgroup_write(int dir, const char *file, const char *text);

/** cgroup_limit() - Set those that are not 0. Return: 0 or -errno */
MUST_CHECK int cgroup_limit(int dir, const struct cgroup_limits *limits);

/** cgroup_oom_kills() - Processes in it that the oom-killer took */
uint64_t cgroup_oom_kills(int dir);

/** cgroup_remove() - Remove an empty one, with empty ones below it */
void cgroup_remove(int parent, const char *name);

/** cgroup_kill() - SIGKILL for all in and below it. Return: 0 or -errno */
MUST_CHECK int cgroup_kill(int dir);

/** cgroup_signal() - @sig for each process in and below it, as found */
void cgroup_signal(int dir, int sig);

/**
 * cgroup_tasks() - Threads in and below it, as found
 * @max:	Room in @ret
 *
 * Return: how many are in @ret
 */
unsigned int cgroup_tasks(int dir, pid_t *ret, unsigned int max);

/**
 * cgroup_watch() - Open what tells when it becomes empty
 *
 * Return: descriptor, which has EPOLLPRI after each change; -errno
 */
MUST_CHECK int cgroup_watch(int dir);

/** cgroup_populated() - Whether a process is in or below it, by its watch */
bool cgroup_populated(int watch);

#endif
