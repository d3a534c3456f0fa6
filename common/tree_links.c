/* SPDX-License-Identifier: Apache-2.0 */
/* common/tree_links.c - see tree_links.h */
#include <errno.h>
#include <string.h>

#include "common/tree.h"
#include "common/tree_links.h"

#define ROOM_MIN 64u

/** struct tree_link - A slot; @number 0 is free */
struct tree_link {
	uint64_t dev;
	uint64_t ino;
	uint32_t number;
};

/* The numbers are the kernel's, and few: any mixing will do. */
static uint32_t place_of(const struct tree_links *t, uint64_t dev, uint64_t ino)
{
	uint64_t h = (ino ^ dev << 32) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(h >> 32) & (t->room - 1);
}

/* Its slot, or the free one where it goes. There is one: half are free. */
static struct tree_link *find(const struct tree_links *t, uint64_t dev,
			      uint64_t ino)
{
	uint32_t i = place_of(t, dev, ino);

	while (t->slot[i].number &&
	       (t->slot[i].dev != dev || t->slot[i].ino != ino))
		i = (i + 1) & (t->room - 1);
	return &t->slot[i];
}

static int grow(struct tree_links *t)
{
	struct tree_links more = { .room = MAX(t->room * 2, ROOM_MIN),
				   .n = t->n };

	more.slot = calloc(more.room, sizeof(*more.slot));
	if (!more.slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->room; i++)
		if (t->slot[i].number)
			*find(&more, t->slot[i].dev, t->slot[i].ino) =
				t->slot[i];
	free(t->slot);
	*t = more;
	return 0;
}

int tree_links_number(struct tree_links *t, dev_t dev, ino_t ino, uint32_t *ret)
{
	struct tree_link *l;

	if (t->n >= t->room / 2 && grow(t) < 0)
		return -ENOMEM;
	l = find(t, dev, ino);
	if (l->number) {
		*ret = l->number;
		return 1;
	}
	if (t->n == WIRE_TREE_LINKS_MAX)
		return -EMLINK;
	*l = (struct tree_link){ .dev = dev, .ino = ino, .number = ++t->n };
	*ret = l->number;
	return 0;
}

void tree_links_done(struct tree_links *t)
{
	free(t->slot);
	*t = (struct tree_links){ 0 };
}

int tree_names_add(struct tree_names *t, uint32_t number, const char *path)
{
	size_t len = strlen(path) + 1;
	char *copy;

	if (number != t->n + 1)
		return -EBADMSG;
	if (t->n == WIRE_TREE_LINKS_MAX || len > TREE_LINK_BYTES_MAX - t->bytes)
		return -EMLINK;
	if (t->n == t->room) {
		uint32_t room = MAX(t->room * 2, ROOM_MIN);
		char **more = realloc(t->name, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		t->name = more;
		t->room = room;
	}
	copy = malloc(len);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, path, len);
	t->name[t->n++] = copy;
	t->bytes += len;
	return 0;
}

const char *tree_names_find(const struct tree_names *t, uint32_t number)
{
	return number && number <= t->n ? t->name[number - 1] : NULL;
}

void tree_names_done(struct tree_names *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free(t->name[i]);
	free(t->name);
	*t = (struct tree_names){ 0 };
}
