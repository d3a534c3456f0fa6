/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/volume.c - see volume.h, and hutch_volume_*() */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "common/log.h"
#include "common/treesize.h"
#include "host/lib/dirs.h"
#include "host/lib/internal.h"
#include "host/lib/maptree.h"
#include "host/lib/record.h"
#include "common/rmtree.h"
#include "host/lib/stage.h"
#include "host/lib/vmdir.h"
#include "host/lib/volume.h"

#define QUOTE_MAX 80
#define NS_PER_S  1000000000ll

/* Whoever has one that has a size may be on the way out: two seconds. */
#define BUSY_STEP_NS 10000000
#define BUSY_STEPS   200

/** struct store - The folders, and the lock held; -1 for what is not open */
struct store {
	int fd;
	int name_fd;
	int tmp_fd;
	int lock_fd;
};

static void store_close(struct store *s)
{
	base_closep(&s->fd);
	base_closep(&s->name_fd);
	base_closep(&s->tmp_fd);
	base_closep(&s->lock_fd);
}
#define auto_volumes AUTO(store_close)
#define STORE_INIT              \
	{                       \
		-1, -1, -1, -1, \
	}

static int check_name(const char *name, struct err *e)
{
	char q[QUOTE_MAX];

	if (hutch_volume_name_ok(name))
		return 0;
	return err_set(e, -EINVAL,
		       "volume '%s': use 1 to %d of letters, digits, '.', '_' "
		       "and '-', a letter or digit first",
		       log_escape(q, sizeof(q), name, strlen(name)),
		       HUTCH_VOLUME_NAME_MAX);
}

/* Waits, whatever comes in between. */
static int wait_lock(int fd, int how)
{
	int r;

	do
		r = flock(fd, how) < 0 ? -errno : 0;
	while (r == -EINTR);
	return r;
}

