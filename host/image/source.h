/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/source.h - a folder of blobs and documents: a layout, an archive */
#ifndef HUTCH_HOST_IMAGE_SOURCE_H
#define HUTCH_HOST_IMAGE_SOURCE_H

#include <stdbool.h>

#include "common/err.h"
#include "host/image/oci.h"

#define SOURCE_LINKS_MAX 4 /* from one name to another, in an archive */

/**
 * struct source - Where from; all of it is a stranger's
 * @fd:		Of the folder; borrowed
 * @mapped:	It is an archive that was unpacked into the mapped layout
 */
struct source {
	int fd;
	bool mapped;
};

/** source_has() - Whether there is a file of that name */
bool source_has(const struct source *s, const char *name);

/** source_open() - A regular file, beneath the folder. Return: descriptor */
MUST_CHECK int source_open(const struct source *s, const char *name,
			   struct err *e);

/** source_open_blob() - The blob of a digest; its size is as @d says */
MUST_CHECK int source_open_blob(const struct source *s,
				const struct oci_desc *d, struct err *e);

/** source_read() - A document, malloc()ed. Return: 0, -E2BIG, -errno */
MUST_CHECK int source_read(const struct source *s, const char *name, char **ret,
			   size_t *ret_len, struct err *e);

/** source_read_blob() - The same, with its digest checked */
MUST_CHECK int source_read_blob(const struct source *s,
				const struct oci_desc *d, char **ret,
				size_t *ret_len, struct err *e);

/** source_check() - Whether @buf is what @d says. Return: 0 or -EBADMSG */
MUST_CHECK int source_check(const struct oci_desc *d, const void *buf,
			    size_t len, struct err *e);

#endif
