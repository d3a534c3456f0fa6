/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/tunnel.h - a client's connection to a TCP port of the guest
 *
 * CONNECT.  The agent connects to the port on the loopback addresses, so that
 * it reaches a server that listens there only, and no network is needed; then
 * the client's stream is that connection, no frames any more.
 */
#ifndef HUTCH_GUEST_AGENT_TUNNEL_H
#define HUTCH_GUEST_AGENT_TUNNEL_H

#include <stdbool.h>

#include "common/err.h"
#include "common/list.h"
#include "common/relay.h"

struct agent;
struct conn;

/* 127.0.0.1, then ::1. */
#define TUNNEL_ADDRESSES 2u

/**
 * struct tunnel - One connection
 * @c:		The client, until it is through; then NULL
 * @fd:		To the port, in the end by way of @relay
 * @client_fd:	Once it is through
 * @io:		Watches @fd until it is connected
 * @timer:	How long that may take
 * @tried:	Addresses that there was nobody at
 * @error:	Of the first of them
 */
struct tunnel {
	struct agent *a;
	struct list link;
	struct conn *c;
	int fd;
	int client_fd;
	uint16_t port;
	unsigned int tried;
	int error;
	struct loop_io io;
	struct loop_timer timer;
	struct relay relay;
	struct loop_defer bury;
};

/**
 * tunnel_dial() - Begin to connect
 * @nr:		Of the address, below TUNNEL_ADDRESSES
 *
 * Return: a non-blocking socket, writable once it is decided; or -errno
 */
MUST_CHECK int tunnel_dial(uint16_t port, unsigned int nr);

/**
 * tunnel_open() - Serve CONNECT; the client is answered now or later
 *
 * Return: 0; -EPROTO with a sentence if bytes came behind the request
 */
MUST_CHECK int tunnel_open(struct conn *c, uint16_t port, struct err *e);

/** tunnel_leave() - The client waits for none any longer, if he did */
void tunnel_leave(struct conn *c);

/** tunnels_owe() - Whether something a server said is still on its way */
bool tunnels_owe(const struct agent *a);

/** tunnels_done() - Close and forget all */
void tunnels_done(struct agent *a);

#endif
