/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/inode_fd.c - the descriptors of inodes, few as they are; see inode.h */
#include <errno.h>
#include <fcntl.h>

#include "vmm/fs/inode.h"

void fs_lock(struct fs_server *s)
{
	bug_on(pthread_mutex_lock(&s->lock) != 0);
}

void fs_unlock(struct fs_server *s)
{
	struct fs_inode *dead = s->dead;
	unsigned int n = s->n_spent;
	int spent[FS_SPENT_MAX];

	for (unsigned int i = 0; i < n; i++)
		spent[i] = s->spent[i];
	s->n_spent = 0;
	s->dead = NULL;
	bug_on(pthread_mutex_unlock(&s->lock) != 0);
	for (unsigned int i = 0; i < n; i++)
		base_closep(&spent[i]);
	while (dead) {
		struct fs_inode *ino = dead;

		dead = ino->hash_next;
		base_closep(&ino->fd);
		free(ino);
	}
}

static void spend(struct fs_server *s, int fd)
{
	if (s->n_spent < FS_SPENT_MAX)
		s->spent[s->n_spent++] = fd;
	else
		base_closep(&fd);
}

static unsigned int held(const struct fs_server *s)
{
	return s->n_idle + s->n_busy + s->n_pinned + s->n_handles + s->n_locks;
}

static void close_idle(struct fs_server *s, struct fs_inode *ino)
{
	list_del(&ino->lru);
	spend(s, take_fd(&ino->fd));
	s->n_idle--;
}

static bool evict_one(struct fs_server *s)
{
	struct fs_inode *ino = NULL;

	if (list_empty(&s->idle))
		return false;
	ino = list_entry(s->idle.next, struct fs_inode, lru);
	close_idle(s, ino);
	return true;
}

unsigned int fs_fds_evict(struct fs_server *s)
{
	unsigned int n = 0;

	while (n < FS_SPENT_MAX && evict_one(s))
		n++;
	return n;
}

bool fs_fds_room(struct fs_server *s)
{
	if (s->n_pinned + s->n_handles + s->n_locks >=
	    s->o.fds_max - FS_FDS_SPARE)
		return false;
	if (held(s) >= s->o.fds_max - FS_FDS_SPARE)
		(void)evict_one(s);
	return true;
}

/* Nobody uses the inode's descriptor: it may stay, as the newest. */
static void rest(struct fs_server *s, struct fs_inode *ino)
{
	list_add_tail(&s->idle, &ino->lru);
	s->n_idle++;
	if (held(s) > s->o.fds_max - FS_FDS_SPARE)
		(void)evict_one(s);
}

int fs_inode_lend_fd(struct fs_server *s, struct fs_inode *ino, int fd,
		     bool real)
{
	if (ino->fd >= 0) {
		spend(s, fd);
		return fs_inode_use_fd(s, ino);
	}
	ino->fd = fd;
	ino->fd_real = real;
	ino->fd_access = O_RDONLY;
	ino->fd_users = 1;
	s->n_busy++;
	return fd;
}

int fs_inode_use_fd(struct fs_server *s, struct fs_inode *ino)
{
	if (ino->fd < 0)
		return -1;
	if (ino->fd_users++ == 0 && !ino->pinned) {
		list_del(&ino->lru);
		s->n_idle--;
		s->n_busy++;
	}
	return ino->fd;
}

void fs_inode_unuse_fd(struct fs_server *s, struct fs_inode *ino)
{
	if (--ino->fd_users > 0 || ino->pinned)
		return;
	s->n_busy--;
	rest(s, ino);
}

int fs_inode_pin(struct fs_server *s, struct fs_inode *ino)
{
	bug_on(ino->fd < 0 || ino->fd_users == 0);
	if (ino->pinned)
		return 0;
	if (!fs_fds_room(s))
		return -ENFILE;
	s->n_busy--;
	ino->pinned = true;
	s->n_pinned++;
	return 0;
}

void fs_inode_inherit(struct fs_server *s, struct fs_inode *ino, int *fd,
		      int access)
{
	/* The handle's can do more. */
	if (ino->fd >= 0 && ino->fd_users == 0)
		close_idle(s, ino);
	if (ino->fd < 0) {
		(void)fs_inode_lend_fd(s, ino, take_fd(fd), true);
		ino->fd_access = access;
	} else {
		(void)fs_inode_use_fd(s, ino);
	}
	bug_on(fs_inode_pin(s, ino) != 0);
	fs_inode_unuse_fd(s, ino);
}

void fs_inode_named(struct fs_server *s, struct fs_inode *ino)
{
	if (!ino->pinned || !ino->names || ino->holds)
		return;
	ino->pinned = false;
	s->n_pinned--;
	if (ino->fd_users)
		s->n_busy++;
	else
		rest(s, ino);
}
