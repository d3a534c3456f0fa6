/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/imageinfo.c - see imageinfo.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "common/io.h"
#include "host/lib/imageinfo.h"
#include "host/lib/imageref.h"
#include "host/lib/internal.h"
#include "host/lib/jsontext.h"
#include "host/lib/names.h"
#include "host/lib/record.h"

struct hutch_image_info *imageinfo_new(void)
{
	struct hutch_image_info *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	if (record_set(&i->id, "") < 0 || record_set(&i->manifest, "") < 0 ||
	    record_set(&i->os, "") < 0 || record_set(&i->arch, "") < 0 ||
	    record_set(&i->workdir, "") < 0 || record_set(&i->user, "") < 0 ||
	    record_set(&i->stop_signal, "") < 0) {
		hutch_image_info_free(i);
		return NULL;
	}
	return i;
}

void hutch_image_info_free(struct hutch_image_info *i)
{
	if (!i)
		return;
	record_drop(i->id);
	record_drop(i->manifest);
	record_drop(i->os);
	record_drop(i->arch);
	record_drop(i->workdir);
	record_drop(i->user);
	record_drop(i->stop_signal);
	record_drop(i->damaged);
	record_drop_list(i->names);
	record_drop_list(i->layers);
	record_drop_list(i->env);
	record_drop_list(i->entrypoint);
	record_drop_list(i->cmd);
	record_drop_list(i->volumes);
	record_drop_list(i->labels);
	record_drop_list(i->packages);
	free(i);
}

/* ---- Writing ---- */

static json_t *put_labels(const char *const *v)
{
	json_t *o = json_object();

	for (size_t i = 0; v && v[i]; i++) {
		const char *eq = strchr(v[i], '=');
		char *key = eq ? strndup(v[i], (size_t)(eq - v[i])) : NULL;
		int r = key ? json_object_set_new(o, key, json_string(eq + 1))
			    : -1;

		free(key);
		if (r < 0) {
			json_decref(o);
			return NULL;
		}
	}
	return o;
}

static json_t *info_to_json(const struct hutch_image_info *i)
{
	static const char *const none[] = { NULL };
	char time[RFC3339_LEN];
	json_t *j = json_object();
	int r = 0;

	if (!j)
		return NULL;
#define PUT(key, value) (r |= json_object_set_new_nocheck(j, key, value))
	PUT("version", json_integer(IMAGEINFO_VERSION));
	PUT("id", json_string(i->id));
	PUT("names", jsontext_list(i->names ? i->names : none));
	PUT("manifest", *i->manifest ? json_string(i->manifest) : json_null());
	PUT("os", json_string(i->os));
	PUT("arch", json_string(i->arch));
	PUT("created", json_string(rfc3339_text(i->created_ns, time)));
	PUT("bytes", json_integer((json_int_t)i->bytes));
	PUT("entries", json_integer((json_int_t)i->entries));
	PUT("layers", jsontext_list(i->layers ? i->layers : none));
	PUT("env", jsontext_list(i->env));
	PUT("entrypoint", jsontext_list(i->entrypoint));
	PUT("cmd", jsontext_list(i->cmd));
	PUT("workdir", json_string(i->workdir));
	PUT("user", json_string(i->user));
	PUT("stop_signal", json_string(i->stop_signal));
	PUT("volumes", jsontext_list(i->volumes ? i->volumes : none));
	PUT("labels", put_labels(i->labels));
	PUT("packages", jsontext_list(i->packages));
#undef PUT
	if (r == 0)
		return j;
	json_decref(j);
	return NULL;
}

char *hutch_image_json(const struct hutch_image_info *info)
{
	auto_json json_t *j = info_to_json(info);

	return j ? json_dumps(j, JSON_COMPACT) : NULL;
}

int imageinfo_write(int dirfd, const struct hutch_image_info *info,
		    struct err *e)
{
	auto_free char *text = hutch_image_json(info);
	auto_fd int fd = -1;
	int r;

	if (!text)
		return err_set(e, -ENOMEM, "no memory for " IMAGEINFO_FILE);
	fd = openat(dirfd, IMAGEINFO_FILE,
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	r = fd < 0 ? -errno : io_write_full(fd, text, strlen(text));
	r = r < 0 ? r : io_write_full(fd, "\n", 1);
	if (r < 0)
		return err_set(e, r, "cannot write '" IMAGEINFO_FILE "': %s",
			       strerror(-r));
	return 0;
}

/* ---- Reading ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* An empty list and none are the same. */
static int set_list(const char *const **field, const char **v, size_t n)
{
	if (n)
		return record_set_list(field, v);
	record_drop_list(*field);
	*field = NULL;
	return 0;
}

int imageinfo_list(const void *array, const char *const **field)
{
	const json_t *a = array;
	size_t n = json_array_size(a);
	auto_free const char **v = NULL;

	if (a && !json_is_array(a) && !json_is_null(a))
		return -EBADMSG;
	if (n > HUTCH_IMAGE_STRINGS)
		return -E2BIG;
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		v[i] = json_string_value(json_array_get(a, i));
		if (!v[i])
			return -EBADMSG;
	}
	return set_list(field, v, n);
}

