/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_life.c - what the keeper makes of a main process: on-exit,
 * logs; and of a hostile agent
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "common/io.h"
#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

static void pause_ms(long ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	(void)nanosleep(&t, NULL);
}

static void start_main(struct host_env *v, const char *const *argv,
		       struct hutch_start_opts *o)
{
	host_env_init(v);
	o->name = "web";
	o->argv = argv;
	hutch_vm_close(host_start_with(v, "", o));
}

/* What the log of "web" holds: each piece with its stream and cursor. */
static void read_log(struct host_env *v, char *got, size_t cap)
{
	struct hutch_log_piece p;
	struct hutch_logs *l;
	size_t n = 0;

	got[0] = '\0';
	ck_assert_int_eq(
		hutch_logs_open(v->h, "web", HUTCH_LOG_MAIN, 0, &l, &v->e), 0);
	while (hutch_logs_next(l, &p, &v->e) > 0 && n < cap)
		n += (size_t)snprintf(got + n, cap - n, "%d@%llu:%.*s ",
				      p.stream, (unsigned long long)p.cursor,
				      (int)p.len, (const char *)p.data);
	hutch_logs_close(l);
}

/* ---- The main process ---- */

START_TEST(on_exit_keep_leaves_the_vm_running)
{
	static const char *const argv[] = { "exit", "7", NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_wait_opts w = HUTCH_WAIT_OPTS_INIT;
	struct hutch_wait_result res;
	struct hutch_record *rec;
	struct hutch_exec *x;
	struct host_result out;
	int64_t main_ended;
	struct host_env v;

	o.on_exit = HUTCH_ON_EXIT_KEEP;
	start_main(&v, argv, &o);
	ck_assert_int_eq(hutch_process_wait(v.h, "web", NULL, &w, &res, &v.e),
			 0);
	ck_assert_int_eq(res.value, 7);
	for (rec = host_inspect(&v); rec->exit_code < 0;
	     rec = host_inspect(&v)) {
		hutch_record_free(rec);
		pause_ms(5);
	}
	ck_assert_int_eq(rec->exit_code, 7);
	ck_assert_int_eq(rec->state, HUTCH_STATE_RUNNING);
	main_ended = rec->main_ended_ns;
	ck_assert(main_ended >= rec->created_ns);
	hutch_record_free(rec);
	x = host_run(&v, 0, "say", "still here");
	host_collect(&v, x, &out);
	ck_assert_str_eq(out.out, "still here");
	hutch_exec_close(x);
	ck_assert_int_eq(hutch_stop(v.h, "web", 0, &v.e), 0);
	host_expect_reason(&v, "stopped");
	rec = host_inspect(&v);
	ck_assert_int_eq(rec->exit_code, 7);
	ck_assert(rec->main_ended_ns == main_ended);
	ck_assert(rec->ended_ns > main_ended);
	hutch_record_free(rec);
	host_env_done(&v);
}
END_TEST

/* While the VM ends, of a guest that takes its time. */
START_TEST(main_that_the_vm_takes_along_has_not_ended_before)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_record *rec;
	struct hutch_exec *x;
	struct host_result res;
	struct host_env v;
	int status;
	pid_t pid;

	o.on_exit = HUTCH_ON_EXIT_KEEP;
	host_up_with(&v, "deaf", &o);
	ck_assert_int_eq(hutch_wait(v.h, "web", HUTCH_WAIT_READY, HOST_LONG_MS,
				    NULL, &v.e),
			 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(hutch_stop(v.h, "web", 1000, NULL) < 0);
	for (rec = host_inspect(&v); rec->state == HUTCH_STATE_RUNNING;
	     rec = host_inspect(&v)) {
		hutch_record_free(rec);
		pause_ms(5);
	}
	hutch_record_free(rec);
	x = host_run(&v, 0, "event", "1", "2", "0", "15", "main", "");
	host_collect(&v, x, &res);
	hutch_exec_close(x);
	host_expect_reason(&v, "stopped");
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	rec = host_inspect(&v);
	ck_assert_int_eq(rec->signal, 15);
	ck_assert(rec->main_ended_ns == 0);
	hutch_record_free(rec);
	host_env_done(&v);
}
END_TEST

START_TEST(main_is_there_for_those_who_ask_for_it)
{
	static const char *const argv[] = { "trickle", "one\n", "!two", NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_process **list;
	struct hutch_exec_event ev;
	struct hutch_exec *x;
	struct host_env v;

	start_main(&v, argv, &o);
	ck_assert_int_eq(hutch_wait(v.h, "web", HUTCH_WAIT_READY, HOST_LONG_MS,
				    NULL, &v.e),
			 0);
	ck_assert_int_eq(hutch_attach(v.h, "web", NULL, NULL, &x, &v.e), 0);
	do
		ck_assert_int_eq(hutch_exec_wait(x, &ev, HOST_LONG_MS, &v.e),
				 1);
	while (ev.kind == HUTCH_EXEC_STARTED);
	ck_assert_int_eq(ev.kind, HUTCH_EXEC_STDOUT);
	hutch_exec_close(x);
	ck_assert_int_eq(hutch_processes(v.h, "web", "main", 0, &list, &v.e),
			 1);
	ck_assert_int_eq(list[0]->main, 1);
	hutch_processes_free(list);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

START_TEST(log_has_cursors_and_all_of_a_short_life)
{
	static const char *const argv[] = { "say", "one", "!two", "three",
					    NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct host_env v;
	char got[256];

	start_main(&v, argv, &o);
	host_expect_reason(&v, "exited(0)");
	read_log(&v, got, sizeof(got));
	ck_assert_str_eq(got, "1@0:one 2@0:two 1@3:three ");
	host_env_done(&v);
}
END_TEST

static void run_attached(struct host_env *v, unsigned int flags)
{
	static const char *const argv[] = { "say", "one", "!two", NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_exec *x;
	struct host_result res;

	o.flags = HUTCH_START_ATTACH | flags;
	start_main(v, argv, &o);
	x = host_run_flags(v, HUTCH_EXEC_MAIN, argv);
	host_collect(v, x, &res);
	ck_assert_str_eq(res.out, "one");
	hutch_exec_close(x);
}

START_TEST(log_is_kept_of_a_client_s_own_main_too)
{
	struct host_env v;
	char got[256];

	run_attached(&v, 0);
	host_expect_reason(&v, "exited(0)");
	read_log(&v, got, sizeof(got));
	ck_assert_str_eq(got, "1@0:one 2@0:two ");
	host_env_done(&v);
	run_attached(&v, HUTCH_START_RM);
	hutch_record_free(host_wait_end(&v, "web"));
	host_env_done(&v);
}
END_TEST

START_TEST(log_is_followed_to_the_end)
{
	static const char *const argv[] = { "trickle", "a", "!b", "c", NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_log_piece p;
	struct hutch_logs *l;
	struct pollfd pfd = { .events = POLLIN };
	struct host_env v;
	char got[4] = "";

	start_main(&v, argv, &o);
	ck_assert_int_eq(hutch_logs_open(v.h, "web", HUTCH_LOG_MAIN,
					 HUTCH_LOGS_FOLLOW, &l, &v.e),
			 0);
	pfd.fd = hutch_logs_fd(l);
	ck_assert_int_ge(pfd.fd, 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(hutch_logs_wait(l, &p, HOST_LONG_MS, &v.e), 1);
		got[i] = *(const char *)p.data;
	}
	ck_assert_str_eq(got, "abc");
	ck_assert_int_eq(hutch_logs_wait(l, &p, 20, &v.e), 0);
	ck_assert_int_eq(hutch_kill(v.h, "web", &v.e), 0);
	ck_assert_int_eq(poll(&pfd, 1, HOST_LONG_MS), 1);
	ck_assert_int_eq(hutch_logs_wait(l, &p, HOST_LONG_MS, &v.e), -ENODATA);
	hutch_logs_close(l);
	host_env_done(&v);
}
END_TEST

/* More than both files hold, while somebody reads: no piece is torn. */
START_TEST(log_is_followed_through_its_turns)
{
	static const char *const argv[] = { "flood", "3000000", NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_log_piece p;
	struct hutch_logs *l;
	struct host_env v;
	uint64_t next = 0;
	int r;

	start_main(&v, argv, &o);
	ck_assert_int_eq(hutch_logs_open(v.h, "web", HUTCH_LOG_MAIN,
					 HUTCH_LOGS_FOLLOW, &l, &v.e),
			 0);
	while ((r = hutch_logs_wait(l, &p, HOST_LONG_MS, &v.e)) > 0) {
		ck_assert_uint_ge(p.cursor, next);
		next = p.cursor + p.len;
	}
	ck_assert_int_eq(r, -ENODATA);
	ck_assert_uint_eq(next, 3000000);
	hutch_logs_close(l);
	host_env_done(&v);
}
END_TEST

/* ---- The end, and a hostile agent's ---- */

/* The event and the machine's death are there before the keeper looks. */
START_TEST(main_ended_together_with_the_machine_is_its_end)
{
	struct hutch_record *rec;
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	ck_assert_int_eq(hutch_wait(v.h, "web", HUTCH_WAIT_READY, HOST_LONG_MS,
				    NULL, &v.e),
			 0);
	rec = host_inspect(&v);
	ck_assert_int_eq(kill(rec->keeper_pid, SIGSTOP), 0);
	hutch_exec_close(host_run(&v, 0, "exitdie", "5"));
	pause_ms(300);
	ck_assert_int_eq(kill(rec->keeper_pid, SIGCONT), 0);
	hutch_record_free(rec);
	host_expect_reason(&v, "exited(5)");
	host_env_done(&v);
}
END_TEST

START_TEST(main_ended_again_and_again_counts_once)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_record *rec;
	struct hutch_exec *x;
	struct host_result res;
	struct host_env v;

	o.on_exit = HUTCH_ON_EXIT_KEEP;
	host_up_with(&v, "", &o);
	for (int i = 0; i < 3; i++) {
		x = host_run(&v, 0, "event", "1", "1", "0", i ? "7" : "9",
			     "main", "", "1000");
		host_collect(&v, x, &res);
		hutch_exec_close(x);
	}
	for (rec = host_inspect(&v); rec->exit_code < 0;
	     rec = host_inspect(&v)) {
		hutch_record_free(rec);
		pause_ms(5);
	}
	ck_assert_int_eq(rec->exit_code, 9);
	hutch_record_free(rec);
	ck_assert_int_eq(hutch_stop(v.h, "web", 0, &v.e), 0);
	host_env_done(&v);
}
END_TEST

START_TEST(main_ended_again_of_a_vm_that_ends_does_not_hold_it_up)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct host_env v;

	o.grace_ms = 1;
	host_up_with(&v, "deaf", &o);
	hutch_exec_close(host_run(&v, 0, "event", "1", "1", "0", "9", "main",
				  "", "2000"));
	host_expect_reason(&v, "exited(9)");
	host_env_done(&v);
}
END_TEST

START_TEST(main_whose_start_is_never_answered_ends_the_vm)
{
	static const char *const argv[] = { "exit", "7", NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct host_env v;

	o.argv = argv;
	host_up_with(&v, "hangup", &o);
	host_expect_reason(&v, "host-error(the agent did not start the main "
			       "process)");
	host_env_done(&v);
}
END_TEST

/* ---- The keeper itself ---- */

static unsigned long private_kib(pid_t pid)
{
	char path[64], *text;
	unsigned long sum = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	ck_assert_int_eq(io_read_file(AT_FDCWD, path, 65536, &text, NULL, NULL),
			 0);
	for (const char *p = text; (p = strstr(p, "\nPrivate_")); p++)
		sum += strtoul(strchr(p, ':') + 1, NULL, 10);
	free(text);
	return sum;
}

/* A sanitizer's run time has memory of its own: its builds do not count. */
START_TEST(keeper_stays_small_whatever_the_guest_says)
{
	static const char *const argv[] = { "flood", "3000000", NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_record *rec;
	struct hutch_exec *x;
	struct host_result res;
	struct host_env v;

	o.on_exit = HUTCH_ON_EXIT_KEEP;
	start_main(&v, argv, &o);
	x = host_run(&v, 0, "event", "5", "0", "0", "0", "p9", "t", "4000");
	host_collect(&v, x, &res);
	hutch_exec_close(x);
	for (rec = host_inspect(&v); rec->exit_code < 0;
	     rec = host_inspect(&v)) {
		hutch_record_free(rec);
		pause_ms(20);
	}
#if !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
	ck_assert_uint_lt(private_kib(rec->keeper_pid), 1280);
#else
	ck_assert_uint_gt(private_kib(rec->keeper_pid), 0);
#endif
	hutch_record_free(rec);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

/* The limit is the keeper's, which inherits it; its files may not grow. */
START_TEST(keeper_survives_a_limit_on_files)
{
	static const char *const argv[] = { "flood", "200000", NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct rlimit old, rl;
	struct host_env v;
	int r;

	host_env_init(&v);
	o.name = "web";
	o.argv = argv;
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
	rl = (struct rlimit){ 16384, old.rlim_max };
	/* Check writes a file of its own at each ck_assert. */
	bug_on(setrlimit(RLIMIT_FSIZE, &rl) < 0);
	o.kernel = NULL;
	r = host_start_quietly(&v, &o);
	bug_on(setrlimit(RLIMIT_FSIZE, &old) < 0);
	ck_assert_msg(r == 0, "%s", v.e.msg);
	host_expect_reason(&v, "exited(0)");
	host_env_done(&v);
}
END_TEST

CHECK_MAIN("life", on_exit_keep_leaves_the_vm_running,
	   main_that_the_vm_takes_along_has_not_ended_before,
	   main_is_there_for_those_who_ask_for_it,
	   log_has_cursors_and_all_of_a_short_life,
	   log_is_kept_of_a_client_s_own_main_too, log_is_followed_to_the_end,
	   log_is_followed_through_its_turns,
	   main_ended_together_with_the_machine_is_its_end,
	   main_ended_again_and_again_counts_once,
	   main_ended_again_of_a_vm_that_ends_does_not_hold_it_up,
	   main_whose_start_is_never_answered_ends_the_vm,
	   keeper_stays_small_whatever_the_guest_says,
	   keeper_survives_a_limit_on_files)
