/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/jsonw.h - writes one JSON document, indented or on one line */
#ifndef HUTCH_CLI_JSONW_H
#define HUTCH_CLI_JSONW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSONW_DEPTH_MAX 16

/**
 * struct jsonw - A document being written
 * @out:	Where to; a failed write shows in ferror(@out)
 * @indent:	Spaces a level, 0 for everything on one line
 * @depth:	Open objects and arrays
 * @filled:	Per level, whether it has a member yet
 */
struct jsonw {
	FILE *out;
	unsigned int indent;
	unsigned int depth;
	bool filled[JSONW_DEPTH_MAX + 1];
};

/*
 * In each call @key is the member's name, or NULL in an array and at the top.
 * The newline behind the whole document is written with its last bracket.
 */
void jsonw_object(struct jsonw *j, const char *key);
void jsonw_object_end(struct jsonw *j);
void jsonw_array(struct jsonw *j, const char *key);
void jsonw_array_end(struct jsonw *j);
void jsonw_uint(struct jsonw *j, const char *key, uint64_t v);
void jsonw_int(struct jsonw *j, const char *key, int64_t v);
void jsonw_bool(struct jsonw *j, const char *key, bool v);
void jsonw_null(struct jsonw *j, const char *key);

/** jsonw_str() - A string, null if @s is NULL; ill-formed bytes as U+FFFD */
void jsonw_str(struct jsonw *j, const char *key, const char *s);

/** jsonw_strn() - The same for @len bytes, which may hold NULs */
void jsonw_strn(struct jsonw *j, const char *key, const char *s, size_t len);

/** jsonw_base64() - Bytes that are not text, in base64 with padding */
void jsonw_base64(struct jsonw *j, const char *key, const void *p, size_t len);

/** jsonw_raw() - A complete value that is JSON already */
void jsonw_raw(struct jsonw *j, const char *key, const char *text);

#endif
