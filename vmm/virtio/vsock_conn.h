/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/virtio/vsock_conn.h - the socket device's inside: what its files share
 *
 *	vsock.c		the device: queues, packets in, packets out, the table
 *	vsock_conn.c	one connection: its states and its ends
 *	vsock_flow.c	its bytes, both ways, and the credit that bounds them
 *	vsock_host.c	host clients: listener, CONNECT, the connector
 *
 * How it works.  A connection has a guest's side, @state, and a host's side,
 * @fd; it is freed when both are gone.  It tells the guest things by setting a
 * bit in @due and joining the ready list; whenever the guest has receive
 * buffers, vsock_settle() gives each ready connection one packet a turn, round
 * and round, so a bulk stream takes turns with a small one.  Bytes for the
 * guest stay in the host's socket until there is a buffer to read them into.
 * Bytes from the guest go to the host's socket at once; only what that will
 * not take waits in @ring, which the credit given to the guest bounds.
 *
 * Context: all of it runs on the loop thread, which alone touches connections;
 * the device's lock is held only while the queues are used (device.h).
 */
#ifndef HUTCH_VMM_VIRTIO_VSOCK_CONN_H
#define HUTCH_VMM_VIRTIO_VSOCK_CONN_H

#include "common/list.h"
#include "common/ring.h"
#include "vmm/virtio/vsock.h"
#include "vmm/virtio/vsock_pkt.h"

#define VSOCK_IOV        64     /* pieces of one readv(2) or sendmsg(2) */
#define VSOCK_TURN_MAX   65536u /* bytes to the guest in one turn */
#define VSOCK_STRAYS_MAX 1024u  /* RSTs to what is no connection */
/* Where host ports of host clients begin; below are services. */
#define VSOCK_PORT_FIRST (1u << 30)

#define VSOCK_CLOSING_NS 10000000000ull /* the guest has to answer an end */

enum vsock_queue {
	VSOCK_RX,
	VSOCK_TX,
	VSOCK_EVENT,
	VSOCK_QUEUES
};

/**
 * enum vsock_state - The guest's side of a connection
 * @VSOCK_HELLO:	A host client has yet to finish its CONNECT line
 * @VSOCK_HELD:		Its CONNECT waits for the bell
 * @VSOCK_REQUESTED:	REQUEST is due, or sent: the guest owes an answer
 * @VSOCK_DIALING:	The guest's REQUEST; the connector owes a socket
 * @VSOCK_OPEN:		Bytes flow
 * @VSOCK_CLOSING:	The guest knows that all is over, and owes a RST
 * @VSOCK_RESETTING:	A RST is due, nothing else
 * @VSOCK_GONE:		The guest is done with it; it is in no table any more
 */
enum vsock_state {
	VSOCK_HELLO,
	VSOCK_HELD,
	VSOCK_REQUESTED,
	VSOCK_DIALING,
	VSOCK_OPEN,
	VSOCK_CLOSING,
	VSOCK_RESETTING,
	VSOCK_GONE
};

/**
 * struct vsock_conn - One connection
 * @all:	In the device's list of all, or of the dead
 * @ready:	In the list of those that have something for the guest
 * @wait:	In the list of those that must do something by @deadline_ns
 * @hash_next:	In the table, from VSOCK_REQUESTED to before VSOCK_GONE
 * @io:		Watch on @fd
 * @fd:		The host's side, or -1
 * @due:	Packets the guest is to get: 1 << VSOCK_OP_*
 * @from_guest:	The guest asked for it
 * @requested:	Our REQUEST was sent
 * @readable:	@fd may have bytes for the guest
 * @host_eof:	@fd has none and never will
 * @host_deaf:	The host will take no more bytes: those that come are dropped
 * @hup:	Both; @fd is watched no longer
 * @asked:	CREDIT_REQUEST was sent and no credit has come yet
 * @dead:	Freed at the end of the batch
 * @guest_shut:	VSOCK_SHUT_* flags the guest has sent
 * @shut_sent:	Those that we have sent, and
 * @shut_due:	have yet to send
 * @window:	Bytes the guest may have on their way to the host, in all
 * @recv_cnt:	Bytes from the guest, free-running like all these
 * @fwd_cnt:	Of these, bytes that the host has taken
 * @told_window: The last @window and
 * @told_fwd:	@fwd_cnt the guest was told
 * @peer_alloc:	What the guest can take in all
 * @peer_fwd:	Bytes its program has read
 * @sent_cnt:	Bytes sent to the guest
 * @ring:	Bytes from the guest that the host would not take yet
 * @line:	The CONNECT line as far as it has come
 */
