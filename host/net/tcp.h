/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/tcp.h - the guest's TCP, translated to sockets of the host
 *
 * There is no TCP here that keeps data. Between guest and host lies a link that
 * loses and reorders nothing, so what a TCP needs buffers for, the host's kernel
 * has already, in the socket of the connection:
 *
 *	guest to host	A segment's data is written to the socket and is
 *			acknowledged as soon as it is in there. The window that
 *			the guest is told is what the socket's buffer has room
 *			for (SO_SNDBUF, SIOCOUTQ).
 *	host to guest	Data is sent with MSG_PEEK, so it stays in the socket,
 *			and is dropped from it (MSG_TRUNC) when the guest has
 *			acknowledged it. Until then it can be sent again. What
 *			the guest is slow to take fills the socket's buffer, so
 *			that the host's kernel closes its window to the peer.
 *
 * The guest's SYN is answered when the host's connect(2) has come to an end, so
 * it sees what the host saw: a refusal, nobody there. Ends (FIN) and resets are
 * passed on each way. All of it rests on passt's idea and design.
 *
 * What is lost after all is what the guest's kernel drops for want of memory: a
 * timer, and three acknowledgements of the same byte, send it again.
 *
 *	tcp.c		segments: to which connection, or to none
 *	tcp_open.c	from SYN to the guest's first acknowledgement
 *	tcp_in.c	guest to host
 *	tcp_ack.c	acknowledgements that wait for an answer to go with
 *	tcp_out.c	host to guest
 *	tcp_seg.c	headers
 *	tcp_look.c	bytes that are judged before they go out
 *	tcp_time.c	what happens when nothing happens
 */
#ifndef HUTCH_HOST_NET_TCP_H
#define HUTCH_HOST_NET_TCP_H

#include "host/net/net.h"
#include "host/net/out.h"

/* Edges: data that was sent and not acknowledged is no news. */
#define TCP_WATCH (EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLET)

enum tcp_state {
	TCP_CONNECTING, /* the host's socket is being connected */
	TCP_ANSWERED,   /* SYN and ACK are sent, the guest's ACK is awaited */
	TCP_OPEN
};

/**
 * struct tcp - A connection
 * @half:	In the list of those that are not open
 * @is_tcp:	@f.fd is a TCP socket, not another stream
 * @own_fd:	Its other end, until it is known who gets it; else -1
 * @rcv_nxt:	The guest's next byte
 * @rcv_told:	Up to where it was told that we have all
 * @rcv_edge:	Up to where it was told it may send
 * @rcv_most:	The largest window that it was told
 * @snd_una:	Our first byte that it has not acknowledged
 * @snd_nxt:	Our next byte
 * @snd_max:	Beyond the last that was ever sent
 * @snd_wnd:	How much it takes from @snd_una on
 * @base:	The first byte in the socket's buffer: @snd_una, or behind it
 * @peek_at:	SO_PEEK_OFF, as the kernel has it; UINT32_MAX: not set yet
 * @room:	What the socket takes for sure, without asking it
 * @room_low:	Below this it is asked
 * @asked:	It was, since something last went into it
 * @guest_ws:	How far the guest's windows are shifted
 * @our_ws:	And ours
 * @mss:	The most data of a segment
 * @must_look:	None of the guest's bytes may go out yet
 * @look:	Those that have come, if there are any
 * @ack_now:	The guest is to hear from us
 * @owed:	In the list of those whose guest is to, soon
 * @quick:	So many of its segments are acknowledged at once
 * @spoke:	Something of the peer's was sent to the guest, ever
 * @more:	There may be something in the socket that was not sent
 * @urgent:	There was urgent data in it, at which a read may end early
 * @rdhup:	The peer has ended its side: nothing more will come into it
 * @has_fin:	The guest has been told so, by a FIN with the number @fin_seq
 * @fin_in:	The guest has ended its side, and the peer has been told
 * @want_out:	EPOLLOUT is awaited
 * @refused:	The socket did not take all that it was told it may send
 * @dups:	Acknowledgements of @snd_una, again
 * @tries:	Sent again so many times since the guest last took something
 * @since_ns:	When it last did, or when there first was something to take
 * @used_ns:	When the guest last sent a segment of it
 */
struct tcp {
	struct flow f;
	struct list half;
	enum tcp_state state;
	uint32_t rcv_nxt;
	uint32_t rcv_told;
	uint32_t rcv_edge;
	uint32_t rcv_most;
	uint32_t snd_una;
	uint32_t snd_nxt;
	uint32_t snd_max;
	uint32_t snd_wnd;
	uint32_t base;
	uint32_t peek_at;
	uint32_t fin_seq;
	uint32_t room;
	uint32_t room_low;
	uint16_t mss;
	uint8_t guest_ws;
	uint8_t our_ws;
	bool is_tcp;
	int own_fd;
	struct tcp_look *look;
	bool must_look;
	bool ack_now;
	struct list owed;
	uint8_t quick;
	bool spoke;
	bool more;
	bool urgent;
	bool rdhup;
	bool has_fin;
	bool fin_in;
	bool want_out;
	bool asked;
	bool refused;
	uint8_t dups;
	uint8_t tries;
	uint64_t since_ns;
	uint64_t used_ns;
};

static inline struct tcp *tcp_of(struct flow *f)
{
	return container_of(f, struct tcp, f);
}

