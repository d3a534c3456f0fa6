/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/inode.c - inodes and their names; see inode.h */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "vmm/fs/inode.h"

#define HASH_BITS_MAX 22u

static struct fs_inode **chain(const struct fs_server *s, uint64_t hash)
{
	return &s->hash[hash >> (64 - s->hash_bits)];
}

struct fs_inode *fs_inode_find(const struct fs_server *s, uint64_t id)
{
	struct fs_inode *ino = fs_ids_get(&s->inodes, id);

	/* Others may still refer to one that the guest has forgotten. */
	return ino && (ino->nlookup || ino == s->root) ? ino : NULL;
}

bool fs_inode_is(const struct fs_inode *ino, const struct fs_ident *ident)
{
	return ino->ident_type == ident->type && ino->ident_len == ident->len &&
	       memcmp(ino->ident, ident->bytes, ident->len) == 0;
}

struct fs_inode *fs_inode_known(const struct fs_server *s,
				const struct fs_ident *ident)
{
	uint64_t hash = fs_ident_hash(s, ident);
	struct fs_inode *ino = *chain(s, hash);

	while (ino && (ino->hash != hash || !fs_inode_is(ino, ident)))
		ino = ino->hash_next;
	return ino;
}

/* Chains stay short; a table that cannot grow works, and slower. */
static void grow_hash(struct fs_server *s)
{
	size_t n = (size_t)1 << s->hash_bits;
	struct fs_inode **old = s->hash;
	struct fs_inode **more;

	if (s->inodes.used < n || s->hash_bits == HASH_BITS_MAX)
		return;
	more = calloc(n * 2, sizeof(struct fs_inode *));
	if (!more)
		return;
	s->hash = more;
	s->hash_bits++;
	for (size_t i = 0; i < n; i++) {
		while (old[i]) {
			struct fs_inode *ino = old[i];
			struct fs_inode **c = chain(s, ino->hash);

			old[i] = ino->hash_next;
			ino->hash_next = *c;
			*c = ino;
		}
	}
	free(old);
}

/* What an inode and a name count. */
static size_t inode_bytes(unsigned int ident_len)
{
	return sizeof(struct fs_inode) + ident_len;
}

static size_t name_bytes(size_t len)
{
	return sizeof(struct fs_name) + len + 1;
}

/* One in the table, of which all is zero but its number. */
static int inode_new(struct fs_server *s, size_t bytes, struct fs_inode **ret)
{
	struct fs_inode *ino = NULL;
	int r = fs_mem_take(s, bytes);

	if (r < 0)
		return r;
	ino = calloc(1, bytes);
	r = ino ? fs_ids_add(&s->inodes, ino, &ino->id) : -ENOMEM;
	if (r < 0) {
		free(ino);
		fs_mem_give(s, bytes);
		return r;
	}
	*ret = ino;
	return 0;
}

int fs_inode_add(struct fs_server *s, const struct fs_ident *ident, mode_t type,
		 struct fs_inode **ret)
{
	struct fs_inode *ino = NULL;
	struct fs_inode **c;
	int r = inode_new(s, inode_bytes(ident->len), &ino);

	if (r)
		return r;
	ino->type = type & S_IFMT;
	ino->fd = -1;
	list_init(&ino->lru);
	list_init(&ino->handles);
	ino->ident_type = ident->type;
	ino->ident_len = ident->len;
	memcpy(ino->ident, ident->bytes, ident->len);
	ino->hash = fs_ident_hash(s, ident);
	grow_hash(s);
	c = chain(s, ino->hash);
	ino->hash_next = *c;
	*c = ino;
	*ret = ino;
	return 0;
}

static void unhash(struct fs_server *s, const struct fs_inode *ino)
{
	struct fs_inode **p = chain(s, ino->hash);

	while (*p != ino)
		p = &(*p)->hash_next;
	*p = ino->hash_next;
}

static void name_free(struct fs_server *s, struct fs_name *n)
{
	fs_mem_give(s, name_bytes(n->len));
	free(n);
}

