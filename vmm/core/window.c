/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/core/window.c - see window.h */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vmm/core/window.h"

#define PAGE 4096ull

static void lock(struct window *w)
{
	(void)pthread_mutex_lock(&w->lock);
}

static void unlock(struct window *w)
{
	(void)pthread_mutex_unlock(&w->lock);
}

/*
 * Zero pages, in place of what is there.  If it fails nothing has changed: the
 * kernel looks for room before it takes anything away.
 */
static int lay_zeros(uint8_t *at, uint64_t len)
{
	void *p = mmap(at, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
		       -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	(void)madvise(at, len, MADV_DONTDUMP);
	return 0;
}

/*
 * Some of a slot's pages of its file, in place of what is there.  Not by
 * MAP_FIXED: if the file system then refused, what was there would be gone, and
 * the next malloc() of another thread could come to lie in the guest's memory.
 * So it is mapped elsewhere, which may fail, and moved.
 */
static int lay_file(uint8_t *slot_at, const struct window_slot *s,
		    uint64_t from, uint64_t len)
{
	int kind = s->writable ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE;
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, kind, s->fd,
		       (off_t)(s->file_off + from));

	if (p == MAP_FAILED)
		return -errno;
	(void)madvise(p, len, MADV_DONTDUMP);
	if (mremap(p, len, len, MREMAP_MAYMOVE | MREMAP_FIXED,
		   slot_at + from) == MAP_FAILED) {
		int r = -errno;

		(void)munmap(p, len);
		/* Whether it left a hole is not known: there must be none. */
		bug_on(lay_zeros(slot_at + from, len) < 0);
		return r;
	}
	return 0;
}

int window_init(struct window *w, uint64_t len, struct err *e)
{
	uint64_t room = len + WINDOW_SLOT, skip;
	uint8_t *p;

	bug_on(len == 0 || len % WINDOW_SLOT || len > WINDOW_LEN_MAX);
	memset(w, 0, sizeof(*w));
	w->slot = calloc(len / WINDOW_SLOT, sizeof(*w->slot));
	if (!w->slot)
		return err_set(e, -ENOMEM, "window: no memory");
	for (uint64_t i = 0; i < len / WINDOW_SLOT; i++)
		w->slot[i].fd = -1;
	p = mmap(NULL, room, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) {
		int r = -errno;

		free(w->slot);
		w->slot = NULL;
		return err_set(e, r, "window of %llu bytes: %s",
			       (unsigned long long)len, strerror(-r));
	}
	skip = -(uintptr_t)p & (WINDOW_SLOT - 1);
	if (skip)
		(void)munmap(p, skip);
	if (skip < WINDOW_SLOT)
		(void)munmap(p + skip + len, WINDOW_SLOT - skip);
	w->hva = p + skip;
	w->len = len;
	(void)madvise(w->hva, len, MADV_DONTDUMP);
	/* Does not fail with default attributes. */
	bug_on(pthread_mutex_init(&w->lock, NULL) != 0);
	return 0;
}

void window_done(struct window *w)
{
	if (!w->hva)
		return;
	for (uint64_t i = 0; i < w->len / WINDOW_SLOT; i++)
		base_closep(&w->slot[i].fd);
	(void)munmap(w->hva, w->len);
	(void)pthread_mutex_destroy(&w->lock);
	free(w->slot);
	memset(w, 0, sizeof(*w));
}

/* The slot's pages have gone already. */
static void forget(struct window *w, struct window_slot *s)
{
	if (s->fd < 0)
		return;
	if (s->good < WINDOW_SLOT)
		atomic_fetch_sub(&w->n_mended, 1);
	w->n_mapped--;
	drop_fd(&s->fd);
}

/* Also of one without a file: what the guest wrote there goes. */
static int empty_slot(struct window *w, uint64_t i)
{
	int r = lay_zeros(w->hva + i * WINDOW_SLOT, WINDOW_SLOT);

	if (r == 0)
		forget(w, &w->slot[i]);
	return r;
}

/* Bytes of the slot up to the end of its file, in whole pages. */
static uint64_t file_part(const struct window_slot *s)
{
	/* Not fstat(): a vCPU's thread need not look at files by name. */
	off_t size = lseek(s->fd, 0, SEEK_END);
	uint64_t left;

	if (size < 0 || (uint64_t)size <= s->file_off)
		return 0;
	left = (uint64_t)size - s->file_off;
	if (left >= WINDOW_SLOT)
		return WINDOW_SLOT;
	return (left + PAGE - 1) & ~(PAGE - 1);
}

