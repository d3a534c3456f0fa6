/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_process.c - processes: attach, list, kill, drop, wait */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "host/lib/exec.h"
#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

static struct hutch_exec *attach(struct host_env *v, const char *proc,
				 unsigned int flags, uint64_t from)
{
	struct hutch_attach_opts o = HUTCH_ATTACH_OPTS_INIT;
	struct hutch_exec *x = NULL;
	int r;

	o.flags = flags;
	o.stdout_from = from;
	o.stderr_from = from;
	r = hutch_attach(v->h, "web", proc, &o, &x, &v->e);
	ck_assert_msg(r == 0, "%d %s", r, v->e.msg);
	return x;
}

/* ---- Attaching ---- */

START_TEST(attach_replays_and_tells_the_exit)
{
	struct host_result res;
	struct hutch_exec *x;
	struct host_env v;

	host_up(&v);
	host_detach_args(&v, "job", "say", "hello ", "!oops", "world");
	x = attach(&v, "job", HUTCH_ATTACH_FOLLOW, 0);
	host_collect(&v, x, &res);
	ck_assert_int_eq(res.r, -ENODATA);
	ck_assert_str_eq(res.out, "hello world");
	ck_assert_str_eq(res.err, "oops");
	ck_assert_int_eq(res.last.kind, HUTCH_EXEC_EXIT);
	ck_assert_int_eq(res.last.value, 0);
	ck_assert_int_eq(res.last.end_ns, 1);
	hutch_exec_close(x);
	host_down(&v);
}
END_TEST

START_TEST(attach_from_a_cursor_gives_the_rest)
{
	struct hutch_attach_opts past = HUTCH_ATTACH_OPTS_INIT;
	struct host_result res;
	struct hutch_exec *x;
	struct host_env v;

	host_up(&v);
	host_detach_args(&v, "job", "trickle", "hello ", "!oops", "world");
	while (host_log_of(&v, "job", &res), res.out_len < 11)
		continue;
	x = attach(&v, "job", 0, 6);
	host_collect(&v, x, &res);
	ck_assert_str_eq(res.out, "world");
	/* Beyond the end is the end. */
	ck_assert_str_eq(res.err, "");
	ck_assert_int_eq(res.last.kind, HUTCH_EXEC_END);
	hutch_exec_close(x);
	x = attach(&v, "job", HUTCH_ATTACH_BACK, 2);
	host_collect(&v, x, &res);
	ck_assert_str_eq(res.out, "ld");
	ck_assert_str_eq(res.err, "ps");
	hutch_exec_close(x);
	x = attach(&v, "job", HUTCH_ATTACH_NO_STDOUT, 0);
	host_collect(&v, x, &res);
	ck_assert_str_eq(res.out, "");
	ck_assert_str_eq(res.err, "oops");
	hutch_exec_close(x);
	/* One that the protocol has no room for is not sent. */
	past.stderr_from = 1ull << 63;
	ck_assert_int_eq(hutch_attach(v.h, "web", "job", &past, &x, &v.e),
			 -EINVAL);
	host_down(&v);
}
END_TEST

START_TEST(attach_follows_and_sees_a_kill)
{
	struct hutch_exec_event ev;
	struct host_result res;
	struct hutch_exec *x;
	struct host_env v;

	host_up(&v);
	host_detach_args(&v, "job", "hang");
	x = attach(&v, "job", HUTCH_ATTACH_FOLLOW, 0);
	ck_assert_int_eq(hutch_exec_wait(x, &ev, HOST_LONG_MS, &v.e), 1);
	ck_assert_int_eq(ev.kind, HUTCH_EXEC_STARTED);
	ck_assert_int_eq(hutch_exec_wait(x, &ev, 20, &v.e), 0);
	ck_assert_int_eq(
		hutch_process_kill(v.h, "web", "job", SIGTERM, 0, 0, &v.e), 0);
	host_collect(&v, x, &res);
	ck_assert_int_eq(res.last.how, HUTCH_EXEC_SIGNALLED);
	ck_assert_int_eq(res.last.value, SIGTERM);
	hutch_exec_close(x);
	host_down(&v);
}
END_TEST

