/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/fetch.h - blobs and manifests from a registry, checked as they come
 */
#ifndef HUTCH_HOST_IMAGE_FETCH_H
#define HUTCH_HOST_IMAGE_FETCH_H

#include "host/image/oci.h"
#include "host/image/registry.h"
#include "host/image/report.h"
#include "host/lib/imagestore.h"

/**
 * fetch_manifest() - A manifest or an index, malloc()ed
 * @what:	Tag or digest; a digest is checked
 * @ret_digest:	What it is
 */
MUST_CHECK int fetch_manifest(struct registry *r, const char *what, char **ret,
			      size_t *ret_len,
			      char ret_digest[IMAGEREF_DIGEST_LEN + 1],
			      struct err *e);

/** fetch_document() - A blob of JSON, checked, malloc()ed */
MUST_CHECK int fetch_document(struct registry *r, const struct oci_desc *d,
			      char **ret, size_t *ret_len, struct err *e);

/**
 * fetch_blob() - A blob of any size into images/part/, checked as it comes
 *
 * Goes on where an earlier try, of this call or another, has ended. Other
 * callers that want the same blob wait.
 *
 * Return: a descriptor of the whole blob; or -errno, and then a part of it may
 *         be kept for the next try
 */
MUST_CHECK int fetch_blob(struct registry *r, const struct imagestore *s,
			  const struct oci_desc *d, const struct report *rp,
			  struct err *e);

/** fetch_forget() - The blob is not needed any more */
void fetch_forget(const struct imagestore *s, const struct oci_desc *d);

#endif
