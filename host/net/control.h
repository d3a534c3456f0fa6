/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/control.h - the keeper's socket: requests in, answers and events out
 *
 * Messages are in docs/network-policy.md. Its end is the network's end.
 */
#ifndef HUTCH_HOST_NET_CONTROL_H
#define HUTCH_HOST_NET_CONTROL_H

#include "common/loop.h"
#include "host/net/config.h"
#include "host/net/guard.h"
#include "host/net/handlers.h"
#include "host/net/intercepts.h"
#include "host/net/net.h"

#define CONTROL_SHOWN_MAX  200u    /* flows that "show" lists */
#define CONTROL_ANSWER_MAX 200000u /* bytes: less than a socket takes at once */

struct relay;

/**
 * struct control - The socket, and whom it is about
 * @unsent:	An answer that the socket had no room for. No request is read while
 *		there is one
 */
struct control {
	struct loop_io io;
	struct loop *loop;
	struct net *net;
	struct guard *guard;
	struct intercepts *intercepts;
	struct relay *relay;
	struct handlers *handlers;
	int fd;
	char *unsent;
};

/**
 * control_first() - Wait for the first message, as long as it takes
 *
 * Return: 0; -EPIPE: the keeper has gone; -EINVAL with a sentence, also sent
 */
MUST_CHECK int control_first(int fd, struct config *ret, struct err *e);

/** control_ok() - Answer that all is well. @ca: PEM for the guest, or NULL */
void control_ok(int fd, const char *ca);

/** control_error() - Answer with a sentence */
void control_error(int fd, const struct err *e);

/**
 * control_watch() - Serve the rest; stops the loop at its end. 0 or -errno
 *
 * What it reads does not block from here on.
 */
MUST_CHECK int control_watch(struct control *c);

/** control_done() - Zeroed is fine */
void control_done(struct control *c);

#endif
