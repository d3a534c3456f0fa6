/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/layout.h - the guest's cgroups: the agent's, and the workload's */
#ifndef HUTCH_GUEST_AGENT_LAYOUT_H
#define HUTCH_GUEST_AGENT_LAYOUT_H

#include "common/err.h"
#include "guest-agent/cgroup.h"

#define LAYOUT_ROOT "/sys/fs/cgroup"

/* Memory that the workload never gets: a part of all, within these bounds. */
#define LAYOUT_RESERVE_PART 32u
#define LAYOUT_RESERVE_MIN  (4ull << 20)
#define LAYOUT_RESERVE_MAX  (32ull << 20)

/** layout_reserve() - What is set aside of @total bytes */
uint64_t layout_reserve(uint64_t total);

/**
 * layout_make() - /agent with us in it; /work, /work/plain, /work/limited
 *
 * What cannot be had is -1 in *@ret; all else goes on.
 *
 * Return: 0; -errno of the first failure, with its sentence
 */
MUST_CHECK int layout_make(struct cgroups *ret, struct err *e);

#endif
