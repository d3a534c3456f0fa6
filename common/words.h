/* SPDX-License-Identifier: Apache-2.0 */
/* common/words.h - the words people write: sizes, durations, names, numbers */
#ifndef HUTCH_COMMON_WORDS_H
#define HUTCH_COMMON_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

#define WORDS_NAME_MAX 63

/*
 * Each takes @what, the name of the thing for the sentence ("--memory"), and
 * returns 0 with *@ret set, or -EINVAL / -ERANGE with a sentence in @e.
 */

/** words_size() - "512M", "2G", "64K", "1T", "4096": bytes, powers of 1024 */
MUST_CHECK int words_size(const char *what, const char *s, uint64_t *ret,
			  struct err *e);

/** words_duration() - "90", "1.5s", "500ms", "2m", "1h": nanoseconds */
MUST_CHECK int words_duration(const char *what, const char *s, uint64_t *ret,
			      struct err *e);

/** words_uint() - A decimal number from @min to @max, nothing around it */
MUST_CHECK int words_uint(const char *what, const char *s, uint64_t min,
			  uint64_t max, uint64_t *ret, struct err *e);

/** words_hex() - Value of a hexadecimal digit, either case; -1: it is none */
int words_hex(char c);

/** words_hex_text() - @n bytes as 2 * @n digits, lower case, and a NUL */
void words_hex_text(char *ret, const void *p, size_t n);

#define WORDS_MAC_LEN 6u

/** words_mac() - "02:00:00:00:00:01": whether @len bytes at @s are that */
bool words_mac(const char *s, size_t len, uint8_t ret[WORDS_MAC_LEN]);

/** words_mac_is_one() - Whether it is of one interface: no group's, not zero */
bool words_mac_is_one(const uint8_t mac[WORDS_MAC_LEN]);

/** words_name_ok() - Whether @s is [a-z0-9][a-z0-9-]{0,62} */
bool words_name_ok(const char *s);

#endif
