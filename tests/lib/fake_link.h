/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/fake_link.h - a link that fails, and waits, as a test says
 *
 * It is always ready to send, and what is sent goes nowhere.  What it receives
 * has no bytes of its own but the header, if it has one.
 */
#ifndef HUTCH_TESTS_FAKE_LINK_H
#define HUTCH_TESTS_FAKE_LINK_H

#include <pthread.h>

#include "vmm/net/link.h"

/**
 * struct fake_link - All below @lock is under it
 * @fd:		Never to be read from, always to be written to
 * @changed:	Broadcast when any of it changes
 * @hold:	Sending and receiving wait while this is so
 * @n_held:	Frames that wait there
 * @n_sent:	And frames that went
 * @lose:	The next to send is not taken, and the link is gone by then
 * @in_code:	What receiving returns if there is no frame
 * @n_fail:	So many times -ENOBUFS before that
 * @n_in:	Frames to receive
 * @in_len:	Bytes of each
 * @in_type:	What is in the header as gso_type
 * @n_spread:	Queues that it has, if those are not more than @spread_max
 */
struct fake_link {
	struct net_link link;
	int fd;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool hold;
	unsigned int n_held;
	unsigned int n_sent;
	bool lose;
	int in_code;
	unsigned int n_fail;
	unsigned int n_in;
	size_t in_len;
	uint8_t in_type;
	unsigned int n_spread;
	unsigned int spread_max;
};

/** fake_link_new() - Freed with its device */
struct fake_link *fake_link_new(unsigned int n_queues, bool vnet);

/** fake_link_await() - Wait until *@what, a field under the lock, is @n */
void fake_link_await(struct fake_link *f, const unsigned int *what,
		     unsigned int n);

/** fake_link_hold() - Hold what is sent, or let it go */
void fake_link_hold(struct fake_link *f, bool hold);

/** fake_link_set() - *@what, a field under the lock, is @n from now on */
void fake_link_set(struct fake_link *f, unsigned int *what, unsigned int n);

#endif
