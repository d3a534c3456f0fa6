/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_loop.c - common/loop.c */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "common/loop.h"
#include "common/timers.h"
#include "tests/lib/check_main.h"

#define MS 1000000ull

/* A watched end of a socket pair that counts what it is told. */
struct ear {
	struct loop_io io;
	struct loop_defer defer;
	int fd[2];
	int calls;
	uint32_t events;
	struct ear *kills; /* taken off the loop when this one hears */
};

static void ear_hears(struct loop_io *io, uint32_t events)
{
	struct ear *e = container_of(io, struct ear, io);

	e->calls++;
	e->events = events;
	if (e->kills)
		loop_del(&e->kills->io);
}

static void ear_open(struct loop *l, struct ear *e, uint32_t events)
{
	*e = (struct ear){ 0 };
	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, e->fd), 0);
	ck_assert_int_eq(loop_add(l, &e->io, e->fd[0], events, ear_hears), 0);
}

static void ear_close(struct ear *e)
{
	loop_del(&e->io);
	(void)close(e->fd[0]);
	(void)close(e->fd[1]);
}

static void poke(const struct ear *e)
{
	ck_assert_int_eq(write(e->fd[1], "x", 1), 1);
}

START_TEST(a_readable_descriptor_is_reported_until_it_is_read)
{
	struct loop l;
	struct ear e;
	char c;

	ck_assert_int_eq(loop_init(&l, NULL), 0);
	ear_open(&l, &e, EPOLLIN);

	ck_assert_int_eq(loop_step(&l, 0), 0);
	poke(&e);
	ck_assert_int_eq(loop_step(&l, -1), 1);
	ck_assert_int_eq(loop_step(&l, -1), 1);
	ck_assert_uint_eq(e.events, EPOLLIN);
	ck_assert_int_eq(read(e.fd[0], &c, 1), 1);
	ck_assert_int_eq(loop_step(&l, 0), 0);
	ck_assert_int_eq(e.calls, 2);
	ear_close(&e);
	loop_done(&l);
}
END_TEST

START_TEST(mod_changes_what_is_reported)
{
	struct loop l;
	struct ear e;

	ck_assert_int_eq(loop_init(&l, NULL), 0);
	ear_open(&l, &e, EPOLLIN);
	poke(&e);

	loop_mod(&e.io, 0);
	ck_assert_int_eq(loop_step(&l, 0), 0);
	loop_mod(&e.io, EPOLLOUT);
	ck_assert_int_eq(loop_step(&l, -1), 1);
	ck_assert_uint_eq(e.events, EPOLLOUT);
	loop_mod(&e.io, EPOLLIN | EPOLLOUT);
	ck_assert_int_eq(loop_step(&l, -1), 1);
	ck_assert_uint_eq(e.events, EPOLLIN | EPOLLOUT);
	ear_close(&e);
	loop_done(&l);
}
END_TEST

START_TEST(a_hang_up_is_reported_though_nothing_was_asked_for)
{
	struct loop l;
	struct ear e;

	ck_assert_int_eq(loop_init(&l, NULL), 0);
	ear_open(&l, &e, 0);

	(void)close(e.fd[1]);
	e.fd[1] = -1;

	ck_assert_int_eq(loop_step(&l, -1), 1);
	ck_assert(e.events & EPOLLHUP);
	ear_close(&e);
	loop_done(&l);
}
END_TEST

/* Whichever of the two comes first takes the other off. */
START_TEST(del_drops_an_event_that_waits_in_the_same_batch)
{
	struct loop l;
	struct ear a, b;

	ck_assert_int_eq(loop_init(&l, NULL), 0);
	ear_open(&l, &a, EPOLLIN);
	ear_open(&l, &b, EPOLLIN);
	a.kills = &b;
	b.kills = &a;
	poke(&a);
	poke(&b);

	ck_assert_int_eq(loop_step(&l, -1), 2);

	ck_assert_int_eq(a.calls + b.calls, 1);
	ear_close(&a);
	ear_close(&b);
	loop_done(&l);
}
END_TEST

START_TEST(del_twice_and_add_again)
{
	struct loop l;
	struct ear e;

	ck_assert_int_eq(loop_init(&l, NULL), 0);
	ear_open(&l, &e, EPOLLIN);
	poke(&e);

	loop_del(&e.io);
	loop_del(&e.io);
	loop_mod(&e.io, EPOLLOUT);
	ck_assert_int_eq(loop_step(&l, 0), 0);
	ck_assert_int_eq(loop_add(&l, &e.io, e.fd[0], EPOLLIN, ear_hears), 0);
	ck_assert_int_eq(loop_step(&l, -1), 1);
	ear_close(&e);
	loop_done(&l);
}
END_TEST

