/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/events.h - tell subscribers what happens */
#ifndef HUTCH_GUEST_AGENT_EVENTS_H
#define HUTCH_GUEST_AGENT_EVENTS_H

#include "common/loop.h"
#include "common/wire.h"

struct agent;
struct conn;
struct proc;

/*
 * BUSY is told so long after its value has changed, so that a short command
 * costs one frame and not four...
 */
#define EVENTS_BUSY_NS (50ull * 1000 * 1000)

/* ...and so long after the last one if there was only some activity. */
#define EVENTS_TOUCH_NS (1000ull * 1000 * 1000)

/**
 * struct events - Who listens, and what he knows
 * @n:		Subscribers
 * @busy:	What BUSY said last
 * @told_ns:	When; CLOCK_MONOTONIC
 * @touched:	There was activity since
 */
struct events {
	unsigned int n;
	uint32_t busy;
	uint64_t told_ns;
	bool touched;
	struct loop_timer timer;
};

/** events_subscribe() - Serve EVENTS: tell what was, then what comes */
void events_subscribe(struct conn *c);

/** events_leave() - It is no subscriber any more, if it was */
void events_leave(struct conn *c);

/**
 * events_tell() - Tell all who have subscribed
 *
 * Those who do not read miss all but MAIN_ENDED, and of BUSY the latest.
 */
void events_tell(struct agent *a, const struct msg_event *m);

/** events_resume() - It reads again: tell what it must not have missed */
void events_resume(struct conn *c);

/** events_touch() - There was activity, and BUSY may have changed */
void events_touch(struct agent *a);

#endif
