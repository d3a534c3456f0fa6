/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/wire_port.h - the protocol's requests about TCP ports, see wire.h
 *
 * CONNECT turns the connection into one to a port of the guest, PORTS asks what
 * listens there, and PORT is what comes of it.
 */
#ifndef HUTCH_COMMON_WIRE_PORT_H
#define HUTCH_COMMON_WIRE_PORT_H

#include "common/wire.h"

#define WIRE_COMM_MAX 63u /* bytes of a process's name; Linux has 15 */

/**
 * struct msg_connect - CONNECT: le16 port, le16 and le32 reserved
 * @port:	TCP, not 0
 */
struct msg_connect {
	uint16_t port;
};

enum wire_family {
	WIRE_IPV4 = 4,
	WIRE_IPV6 = 6
};

/** struct wire_port - Fixed part of PORT; then string name */
struct wire_port {
	le16 port;
	le16 family;
	le32 pid;
	uint8_t address[16];
};
_Static_assert(sizeof(struct wire_port) == 24, "wire layout is ABI");

/**
 * struct msg_port - PORT: a socket that listens
 * @pid:	Of a process that has it; 0: it is not known
 * @address:	In the order of the network; of IPv4 4 bytes, the rest is 0
 * @name:	Of that process, or ""
 */
struct msg_port {
	uint16_t port;
	enum wire_family family;
	uint32_t pid;
	uint8_t address[16];
	const char *name;
};

MUST_CHECK int wire_connect_parse(const void *p, size_t len,
				  struct msg_connect *ret, struct err *e);
MUST_CHECK int wire_port_parse(const void *p, size_t len, struct msg_port *ret,
			       struct err *e);

/* As in wire.h: append a frame, check nothing. */
void wire_connect_put(struct wr *wr, const struct msg_connect *m);
void wire_port_put(struct wr *wr, const struct msg_port *m);

#endif
