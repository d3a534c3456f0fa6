/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/jsontext.h - values of jansson that every JSON of ours is made of */
#ifndef HUTCH_HOST_LIB_JSONTEXT_H
#define HUTCH_HOST_LIB_JSONTEXT_H

#include <jansson.h>

#include "common/base.h"

static inline void jsontext_drop(json_t **j)
{
	json_decref(*j);
}
#define auto_json AUTO(jsontext_drop)

/**
 * jsontext_string() - A string; JSON is UTF-8, and what is not shows as U+FFFD,
 *		       a byte for a character
 *
 * Return: the caller's; NULL: no memory
 */
json_t *jsontext_string(const char *s);

/**
 * jsontext_list() - Strings up to NULL as an array; null for a NULL list
 *
 * Return: the caller's; NULL: no memory
 */
json_t *jsontext_list(const char *const *v);

#endif
