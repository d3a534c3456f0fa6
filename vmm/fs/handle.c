/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/handle.c - see handle.h */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "vmm/fs/handle.h"

static void handle_free(struct fs_handle *h)
{
	if (h->dir) {
		(void)pthread_mutex_destroy(&h->dir->lock);
		free(h->dir->buf);
	}
	free(h->dir);
	base_closep(&h->fd);
	free(h);
}

static struct fs_handle *handle_new(struct fs_inode *ino, int fd, int flags)
{
	struct fs_handle *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->fd = -1;
	if (S_ISDIR(ino->type)) {
		h->dir = malloc(sizeof(*h->dir));
		if (!h->dir || pthread_mutex_init(&h->dir->lock, NULL) != 0) {
			free(h->dir);
			free(h);
			return NULL;
		}
		h->dir->next = 0;
		h->dir->at = 0;
		h->dir->len = 0;
		h->dir->buf = NULL;
	}
	h->ino = ino;
	h->fd = fd;
	h->flags = flags;
	h->refs = 1;
	return h;
}

int fs_handle_add(struct fs_server *s, struct fs_inode *ino, int fd, int flags,
		  uint64_t *ret)
{
	struct fs_handle *h = handle_new(ino, fd, flags);
	int r;

	if (!h) {
		base_closep(&fd);
		return -ENOMEM;
	}
	fs_lock(s);
	r = fs_fds_room(s) ? fs_ids_add(&s->handles, h, &h->id) : -ENFILE;
	if (r == 0) {
		s->n_handles++;
		ino->refs++;
		list_add_tail(&ino->handles, &h->link);
		*ret = h->id;
	}
	fs_unlock(s);
	if (r < 0)
		handle_free(h);
	return r;
}

static int find(const struct fs_server *s, uint64_t id, uint64_t nodeid,
		bool dir, struct fs_handle **ret)
{
	struct fs_handle *h = fs_ids_get(&s->handles, id);

	if (!h || h->ino->id != nodeid || (h->dir != NULL) != dir)
		return -EBADF;
	*ret = h;
	return 0;
}

int fs_handle_get(struct fs_server *s, uint64_t id, uint64_t nodeid, bool dir,
		  struct fs_handle **ret)
{
	int r;

	fs_lock(s);
	r = find(s, id, nodeid, dir, ret);
	if (r == 0)
		(*ret)->refs++;
	fs_unlock(s);
	return r;
}

/*
 * The guest may know a file that has no name any more, and not have it open:
 * then its last descriptor becomes the inode's.
 */
static void bequeath(struct fs_server *s, struct fs_handle *h)
{
	struct fs_inode *ino = h->ino;

	if (ino->names || !ino->nlookup || ino == s->root || ino->pinned ||
	    !list_empty(&ino->handles) || h->fd < 0)
		return;
	fs_inode_inherit(s, ino, &h->fd, h->flags & O_ACCMODE);
}

/*
 * The lock is held.  Until the last has put it, others reach the inode by it,
 * and it counts: so there is room for what it bequeaths.
 *
 * Return: whether to handle_free() it without the lock
 */
static bool put(struct fs_server *s, struct fs_handle *h)
{
	if (--h->refs > 0)
		return false;
	list_del(&h->link);
	s->n_handles--;
	if (h->dir && h->dir->buf)
		fs_mem_give(s, FS_DIR_BUF);
	bequeath(s, h);
	fs_inode_drop(s, h->ino);
	return true;
}

void fs_handle_put(struct fs_server *s, struct fs_handle *h)
{
	bool last;

	fs_lock(s);
	last = put(s, h);
	fs_unlock(s);
	if (last)
		handle_free(h);
}

/* Out of the table, the lock is held. Return: as for put() */
static bool leave(struct fs_server *s, struct fs_handle *h)
{
	fs_ids_del(&s->handles, h->id);
	return put(s, h);
}

int fs_handle_close(struct fs_server *s, uint64_t id, uint64_t nodeid, bool dir)
{
	struct fs_handle *h = NULL;
	bool last = false;
	int r;

	fs_lock(s);
	r = find(s, id, nodeid, dir, &h);
	if (r == 0)
		last = leave(s, h);
	fs_unlock(s);
	if (last)
		handle_free(h);
	return r;
}

void fs_handles_close_all(struct fs_server *s)
{
	for (uint32_t i = 0;; i++) {
		struct fs_handle *h = NULL;
		bool last = false;

		fs_lock(s);
		if (i >= s->handles.n) {
			fs_unlock(s);
			return;
		}
		h = fs_ids_at(&s->handles, i);
		if (h)
			last = leave(s, h);
		fs_unlock(s);
		if (last)
			handle_free(h);
	}
}
