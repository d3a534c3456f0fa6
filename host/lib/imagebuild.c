/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/imagebuild.c - hutch_image_build()
 *
 * How it works.  A recipe says what; build-debian makes a tar of it, in a file
 * of the store that has no name; and only when that program has said that all
 * went well hutch-image takes the tar in, as confined as with any other tar.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "host/lib/builder.h"
#include "host/lib/dirs.h"
#include "host/lib/image.h"
#include "host/lib/imagework.h"
#include "host/lib/internal.h"
#include "host/lib/jsontext.h"
#include "host/lib/recipe.h"
#include "host/lib/record.h"

#define DEFAULT_PATH \
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define TITLE   "org.opencontainers.image.title"
#define VERSION "org.opencontainers.image.version"

/* ---- The recipe ---- */

static const char *base_name(const char *recipe)
{
	const char *slash = strrchr(recipe, '/');

	return slash ? slash + 1 : recipe;
}

/* One of hutch's by its name, any other by a path: with a '/' in it. */
static int find_recipe(struct hutch *h, const char *recipe, char **ret,
		       struct err *e)
{
	auto_free char *dir = NULL;
	char *path = NULL;
	int r;

	if (!recipe || !*base_name(recipe))
		return err_set(e, -EINVAL, "a build needs a recipe");
	if (strchr(recipe, '/')) {
		path = strdup(recipe);
	} else {
		r = dirs_find(h, HUTCH_PATH_RECIPES, NULL, &dir, e);
		if (r < 0)
			return r;
		if (asprintf(&path, "%s/%s", dir, recipe) < 0)
			path = NULL;
		else if (access(path, F_OK) < 0 && errno == ENOENT) {
			free(path);
			return err_set(e, -ENOENT,
				       "there is no recipe '%.80s' among those "
				       "of hutch, in '%.80s'; one of yours is "
				       "written with a '/', as ./mine",
				       recipe, dir);
		}
	}
	if (!path)
		return err_set(e, -ENOMEM, "no memory");
	*ret = path;
	return 0;
}

static int read_recipe(struct hutch *h, const struct hutch_image_build_opts *o,
		       struct recipe *ret, struct err *e)
{
	auto_free char *path = NULL;
	int r = find_recipe(h, o->recipe, &path, e);

	r = r < 0 ? r : recipe_read(path, ret, e);
	if (r < 0)
		return r;
	if (o->suite)
		r = recipe_set_suite(ret, o->suite, e);
	for (size_t i = 0; r == 0 && o->include && o->include[i]; i++)
		r = recipe_add_packages(ret, o->include[i], e);
	for (size_t i = 0; r == 0 && o->mirrors && o->mirrors[i]; i++)
		r = i < RECIPE_MIRRORS_MAX
			    ? recipe_mirror_ok(o->mirrors[i], e)
			    : err_set(e, -E2BIG, "more than %d mirrors",
				      RECIPE_MIRRORS_MAX);
	if (r < 0)
		recipe_done(ret);
	return r;
}

/* ---- What the image is to say of itself ---- */

static json_t *make_env(const struct recipe *rc)
{
	json_t *env = json_array();
	int r = json_array_append_new(env, json_string(DEFAULT_PATH));

	for (size_t i = 0; r == 0 && rc->env && rc->env[i]; i++)
		r = json_array_append_new(env, json_string(rc->env[i]));
	if (r == 0)
		return env;
	json_decref(env);
	return NULL;
}

/* The "config" of an OCI configuration: the same bytes for the same recipe. */
static char *make_config(const struct recipe *rc, const char *title)
{
	auto_json json_t *j = json_object();
	json_t *labels = json_object();
	int r = json_object_set_new(labels, TITLE, jsontext_string(title));

	r |= json_object_set_new(labels, VERSION, json_string(rc->suite));
	r |= json_object_set_new(j, "Labels", labels);
	r |= json_object_set_new(j, "Env", make_env(rc));
	if (rc->cmd)
		r |= json_object_set_new(j, "Cmd", jsontext_list(rc->cmd));
	return r ? NULL : json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS);
}

/* ---- Building ---- */

