/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/oci.c - see oci.h; configurations are in config.c */
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "host/image/oci.h"
#include "host/lib/imageinfo.h"
#include "host/lib/jsontext.h"
#include "host/lib/record.h"

#define QUOTE_MAX 80
#define SIZE_MAX_ ((json_int_t)1 << 50)

#define ANNOTATION_TAG  "org.opencontainers.image.ref.name"
#define ANNOTATION_NAME "io.containerd.image.name"

#if defined(__x86_64__)
#define ARCH "amd64"
#elif defined(__aarch64__)
#define ARCH "arm64"
#else
#error "what do images call this architecture?"
#endif

const char *oci_arch(void)
{
	return ARCH;
}

static int load(const char *json, size_t len, json_t **ret, struct err *e)
{
	json_error_t je;
	char q[QUOTE_MAX];

	if (len > HUTCH_IMAGE_CONFIG_MAX)
		return err_set(e, -E2BIG, "it is larger than %u bytes",
			       HUTCH_IMAGE_CONFIG_MAX);
	*ret = json_loadb(json, len, JSON_REJECT_DUPLICATES, &je);
	if (!*ret)
		return err_set(
			e, -EBADMSG, "it is not JSON: %s",
			log_escape(q, sizeof(q), je.text, strlen(je.text)));
	return 0;
}

