/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/fake_vsock.h - a whole socket device with a guest and hosts
 *
 * The guest is a fake_guest that speaks packets; host clients are sockets.
 * One thread: fv_run() serves the device until it has nothing left to do.
 */
#ifndef HUTCH_TESTS_FAKE_VSOCK_H
#define HUTCH_TESTS_FAKE_VSOCK_H

#include <sys/socket.h>
#include <sys/un.h>

#include "tests/lib/fake_guest.h"
#include "vmm/virtio/vsock.h"
#include "vmm/virtio/vsock_pkt.h"

#define FV_QUEUE    128u
#define FV_RX_LEN   4096u  /* of a receive buffer, header included */
#define FV_TX_MAX   65536u /* payload of a packet the guest sends */
#define FV_FEATURES (VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX)

/**
 * struct fake_vsock - Everything
 * @connector:	The connector's end, for the test to answer
 * @rx_max:	Receive buffers the guest offers; lowered, it starves the device
 * @rx_out:	Of these, how many the device has
 * @rx_free:	Stack of the others
 * @bells:	Times the bell has rung
 */
struct fake_vsock {
	struct fake_guest g;
	struct loop loop;
	struct irq irq;
	struct virtio_mmio mmio;
	struct vsock *v;
	struct sockaddr_un addr;
	socklen_t addr_len;
	int connector;
	unsigned int rx_max;
	unsigned int rx_out;
	unsigned int n_free;
	uint16_t rx_free[FV_QUEUE];
	unsigned int bells;
};

/** struct fv_packet - One that the guest got */
struct fv_packet {
	uint32_t guest_port;
	uint32_t host_port;
	unsigned int op;
	unsigned int type;
	uint32_t flags;
	uint32_t buf_alloc;
	uint32_t fwd_cnt;
	uint32_t len;
	uint8_t data[FV_RX_LEN];
};

/**
 * struct fv_conn - What a guest keeps of a connection
 * @buf_alloc:	What we say that we can take
 * @fwd_cnt:	What our program has read
 * @tx_cnt:	Sent
 * @peer_alloc:	From the device's latest packet, as
 * @peer_fwd
 */
struct fv_conn {
	uint32_t guest_port;
	uint32_t host_port;
	uint32_t buf_alloc;
	uint32_t fwd_cnt;
	uint32_t tx_cnt;
	uint32_t peer_alloc;
	uint32_t peer_fwd;
};

/** fv_init() - @cfg: limits, ports and pool as wanted; the rest is set here */
void fv_init(struct fake_vsock *f, const struct vsock_config *cfg);
void fv_done(struct fake_vsock *f);

/** fv_boot() - The guest's driver comes up, with receive buffers */
void fv_boot(struct fake_vsock *f);

/** fv_run() - Serve until nothing happens any more */
void fv_run(struct fake_vsock *f);

/** fv_recv() - The guest's next packet. Return: whether there is one */
bool fv_recv(struct fake_vsock *f, struct fv_packet *p);

/** fv_expect() - The next packet, which must have @op */
void fv_expect(struct fake_vsock *f, struct fv_packet *p, unsigned int op);

/** fv_send_raw() - A packet as it stands; @payload bytes really follow */
void fv_send_raw(struct fake_vsock *f, const struct vsock_hdr *h,
		 const void *data, uint32_t payload);

/** fv_send() - A packet of @c, then fv_run() */
void fv_send(struct fake_vsock *f, struct fv_conn *c, unsigned int op,
	     const void *data, uint32_t len);
void fv_shutdown(struct fake_vsock *f, struct fv_conn *c, uint32_t flags);

/** fv_credit() - What the guest may still send on @c */
uint32_t fv_credit(const struct fv_conn *c);

/** fv_note() - Take the credit out of @p */
void fv_note(struct fv_conn *c, const struct fv_packet *p);

/** fv_starve() - Leave the device @n receive buffers, now and later */
void fv_starve(struct fake_vsock *f, struct fv_conn *c, unsigned int n);

/** fv_packet() - A header that is sound in all but what the test changes */
struct vsock_hdr fv_packet(uint32_t guest_port, uint32_t host_port,
			   unsigned int op);

/** fv_stats() - The device's counters */
struct vsock_stats fv_stats(struct fake_vsock *f);

/** fv_say() - A host client that sends @text, then fv_run() */
int fv_say(struct fake_vsock *f, const char *text);

/** fv_closed() - Whether @fd was closed, with no byte before */
bool fv_closed(int fd);

/** fv_waiting() - Whether @fd is open and has nothing to read */
bool fv_waiting(int fd);

/** fv_client() - A host client, connected, blocking; CONNECT not sent */
int fv_client(struct fake_vsock *f);

/** fv_connect() - A host client talks to guest port @port, all the way */
int fv_connect(struct fake_vsock *f, uint32_t port, struct fv_conn *c);

/** fv_call() - The guest calls host port @port; @ret: the host's socket */
void fv_call(struct fake_vsock *f, struct fv_conn *c, uint32_t guest_port,
	     uint32_t port, int *ret);

#endif
