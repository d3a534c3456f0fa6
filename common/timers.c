/* SPDX-License-Identifier: Apache-2.0 */
/* common/timers.c - see timers.h */
#include "common/timers.h"

static bool is_sooner(const struct loop_timer *a, const struct loop_timer *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->n < b->n;
}

/* Two trees, either may be NULL: the later one becomes the other's first child. */
static struct loop_timer *join(struct loop_timer *a, struct loop_timer *b)
{
	if (!a || !b)
		return a ? a : b;
	if (is_sooner(b, a)) {
		struct loop_timer *swap = a;

		a = b;
		b = swap;
	}
	b->next = a->child;
	b->prev = a;
	if (b->next)
		b->next->prev = b;
	a->child = b;
	a->next = NULL;
	a->prev = NULL;
	return a;
}

/* Children become one tree: by pairs first, and these from the last one on. */
static struct loop_timer *join_all(struct loop_timer *t)
{
	struct loop_timer *pairs = NULL, *all = NULL;

	while (t) {
		struct loop_timer *a = t, *b = t->next;

		t = b ? b->next : NULL;
		a->next = a->prev = NULL;
		if (b)
			b->next = b->prev = NULL;
		a = join(a, b);
		a->next = pairs;
		pairs = a;
	}
	while (pairs) {
		struct loop_timer *a = pairs;

		pairs = a->next;
		a->next = NULL;
		all = join(all, a);
	}
	return all;
}

void timers_add(struct timers *ts, struct loop_timer *t)
{
	t->in = ts;
	t->child = t->next = t->prev = NULL;
	t->n = ts->n_set++;
	ts->soonest = join(ts->soonest, t);
}

void timers_del(struct loop_timer *t)
{
	struct timers *ts = t->in;
	struct loop_timer *below;

	if (!ts)
		return;
	below = join_all(t->child);
	if (t == ts->soonest) {
		ts->soonest = below;
	} else {
		if (t->prev->child == t)
			t->prev->child = t->next;
		else
			t->prev->next = t->next;
		if (t->next)
			t->next->prev = t->prev;
		ts->soonest = join(ts->soonest, below);
	}
	t->in = NULL;
}