START_TEST(attach_tells_what_it_does_not_get)
{
	static const struct {
		enum hutch_exec_kind kind;
		uint64_t cursor;
		uint64_t n; /* lost, or bytes */
	} want[] = {
		{ HUTCH_EXEC_STARTED, 0, 0 },
		{ HUTCH_EXEC_TRUNCATED, 1000, 1000 },
		{ HUTCH_EXEC_STDOUT, 1000, 4 },
		{ HUTCH_EXEC_TRUNCATED, 2004, 1000 },
		{ HUTCH_EXEC_STDOUT, 2004, 5 },
		{ HUTCH_EXEC_EXIT, 0, 0 },
	};
	struct hutch_exec_event ev;
	struct hutch_exec *x;
	struct host_env v;

	host_up(&v);
	x = attach(&v, "slow", HUTCH_ATTACH_FOLLOW, 0);
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		ck_assert_msg(hutch_exec_wait(x, &ev, HOST_LONG_MS, &v.e) == 1,
			      "%zu: %s", i, v.e.msg);
		ck_assert_int_eq(ev.kind, want[i].kind);
		ck_assert_uint_eq(ev.cursor, want[i].cursor);
		ck_assert_uint_eq(ev.kind == HUTCH_EXEC_TRUNCATED ? ev.lost
								  : ev.len,
				  want[i].n);
	}
	ck_assert_uint_eq(ev.stdout_cut, 2000);
	hutch_exec_close(x);
	host_down(&v);
}
END_TEST

START_TEST(attach_to_a_hostile_agent_is_an_error_never_an_exit)
{
	static const struct {
		const char *proc;
		const char *says;
	} bad[] = {
		{ "evil-gap", "goes on at byte 5, not at 0" },
		{ "evil-total", "output is incomplete" },
		{ "evil-nothing", "output is incomplete" },
		{ "evil-early", "STDOUT comes before STARTED" },
		{ "evil-again", "it has started before" },
		{ "evil-cut", "goes on at byte 7, not at 2" },
		{ "evil-done", "DONE is no answer" },
	};
	struct host_env v;

	host_up(&v);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct hutch_exec *x =
			attach(&v, bad[i].proc, HUTCH_ATTACH_FOLLOW, 0);
		struct host_result res;

		host_collect(&v, x, &res);
		ck_assert_int_eq(res.r, -EBADMSG);
		ck_assert_msg(strstr(v.e.msg, bad[i].says) != NULL, "%s: '%s'",
			      bad[i].proc, v.e.msg);
		ck_assert_int_ne(res.last.kind, HUTCH_EXEC_EXIT);
		hutch_exec_close(x);
	}
	host_down(&v);
}
END_TEST

START_TEST(attach_to_nothing_says_so)
{
	struct hutch_attach_opts o = HUTCH_ATTACH_OPTS_INIT;
	struct hutch_exec *x;
	struct host_result res;
	struct host_env v;

	host_up(&v);
	ck_assert_int_eq(hutch_attach(v.h, "web", NULL, NULL, &x, &v.e),
			 -ENOENT);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "no main process"));
	ck_assert_int_eq(hutch_attach(v.h, "nosuch", "a", NULL, &x, &v.e),
			 -ENOENT);
	ck_assert_int_eq(hutch_attach(v.h, "web", "Bad", NULL, &x, &v.e),
			 -EINVAL);
	o.flags = 0x20; /* QUIET is the keeper's */
	ck_assert_int_eq(hutch_attach(v.h, "web", "a", &o, &x, &v.e), -EINVAL);
	x = attach(&v, "nobody", 0, 0);
	host_collect(&v, x, &res);
	ck_assert_int_eq(res.last.kind, HUTCH_EXEC_ERROR);
	ck_assert_int_eq(res.last.code, -ESRCH);
	hutch_exec_close(x);
	host_down(&v);
}
END_TEST

/* ---- Starting ---- */

