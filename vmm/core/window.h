/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/core/window.h - a piece of guest memory into which files are mapped
 *
 * How it works.  A window is a range of the host's address space that the
 * guest has as a memory slot.  It is cut into slots of 2 MiB.  A slot is either
 * empty, which is zero pages that are the guest's own, or has a piece of a file
 * in it.  A file that is mapped to be written is mapped shared; one that is
 * mapped to be read is mapped private, so that what a guest writes all the same
 * stays in a page of its own, and reaches no file.
 *
 * A page past the end of its file cannot be had.  A system call that is given
 * it fails; the monitor itself would be killed by SIGBUS if it touched one, so
 * nobody here ever does (mem.h).  KVM_RUN fails if the guest has its interrupts
 * off; else KVM waits for the page, for ever, and tells nobody.  So somebody
 * has to look from time to time: window_mend() lays zero pages over all that is
 * past the ends of files; window_heal() takes them away where files have grown
 * since.
 *
 * Context: any thread, several at once; what is done to a window is done under
 * its lock, with system calls.
 */
#ifndef HUTCH_VMM_CORE_WINDOW_H
#define HUTCH_VMM_CORE_WINDOW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/* As Linux maps them; a power of two. */
#define WINDOW_SLOT_SHIFT 21u
#define WINDOW_SLOT       (1ull << WINDOW_SLOT_SHIFT)

/*
 * Each slot is at most two mappings of the process, which may have 65,530, and
 * a descriptor.
 */
#define WINDOW_LEN_MAX (1ull << 30)

/**
 * struct window_slot - A piece of a file, or none
 * @fd:		The file, owned; -1 if the slot is empty
 * @tag:	As it was given to window_map()
 * @file_off:	Where in the file the slot begins
 * @writable:	Mapped shared
 * @good:	Bytes, whole pages, that are the file's; zero pages are behind
 */
struct window_slot {
	int fd;
	uint64_t tag;
	uint64_t file_off;
	bool writable;
	uint64_t good;
};

/**
 * struct window - All but the first two and @n_mended is under @lock
 * @hva:	Where it is, aligned to WINDOW_SLOT
 * @len:	Bytes, whole slots
 * @slot:	@len / WINDOW_SLOT of them
 * @n_mapped:	Slots with a file
 * @n_mended:	Slots with a file and zero pages behind it
 * @mends:	Slots that window_mend() has changed, since the beginning
 */
struct window {
	uint8_t *hva;
	uint64_t len;
	pthread_mutex_t lock;
	struct window_slot *slot;
	unsigned int n_mapped;
	atomic_uint n_mended;
	uint64_t mends;
};

/**
 * struct window_piece - What is to be mapped
 * @off:	Of the window, a multiple of WINDOW_SLOT
 * @len:	A multiple of WINDOW_SLOT, not 0; all within the window
 * @fd:		A regular file, open for reading, or for both if @writable;
 *		borrowed
 * @file_off:	A multiple of WINDOW_SLOT, no less than @len below INT64_MAX;
 *		may be past the file's end
 * @writable:	The guest may write to the file
 * @tag:	Names the file, for window_heal()
 */
struct window_piece {
	uint64_t off;
	uint64_t len;
	int fd;
	uint64_t file_off;
	bool writable;
	uint64_t tag;
};

/** struct window_stats - What is in it now, and how often it was mended */
struct window_stats {
	unsigned int n_mapped;
	uint64_t mends;
};

/**
 * window_init() - Reserve the address space; nothing of it is used yet
 * @len:	Whole slots, up to WINDOW_LEN_MAX
 *
 * Return: 0 or -errno with a sentence; then @w needs no window_done()
 */
MUST_CHECK int window_init(struct window *w, uint64_t len, struct err *e);

/** window_done() - Takes one that is zero, too */
void window_done(struct window *w);

/**
 * window_map() - Put a piece of a file in, in place of what is there
 *
 * Return: 0, or -errno; then the slots up to the one that failed are empty
 */
MUST_CHECK int window_map(struct window *w, const struct window_piece *p);

/** window_unmap() - Empty some slots, as above. Return: 0 or -errno */
MUST_CHECK int window_unmap(struct window *w, uint64_t off, uint64_t len);

/** window_clear() - Empty all of them */
void window_clear(struct window *w);

/**
 * window_mend() - Lay zero pages over all that is past the end of a file
 *
 * Return: slots that were changed
 */
unsigned int window_mend(struct window *w);

/**
 * window_heal() - If a file has grown over zero pages, show the file again
 *
 * Costs next to nothing if there are none.
 */
void window_heal(struct window *w, uint64_t tag);

/** window_heal_all() - The same for all files */
void window_heal_all(struct window *w);

/**
 * window_tend() - Mend and heal all, from time to time
 *
 * Return: whether there is anything in it
 */
bool window_tend(struct window *w);

void window_stats(struct window *w, struct window_stats *ret);

#endif