START_TEST(add_of_a_regular_file_is_eperm)
{
	auto_fd int fd = memfd_create("file", MFD_CLOEXEC);
	struct loop_io io = { 0 };
	struct loop l;

	ck_assert_int_eq(loop_init(&l, NULL), 0);
	ck_assert_int_eq(loop_add(&l, &io, fd, EPOLLIN, ear_hears), -EPERM);
	ck_assert_ptr_null(io.loop);
	loop_done(&l);
}
END_TEST

START_TEST(more_ready_than_a_batch_are_all_served)
{
	enum {
		N = LOOP_BATCH + 10
	};
	static struct ear e[N];
	struct loop l;
	int served = 0;

	ck_assert_int_eq(loop_init(&l, NULL), 0);
	for (int i = 0; i < N; i++) {
		ear_open(&l, &e[i], EPOLLIN);
		poke(&e[i]);
	}

	while (served < N) {
		int n = loop_step(&l, 0);

		ck_assert_int_gt(n, 0);
		ck_assert_int_le(n, LOOP_BATCH);
		for (int i = 0; i < N; i++) {
			if (!e[i].calls || !e[i].io.loop)
				continue;
			loop_del(&e[i].io);
			served++;
		}
	}

	for (int i = 0; i < N; i++) {
		ck_assert_int_eq(e[i].calls, 1);
		ear_close(&e[i]);
	}
	loop_done(&l);
}
END_TEST

/* Timers note the order in which they fired. */
struct clock {
	struct loop_timer t;
	struct loop *l;
	int *order;
	int id;
	bool again;
};

static void clock_rings(struct loop_timer *t)
{
	struct clock *c = container_of(t, struct clock, t);

	*c->order = *c->order * 10 + c->id;
	if (c->again)
		loop_timer_set(c->l, t, 0, clock_rings);
}

static void run_until(struct loop *l, const int *order, int digits)
{
	int least = 1;

	while (--digits)
		least *= 10;
	while (*order < least)
		ck_assert_int_ge(loop_step(l, -1), 0);
}

START_TEST(timers_fire_soonest_first_whatever_order_they_were_set_in)
{
	struct loop l;
	int order = 0;
	struct clock a = { .id = 1, .order = &order };
	struct clock b = { .id = 2, .order = &order };
	struct clock c = { .id = 3, .order = &order };

	ck_assert_int_eq(loop_init(&l, NULL), 0);
	loop_timer_set(&l, &c.t, 30 * MS, clock_rings);
	loop_timer_set(&l, &a.t, 1 * MS, clock_rings);
	loop_timer_set(&l, &b.t, 15 * MS, clock_rings);
	ck_assert(loop_timer_is_set(&a.t));

	run_until(&l, &order, 3);

	ck_assert_int_eq(order, 123);
	ck_assert(!loop_timer_is_set(&a.t));
	loop_done(&l);
}
END_TEST

START_TEST(a_timer_never_fires_early)
{
	struct loop l;
	int order = 0;
	struct clock a = { .id = 1, .order = &order };
	uint64_t start;

	ck_assert_int_eq(loop_init(&l, NULL), 0);
	start = loop_now_ns();
	loop_timer_set(&l, &a.t, 20 * MS, clock_rings);

	run_until(&l, &order, 1);

	ck_assert_uint_ge(loop_now_ns() - start, 20 * MS);
	loop_done(&l);
}
END_TEST

START_TEST(a_cancelled_timer_is_silent_and_a_set_one_moves)
{
	struct loop l;
	int order = 0;
	struct clock a = { .id = 1, .order = &order };
	struct clock b = { .id = 2, .order = &order };
	struct clock c = { .id = 3, .order = &order };

	ck_assert_int_eq(loop_init(&l, NULL), 0);
	loop_timer_cancel(&a.t);
	loop_timer_set(&l, &a.t, 1 * MS, clock_rings);
	loop_timer_set(&l, &b.t, 2 * MS, clock_rings);
	loop_timer_set(&l, &c.t, 5 * MS, clock_rings);
	loop_timer_cancel(&a.t);
	loop_timer_cancel(&a.t);
	loop_timer_set(&l, &b.t, 10 * MS, clock_rings);

	run_until(&l, &order, 2);

	ck_assert_int_eq(order, 32);
	loop_done(&l);
}
END_TEST

/* Else one that sets itself to "now" would starve every descriptor. */
START_TEST(a_timer_set_by_a_timer_waits_for_the_next_round)
{
	struct loop l;
	struct ear e;
	int order = 0;
	struct clock a = { .id = 1, .order = &order, .l = &l, .again = true };

	ck_assert_int_eq(loop_init(&l, NULL), 0);
	ear_open(&l, &e, EPOLLIN);
	poke(&e);
	loop_timer_set(&l, &a.t, 0, clock_rings);

	ck_assert_int_eq(loop_step(&l, -1), 2);
	ck_assert_int_eq(order, 1);
	ck_assert_int_eq(loop_step(&l, -1), 2);
	ck_assert_int_eq(e.calls, 2);
	loop_timer_cancel(&a.t);
	ear_close(&e);
	loop_done(&l);
}
END_TEST