int imageinfo_keys(void *object, const char *const **field)
{
	json_t *o = object;
	size_t n = json_object_size(o), i = 0;
	auto_free const char **v = NULL;

	if (o && !json_is_object(o) && !json_is_null(o))
		return -EBADMSG;
	if (n > HUTCH_IMAGE_STRINGS)
		return -E2BIG;
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (void *it = json_object_iter(o); it;
	     it = json_object_iter_next(o, it))
		v[i++] = json_object_iter_key(it);
	qsort(v, n, sizeof(*v), by_name);
	return set_list(field, v, n);
}

/* "KEY=VALUE" of one member, malloc()ed; NULL with @ret set. */
static char *label_text(void *it, int *ret)
{
	const char *key = json_object_iter_key(it);
	const char *value = json_string_value(json_object_iter_value(it));
	char *s = NULL;

	*ret = -EBADMSG;
	if (!*key || strchr(key, '=') || !value)
		return NULL;
	*ret = asprintf(&s, "%s=%s", key, value) < 0 ? -ENOMEM : 0;
	return *ret < 0 ? NULL : s;
}

int imageinfo_labels(void *object, const char *const **field)
{
	json_t *o = object;
	size_t n = json_object_size(o), i = 0;
	const char **v;
	int r = 0;

	if (o && !json_is_object(o) && !json_is_null(o))
		return -EBADMSG;
	if (n > HUTCH_IMAGE_STRINGS)
		return -E2BIG;
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (void *it = json_object_iter(o); it && r == 0;
	     it = json_object_iter_next(o, it)) {
		v[i] = label_text(it, &r);
		i += v[i] != NULL;
	}
	qsort(v, i, sizeof(*v), by_name);
	if (r == 0)
		r = set_list(field, v, n);
	while (i)
		record_drop(v[--i]);
	free(v);
	return r;
}

static int get_str(const json_t *j, const char *key, const char **field)
{
	const json_t *v = json_object_get(j, key);

	if (json_is_null(v))
		return 0;
	return json_is_string(v) ? record_set(field, json_string_value(v))
				 : -EBADMSG;
}

static int get_lists(const json_t *j, struct hutch_image_info *i)
{
	const struct {
		const char *key;
		const char *const **field;
	} all[] = {
		{ "layers", &i->layers },   { "env", &i->env },
		{ "cmd", &i->cmd },         { "entrypoint", &i->entrypoint },
		{ "volumes", &i->volumes }, { "packages", &i->packages },
	};
	int r = imageinfo_labels(json_object_get(j, "labels"), &i->labels);

	for (size_t n = 0; n < ARRAY_LEN(all) && r == 0; n++)
		r = imageinfo_list(json_object_get(j, all[n].key),
				   all[n].field);
	return r;
}

static int get_strings(const json_t *j, struct hutch_image_info *i)
{
	int r = get_str(j, "id", &i->id);

	r = r < 0 ? r : get_str(j, "manifest", &i->manifest);
	r = r < 0 ? r : get_str(j, "os", &i->os);
	r = r < 0 ? r : get_str(j, "arch", &i->arch);
	r = r < 0 ? r : get_str(j, "workdir", &i->workdir);
	r = r < 0 ? r : get_str(j, "user", &i->user);
	r = r < 0 ? r : get_str(j, "stop_signal", &i->stop_signal);
	if (r == 0 && !imageref_id_ok(i->id))
		r = -EBADMSG;
	return r;
}

static int get_numbers(const json_t *j, struct hutch_image_info *i)
{
	const char *time = json_string_value(json_object_get(j, "created"));
	json_int_t bytes = json_integer_value(json_object_get(j, "bytes"));
	json_int_t n = json_integer_value(json_object_get(j, "entries"));

	if (!time || rfc3339_parse(time, &i->created_ns) < 0 || bytes < 0 ||
	    n < 0)
		return -EBADMSG;
	i->bytes = (uint64_t)bytes;
	i->entries = (uint64_t)n;
	return 0;
}

int imageinfo_parse(const char *json, size_t len, struct hutch_image_info **ret,
		    struct err *e)
{
	AUTO(imageinfo_freep) struct hutch_image_info *i = imageinfo_new();
	auto_json json_t *j = NULL;
	json_error_t je;
	int r;

	if (!i)
		return err_set(e, -ENOMEM, "no memory for an image");
	j = json_loadb(json, len, JSON_REJECT_DUPLICATES, &je);
	if (!j)
		return err_set(e, -EBADMSG, "not JSON: %s", je.text);
	if (json_integer_value(json_object_get(j, "version")) !=
	    IMAGEINFO_VERSION)
		return err_set(e, -EBADMSG, "version is not %d",
			       IMAGEINFO_VERSION);
	r = get_strings(j, i);
	r = r < 0 ? r : get_lists(j, i);
	r = r < 0 ? r : get_numbers(j, i);
	if (r < 0)
		return err_set(e, r,
			       r == -ENOMEM ? "no memory for an image"
					    : "a field is not right");
	*ret = take_ptr(&i);
	return 0;
}

int imageinfo_read(int dirfd, struct hutch_image_info **ret, struct err *e)
{
	auto_free char *text = NULL;
	size_t len = 0;
	int r = io_read_file(dirfd, IMAGEINFO_FILE, IMAGEINFO_MAX, &text, &len,
			     e);

	if (r < 0)
		return r;
	r = imageinfo_parse(text, len, ret, e);
	return r < 0 ? err_wrap(e, r, IMAGEINFO_FILE) : 0;
}
