/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/virtio/bell.h - what threads of a device wait for
 *
 * An eventfd that the driver's notifications go to, and an epoll that tells of
 * each ring once: so one of the threads that wait wakes up, straight from the
 * guest, and the others sleep on.  When nobody waits the ring is kept for the
 * next who does; rings that nobody heard yet are one.
 */
#ifndef HUTCH_VMM_VIRTIO_BELL_H
#define HUTCH_VMM_VIRTIO_BELL_H

#include <stdbool.h>

#include "common/base.h"

/**
 * struct bell - Two descriptors
 * @fd:		The eventfd; it is never read
 * @ep:		Of epoll, edge-triggered
 */
struct bell {
	int fd;
	int ep;
};

/** bell_open() - Return: 0 or -errno; then there is nothing to close */
MUST_CHECK int bell_open(struct bell *b);
void bell_close(struct bell *b);

/** bell_ring() - Wake one who waits. Context: any thread */
void bell_ring(const struct bell *b);

/**
 * bell_wait() - Until it rings, or sooner
 * @timeout_ms:	-1 for ever
 *
 * Context: any thread, several at once.
 *
 * Return: false if the time is over
 */
bool bell_wait(const struct bell *b, int timeout_ms);

#endif
