/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/core/stat.h - what the monitor counts and when things first happened */
#ifndef HUTCH_VMM_CORE_STAT_H
#define HUTCH_VMM_CORE_STAT_H

#include <stdatomic.h>
#include <stdint.h>

/** enum stat_stage - Steps of a boot, each seen by an event we get anyway */
enum stat_stage {
	STAT_STAGE_START,     /* main() was entered */
	STAT_STAGE_FIRST_RUN, /* first KVM_RUN of the first vCPU */
	STAT_STAGE_BELL,      /* the agent can serve */
	STAT_STAGES
};

/** enum stat_exit - Why a vCPU came back to us */
enum stat_exit {
	STAT_EXIT_MMIO_READ,
	STAT_EXIT_MMIO_WRITE,
	STAT_EXIT_IO,
	STAT_EXIT_HLT,
	STAT_EXIT_EOI,
	STAT_EXIT_KICK, /* a signal or a pause took it out */
	STAT_EXIT_OTHER,
	STAT_EXITS
};

/** struct stat_stages - CLOCK_MONOTONIC in nanoseconds, 0 for "not yet" */
struct stat_stages {
	atomic_uint_fast64_t at[STAT_STAGES];
};

/** struct stat_exits - Counts of one vCPU: only its own thread adds */
struct stat_exits {
	atomic_uint_fast64_t n[STAT_EXITS];
};

/** stat_stage_mark() - Note the time if this stage has none. Any thread */
void stat_stage_mark(struct stat_stages *s, enum stat_stage stage);

/** stat_stage_ns() - When it was first marked, or 0 */
uint64_t stat_stage_ns(struct stat_stages *s, enum stat_stage stage);

/** stat_exit_add() - One more. Context: the vCPU's own thread */
void stat_exit_add(struct stat_exits *x, enum stat_exit why);

/** stat_exit_get() - Context: any thread */
uint64_t stat_exit_get(struct stat_exits *x, enum stat_exit why);

/* "first_run" and "mmio_read": what stats keys are made of. */
const char *stat_stage_name(enum stat_stage stage);
const char *stat_exit_name(enum stat_exit why);

#endif