START_TEST(exec_passes_its_limits_on)
{
	static const char *const argv[] = { "show", NULL };
	struct hutch_exec_opts o = HUTCH_EXEC_OPTS_INIT;
	struct hutch_exec *x;
	struct host_result res;
	struct host_env v;

	host_up(&v);
	o.argv = argv;
	o.id = "job-1";
	o.memory = 64ull << 20;
	o.ring = 4096;
	o.pids = 10;
	o.cpu_weight = 10000;
	o.flags = HUTCH_EXEC_KEEP_HEAD;
	ck_assert_int_eq(hutch_exec_open(v.h, "web", &o, &x, &v.e), 0);
	host_collect(&v, x, &res);
	ck_assert_str_eq(res.out, "0x100 0 2000 0x0 '' '' '' 'job-1' 4096 10 "
				  "67108864 10000");
	hutch_exec_close(x);
	host_down(&v);
}
END_TEST

START_TEST(exec_refuses_wrong_limits)
{
	static const char *const argv[] = { "show", NULL };
	static const struct hutch_exec_opts bad[] = {
		{ .memory = (1 << 20) - 1 },
		{ .ring = 4095 },
		{ .ring = (64 << 20) + 1 },
		{ .cpu_weight = 10001 },
		{ .id = "A" },
		{ .id = "main" },
		{ .id = "other", .flags = HUTCH_EXEC_MAIN },
	};
	struct hutch_exec *x;
	struct host_env v;

	host_up(&v);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct hutch_exec_opts o = bad[i];

		o.size = sizeof(o);
		o.argv = argv;
		ck_assert_int_eq(hutch_exec_open(v.h, "web", &o, &x, &v.e),
				 -EINVAL);
		ck_assert_str_ne(v.e.msg, "");
	}
	host_down(&v);
}
END_TEST

static struct hutch_exec *hang_for(struct host_env *v, uint64_t timeout_ms)
{
	static const char *const argv[] = { "hang", NULL };
	struct hutch_exec_opts o = HUTCH_EXEC_OPTS_INIT;
	struct hutch_exec *x;

	o.argv = argv;
	o.timeout_ms = timeout_ms;
	o.grace_ms = 500;
	ck_assert_int_eq(hutch_exec_open(v->h, "web", &o, &x, &v->e), 0);
	return x;
}

/* Its time is not awaited here: the deadline is moved to now. */
START_TEST(exec_with_a_time_out_and_a_stalled_guest_fails)
{
	struct hutch_exec_event ev;
	struct hutch_exec *x;
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, "mute"));
	ck_assert_int_eq(hutch_wait(v.h, "web", HUTCH_WAIT_READY, HOST_LONG_MS,
				    NULL, &v.e),
			 0);
	x = hang_for(&v, 1000);
	ck_assert_int_gt(hutch_exec_timeout_ms(x), 0);
	ck_assert_int_le(hutch_exec_timeout_ms(x), 1500 + EXEC_MARGIN_MS + 1);
	while (!x->greeted)
		ck_assert_int_eq(hutch_exec_wait(x, &ev, 10, &v.e), 0);
	ck_assert_int_le(hutch_exec_timeout_ms(x), 1500 + EXEC_MARGIN_MS + 1);
	x->deadline_ns = 1;

	ck_assert_int_eq(hutch_exec_wait(x, &ev, -1, &v.e), -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "stalled"));
	ck_assert_int_eq(hutch_exec_next(x, &ev, &v.e), -ETIMEDOUT);
	hutch_exec_close(x);
	x = hang_for(&v, 0);
	ck_assert_int_eq(hutch_exec_timeout_ms(x), -1);
	hutch_exec_close(x);
	host_down(&v);
}
END_TEST

