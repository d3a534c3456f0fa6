/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/imagestore.c - see imagestore.h; names are in imagenames.c */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "host/lib/imageinfo.h"
#include "host/lib/imagenames.h"
#include "host/lib/imageref.h"
#include "host/lib/imagestore.h"

static int open_sub(int fd, const char *name, struct err *e)
{
	int r;

	if (mkdirat(fd, name, 0700) < 0 && errno != EEXIST)
		return err_set(e, -errno, "cannot make folder 'images/%s': %s",
			       name, strerror(errno));
	r = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return r < 0 ? err_set(e, -errno, "cannot open folder 'images/%s': %s",
			       name, strerror(errno))
		     : r;
}

int imagestore_open(int fd, struct imagestore *ret, struct err *e)
{
	struct imagestore s = IMAGESTORE_INIT;
	const struct {
		const char *name;
		int *fd;
	} subs[] = {
		{ "id", &s.id_fd },
		{ "name", &s.name_fd },
		{ "tmp", &s.tmp_fd },
		{ "part", &s.part_fd },
	};
	int r = 0;

	s.fd = fd;
	for (size_t i = 0; i < ARRAY_LEN(subs) && r >= 0; i++) {
		r = open_sub(fd, subs[i].name, e);
		if (r >= 0)
			*subs[i].fd = r;
	}
	if (r < 0) {
		imagestore_close(&s);
		return r;
	}
	*ret = s;
	return 0;
}

void imagestore_close(struct imagestore *s)
{
	base_closep(&s->fd);
	base_closep(&s->id_fd);
	base_closep(&s->name_fd);
	base_closep(&s->tmp_fd);
	base_closep(&s->part_fd);
	*s = (struct imagestore)IMAGESTORE_INIT;
}

static int lock_store(const struct imagestore *s, struct err *e)
{
	return stage_lock(s->fd, "images", e);
}

/* ---- Stages and sweeps ---- */

int imagestore_stage_new(const struct imagestore *s, struct stage *ret,
			 struct err *e)
{
	auto_fd int lock = lock_store(s, e);
	int r = lock < 0 ? lock : stage_new(s->tmp_fd, ret);

	if (lock >= 0 && r < 0)
		return err_set(e, r, "cannot make a folder in 'images/tmp': %s",
			       strerror(-r));
	return r;
}

static void sweep_part(const struct imagestore *s, const char *name)
{
	auto_fd int fd = openat(s->part_fd, name,
				O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)unlinkat(s->part_fd, name, 0);
}

