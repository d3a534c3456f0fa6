/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/frag.h - datagrams that a guest sends in pieces
 *
 * A guest needs them for UDP beyond its MTU. Few at a time, each with its
 * memory only while it is under way; what overlaps is dropped whole, since no
 * two readers of overlapping pieces agree on what they say.
 */
#ifndef HUTCH_HOST_NET_FRAG_H
#define HUTCH_HOST_NET_FRAG_H

#include "host/net/limits.h"
#include "host/net/packet.h"

#define FRAG_BYTES_MAX 65535u

/** struct frag_piece - Bytes that have come: from @from to @to */
struct frag_piece {
	uint32_t from;
	uint32_t to;
};

/**
 * struct frag_datagram - One under way
 * @buf:	FRAG_BYTES_MAX bytes; NULL if this place is free
 * @total:	Its length, or 0 as long as the last piece has not come
 * @poisoned:	Dropped, and kept only to drop what belongs to it
 */
struct frag_datagram {
	uint8_t *buf;
	struct packet head;
	uint64_t since_ns;
	uint32_t total;
	uint32_t have;
	bool poisoned;
	unsigned int n_pieces;
	struct frag_piece piece[FRAG_PIECES_MAX];
};

/** struct frags - All of them; zeroed is none */
struct frags {
	struct frag_datagram slot[FRAG_DATAGRAMS_MAX];
};

/**
 * frags_add() - A piece has come
 * @p:		The piece; when the datagram is whole it is made that one, which
 *		lies in @fs until the next call of a function of this file
 *
 * The oldest datagram goes when a place is needed.
 *
 * Return: 1 if @p is whole now; 0 if it is not; -EBADMSG if it was dropped
 */
MUST_CHECK int frags_add(struct frags *fs, struct packet *p, uint64_t now_ns);

/** frags_done() - Free what is under way */
void frags_done(struct frags *fs);

#endif
