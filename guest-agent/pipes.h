/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/pipes.h - the descriptors between the agent and a new process */
#ifndef HUTCH_GUEST_AGENT_PIPES_H
#define HUTCH_GUEST_AGENT_PIPES_H

#include "common/wire.h"

/**
 * struct pipes - Descriptors of a start under way
 * @stdio:	The child's 0, 1, 2; closed here once it has them
 * @ours:	The agent's ends: stdin, stdout, stderr; -1 if there is none
 * @report:	Pipe on which the child reports
 */
struct pipes {
	int stdio[3];
	int ours[3];
	int report[2];
};

void pipes_init(struct pipes *s);

/** pipes_done() - Close those that nobody has taken */
void pipes_done(struct pipes *s);

/** pipes_open() - All that EXEC asks for, and the report pipe */
MUST_CHECK int pipes_open(struct pipes *s, const struct msg_exec *m,
			  struct err *e);

#endif
