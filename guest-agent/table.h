/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/table.h - the processes there are, by id, pid and age */
#ifndef HUTCH_GUEST_AGENT_TABLE_H
#define HUTCH_GUEST_AGENT_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

struct agent;
struct proc;

/** table_find() - By id; one that is to be forgotten is not found */
struct proc *table_find(const struct agent *a, const char *id);

/** table_find_pid() - One that has not ended yet; NULL if there is none */
struct proc *table_find_pid(const struct agent *a, pid_t pid);

/** table_next() - The oldest with a number of @nr or more, or NULL */
struct proc *table_next(const struct agent *a, uint64_t nr);

/**
 * table_room() - Make room for one more: the oldest ended one goes
 *
 * Return: 0; -EAGAIN with the sentence
 */
MUST_CHECK int table_room(struct agent *a, struct err *e);

/**
 * table_reclaim() - Drop the output of the oldest ended one that nobody reads
 *
 * It stays in the table, and says how much of its output is cut.
 *
 * Return: false if there is none that has some
 */
bool table_reclaim(struct agent *a);

/** table_count() - How many are in which state; starting ones are running */
void table_count(const struct agent *a, uint32_t *ret_running,
		 uint32_t *ret_lingering);

#endif
