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
 * object stays in the table until its end has been fetched, it is dropped, or
 * a newer one needs the room.
 */
#ifndef HUTCH_GUEST_AGENT_PROCESS_H
#define HUTCH_GUEST_AGENT_PROCESS_H

#include <sys/types.h>

#include "common/list.h"
#include "common/loop.h"
#include "common/wire_proc.h"
#include "guest-agent/input.h"
#include "guest-agent/stream.h"

struct agent;
struct conn;
struct proc_info;

enum proc_state {
	PROC_STARTING,
	PROC_RUNNING,
	PROC_LINGERING,
	PROC_EXITED
};

/**
 * struct proc - A process and what it started
 * @link:	In agent.live or agent.ended
 * @nr:		Of two processes the older one has the lower number
 * @fg:		The client that started it, while it is there, or NULL
 * @clients:	struct conn, all that are attached, @fg too
 * @n_clients:	Of these, those that count
 * @sent_kill:	We, not the kernel's oom-killer, sent SIGKILL
 * @signalled:	We sent a signal, and look for who is killed by it; release.h
 * @timed_out:	Its time was over before it ended
 * @drained:	It has ended, and all that EXIT waits for has been read
 * @fetched:	Nobody will ask for it any more: forget it when it has exited
 * @report:	Watches the pipe on which the child tells why it cannot start
 * @events:	Watches cgroup.events while LINGERING
 * @cgroup_fd:	Its cgroup's folder; -1 without cgroups or when removed
 * @cgroup_in:	The folder that this is in; borrowed
 * @timer:	Time-out, then its grace
 * @kill_timer:	The grace of KILL
 * @start_ns:	CLOCK_MONOTONIC
 * @started_ns:	The same by CLOCK_REALTIME; @ended_ns likewise
 * @status:	As waitpid() gave it, from LINGERING on
 * @seq:	Number of the last chunk of output, which came at @seq_ns from
 *		@seq_out
 * @info:	What LIST tells of how it was started
 */
struct proc {
	struct agent *a;
	struct list link;
	struct loop_defer bury;
	char id[WIRE_ID_MAX + 1];
	uint64_t nr;
	pid_t pid;
	enum proc_state state;
	uint32_t flags;
	struct conn *fg;
	struct list clients;
	unsigned int n_clients;
	bool sent_kill;
	bool signalled;
	bool timed_out;
	bool oom;
	bool drained;
	bool fetched;
	struct loop_io report;
	struct loop_io events;
	int cgroup_fd;
	int cgroup_in;
	struct loop_timer timer;
	struct loop_timer kill_timer;
	uint64_t grace_ns;
	uint64_t start_ns;
	uint64_t started_ns;
	uint64_t ended_ns;
	int status;
	struct out_stream out[2];
	struct in_stream in;
	uint64_t seq;
	uint64_t seq_ns;
	const struct out_stream *seq_out;
	struct proc_info *info;
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

/** proc_foreground() - The client that must miss nothing; NULL if none */
struct conn *proc_foreground(const struct proc *p);

/** proc_detach() - A client has gone, if it was one: go on without */
void proc_detach(struct conn *c);

/** proc_resume() - The foreground client can take more */
void proc_resume(struct proc *p);

/** proc_feed() - There is more for those who are attached */
void proc_feed(struct proc *p);

/** proc_sequence() - Number for a chunk of @s that comes @now_ns */
uint64_t proc_sequence(struct proc *p, const struct out_stream *s,
		       uint64_t now_ns);

/** proc_progress() - Send EXIT if nothing has to come before it any more */
void proc_progress(struct proc *p);

/** proc_send_started() - STARTED to a client. Return: as conn_send() */
int proc_send_started(struct conn *c);

/** proc_send_exit() - EXIT to a client, as its last frame */
void proc_send_exit(struct conn *c);

/** proc_fill_exit() - How it ended, as EXIT and events tell it */
void proc_fill_exit(const struct proc *p, struct msg_exit *m);

/** proc_forget() - Drop it once it has exited and no client is there */
void proc_forget(struct proc *p);

/** proc_reaped() - A child of ours has ended; it need not be a process here */
void proc_reaped(struct agent *a, pid_t pid, int status);

/** proc_signal() - Send a signal; none if there is nobody to get it */
void proc_signal(struct proc *p, int sig, enum wire_scope scope);

/**
 * proc_terminate() - Ask all of it to end
 *
 * SIGTERM, or the boot message's signal for the main process alone; SIGHUP for a terminal's session, since interactive shells ignore
 * SIGTERM; SIGCONT, since what is stopped can do neither.
 */
void proc_terminate(struct proc *p);

/** proc_kill_after() - SIGKILL for all of it in so many nanoseconds */
void proc_kill_after(struct proc *p, uint64_t ns);

/* What frames of the same name ask. Return: 0; -errno if out of place */
MUST_CHECK int proc_resize(struct proc *p, uint16_t cols, uint16_t rows,
			   struct err *e);
MUST_CHECK int proc_stdin(struct conn *c, const uint8_t *data, size_t len,
			  struct err *e);
MUST_CHECK int proc_stdin_close(struct conn *c, struct err *e);

/** proc_close_output() - Stdout (0) or stderr (1) is not wanted by @c */
void proc_close_output(struct conn *c, int which);

/** proc_free() - Drop the object, in whatever state; the process goes on */
void proc_free(struct proc *p);

#endif
