/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/intercept/icpt.h - a connection that is terminated and looked into
 *
 * Between two sockets of the caller's: bytes of the guest come in and go out,
 * bytes of the server upstream go out and come in. In between are TLS on either
 * side, if the guest begins with it, and HTTP/1.1: each request is judged by its
 * Host, changed as the rule says (host/net/policy/inject.h), and written anew.
 * Responses pass as they are. After a 101 bytes pass both ways.
 *
 *	guest ──► icpt_feed(GUEST) ──► icpt_out(UPSTREAM) ──► server
 *	guest ◄── icpt_out(GUEST)  ◄── icpt_feed(UPSTREAM) ◄── server
 *
 * Upstream may be a handler, by the rule: a Unix socket of the host's, which is
 * connected to when there is a request for it, gets it without TLS, and is told by
 * headers whose it is:
 *
 *	X-Hutch-VM: NAME
 *	X-Hutch-Scheme: http or https
 *
 * What the guest says under names that begin so is left out.
 *
 * Nothing is buffered beyond what icpt_room() says; no byte goes upstream before
 * the server has shown its certificate; a request is on its way alone.
 */
#ifndef HUTCH_HOST_NET_INTERCEPT_ICPT_H
#define HUTCH_HOST_NET_INTERCEPT_ICPT_H

#include <stdbool.h>

#include "host/net/intercept/ca.h"
#include "host/net/intercept/tls.h"
#include "host/net/policy/policy.h"

#define ICPT_BUF_MAX 65536u /* plain bytes that wait, of each side and way */

enum icpt_side {
	ICPT_GUEST,
	ICPT_UPSTREAM
};

/**
 * enum icpt_state - What a session waits for
 * @ICPT_BEGINS: TLS, of either side
 * @ICPT_RESTS:	A request
 * @ICPT_BUSY:	The rest of one, its answer, bytes of a WebSocket, or the end
 */
enum icpt_state {
	ICPT_BEGINS,
	ICPT_RESTS,
	ICPT_BUSY
};

struct icpt;

/**
 * struct icpt_opts - What a session is about
 * @policy:	Gets a reference
 * @pins:	For as long as icpt_new() runs and requests come in
 * @rule:	Of the verdict JUDGE_INTERCEPT
 * @name:	Of the verdict: the host; copied
 * @dst:	Where the guest connects to, and the caller upstream
 * @vm:		The VM's name, for a handler; copied
 * @tls:	The guest begins with TLS; what was fed to hello_feed() is the
 *		first that is fed here
 * @ca:		Of this VM; lives longer
 * @trust:	Whose certificates upstream are believed; lives longer. Not needed
 *		where the rule has a handler
 * @now_ms:	The clock of the pins, at which requests are judged
 * @now_s:	Unix time, for the certificate
 */
struct icpt_opts {
	struct policy *policy;
	const struct pins *pins;
	int rule;
	const char *name;
	struct net_addr dst;
	uint16_t port;
	const char *vm;
	bool tls;
	struct ca *ca;
	struct trust *trust;
	uint64_t now_ms;
	int64_t now_s;
};

/** icpt_new() - Begin. Return: 0; -ENOMEM; -EIO */
MUST_CHECK int icpt_new(const struct icpt_opts *o, struct icpt **ret,
			struct err *e);

/**
 * icpt_retire() - No more requests: there is another policy, with credentials of its
 *		   own
 *
 * One that is on its way is answered, and a WebSocket goes on. What is idle ends.
 */
void icpt_retire(struct icpt *s);

/** icpt_state() - What it waits for */
enum icpt_state icpt_state(const struct icpt *s);

/**
 * icpt_late() - It has waited for too long
 *
 * A server that does not finish its handshake is as one that cannot be reached;
 * all else ends.
 */
void icpt_late(struct icpt *s);

/** icpt_free() - Buffers are wiped. NULL is fine */
void icpt_free(struct icpt *s);

/** icpt_wants_up() - Whether there is a request for a handler: connect to it */
bool icpt_wants_up(const struct icpt *s);

/** icpt_waits() - Whether it is upstream's turn to say, or to take, something */
bool icpt_waits(const struct icpt *s);

/**
 * icpt_no_up() - A handler is of no use any more: the guest is told, if it can be
 * @status:	502 or 504
 * @why:	Constant, as icpt_why()
 */
void icpt_no_up(struct icpt *s, unsigned int status, const char *why);

/** icpt_room() - How many bytes of a side may be fed now */
size_t icpt_room(const struct icpt *s, enum icpt_side side);

/** icpt_feed() - @n bytes of a side came in, at most icpt_room() */
void icpt_feed(struct icpt *s, enum icpt_side side, const void *bytes,
	       size_t n);

/** icpt_eof() - A side will send no more; upstream: or could not be reached */
void icpt_eof(struct icpt *s, enum icpt_side side);

/** icpt_out() - Bytes to be sent to a side, some of them. Return: how many */
size_t icpt_out(const struct icpt *s, enum icpt_side side, const void **ret);

/** icpt_sent() - The first @n of them were sent */
void icpt_sent(struct icpt *s, enum icpt_side side, size_t n);

/** icpt_is_shut() - Nothing more goes to a side: shutdown(2) it for writing */
bool icpt_is_shut(const struct icpt *s, enum icpt_side side);

/**
 * icpt_is_done() - Nothing more is to be sent
 *
 * Close upstream. Towards the guest shut it down for writing and read on for a
 * moment, since a reset, which unread bytes cause, can overtake the answer.
 */
bool icpt_is_done(const struct icpt *s);

/**
 * icpt_why() - Why a request was refused or the session ended, for the event
 *
 * Return: a clause with nothing secret in it; NULL: all is well
 */
const char *icpt_why(const struct icpt *s);

#endif
