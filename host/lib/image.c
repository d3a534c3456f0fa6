/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/image.c - images, as libhutch gives them out: hutch_image_*() */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/io.h"
#include "common/log.h"
#include "host/lib/disk.h"
#include "host/lib/image.h"
#include "host/lib/imageinfo.h"
#include "host/lib/imagenames.h"
#include "host/lib/imageref.h"
#include "host/lib/imagestore.h"
#include "host/lib/imagework.h"
#include "host/lib/internal.h"
#include "host/lib/record.h"

#define QUOTE_MAX 120
#define IDLE_S    60

int hutch_image_ref_ok(const char *name)
{
	struct imageref ref;

	return imageref_parse(name, &ref, NULL) == 0;
}

/* ---- Making ---- */

int image_check_name(const char *name, char ret[HUTCH_IMAGE_REF_MAX + 1],
		     struct err *e)
{
	struct imageref ref;
	int r;

	if (!name)
		return err_set(e, -EINVAL, "an image needs a name");
	r = imageref_parse(name, &ref, e);
	if (r < 0)
		return r;
	if (ref.digest[0])
		return err_set(
			e, -EINVAL,
			"'%s': an image is named by a tag, its digest is "
			"what it is",
			name);
	return imageref_text(&ref, ret, e);
}

static int open_source(const char *path, struct err *e)
{
	char q[QUOTE_MAX];
	int fd;

	if (!path)
		return err_set(e, -EINVAL, "an import needs a path");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? err_set(e, -errno, "cannot open '%s': %s",
				log_escape(q, sizeof(q), path, strlen(path)),
				strerror(errno))
		      : fd;
}

/* What has been made is looked at for who wants to know. */
int image_give(const struct imagestore *s, const char *id,
	       struct hutch_image_info **ret, struct err *e)
{
	return ret ? imagestore_info(s, id, ret, e) : 0;
}

int hutch_image_import(struct hutch *h,
		       const struct hutch_image_import_opts *opts,
		       struct hutch_image_info **ret, struct hutch_err *e)
{
	struct hutch_image_import_opts o = HUTCH_IMAGE_IMPORT_OPTS_INIT;
	auto_store struct imagestore s = IMAGESTORE_INIT;
	char name[HUTCH_IMAGE_REF_MAX + 1], id[HUTCH_IMAGE_ID_LEN + 1];
	struct imagework w = { .verb = "import", .name = name };
	auto_fd int src = -1;
	int r = opts_take(&o, sizeof(o), opts, opts->size, err_of(e));

	r = r < 0 ? r : image_check_name(o.name, name, err_of(e));
	if (r < 0)
		return r;
	src = open_source(o.path, err_of(e));
	if (src < 0)
		return src;
	w.src_fd = src;
	w.pick = o.pick;
	w.max_bytes = o.max_bytes ? o.max_bytes : HUTCH_IMAGE_BYTES;
	w.max_entries = o.max_entries ? o.max_entries : HUTCH_IMAGE_ENTRIES;
	w.progress = o.progress;
	w.progress_arg = o.progress_arg;
	r = image_store(h, &s, err_of(e));
	r = r < 0 ? r : imagework_run(h, &s, &w, id, err_of(e));
	return r < 0 ? r : image_give(&s, id, ret, err_of(e));
}

/* ---- Pulling ---- */

#define SECRET_NONE   0u /* enum pull_secret */
#define SECRET_USER   1u
#define SECRET_DOCKER 2u

