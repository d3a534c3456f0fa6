/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_exec.c - commands: hutch_exec_* over a fake agent */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

/* ---- Commands ---- */

START_TEST(exec_gives_output_and_exit)
{
	struct hutch_exec *x;
	struct host_env v;
	struct host_result res;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	x = host_run(&v, 0, "say", "hello ", "!oops", "world");
	host_collect(&v, x, &res);
	ck_assert_int_eq(res.r, -ENODATA);
	ck_assert_int_eq(res.pid, 42);
	ck_assert_str_eq(res.out, "hello world");
	ck_assert_str_eq(res.err, "oops");
	ck_assert_int_eq(res.last.kind, HUTCH_EXEC_EXIT);
	ck_assert_int_eq(res.last.how, HUTCH_EXEC_EXITED);
	ck_assert_int_eq(res.last.value, 0);
	hutch_exec_close(x);
	x = host_run(&v, 0, "signal", "9");
	host_collect(&v, x, &res);
	ck_assert_int_eq(res.last.how, HUTCH_EXEC_SIGNALLED);
	ck_assert_int_eq(res.last.value, 9);
	hutch_exec_close(x);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

START_TEST(exec_says_what_it_was_asked)
{
	static const char *const argv[] = { "show", NULL };
	static const char *const env[] = { "K=V", NULL };
	struct hutch_exec_opts o = HUTCH_EXEC_OPTS_INIT;
	struct hutch_exec *x;
	struct host_env v;
	struct host_result res;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	o.argv = argv;
	o.env = env;
	o.user = "1:2";
	o.workdir = "/w";
	o.timeout_ms = 1234;
	o.cols = 132;
	o.rows = 43;
	o.flags = HUTCH_EXEC_TTY | HUTCH_EXEC_STDIN;
	ck_assert_int_eq(hutch_exec_open(v.h, "web", &o, &x, &v.e), 0);
	host_collect(&v, x, &res);
	ck_assert_str_eq(res.out, "0x3 1234 2000 132x43 '1:2' '/w' 'K=V' '' 0 "
				  "0 0 0");
	hutch_exec_close(x);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

START_TEST(exec_tells_refusals_apart)
{
	struct hutch_exec *x;
	struct host_env v;
	struct host_result res;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	x = host_run(&v, 0, "nosuch");
	host_collect(&v, x, &res);
	ck_assert_int_eq(res.last.kind, HUTCH_EXEC_ERROR);
	ck_assert_int_eq(res.last.error, HUTCH_EXEC_ERROR_NOT_FOUND);
	ck_assert_int_eq(res.last.code, -ENOENT);
	ck_assert_str_eq(res.msg, "\\x1bnot found");
	hutch_exec_close(x);
	x = host_run(&v, 0, "denied");
	host_collect(&v, x, &res);
	ck_assert_int_eq(res.last.error, HUTCH_EXEC_ERROR_NOT_EXECUTABLE);
	hutch_exec_close(x);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

START_TEST(exec_of_a_broken_stream_is_an_error_never_an_exit)
{
	static const struct {
		const char *argv[3];
		int want;
		const char *says;
	} bad[] = {
		{ { "badtotal", "0" }, -EBADMSG, "output is incomplete" },
		{ { "badtotal", "1" }, -EBADMSG, "output is incomplete" },
		{ { "badcursor" }, -EBADMSG, "output goes on at byte 5" },
		{ { "badack" }, -EBADMSG, "acknowledged" },
		{ { "sameack" }, -EBADMSG, "nothing that is new" },
		{ { "emptyack" }, -EBADMSG, "nothing that is new" },
		{ { "badtrunc" }, -EBADMSG, "output of a command is cut" },
		{ { "badtype" }, -EBADMSG, "DONE is no answer to a command" },
		{ { "garbage" }, -EBADMSG, "not the protocol" },
		{ { "die", "exit", "4" }, -ESRCH, "guest-panic" },
		{ { "die", "signal", "31" }, -ESRCH, "vmm-crash(31)" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const char *argv[] = { bad[i].argv[0], bad[i].argv[1],
				       bad[i].argv[2], NULL };
		struct hutch_exec *x;
		struct host_env v;
		struct host_result res;

		host_env_init(&v);
		hutch_vm_close(host_start(&v, ""));
		x = host_run_flags(&v, HUTCH_EXEC_STDIN, argv);
		host_collect(&v, x, &res);
		ck_assert_msg(res.r == bad[i].want, "%s: %d %s", argv[0], res.r,
			      v.e.msg);
		ck_assert_msg(strstr(v.e.msg, bad[i].says) != NULL, "%s: '%s'",
			      argv[0], v.e.msg);
		ck_assert_int_ne(res.last.kind, HUTCH_EXEC_EXIT);
		/* It is final. */
		ck_assert_int_eq(hutch_exec_next(x, &res.last, &v.e),
				 bad[i].want);
		ck_assert_int_eq(hutch_exec_signal(x, SIGTERM, 0), -EPIPE);
		hutch_exec_close(x);
		host_kill_and_rm(&v);
		host_env_done(&v);
	}
}
END_TEST

START_TEST(exec_whose_agent_hangs_up_is_a_reset)
{
	struct hutch_exec *x;
	struct host_env v;
	struct host_result res;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	x = host_run(&v, 0, "close");
	host_collect(&v, x, &res);
	ck_assert_int_eq(res.r, -ECONNRESET);
	ck_assert_str_eq(res.out, "half");
	ck_assert_ptr_null(hutch_exec_record(x));
	hutch_exec_close(x);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

START_TEST(exec_in_a_vm_that_is_not_there_says_so)
{
	static const char *const argv[] = { "exit", "0", NULL };
	struct hutch_exec_opts o = HUTCH_EXEC_OPTS_INIT;
	struct hutch_exec *x;
	struct host_env v;

	host_env_init(&v);
	o.argv = argv;
	ck_assert_int_eq(hutch_exec_open(v.h, "web", &o, &x, &v.e), -ENOENT);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "no VM named 'web'"));
	hutch_vm_close(host_start(&v, "exit=4"));
	hutch_record_free(host_wait_end(&v, "web"));
	ck_assert_int_eq(hutch_exec_open(v.h, "web", &o, &x, &v.e), -ESRCH);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "guest-panic"));
	host_env_done(&v);
}
END_TEST

/* With rm there is no record left to read: the keeper has told. */
START_TEST(exec_in_an_rm_vm_that_dies_tells_why)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_exec *x;
	struct host_env v;
	struct host_result res;

	o.flags = HUTCH_START_RM;
	host_up_with(&v, "", &o);
	x = host_run(&v, 0, "die", "exit", "5");
	host_collect(&v, x, &res);
	ck_assert_int_eq(res.r, -ESRCH);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "guest-crash"));
	ck_assert_ptr_nonnull(hutch_exec_record(x));
	ck_assert_int_eq(hutch_exec_record(x)->reason,
			 HUTCH_REASON_GUEST_CRASH);
	hutch_exec_close(x);
	host_env_done(&v);
}
END_TEST

