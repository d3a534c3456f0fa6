/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/ids.c - see ids.h */
#include <errno.h>

#include "vmm/fs/ids.h"

#define FIRST_CAP 64u

struct fs_id_slot {
	void *p;
	uint32_t gen;       /* of the id that is, or will be, in use */
	uint32_t next_free; /* place + 1 */
};

static int grow(struct fs_ids *ids)
{
	uint32_t cap = ids->cap ? ids->cap * 2 : FIRST_CAP;
	struct fs_id_slot *more;

	if (ids->n >= ids->max)
		return -ENFILE;
	cap = MIN(cap, ids->max);
	more = realloc(ids->slot, cap * sizeof(*more));
	if (!more)
		return -ENOMEM;
	ids->slot = more;
	ids->cap = cap;
	return 0;
}

int fs_ids_add(struct fs_ids *ids, void *p, uint64_t *ret)
{
	struct fs_id_slot *slot;
	uint32_t i;
	int r;

	if (ids->free) {
		i = ids->free - 1;
		slot = &ids->slot[i];
		ids->free = slot->next_free;
	} else {
		r = ids->n == ids->cap ? grow(ids) : 0;
		if (r < 0)
			return r;
		i = ids->n++;
		slot = &ids->slot[i];
		slot->gen = 0;
	}
	slot->p = p;
	ids->used++;
	*ret = (uint64_t)slot->gen << 32 | (i + 1);
	return 0;
}

static struct fs_id_slot *find(const struct fs_ids *ids, uint64_t id)
{
	uint32_t i = (uint32_t)id - 1; /* huge if there is none */

	if (i >= ids->n || ids->slot[i].gen != id >> 32)
		return NULL;
	return &ids->slot[i];
}

void *fs_ids_get(const struct fs_ids *ids, uint64_t id)
{
	const struct fs_id_slot *slot = find(ids, id);

	return slot ? slot->p : NULL;
}

void fs_ids_del(struct fs_ids *ids, uint64_t id)
{
	struct fs_id_slot *slot = find(ids, id);

	bug_on(!slot || !slot->p);
	slot->p = NULL;
	slot->gen++;
	slot->next_free = ids->free;
	ids->free = (uint32_t)id;
	ids->used--;
}

void *fs_ids_at(const struct fs_ids *ids, uint32_t i)
{
	return ids->slot[i].p;
}

void fs_ids_done(struct fs_ids *ids)
{
	free(ids->slot);
	*ids = (struct fs_ids){ .max = ids->max };
}
