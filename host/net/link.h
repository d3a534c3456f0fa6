/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/link.h - frames to and from the monitor, over a stream socket
 *
 * Each frame is preceded by its length, 32 bits, big-endian; the frame begins
 * with a struct vnet_hdr. What is read is handed out where it lies; what is to
 * be sent is composed where it will be sent from, so that a byte of a TCP
 * stream is copied by the kernel alone:
 *
 *	p = link_reserve(l, n)	room for @n bytes at the end of the buffer
 *	...			a length and a frame, once or more often
 *	link_commit(l, used)	they are to go
 *
 * They go with link_flush(), once a batch of events. When the monitor does not
 * read, the buffer fills: flows are not asked for more data then, and answers
 * (acknowledgements, errors) have LINK_OUT_SPARE more, and are dropped after
 * that, which a network may do.
 */
#ifndef HUTCH_HOST_NET_LINK_H
#define HUTCH_HOST_NET_LINK_H

#include "common/loop.h"
#include "host/net/be.h"

struct link;

/**
 * struct link_ops - What becomes of it; all are called from the loop
 * @frame:	A frame, vnet header and all; borrowed until the call is over
 * @room:	There is room again after there was too little
 * @end:	The monitor is gone (@r is 0), or spoke nonsense (-EPROTO), or
 *		the socket failed; nothing more is read
 */
struct link_ops {
	void (*frame)(struct link *l, const uint8_t *frame, size_t len);
	void (*room)(struct link *l);
	void (*end)(struct link *l, int r);
};

/**
 * struct link - The socket and both buffers
 * @in:		LINK_IN_MAX bytes, @in_len of them read and not yet handed out
 * @out:	LINK_OUT_MAX bytes; from @out_sent to @out_len they are to go
 * @full:	The socket is to be asked first whether it takes more: EPOLLOUT
 * @dropped:	Answers that there was no room for
 */
struct link {
	struct loop_io io;
	const struct link_ops *ops;
	int fd;
	uint8_t *in;
	size_t in_len;
	uint8_t *out;
	size_t out_sent;
	size_t out_len;
	bool full;
	bool over;
	uint64_t dropped;
};

/**
 * link_open() - Serve @fd from @loop
 * @fd:		A connected SOCK_STREAM, made non-blocking; the link's from now
 *
 * Return: 0, or -errno, and @fd is still the caller's
 */
MUST_CHECK int link_open(struct link *l, struct loop *loop, int fd,
			 const struct link_ops *ops);

/** link_close() - Let go of all of it; idempotent */
void link_close(struct link *l);

/** link_room() - Bytes that data may take now; answers may take more */
size_t link_room(const struct link *l);

/** link_spare() - Bytes that answers may take now */
size_t link_spare(const struct link *l);

/** link_reserve() - Room for @len bytes. Return: where, or NULL, counted */
void *link_reserve(struct link *l, size_t len);

/** link_commit() - The first @len bytes of what was reserved are to go */
void link_commit(struct link *l, size_t len);

/** link_flush() - Send what the socket takes */
void link_flush(struct link *l);

/** link_more() - Call room() from the loop, when the socket takes more */
void link_more(struct link *l);

#endif
