/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/vsock.h - the listening socket, and the bell that says so */
#ifndef HUTCH_GUEST_AGENT_VSOCK_H
#define HUTCH_GUEST_AGENT_VSOCK_H

#include "common/err.h"
#include "common/loop.h"

/** vsock_listen() - Return: non-blocking listening descriptor, or -errno */
MUST_CHECK int vsock_listen(unsigned int port, struct err *e);

/** struct bell - A connection attempt under way; zeroed is none */
struct bell {
	struct loop_io io;
};

/**
 * bell_ring() - Tell the monitor that the agent can serve
 *
 * A connect to WIRE_PORT_BELL; what becomes of it does not matter.
 */
void bell_ring(struct bell *b, struct loop *l);

#endif
