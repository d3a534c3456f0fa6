/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/virtio/vsock.h - socket device (virtio 1.2, 5.10), streams only
 *
 * docs/devices/vsock.md tells what it does for the host and for the guest.
 */
#ifndef HUTCH_VMM_VIRTIO_VSOCK_H
#define HUTCH_VMM_VIRTIO_VSOCK_H

#include "common/loop.h"
#include "vmm/virtio/device.h"

#define VSOCK_CID_HOST  2u
#define VSOCK_CID_GUEST 3u

#define VSOCK_CONNS_DEFAULT 4096u
#define VSOCK_CONNS_MAX     65536u
#define VSOCK_POOL_DEFAULT  (16u << 20)
#define VSOCK_POOL_MAX      (1u << 30)
#define VSOCK_WINDOW_MIN    8192u /* of a new connection */
#define VSOCK_WINDOW_MAX    (256u << 10)
#define VSOCK_HELD_MAX      256u           /* CONNECTs that wait for the bell */
#define VSOCK_DIALS_MAX     128u           /* connects the connector owes us */
#define VSOCK_LINE_MAX      32u            /* "CONNECT <port>\n" */
#define VSOCK_HELLO_NS      10000000000ull /* to finish that line */

struct vsock;

/**
 * struct vsock_config - What a device is made of
 * @loop:	Serves it
 * @listen_fd:	Listening Unix stream socket for host clients; taken over even
 *		on failure, made non-blocking; -1 for none
 * @connector_fd: SOCK_SEQPACKET to whoever makes the guest's connects (see
 *		docs/devices/vsock.md); taken over as well; -1: they get RST
 * @conns_max:	Connections at once, of all kinds; 0: the default. Lowered to
 *		what RLIMIT_NOFILE leaves
 * @fds_taken:	Descriptors of that limit which are for others
 * @pool:	Bytes that windows may grow by, in all; 0: the default
 * @hold_port:	CONNECTs to this guest port wait for the bell; 0: none wait
 * @bell_port:	A guest's connect to this host port is the bell; 0: no bell
 * @bell:	Called when it rings, once until the next device reset; on the
 *		loop thread with the device's lock held: be quick, do not call
 *		into the device
 */
struct vsock_config {
	struct loop *loop;
	int listen_fd;
	int connector_fd;
	unsigned int conns_max;
	unsigned int fds_taken;
	size_t pool;
	uint32_t hold_port;
	uint32_t bell_port;
	void (*bell)(void *ctx);
	void *ctx;
};

/**
 * struct vsock_stats - Counters since start, and what is there now
 * @tx_bytes:	From the guest to host sockets, as accepted from the guest
 * @rx_bytes:	From host sockets to the guest
 * @copied_bytes: Of @tx_bytes, those that had to wait in a ring of ours
 * @opened:	Connections that reached the open state
 * @refused:	Connections refused: no listener, a limit, a bad CONNECT
 * @resets:	RST packets sent to the guest
 * @dropped:	Packets ignored: wrong CID, or an RST that found no room
 * @n_conns:	Connections now, of all kinds
 * @window_bytes: Sum of the windows advertised to the guest now
 * @buffered_bytes: Bytes that wait in rings now
 * @first_byte_ns: CLOCK_MONOTONIC of the first byte from the guest to a
 *		host client; 0 before
 */
struct vsock_stats {
	uint64_t tx_bytes;
	uint64_t rx_bytes;
	uint64_t copied_bytes;
	uint64_t opened;
	uint64_t refused;
	uint64_t resets;
	uint64_t dropped;
	uint64_t n_conns;
	uint64_t window_bytes;
	uint64_t buffered_bytes;
	uint64_t first_byte_ns;
};

/**
 * vsock_new() - Make the device and start to listen on the host's side
 *
 * Clients that connect before the guest is up wait.
 *
 * Context: the loop thread, as for all of these.
 */
MUST_CHECK int vsock_new(const struct vsock_config *cfg, struct vsock **ret,
			 struct err *e);

/** vsock_free() - Close all; after the transport is done with it */
void vsock_free(struct vsock *v);

/**
 * vsock_drain() - The guest has ended: take what it sent last
 *
 * Return: whether bytes of it still wait for hosts to take them
 */
bool vsock_drain(struct vsock *v);

struct virtio_dev *vsock_dev(struct vsock *v);
void vsock_stats(struct vsock *v, struct vsock_stats *ret);

#endif