/* Sequence numbers are compared round the circle. */
static inline bool seq_lt(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/** tcp_told() - How much the guest was told that it may send yet */
static inline uint32_t tcp_told(const struct tcp *c)
{
	/* Who sends past that is behind the edge. */
	return seq_lt(c->rcv_nxt, c->rcv_edge) ? c->rcv_edge - c->rcv_nxt : 0;
}

/** tcp_fin_sent() - Whether our FIN is among what was sent */
static inline bool tcp_fin_sent(const struct tcp *c)
{
	return c->has_fin && seq_lt(c->fin_seq, c->snd_nxt);
}

/** tcp_fin_acked() - Whether the guest has taken it */
static inline bool tcp_fin_acked(const struct tcp *c)
{
	return c->has_fin && seq_lt(c->fin_seq, c->snd_una);
}

/* ---- tcp.c ---- */

/** tcp_input() - A segment of the guest's */
void tcp_input(struct net *n, const struct packet *p);

/** tcp_own_take() - The other end, which is the caller's. Return: -1: there is none */
int tcp_own_take(struct tcp *c);

/** tcp_close() - It is over; the host's socket ends as it is */
void tcp_close(struct tcp *c);

/** tcp_reset() - Break it off, both ways */
void tcp_reset(struct tcp *c);

/** tcp_event() - The socket has something, of a connection that is answered */
void tcp_event(struct tcp *c, uint32_t events);

/* ---- tcp_seg.c ---- */

/**
 * struct tcp_seg - A segment of the guest's, taken apart
 * @window:	As it stands there
 * @data:	@len bytes
 * @mss:	Of a SYN: what it offers, or the default
 * @ws:		Of a SYN: its window scale; -1: none
 */
struct tcp_seg {
	uint16_t sport;
	uint16_t dport;
	uint32_t seq;
	uint32_t ack;
	uint8_t flags;
	uint16_t window;
	const uint8_t *data;
	size_t len;
	uint16_t mss;
	int ws;
};

/** tcp_seg_parse() - Take a segment apart. Return: 0 or -EBADMSG */
MUST_CHECK int tcp_seg_parse(const struct packet *p, struct tcp_seg *ret);

/** tcp_seg_out() - What the frames of a connection have in common */
struct out tcp_seg_out(const struct tcp *c);

/** tcp_seg_most() - The most data of a segment of the guest's, as it was told */
uint32_t tcp_seg_most(const struct tcp *c);

/** tcp_seg_fill() - A header without options, at @at; tells ACK and window */
void tcp_seg_fill(struct tcp *c, void *at, uint8_t flags, uint32_t seq);

/** tcp_seg_send() - A segment without data; with TCP_SYN our options */
void tcp_seg_send(struct tcp *c, uint8_t flags, uint32_t seq);

/** tcp_seg_refuse() - RST in answer to a segment of no connection */
void tcp_seg_refuse(struct net *n, const struct packet *p,
		    const struct tcp_seg *s);

/* ---- tcp_open.c ---- */

/** tcp_open() - A SYN that no connection has */
void tcp_open(struct net *n, const struct packet *p, const struct tcp_seg *s);

/** tcp_connected() - connect(2) has come to an end */
void tcp_connected(struct tcp *c);

/** tcp_opened() - The guest has acknowledged our SYN */
void tcp_opened(struct tcp *c);

/* ---- tcp_in.c ---- */

/** tcp_in() - A segment for a connection that is open; no SYN, no RST */
void tcp_in(struct tcp *c, const struct tcp_seg *s);

/** tcp_in_window() - How much the guest may send now, in bytes */
uint32_t tcp_in_window(struct tcp *c);

/** tcp_in_writable() - The socket takes more again: tell the guest */
void tcp_in_writable(struct tcp *c);

/** tcp_in_put() - Write to the socket. Return: bytes it took, or -errno */
MUST_CHECK ssize_t tcp_in_put(struct tcp *c, const uint8_t *data, size_t len);

/* ---- tcp_ack.c ---- */

/** tcp_ack_data() - Data has been taken: acknowledge it, now or soon */
void tcp_ack_data(struct tcp *c);

/** tcp_ack_told() - The guest has been told how far we are */
void tcp_ack_told(struct tcp *c);

/* ---- tcp_look.c ---- */

/**
 * tcp_look() - Take bytes of a connection with @must_look
 *
 * Held until hello_feed() knows what they are; then the connection is judged,
 * and they go out or it ends.
 *
 * Return: bytes taken; -EACCES: denied; -EMFILE, -ENOMEM
 */
MUST_CHECK ssize_t tcp_look(struct tcp *c, const uint8_t *data, size_t len);

/** tcp_look_end() - The guest has ended its side. Return: 0 or -EACCES */
MUST_CHECK int tcp_look_end(struct tcp *c);

/** tcp_look_flush() - The socket takes more: of what was held. 0 or -errno */
MUST_CHECK int tcp_look_flush(struct tcp *c);

/** tcp_look_room() - How much more may be held */
uint32_t tcp_look_room(const struct tcp *c);

/** tcp_look_time() - Time has passed. Return: 0; -EACCES: too much of it */
MUST_CHECK int tcp_look_time(struct tcp *c);

/** tcp_look_drop() - Forget what is held */
void tcp_look_drop(struct tcp *c);

/* ---- tcp_out.c ---- */

/** tcp_out_turn() - Send what the guest has room for; see flow_ops */
bool tcp_out_turn(struct flow *f);

/** tcp_out_ack() - The guest acknowledges. Return: whether that can be so */
bool tcp_out_ack(struct tcp *c, const struct tcp_seg *s);

/** tcp_out_again() - Begin again at what it has not acknowledged */
void tcp_out_again(struct tcp *c);

/** tcp_out_drop() - Drop what it has acknowledged from the socket */
void tcp_out_drop(struct tcp *c);

/* ---- tcp_time.c ---- */

/** tcp_time() - Something is awaited: see to it that it comes */
void tcp_time(struct tcp *c);

#endif
