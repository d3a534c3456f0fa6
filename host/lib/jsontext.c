/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/jsontext.c - see jsontext.h */
#include <string.h>

#include "host/lib/jsontext.h"

json_t *jsontext_string(const char *s)
{
	size_t len = strlen(s), n = 0;
	json_t *j = json_stringn(s, len);
	auto_free char *fixed = NULL;

	if (j)
		return j;
	fixed = malloc(len * 3 + 1);
	if (!fixed)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)s[i] < 0x80) {
			fixed[n++] = s[i];
			continue;
		}
		fixed[n++] = '\xef';
		fixed[n++] = '\xbf';
		fixed[n++] = '\xbd';
	}
	return json_stringn(fixed, n);
}

json_t *jsontext_list(const char *const *v)
{
	json_t *a;

	if (!v)
		return json_null();
	a = json_array();
	for (size_t i = 0; v[i]; i++)
		if (json_array_append_new(a, jsontext_string(v[i])) < 0) {
			json_decref(a);
			return NULL;
		}
	return a;
}
