/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/job.h - requests about files and ports, each in a child
 *
 * Whatever touches a file of the guest may wait for ever, and who looks through
 * /proc may take long.  So the agent hands
 * the connection to a child and only watches: when the client goes, so does
 * the child, by itself or, if it hangs, killed after AGENT_JOB_GRACE_MS.
 */
#ifndef HUTCH_GUEST_AGENT_JOB_H
#define HUTCH_GUEST_AGENT_JOB_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/list.h"
#include "common/loop.h"
#include "common/wire_file.h"

struct agent;
struct conn;

/**
 * struct job - A child and its client
 * @io:		Watches whether the client is there; its descriptor is ours
 * @timer:	Since it has gone
 */
struct job {
	struct agent *a;
	struct list link;
	struct loop_io io;
	struct loop_timer timer;
	struct loop_defer bury;
	pid_t pid;
};

/**
 * job_start() - Serve the request in a child; the connection is gone then
 *
 * Return: 0; -errno with a sentence, and the connection is as it was
 */
MUST_CHECK int job_start(struct conn *c, const struct msg_file *m,
			 struct err *e);

/** job_start_ports() - The same for PORTS */
MUST_CHECK int job_start_ports(struct conn *c, struct err *e);

/** job_reaped() - A child has ended. Return: whether it was one of these */
bool job_reaped(struct agent *a, pid_t pid);

/** jobs_done() - Kill and forget all */
void jobs_done(struct agent *a);

#endif
