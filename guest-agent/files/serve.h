/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/files/serve.h - the child that serves a request about files
 *
 * It has the connection to itself, speaks the protocol on it, and is the user
 * that the request names.  It may wait as long as a file does; it ends with
 * its client.
 */
#ifndef HUTCH_GUEST_AGENT_FILES_SERVE_H
#define HUTCH_GUEST_AGENT_FILES_SERVE_H

#include <sys/types.h>

#include "common/ring.h"
#include "common/wire_file.h"

/**
 * struct files_spawn - What a child needs, all of it the parent's
 * @fd:		The connection
 * @in:		What has come on it already
 * @out:	What is still to be sent
 * @cgroup_fd:	It is born there; -1 for its parent's cgroup
 */
struct files_spawn {
	const struct msg_file *req;
	const struct msg_boot *boot;
	int fd;
	struct wire_reader *in;
	struct ring *out;
	int cgroup_fd;
};

/** files_serve() - Be it: serve, and end this process */
_Noreturn void files_serve(const struct files_spawn *s);

/** files_spawn() - Start it. Return: pid or -errno */
MUST_CHECK pid_t files_spawn(const struct files_spawn *s);

#endif
