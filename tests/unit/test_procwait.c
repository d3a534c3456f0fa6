/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_procwait.c - wait for a process's end, a line, a port */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

static int wait_for(struct host_env *v, const char *proc,
		    const struct hutch_wait_opts *o,
		    struct hutch_wait_result *res)
{
	struct hutch_wait_opts w = *o;

	w.size = sizeof(w);
	return hutch_process_wait(v->h, "web", proc, &w, res, &v->e);
}

static int wait_line(struct host_env *v, const char *proc, const char *line,
		     uint64_t from, int timeout_ms,
		     struct hutch_wait_result *res)
{
	const struct hutch_wait_opts o = { .what = HUTCH_WAIT_FOR_LINE,
					   .line = line,
					   .from = from,
					   .timeout_ms = timeout_ms };

	memset(res, 0, sizeof(*res));
	return wait_for(v, proc, &o, res);
}

START_TEST(wait_for_a_line_matches_lines)
{
	static const struct {
		const char *re;
		uint64_t from;
		const char *line;
		int stream;
		uint64_t cursor;
	} want[] = {
		{ "^two$", 0, "two", 1, 8 }, /* put together from pieces */
		{ "o", 0, "one", 1, 4 },
		{ "tw", 4, "two", 1, 8 },
		{ "err", 0, "an error", 2, 9 },
		{ "[(]x[)]$", 0, "(x)", 1, 13 }, /* without its \r */
	};
	struct hutch_wait_result res;
	struct host_env v;

	host_up(&v);
	host_detach_args(&v, "job", "trickle", "one\nt", "!an error\n", "wo\n(",
			 "x)\r\n");
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		int r = wait_line(&v, "job", want[i].re, want[i].from,
				  HOST_LONG_MS, &res);

		ck_assert_msg(r == 0, "%s: %s", want[i].re, v.e.msg);
		ck_assert_int_eq(res.outcome, HUTCH_WAITED_MATCHED);
		ck_assert_str_eq(res.line, want[i].line);
		ck_assert_int_eq(res.stream, want[i].stream);
		ck_assert_uint_eq(res.cursor, want[i].cursor);
	}
	ck_assert_int_eq(wait_line(&v, "job", "nothing", 0, 50, &res), 0);
	ck_assert_int_eq(res.outcome, HUTCH_WAITED_TIMED_OUT);
	ck_assert_int_eq(wait_line(&v, "job", "(", 0, 50, &res), -EINVAL);
	ck_assert_int_eq(wait_line(&v, "job", NULL, 0, 50, &res), -EINVAL);
	host_down(&v);
}
END_TEST

START_TEST(wait_for_a_line_ends_with_the_process)
{
	struct hutch_wait_result res;
	struct host_env v;

	host_up(&v);
	host_detach_args(&v, "job", "say", "a\n", "rest");
	ck_assert_int_eq(wait_line(&v, "job", "^rest$", 0, -1, &res), 0);
	ck_assert_int_eq(res.outcome, HUTCH_WAITED_MATCHED);
	ck_assert_uint_eq(res.cursor, 6);
	ck_assert_int_eq(wait_line(&v, "job", "never", 0, -1, &res), 0);
	ck_assert_int_eq(res.outcome, HUTCH_WAITED_EXITED);
	ck_assert_int_eq(res.how, HUTCH_EXEC_EXITED);
	/* What was cut is not put together with what follows. */
	ck_assert_int_eq(wait_line(&v, "slow", "^tail$", 0, -1, &res), 0);
	ck_assert_int_eq(res.outcome, HUTCH_WAITED_EXITED);
	ck_assert_int_eq(wait_line(&v, "slow", "^end$", 0, -1, &res), 0);
	ck_assert_int_eq(res.outcome, HUTCH_WAITED_MATCHED);
	ck_assert_uint_eq(res.cursor, 2009);
	host_down(&v);
}
END_TEST

/* 200000 bytes without a newline: pieces of 64 KiB, and nothing is held. */
START_TEST(wait_for_a_line_takes_an_endless_one)
{
	struct hutch_wait_result res;
	struct host_env v;

	host_up(&v);
	host_detach_args(&v, "job", "flood", "200000");
	ck_assert_int_eq(wait_line(&v, "job", "^nothing like it$", 0, -1, &res),
			 0);
	ck_assert_int_eq(res.outcome, HUTCH_WAITED_EXITED);
	host_down(&v);
}
END_TEST

START_TEST(wait_for_exit_tells_it)
{
	const struct hutch_wait_opts o = { .what = HUTCH_WAIT_FOR_EXIT,
					   .timeout_ms = -1 };
	const struct hutch_wait_opts soon = { .what = HUTCH_WAIT_FOR_EXIT,
					      .timeout_ms = 30 };
	struct hutch_wait_result res;
	struct host_env v;

	host_up(&v);
	host_detach_args(&v, "job", "exit", "7");
	ck_assert_int_eq(wait_for(&v, "job", &o, &res), 0);
	ck_assert_int_eq(res.outcome, HUTCH_WAITED_EXITED);
	ck_assert_int_eq(res.value, 7);
	host_detach_args(&v, "long", "trickle", "a", "b");
	ck_assert_int_eq(wait_for(&v, "long", &soon, &res), 0);
	ck_assert_int_eq(res.outcome, HUTCH_WAITED_TIMED_OUT);
	ck_assert_int_eq(wait_for(&v, "nobody", &o, &res), -ESRCH);
	ck_assert_int_eq(wait_for(&v, NULL, &o, &res), -ENOENT);
	host_down(&v);
}
END_TEST

