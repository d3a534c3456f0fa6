/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/agent.h - the agent's one context and its limits
 *
 * How it works.  One thread, one loop.  A connection (conn.c) carries one
 * request.  An EXEC makes a process object (process.c), whose output streams
 * (stream.c) feed the connection as long as there is one, and a store
 * (store.c) in any case, from which others who attach (attach.c) are fed.
 * The child side (child.c) does whatever touches
 * files of the guest, so that a file system that hangs holds up that child
 * and not the agent.  So a request about files is handed to a child (job.c)
 * with the connection and all (files/).  A connection to a port of the guest
 * (tunnel.c) is one no more: its bytes go on as they come.
 *
 * Nothing here may exit or block: this is PID 1 of the guest.
 */
#ifndef HUTCH_GUEST_AGENT_AGENT_H
#define HUTCH_GUEST_AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/list.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/wire.h"
#include "guest-agent/cgroup.h"
#include "guest-agent/events.h"
#include "guest-agent/oom.h"
#include "guest-agent/release.h"
#include "guest-agent/store.h"

/* Connections at a time; one more is told so and closed. */
#define AGENT_CONNS_MAX 1024u

/* Requests about files under way, a child each. */
#define AGENT_JOBS_MAX 64u

/* Connections to TCP ports that are open or opening. */
#define AGENT_TUNNELS_MAX 1024u

/* For a server of the guest to accept one; its backlog may be full. */
#define AGENT_TUNNEL_WAIT_MS 10000u

/* Such a child goes when its client has; if it cannot, it is killed. */
#define AGENT_JOB_GRACE_MS 30000u

/* Processes in the table; the oldest ended one makes room. */
#define AGENT_PROCS_MAX 1024u

/* Output kept of all streams: a part of the memory, but at least so much. */
#define AGENT_POOL_PART 8u
#define AGENT_POOL_MIN  (4u << 20)

/* Small frames that may wait for a slow client besides one of data. */
#define AGENT_CONTROL_MAX 8192u

/* Children reaped before the loop looks at anything else. */
#define AGENT_REAP_BATCH 256u

/* From SIGTERM to SIGKILL when a process of the guest asks to power off. */
#define AGENT_POWEROFF_GRACE_MS 10000u

/* After SIGKILL, and for clients to take their last frames, at shutdown. */
#define AGENT_LAST_WAIT_MS 2000u

struct agent;
struct files_spawn;
struct listeners_spawn;
struct release_spawn;
struct spawn;

/**
 * struct agent_ops - What the agent does to the world outside of its sockets
 *
 * Tests and fuzzers put their own in place of power-off and clock.
 *
 * @spawn:	Start a child, see child.h. Return: pid or -errno
 * @serve_files: Start one that serves a request about files, see
 *		files/serve.h. Return: pid or -errno
 * @serve_ports: Start one that tells what listens, see listeners.h. Return:
 *		pid or -errno
 * @release:	Start one that tells the host who is killed, see release.h. Return:
 *		pid or -errno
 * @dial:	tunnel_dial()
 * @kill:	kill(2)
 * @set_clock:	Return: 0 or -errno
 * @power_off:	Sync, unmount, power off; returns in tests only
 */
struct agent_ops {
	pid_t (*spawn)(const struct spawn *s);
	pid_t (*serve_files)(const struct files_spawn *s);
	pid_t (*serve_ports)(const struct listeners_spawn *s);
	pid_t (*release)(const struct release_spawn *s);
	int (*dial)(uint16_t port, unsigned int nr);
	int (*kill)(pid_t pid, int sig);
	int (*set_clock)(uint64_t ns);
	void (*power_off)(struct agent *a);
};

/**
 * struct main_proc - The process that the sandbox is about, if there is one
 * @started:	One was asked for and did start
 * @ended:	@event is filled in and has been told to subscribers
 */
struct main_proc {
	bool started;
	bool ended;
	struct msg_event event;
	char id[WIRE_ID_MAX + 1];
};

/**
 * struct agent - All state
 * @ops:	See above
 * @boot:	Defaults for processes; outlives the agent
 * @boot_problem:	First boot step that failed, or ""
 * @boot_failed:	Why nothing may run here, or ""
 * @cgroups:	Folders that process cgroups are made in
 * @listen:	Watches the listening socket, which is the agent's
 * @in_guest:	Serve only peers with CID 2, and take SIGTERM for reboot
 * @signals:	Watches the signalfd, which is the agent's
 * @jobs:	struct job, requests that a child serves
 * @tunnels:	struct tunnel, connections to TCP ports
 * @waiting:	struct conn, for a port; looked for every @port_look_ns
 * @live:	struct proc, running or lingering
 * @ended:	struct proc, oldest first
 * @n_made:	Process objects ever made
 * @n_clients:	Connections that are attached to a process and count
 * @pool:	What the stores of all streams take their memory from
 * @scratch:	For frames on their way to a socket
 */
struct agent {
	struct loop loop;
	struct log log;
	const struct agent_ops *ops;
	const struct msg_boot *boot;
	char boot_problem[ERR_MSG_MAX];
	char boot_failed[ERR_MSG_MAX];
	struct cgroups cgroups;
	bool in_guest;

	struct loop_io listen;
	struct list conns;
	unsigned int n_conns;
	struct list jobs;
	unsigned int n_jobs;
	struct list tunnels;
	unsigned int n_tunnels;
	struct list waiting;
	struct loop_timer port_timer;
	uint64_t port_look_ns;

	struct loop_io signals;
	struct loop_timer reap_more;

	struct list live;
	struct list ended;
	unsigned int n_live;
	unsigned int n_ended;
	uint64_t n_started;
	uint64_t n_made;
	unsigned int n_clients;
	struct main_proc main;
	struct store_pool pool;
	struct events events;
	struct oom oom;
	struct release release;

	bool stopping;
	bool killed;
	struct loop_timer stop_timer;

	uint8_t scratch[WIRE_OUTPUT_HEAD + WIRE_DATA_MAX];
};

/**
 * struct agent_config - What agent_init() needs
 * @lock_mounts: @n_lock_mounts shares whose locks are the host's; see release.h.
 *		They outlive the agent
 * @in_guest:	As PID 1 of one; see struct agent
 * @listen_fd:	Non-blocking listening socket, or -1; taken over on success
 */
struct agent_config {
	struct log log;
	const struct agent_ops *ops;
	const struct msg_boot *boot;
	struct cgroups cgroups;
	int listen_fd;
	const int *lock_mounts;
	unsigned int n_lock_mounts;
	bool in_guest;
};

/**
 * agent_init() - Make ready to serve; then run a->loop
 *
 * Blocks SIGCHLD, SIGUSR1 and SIGUSR2 and ignores SIGPIPE in the calling
 * process.
 *
 * Return: 0 or -errno with the sentence in @e
 */
MUST_CHECK int agent_init(struct agent *a, const struct agent_config *cfg,
			  struct err *e);

/** agent_done() - Kill and forget all, close all; PID 1 never calls it */
void agent_done(struct agent *a);

#endif
