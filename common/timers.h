/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/timers.h - the timers of a loop, as a heap that allocates nothing
 *
 * A pairing heap (Fredman, Sedgewick, Sleator and Tarjan, 1986): a tree of which
 * each timer fires no sooner than the one above it. To add one is one comparison;
 * what it costs to take one away is logarithmic in how many there are, on
 * average over all that is done, whatever the order.
 */
#ifndef HUTCH_COMMON_TIMERS_H
#define HUTCH_COMMON_TIMERS_H

#include "common/loop.h"

/** timers_add() - @t, which is in none, with its @at_ns */
void timers_add(struct timers *ts, struct loop_timer *t);

/** timers_del() - Take @t out of where it is; no harm if it is nowhere */
void timers_del(struct loop_timer *t);

#endif
