/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/manage.h - requests about processes that are there already */
#ifndef HUTCH_GUEST_AGENT_MANAGE_H
#define HUTCH_GUEST_AGENT_MANAGE_H

#include "common/wire.h"

struct conn;

/**
 * manage_request() - Serve ATTACH, LIST, KILL, DROP or WAIT_PORT
 *
 * Return: 0, answered or being answered; -errno if the client broke the
 *         protocol
 */
MUST_CHECK int manage_request(struct conn *c, const struct wire_frame *f,
			      struct err *e);

/** manage_list_more() - Send more of LIST's answer, as much as is taken */
void manage_list_more(struct conn *c);

#endif
