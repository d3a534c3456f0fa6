/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/config.c - an image's configuration (oci.h) */
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "host/image/oci.h"
#include "host/lib/imageinfo.h"
#include "host/lib/jsontext.h"
#include "host/lib/record.h"

#define QUOTE_MAX 80
#define WORD_MAX  4096 /* bytes of a user, a folder, a signal */

static int bad(const char *what, const char *value, struct err *e)
{
	char q[QUOTE_MAX];

	return err_set(e, -EBADMSG, "its %s is not right%s%s%s", what,
		       value ? ": '" : "",
		       value ? log_escape(q, sizeof(q), value, strlen(value))
			     : "",
		       value ? "'" : "");
}

static int get_str(const json_t *j, const char *key, const char **field,
		   struct err *e)
{
	const json_t *v = json_object_get(j, key);
	const char *s = json_string_value(v);

	if (!v || json_is_null(v))
		return 0;
	if (!s || strlen(s) > WORD_MAX)
		return bad(key, NULL, e);
	return record_set(field, s);
}

static int failed(const char *key, int r, struct err *e)
{
	if (r == -E2BIG)
		return err_set(e, r, "its %s has more than %d strings", key,
			       HUTCH_IMAGE_STRINGS);
	return r == -ENOMEM ? err_set(e, r, "no memory") : bad(key, NULL, e);
}

static int get_list(const json_t *j, const char *key, const char *const **field,
		    struct err *e)
{
	int r = imageinfo_list(json_object_get(j, key), field);

	return r < 0 ? failed(key, r, e) : 0;
}

/* What a process is to be given is as it would have to be. */
static int check_run(const struct hutch_image_info *i, struct err *e)
{
	for (size_t n = 0; i->env && i->env[n]; n++)
		if (!strchr(i->env[n], '=') || i->env[n][0] == '=')
			return bad("Env", i->env[n], e);
	for (size_t n = 0; i->volumes && i->volumes[n]; n++)
		if (i->volumes[n][0] != '/')
			return bad("Volumes", i->volumes[n], e);
	if (*i->workdir && *i->workdir != '/')
		return bad("WorkingDir", i->workdir, e);
	return 0;
}

static int get_run(const json_t *c, struct hutch_image_info *i, struct err *e)
{
	int r = 0;

	if (c && !json_is_object(c) && !json_is_null(c))
		return bad("config", NULL, e);
	r = get_list(c, "Env", &i->env, e);
	r = r < 0 ? r : get_list(c, "Entrypoint", &i->entrypoint, e);
	r = r < 0 ? r : get_list(c, "Cmd", &i->cmd, e);
	r = r < 0 ? r : get_str(c, "WorkingDir", &i->workdir, e);
	r = r < 0 ? r : get_str(c, "User", &i->user, e);
	r = r < 0 ? r : get_str(c, "StopSignal", &i->stop_signal, e);
	if (r < 0)
		return r;
	r = imageinfo_keys(json_object_get(c, "Volumes"), &i->volumes);
	if (r < 0)
		return failed("Volumes", r, e);
	r = imageinfo_labels(json_object_get(c, "Labels"), &i->labels);
	if (r < 0)
		return failed("Labels", r, e);
	return check_run(i, e);
}

static int get_layers(const json_t *j, struct hutch_image_info *i,
		      struct err *e)
{
	const json_t *fs = json_object_get(j, "rootfs");
	const json_t *ids = json_object_get(fs, "diff_ids");
	int r;

	if (!json_is_array(ids))
		return bad("rootfs", NULL, e);
	if (json_array_size(ids) > HUTCH_IMAGE_LAYERS_MAX)
		return err_set(e, -E2BIG, "it has more than %d layers",
			       HUTCH_IMAGE_LAYERS_MAX);
	r = get_list(fs, "diff_ids", &i->layers, e);
	for (size_t n = 0; r == 0 && i->layers && i->layers[n]; n++)
		if (!imageref_digest_ok(i->layers[n]))
			r = bad("rootfs", i->layers[n], e);
	return r;
}

static int check_machine(const struct hutch_image_info *i, struct err *e)
{
	char os[QUOTE_MAX], arch[QUOTE_MAX];

	if (strcmp(i->os, "linux") == 0 && strcmp(i->arch, oci_arch()) == 0)
		return 0;
	return err_set(e, -ENOTSUP, "it is for %s/%s, and this is linux/%s",
		       log_escape(os, sizeof(os), i->os, strlen(i->os)),
		       log_escape(arch, sizeof(arch), i->arch, strlen(i->arch)),
		       oci_arch());
}

int oci_config(const char *json, size_t len, struct hutch_image_info **ret,
	       struct err *e)
{
	AUTO(imageinfo_freep) struct hutch_image_info *i = imageinfo_new();
	auto_json json_t *j = NULL;
	int r;

	if (!i)
		return err_set(e, -ENOMEM, "no memory");
	if (len > HUTCH_IMAGE_CONFIG_MAX)
		return err_set(e, -E2BIG, "it is larger than %u bytes",
			       HUTCH_IMAGE_CONFIG_MAX);
	j = json_loadb(json, len, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(j))
		return err_set(e, -EBADMSG, "it is no JSON object");
	r = get_str(j, "os", &i->os, e);
	r = r < 0 ? r : get_str(j, "architecture", &i->arch, e);
	r = r < 0 ? r : check_machine(i, e);
	r = r < 0 ? r : get_layers(j, i, e);
	r = r < 0 ? r : get_run(json_object_get(j, "config"), i, e);
	if (r < 0)
		return r;
	*ret = take_ptr(&i);
	return 0;
}
