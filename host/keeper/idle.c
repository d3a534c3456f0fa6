/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/keeper/idle.c - when somebody last did something, and when to give up
 *
 * The agent tells BUSY when a client comes or goes, a process starts or ends,
 * and when a short request was served.  The clock of the idle time-out runs
 * while nobody is attached (nor, if asked for, a process runs) and starts anew
 * at each activity.  It starts when the guest is ready: booting is not idling.
 */
#include "common/wire.h"
#include "host/keeper/keeper.h"
#include "host/lib/internal.h"

#define NS_PER_MS 1000000ull

/* How much later than the activity the record may say so. */
#define SAVE_MS 3000

static void on_save(struct loop_timer *t)
{
	keeper_save(container_of(t, struct keeper, save_timer));
}

static void touch(struct keeper *k)
{
	k->rec->last_activity_ns = now_ns();
	if (!loop_timer_is_set(&k->save_timer))
		loop_timer_set(&k->loop, &k->save_timer, SAVE_MS * NS_PER_MS,
			       on_save);
}

static void on_idle(struct loop_timer *t)
{
	static const struct cause idle = { .reason = HUTCH_REASON_IDLE };
	struct keeper *k = container_of(t, struct keeper, idle_timer);

	keeper_tell(k, "idle");
	keeper_end(k, &idle, (int)k->rec->grace_ms);
}

static void start_clock(struct keeper *k)
{
	if (k->rec->idle_timeout_ms && !k->ending && !k->gone)
		loop_timer_set(&k->loop, &k->idle_timer,
			       k->rec->idle_timeout_ms * NS_PER_MS, on_idle);
}

static bool is_busy(const struct keeper *k, unsigned int value)
{
	return (value & WIRE_BUSY_CLIENT) ||
	       (k->rec->keep_alive_processes && (value & WIRE_BUSY_PROCESS));
}

/* A process that ends by itself, and what there is at first, are no activity */
static bool is_activity(unsigned int was, unsigned int now)
{
	return now == was || ((was | now) & WIRE_BUSY_CLIENT) ||
	       (now & ~was & WIRE_BUSY_PROCESS);
}

void idle_ready(struct keeper *k)
{
	start_clock(k);
}

void idle_note(struct keeper *k, unsigned int value)
{
	unsigned int was = k->busy;
	bool activity = k->busy_known ? is_activity(was, value)
				      : value & WIRE_BUSY_CLIENT;

	k->busy = value;
	k->busy_known = true;
	if (activity)
		touch(k);
	if (is_busy(k, value))
		loop_timer_cancel(&k->idle_timer);
	else if (activity || is_busy(k, was))
		start_clock(k);
}

void idle_lost(struct keeper *k)
{
	if (!loop_timer_is_set(&k->idle_timer))
		start_clock(k);
}