struct vsock_conn {
	struct vsock *v;
	struct list all;
	struct list ready;
	struct list wait;
	struct vsock_conn *hash_next;
	struct loop_io io;
	int fd;
	uint64_t deadline_ns;
	enum vsock_state state;
	uint32_t guest_port;
	uint32_t host_port;
	uint32_t due;
	bool from_guest;
	bool requested;
	bool readable;
	bool host_eof;
	bool host_deaf;
	bool hup;
	bool asked;
	bool dead;
	uint8_t guest_shut;
	uint8_t shut_sent;
	uint8_t shut_due;
	uint32_t window;
	uint32_t recv_cnt;
	uint32_t fwd_cnt;
	uint32_t told_window;
	uint32_t told_fwd;
	uint32_t peer_alloc;
	uint32_t peer_fwd;
	uint32_t sent_cnt;
	struct ring ring;
	uint8_t line_len;
	char line[VSOCK_LINE_MAX];
};

/** struct vsock_stray - A RST to what is no connection of ours */
struct vsock_stray {
	uint32_t guest_port;
	uint32_t host_port;
	uint16_t type;
};

/**
 * struct vsock - The device
 * @settle:	Runs at the end of a batch of events: vsock_settle()
 * @timer:	For the heads of @hello and @closing
 * @conns:	All connections
 * @dead:	Those to be freed at the end of the batch
 * @ready:	Those that have something for the guest, next turn first
 * @hello:	Those in VSOCK_HELLO, by deadline
 * @held:	Those in VSOCK_HELD, in order
 * @closing:	Those in VSOCK_CLOSING, by deadline
 * @table:	By both ports; @table_bits names its size
 * @mult:	Random and odd: the guest cannot make ports collide
 * @guest_max:	Connections the guest may ask for, so that hosts get in too
 * @next_port:	Host port of the next host client
 * @port_wrapped: It has been through all of them
 * @rung:	The bell, since the last reset
 * @rx_starved:	The guest has no receive buffers, and will notify
 * @settling:	vsock_settle() is at it, and needs no calling
 * @pool_left:	Of @cfg.pool
 * @stray:	A ring of RSTs due, @n_strays from @stray_head
 * @dial:	Connections in VSOCK_DIALING, in the connector's order, NULL for
 *		one that was given up; @n_dials from @dial_head
 * @reserve_fd:	Closed to accept, and refuse, when there is no other left
 * @chain:	Scratch, under the device's lock
 */
struct vsock {
	struct virtio_dev vd; /* first */
	struct vsock_config cfg;
	struct loop *loop;
	struct loop_defer settle;
	struct loop_timer timer;
	struct loop_timer listen_timer;
	struct loop_io listen_io;
	struct loop_io connector_io;
	int reserve_fd;
	struct list conns;
	struct list dead;
	struct list ready;
	struct list hello;
	struct list held;
	struct list closing;
	struct vsock_conn **table;
	unsigned int table_bits;
	uint64_t mult[2];
	unsigned int conns_max;
	unsigned int guest_max;
	unsigned int n_conns;
	unsigned int n_guest;
	unsigned int n_held;
	unsigned int n_open;
	uint32_t next_port;
	bool port_wrapped;
	bool rung;
	bool rx_starved;
	bool settling;
	size_t pool_left;
	uint64_t window_sum;
	unsigned int stray_head;
	unsigned int n_strays;
	struct vsock_stray stray[VSOCK_STRAYS_MAX];
	unsigned int dial_head;
	unsigned int n_dials;
	struct vsock_conn *dial[VSOCK_DIALS_MAX];
	struct vsock_stats stats;
	struct virtq_chain chain;
};

/* vsock.c */

/** vsock_schedule() - Have vsock_settle() run when this batch is over */
void vsock_schedule(struct vsock *v);

/** vsock_stray() - Answer what is no connection with a RST, room permitting */
void vsock_stray(struct vsock *v, uint32_t guest_port, uint32_t host_port,
		 uint16_t type);

/** vsock_find() - The connection of both ports, or NULL */
struct vsock_conn *vsock_find(struct vsock *v, uint32_t guest_port,
			      uint32_t host_port);

/** vsock_table_add() - Enter @c, whose ports are set and not in use */
void vsock_table_add(struct vsock *v, struct vsock_conn *c);
void vsock_table_del(struct vsock *v, struct vsock_conn *c);

/* vsock_conn.c */

/**
 * vsock_conn_new() - A connection with a small window; the caller has counted
 * @fd:		Host side, non-blocking, or -1; the caller's still on failure
 *
 * Return: NULL when there is no memory
 */
struct vsock_conn *vsock_conn_new(struct vsock *v, int fd);

