/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_idle.c - the keeper's idle time-out, and last activity */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "common/base.h"
#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

static void pause_ms(long ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	(void)nanosleep(&t, NULL);
}

static void start_idle(struct host_env *v, uint64_t ms, unsigned int flags)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;

	host_env_init(v);
	o.name = "web";
	o.idle_timeout_ms = ms;
	o.flags = flags;
	hutch_vm_close(host_start_with(v, "", &o));
	ck_assert_int_eq(hutch_wait(v->h, "web", HUTCH_WAIT_READY, HOST_LONG_MS,
				    NULL, &v->e),
			 0);
}

/* Whether it has ended after so long. */
static bool ends_within(struct host_env *v, int ms)
{
	int r = hutch_wait(v->h, "web", HUTCH_WAIT_EXIT, ms, NULL, &v->e);

	ck_assert(r == 0 || r == -ETIMEDOUT);
	return r == 0;
}

START_TEST(idle_vm_ends_and_says_so)
{
	struct hutch_vm_event e = { 0 };
	struct hutch_events *ev;
	struct hutch_record *rec;
	struct host_env v;

	start_idle(&v, 50, 0);
	host_expect_reason(&v, "idle-timeout");
	rec = host_inspect(&v);
	ck_assert(rec->last_activity_ns == 0);
	hutch_record_free(rec);
	ck_assert_int_eq(hutch_events_open(v.h, "web", 0, &ev, &v.e), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(hutch_events_next(ev, &e, &v.e), 1);
	ck_assert_str_eq(e.kind, "idle");
	ck_assert_int_eq(hutch_events_next(ev, &e, &v.e), 1);
	ck_assert_str_eq(e.kind, "stopped");
	ck_assert_str_eq(e.reason, "idle-timeout");
	hutch_events_close(ev);
	host_env_done(&v);
}
END_TEST

START_TEST(idle_clock_rests_while_a_client_is_attached)
{
	struct hutch_record *rec;
	struct hutch_exec *x;
	struct host_env v;

	start_idle(&v, 200, 0);
	x = host_run(&v, 0, "hang");
	ck_assert(!ends_within(&v, 600));
	hutch_exec_close(x);
	ck_assert(ends_within(&v, HOST_LONG_MS));
	host_expect_reason(&v, "idle-timeout");
	rec = host_inspect(&v);
	ck_assert(rec->last_activity_ns > rec->ready_ns + 500000000);
	hutch_record_free(rec);
	host_env_done(&v);
}
END_TEST

static void detach_hang(struct host_env *v)
{
	struct hutch_exec *x = host_run(v, HUTCH_EXEC_DETACH, "hang");
	struct host_result res;

	host_collect(v, x, &res);
	ck_assert_int_eq(res.last.kind, HUTCH_EXEC_STARTED);
	hutch_exec_close(x);
}

START_TEST(idle_clock_runs_beside_processes_unless_they_count)
{
	struct hutch_process **list;
	struct host_env v;

	start_idle(&v, 100, 0);
	detach_hang(&v);
	ck_assert(ends_within(&v, HOST_LONG_MS));
	host_expect_reason(&v, "idle-timeout");
	host_env_done(&v);

	start_idle(&v, 200, HUTCH_START_KEEP_ALIVE_PROCESSES);
	detach_hang(&v);
	ck_assert(!ends_within(&v, 600));
	ck_assert_int_eq(hutch_processes(v.h, "web", NULL, 0, &list, &v.e), 1);
	ck_assert_int_eq(hutch_process_kill(v.h, "web", list[0]->id, SIGKILL, 0,
					    0, &v.e),
			 0);
	hutch_processes_free(list);
	ck_assert(ends_within(&v, HOST_LONG_MS));
	host_env_done(&v);
}
END_TEST

START_TEST(activity_is_on_record_in_time)
{
	struct hutch_record *rec;
	struct hutch_exec *x;
	struct host_result res;
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	x = host_run(&v, 0, "say", "a");
	host_collect(&v, x, &res);
	hutch_exec_close(x);
	for (rec = host_inspect(&v); rec->last_activity_ns == 0;
	     rec = host_inspect(&v)) {
		hutch_record_free(rec);
		pause_ms(100);
	}
	ck_assert(rec->last_activity_ns >= rec->ready_ns);
	hutch_record_free(rec);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

CHECK_MAIN("idle", idle_vm_ends_and_says_so,
	   idle_clock_rests_while_a_client_is_attached,
	   idle_clock_runs_beside_processes_unless_they_count,
	   activity_is_on_record_in_time)