START_TEST(wait_of_no_time_looks_once)
{
	struct hutch_wait_opts o = { .what = HUTCH_WAIT_FOR_EXIT };
	struct hutch_wait_result res;
	struct host_env v;

	host_up(&v);
	host_detach_args(&v, "long", "trickle", "one\n", "two");
	ck_assert_int_eq(wait_line(&v, "long", "one", 0, HOST_LONG_MS, &res),
			 0);
	ck_assert_int_eq(wait_line(&v, "long", "one", 0, 0, &res), 0);
	ck_assert_int_eq(res.outcome, HUTCH_WAITED_MATCHED);
	ck_assert_uint_eq(res.cursor, 4);
	ck_assert_int_eq(wait_line(&v, "long", "one", 4, 0, &res), 0);
	ck_assert_int_eq(res.outcome, HUTCH_WAITED_TIMED_OUT);
	ck_assert_int_eq(wait_for(&v, "long", &o, &res), 0);
	ck_assert_int_eq(res.outcome, HUTCH_WAITED_TIMED_OUT);
	host_detach_args(&v, "job", "exit", "7");
	ck_assert_int_eq(wait_line(&v, "job", "x", 0, HOST_LONG_MS, &res), 0);
	ck_assert_int_eq(wait_for(&v, "job", &o, &res), 0);
	ck_assert_int_eq(res.outcome, HUTCH_WAITED_EXITED);
	ck_assert_int_eq(res.value, 7);
	ck_assert_int_eq(wait_for(&v, "nobody", &o, &res), -ESRCH);
	o.what = HUTCH_WAIT_FOR_PORT;
	o.port = 1;
	ck_assert_int_eq(wait_for(&v, NULL, &o, &res), 0);
	ck_assert_int_eq(res.outcome, HUTCH_WAITED_MATCHED);
	o.port = 2;
	ck_assert_int_eq(wait_for(&v, NULL, &o, &res), 0);
	ck_assert_int_eq(res.outcome, HUTCH_WAITED_TIMED_OUT);
	host_down(&v);
}
END_TEST

START_TEST(wait_for_a_port_tells_the_three_apart)
{
	struct hutch_wait_opts o = { .what = HUTCH_WAIT_FOR_PORT,
				     .port = 1,
				     .timeout_ms = -1 };
	struct hutch_wait_result res;
	struct host_env v;

	host_up(&v);
	ck_assert_int_eq(wait_for(&v, NULL, &o, &res), 0);
	ck_assert_int_eq(res.outcome, HUTCH_WAITED_MATCHED);
	ck_assert_int_eq(wait_for(&v, "nobody", &o, &res), -ESRCH);
	host_detach_args(&v, "job", "exit", "5");
	o.port = 2;
	ck_assert_int_eq(wait_for(&v, "job", &o, &res), 0);
	ck_assert_int_eq(res.outcome, HUTCH_WAITED_EXITED);
	ck_assert_int_eq(res.value, 5);
	o.timeout_ms = 30;
	ck_assert_int_eq(wait_for(&v, NULL, &o, &res), 0);
	ck_assert_int_eq(res.outcome, HUTCH_WAITED_TIMED_OUT);
	o.port = 3;
	o.timeout_ms = -1;
	ck_assert_int_eq(wait_for(&v, NULL, &o, &res), -EBADMSG);
	o.port = 65536;
	ck_assert_int_eq(wait_for(&v, NULL, &o, &res), -EINVAL);
	host_down(&v);
}
END_TEST

/* In a process of its own, so that two margins are one. */
static pid_t wait_beside(struct host_env *v, const char *proc,
			 const struct hutch_wait_opts *o)
{
	struct hutch_wait_result res;
	pid_t pid = fork();

	if (pid == 0)
		_exit(wait_for(v, proc, o, &res) != -ETIMEDOUT ||
		      !strstr(v->e.msg, "stalled"));
	return pid;
}

/* The fake guest tells of a time-out of 3 ms, and does not keep it. */
START_TEST(wait_for_one_whose_guest_keeps_no_time_ends)
{
	const struct hutch_wait_opts end = { .what = HUTCH_WAIT_FOR_EXIT,
					     .timeout_ms = -1 };
	const struct hutch_wait_opts port = { .what = HUTCH_WAIT_FOR_PORT,
					      .port = 2,
					      .timeout_ms = HOST_LONG_MS };
	int status[2] = { -1, -1 };
	struct host_env v;
	pid_t pid[2];

	host_up(&v);
	host_detach_args(&v, "job", "hang");
	pid[0] = wait_beside(&v, "job", &end);
	pid[1] = wait_beside(&v, "job", &port);
	for (size_t i = 0; i < ARRAY_LEN(pid); i++) {
		ck_assert_int_gt(pid[i], 0);
		ck_assert_int_eq(waitpid(pid[i], &status[i], 0), pid[i]);
	}
	ck_assert_int_eq(status[0], 0);
	ck_assert_int_eq(status[1], 0);
	host_down(&v);
}
END_TEST

START_TEST(wait_in_a_vm_that_dies_tells_why)
{
	const struct hutch_wait_opts o = { .what = HUTCH_WAIT_FOR_PORT,
					   .port = 9,
					   .timeout_ms = -1 };
	struct hutch_wait_result res;
	struct host_env v;

	host_up(&v);
	host_detach_args(&v, "bye", "die", "exit", "4");
	ck_assert_int_eq(wait_for(&v, NULL, &o, &res), -ESRCH);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "guest-panic"));
	host_down(&v);
}
END_TEST

CHECK_MAIN("procwait", wait_for_a_line_matches_lines,
	   wait_for_a_line_ends_with_the_process,
	   wait_for_a_line_takes_an_endless_one, wait_for_exit_tells_it,
	   wait_of_no_time_looks_once, wait_for_a_port_tells_the_three_apart,
	   wait_for_one_whose_guest_keeps_no_time_ends,
	   wait_in_a_vm_that_dies_tells_why)
