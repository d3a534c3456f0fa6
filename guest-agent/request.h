/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/request.h - what a client's frames mean */
#ifndef HUTCH_GUEST_AGENT_REQUEST_H
#define HUTCH_GUEST_AGENT_REQUEST_H

#include "common/wire.h"

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

/** request_resume() - The connection can take more: go on with the answer */
void request_resume(struct conn *c);

#endif
