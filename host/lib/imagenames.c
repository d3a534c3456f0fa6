/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/imagenames.c - see imagenames.h, and the names of imagestore.h */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/io.h"
#include "common/log.h"
#include "host/lib/imagenames.h"
#include "host/lib/imageref.h"
#include "host/lib/imagestore.h"
#include "host/lib/record.h"

_Static_assert(HUTCH_IMAGE_REF_MAX <= NAME_MAX, "a name is a file's name");

#define QUOTE_MAX 80

/* No reference has a '+', so that '/' and back is unique. */
static void swap(char *dst, const char *src, char from, char to)
{
	size_t i;

	for (i = 0; i < HUTCH_IMAGE_REF_MAX && src[i]; i++)
		dst[i] = (char)(src[i] == from ? to : src[i]);
	dst[i] = '\0';
}

/* The id in the file @file. Return: 0, -ENOENT, -EBADMSG. */
static int read_id(const struct imagestore *s, const char *file, char *id)
{
	auto_fd int fd =
		openat(s->name_fd, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char buf[HUTCH_IMAGE_ID_LEN + 2] = "";
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = io_read_full(fd, buf, sizeof(buf) - 1);
	if (n != HUTCH_IMAGE_ID_LEN + 1 || buf[HUTCH_IMAGE_ID_LEN] != '\n')
		return -EBADMSG;
	buf[HUTCH_IMAGE_ID_LEN] = '\0';
	if (!imageref_id_ok(buf))
		return -EBADMSG;
	memcpy(id, buf, HUTCH_IMAGE_ID_LEN + 1);
	return 0;
}

int imagenames_set(const struct imagestore *s, const char *name, const char *id,
		   struct err *e)
{
	char file[HUTCH_IMAGE_REF_MAX + 1], tmp[STAGE_LEN + 1];
	char text[HUTCH_IMAGE_ID_LEN + 2];
	auto_fd int fd = -1;
	int r;

	swap(file, name, '/', '+');
	stage_name(tmp);
	(void)snprintf(text, sizeof(text), "%s\n", id);
	fd = openat(s->tmp_fd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0600);
	r = fd < 0 ? -errno : io_write_full(fd, text, strlen(text));
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && renameat(s->tmp_fd, tmp, s->name_fd, file) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(s->tmp_fd, tmp, 0);
		return err_set(e, r, "cannot name the image: %s", strerror(-r));
	}
	(void)fsync(s->name_fd);
	return 0;
}

/* Called for each name; a negative return ends it. */
typedef int name_fn(const struct imagestore *s, const char *file,
		    const char *id, void *arg);

