/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/imagenames.h - names of images: the store's folder name/ */
#ifndef HUTCH_HOST_LIB_IMAGENAMES_H
#define HUTCH_HOST_LIB_IMAGENAMES_H

#include "common/err.h"

struct imagestore;

/* In each, @name is as imageref_text() writes it; the store is locked. */

/** imagenames_set() - @name is that of image @id from now on */
MUST_CHECK int imagenames_set(const struct imagestore *s, const char *name,
			      const char *id, struct err *e);

/** imagenames_of() - Set @field to all names of @id, sorted; NULL for none */
MUST_CHECK int imagenames_of(const struct imagestore *s, const char *id,
			     const char *const **field, struct err *e);

/** imagenames_count() - How many names @id has */
MUST_CHECK int imagenames_count(const struct imagestore *s, const char *id,
				struct err *e);

/** imagenames_sweep() - Take away names of images that are not there */
void imagenames_sweep(const struct imagestore *s);

/** imagenames_forget() - Take away all names of @id */
MUST_CHECK int imagenames_forget(const struct imagestore *s, const char *id,
				 struct err *e);

#endif