START_TEST(exec_before_ready_waits_and_learns_of_the_end)
{
	struct hutch_exec_event ev;
	struct hutch_exec *x;
	struct host_env v;
	struct host_result res;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, "nobell"));
	x = host_run(&v, 0, "exit", "0");
	ck_assert_int_eq(hutch_exec_wait(x, &ev, 20, &v.e), 0);
	ck_assert_int_eq(hutch_kill(v.h, "web", &v.e), 0);
	host_collect(&v, x, &res);
	ck_assert_int_eq(res.r, -ESRCH);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "stopped, kill"));
	hutch_exec_close(x);
	host_env_done(&v);
}
END_TEST

START_TEST(exec_refuses_what_is_wrong)
{
	static const char *const none[] = { NULL };
	static const char *const ok[] = { "exit", NULL };
	static const char *const bad_env[] = { "=x", NULL };
	static const struct hutch_exec_opts bad[] = {
		{ .argv = NULL },
		{ .argv = none },
		{ .argv = ok, .env = bad_env },
		{ .argv = ok, .flags = 1u << 30 },
		{ .argv = ok, .workdir = "w" },
		{ .argv = ok, .grace_ms = 86400001 },
	};
	struct hutch_exec *x;
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct hutch_exec_opts o = bad[i];

		o.size = sizeof(o);
		ck_assert_int_eq(hutch_exec_open(v.h, "web", &o, &x, &v.e),
				 -EINVAL);
	}
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