/** vsock_conn_ready() - It has something for the guest: let it have a turn */
void vsock_conn_ready(struct vsock_conn *c);

/** vsock_conn_watch() - Watch the host's socket for what matters now */
void vsock_conn_watch(struct vsock_conn *c);

/** vsock_conn_wants_bytes() - Whether the guest may still get any */
bool vsock_conn_wants_bytes(const struct vsock_conn *c);

/** vsock_conn_due() - Send the packet with @op when the turn comes */
void vsock_conn_due(struct vsock_conn *c, enum vsock_op op);

/** vsock_conn_shutdown() - Have the guest told of VSOCK_SHUT_* @flags */
void vsock_conn_shutdown(struct vsock_conn *c, unsigned int flags);

/** vsock_conn_host_end() - The host's socket has no byte, and never will */
void vsock_conn_host_end(struct vsock_conn *c);

/** vsock_conn_guest_end() - All that the guest had to say has been said */
void vsock_conn_guest_end(struct vsock_conn *c);

/** vsock_conn_packet() - The guest sent this; the payload is in v->chain */
void vsock_conn_packet(struct vsock_conn *c, const struct vsock_hdr *h);

/**
 * vsock_conn_fill() - Take a turn: make one packet, if there is one to make
 * @h:		All but CIDs and type filled in
 * @v->chain:	Receives the payload, behind room for the header
 *
 * Joins the ready list again if there is more.
 *
 * Return: bytes of payload; -EAGAIN if there is nothing to send
 */
MUST_CHECK int vsock_conn_fill(struct vsock_conn *c, struct vsock_hdr *h);

/** vsock_conn_open() - Both sides have agreed; watch the host's */
void vsock_conn_open(struct vsock_conn *c);

/** vsock_conn_event() - Something happened to the socket of an open one */
void vsock_conn_event(struct vsock_conn *c, uint32_t events);

/** vsock_conn_reset() - Drop the host's side; the guest gets a RST */
void vsock_conn_reset(struct vsock_conn *c);

/** vsock_conn_guest_gone() - The guest is done; give the host what is left */
void vsock_conn_guest_gone(struct vsock_conn *c);

/** vsock_conn_drop() - Both sides are gone, now */
void vsock_conn_drop(struct vsock_conn *c);

/** vsock_conn_wait() - Put @c last in @list, with @ns from now to go */
void vsock_conn_wait(struct vsock_conn *c, struct list *list, uint64_t ns);

/* vsock_flow.c */

/** vsock_flow_room() - Bytes that the guest has room for and was not sent */
uint32_t vsock_flow_room(const struct vsock_conn *c);

/** vsock_flow_window() - Set the window; the pool gives or takes back */
void vsock_flow_window(struct vsock_conn *c, uint32_t window);

/** vsock_flow_credit() - Note what a packet of the guest says of its credit */
void vsock_flow_credit(struct vsock_conn *c, const struct vsock_hdr *h);

/** vsock_flow_take() - The guest sent @len bytes, in v->chain */
void vsock_flow_take(struct vsock_conn *c, uint32_t len);

/** vsock_flow_flush() - The host's socket has room again */
void vsock_flow_flush(struct vsock_conn *c);

/** vsock_flow_deafen() - The host takes no more: drop what waits, say so */
void vsock_flow_deafen(struct vsock_conn *c);

/** vsock_flow_header() - Fill in @h; it tells the guest our credit too */
void vsock_flow_header(struct vsock_conn *c, struct vsock_hdr *h,
		       enum vsock_op op, uint32_t len);

/**
 * vsock_flow_fill() - Read bytes for the guest into v->chain
 *
 * Return: how many, with @h filled in; -EAGAIN if there are none now
 */
MUST_CHECK int vsock_flow_fill(struct vsock_conn *c, struct vsock_hdr *h);

/* vsock_host.c */

/** vsock_host_start() - Listen. Return: 0 or -errno */
MUST_CHECK int vsock_host_start(struct vsock *v, struct err *e);
void vsock_host_stop(struct vsock *v);

/** vsock_host_ring() - The bell: let those go that waited for it */
void vsock_host_ring(struct vsock *v);

/** vsock_host_dial() - The guest's REQUEST to a host port */
void vsock_host_dial(struct vsock *v, const struct vsock_hdr *h);

/** vsock_host_opened() - The guest has accepted: tell the client. Return: 0 */
MUST_CHECK int vsock_host_opened(struct vsock_conn *c);

/** vsock_host_undial() - Nobody waits any more for the connector's answer */
void vsock_host_undial(struct vsock_conn *c);

/** vsock_host_room() - A descriptor has become free: accept again */
void vsock_host_room(struct vsock *v);

#endif
