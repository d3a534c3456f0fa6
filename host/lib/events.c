/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/events.c - read what has happened to VMs (hutch_events_*)
 *
 * How it works.  Each VM is a source, with at most one event waiting; the
 * oldest that waits is next.  When none waits there may be new VMs, and ends
 * that nobody has written down: of a VM whose keeper was killed the record
 * says "lost", and so does the event that is made up here.  What is only read
 * once is taken into memory at the start; a VM that is followed keeps its files
 * open, so that its last words are read even if it leaves nothing behind.
 */
#include <errno.h>
#include <string.h>

#include "host/lib/eventsrc.h"
#include "host/lib/internal.h"
#include "host/lib/record.h"
#include "host/lib/vmdir.h"

/* ---- Opening ---- */

static int start_following(struct hutch_events *ev)
{
	int r = vmwatch_open(&ev->follow);

	if (r < 0 || !ev->all)
		return r;
	ev->root_wd = vmwatch_dir(&ev->follow, ev->h->state_fd);
	return MIN(ev->root_wd, 0);
}

static int open_events(struct hutch_events *ev, const char *name, struct err *e)
{
	AUTO(record_freep) struct hutch_record *rec = NULL;
	int r = name ? vmdir_read(ev->h, name, &rec, e) : 0;

	if (r < 0)
		return r;
	if (ev->following)
		r = start_following(ev);
	if (r == 0)
		r = name ? source_add(ev, name) : MIN(source_find_new(ev), 0);
	return r < 0 ? err_set(e, r, "cannot read the events: %s", strerror(-r))
		     : 0;
}

int hutch_events_open(struct hutch *h, const char *name, unsigned int flags,
		      struct hutch_events **ret, struct hutch_err *e)
{
	struct hutch_events *ev;
	int r = name ? name_check(name, err_of(e)) : 0;

	if (r == 0 && (flags & ~HUTCH_EVENTS_FOLLOW))
		r = err_set(err_of(e), -EINVAL, "events: unknown flags %#x",
			    flags & ~HUTCH_EVENTS_FOLLOW);
	if (r < 0)
		return r;
	ev = calloc(1, sizeof(*ev));
	if (!ev)
		return err_set(err_of(e), -ENOMEM, "no memory");
	ev->h = h;
	ev->all = !name;
	ev->following = flags & HUTCH_EVENTS_FOLLOW;
	ev->follow = (struct vmwatch)VMWATCH_INIT;
	ev->root_wd = -1;
	r = open_events(ev, name, err_of(e));
	if (r < 0) {
		hutch_events_close(ev);
		return r;
	}
	*ret = ev;
	return 0;
}

void hutch_events_close(struct hutch_events *ev)
{
	if (!ev)
		return;
	for (size_t i = 0; i < ev->n; i++)
		source_free(ev, ev->src[i]);
	free(ev->src);
	eventlog_line_done(&ev->last);
	vmwatch_close(&ev->follow);
	free(ev);
}

int hutch_events_fd(const struct hutch_events *ev)
{
	return ev->follow.epfd;
}

/* ---- Reading ---- */

/* Return: 1 if something may be there now, 0 if not, -errno. */
static int look_again(struct hutch_events *ev)
{
	int n = ev->look ? source_find_new(ev) : 0;

	/* What they have to say comes before what we would make up. */
	if (n != 0)
		return MIN(n, 1);
	for (size_t i = 0; i < ev->n; i++) {
		struct source *s = ev->src[i];

		if (s->dead)
			continue;
		if (s->ended && !s->told) {
			source_make_up_end(s);
			n++;
		} else if (ev->following && !s->ended && source_ended(ev, s)) {
			s->ended = true; /* now read what is left of it */
			n++;
		}
	}
	return MIN(n, 1);
}

static struct source *oldest(struct hutch_events *ev)
{
	struct source *best = NULL;

	for (size_t i = 0; i < ev->n; i++) {
		struct source *s = ev->src[i];

		if (!s->dead && source_fill(s) &&
		    (!best || s->line.ev.time_ns < best->line.ev.time_ns))
			best = s;
	}
	return best;
}

/* Those that have told all; not sooner, as their strings were lent out. */
static void reap(struct hutch_events *ev)
{
	size_t n = 0;

	for (size_t i = 0; i < ev->n; i++) {
		struct source *s = ev->src[i];

		if (!s->dead && s->told && !s->waits && ev->following)
			source_done(ev, s);
		if (s->dead && !ev->all)
			source_free(ev, s);
		else
			ev->src[n++] = s;
	}
	ev->n = n;
}

int hutch_events_next(struct hutch_events *ev, struct hutch_vm_event *ret,
		      struct hutch_err *e)
{
	struct source *s;
	int r = 1;

	eventlog_line_done(&ev->last);
	reap(ev);
	if (vmwatch_clear(&ev->follow, ev->root_wd) && ev->all)
		ev->look = true;
	while (!(s = oldest(ev)) && r > 0)
		r = look_again(ev);
	if (s) {
		*ret = s->line.ev;
		ev->last = s->line;
		s->line = (struct eventlog_line){ 0 };
		s->waits = false;
		return 1;
	}
	if (r < 0)
		return err_set(err_of(e), r, "cannot read the events: %s",
			       strerror(-r));
	reap(ev);
	if (ev->following && !ev->all && ev->n == 0)
		return err_set(err_of(e), -ENODATA, "the VM has ended");
	return 0;
}

int hutch_events_wait(struct hutch_events *ev, struct hutch_vm_event *ret,
		      int timeout_ms, struct hutch_err *e)
{
	uint64_t end = deadline_in(timeout_ms);

	for (;;) {
		int r = hutch_events_next(ev, ret, e);

		if (r != 0 || !ev->following)
			return r;
		r = vmwatch_wait(&ev->follow, end, err_of(e));
		if (r <= 0)
			return r;
	}
}
