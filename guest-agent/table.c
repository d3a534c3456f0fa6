/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/table.c - see table.h */
#include <errno.h>
#include <string.h>

#include "guest-agent/agent.h"
#include "guest-agent/process.h"
#include "guest-agent/table.h"

static struct proc *find_in(const struct list *head, const char *id)
{
	struct list *l;

	list_for_each (l, head) {
		struct proc *p = list_entry(l, struct proc, link);
		bool forgotten = p->fetched && p->state == PROC_EXITED;

		if (!forgotten && strcmp(p->id, id) == 0)
			return p;
	}
	return NULL;
}

struct proc *table_find(const struct agent *a, const char *id)
{
	struct proc *p = find_in(&a->live, id);

	return p ? p : find_in(&a->ended, id);
}

struct proc *table_find_pid(const struct agent *a, pid_t pid)
{
	struct list *l;

	list_for_each (l, &a->live) {
		struct proc *p = list_entry(l, struct proc, link);

		if (p->pid == pid && p->state < PROC_LINGERING)
			return p;
	}
	return NULL;
}

struct proc *table_next(const struct agent *a, uint64_t nr)
{
	const struct list *heads[] = { &a->live, &a->ended };
	struct proc *found = NULL;
	struct list *l;

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		list_for_each (l, heads[i]) {
			struct proc *p = list_entry(l, struct proc, link);

			if (p->nr < nr || (found && p->nr > found->nr) ||
			    (p->fetched && p->state == PROC_EXITED))
				continue;
			found = p;
		}
	return found;
}

int table_room(struct agent *a, struct err *e)
{
	struct list *l;

	if (a->n_live + a->n_ended < AGENT_PROCS_MAX)
		return 0;
	list_for_each (l, &a->ended) {
		struct proc *p = list_entry(l, struct proc, link);

		/* One that a client still reads stays until he has gone. */
		if (!list_empty(&p->clients))
			continue;
		proc_free(p);
		return 0;
	}
	return err_set(e, -EAGAIN, "%u processes are there, which is the limit",
		       a->n_live + a->n_ended);
}

bool table_reclaim(struct agent *a)
{
	size_t used = a->pool.used;
	struct list *l;

	list_for_each (l, &a->ended) {
		struct proc *p = list_entry(l, struct proc, link);

		/* Somebody else may hold its pipes, and write yet. */
		if (!list_empty(&p->clients) || p->out[0].fd >= 0 ||
		    p->out[1].fd >= 0)
			continue;
		for (int i = 0; i < 2; i++)
			store_done(&p->out[i].store);
		if (a->pool.used < used)
			return true;
	}
	return false;
}

void table_count(const struct agent *a, uint32_t *ret_running,
		 uint32_t *ret_lingering)
{
	struct list *l;

	*ret_running = 0;
	*ret_lingering = 0;
	list_for_each (l, &a->live) {
		const struct proc *p = list_entry(l, struct proc, link);

		if (p->state == PROC_LINGERING)
			(*ret_lingering)++;
		else
			(*ret_running)++;
	}
}