/* Its names refer to its parents, which may be the last that did. */
static void bury(struct fs_server *s, struct fs_inode *ino)
{
	struct fs_inode *todo = ino;

	todo->hash_next = NULL;
	while (todo) {
		ino = todo;
		todo = ino->hash_next;
		if (ino->pinned)
			s->n_pinned--;
		else if (ino->fd >= 0)
			s->n_idle--;
		list_del(&ino->lru);
		fs_ids_del(&s->inodes, ino->id);
		fs_quota_forgotten(s, ino);
		while (ino->names) {
			struct fs_name *name = ino->names;
			struct fs_inode *parent = name->parent;

			ino->names = name->next;
			name_free(s, name);
			if (--parent->refs == 0 && parent->nlookup == 0) {
				unhash(s, parent);
				parent->hash_next = todo;
				todo = parent;
			}
		}
		fs_mem_give(s, inode_bytes(ino->ident_len));
		ino->hash_next = s->dead;
		s->dead = ino;
	}
}

static void check(struct fs_server *s, struct fs_inode *ino)
{
	if (ino->refs || ino->nlookup)
		return;
	unhash(s, ino);
	bury(s, ino);
}

void fs_inode_drop(struct fs_server *s, struct fs_inode *ino)
{
	ino->refs--;
	check(s, ino);
}

void fs_inode_forget(struct fs_server *s, struct fs_inode *ino, uint64_t n)
{
	ino->nlookup -= MIN(n, ino->nlookup);
	check(s, ino);
}

void fs_inodes_forget_all(struct fs_server *s)
{
	for (uint32_t i = 0; i < s->inodes.n; i++) {
		struct fs_inode *ino = fs_ids_at(&s->inodes, i);

		if (ino && ino->nlookup)
			fs_inode_forget(s, ino, ino->nlookup);
	}
}

static bool name_is(const struct fs_name *n, const struct fs_inode *parent,
		    const char *name)
{
	return n->parent == parent && strcmp(n->s, name) == 0;
}

/* A host that moves folders about must not make a ring of ours. */
static bool inside(const struct fs_inode *what, const struct fs_inode *of)
{
	while (what != of && what->names)
		what = what->names->parent;
	return what == of;
}

/* @p is the place of a name in its list. */
static void name_drop(struct fs_server *s, struct fs_name **p)
{
	struct fs_name *n = *p;

	*p = n->next;
	fs_inode_drop(s, n->parent);
	name_free(s, n);
}

static int name_new(struct fs_server *s, struct fs_inode *parent,
		    const char *name, struct fs_name **ret)
{
	size_t len = strlen(name);
	struct fs_name *n = NULL;
	int r = fs_mem_take(s, name_bytes(len));

	if (r < 0)
		return r;
	n = malloc(name_bytes(len));
	if (!n) {
		fs_mem_give(s, name_bytes(len));
		return -ENOMEM;
	}
	n->parent = parent;
	n->len = (unsigned int)len;
	memcpy(n->s, name, len + 1);
	parent->refs++;
	*ret = n;
	return 0;
}

static void trim(struct fs_server *s, struct fs_inode *ino)
{
	struct fs_name **p = &ino->names;
	unsigned int max = S_ISDIR(ino->type) ? 1 : FS_NAMES_MAX;

	for (unsigned int i = 0; *p && i < max; i++)
		p = &(*p)->next;
	while (*p)
		name_drop(s, p);
}

int fs_inode_seen(struct fs_server *s, struct fs_inode *ino,
		  struct fs_inode *parent, const char *name)
{
	struct fs_name **p = &ino->names;
	struct fs_name *n;
	int r;

	if (ino->names && name_is(ino->names, parent, name))
		return 0;
	if (ino == s->root)
		return -ESTALE;
	while (*p && !name_is(*p, parent, name))
		p = &(*p)->next;
	n = *p;
	if (n) {
		*p = n->next;
	} else {
		if (S_ISDIR(ino->type) && inside(parent, ino))
			return -ESTALE;
		r = name_new(s, parent, name, &n);
		if (r)
			return r;
	}
	n->next = ino->names;
	ino->names = n;
	trim(s, ino);
	return 0;
}

void fs_inode_gone(struct fs_server *s, struct fs_inode *ino,
		   const struct fs_inode *parent, const char *name)
{
	struct fs_name **p = &ino->names;

	while (*p && !name_is(*p, parent, name))
		p = &(*p)->next;
	if (*p)
		name_drop(s, p);
}
