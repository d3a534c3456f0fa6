/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/filter.h - which VMs a person wants to see */
#ifndef HUTCH_CLI_FILTER_H
#define HUTCH_CLI_FILTER_H

#include <stdbool.h>

#include "host/cli/opt.h"
#include "host/lib/hutch.h"

/**
 * filter_check() - Whether each is label=K, label=K=V, state=S or name=PATTERN
 *
 * Return: 0; -EINVAL
 */
MUST_CHECK int filter_check(const struct opt_list *filters,
			    struct hutch_err *e);

/** filter_match() - Whether @rec passes all of @filters, which are sound
 *
 * Of several states, and of several names, one is enough, as with Docker.
 */
bool filter_match(const struct opt_list *filters,
		  const struct hutch_record *rec);

#endif
