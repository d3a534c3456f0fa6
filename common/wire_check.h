/* SPDX-License-Identifier: Apache-2.0 */
/* common/wire_check.h - refusals and strings that the wire's parsers share */
#ifndef HUTCH_COMMON_WIRE_CHECK_H
#define HUTCH_COMMON_WIRE_CHECK_H

#include <stdbool.h>

#include "common/rd.h"
#include "common/wire.h"

/* Each sets the sentence and returns -EBADMSG. */
int wire_malformed(struct err *e, const char *what);
int wire_reserved_set(struct err *e, const char *what);
int wire_bad_flags(struct err *e, const char *what, uint32_t unknown);
int wire_too_long(struct err *e, const char *what, size_t max);
int wire_no_name(struct err *e, const char *what);

/** wire_end_check() - How something ended: EXIT and what repeats it */
MUST_CHECK int wire_end_check(const char *what, uint16_t how, uint32_t flags,
			      uint32_t value, struct err *e);

/** wire_grace_check() - At most WIRE_GRACE_MAX_MS */
MUST_CHECK int wire_grace_check(const char *what, uint32_t grace_ms,
				struct err *e);

/** wire_signal_check() - A signal's number, and a scope */
MUST_CHECK int wire_signal_check(const char *what, uint32_t signo,
				 uint16_t scope, struct err *e);

/** wire_time_check() - A time since 1970 fits an int64_t */
MUST_CHECK int wire_time_check(const char *what, uint64_t ns, struct err *e);

/** wire_cut_check() - No more is cut than there was */
MUST_CHECK int wire_cut_check(const char *what, uint64_t cut, uint64_t total,
			      struct err *e);

/** wire_env_check() - Each is KEY=VALUE */
MUST_CHECK int wire_env_check(const char *what, const char **env, uint32_t n,
			      struct err *e);

/**
 * wire_strs_fit() - Whether so many strings can be in what is left
 *
 * So nobody can make us allocate much more than he sent.
 */
bool wire_strs_fit(const struct rd *rd, size_t n);

/** wire_read_strs() - @n strings and a NULL into @v */
void wire_read_strs(struct rd *rd, const char **v, uint32_t n);

/* Sizes and writing of strings, as wr_str() does. */
size_t wire_str_size(const char *s);
size_t wire_strs_size(const char **v, uint32_t n);
void wire_strs_put(struct wr *wr, const char **v, uint32_t n);

#endif
