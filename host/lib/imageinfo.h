/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/imageinfo.h - image.json: what is known about an image, on disk
 *
 * docs/json.md describes the fields.  Written once, before the image is moved
 * to its place; names are kept apart, since they come and go.
 */
#ifndef HUTCH_HOST_LIB_IMAGEINFO_H
#define HUTCH_HOST_LIB_IMAGEINFO_H

#include "common/err.h"
#include "host/lib/hutch.h"

#define IMAGEINFO_FILE    "image.json"
#define IMAGEINFO_VERSION 1
/* Six bytes for one that JSON escapes. */
#define IMAGEINFO_MAX ((size_t)6 * HUTCH_IMAGE_CONFIG_MAX)

/** imageinfo_new() - With "" for each string; NULL if out of memory */
struct hutch_image_info *imageinfo_new(void);

static inline void imageinfo_freep(struct hutch_image_info **i)
{
	hutch_image_info_free(*i);
}

/** imageinfo_parse() - From JSON. Return: 0 or -EBADMSG with a sentence */
MUST_CHECK int imageinfo_parse(const char *json, size_t len,
			       struct hutch_image_info **ret, struct err *e);

/** imageinfo_read() - From an image's folder. Return: 0, -ENOENT, -EBADMSG */
MUST_CHECK int imageinfo_read(int dirfd, struct hutch_image_info **ret,
			      struct err *e);

/** imageinfo_write() - To an image's folder. Return: 0 or -errno */
MUST_CHECK int imageinfo_write(int dirfd, const struct hutch_image_info *info,
			       struct err *e);

/**
 * imageinfo_list() - A field from a JSON array of strings, or null
 * @array:	json_t *; NULL is as good as null
 *
 * Return: 0; -EBADMSG if it is something else; -E2BIG; -ENOMEM
 */
MUST_CHECK int imageinfo_list(const void *array, const char *const **field);

/**
 * imageinfo_labels() - "KEY=VALUE" from a JSON object of strings, or null
 *
 * Return: as above; -EBADMSG if a key is empty or has a '='
 */
MUST_CHECK int imageinfo_labels(void *object, const char *const **field);

/** imageinfo_keys() - The keys of a JSON object, sorted. Return: as above */
MUST_CHECK int imageinfo_keys(void *object, const char *const **field);

#endif
