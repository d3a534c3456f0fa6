/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/shutdown.c - see shutdown.h */
#include <signal.h>

#include "guest-agent/agent.h"
#include "guest-agent/cgroup.h"
#include "guest-agent/conn.h"
#include "guest-agent/process.h"
#include "guest-agent/shutdown.h"
#include "guest-agent/tunnel.h"

#define NS_PER_MS 1000000ull

static void power_off(struct loop_timer *t)
{
	struct agent *a = container_of(t, struct agent, stop_timer);

	a->ops->power_off(a);
}

/* Clients that are still owed the end of their process, or of a server's. */
static bool owes(const struct agent *a)
{
	struct list *p;

	list_for_each (p, &a->conns) {
		const struct conn *c = list_entry(p, struct conn, link);

		if (c->proc)
			return true;
	}
	return tunnels_owe(a);
}

static void on_grace_over(struct loop_timer *t)
{
	struct agent *a = container_of(t, struct agent, stop_timer);
	struct list *p;

	/* Also what moved itself out of its process's cgroup. */
	list_for_each (p, &a->live)
		proc_signal(list_entry(p, struct proc, link), SIGKILL,
			    WIRE_SCOPE_TREE);
	if (cgroup_kill(a->cgroups.work) < 0 && a->cgroups.work >= 0)
		log_warn(&a->log, "shutdown: cgroup.kill does not work");
	a->killed = true;
	/* What survives SIGKILL sleeps in the kernel: do not wait for ever. */
	loop_timer_set(&a->loop, &a->stop_timer, AGENT_LAST_WAIT_MS * NS_PER_MS,
		       power_off);
	shutdown_progress(a);
}

void shutdown_begin(struct agent *a, uint32_t grace_ms)
{
	uint64_t ns = grace_ms * NS_PER_MS;
	struct list *p;

	if (a->killed)
		return;
	a->stopping = true;
	list_for_each (p, &a->live)
		proc_terminate(list_entry(p, struct proc, link));
	/* Asked again: never later than was promised before. */
	if (!loop_timer_is_set(&a->stop_timer) ||
	    a->stop_timer.at_ns > loop_now_ns() + ns)
		loop_timer_set(&a->loop, &a->stop_timer, ns, on_grace_over);
	shutdown_progress(a);
}

void shutdown_progress(struct agent *a)
{
	if (!a->stopping || a->n_live)
		return;
	if (owes(a)) {
		/* Let them take it, but not for ever. */
		if (!a->killed) {
			a->killed = true;
			loop_timer_set(&a->loop, &a->stop_timer,
				       AGENT_LAST_WAIT_MS * NS_PER_MS,
				       power_off);
		}
		return;
	}
	a->killed = true;
	loop_timer_set(&a->loop, &a->stop_timer, 0, power_off);
}