/* Set, set anew and taken away in any order, as thousands of flows do. */
START_TEST(many_timers_fire_in_order)
{
	static struct loop_timer t[2000];
	struct timers all = { 0 };
	const struct loop_timer *last = NULL;
	uint32_t x = 1;
	size_t left = 0;

	for (int i = 0; i < 20000; i++) {
		struct loop_timer *one;

		x = x * 1664525u + 1013904223u;
		one = &t[(x >> 8) % ARRAY_LEN(t)];
		if (all.soonest && i % 5 == 0)
			timers_del(all.soonest);
		timers_del(one);
		one->at_ns = (x >> 20) % 300;
		if (i % 3)
			timers_add(&all, one);
	}
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		left += loop_timer_is_set(&t[i]);
	ck_assert_uint_gt(left, 500);
	for (; all.soonest; left--) {
		struct loop_timer *one = all.soonest;

		timers_del(one);
		ck_assert(!loop_timer_is_set(one));
		/* Of the same time in the order in which they were set. */
		ck_assert(!last || one->at_ns > last->at_ns ||
			  (one->at_ns == last->at_ns && one->n > last->n));
		last = one;
	}
	ck_assert_uint_eq(left, 0);
}
END_TEST

START_TEST(a_timer_for_ever_does_not_wrap_round)
{
	struct loop l;
	int order = 0;
	struct clock a = { .id = 1, .order = &order };

	ck_assert_int_eq(loop_init(&l, NULL), 0);
	loop_timer_set(&l, &a.t, UINT64_MAX, clock_rings);

	ck_assert_int_eq(loop_step(&l, 1), 0);

	ck_assert_int_eq(order, 0);
	loop_timer_cancel(&a.t);
	loop_done(&l);
}
END_TEST

static void ear_freed(struct loop_defer *d)
{
	struct ear *e = container_of(d, struct ear, defer);

	ear_close(e);
	free(e);
}

static void ear_goes(struct loop_io *io, uint32_t events)
{
	struct ear *e = container_of(io, struct ear, io);

	(void)events;
	/* Twice: it must run once, else the second is a double free. */
	loop_defer(io->loop, &e->defer, ear_freed);
	loop_defer(io->loop, &e->defer, ear_freed);
	e->kills->calls++;
}

START_TEST(deferred_work_runs_once_and_after_the_batch)
{
	struct ear *gone = malloc(sizeof(*gone));
	struct ear stays;
	struct loop l;

	ck_assert_ptr_nonnull(gone);
	ck_assert_int_eq(loop_init(&l, NULL), 0);
	ear_open(&l, gone, EPOLLIN);
	ear_open(&l, &stays, EPOLLIN);
	loop_del(&gone->io);
	ck_assert_int_eq(
		loop_add(&l, &gone->io, gone->fd[0], EPOLLIN, ear_goes), 0);
	gone->kills = &stays;
	poke(gone);
	poke(&stays);

	ck_assert_int_eq(loop_step(&l, -1), 2);

	ck_assert_int_eq(stays.calls, 2);
	ck_assert_int_eq(loop_step(&l, -1), 1);
	ear_close(&stays);
	loop_done(&l);
}
END_TEST

static void stop_now(struct loop_io *io, uint32_t events)
{
	(void)events;
	loop_stop(io->loop);
}

START_TEST(stop_ends_run_and_run_can_start_again)
{
	struct loop l;
	struct ear e;

	ck_assert_int_eq(loop_init(&l, NULL), 0);
	ear_open(&l, &e, EPOLLIN);
	e.io.fn = stop_now;
	poke(&e);

	ck_assert_int_eq(loop_run(&l), 0);
	ck_assert_int_eq(loop_run(&l), 0);
	ear_close(&e);
	loop_done(&l);
}
END_TEST

CHECK_MAIN("loop", a_readable_descriptor_is_reported_until_it_is_read,
	   mod_changes_what_is_reported,
	   a_hang_up_is_reported_though_nothing_was_asked_for,
	   del_drops_an_event_that_waits_in_the_same_batch,
	   del_twice_and_add_again, add_of_a_regular_file_is_eperm,
	   more_ready_than_a_batch_are_all_served,
	   timers_fire_soonest_first_whatever_order_they_were_set_in,
	   a_timer_never_fires_early,
	   a_cancelled_timer_is_silent_and_a_set_one_moves,
	   a_timer_set_by_a_timer_waits_for_the_next_round,
	   many_timers_fire_in_order, a_timer_for_ever_does_not_wrap_round,
	   deferred_work_runs_once_and_after_the_batch,
	   stop_ends_run_and_run_can_start_again)
