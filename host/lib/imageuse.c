/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/imageuse.c - an image in use, and what it says is to run in it */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "host/lib/dirs.h"
#include "host/lib/image.h"
#include "host/lib/internal.h"

/**
 * struct hutch_image - See hutch.h
 * @lock_fd:	The image's folder, locked for as long as it is open
 * @tree_fd:	O_PATH
 * @name:	That it was found by; or its id
 */
struct hutch_image {
	int lock_fd;
	int tree_fd;
	struct hutch_image_info *info;
	char name[HUTCH_IMAGE_REF_MAX + 1];
};

int image_store(struct hutch *h, struct imagestore *ret, struct err *e)
{
	auto_free char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/images", h->data) < 0)
		return err_set(e, -ENOMEM, "no memory");
	fd = dirs_open(path, e);
	return fd < 0 ? fd : imagestore_open(fd, ret, e);
}
static int open_image(const struct imagestore *s, const char *name,
		      struct hutch_image *img, struct err *e)
{
	char id[HUTCH_IMAGE_ID_LEN + 1];
	int r = imagestore_find(s, name, id, img->name, e);

	if (r < 0)
		return r;
	if (!*img->name)
		memcpy(img->name, id, sizeof(id));
	img->lock_fd = imagestore_use(s, id, e);
	if (img->lock_fd < 0)
		return img->lock_fd;
	img->tree_fd = openat(img->lock_fd, IMAGESTORE_TREE,
			      O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (img->tree_fd < 0)
		return err_set(e, -errno, "image %.*s has no tree: %s",
			       IMAGESTORE_SHORTID, id, strerror(errno));
	return imagestore_info(s, id, &img->info, e);
}

int hutch_image_open(struct hutch *h, const char *name,
		     struct hutch_image **ret, struct hutch_err *e)
{
	auto_store struct imagestore s = IMAGESTORE_INIT;
	struct hutch_image *img = calloc(1, sizeof(*img));
	int r;

	if (!img)
		return err_set(err_of(e), -ENOMEM, "no memory");
	img->lock_fd = -1;
	img->tree_fd = -1;
	r = image_store(h, &s, err_of(e));
	r = r < 0 ? r : open_image(&s, name, img, err_of(e));
	if (r < 0) {
		hutch_image_close(img);
		return r;
	}
	*ret = img;
	return 0;
}

const struct hutch_image_info *hutch_image_info_of(
	const struct hutch_image *img)
{
	return img->info;
}

int hutch_image_tree(const struct hutch_image *img)
{
	return img->tree_fd;
}

int hutch_image_lock(const struct hutch_image *img)
{
	return img->lock_fd;
}

void hutch_image_close(struct hutch_image *img)
{
	if (!img)
		return;
	base_closep(&img->lock_fd);
	base_closep(&img->tree_fd);
	hutch_image_info_free(img->info);
	free(img);
}

/* ---- What it says ---- */

int image_stop_signal(const struct hutch_image *img, unsigned int *ret,
		      struct err *e)
{
	const char *s = img->info->stop_signal;
	int signo = 0, r = 0;

	if (s && *s)
		r = hutch_parse_signal("the image's StopSignal", s, &signo,
				       (struct hutch_err *)(void *)e);
	*ret = (unsigned int)signo;
	return r;
}

/* Two lists, either of which may be NULL, in one. */
static const char **join(const char *const *a, const char *const *b)
{
	size_t n = strv_len(a), m = strv_len(b);
	const char **v = calloc(n + m + 1, sizeof(*v));

	if (v && a)
		memcpy(v, a, n * sizeof(*v));
	if (v && b)
		memcpy(v + n, b, m * sizeof(*v));
	return v;
}

const char *image_name(const struct hutch_image *img)
{
	return img->name;
}

/* Whether one of @env has the variable of @s. */
static bool sets(const char *const *env, const char *s)
{
	size_t len = strcspn(s, "=");

	for (; env && *env; env++)
		if (strcspn(*env, "=") == len && memcmp(*env, s, len) == 0)
			return true;
	return false;
}

int image_env(const struct hutch_image *img, const char *const *env,
	      const char *const **ret)
{
	const char *const *own = img->info->env;
	const char **v = join(own, env);
	size_t n = 0;

	*ret = v;
	if (!v)
		return -ENOMEM;
	/* In the same order, without those of the image that are set anew. */
	for (size_t i = 0; own && own[i]; i++)
		if (!sets(env, own[i]))
			v[n++] = own[i];
	for (size_t i = 0; env && env[i]; i++)
		v[n++] = env[i];
	v[n] = NULL;
	return 0;
}

int hutch_image_command(const struct hutch_image *img, const char *entrypoint,
			const char *const *argv, const char *const **ret,
			struct hutch_err *e)
{
	const char *const own[] = { entrypoint, NULL };
	const struct hutch_image_info *i = img->info;
	const bool given = argv && *argv;
	const char **v;

	if (entrypoint)
		v = join(*entrypoint ? own : NULL, given ? argv : NULL);
	else
		v = join(i->entrypoint, given ? argv : i->cmd);
	if (!v)
		return err_set(err_of(e), -ENOMEM, "no memory");
	*ret = v;
	return *v != NULL;
}