/* As of one that was started by somebody else, and has gone since. */
START_TEST(attach_to_a_process_with_a_time_out_has_patience_too)
{
	struct hutch_attach_opts o = HUTCH_ATTACH_OPTS_INIT;
	struct hutch_exec_event ev;
	struct hutch_exec *x;
	struct host_env v;

	host_up(&v);
	host_detach_args(&v, "job", "hang");
	o.flags = HUTCH_ATTACH_FOLLOW;
	o.timeout_ms = 1000;
	o.grace_ms = 500;
	ck_assert_int_eq(hutch_attach(v.h, "web", "job", &o, &x, &v.e), 0);
	ck_assert_int_eq(hutch_exec_wait(x, &ev, HOST_LONG_MS, &v.e), 1);
	ck_assert_int_eq(ev.kind, HUTCH_EXEC_STARTED);
	ck_assert_int_gt(hutch_exec_timeout_ms(x), 0);
	ck_assert_int_le(hutch_exec_timeout_ms(x), 1500 + EXEC_MARGIN_MS + 1);
	x->deadline_ns = 1;
	ck_assert_int_eq(hutch_exec_wait(x, &ev, -1, &v.e), -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "stalled"));
	hutch_exec_close(x);
	o.timeout_ms = 0;
	ck_assert_int_eq(hutch_attach(v.h, "web", "job", &o, &x, &v.e), 0);
	ck_assert_int_eq(hutch_exec_timeout_ms(x), -1);
	hutch_exec_close(x);
	host_down(&v);
}
END_TEST

START_TEST(exec_with_a_time_out_lets_a_guest_boot)
{
	struct hutch_exec *x;
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, "nobell"));
	x = hang_for(&v, 1000);
	ck_assert_int_gt(hutch_exec_timeout_ms(x), EXEC_BOOT_MS);
	hutch_exec_close(x);
	host_down(&v);
}
END_TEST

START_TEST(exec_with_a_time_out_lets_a_guest_that_speaks_go_on)
{
	static const char *const argv[] = { "say", "a", "b", NULL };
	struct hutch_exec_opts o = HUTCH_EXEC_OPTS_INIT;
	struct hutch_exec *x;
	struct host_result res;
	struct host_env v;

	host_up(&v);
	o.argv = argv;
	o.timeout_ms = 1;
	ck_assert_int_eq(hutch_exec_open(v.h, "web", &o, &x, &v.e), 0);
	host_collect(&v, x, &res);
	ck_assert_int_eq(res.last.kind, HUTCH_EXEC_EXIT);
	ck_assert_str_eq(res.out, "ab");
	hutch_exec_close(x);
	host_down(&v);
}
END_TEST

/* ---- List, kill, drop ---- */

START_TEST(list_tells_all_there_is_to_tell)
{
	struct hutch_process **list, *p;
	struct host_env v;

	host_up(&v);
	ck_assert_int_eq(hutch_processes(v.h, "web", NULL, 0, &list, &v.e), 0);
	ck_assert_ptr_null(list[0]);
	hutch_processes_free(list);
	host_detach_args(&v, "job", "hang");
	host_detach_args(&v, "other", "hang");
	ck_assert_int_eq(hutch_processes(v.h, "web", NULL, 0, &list, &v.e), 2);
	ck_assert_ptr_null(list[0]->env);
	hutch_processes_free(list);
	ck_assert_int_eq(hutch_processes(v.h, "web", "job", HUTCH_PROCESSES_ENV,
					 &list, &v.e),
			 1);
	p = list[0];
	ck_assert_str_eq(p->id, "job");
	ck_assert_int_eq(p->pid, 42);
	ck_assert_int_eq(p->state, HUTCH_PROCESS_RUNNING);
	ck_assert_int_eq(p->how, 0);
	ck_assert_str_eq(p->argv[0], "hang");
	ck_assert_str_eq(p->argv[1], "\033");
	ck_assert_ptr_null(p->argv[2]);
	ck_assert_str_eq(p->env[0], "A=1");
	ck_assert_str_eq(p->user, "1000");
	ck_assert_str_eq(p->workdir, "/tmp");
	ck_assert_uint_eq(p->timeout_ms, 3);
	ck_assert_uint_eq(p->memory, 1 << 20);
	ck_assert_uint_eq(p->pids, 5);
	ck_assert_uint_eq(p->cpu_weight, 6);
	ck_assert_uint_eq(p->attached, 7);
	hutch_processes_free(list);
	host_down(&v);
}
END_TEST

