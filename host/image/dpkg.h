/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/dpkg.h - what dpkg has on record in a root: deb-control(5) */
#ifndef HUTCH_HOST_IMAGE_DPKG_H
#define HUTCH_HOST_IMAGE_DPKG_H

#include "common/err.h"

#define DPKG_STATUS   "var/lib/dpkg/status"
#define DPKG_WORD_MAX 255 /* bytes of a name, of a version */

/**
 * dpkg_list() - The packages that are installed, "NAME:ARCH=VERSION", sorted
 * @text:	Of the status file
 * @ret:	A list for record_drop_list()
 *
 * Return: 0; -EBADMSG if a package has no name, version or architecture, or one
 *         that cannot be; -E2BIG if there are more than HUTCH_IMAGE_STRINGS
 */
MUST_CHECK int dpkg_list(const char *text, size_t len, const char *const **ret,
			 struct err *e);

#endif