/* What cannot be read now the next sweep takes. */
void imagestore_sweep_parts(const struct imagestore *s)
{
	int fd = openat(s->part_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;

	if (!d) {
		base_closep(&fd);
		return;
	}
	while ((de = readdir(d)))
		if (de->d_name[0] != '.')
			sweep_part(s, de->d_name);
	(void)closedir(d);
}

void imagestore_sweep_names(const struct imagestore *s)
{
	auto_fd int lock = lock_store(s, NULL);

	if (lock >= 0)
		imagenames_sweep(s);
}

/* ---- Images ---- */

static int rename_new(int from, const char *a, int to, const char *b)
{
	return syscall(SYS_renameat2, from, a, to, b, 1u /* NOREPLACE */) < 0
		       ? -errno
		       : 0;
}

bool imagestore_whole(const struct imagestore *s, const char *id)
{
	AUTO(imageinfo_freep) struct hutch_image_info *i = NULL;
	auto_fd int fd = openat(
		s->id_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && imageinfo_read(fd, &i, NULL) == 0 &&
	       strcmp(i->id, id) == 0 &&
	       faccessat(fd, IMAGESTORE_TREE, F_OK, 0) == 0;
}

/* The stage becomes what was there, to be removed. */
static int exchange(const struct imagestore *s, struct stage *st,
		    const char *id)
{
	auto_fd int old = stage_lock_dir(s->id_fd, id, LOCK_EX);

	if (old < 0)
		return old == -EWOULDBLOCK ? -EBUSY : old;
	if (syscall(SYS_renameat2, s->tmp_fd, st->name, s->id_fd, id,
		    2u /* EXCHANGE */) < 0)
		return -errno;
	(void)close(st->fd);
	st->fd = take_fd(&old);
	return 0;
}

/* Return: 0; 1 if it is there already; -errno. */
static int put_in_place(const struct imagestore *s, struct stage *st,
			const char *id)
{
	int r = rename_new(s->tmp_fd, st->name, s->id_fd, id);

	if (r == -EEXIST || r == -ENOTEMPTY)
		return imagestore_whole(s, id) ? 1 : exchange(s, st, id);
	if (r < 0)
		return r;
	stage_moved(st);
	return 0;
}

int imagestore_commit(const struct imagestore *s, struct stage *st,
		      const char *id, const char *name, struct err *e)
{
	auto_fd int lock = -1;
	int r;

	/* All of it on disk before anybody can see it. */
	if (syncfs(st->fd) < 0)
		return err_set(e, -errno, "cannot write the image: %s",
			       strerror(errno));
	lock = lock_store(s, e);
	if (lock < 0)
		return lock;
	r = put_in_place(s, st, id);
	if (r < 0)
		return err_set(e, r, "cannot move the image to its place: %s",
			       strerror(-r));
	if (r == 0)
		(void)fsync(s->id_fd);
	return imagenames_set(s, name, id, e);
}

static int no_image(const char *id, struct err *e)
{
	return err_set(e, -ENOENT, "image %.*s is not there any more",
		       IMAGESTORE_SHORTID, id);
}

int imagestore_name(const struct imagestore *s, const char *id,
		    const char *name, struct err *e)
{
	auto_fd int lock = lock_store(s, e);

	if (lock < 0)
		return lock;
	if (faccessat(s->id_fd, id, F_OK, 0) < 0)
		return no_image(id, e);
	return imagenames_set(s, name, id, e);
}

int imagestore_use(const struct imagestore *s, const char *id, struct err *e)
{
	/* Between open and lock it may be removed: only under the lock not. */
	auto_fd int lock = lock_store(s, e);
	int fd;

	if (lock < 0)
		return lock;
	fd = stage_lock_dir(s->id_fd, id, LOCK_SH);
	if (fd == -ENOENT)
		return no_image(id, e);
	return fd < 0 ? err_set(e, fd, "image %.*s: %s", IMAGESTORE_SHORTID, id,
				strerror(-fd))
		      : fd;
}

int imagestore_info(const struct imagestore *s, const char *id,
		    struct hutch_image_info **ret, struct err *e)
{
	AUTO(imageinfo_freep) struct hutch_image_info *i = NULL;
	auto_fd int fd = openat(
		s->id_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r;

	if (fd < 0)
		return no_image(id, e);
	r = imageinfo_read(fd, &i, e);
	/* It may have gone while we looked. */
	if (r == -ENOENT && faccessat(s->id_fd, id, F_OK, 0) < 0)
		return no_image(id, e);
	if (r == -ENOENT)
		r = -EBADMSG;
	if (r == 0)
		r = imagenames_of(s, id, &i->names, e);
	if (r < 0)
		return err_wrap(e, r, "image %.*s", IMAGESTORE_SHORTID, id);
	*ret = take_ptr(&i);
	return 0;
}

void imagestore_free_ids(char **ids)
{
	for (size_t i = 0; ids && ids[i]; i++)
		free(ids[i]);
	free(ids);
}

/* Appends to a list that ends in NULL. */
static int add_id(char ***list, size_t n, const char *id)
{
	char **more = realloc(*list, (n + 2) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	*list = more;
	more[n + 1] = NULL;
	more[n] = strdup(id);
	return more[n] ? 0 : -ENOMEM;
}

int imagestore_ids(const struct imagestore *s, char ***ret, struct err *e)
{
	int fd = openat(s->id_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;
	char **list = calloc(1, sizeof(*list));
	int n = 0, r = list ? 0 : -ENOMEM;

	if (!d) {
		base_closep(&fd);
		r = -EIO;
	}
	while (r == 0 && (de = readdir(d)))
		if (imageref_id_ok(de->d_name))
			r = add_id(&list, (size_t)n++, de->d_name);
	if (d)
		(void)closedir(d);
	if (r < 0) {
		imagestore_free_ids(list);
		return err_set(e, r, "cannot read the list of images: %s",
			       strerror(-r));
	}
	*ret = list;
	return n;
}

/* Return: a descriptor that holds its lock, alone; -ENOENT; -EBUSY */
static int lock_to_drop(const struct imagestore *s, const char *id,
			imagestore_needed needed, void *arg, struct err *e)
{
	auto_fd int fd = stage_lock_dir(s->id_fd, id, LOCK_EX);
	int r = 0;

	if (fd < 0 && fd != -EWOULDBLOCK)
		return no_image(id, e);
	/* Of one that is in use this may say more. */
	if (needed)
		r = needed(arg, id, e);
	if (r < 0)
		return r;
	return fd < 0 ? err_set(e, -EBUSY, "image %.*s is in use by a VM",
				IMAGESTORE_SHORTID, id)
		      : take_fd(&fd);
}

int imagestore_drop(const struct imagestore *s, const char *id, int max_names,
		    imagestore_needed needed, void *arg, struct err *e)
{
	struct stage gone = STAGE_INIT;
	auto_fd int lock = lock_store(s, e);
	int n, r;

	if (lock < 0)
		return lock;
	gone.fd = lock_to_drop(s, id, needed, arg, e);
	if (gone.fd < 0)
		return gone.fd;
	n = imagenames_count(s, id, e);
	if (n >= 0 && max_names >= 0 && n > max_names)
		n = err_set(e, -ENOTEMPTY,
			    "image %.*s has several names: remove it with -f, "
			    "or one of its names",
			    IMAGESTORE_SHORTID, id);
	/* Names first: one must never lead nowhere, whatever ends us. */
	r = n < 0 ? n : imagenames_forget(s, id, e);
	if (r < 0) {
		(void)close(gone.fd);
		return r;
	}
	(void)fsync(s->name_fd);
	stage_name(gone.name);
	r = rename_new(s->id_fd, id, s->tmp_fd, gone.name);
	if (r < 0) {
		(void)close(gone.fd);
		return err_set(e, r, "cannot remove image %.*s: %s",
			       IMAGESTORE_SHORTID, id, strerror(-r));
	}
	(void)close(take_fd(&lock));
	stage_close(s->tmp_fd, &gone);
	return 0;
}
