/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/bench/timing.h - what the timers that run in a guest have in common
 *
 * Each operation is told of with two lines: "WHAT begin OP" and "WHAT end OP
 * n=COUNT ns=TOTAL bytes=EACH", by CLOCK_MONOTONIC, which follows the counted
 * instructions in a guest of the lab as in the lab itself.  After each line there
 * is a pause, so that who reads it can look at counters when nothing runs.
 *
 * As the first process of a guest a timer speaks on the kernel's log, and ends
 * the machine.
 */
#ifndef HUTCH_TESTS_BENCH_TIMING_H
#define HUTCH_TESTS_BENCH_TIMING_H

#include "common/base.h"

/**
 * struct timing - What is being timed
 * @what:	First word of each line
 * @pause_ms:	After each line
 */
struct timing {
	const char *what;
	unsigned int pause_ms;
};

/** timing_say() - A line, in one piece */
void timing_say(const char *format, ...) PRINTF(1, 2);

/** timing_end() - Be over */
__attribute__((noreturn)) void timing_end(int code);

/** timing_die() - Tell of errno, and be over */
__attribute__((noreturn)) void timing_die(const struct timing *t,
					  const char *why);

/** timing_now_ns() - CLOCK_MONOTONIC */
int64_t timing_now_ns(void);

/** timing_rest() - A pause */
void timing_rest(const struct timing *t);

/** timing_begin() - @op begins. Return: the time */
int64_t timing_begin(const struct timing *t, const char *op);

/** timing_done() - @op has been done @n times since @start_ns */
void timing_done(const struct timing *t, const char *op, unsigned int n,
		 unsigned int bytes, int64_t start_ns);

#endif
