/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/keeper/keeper.h - one VM's keeper: its state, and what its files offer
 *
 * How it works.  The keeper is the parent of the monitor and holds the VM's
 * lock for as long as it lives.  What ends a VM goes through keeper_end(),
 * whose first cause is the one on record; what the monitor's death adds to it
 * is decided in one place, monitor_verdict().  When the monitor is gone the
 * record is made final, the sockets go, the lock is let go of, and only then
 * those who wait are told: whoever has been told can use the name again.
 */
#ifndef HUTCH_HOST_KEEPER_KEEPER_H
#define HUTCH_HOST_KEEPER_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/ctl.h"
#include "common/loop.h"
#include "host/lib/conn.h"
#include "host/lib/hutch.h"
#include "host/lib/mainlog.h"
#include "host/lib/launch.h"

#define KEEPER_CLIENTS_MAX 512  /* connections to keeper.sock */
#define KEEPER_LINE_MAX    256  /* bytes of a request */
#define KEEPER_STDERR_MAX  1024 /* bytes kept of what the monitor says last */
#define KEEPER_MARGIN_MS   5000 /* for a power-off, beyond the grace */

/**
 * struct cause - Why the VM ends
 * @reason:	HUTCH_REASON_NONE: no cause yet
 * @text:	A constant, or points to keeper.cause_buf
 */
struct cause {
	enum hutch_reason reason;
	int exit_code;
	int signal;
	const char *text;
};

/**
 * struct guest_conn - One of the keeper's own connections to the agent
 * @more:	Set while frames may be here that the socket does not tell of
 * @got:	Bytes of stdout and stderr that have come
 */
struct guest_conn {
	struct loop_io io;
	struct loop_timer more;
	struct conn conn;
	uint64_t got[2];
};

/**
 * struct keeper - All there is
 * @fd:		What the starter gave, by enum launch_fd; -1: not there
 * @path:	Likewise
 * @cause:	Why it ends; of the first keeper_end()
 * @ending:	A shutdown is under way
 * @killed:	We have sent SIGKILL
 * @gone:	The monitor has been reaped: @status
 * @pidfd:	Of the monitor
 * @vmm_lifeline: Write end; ours to hold
 * @connector:	Our end of the monitor's connector
 * @stderr_fd:	What the monitor says
 * @events:	EVENTS; its HELLO is what "ready" means
 * @main:	The main process, if we run it
 * @shutdown:	SHUTDOWN, once asked for
 */
struct keeper {
	struct loop loop;
	int fd[LAUNCH_N_FDS];
	const char *path[LAUNCH_N_PATHS];
	struct hutch_record *rec;
	struct cause cause;
	char cause_buf[256];
	bool ready;
	bool ending;
	bool killed;
	bool gone;
	int status;
	int pidfd;
	int vmm_lifeline;
	int connector;
	int stderr_fd;
	int signal_fd;
	struct loop_io vmm_io;
	struct loop_io lifeline_io;
	struct loop_io connector_io;
	struct loop_io stderr_io;
	struct loop_io signal_io;
	struct loop_io listen_io;
	struct loop_timer timeout;
	struct loop_timer deadline;
	size_t stderr_len;
	char stderr_buf[KEEPER_STDERR_MAX];
	struct guest_conn events;
	struct guest_conn main;
	struct guest_conn shutdown;
	struct mainlog log;
	struct list clients;
	unsigned int n_clients;
};

/* ---- keeper.c ---- */

/** keeper_init() - Nothing open yet; @fd and @path are borrowed from argv */
void keeper_init(struct keeper *k);

/**
 * keeper_start() - Start the monitor and put it on record
 *
 * Return: 0; or -errno with a sentence for the starter, and nothing runs
 */
MUST_CHECK int keeper_start(struct keeper *k, struct err *e);

/** keeper_run() - Until the VM has ended and its record is final */
MUST_CHECK int keeper_run(struct keeper *k);

/** keeper_done() - Close and free; takes a half-made one */
void keeper_done(struct keeper *k);

/**
 * keeper_end() - Begin to end the VM
 * @cause:	On record unless there is an earlier one
 * @grace_ms:	Between SIGTERM and SIGKILL in the guest; -1: no grace at all,
 *		the monitor is killed
 *
 * May be called again, with less grace.
 */
void keeper_end(struct keeper *k, const struct cause *cause, int grace_ms);

/** keeper_ready() - The agent has answered */
void keeper_ready(struct keeper *k);

/* ---- monitor.c ---- */

/** monitor_start() - Run hutch-vmm. Return: 0 or -errno with a sentence */
MUST_CHECK int monitor_start(struct keeper *k, struct err *e);

/** monitor_kill() - SIGKILL, once */
void monitor_kill(struct keeper *k);

/**
 * monitor_verdict() - Why the VM has ended, from our cause and the status
 *
 * The monitor's own failure is told even if we were ending the VM, but how
 * the main process has ended is never overruled.
 */
struct cause monitor_verdict(struct keeper *k);

/* ---- guest.c ---- */

/** guest_open() - Connect for EVENTS; the monitor holds it until the bell */
MUST_CHECK int guest_open(struct keeper *k, struct err *e);

/** guest_start_main() - Run the main process, if it is ours to run */
void guest_start_main(struct keeper *k);

/** guest_shutdown() - Ask for a power-off. Return: 0 or -errno: cannot */
MUST_CHECK int guest_shutdown(struct keeper *k, int grace_ms);

/** guest_drain() - Take in what came before the monitor died */
void guest_drain(struct keeper *k);

void guest_close(struct keeper *k);

/* ---- serve.c ---- */

/** serve_start() - Answer on keeper.sock. Return: 0 or -errno */
MUST_CHECK int serve_start(struct keeper *k, struct err *e);

/** serve_ready() - Answer those who wait for ready */
void serve_ready(struct keeper *k);

/** serve_exit() - Answer all who wait; the record is final */
void serve_exit(struct keeper *k);

void serve_close(struct keeper *k);

#endif