static char *join_packages(const struct recipe *rc)
{
	size_t size = 1;
	char *s, *end;

	for (size_t i = 0; rc->packages && rc->packages[i]; i++)
		size += strlen(rc->packages[i]) + 1;
	s = malloc(size);
	if (!s)
		return NULL;
	end = s;
	for (size_t i = 0; rc->packages && rc->packages[i]; i++)
		end += sprintf(end, "%s%s", i ? "," : "", rc->packages[i]);
	*end = '\0';
	return s;
}

static int run_builder(struct hutch *h, const struct recipe *rc,
		       const struct hutch_image_build_opts *o, int out,
		       struct err *e)
{
	auto_free char *script = NULL, *packages = join_packages(rc);
	const char *args[RECIPE_MIRRORS_MAX + 3] = { rc->suite, packages };
	struct builder b = { .args = args, .out_fd = out, .log_fd = o->log_fd };
	int r = packages ? dirs_find(h, HUTCH_PATH_BUILD, NULL, &script, e)
			 : err_set(e, -ENOMEM, "no memory");

	if (r < 0)
		return r;
	for (size_t i = 0; o->mirrors && o->mirrors[i]; i++)
		args[2 + i] = o->mirrors[i];
	b.script = script;
	return builder_run(&b, e);
}

/* A file for the tar, without a name, where there is room for the image too. */
static int make_spool(const struct imagestore *s, struct err *e)
{
	int fd = openat(s->tmp_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? err_set(e, -errno,
				"cannot make a file in the store of images: %s",
				strerror(errno))
		      : fd;
}

/** struct build - One build, checked */
struct build {
	struct hutch *h;
	const struct hutch_image_build_opts *o;
	const struct recipe *rc;
	struct imagestore s;
	struct imagework w;
};

static int build(struct build *b, char *id, struct err *e)
{
	auto_fd int spool = make_spool(&b->s, e);
	int r = spool < 0 ? spool : run_builder(b->h, b->rc, b->o, spool, e);

	if (r == 0 && lseek(spool, 0, SEEK_SET) < 0)
		r = err_set(e, -errno, "cannot rewind a file: %s",
			    strerror(errno));
	if (r < 0)
		return r;
	b->w.src_fd = spool;
	return imagework_run(b->h, &b->s, &b->w, id, e);
}

static int build_in_store(struct build *b, struct hutch_image_info **ret,
			  struct err *e)
{
	char id[HUTCH_IMAGE_ID_LEN + 1];
	int r = image_store(b->h, &b->s, e);

	r = r < 0 ? r : build(b, id, e);
	r = r < 0 ? r : image_give(&b->s, id, ret, e);
	imagestore_close(&b->s);
	return r;
}

int hutch_image_build(struct hutch *h,
		      const struct hutch_image_build_opts *opts,
		      struct hutch_image_info **ret, struct hutch_err *e)
{
	struct hutch_image_build_opts o = HUTCH_IMAGE_BUILD_OPTS_INIT;
	AUTO(recipe_done) struct recipe rc = { 0 };
	struct build b = { .h = h, .o = &o, .rc = &rc, .s = IMAGESTORE_INIT };
	auto_free char *config = NULL;
	char name[HUTCH_IMAGE_REF_MAX + 1];
	int r = opts_take(&o, sizeof(o), opts, opts->size, err_of(e));

	r = r < 0 ? r : read_recipe(h, &o, &rc, err_of(e));
	if (r < 0)
		return r;
	r = image_check_name(o.name ? o.name : base_name(o.recipe), name,
			     err_of(e));
	r = r < 0 ? r : builder_check(err_of(e));
	if (r < 0)
		return r;
	config = make_config(&rc, base_name(o.recipe));
	if (!config)
		return err_set(err_of(e), -ENOMEM, "no memory");
	b.w = (struct imagework){
		.verb = "build",
		.name = name,
		.config = config,
		.max_bytes = o.max_bytes ? o.max_bytes : HUTCH_IMAGE_BYTES,
		.max_entries = o.max_entries ? o.max_entries
					     : HUTCH_IMAGE_ENTRIES,
		.progress = o.progress,
		.progress_arg = o.progress_arg,
	};
	return build_in_store(&b, ret, err_of(e));
}
