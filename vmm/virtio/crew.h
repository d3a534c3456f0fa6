/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/virtio/crew.h - the threads of a device that has some of its own
 *
 * They begin together: each locks itself in first, and the device is started when
 * all have, or one could not.
 */
#ifndef HUTCH_VMM_VIRTIO_CREW_H
#define HUTCH_VMM_VIRTIO_CREW_H

#include "common/err.h"
#include "vmm/virtio/device.h"

/**
 * struct crew - All but the first four is under the device's lock
 * @what:	For sentences: "fs"
 * @vd:		The device
 * @calm:	Its condition; broadcast when one has begun
 * @jail:	What each calls first; or NULL. Return: -errno with a sentence
 * @jail_error:	Of the first thread that could not be jailed, or 0
 * @n_made:	Threads that there are
 * @n_begun:	Threads past @jail
 */
struct crew {
	const char *what;
	struct virtio_dev *vd;
	pthread_cond_t *calm;
	int (*jail)(struct err *e);
	int jail_error;
	struct err jail_text;
	unsigned int n_made;
	unsigned int n_begun;
};

/**
 * crew_add() - Make a thread, which no signal is for
 * @ret:	For pthread_join(), in the order in which they are made
 * @fn:		Calls crew_begin() first
 *
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int crew_add(struct crew *c, pthread_t *ret, void *(*fn)(void *),
			void *arg, struct err *e);

/**
 * crew_begin() - In the thread: be jailed
 *
 * Return: 0 or -errno, with the device's lock held
 */
MUST_CHECK int crew_begin(struct crew *c);

/** crew_wait() - Until all have begun. Return: 0; -errno if one is not jailed */
MUST_CHECK int crew_wait(struct crew *c, struct err *e);

#endif