static int each_name(const struct imagestore *s, name_fn *fn, void *arg,
		     struct err *e)
{
	int fd = openat(s->name_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	char id[HUTCH_IMAGE_ID_LEN + 1];
	const struct dirent *de;
	int r = 0;

	if (!d) {
		base_closep(&fd);
		return err_set(e, -EIO, "cannot read the images' names");
	}
	while (r >= 0 && (de = readdir(d)))
		if (read_id(s, de->d_name, id) == 0)
			r = fn(s, de->d_name, id, arg);
	(void)closedir(d);
	return r < 0 ? err_set(e, r, "images' names: %s", strerror(-r)) : 0;
}

/**
 * struct found - Names of one image
 * @v:		As imageref_text() writes them; ends in NULL
 */
struct found {
	const char *id;
	char **v;
	size_t n;
};

static int collect(const struct imagestore *s, const char *file, const char *id,
		   void *arg)
{
	char name[HUTCH_IMAGE_REF_MAX + 1];
	struct found *f = arg;
	char **more;

	(void)s;
	if (strcmp(id, f->id) != 0)
		return 0;
	more = realloc(f->v, (f->n + 2) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	f->v = more;
	swap(name, file, '+', '/');
	more[f->n + 1] = NULL;
	more[f->n] = strdup(name);
	return more[f->n++] ? 0 : -ENOMEM;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int imagenames_of(const struct imagestore *s, const char *id,
		  const char *const **field, struct err *e)
{
	struct found f = { .id = id };
	int r = each_name(s, collect, &f, e);

	if (r == 0 && f.n) {
		qsort(f.v, f.n, sizeof(*f.v), by_text);
		r = record_set_list(field, (const char *const *)f.v);
		if (r < 0)
			(void)err_set(e, r, "no memory");
	}
	imagestore_free_ids(f.v);
	return r;
}

static int count_one(const struct imagestore *s, const char *file,
		     const char *id, void *arg)
{
	struct found *f = arg;

	(void)s;
	(void)file;
	f->n += strcmp(id, f->id) == 0;
	return 0;
}

int imagenames_count(const struct imagestore *s, const char *id, struct err *e)
{
	struct found f = { .id = id };
	int r = each_name(s, count_one, &f, e);

	return r < 0 ? r : (int)f.n;
}

static int forget_one(const struct imagestore *s, const char *file,
		      const char *id, void *arg)
{
	const struct found *f = arg;

	if (strcmp(id, f->id) == 0 && unlinkat(s->name_fd, file, 0) < 0)
		return -errno;
	return 0;
}

int imagenames_forget(const struct imagestore *s, const char *id, struct err *e)
{
	struct found f = { .id = id };

	return each_name(s, forget_one, &f, e);
}

static int sweep_one(const struct imagestore *s, const char *file,
		     const char *id, void *arg)
{
	(void)arg;
	if (faccessat(s->id_fd, id, F_OK, 0) < 0 && errno == ENOENT)
		(void)unlinkat(s->name_fd, file, 0);
	return 0;
}

void imagenames_sweep(const struct imagestore *s)
{
	/* What cannot be read now is for the next. */
	if (each_name(s, sweep_one, NULL, NULL) < 0)
		return;
}

int imagestore_unname(const struct imagestore *s, const char *name,
		      struct err *e)
{
	char file[HUTCH_IMAGE_REF_MAX + 1];

	swap(file, name, '/', '+');
	if (unlinkat(s->name_fd, file, 0) < 0)
		return err_set(e, -errno, "cannot remove the name '%s': %s",
			       name, strerror(errno));
	return 0;
}

/* ---- What people call an image ---- */

/* The id that begins with @word. Return: 0, -ENOENT, -ENOTUNIQ, -errno. */
static int find_id(const struct imagestore *s, const char *word, char *ret_id,
		   struct err *e)
{
	size_t len = strlen(word), n = 0;
	char **ids = NULL;
	int r;

	if (len < IMAGESTORE_PREFIX || len > HUTCH_IMAGE_ID_LEN ||
	    strspn(word, "0123456789abcdef") != len)
		return -ENOENT;
	r = imagestore_ids(s, &ids, e);
	if (r < 0)
		return r;
	for (size_t i = 0; ids[i]; i++)
		if (strncmp(ids[i], word, len) == 0 && n++ == 0)
			memcpy(ret_id, ids[i], HUTCH_IMAGE_ID_LEN + 1);
	imagestore_free_ids(ids);
	if (n > 1)
		return err_set(e, -ENOTUNIQ,
			       "%zu images have an id that begins with '%s'", n,
			       word);
	return n ? 0 : -ENOENT;
}

static int try_ref(const struct imagestore *s, const struct imageref *ref,
		   char *ret_id, char *name, struct err *e)
{
	char file[HUTCH_IMAGE_REF_MAX + 1];
	int r = imageref_text(ref, name, e);

	if (r < 0)
		return r;
	swap(file, name, '/', '+');
	return read_id(s, file, ret_id);
}

int imagestore_find(const struct imagestore *s, const char *word,
		    char ret_id[HUTCH_IMAGE_ID_LEN + 1],
		    char ret_name[HUTCH_IMAGE_REF_MAX + 1], struct err *e)
{
	char name[HUTCH_IMAGE_REF_MAX + 1] = "", q[QUOTE_MAX];
	struct err why = { 0 };
	struct imageref ref;
	int bad, r = -ENOENT;

	if (imageref_digest_ok(word))
		return imagestore_find(s, word + strlen("sha256:"), ret_id,
				       ret_name, e);
	bad = imageref_parse(word, &ref, &why);
	if (bad == 0) {
		r = try_ref(s, &ref, ret_id, name, &why);
		if (r == -ENOENT && imageref_expand(&ref, NULL) == 1)
			r = try_ref(s, &ref, ret_id, name, &why);
	}
	if (r == -ENOENT) {
		name[0] = '\0';
		r = find_id(s, word, ret_id, e);
		if (r == -ENOTUNIQ)
			return r;
	}
	if (r < 0 && bad < 0 && !imageref_id_ok(word))
		return err_set(e, bad, "%s", why.msg);
	if (r < 0)
		return err_set(e, r,
			       "there is no image '%s'; hutch image list shows "
			       "those there are",
			       log_escape(q, sizeof(q), word, strlen(word)));
	if (ret_name)
		memcpy(ret_name, name, sizeof(name));
	return 0;
}