START_TEST(list_of_a_hostile_agent_is_bounded)
{
	struct hutch_process **list;
	struct host_env v;

	host_up(&v);
	ck_assert_int_eq(hutch_processes(v.h, "web", "nobody", 0, &list, &v.e),
			 -ESRCH);
	ck_assert_int_eq(
		hutch_processes(v.h, "web", "evil-frame", 0, &list, &v.e),
		-EBADMSG);
	ck_assert_int_eq(
		hutch_processes(v.h, "web", "evil-endless", 0, &list, &v.e),
		-EBADMSG);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "more than"));
	ck_assert_int_eq(hutch_process_drop(v.h, "web", "evil-frame", &v.e),
			 -EBADMSG);
	ck_assert_int_eq(hutch_processes(v.h, "web", NULL, 2, &list, &v.e),
			 -EINVAL);
	ck_assert_int_eq(hutch_processes(v.h, "nosuch", NULL, 0, &list, &v.e),
			 -ENOENT);
	host_down(&v);
}
END_TEST

static int kill_job(struct host_env *v, int signo, unsigned int flags,
		    int grace_ms)
{
	return hutch_process_kill(v->h, "web", "job", signo, flags, grace_ms,
				  &v->e);
}

START_TEST(kill_says_whom_and_how)
{
	struct hutch_process **list;
	struct host_env v;

	host_up(&v);
	ck_assert_int_eq(kill_job(&v, SIGTERM, 0, 0), -ESRCH);
	host_detach_args(&v, "job", "hang");
	ck_assert_int_eq(kill_job(&v, 0, 0, 0), -EINVAL);
	ck_assert_int_eq(kill_job(&v, 65, 0, 0), -EINVAL);
	ck_assert_int_eq(kill_job(&v, 1, 2, 0), -EINVAL);
	ck_assert_int_eq(kill_job(&v, 1, HUTCH_KILL_ONE, 1), -EINVAL);
	ck_assert_int_eq(kill_job(&v, 1, 0, 86400001), -EINVAL);
	ck_assert_int_eq(hutch_process_drop(v.h, "web", "job", &v.e), -EBUSY);
	/* The fake adds 8 for ONE and 16 for a grace. */
	ck_assert_int_eq(kill_job(&v, 2, 0, 5000), 0);
	do
		ck_assert_int_eq(
			hutch_processes(v.h, "web", "job", 0, &list, &v.e), 1);
	while (list[0]->state != HUTCH_PROCESS_EXITED &&
	       (hutch_processes_free(list), 1));
	ck_assert_int_eq(list[0]->how, HUTCH_EXEC_SIGNALLED);
	ck_assert_int_eq(list[0]->value, 18);
	hutch_processes_free(list);
	ck_assert_int_eq(kill_job(&v, 2, 0, 0), -ESRCH);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "has ended"));
	ck_assert_int_eq(hutch_process_drop(v.h, "web", "job", &v.e), 0);
	ck_assert_int_eq(hutch_process_drop(v.h, "web", "job", &v.e), -ESRCH);
	host_down(&v);
}
END_TEST

START_TEST(requests_to_a_vm_that_dies_tell_why)
{
	struct hutch_process **list;
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, "exit=4"));
	hutch_record_free(host_wait_end(&v, "web"));
	ck_assert_int_eq(hutch_processes(v.h, "web", NULL, 0, &list, &v.e),
			 -ESRCH);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "guest-panic"));
	ck_assert_int_eq(kill_job(&v, 1, 0, 0), -ESRCH);
	host_env_done(&v);
}
END_TEST

CHECK_MAIN("process", attach_replays_and_tells_the_exit,
	   attach_from_a_cursor_gives_the_rest, attach_follows_and_sees_a_kill,
	   attach_tells_what_it_does_not_get,
	   attach_to_a_hostile_agent_is_an_error_never_an_exit,
	   attach_to_nothing_says_so, exec_passes_its_limits_on,
	   exec_refuses_wrong_limits,
	   exec_with_a_time_out_and_a_stalled_guest_fails,
	   attach_to_a_process_with_a_time_out_has_patience_too,
	   exec_with_a_time_out_lets_a_guest_boot,
	   exec_with_a_time_out_lets_a_guest_that_speaks_go_on,
	   list_tells_all_there_is_to_tell, list_of_a_hostile_agent_is_bounded,
	   kill_says_whom_and_how, requests_to_a_vm_that_dies_tell_why)
