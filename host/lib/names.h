/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/names.h - states, reasons and times as text, and back */
#ifndef HUTCH_HOST_LIB_NAMES_H
#define HUTCH_HOST_LIB_NAMES_H

#include <stdint.h>

#include "common/base.h"
#include "host/lib/hutch.h"

#define RFC3339_LEN 32 /* bytes of "2026-01-31T12:00:00.123456789Z" and more */

/** state_from_name() - As enum hutch_state, or -1 */
int state_from_name(const char *s);

/** reason_from_name() - As enum hutch_reason, "" being none; or -1 */
int reason_from_name(const char *s);

/** rfc3339_text() - Nanoseconds since 1970 as UTC with nine decimals */
const char *rfc3339_text(int64_t ns, char buf[RFC3339_LEN]);

/** rfc3339_parse() - What rfc3339_text() writes. Return: 0 or -EINVAL */
MUST_CHECK int rfc3339_parse(const char *s, int64_t *ret);

#endif
