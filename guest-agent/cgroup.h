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

#include "common/base.h"

/* Cgroups that a process made below its own are looked at so far down... */
#define CGROUP_DEPTH_MAX 8u

/* ...and so many of them, each time. */
#define CGROUP_WALK_MAX 4096u

/** cgroup_make() - Return: the new folder's descriptor, or -errno */
MUST_CHECK int cgroup_make(int parent, const char *name);

/** cgroup_remove() - Remove an empty one, with empty ones below it */
void cgroup_remove(int parent, const char *name);

/** cgroup_kill() - SIGKILL for all in and below it. Return: 0 or -errno */
MUST_CHECK int cgroup_kill(int dir);

/** cgroup_signal() - @sig for each process in and below it, as found */
void cgroup_signal(int dir, int sig);

/**
 * cgroup_watch() - Open what tells when it becomes empty
 *
 * Return: descriptor, which has EPOLLPRI after each change; -errno
 */
MUST_CHECK int cgroup_watch(int dir);

/** cgroup_populated() - Whether a process is in or below it, by its watch */
bool cgroup_populated(int watch);

#endif
