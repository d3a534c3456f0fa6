/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/connector.h - making a guest's connects for a monitor that cannot
 *
 * The monitor is locked in and opens nothing.  Over a SOCK_SEQPACKET socket it
 * asks whoever holds the other end, once per connect:
 *
 *	request:	le32 port
 *	answer:		le32 port, le32 errno (0: fine, and one descriptor
 *			comes with it, by SCM_RIGHTS)
 *
 * Answers come in the order of the requests.
 */
#ifndef HUTCH_COMMON_CONNECTOR_H
#define HUTCH_COMMON_CONNECTOR_H

#include "common/err.h"

#define CONNECTOR_REQ_LEN    4u
#define CONNECTOR_ANSWER_LEN 8u

/**
 * connector_serve_one() - Receive one request and answer it
 * @sock:	Readable, else it blocks (or is -EAGAIN, if non-blocking)
 * @dirfd:	Folder of the sockets, or AT_FDCWD
 * @prefix:	Port 80 is the Unix socket "<prefix>_80" in @dirfd
 *
 * Never waits for whoever listens there: a full backlog is EAGAIN to the
 * guest.
 *
 * Return: 0; -EPIPE when the monitor is gone; -EBADMSG if it sent nonsense;
 *         -EAGAIN; or another -errno of @sock itself
 */
MUST_CHECK int connector_serve_one(int sock, int dirfd, const char *prefix);

#endif
