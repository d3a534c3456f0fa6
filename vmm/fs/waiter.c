/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/waiter.c - see waiter.h */
#include <errno.h>
#include <string.h>

#include "vmm/fs/handle.h"
#include "vmm/fs/req.h"
#include "vmm/fs/waiter.h"

/* The lock is held, here and below. Return: its place, or @n_waiters */
static unsigned int find(const struct fs_server *s, uint64_t unique)
{
	unsigned int i = 0;

	while (i < s->n_waiters && s->waiters[i].unique != unique)
		i++;
	return i;
}

static void take_out(struct fs_server *s, unsigned int i)
{
	s->n_waiters--;
	memmove(&s->waiters[i], &s->waiters[i + 1],
		(s->n_waiters - i) * sizeof(s->waiters[0]));
}

static void add(struct fs_server *s, const struct fuse_in_header *h)
{
	/* The oldest; if it does come again it is known again. */
	if (s->n_waiters == FS_WAITERS_MAX)
		take_out(s, 0);
	s->waiters[s->n_waiters++] =
		(struct fs_waiter){ .unique = h->unique, .tid = h->pid };
}

int fs_waiter_tried(const struct fs_req *r, int e)
{
	struct fs_server *s = r->s;
	unsigned int i;

	fs_lock(s);
	i = find(s, r->h.unique);
	if (i == s->n_waiters) {
		if (e == -EAGAIN)
			add(s, &r->h);
	} else if (e == -EAGAIN && s->waiters[i].over) {
		e = -EINTR;
	}
	if (e != -EAGAIN && i < s->n_waiters)
		take_out(s, i);
	fs_unlock(s);
	return e == -EAGAIN ? FS_LATER : e;
}

void fs_waiter_forget(struct fs_server *s, uint64_t unique)
{
	unsigned int i;

	fs_lock(s);
	i = find(s, unique);
	if (i < s->n_waiters)
		take_out(s, i);
	fs_unlock(s);
}

void fs_waiters_forget_all(struct fs_server *s)
{
	fs_lock(s);
	s->n_waiters = 0;
	fs_unlock(s);
}

void fs_waiter_interrupt(struct fs_server *s, uint64_t unique)
{
	bool found;
	unsigned int i;

	fs_lock(s);
	i = find(s, unique);
	found = i < s->n_waiters;
	if (found)
		s->waiters[i].over = true;
	fs_unlock(s);
	if (found)
		fs_waiters_again(s);
}

int fs_waiter_killed(struct fs_server *s, uint32_t tid)
{
	bool found = false;

	fs_lock(s);
	for (unsigned int i = 0; i < s->n_waiters; i++) {
		if (s->waiters[i].tid != tid)
			continue;
		s->waiters[i].over = true;
		found = true;
	}
	fs_unlock(s);
	if (!found)
		return -ENODATA;
	fs_waiters_again(s);
	return 0;
}

void fs_waiters_again(const struct fs_server *s)
{
	if (s->o.freed)
		s->o.freed(s->o.freed_ctx);
}
