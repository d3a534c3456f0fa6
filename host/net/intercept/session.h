/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/intercept/session.h - what a session is made of; for its own files */
#ifndef HUTCH_HOST_NET_INTERCEPT_SESSION_H
#define HUTCH_HOST_NET_INTERCEPT_SESSION_H

#include <http_parser.h>

#include "host/net/intercept/chunk.h"
#include "host/net/intercept/head.h"
#include "host/net/intercept/icpt.h"
#include "host/net/intercept/side.h"

#define VM_NAME_CAP 64u     /* bytes of a VM's name, with its NUL */
#define REQUEST_MAX 131072u /* a head as it goes out, with what was injected */

/**
 * enum phase - Where the guest's requests are
 * @PHASE_HEAD:	A head is coming in
 * @PHASE_BODY:	A body goes through
 * @PHASE_WAIT:	All of it went; the answer is awaited
 * @PHASE_TUNNEL: After a 101
 * @PHASE_END:	Nothing more is read; what is to be sent is sent
 */
enum phase {
	PHASE_HEAD,
	PHASE_BODY,
	PHASE_WAIT,
	PHASE_TUNNEL,
	PHASE_END
};

/**
 * struct icpt - A session
 * @handler:	Of the rule, borrowed from @policy; NULL: upstream is a server
 * @head:	@head_len bytes of a head that is coming in, of HEAD_MAX
 * @chunked:	The request's body is in chunks
 * @body_left:	What is still to come of it, if it has a length
 * @asked:	A request was sent, ever
 * @pending:	A request was sent whose answer has not ended
 * @answering:	Bytes of that answer were passed on
 * @is_head:	It was HEAD: its answer has no body, whatever it says
 * @upgrade:	It asks for a WebSocket
 * @keep_alive:	As the request says, by libhttp-parser
 * @keep:	Another request may follow
 * @ended:	The answer's last byte was read just now
 * @why:	As icpt_why()
 */
struct icpt {
	struct policy *policy;
	const struct pins *pins;
	int rule;
	const char *handler;
	char vm[VM_NAME_CAP];
	char name[NAME_CAP];
	struct net_addr dst;
	uint16_t port;
	uint64_t now_ms;

	struct side guest;
	struct side up;
	char *head;
	size_t head_len;
	enum phase phase;
	http_parser req;
	http_parser resp;
	bool chunked;
	struct chunk chunk;
	uint64_t body_left;
	bool asked;
	bool pending;
	bool answering;
	bool is_head;
	bool upgrade;
	bool keep_alive;
	bool keep;
	bool ended;
	const char *why;
};

/** session_refuse() - Answer the guest in upstream's place, and end */
void session_refuse(struct icpt *s, unsigned int status, const char *why);

/** session_end() - End, whatever is under way */
void session_end(struct icpt *s, const char *why);

/** SESSION_PEER() - A clause about who is upstream; @what is a literal */
#define SESSION_PEER(s, what) \
	((s)->handler ? "the handler" what : "the server" what)

/** request_step() - Pass on what the guest sent. Return: whether there was any */
bool request_step(struct icpt *s);

/** request_write() - Write a head that was looked over anew, and send it */
void request_write(struct icpt *s, struct head *h);

/** response_step() - The same of upstream */
bool response_step(struct icpt *s);

/** response_eof() - Upstream will send no more, and all of it was read */
void response_eof(struct icpt *s);

#endif