static bool mend_slot(struct window *w, uint64_t i)
{
	struct window_slot *s = &w->slot[i];
	uint64_t end = file_part(s);

	if (end >= s->good ||
	    lay_zeros(w->hva + i * WINDOW_SLOT + end, s->good - end) < 0)
		return false;
	if (s->good == WINDOW_SLOT)
		atomic_fetch_add(&w->n_mended, 1);
	s->good = end;
	return true;
}

static int fill_slot(struct window *w, uint64_t i, const struct window_piece *p)
{
	struct window_slot s = { .fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 0),
				 .tag = p->tag,
				 .file_off = p->file_off + i * WINDOW_SLOT -
					     p->off,
				 .writable = p->writable,
				 .good = WINDOW_SLOT };
	int r;

	if (s.fd < 0)
		return -errno;
	r = lay_file(w->hva + i * WINDOW_SLOT, &s, 0, WINDOW_SLOT);
	if (r < 0) {
		base_closep(&s.fd);
		return r;
	}
	forget(w, &w->slot[i]);
	w->slot[i] = s;
	w->n_mapped++;
	/*
	 * At once: to cut a mapping within 2 MiB takes all of these from the
	 * guest, who would touch each page for the first time once more.
	 */
	(void)mend_slot(w, i);
	return 0;
}

static void check_range(const struct window *w, uint64_t off, uint64_t len)
{
	bug_on(off % WINDOW_SLOT || len % WINDOW_SLOT || len == 0);
	bug_on(off >= w->len || len > w->len - off);
}

int window_map(struct window *w, const struct window_piece *p)
{
	uint64_t first = p->off / WINDOW_SLOT, n = p->len / WINDOW_SLOT, i;
	int r = 0;

	check_range(w, p->off, p->len);
	lock(w);
	for (i = 0; r == 0 && i < n; i++)
		r = fill_slot(w, first + i, p);
	/* Half of it is nothing that anybody asked for. */
	while (r < 0 && i-- > 0)
		(void)empty_slot(w, first + i);
	unlock(w);
	return r;
}

int window_unmap(struct window *w, uint64_t off, uint64_t len)
{
	uint64_t first = off / WINDOW_SLOT, n = len / WINDOW_SLOT;
	int r = 0;

	check_range(w, off, len);
	lock(w);
	for (uint64_t i = 0; r == 0 && i < n; i++)
		r = empty_slot(w, first + i);
	unlock(w);
	return r;
}

void window_clear(struct window *w)
{
	lock(w);
	/* One mapping in place of many: there is room for that. */
	bug_on(lay_zeros(w->hva, w->len) < 0);
	for (uint64_t i = 0; i < w->len / WINDOW_SLOT; i++)
		forget(w, &w->slot[i]);
	unlock(w);
}

unsigned int window_mend(struct window *w)
{
	unsigned int n = 0;

	lock(w);
	for (uint64_t i = 0; i < w->len / WINDOW_SLOT; i++)
		if (w->slot[i].fd >= 0)
			n += mend_slot(w, i);
	w->mends += n;
	unlock(w);
	return n;
}

/*
 * Of a shared mapping only what was added, which the kernel joins to what is
 * there.  A private one may have pages of its own, and then is not joined: a
 * file that grows page by page would be as many mappings.
 */
static void heal_slot(struct window *w, uint64_t i)
{
	struct window_slot *s = &w->slot[i];
	uint64_t end = file_part(s), from = s->writable ? s->good : 0;

	if (end <= s->good)
		return;
	if (lay_file(w->hva + i * WINDOW_SLOT, s, from, end - from) < 0) {
		(void)empty_slot(w, i);
		return;
	}
	s->good = end;
	if (end == WINDOW_SLOT)
		atomic_fetch_sub(&w->n_mended, 1);
}

static void heal(struct window *w, bool all, uint64_t tag)
{
	/* Who needs it has a request behind the mend, in whatever way. */
	if (atomic_load(&w->n_mended) == 0)
		return;
	lock(w);
	for (uint64_t i = 0; i < w->len / WINDOW_SLOT; i++)
		if (w->slot[i].fd >= 0 && w->slot[i].good < WINDOW_SLOT &&
		    (all || w->slot[i].tag == tag))
			heal_slot(w, i);
	unlock(w);
}

void window_heal(struct window *w, uint64_t tag)
{
	heal(w, false, tag);
}

void window_heal_all(struct window *w)
{
	heal(w, true, 0);
}

bool window_tend(struct window *w)
{
	struct window_stats s;

	(void)window_mend(w);
	window_heal_all(w);
	window_stats(w, &s);
	return s.n_mapped > 0;
}

void window_stats(struct window *w, struct window_stats *ret)
{
	lock(w);
	*ret = (struct window_stats){ .n_mapped = w->n_mapped,
				      .mends = w->mends };
	unlock(w);
}
