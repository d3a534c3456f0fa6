/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/events.c - see events.h */
#include "guest-agent/agent.h"
#include "guest-agent/clock.h"
#include "guest-agent/conn.h"
#include "guest-agent/events.h"

/* What may wait for a subscriber before he misses events. */
#define BACKLOG_MAX (WIRE_DATA_MAX / 2)

static void send_event(struct conn *c, const struct msg_event *m)
{
	uint8_t buf[WIRE_HDR_LEN + sizeof(struct wire_event) + 16 +
		    WIRE_ID_MAX + ERR_MSG_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));

	if (c->out.len > BACKLOG_MAX && m->what != WIRE_EVENT_MAIN_ENDED) {
		c->busy_missed |= m->what == WIRE_EVENT_BUSY;
		return;
	}
	wire_event_put(&wr, m);
	(void)conn_send(c, buf, wr.len);
}

void events_tell(struct agent *a, const struct msg_event *m)
{
	struct list *p, *n;

	if (a->events.n == 0)
		return;
	list_for_each_safe (p, n, &a->conns) {
		struct conn *c = list_entry(p, struct conn, link);

		if (c->state == CONN_EVENTS)
			send_event(c, m);
	}
}

static uint32_t busy_now(const struct agent *a)
{
	return (a->n_clients || !list_empty(&a->waiting) ? WIRE_BUSY_CLIENT
							 : 0) |
	       (a->n_live ? WIRE_BUSY_PROCESS : 0);
}

static struct msg_event busy_event(const struct agent *a)
{
	return (struct msg_event){ .what = WIRE_EVENT_BUSY,
				   .value = busy_now(a),
				   .time_ns = clock_wall_ns(),
				   .id = "",
				   .text = "" };
}

static void on_timer(struct loop_timer *t)
{
	struct agent *a = container_of(t, struct agent, events.timer);
	struct events *ev = &a->events;
	struct msg_event m = busy_event(a);
	uint64_t since = loop_now_ns() - ev->told_ns;

	if (m.value == ev->busy && !ev->touched)
		return;
	if (m.value == ev->busy && since < EVENTS_TOUCH_NS) {
		loop_timer_set(&a->loop, t, EVENTS_TOUCH_NS - since, on_timer);
		return;
	}
	ev->busy = m.value;
	ev->told_ns = loop_now_ns();
	ev->touched = false;
	events_tell(a, &m);
}

void events_touch(struct agent *a)
{
	struct events *ev = &a->events;

	if (ev->n == 0)
		return;
	ev->touched = true;
	/* One that waits for a second to pass may be too late for a change. */
	if (!loop_timer_is_set(&ev->timer) ||
	    (busy_now(a) != ev->busy &&
	     ev->timer.at_ns > loop_now_ns() + EVENTS_BUSY_NS))
		loop_timer_set(&a->loop, &ev->timer, EVENTS_BUSY_NS, on_timer);
}

void events_subscribe(struct conn *c)
{
	struct agent *a = c->a;
	struct msg_event problem = { .what = WIRE_EVENT_BOOT_PROBLEM,
				     .time_ns = clock_wall_ns(),
				     .id = "",
				     .text = a->boot_problem };
	const struct msg_event failed = { .what = WIRE_EVENT_BOOT_FAILED,
					  .time_ns = problem.time_ns,
					  .id = "",
					  .text = a->boot_failed };
	struct msg_event busy = busy_event(a);

	c->state = CONN_EVENTS;
	c->subscribed = true;
	if (a->events.n++ == 0) {
		a->events.busy = busy.value;
		a->events.told_ns = loop_now_ns();
	}
	if (*a->boot_problem)
		send_event(c, &problem);
	if (*a->boot_failed && c->state == CONN_EVENTS)
		send_event(c, &failed);
	if (a->main.ended && c->state == CONN_EVENTS)
		send_event(c, &a->main.event);
	/* Who waits for it to learn that all is well waits for ever. */
	if (c->state == CONN_EVENTS && !*a->boot_failed)
		send_event(c, &busy);
}

void events_resume(struct conn *c)
{
	struct msg_event busy = busy_event(c->a);

	if (!c->busy_missed)
		return;
	c->busy_missed = false;
	send_event(c, &busy);
}

void events_leave(struct conn *c)
{
	if (c->subscribed)
		c->a->events.n--;
	c->subscribed = false;
}
