/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/child.h - from fork to execve: what a child does to itself */
#ifndef HUTCH_GUEST_AGENT_CHILD_H
#define HUTCH_GUEST_AGENT_CHILD_H

#include <sys/types.h>

#include "common/wire.h"

/* A child's limit on descriptors, soft and hard, as systemd has it. */
#define CHILD_NOFILE_SOFT 1024u
#define CHILD_NOFILE_HARD 524288u

/**
 * struct spawn - What a child needs; all descriptors are the parent's to close
 * @cgroup_fd:	It is born there; -1 for its parent's cgroup
 * @stdio:	Become 0, 1, 2; may be equal to each other
 * @tty:	@stdio are a terminal, which is to be the controlling one
 * @report_fd:	One ERROR frame goes here if the program cannot be executed;
 *		closed by execve otherwise
 */
struct spawn {
	const struct msg_exec *req;
	const struct msg_boot *boot;
	int cgroup_fd;
	int stdio[3];
	bool tty;
	int report_fd;
};

/**
 * child_spawn() - Start a child that executes the program
 *
 * Return: its pid, or -errno if there is no child
 */
MUST_CHECK pid_t child_spawn(const struct spawn *s);

/**
 * child_fork() - A copy of us, born in a cgroup; as fork()
 * @cgroup_fd:	-1 for ours
 */
MUST_CHECK pid_t child_fork(int cgroup_fd);

/** child_keep_only() - Close all but 0, 1, 2 and @fd: none is to stay open */
void child_keep_only(int fd);

/** child_reset_signals() - Undo what the agent has set for itself... */
void child_reset_signals(void);

/** child_reset_limits() - ...with descriptors, oom-killer and umask too */
void child_reset_limits(void);

#endif
