/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/core/stat.c - see stat.h; everything is relaxed, nothing orders by it */
#include "common/loop.h"
#include "vmm/core/stat.h"

static const char *const stage_names[STAT_STAGES] = {
	[STAT_STAGE_START] = "start",
	[STAT_STAGE_FIRST_RUN] = "first_run",
	[STAT_STAGE_BELL] = "bell",
};

static const char *const exit_names[STAT_EXITS] = {
	[STAT_EXIT_MMIO_READ] = "mmio_read",
	[STAT_EXIT_MMIO_WRITE] = "mmio_write",
	[STAT_EXIT_IO] = "io",
	[STAT_EXIT_HLT] = "hlt",
	[STAT_EXIT_EOI] = "eoi",
	[STAT_EXIT_KICK] = "kick",
	[STAT_EXIT_OTHER] = "other",
};

void stat_stage_mark(struct stat_stages *s, enum stat_stage stage)
{
	uint_fast64_t none = 0;

	if (atomic_load_explicit(&s->at[stage], memory_order_relaxed))
		return;
	(void)atomic_compare_exchange_strong_explicit(
		&s->at[stage], &none, loop_now_ns(), memory_order_relaxed,
		memory_order_relaxed);
}

uint64_t stat_stage_ns(struct stat_stages *s, enum stat_stage stage)
{
	return atomic_load_explicit(&s->at[stage], memory_order_relaxed);
}

void stat_exit_add(struct stat_exits *x, enum stat_exit why)
{
	/* One writer: a plain sum, no locked instruction. */
	uint64_t v = atomic_load_explicit(&x->n[why], memory_order_relaxed);

	atomic_store_explicit(&x->n[why], v + 1, memory_order_relaxed);
}

uint64_t stat_exit_get(struct stat_exits *x, enum stat_exit why)
{
	return atomic_load_explicit(&x->n[why], memory_order_relaxed);
}

const char *stat_stage_name(enum stat_stage stage)
{
	return stage_names[stage];
}

const char *stat_exit_name(enum stat_exit why)
{
	return exit_names[why];
}
