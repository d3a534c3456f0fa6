/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/request.h - what a client's frames mean */
#ifndef HUTCH_GUEST_AGENT_REQUEST_H
#define HUTCH_GUEST_AGENT_REQUEST_H

#include "common/wire.h"

struct agent;
struct conn;

/**
 * request_frame() - Act on one frame
 *
 * The connection may be in its last state, or gone, when it returns.
 *
 * Return: 0; -errno with a sentence if the client broke the protocol
 */
MUST_CHECK int request_frame(struct conn *c, const struct wire_frame *f,
			     struct err *e);

/** request_tell() - Send an event to everyone who asked for events */
void request_tell(struct agent *a, const struct msg_event *m);

#endif
