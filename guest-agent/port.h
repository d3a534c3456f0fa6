/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/port.h - wait until a TCP port of the guest is listened on */
#ifndef HUTCH_GUEST_AGENT_PORT_H
#define HUTCH_GUEST_AGENT_PORT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/wire_proc.h"

struct conn;
struct proc;

/* How often the kernel's tables are read while somebody waits. */
#define PORT_LOOK_MIN_NS (10ull * 1000 * 1000)
#define PORT_LOOK_MAX_NS (250ull * 1000 * 1000)

/* Of a table so much is read at most; listeners come first in it. */
#define PORT_TABLE_MAX (1u << 20)

/** port_wait() - Serve WAIT_PORT; @p ends the waiting too, unless NULL */
void port_wait(struct conn *c, struct proc *p, const struct msg_wait_port *m);

/** port_ended() - Tell those who wait that the process has ended */
void port_ended(struct proc *p);

/** port_failed() - Tell those who wait, in a frame, why it did not start */
void port_failed(const struct proc *p, const void *frame, size_t len);

/** port_forget() - The object goes: nobody waits for its end any more */
void port_forget(const struct proc *p);

/** port_leave() - The client waits no longer, if he did */
void port_leave(struct conn *c);

/**
 * port_in_line() - The port of a line of /proc/net/tcp that tells of a listener
 *
 * Return: port; 0 if it is no such line
 */
unsigned int port_in_line(const char *line);

#endif