static const char *text_of(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static int read_desc(const json_t *j, struct oci_desc *ret, struct err *e)
{
	const json_t *size = json_object_get(j, "size");
	const char *digest = text_of(j, "digest");
	const char *media = text_of(j, "mediaType");
	char q[QUOTE_MAX];

	if (!imageref_digest_ok(digest))
		return err_set(
			e, -EBADMSG, "'%s' is no sha256 digest",
			log_escape(q, sizeof(q), digest, strlen(digest)));
	if (!json_is_integer(size) || json_integer_value(size) < 0 ||
	    json_integer_value(size) > SIZE_MAX_)
		return err_set(e, -EBADMSG, "%s has no size that can be",
			       digest);
	if (strlen(media) > OCI_MEDIA_MAX)
		return err_set(e, -EBADMSG, "the media type of %s is too long",
			       digest);
	memcpy(ret->digest, digest, sizeof(ret->digest));
	memcpy(ret->media, media, strlen(media) + 1);
	ret->size = (uint64_t)json_integer_value(size);
	return 0;
}

/* ---- Index ---- */

bool oci_is_index(const char *json, size_t len)
{
	auto_json json_t *j = json_loadb(json, len, 0, NULL);

	return json_is_array(json_object_get(j, "manifests"));
}

/* Whether the manifest is for this machine; one that says nothing may be. */
static bool fits(const json_t *m)
{
	const json_t *p = json_object_get(m, "platform");

	return !p || (strcmp(text_of(p, "os"), "linux") == 0 &&
		      strcmp(text_of(p, "architecture"), ARCH) == 0);
}

/* "NAME" is meant by all of itself, by its tag, or by its end. */
static bool is_called(const json_t *m, const char *pick)
{
	const json_t *a = json_object_get(m, "annotations");
	const char *name = text_of(a, ANNOTATION_NAME);

	return strcmp(text_of(a, ANNOTATION_TAG), pick) == 0 ||
	       strcmp(name, pick) == 0;
}

int oci_pick(const char *json, size_t len, const char *pick, bool first,
	     struct oci_desc *ret, struct err *e)
{
	auto_json json_t *j = NULL;
	const json_t *found = NULL, *m, *all;
	size_t i, n = 0;
	int r = load(json, len, &j, e);

	if (r < 0)
		return r;
	all = json_object_get(j, "manifests");
	if (!json_is_array(all) ||
	    json_integer_value(json_object_get(j, "schemaVersion")) != 2)
		return err_set(e, -EBADMSG, "it is no index of images");
	json_array_foreach(all, i, m)
	{
		if (!fits(m) || (pick && !is_called(m, pick)))
			continue;
		found = found ? found : m;
		n++;
	}
	if (!found)
		return err_set(e, -ENOENT,
			       "no image in it is for linux/" ARCH "%s",
			       pick ? " and of that name" : "");
	if (n > 1 && !first)
		return err_set(e, -ENOTUNIQ,
			       "there are %zu images in it: say which by "
			       "--pick NAME",
			       n);
	return read_desc(found, ret, e);
}

/* ---- Manifest ---- */

static const char *const layer_types[] = {
	"application/vnd.oci.image.layer.v1.tar",
	"application/vnd.oci.image.layer.v1.tar+gzip",
	"application/vnd.oci.image.layer.v1.tar+zstd",
	"application/vnd.docker.image.rootfs.diff.tar",
	"application/vnd.docker.image.rootfs.diff.tar.gzip",
	"application/vnd.docker.image.rootfs.diff.tar.zstd",
};

static const char *const config_types[] = {
	"application/vnd.oci.image.config.v1+json",
	"application/vnd.docker.container.image.v1+json",
};

static int check_type(const struct oci_desc *d, const char *what,
		      const char *const *types, size_t n, struct err *e)
{
	char q[QUOTE_MAX];

	for (size_t i = 0; i < n; i++)
		if (strcmp(d->media, types[i]) == 0)
			return 0;
	return err_set(e, -ENOTSUP,
		       "its %s is of type '%s', which hutch cannot use", what,
		       log_escape(q, sizeof(q), d->media, strlen(d->media)));
}

int oci_manifest(const char *json, size_t len, struct oci_manifest *ret,
		 struct err *e)
{
	auto_json json_t *j = NULL;
	const json_t *layers, *l;
	size_t i;
	int r = load(json, len, &j, e);

	if (r < 0)
		return r;
	layers = json_object_get(j, "layers");
	if (!json_is_array(layers) ||
	    json_integer_value(json_object_get(j, "schemaVersion")) != 2)
		return err_set(e, -EBADMSG,
			       "it is no manifest of an image, or an old one "
			       "(schema 1)");
	if (json_array_size(layers) > HUTCH_IMAGE_LAYERS_MAX)
		return err_set(e, -E2BIG, "it has more than %d layers",
			       HUTCH_IMAGE_LAYERS_MAX);
	r = read_desc(json_object_get(j, "config"), &ret->config, e);
	if (r == 0)
		r = check_type(&ret->config, "configuration", config_types,
			       ARRAY_LEN(config_types), e);
	json_array_foreach(layers, i, l)
	{
		r = r < 0 ? r : read_desc(l, &ret->layer[i], e);
		r = r < 0 ? r
			  : check_type(&ret->layer[i], "layer", layer_types,
				       ARRAY_LEN(layer_types), e);
	}
	ret->n = json_array_size(layers);
	return r;
}

/* ---- manifest.json ---- */

static bool is_tagged(const json_t *m, const char *pick)
{
	const json_t *tags = json_object_get(m, "RepoTags"), *t;
	size_t i;

	json_array_foreach(tags, i, t) if (json_is_string(t) &&
					   strcmp(json_string_value(t), pick) ==
						   0) return true;
	return false;
}

bool oci_is_saved(const char *json, size_t len)
{
	auto_json json_t *j = NULL;
	const json_t *m;
	size_t i;

	if (load(json, len, &j, NULL) < 0)
		return true;
	json_array_foreach(j, i, m) if (*text_of(m, "Config") &&
					json_is_array(json_object_get(
						m, "Layers"))) return true;
	return false;
}

static int read_saved(const json_t *m, struct oci_saved *ret, struct err *e)
{
	struct oci_saved s = { 0 };
	const json_t *layers = json_object_get(m, "Layers");
	int r = 0;

	if (!*text_of(m, "Config") || !json_is_array(layers))
		return err_set(e, -EBADMSG,
			       "it is no list of images of docker save");
	if (json_array_size(layers) > HUTCH_IMAGE_LAYERS_MAX)
		return err_set(e, -E2BIG, "it has more than %d layers",
			       HUTCH_IMAGE_LAYERS_MAX);
	r = record_set(&s.config, text_of(m, "Config"));
	r = r < 0 ? r : imageinfo_list(layers, &s.layers);
	if (r < 0) {
		oci_saved_done(&s);
		return err_set(e, r, "a layer in it has no name");
	}
	*ret = s;
	return 0;
}

int oci_saved(const char *json, size_t len, const char *pick,
	      struct oci_saved *ret, struct err *e)
{
	auto_json json_t *j = NULL;
	const json_t *found = NULL, *m;
	size_t i, n = 0;
	int r = load(json, len, &j, e);

	if (r < 0)
		return r;
	if (!json_is_array(j))
		return err_set(e, -EBADMSG,
			       "it is no list of images of docker save");
	json_array_foreach(j, i, m)
	{
		if (pick && !is_tagged(m, pick))
			continue;
		found = found ? found : m;
		n++;
	}
	if (!found)
		return err_set(e, -ENOENT, "there is no image in it%s",
			       pick ? " of that name" : "");
	if (n > 1)
		return err_set(e, -ENOTUNIQ,
			       "there are %zu images in it: say which by "
			       "--pick NAME",
			       n);
	return read_saved(found, ret, e);
}

void oci_saved_done(struct oci_saved *s)
{
	record_drop(s->config);
	record_drop_list(s->layers);
	*s = (struct oci_saved){ 0 };
}
