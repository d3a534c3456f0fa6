/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/image/oci.h - the JSON documents of images, all of them hostile
 *
 * OCI image-spec 1.1 (index, manifest, configuration), Docker's schema 2 of
 * the same, and manifest.json of docker save.  Each document has at most
 * HUTCH_IMAGE_CONFIG_MAX bytes.
 */
#ifndef HUTCH_HOST_IMAGE_OCI_H
#define HUTCH_HOST_IMAGE_OCI_H

#include <stdbool.h>

#include "common/err.h"
#include "host/lib/hutch.h"
#include "host/lib/imageref.h"

#define OCI_DEPTH_MAX 3 /* indexes in one another */
#define OCI_MEDIA_MAX 127

/** struct oci_desc - Where something is, and what: a descriptor */
struct oci_desc {
	char digest[IMAGEREF_DIGEST_LEN + 1];
	char media[OCI_MEDIA_MAX + 1];
	uint64_t size;
};

/** struct oci_manifest - What an image consists of */
struct oci_manifest {
	struct oci_desc config;
	struct oci_desc layer[HUTCH_IMAGE_LAYERS_MAX];
	size_t n;
};

/**
 * struct oci_saved - An image in an archive of docker save
 * @config:	Name of a file
 * @layers:	The same, a list that ends in NULL
 */
struct oci_saved {
	const char *config;
	const char *const *layers;
};

/** oci_arch() - What images call this machine: "amd64" */
const char *oci_arch(void);

/** oci_is_index() - Whether the document is an index, rather than a manifest */
bool oci_is_index(const char *json, size_t len);

/**
 * oci_pick() - The one manifest of an index that is for this machine
 * @pick:	Of this name (annotations of the index); NULL: of any
 * @first:	If there are several the first will do, as in a registry
 *
 * Return: 0; -EBADMSG; -ENOENT if there is none; -ENOTUNIQ if there are several
 */
MUST_CHECK int oci_pick(const char *json, size_t len, const char *pick,
			bool first, struct oci_desc *ret, struct err *e);

/** oci_manifest() - Return: 0 or -EBADMSG, -E2BIG, -ENOTSUP */
MUST_CHECK int oci_manifest(const char *json, size_t len,
			    struct oci_manifest *ret, struct err *e);

/**
 * oci_config() - The configuration of an image, as far as it concerns us
 * @ret:	Without id, manifest, sizes and time
 *
 * Return: 0; -EBADMSG; -E2BIG; -ENOTSUP if it is for another machine
 */
MUST_CHECK int oci_config(const char *json, size_t len,
			  struct hutch_image_info **ret, struct err *e);

/**
 * oci_is_saved() - Whether a manifest.json is that of docker save
 *
 * One that is no JSON is: better it is refused than what is around it taken for
 * a root.
 */
bool oci_is_saved(const char *json, size_t len);

/** oci_saved() - manifest.json. Return: as oci_pick(), @ret for oci_saved_done()
 */
MUST_CHECK int oci_saved(const char *json, size_t len, const char *pick,
			 struct oci_saved *ret, struct err *e);

/** oci_saved_done() - Free it */
void oci_saved_done(struct oci_saved *s);

#endif