static int open_folder(int at, const char *name)
{
	int fd = openat(at, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int store_lock(struct store *s, struct err *e)
{
	s->lock_fd = stage_lock(s->fd, "volumes", e);
	return MIN(s->lock_fd, 0);
}

static void store_unlock(struct store *s)
{
	drop_fd(&s->lock_fd);
}

static DIR *open_list(int at)
{
	auto_fd int fd = open_folder(at, ".");
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd < 0)
		errno = -fd;
	if (dir)
		(void)take_fd(&fd);
	return dir;
}

/* Opens the folders, and waits for the lock. */
static int store_open(struct hutch *h, struct store *s, struct err *e)
{
	auto_free char *path = NULL;

	if (asprintf(&path, "%s/volumes", h->data) < 0)
		return err_set(e, -ENOMEM, "no memory");
	s->fd = dirs_open(path, e);
	if (s->fd < 0)
		return s->fd;
	s->name_fd = dirs_open_at(s->fd, "name", e);
	s->tmp_fd = s->name_fd < 0 ? -1 : dirs_open_at(s->fd, "tmp", e);
	if (s->name_fd < 0 || s->tmp_fd < 0)
		return MIN(s->name_fd, s->tmp_fd);
	stage_sweep(s->fd, s->tmp_fd);
	return store_lock(s, e);
}

/* To its name, over an empty folder if there is one; the store is locked. */
static int stage_commit(const struct store *s, struct stage *st,
			const char *name)
{
	if (renameat(s->tmp_fd, st->name, s->name_fd, name) < 0)
		return -errno;
	stage_moved(st);
	return fsync(s->name_fd) < 0 ? -errno : 0;
}

/* With a size unless @bytes is 0, from the moment that it has its name. */
static int make(const struct store *s, const char *name, uint64_t bytes)
{
	struct stage st = STAGE_INIT;
	int r = stage_new(s->tmp_fd, &st);

	r = r < 0 ? r : maptree_new_root(st.fd);
	if (r == 0 && bytes)
		r = volume_set_size(st.fd, bytes);
	if (r == 0 && fsync(st.fd) < 0)
		r = -errno;
	if (r == 0)
		r = stage_commit(s, &st, name);
	stage_close(s->tmp_fd, &st);
	return r;
}

static int open_or_make(const struct store *s, const char *name, uint64_t bytes,
			struct err *e)
{
	int fd = open_folder(s->name_fd, name), r = 0;

	if (fd == -ENOENT) {
		r = make(s, name, bytes);
		fd = r < 0 ? r : open_folder(s->name_fd, name);
	}
	if (r == -EOPNOTSUPP)
		return err_set(
			e, r,
			"the file system of hutch's data keeps no user.* "
			"attributes, which volumes need: use one like "
			"ext4, xfs or btrfs");
	return fd < 0 ? err_set(e, fd, "cannot open volume '%s': %s", name,
				strerror(-fd))
		      : fd;
}

/* ---- For a VM ---- */

static int cannot_fill(struct err *e, int r, const char *name)
{
	return err_set(e, r, "cannot fill volume '%s': %s", name, strerror(-r));
}

/* What is over its quota from the first would be a full disk, unsaid. */
static int check_room(int fd, const char *name, uint64_t bytes, struct err *e)
{
	struct treesize t;
	int r = treesize_count(fd, &t);

	if (r < 0)
		return cannot_fill(e, r, name);
	if (t.bytes <= bytes && t.inodes <= bytes / TREESIZE_INODE_BYTES)
		return 0;
	return err_set(e, -ENOSPC,
		       "volume '%s' is too small for what the image has there, "
		       "%llu files of %lluK: make a larger one, or mount it "
		       "with nocopy",
		       name, (unsigned long long)t.inodes,
		       (unsigned long long)(t.bytes >> 10));
}

static int fill_stage(int fd, const char *name, int from, uint64_t bytes,
		      struct err *e)
{
	int r = maptree_copy(from, fd);

	if (r == 0 && bytes) {
		r = check_room(fd, name, bytes, e);
		if (r < 0)
			return r;
		r = volume_set_size(fd, bytes);
	}
	if (r == 0 && syncfs(fd) < 0)
		r = -errno;
	return r < 0 ? cannot_fill(e, r, name) : 0;
}

/*
 * The volume, which is empty, is locked by us alone, so that it stays what its
 * name stands for.
 *
 * Return: 0, with another folder under @name; the store is locked then
 */
static int fill(struct store *s, const char *name, int from, uint64_t bytes,
		struct err *e)
{
	struct stage st = STAGE_INIT;
	int r = stage_new(s->tmp_fd, &st);

	store_unlock(s);
	r = r < 0 ? cannot_fill(e, r, name)
		  : fill_stage(st.fd, name, from, bytes, e);
	r = r < 0 ? r : store_lock(s, e);
	if (r == 0) {
		r = stage_commit(s, &st, name);
		r = r < 0 ? cannot_fill(e, r, name) : 0;
	}
	stage_close(s->tmp_fd, &st);
	return r;
}

static int learn_size(int fd, const char *name, uint64_t *ret, struct err *e)
{
	int r = volume_size(fd, ret);

	return r < 0 ? err_set(e, r, "cannot learn the size of volume '%s': %s",
			       name, strerror(-r))
		     : 0;
}

/*
 * Context: the store is locked
 *
 * Return: a descriptor; -EAGAIN: look again; -EBUSY: after a while
 */
static int use(struct store *s, const char *name, int from, bool ro,
	       struct err *e)
{
	auto_fd int fd = open_or_make(s, name, 0, e);
	uint64_t bytes = 0;
	int r = fd < 0 ? fd : learn_size(fd, name, &bytes, e);

	if (r < 0)
		return r;
	if (from >= 0 && maptree_is_empty(fd) &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0) {
		r = fill(s, name, from, bytes, e);
		if (r < 0)
			return r;
		(void)close(take_fd(&fd));
		fd = open_or_make(s, name, bytes, e);
		if (fd < 0)
			return fd;
	}
	if (flock(fd, (bytes && !ro ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0)
		return take_fd(&fd);
	r = -errno;
	if (r == -EWOULDBLOCK && bytes)
		return err_set(e, -EBUSY,
			       "volume '%s' is in use by another VM: of one "
			       "that has a size only one VM at a time may "
			       "write",
			       name);
	if (r == -EWOULDBLOCK) {
		/* Filled by another: then it will be another folder. */
		store_unlock(s);
		r = wait_lock(fd, LOCK_SH);
		(void)close(take_fd(&fd));
		r = r < 0 ? r : store_lock(s, e);
		r = r < 0 ? r : -EAGAIN;
	}
	return r == -EAGAIN ? r
			    : err_set(e, r, "cannot lock volume '%s': %s", name,
				      strerror(-r));
}

/* To those who have the store. */
static int pause_without_lock(struct store *s, struct err *e)
{
	static const struct timespec step = { .tv_nsec = BUSY_STEP_NS };

	store_unlock(s);
	(void)nanosleep(&step, NULL);
	return store_lock(s, e);
}

int volume_open(struct hutch *h, const char *name, int tree, const char *target,
		bool ro, struct err *e)
{
	/* What is no folder in the image is nothing to begin with. */
	auto_fd int from = tree < 0 ? -1 : maptree_find(tree, target);
	auto_volumes struct store s = STORE_INIT;
	int r = check_name(name, e);

	r = r < 0 ? r : store_open(h, &s, e);
	if (r < 0)
		return r;
	for (int i = 0;;) {
		int paused = 0;

		r = use(&s, name, from, ro, e);
		if (r != -EAGAIN && (r != -EBUSY || i++ == BUSY_STEPS))
			return r;
		if (r == -EBUSY)
			paused = pause_without_lock(&s, e);
		if (paused < 0)
			return paused;
	}
}

/* ---- For people ---- */

static int take_opts(const struct hutch_volume_opts *from,
		     struct hutch_volume_opts *ret, struct err *e)
{
	static const struct hutch_volume_opts usual = HUTCH_VOLUME_OPTS_INIT;
	const struct hutch_volume_opts *o = from ? from : &usual;
	int r = opts_take(ret, sizeof(*ret), o, o->size, e);

	if (r < 0)
		return r;
	if (ret->bytes &&
	    (ret->bytes < HUTCH_VOLUME_SIZE_MIN || ret->bytes > INT64_MAX))
		return err_set(e, -ERANGE,
			       "the size of a volume is at least %uM",
			       HUTCH_VOLUME_SIZE_MIN >> 20);
	return 0;
}

int hutch_volume_create(struct hutch *h, const char *name,
			const struct hutch_volume_opts *opts,
			struct hutch_err *e)
{
	auto_volumes struct store s = STORE_INIT;
	struct hutch_volume_opts o;
	uint64_t bytes = 0;
	auto_fd int fd = -1;
	int r = check_name(name, err_of(e));

	r = r < 0 ? r : take_opts(opts, &o, err_of(e));
	r = r < 0 ? r : store_open(h, &s, err_of(e));
	if (r < 0)
		return r;
	fd = open_or_make(&s, name, o.bytes, err_of(e));
	if (fd < 0 || !o.bytes)
		return MIN(fd, 0);
	r = learn_size(fd, name, &bytes, err_of(e));
	if (r == 0 && bytes != o.bytes)
		return err_set(err_of(e), -EEXIST,
			       "there is a volume '%s' already, with %s size",
			       name, bytes ? "another" : "no");
	return r;
}

/* A record that cannot be read is of a VM that can go on with nothing. */
static int has_mounted(int state_fd, const void *name)
{
	AUTO(record_freep) struct hutch_record *rec = NULL;
	struct err ignored;
	int r = record_read(state_fd, &rec, &ignored);

	if (r == -ENOENT || r == -EBADMSG)
		return 0;
	if (r < 0)
		return r;
	for (size_t i = 0; rec->mounts && rec->mounts[i]; i++)
		if (rec->mounts[i]->flags & HUTCH_MOUNT_VOLUME &&
		    strcmp(rec->mounts[i]->source, name) == 0)
			return 1;
	return 0;
}

/*
 * Context: the volume is locked by us alone: who starts a VM with it has its
 *	    record written before the lock goes
 */
static int refuse_used(struct hutch *h, const char *name, struct err *e)
{
	char user[HUTCH_NAME_MAX + 1];
	int r = vmdir_find(h, has_mounted, name, user);

	if (r > 0)
		return err_set(e, -EBUSY,
			       "volume '%s' is mounted by VM '%s', which is "
			       "stopped: hutch rm %s first, or remove it with "
			       "--force",
			       name, user, user);
	return r < 0 ? err_set(e, r,
			       "cannot see whether a VM mounts volume '%s': %s",
			       name, strerror(-r))
		     : 0;
}

int hutch_volume_remove(struct hutch *h, const char *name, unsigned int flags,
			struct hutch_err *e)
{
	auto_volumes struct store s = STORE_INIT;
	char stage[STAGE_LEN + 1];
	auto_fd int fd = -1;
	int r = check_name(name, err_of(e));

	if (r == 0 && flags & ~HUTCH_VOLUME_RM_FORCE)
		r = err_set(err_of(e), -EINVAL, "unknown flags 0x%x", flags);
	r = r < 0 ? r : store_open(h, &s, err_of(e));
	if (r < 0)
		return r;
	fd = open_folder(s.name_fd, name);
	if (fd == -ENOENT)
		return err_set(err_of(e), fd,
			       "there is no volume named '%s'; hutch volume "
			       "list shows those there are",
			       name);
	if (fd < 0)
		return err_set(err_of(e), fd, "cannot open volume '%s': %s",
			       name, strerror(-fd));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(err_of(e), -EBUSY,
			       "volume '%s' is in use by a VM that is alive",
			       name);
	if (!(flags & HUTCH_VOLUME_RM_FORCE))
		r = refuse_used(h, name, err_of(e));
	if (r < 0)
		return r;
	stage_name(stage);
	if (renameat(s.name_fd, name, s.tmp_fd, stage) < 0)
		return err_set(err_of(e), -errno,
			       "cannot remove volume '%s': %s", name,
			       strerror(errno));
	/* Others may go on; the lock of the folder keeps sweeps off. */
	store_unlock(&s);
	r = rmtree(s.tmp_fd, stage);
	return r < 0 ? err_set(err_of(e), r,
			       "volume '%s' is gone, but not all of what was "
			       "in it: %s",
			       name, strerror(-r))
		     : 0;
}

static void free_one(struct hutch_volume *v)
{
	if (!v)
		return;
	record_drop(v->name);
	record_drop(v->path);
	free(v);
}

void hutch_volume_list_free(struct hutch_volume **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free_one(list[i]);
	free(list);
}

static struct hutch_volume *look(const struct hutch *h, const struct store *s,
				 const char *name)
{
	auto_fd int fd = open_folder(s->name_fd, name);
	struct hutch_volume *v = calloc(1, sizeof(*v));
	auto_free char *path = NULL;
	struct statx st;

	if (!v || asprintf(&path, "%s/volumes/name/%s", h->data, name) < 0 ||
	    record_set(&v->name, name) < 0 || record_set(&v->path, path) < 0) {
		free_one(v);
		return NULL;
	}
	v->used_bytes = -1;
	if (fd < 0)
		return v;
	/* What is none of ours is no size to be shown. */
	if (volume_size(fd, &v->bytes) < 0)
		v->bytes = 0;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) == 0 &&
	    st.stx_mask & STATX_BTIME)
		v->created_ns = st.stx_btime.tv_sec * NS_PER_S +
				st.stx_btime.tv_nsec;
	v->in_use = flock(fd, LOCK_EX | LOCK_NB) < 0;
	return v;
}

static int by_name(const void *a, const void *b)
{
	const struct hutch_volume *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int add(struct hutch_volume ***list, size_t *n, struct hutch_volume *v)
{
	struct hutch_volume **more =
		v ? reallocarray(*list, *n + 2, sizeof(struct hutch_volume *))
		  : NULL;

	if (!more) {
		free_one(v);
		return -ENOMEM;
	}
	more[(*n)++] = v;
	more[*n] = NULL;
	*list = more;
	return 0;
}

static int read_list(const struct hutch *h, const struct store *s,
		     struct hutch_volume ***list, struct err *e)
{
	DIR *dir = open_list(s->name_fd);
	const struct dirent *de;
	size_t n = 0;
	int r = 0;

	if (!dir)
		return err_set(e, -errno, "cannot read the list of volumes: %s",
			       strerror(errno));
	while (r == 0 && (de = readdir(dir)) != NULL)
		if (hutch_volume_name_ok(de->d_name))
			r = add(list, &n, look(h, s, de->d_name));
	(void)closedir(dir);
	return r < 0 ? err_set(e, r, "no memory") : (int)n;
}

/* It may take a while, so nobody is kept waiting; what is gone has no use. */
static void count_used(const struct store *s, struct hutch_volume *const *list)
{
	for (; *list; list++) {
		auto_fd int fd =
			(*list)->bytes ? open_folder(s->name_fd, (*list)->name)
				       : -1;

		if (fd >= 0)
			(*list)->used_bytes = volume_used(fd);
	}
}

int hutch_volume_list(struct hutch *h, struct hutch_volume ***ret,
		      struct hutch_err *e)
{
	struct hutch_volume **list = calloc(1, sizeof(struct hutch_volume *));
	auto_volumes struct store s = STORE_INIT;
	int r;

	if (!list)
		return err_set(err_of(e), -ENOMEM, "no memory");
	r = store_open(h, &s, err_of(e));
	r = r < 0 ? r : read_list(h, &s, &list, err_of(e));
	if (r < 0) {
		hutch_volume_list_free(list);
		return r;
	}
	store_unlock(&s);
	count_used(&s, list);
	qsort(list, (size_t)r, sizeof(struct hutch_volume *), by_name);
	*ret = list;
	return r;
}
