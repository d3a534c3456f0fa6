/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/process.h - processes as objects
 *
 * STARTING -> RUNNING -> LINGERING -> EXITED
 *      \________________________________^
 *
 * STARTING: forked, not yet known whether the program could be executed.
 * RUNNING: the process lives.  LINGERING: it has ended and its status is
 * known, but its cgroup is not empty.  EXITED: nothing is left of it; the
 * object stays in the table until a newer one needs the room.
 */
#ifndef HUTCH_GUEST_AGENT_PROCESS_H
#define HUTCH_GUEST_AGENT_PROCESS_H

#include <sys/types.h>

#include "common/list.h"
#include "common/loop.h"
#include "common/wire.h"
#include "guest-agent/stream.h"

struct agent;
struct conn;

enum proc_state {
	PROC_STARTING,
	PROC_RUNNING,
	PROC_LINGERING,
	PROC_EXITED
};

/**
 * struct proc - A process and what it started
 * @link:	In agent.live or agent.ended
 * @conn:	Foreground client, or NULL
 * @sent_kill:	We, not the kernel's oom-killer, sent SIGKILL
 * @timed_out:	Its time was over before it ended
 * @report:	Watches the pipe on which the child tells why it cannot start
 * @events:	Watches cgroup.events while LINGERING
 * @cgroup_fd:	Its cgroup's folder; -1 without cgroups or when removed
 * @master:	Terminal, for its size; -1 if there is none.  Borrowed from
 *		out[0]
 * @start_ns:	CLOCK_MONOTONIC
 * @started_ns:	The same by CLOCK_REALTIME; @ended_ns likewise
 * @status:	As waitpid() gave it, from LINGERING on
 */
struct proc {
	struct agent *a;
	struct list link;
	struct loop_defer bury;
	char id[WIRE_ID_MAX + 1];
	pid_t pid;
	enum proc_state state;
	uint32_t flags;
	struct conn *conn;
	bool sent_kill;
	bool timed_out;
	bool oom;
	struct loop_io report;
	struct loop_io events;
	int cgroup_fd;
	struct loop_timer timer;
	uint64_t grace_ns;
	uint64_t start_ns;
	uint64_t started_ns;
	uint64_t ended_ns;
	int status;
	struct out_stream out[2];
	struct in_stream in;
};

/**
 * proc_start() - Make a process as @m asks, with @c as its client
 * @kind:	Set on failure
 *
 * STARTED, or ERROR, follows when the child has executed the program.
 *
 * Return: 0; -errno with the sentence for the client
 */
MUST_CHECK int proc_start(struct conn *c, const struct msg_exec *m,
			  enum wire_error_kind *kind, struct err *e);

/** proc_detach() - Its client has gone: it goes on without */
void proc_detach(struct proc *p);

/** proc_resume() - Its client can take more */
void proc_resume(struct proc *p);

/** proc_progress() - Send EXIT if nothing has to come before it any more */
void proc_progress(struct proc *p);

/** proc_reaped() - A child of ours has ended; it need not be a process here */
void proc_reaped(struct agent *a, pid_t pid, int status);

/** proc_signal() - Send a signal; none if there is nobody to get it */
void proc_signal(struct proc *p, int sig, enum wire_scope scope);

/**
 * proc_terminate() - Ask all of it to end
 *
 * SIGTERM; SIGHUP for a terminal's session, since interactive shells ignore
 * SIGTERM; SIGCONT, since what is stopped can do neither.
 */
void proc_terminate(struct proc *p);

/* What frames of the same name ask. Return: 0; -errno if out of place */
MUST_CHECK int proc_resize(struct proc *p, uint16_t cols, uint16_t rows,
			   struct err *e);
MUST_CHECK int proc_stdin(struct proc *p, const uint8_t *data, size_t len,
			  struct err *e);
MUST_CHECK int proc_stdin_close(struct proc *p, struct err *e);

/** proc_close_output() - Close stdout (0) or stderr (1): SIGPIPE for it */
void proc_close_output(struct proc *p, int which);

/** proc_free() - Drop the object, in whatever state; the process goes on */
void proc_free(struct proc *p);

/** process_count() - How many are in which state; starting ones are running */
void process_count(const struct agent *a, uint32_t *ret_running,
		   uint32_t *ret_lingering);

#endif