START_TEST(exec_with_too_many_bytes_of_arguments_is_e2big)
{
	static const char *argv[] = { "show", NULL, NULL };
	struct hutch_exec_opts o = HUTCH_EXEC_OPTS_INIT;
	struct hutch_exec *x;
	struct host_env v;
	char *big = malloc((2 << 20) + 1);

	ck_assert_ptr_nonnull(big);
	memset(big, 'a', 2 << 20);
	big[2 << 20] = '\0';
	argv[1] = big;
	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	o.argv = argv;
	ck_assert_int_eq(hutch_exec_open(v.h, "web", &o, &x, &v.e), -E2BIG);
	/* A little less goes, though no socket takes it in one piece. */
	big[(2 << 20) - 100] = '\0';
	x = host_run_flags(&v, 0, argv);
	hutch_exec_close(x);
	free(big);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

/* Every byte through cat, in the rhythm that poll() gives. */
static size_t pump(struct host_env *v, struct hutch_exec *x, size_t total)
{
	struct hutch_exec_event ev = { 0 };
	size_t sent = 0, got = 0, wrong = 0;
	uint8_t buf[30000];
	int r = 0;

	while (ev.kind != HUTCH_EXEC_EXIT) {
		struct pollfd p = { .fd = hutch_exec_fd(x),
				    .events = hutch_exec_poll_events(x) };

		while (sent < total) {
			size_t n = MIN(sizeof(buf), total - sent);
			ssize_t w;

			for (size_t i = 0; i < n; i++)
				buf[i] = (uint8_t)((sent + i) * 31 >> 3);
			w = hutch_exec_write(x, buf, n);
			if (w == -EAGAIN)
				break;
			ck_assert_int_gt(w, 0);
			sent += (size_t)w;
			if (sent == total)
				ck_assert_int_eq(hutch_exec_close_stdin(x), 0);
		}
		p.events = hutch_exec_poll_events(x);
		ck_assert_int_eq(poll(&p, 1, HOST_LONG_MS), 1);
		while ((r = hutch_exec_next(x, &ev, &v->e)) > 0 &&
		       ev.kind != HUTCH_EXEC_EXIT) {
			const uint8_t *d = ev.data;

			if (ev.kind != HUTCH_EXEC_STDOUT)
				continue;
			/* An assertion a byte would take all day. */
			for (size_t i = 0; i < ev.len; i++)
				wrong += d[i] != (uint8_t)((got + i) * 31 >> 3);
			got += ev.len;
		}
		ck_assert_msg(r >= 0, "%s", v->e.msg);
	}
	ck_assert_uint_eq(wrong, 0);
	return got;
}

START_TEST(exec_stdin_comes_back_byte_for_byte)
{
	const size_t total = 3 * 1000 * 1000 + 17;
	struct hutch_exec *x;
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	x = host_run(&v, HUTCH_EXEC_STDIN, "cat");
	ck_assert_uint_eq(pump(&v, x, total), total);
	ck_assert_int_eq(hutch_exec_write(x, "x", 1), -EPIPE);
	hutch_exec_close(x);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

/* A program that does not read: the window is the bound, not our memory. */
START_TEST(exec_stdin_has_back_pressure)
{
	static const char junk[65536] = { 0 };
	struct hutch_exec *x;
	struct host_env v;
	size_t sent = 0;
	ssize_t n;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	x = host_run(&v, HUTCH_EXEC_STDIN, "hang");
	for (int i = 0; i < 100; i++) {
		struct hutch_exec_event ev;

		while ((n = hutch_exec_write(x, junk, sizeof(junk))) > 0)
			sent += (size_t)n;
		ck_assert_int_eq(n, -EAGAIN);
		ck_assert_int_ge(hutch_exec_next(x, &ev, &v.e), 0);
		(void)usleep(1000);
	}
	ck_assert_uint_le(sent, 256 << 10);
	ck_assert_uint_ge(sent, 64 << 10);
	/* Yet a signal gets through. */
	ck_assert_int_eq(hutch_exec_signal(x, SIGTERM, 1), 0);
	hutch_exec_close(x);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

START_TEST(exec_control_reaches_the_agent)
{
	struct hutch_exec *x;
	struct host_env v;
	struct host_result res;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	x = host_run(&v, HUTCH_EXEC_STDIN, "cat");
	ck_assert_int_eq(hutch_exec_signal(x, SIGINT, 0), 0);
	ck_assert_int_eq(hutch_exec_resize(x, 100, 50), 0);
	ck_assert_int_eq(hutch_exec_close_output(x, HUTCH_EXEC_STDOUT), 0);
	ck_assert_int_eq(hutch_exec_close_stdin(x), 0);
	host_collect(&v, x, &res);
	ck_assert_str_eq(res.err, "SIGNALRESIZECLOSE_STDOUT");
	ck_assert_int_eq(hutch_exec_signal(x, 0, 0), -EINVAL);
	ck_assert_int_eq(hutch_exec_signal(x, 65, 0), -EINVAL);
	hutch_exec_close(x);
	x = host_run(&v, 0, "hang");
	ck_assert_int_eq(hutch_exec_write(x, "x", 1), -EPIPE);
	ck_assert_int_eq(hutch_exec_close_output(x, HUTCH_EXEC_EXIT), -EINVAL);
	hutch_exec_close(x);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

START_TEST(many_execs_in_a_row_leak_nothing)
{
	struct host_env v;
	int before = 0;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	for (int i = 0; i < 200; i++) {
		struct hutch_exec *x = host_run(&v, 0, "say", "x");
		struct host_result res;

		host_collect(&v, x, &res);
		ck_assert_int_eq(res.last.kind, HUTCH_EXEC_EXIT);
		hutch_exec_close(x);
		if (i == 0)
			before = host_env_fds();
	}
	ck_assert_int_eq(host_env_fds(), before);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

static void *run_some(void *arg)
{
	struct host_env *v = arg;
	const char *const argv[] = { "say", "x", NULL };
	struct hutch_exec_opts o = HUTCH_EXEC_OPTS_INIT;
	size_t *bad = calloc(1, sizeof(*bad));

	o.argv = argv;
	for (int i = 0; bad && i < 20; i++) {
		struct hutch_exec_event ev = { 0 };
		struct hutch_exec *x = NULL;
		struct hutch_err e;

		if (hutch_exec_open(v->h, "web", &o, &x, &e) < 0) {
			(*bad)++;
			continue;
		}
		while (hutch_exec_wait(x, &ev, HOST_LONG_MS, &e) > 0)
			continue;
		*bad += ev.kind != HUTCH_EXEC_EXIT || ev.value != 0;
		hutch_exec_close(x);
	}
	return bad;
}

/* A handle is for all threads, an object for one. */
START_TEST(threads_share_a_handle)
{
	pthread_t t[8];
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, run_some, &v), 0);
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		void *bad = NULL;

		ck_assert_int_eq(pthread_join(t[i], &bad), 0);
		ck_assert_ptr_nonnull(bad);
		ck_assert_uint_eq(*(size_t *)bad, 0);
		free(bad);
	}
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

START_TEST(flood_arrives_whole)
{
	struct hutch_exec *x;
	struct host_env v;
	struct host_result res;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	x = host_run(&v, 0, "flood", "10000001");
	host_collect(&v, x, &res);
	ck_assert_int_eq(res.last.kind, HUTCH_EXEC_EXIT);
	ck_assert_uint_eq(res.out_len, 10000001);
	hutch_exec_close(x);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

CHECK_MAIN("exec", exec_gives_output_and_exit, exec_says_what_it_was_asked,
	   exec_tells_refusals_apart,
	   exec_of_a_broken_stream_is_an_error_never_an_exit,
	   exec_whose_agent_hangs_up_is_a_reset,
	   exec_in_a_vm_that_is_not_there_says_so,
	   exec_in_an_rm_vm_that_dies_tells_why,
	   exec_before_ready_waits_and_learns_of_the_end,
	   exec_refuses_what_is_wrong,
	   exec_with_too_many_bytes_of_arguments_is_e2big,
	   exec_stdin_comes_back_byte_for_byte, exec_stdin_has_back_pressure,
	   exec_control_reaches_the_agent, many_execs_in_a_row_leak_nothing,
	   threads_share_a_handle, flood_arrives_whole)
