/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/intercept/head.h - the head of a request, strictly
 *
 * libhttp-parser says how a request is framed, and is lenient: it takes lines
 * that end in LF alone, and folded ones. What is passed on is written anew, but
 * what is compared must be what was meant; so heads are looked over first, and
 * what RFC 9112 lets one refuse is refused.
 */
#ifndef HUTCH_HOST_NET_INTERCEPT_HEAD_H
#define HUTCH_HOST_NET_INTERCEPT_HEAD_H

#include <stdbool.h>

#include "common/base.h"

#define HEAD_MAX        32768u /* bytes, with the empty line */
#define HEAD_TARGET_MAX 8192u
#define HEAD_FIELDS_MAX 128u

/** struct head_field - A header; both NUL-terminated, in the caller's buffer */
struct head_field {
	char *name;
	char *value;
};

/** struct head - A request's head */
struct head {
	const char *method;
	char *target;
	bool http10;
	size_t n;
	struct head_field field[HEAD_FIELDS_MAX];
};

/**
 * head_end() - Where a head ends
 * @from:	How much of it was looked at before
 *
 * Return: its length with the empty line; 0: not yet
 */
size_t head_end(const char *buf, size_t len, size_t from);

/**
 * head_check() - Look over a whole head
 *
 * Return: NULL; else a constant that says what is wrong
 */
const char *head_check(const char *buf, size_t len);

/**
 * head_split() - Take one apart that was looked over; @buf is changed
 *
 * Return: NULL; else a constant that says what is wrong
 */
const char *head_split(char *buf, size_t len, struct head *ret);

/** head_get() - The value of a header; NULL: there is none */
const char *head_get(const struct head *h, const char *name);

/** head_count() - How many there are of that name */
size_t head_count(const struct head *h, const char *name);

#endif
