/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/recordlists.c - see recordlists.h */
#include <errno.h>
#include <string.h>

#include "host/lib/dax.h"
#include "host/lib/forward.h"
#include "host/lib/internal.h"
#include "host/lib/jsontext.h"
#include "host/lib/mounts.h"
#include "host/lib/recordlists.h"

/* Types of mounts. */
static const char bind[] = "bind";
static const char volume[] = "volume";

/* Where locks of a mount hold. */
static const char locks_host[] = "host";
static const char locks_guest[] = "guest";

/* ---- Writing ---- */

json_t *recordlists_mounts(const struct hutch_mount *const *v)
{
	json_t *a = json_array();

	for (size_t i = 0; v && v[i]; i++) {
		json_t *o = json_pack(
			"{s:s, s:o, s:o, s:b, s:b, s:s, s:s, s:o, s:I, s:I}",
			"type",
			v[i]->flags & HUTCH_MOUNT_VOLUME ? volume : bind,
			"source", jsontext_string(v[i]->source), "target",
			jsontext_string(v[i]->target), "readonly",
			!!(v[i]->flags & HUTCH_MOUNT_RDONLY), "nocopy",
			!!(v[i]->flags & HUTCH_MOUNT_NOCOPY), "locks",
			v[i]->flags & HUTCH_MOUNT_LOCKS_HOST ? locks_host
							     : locks_guest,
			"dax", hutch_dax_name(v[i]->dax), "window",
			v[i]->window ? json_integer((json_int_t)v[i]->window)
				     : json_null(),
			"uid", (json_int_t)v[i]->uid, "gid",
			(json_int_t)v[i]->gid);

		if (json_array_append_new(a, o) < 0) {
			json_decref(a);
			return NULL;
		}
	}
	return a;
}

json_t *recordlists_forwards(const struct hutch_forward *const *v)
{
	json_t *a = json_array();

	for (size_t i = 0; v && v[i]; i++) {
		json_t *o = json_pack("{s:s, s:i, s:i}", "host", v[i]->host,
				      "port", (int)v[i]->port, "guest_port",
				      (int)v[i]->guest_port);

		if (json_array_append_new(a, o) < 0) {
			json_decref(a);
			return NULL;
		}
	}
	return a;
}

/* ---- Reading ---- */

/* Of an older record there is neither. */
int recordlists_get_dax(const json_t *o, const char *dax_key,
			const char *window_key, enum hutch_dax *ret_dax,
			uint64_t *ret_window)
{
	const char *name = json_string_value(json_object_get(o, dax_key));
	const json_t *window = json_object_get(o, window_key);
	struct err ignored;

	*ret_dax = HUTCH_DAX_AUTO;
	*ret_window = (uint64_t)json_integer_value(window);
	if (name && hutch_parse_dax("", name, ret_dax, NULL) < 0)
		return -EBADMSG;
	return dax_check("", *ret_dax, *ret_window, &ignored) < 0 ? -EBADMSG
								  : 0;
}

static unsigned int number(const json_t *o, const char *key)
{
	return (unsigned int)json_integer_value(json_object_get(o, key));
}

static int get_mount(const json_t *o, struct mount_one *ret)
{
	const char *source = json_string_value(json_object_get(o, "source"));
	const char *target = json_string_value(json_object_get(o, "target"));
	const char *type = json_string_value(json_object_get(o, "type"));
	const char *locks = json_string_value(json_object_get(o, "locks"));
	enum hutch_dax dax;
	uint64_t window;

	if (!source || !target ||
	    recordlists_get_dax(o, "dax", "window", &dax, &window) < 0)
		return -EBADMSG;
	*ret = (struct mount_one){
		.source = strdup(source),
		.target = strdup(target),
		.ro = json_is_true(json_object_get(o, "readonly")),
		.volume = type && strcmp(type, volume) == 0,
		.nocopy = json_is_true(json_object_get(o, "nocopy")),
		.locks_host = locks && strcmp(locks, locks_host) == 0,
		.dax = dax,
		.window = window,
		.uid = number(o, "uid"),
		.gid = number(o, "gid"),
		.fd = -1,
	};
	return ret->source && ret->target ? 0 : -ENOMEM;
}

int recordlists_get_mounts(const json_t *j,
			   const struct hutch_mount *const **field)
{
	const json_t *a = json_object_get(j, "mounts");
	size_t n = json_array_size(a);
	struct mounts ms = { .n = 0 };
	int r = n > HUTCH_MOUNTS_MAX ? -EBADMSG : 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = get_mount(json_array_get(a, i), &ms.m[ms.n++]);
	if (r == 0)
		r = mounts_record(&ms, field);
	mounts_done(&ms);
	return r;
}

int recordlists_get_forwards(const json_t *j,
			     const struct hutch_forward *const **field)
{
	const json_t *a = json_object_get(j, "forwards");
	struct hutch_forward f[HUTCH_FORWARDS_MAX];
	const struct hutch_forward *v[HUTCH_FORWARDS_MAX + 1] = { NULL };
	size_t n = json_array_size(a);

	if (n > HUTCH_FORWARDS_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		const json_t *o = json_array_get(a, i);

		f[i] = (struct hutch_forward){
			.size = sizeof(*f),
			.host = json_string_value(json_object_get(o, "host")),
			.port = number(o, "port"),
			.guest_port = number(o, "guest_port"),
		};
		if (!f[i].host || forward_check(&f[i], NULL) < 0)
			return -EBADMSG;
		v[i] = &f[i];
	}
	return forwards_record(v, field);
}
