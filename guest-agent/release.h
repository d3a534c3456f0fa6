/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/release.h - let go of who is killed while waiting for the host
 *
 * Whoever waits for a lock of a share with locks=host cannot be killed: Linux
 * does not call back what virtio-fs has sent, so that a signal which is his end
 * has to wait as he does.  So after each signal that the agent sends it looks
 * whether such a one is left, and tells the server of each of these shares
 * (common/killed.h), which answers in place of the lock.
 *
 * Looking and telling is done by children, one a share, since a server, or what
 * the guest has put over /proc, may never answer; a share whose child is still
 * there waits for it.  What is killed may be on the way to the host yet, so this
 * is done again, after RELEASE_MIN_MS and twice that each time, until there is
 * nothing left.
 */
#ifndef HUTCH_GUEST_AGENT_RELEASE_H
#define HUTCH_GUEST_AGENT_RELEASE_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/loop.h"
#include "common/wire.h"

#define RELEASE_MIN_MS 20u
#define RELEASE_MAX_MS 1280u

/* Threads that a child looks at, at most. */
#define RELEASE_TASKS_MAX 8192u

/* Exit code of a child that has seen one that is killed and still there. */
#define RELEASE_LEFT 1

struct agent;
struct proc;

/**
 * struct release_spawn - What a child is to do
 * @mount:	Root of a share, or of what is mounted there alone
 * @groups:	@n of them, cgroups of what was sent a signal
 */
struct release_spawn {
	int mount;
	const int *groups;
	unsigned int n;
};

/**
 * struct release - In the agent
 * @mounts:	@n of them, for @mount; borrowed
 * @pid:	Of the child for each; 0: none
 * @wait_ms:	Until they look again; 0: they need not
 * @left:	Something that is killed was seen, since they last began
 */
struct release {
	const int *mounts;
	unsigned int n;
	pid_t pid[WIRE_MOUNTS_MAX];
	struct loop_timer timer;
	unsigned int wait_ms;
	bool left;
};

/** release_soon() - @p was sent a signal, which may be its end */
void release_soon(struct proc *p);

/** release_reaped() - A child has ended. Return: whether it was one of these */
bool release_reaped(struct agent *a, pid_t pid, int status);

/** release_done() - Look no more */
void release_done(struct agent *a);

/** release_spawn() - Start a child. Return: its pid, or -errno */
MUST_CHECK pid_t release_spawn(const struct release_spawn *s);

/** release_is_killed() - Whether SIGKILL is pending by @stat, of /proc/TID/stat */
bool release_is_killed(const char *stat);

#endif