static int open_creds(const char *creds, struct err *e)
{
	auto_fd int fd = memfd_create("hutch-creds", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : file_size_ok(strlen(creds));

	r = r < 0 ? r : io_write_full(fd, creds, strlen(creds));
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	return r < 0 ? err_set(e, r, "cannot make a memory file: %s",
			       strerror(-r))
		     : take_fd(&fd);
}

/* Docker's config.json, if there is one. */
static int open_docker(void)
{
	const char *dir = getenv("DOCKER_CONFIG"), *home = getenv("HOME");
	auto_free char *path = NULL;
	int n = -1;

	if (dir && *dir)
		n = asprintf(&path, "%s/config.json", dir);
	else if (home && *home)
		n = asprintf(&path, "%s/.docker/config.json", home);
	if (n < 0) {
		path = NULL;
		return -1;
	}
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static int find_creds(const char *creds, struct imagework *w, struct err *e)
{
	int fd = creds ? open_creds(creds, e) : open_docker();

	if (creds && !strchr(creds, ':')) {
		base_closep(&fd);
		return err_set(e, -EINVAL,
			       "credentials are written USER:PASSWORD");
	}
	w->secret = creds ? SECRET_USER : fd >= 0 ? SECRET_DOCKER : SECRET_NONE;
	return creds ? fd : MAX(fd, -1);
}

/* What a registry is asked for; who said less is told. */
static int pull_name(const struct hutch_image_pull_opts *o,
		     char ret[HUTCH_IMAGE_REF_MAX + 1], struct err *e)
{
	char note[2 * HUTCH_IMAGE_REF_MAX + 16];
	struct imageref ref;
	int guessed, r = o->ref ? imageref_parse(o->ref, &ref, e)
				: err_set(e, -EINVAL, "a pull needs a name");

	guessed = r < 0 ? r : imageref_expand(&ref, e);
	r = guessed < 0 ? guessed : imageref_text(&ref, ret, e);
	if (r < 0)
		return r;
	(void)snprintf(note, sizeof(note), "%s is taken as %s", o->ref, ret);
	if (guessed && o->progress)
		o->progress(o->progress_arg, HUTCH_IMAGE_STEP_NOTE, note, 0, 0);
	return 0;
}

int hutch_image_pull(struct hutch *h, const struct hutch_image_pull_opts *opts,
		     struct hutch_image_info **ret, struct hutch_err *e)
{
	struct hutch_image_pull_opts o = HUTCH_IMAGE_PULL_OPTS_INIT;
	auto_store struct imagestore s = IMAGESTORE_INIT;
	char name[HUTCH_IMAGE_REF_MAX + 1], id[HUTCH_IMAGE_ID_LEN + 1];
	struct imagework w = { .verb = "pull", .name = name };
	auto_fd int secret = -1;
	int r = opts_take(&o, sizeof(o), opts, opts->size, err_of(e));

	r = r < 0 ? r : pull_name(&o, name, err_of(e));
	if (r < 0)
		return r;
	secret = find_creds(o.creds, &w, err_of(e));
	if (secret < -1)
		return secret;
	w.src_fd = secret;
	w.idle_s = o.idle_s ? o.idle_s : IDLE_S;
	w.max_bytes = o.max_bytes ? o.max_bytes : HUTCH_IMAGE_BYTES;
	w.max_entries = o.max_entries ? o.max_entries : HUTCH_IMAGE_ENTRIES;
	w.progress = o.progress;
	w.progress_arg = o.progress_arg;
	r = image_store(h, &s, err_of(e));
	r = r < 0 ? r : imagework_run(h, &s, &w, id, err_of(e));
	return r < 0 ? r : image_give(&s, id, ret, err_of(e));
}

/* ---- Looking ---- */

static const char *first_name(const struct hutch_image_info *i)
{
	/* Behind all that a name can begin with. */
	return i->names ? i->names[0] : "~";
}

static int by_name(const void *a, const void *b)
{
	const struct hutch_image_info *const *x = a, *const *y = b;
	int r = strcmp(first_name(*x), first_name(*y));

	return r ? r : strcmp((*x)->id, (*y)->id);
}

void hutch_image_list_free(struct hutch_image_info **list)
{
	for (size_t i = 0; list && list[i]; i++)
		hutch_image_info_free(list[i]);
	free(list);
}

/* All that is known of one whose image.json cannot be read. */
static int damaged(const struct imagestore *s, const char *id, const char *why,
		   struct hutch_image_info **ret, struct err *e)
{
	AUTO(imageinfo_freep) struct hutch_image_info *i = imageinfo_new();
	int r;

	if (!i || record_set(&i->id, id) < 0 ||
	    record_set(&i->damaged, why) < 0)
		return err_set(e, -ENOMEM, "no memory");
	r = imagenames_of(s, id, &i->names, e);
	if (r == 0)
		*ret = take_ptr(&i);
	return r;
}

/* Return: 0; -ENOENT if it has gone while we look. */
static int list_one(const struct imagestore *s, const char *id,
		    struct hutch_image_info **ret, struct err *e)
{
	struct err why = { 0 };
	int r = imagestore_info(s, id, ret, &why);

	if (r == 0 || r == -ENOENT)
		return r;
	return r == -ENOMEM ? err_set(e, r, "%s", why.msg)
			    : damaged(s, id, why.msg, ret, e);
}

int hutch_image_list(struct hutch *h, struct hutch_image_info ***ret,
		     struct hutch_err *e)
{
	auto_store struct imagestore s = IMAGESTORE_INIT;
	struct hutch_image_info **list;
	char **ids = NULL;
	int n = 0, r = image_store(h, &s, err_of(e));

	r = r < 0 ? r : imagestore_ids(&s, &ids, err_of(e));
	if (r < 0)
		return r;
	list = calloc((size_t)r + 1, sizeof(struct hutch_image_info *));
	if (!list) {
		imagestore_free_ids(ids);
		return err_set(err_of(e), -ENOMEM, "no memory");
	}
	r = 0;
	for (size_t i = 0; r == 0 && ids[i]; i++) {
		r = list_one(&s, ids[i], &list[n], err_of(e));
		n += r == 0;
		r = r == -ENOENT ? 0 : r;
	}
	imagestore_free_ids(ids);
	if (r < 0) {
		hutch_image_list_free(list);
		return r;
	}
	qsort(list, (size_t)n, sizeof(struct hutch_image_info *), by_name);
	*ret = list;
	return n;
}

int hutch_image_inspect(struct hutch *h, const char *name,
			struct hutch_image_info **ret, struct hutch_err *e)
{
	auto_store struct imagestore s = IMAGESTORE_INIT;
	char id[HUTCH_IMAGE_ID_LEN + 1];
	int r = image_store(h, &s, err_of(e));

	r = r < 0 ? r : imagestore_find(&s, name, id, NULL, err_of(e));
	return r < 0 ? r : imagestore_info(&s, id, ret, err_of(e));
}

/* ---- Removing ---- */

/* A disk without its image is lost: it has only what differs. */
static int needed_by_disk(void *arg, const char *id, struct err *e)
{
	char user[HUTCH_NAME_MAX + 1];
	int r = disk_user(arg, id, user);

	if (r < 0)
		return err_set(e, r,
			       "cannot see whether a VM's disk needs image "
			       "%.*s: %s",
			       IMAGESTORE_SHORTID, id, strerror(-r));
	if (r > 0)
		return err_set(
			e, -EBUSY,
			"image %.*s is what the disk of VM '%s' was made "
			"over: hutch rm %s first",
			IMAGESTORE_SHORTID, id, user, user);
	return 0;
}

/* A disk is made while its image is in use: so with its lock there is no new one. */
static int drop(struct hutch *h, const struct imagestore *s, const char *id,
		int max_names, struct err *e)
{
	return imagestore_drop(s, id, max_names, needed_by_disk, h, e);
}

static int remove_image(struct hutch *h, const struct imagestore *s,
			const char *word, unsigned int flags, struct err *e)
{
	char id[HUTCH_IMAGE_ID_LEN + 1], name[HUTCH_IMAGE_REF_MAX + 1];
	int r = imagestore_find(s, word, id, name, e);

	/* What image.json says is not asked: a damaged one goes as well. */
	r = r < 0 ? r : imagenames_count(s, id, e);
	if (r < 0)
		return r;
	if (name[0] && r > 1)
		return imagestore_unname(s, name, e);
	r = drop(h, s, id, flags & HUTCH_IMAGE_RM_FORCE ? -1 : 1, e);
	/* A name of what is not there goes all the same. */
	if (r == -ENOENT && name[0])
		r = imagestore_unname(s, name, e);
	return r < 0 ? r : 1;
}

int hutch_image_remove(struct hutch *h, const char *name, unsigned int flags,
		       struct hutch_err *e)
{
	auto_store struct imagestore s = IMAGESTORE_INIT;
	int r;

	if (flags & ~HUTCH_IMAGE_RM_FORCE)
		return err_set(err_of(e), -EINVAL, "unknown flags 0x%x", flags);
	r = image_store(h, &s, err_of(e));
	return r < 0 ? r : remove_image(h, &s, name, flags, err_of(e));
}

/* Whether @info is gone now; 0 too if it is in use, just gone or just named. */
static int prune_one(struct hutch *h, const struct imagestore *s,
		     const struct hutch_image_info *info, unsigned int flags,
		     struct err *e)
{
	int r;

	if (info->names && !(flags & HUTCH_IMAGE_PRUNE_ALL))
		return 0;
	r = drop(h, s, info->id, info->names ? -1 : 0, e);
	if (r == -EBUSY || r == -ENOENT || r == -ENOTEMPTY)
		return 0;
	return r < 0 ? r : 1;
}

int hutch_image_prune(struct hutch *h, unsigned int flags,
		      struct hutch_image_info ***ret, struct hutch_err *e)
{
	auto_store struct imagestore s = IMAGESTORE_INIT;
	struct hutch_image_info **list = NULL;
	int all, n = 0, r = image_store(h, &s, err_of(e));

	if (r == 0 && flags & ~HUTCH_IMAGE_PRUNE_ALL)
		r = err_set(err_of(e), -EINVAL, "unknown flags 0x%x", flags);
	all = r < 0 ? r : hutch_image_list(h, &list, e);
	if (all < 0)
		return all;
	stage_sweep(s.fd, s.tmp_fd);
	imagestore_sweep_parts(&s);
	imagestore_sweep_names(&s);
	for (int i = 0; list && i < all; i++) {
		struct hutch_image_info *info = list[i];

		list[i] = NULL;
		if (r >= 0)
			r = prune_one(h, &s, info, flags, err_of(e));
		if (r == 1)
			list[n++] = info;
		else
			hutch_image_info_free(info);
	}
	if (r >= 0 && ret)
		*ret = list;
	else
		hutch_image_list_free(list);
	return r < 0 ? r : n;
}
