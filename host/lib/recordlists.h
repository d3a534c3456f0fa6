/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/recordlists.h - mounts and forwards of a record as JSON, and back */
#ifndef HUTCH_HOST_LIB_RECORDLISTS_H
#define HUTCH_HOST_LIB_RECORDLISTS_H

#include <jansson.h>
#include <stdint.h>

#include "common/err.h"
#include "host/lib/hutch.h"

/** recordlists_mounts() - A list that ends in NULL, or NULL. Return: new; NULL */
json_t *recordlists_mounts(const struct hutch_mount *const *v);

/** recordlists_forwards() - Likewise */
json_t *recordlists_forwards(const struct hutch_forward *const *v);

/** recordlists_get_mounts() - "mounts" of @j. Return: 0; -EBADMSG; -ENOMEM */
MUST_CHECK int recordlists_get_mounts(const json_t *j,
				      const struct hutch_mount *const **field);

/** recordlists_get_forwards() - "forwards" of @j, likewise */
MUST_CHECK int recordlists_get_forwards(
	const json_t *j, const struct hutch_forward *const **field);

/** recordlists_get_dax() - Two members that go together. Return: 0; -EBADMSG */
MUST_CHECK int recordlists_get_dax(const json_t *o, const char *dax_key,
				   const char *window_key,
				   enum hutch_dax *ret_dax,
				   uint64_t *ret_window);

#endif
