/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/vsock_pkt.h - packets of the socket device (virtio 1.2, 5.10.6) */
#ifndef HUTCH_VMM_VIRTIO_VSOCK_PKT_H
#define HUTCH_VMM_VIRTIO_VSOCK_PKT_H

#include "common/le.h"

/**
 * struct vsock_hdr - In front of every packet
 * @len:	Bytes of payload that follow
 * @type:	VSOCK_TYPE_STREAM
 * @op:		VSOCK_OP_*
 * @flags:	VSOCK_SHUT_* of a SHUTDOWN
 * @buf_alloc:	Bytes the sender can take in all, and
 * @fwd_cnt:	bytes it has passed on since the beginning, free-running
 */
struct vsock_hdr {
	le64 src_cid;
	le64 dst_cid;
	le32 src_port;
	le32 dst_port;
	le32 len;
	le16 type;
	le16 op;
	le32 flags;
	le32 buf_alloc;
	le32 fwd_cnt;
};
_Static_assert(sizeof(struct vsock_hdr) == 44, "virtio 1.2, 5.10.6");

#define VSOCK_HDR_LEN ((unsigned int)sizeof(struct vsock_hdr))

#define VSOCK_TYPE_STREAM 1u

enum vsock_op {
	VSOCK_OP_INVALID = 0,
	VSOCK_OP_REQUEST = 1,
	VSOCK_OP_RESPONSE = 2,
	VSOCK_OP_RST = 3,
	VSOCK_OP_SHUTDOWN = 4,
	VSOCK_OP_RW = 5,
	VSOCK_OP_CREDIT_UPDATE = 6,
	VSOCK_OP_CREDIT_REQUEST = 7
};

/* What the sender of a SHUTDOWN will never do again. */
#define VSOCK_SHUT_RCV  1u
#define VSOCK_SHUT_SEND 2u
#define VSOCK_SHUT_BOTH 3u

/* Any port; no port of its own. */
#define VSOCK_PORT_ANY UINT32_MAX

#endif
