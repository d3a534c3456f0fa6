/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cli_read.c - the verbs that read back: logs, events, wait,
 * list
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "host/cli/tail.h"
#include "tests/lib/check_main.h"
#include "tests/lib/fake_vm.h"

#define NS   1000000000ll
#define NOON (1769860800ll * NS) /* 2026-01-31T12:00:00Z */

static const struct fake_vm nothing;

static const char *const main_argv[] = { "x", NULL };

static const struct hutch_log_piece pieces[] = {
	{ .stream = 1, .time_ns = NOON, .data = "ab", .len = 2, .cursor = 10 },
	{ .stream = 2, .time_ns = NOON, .data = "e\n", .len = 2, .cursor = 0 },
	{ .stream = 1,
	  .time_ns = NOON + NS,
	  .data = "cd\nef\n",
	  .len = 6,
	  .cursor = 12 },
};

START_TEST(logs_say_what_is_lost)
{
	struct hutch_record rec = { .name = "web", .argv = main_argv };
	const struct fake_vm vm = { .record = &rec,
				    .pieces = pieces,
				    .n_pieces = 3 };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("logs", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "inspect web\nlogs web 1 0\n");
	ck_assert_str_eq(fake_vm_out(), "abcd\nef\n");
	ck_assert_str_eq(fake_vm_err(), "hutch: 10 bytes of stdout are lost: "
					"it goes on at cursor 10\ne\n");
}
END_TEST

START_TEST(logs_since_a_cursor_begin_there)
{
	struct hutch_record rec = { .name = "web", .argv = main_argv };
	const struct fake_vm vm = { .record = &rec,
				    .pieces = pieces,
				    .n_pieces = 3 };

	fake_vm_set(&vm);
	ck_assert_int_eq(
		fake_vm_cli("logs", "--since", "11,2", "web", "main", NULL), 0);
	ck_assert_str_eq(fake_vm_out(), "bcd\nef\n");
	ck_assert_str_eq(fake_vm_err(), "");
	ck_assert_int_eq(fake_vm_cli("logs", "--since", "14", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_out(), "\nef\n");
	ck_assert_int_eq(fake_vm_cli("logs", "--since", "1x", "web", NULL),
			 125);
	ck_assert_str_eq(fake_vm_calls(), "");
	ck_assert_int_eq(fake_vm_cli("logs", "--since", "1,", "web", NULL),
			 125);
}
END_TEST

START_TEST(logs_with_times_and_as_json)
{
	struct hutch_record rec = { .name = "web", .argv = main_argv };
	const struct fake_vm vm = { .record = &rec,
				    .pieces = pieces,
				    .n_pieces = 3 };

	fake_vm_set(&vm);
	ck_assert_int_eq(
		fake_vm_cli("logs", "-t", "--since", "10", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_out(), "2026-01-31T12:00:00.000Z abcd\n"
					"2026-01-31T12:00:01.000Z ef\n");
	ck_assert_int_eq(
		fake_vm_cli("logs", "--json", "--since", "10,0", "web", NULL),
		0);
	ck_assert_ptr_nonnull(strstr(
		fake_vm_out(),
		"{\"event\": \"stdout\", \"time\": \"2026-01-31T12:00:01.000Z\""
		", \"cursor\": 12, \"text\": \"cd\\nef\\n\"}\n"));
}
END_TEST

START_TEST(logs_that_follow_end_with_the_vm)
{
	struct hutch_record rec = { .name = "web", .argv = main_argv };
	const struct fake_vm vm = {
		.record = &rec, .pieces = pieces, .n_pieces = 3, .ended = 1
	};

	fake_vm_set(&vm);
	ck_assert_int_eq(
		fake_vm_cli("logs", "-f", "--since", "10", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "inspect web\nlogs web 1 0x1\n");
	ck_assert_str_eq(fake_vm_out(), "abcd\nef\n");
	ck_assert_int_eq(fake_vm_cli("logs", "--console", "-f", "web", NULL),
			 125);
	ck_assert_int_eq(fake_vm_cli("logs", "--console", "web", "p", NULL),
			 125);
}
END_TEST

START_TEST(logs_of_no_main_process_are_none)
{
	const struct hutch_exec_event ev = { .kind = HUTCH_EXEC_END };
	struct hutch_record rec = { .name = "web" };
	const struct fake_vm vm = { .record = &rec, .ev = &ev, .n_ev = 1 };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("logs", "-f", "web", NULL), 125);
	ck_assert_str_eq(fake_vm_calls(), "inspect web\n");
	ck_assert_str_eq(fake_vm_err(),
			 "hutch: VM 'web' has no main process\n");
	/* One that somebody has called so. */
	ck_assert_int_eq(fake_vm_cli("logs", "web", "main", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "inspect web\n"
					  "attach web main flags 0 from 0 0\n");
	ck_assert_int_eq(fake_vm_cli("logs", "--console", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "logs web 2 0\n");
}
END_TEST

START_TEST(logs_of_a_process_come_from_the_vm)
{
	const struct hutch_exec_event ev[] = {
		{ .kind = HUTCH_EXEC_STARTED, .id = "p" },
		{ .kind = HUTCH_EXEC_STDOUT, .data = "x\n", .len = 2 },
		{ .kind = HUTCH_EXEC_END },
	};
	const struct fake_vm vm = { .ev = ev, .n_ev = 3 };
	const struct fake_vm ends = {
		.ev = ev, .n_ev = 3, .breaks = 1, .left = 2
	};
	const struct fake_vm gone = { .ev = ev, .breaks = 1 };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("logs", "--since", "5", "web", "p", NULL),
			 0);
	ck_assert_str_eq(fake_vm_calls(), "attach web p flags 0 from 5 5\n");
	ck_assert_str_eq(fake_vm_out(), "x\n");
	fake_vm_set(&ends);
	/* Cut short is not the end. */
	ck_assert_int_eq(fake_vm_cli("logs", "-f", "web", "p", NULL), 125);
	ck_assert_str_eq(fake_vm_calls(), "attach web p flags 0x2 from 0 0\n");
	ck_assert_str_eq(fake_vm_out(), "x\n");
	ck_assert_str_ne(fake_vm_err(), "");
	ck_assert_int_eq(fake_vm_cli("logs", "web", "p", NULL), 125);
	fake_vm_set(&gone);
	ck_assert_int_eq(fake_vm_cli("logs", "-f", "web", "p", NULL), 125);
}
END_TEST

START_TEST(events_are_told_a_line_each)
{
	const struct hutch_vm_event events[] = {
		{ .time_ns = NOON,
		  .vm = "web",
		  .id = "0123",
		  .kind = "process-exited",
		  .process = "p",
		  .reason = "",
		  .text = "",
		  .how = HUTCH_EXEC_EXITED,
		  .value = 7 },
		{ .time_ns = NOON,
		  .vm = "web",
		  .id = "0123",
		  .kind = "stopped",
		  .process = "",
		  .reason = "idle-timeout",
		  .text = "" },
	};
	const struct fake_vm vm = { .events = events,
				    .n_events = 2,
				    .ended = 1 };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("events", "-f", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "events web 0x1\n");
	ck_assert_str_eq(fake_vm_out(),
			 "2026-01-31T12:00:00.000Z web process-exited p code "
			 "7\n"
			 "2026-01-31T12:00:00.000Z web stopped "
			 "idle-timeout\n");
	ck_assert_int_eq(fake_vm_cli("events", "--json", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "events - 0\n");
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"exit_code\": 7"));
	ck_assert_ptr_nonnull(
		strstr(fake_vm_out(), "\"reason\": \"idle-timeout\""));
}
END_TEST

START_TEST(denials_have_parts)
{
	const struct hutch_vm_event events[] = {
		{ .time_ns = NOON,
		  .vm = "web",
		  .id = "0123",
		  .kind = "net-denied",
		  .text = "why",
		  .proto = "tcp",
		  .address = "192.0.2.1",
		  .name = "",
		  .port = 443,
		  .rule = 2,
		  .count = 3 },
		{ .time_ns = NOON,
		  .vm = "web",
		  .id = "0123",
		  .kind = "net-ended",
		  .text = "",
		  .proto = "" },
	};
	static const char parts[] =
		"\"text\": \"why\", \"proto\": \"tcp\", \"address\": "
		"\"192.0.2.1\", \"name\": null, \"port\": 443, \"rule\": 2, "
		"\"count\": 3}\n";
	const struct fake_vm vm = { .events = events,
				    .n_events = 2,
				    .ended = 1 };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("net", "log", "--json", "web", NULL), 0);
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), parts));
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"text\": \"\"}\n"));
	ck_assert_int_eq(fake_vm_cli("events", "--json", NULL), 0);
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), parts));
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"text\": \"\"}\n"));
}
END_TEST

START_TEST(wait_for_a_line_says_which_of_three)
{
	struct fake_vm vm = { .wait = { .outcome = HUTCH_WAITED_MATCHED,
					.line = "ready",
					.stream = 1,
					.cursor = 6 } };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("wait", "web", "p", "--for", "line=^re",
				     "--from", "3", "--timeout", "2", NULL),
			 0);
	ck_assert_str_eq(fake_vm_calls(),
			 "wait web p for 2 line ^re from 3 port 0 2000\n");
	ck_assert_str_eq(fake_vm_out(), "matched: ready\n");
	vm.wait = (struct hutch_wait_result){ .outcome = HUTCH_WAITED_EXITED,
					      .how = HUTCH_EXEC_EXITED,
					      .value = 0 };
	fake_vm_set(&vm);
	ck_assert_int_eq(
		fake_vm_cli("wait", "web", "p", "--for", "port=80", NULL), 1);
	ck_assert_str_eq(fake_vm_calls(),
			 "wait web p for 3 line - from 0 port 80 -1\n");
	ck_assert_str_eq(fake_vm_out(), "exited: code 0\n");
	vm.wait.outcome = HUTCH_WAITED_TIMED_OUT;
	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("wait", "web", "p", NULL), 124);
	ck_assert_str_eq(fake_vm_out(), "timed out\n");
}
END_TEST

START_TEST(wait_for_an_exit_has_its_code)
{
	struct fake_vm vm = { .wait = { .outcome = HUTCH_WAITED_EXITED,
					.how = HUTCH_EXEC_SIGNALLED,
					.value = 9,
					.oom = 1 } };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("wait", "web", "p", NULL), 137);
	ck_assert_str_eq(fake_vm_out(), "exited: SIGKILL, out of memory\n");
	ck_assert_int_eq(fake_vm_cli("wait", "--json", "web", "p", NULL), 137);
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"outcome\": \"exited\""));
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"signal\": 9"));
	vm.wait_error = -ESRCH;
	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("wait", "web", "p", NULL), 125);
	ck_assert_str_eq(fake_vm_out(), "");
	ck_assert_str_eq(fake_vm_err(), "hutch: failed for a test\n");
}
END_TEST

/* What "hutch wait web" makes of a VM of this record. */
static int wait_for_main(struct hutch_record *rec, int wait_error)
{
	const struct fake_vm vm = { .record = rec,
				    .vm_wait_error = wait_error,
				    .wait_error = -ESRCH };

	fake_vm_set(&vm);
	return fake_vm_cli("wait", "web", NULL);
}

START_TEST(wait_without_a_process_goes_by_the_record)
{
	static const char *const argv[] = { "x", NULL };
	struct hutch_record rec = { .state = HUTCH_STATE_STOPPED,
				    .reason = HUTCH_REASON_STOPPED,
				    .exit_code = -1 };

	ck_assert_int_eq(wait_for_main(&rec, 0), 0);
	ck_assert_str_eq(fake_vm_out(), "exited: the VM, stopped\n");
	/* With a main process that nobody saw end there is no code. */
	rec.argv = argv;
	ck_assert_int_eq(wait_for_main(&rec, 0), 125);
	rec.reason = HUTCH_REASON_VMM_CRASH;
	rec.signal = 11;
	ck_assert_int_eq(wait_for_main(&rec, 0), 125);
	rec.reason = HUTCH_REASON_OOM;
	rec.signal = 9;
	ck_assert_int_eq(wait_for_main(&rec, 0), 137);
	ck_assert_str_eq(fake_vm_out(), "exited: SIGKILL, out of memory\n");
	rec.reason = HUTCH_REASON_EXITED;
	rec.exit_code = 7;
	ck_assert_int_eq(wait_for_main(&rec, 0), 7);
	ck_assert_str_eq(fake_vm_out(), "exited: code 7\n");
	ck_assert_int_eq(wait_for_main(&rec, -ETIMEDOUT), 124);
	/* The VM stays, and nothing but its record knows. */
	rec.state = HUTCH_STATE_RUNNING;
	rec.on_exit = HUTCH_ON_EXIT_KEEP;
	ck_assert_int_eq(wait_for_main(&rec, 0), 7);
	ck_assert_str_eq(fake_vm_calls(),
			 "inspect web\n"
			 "wait web - for 1 line - from 0 port 0 -1\n"
			 "inspect web\n");
	/* It ended in good time, and then that of the VM was over. */
	rec.state = HUTCH_STATE_STOPPED;
	rec.reason = HUTCH_REASON_TIMEOUT;
	rec.signal = 0;
	ck_assert_int_eq(wait_for_main(&rec, 0), 7);
	ck_assert_str_eq(fake_vm_out(), "exited: code 7\n");
	rec.exit_code = -1;
	rec.on_exit = HUTCH_ON_EXIT_STOP;
	ck_assert_int_eq(wait_for_main(&rec, 0), 124);
}
END_TEST

START_TEST(wait_for_a_vm_says_how_it_ended)
{
	static const struct {
		enum hutch_reason reason;
		int code;
	} want[] = {
		{ HUTCH_REASON_STOPPED, 0 },
		{ HUTCH_REASON_IDLE, 0 },
		{ HUTCH_REASON_TIMEOUT, 124 },
		{ HUTCH_REASON_GUEST_PANIC, 125 },
		{ HUTCH_REASON_GUEST_CRASH, 125 },
		{ HUTCH_REASON_VMM_CRASH, 125 },
		{ HUTCH_REASON_HOST_ERROR, 125 },
		{ HUTCH_REASON_LOST, 125 },
	};

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		struct hutch_record rec = { .state = HUTCH_STATE_STOPPED,
					    .reason = want[i].reason,
					    .exit_code = -1 };
		char line[64];

		(void)snprintf(line, sizeof(line), "exited: the VM, %s\n",
			       hutch_reason_name(rec.reason));
		ck_assert_int_eq(wait_for_main(&rec, 0), want[i].code);
		ck_assert_str_eq(fake_vm_out(), line);
	}
}
END_TEST

START_TEST(wait_refuses_what_it_cannot_wait_for)
{
	static const char *const bad[][2] = {
		{ "--for", "nothing" },    { "--for", "port=0" },
		{ "--for", "port=65536" }, { "--for", "port=" },
		{ "--from", "1" },         { "--timeout", "soon" },
		{ "--timeout", "99999h" },
	};

	fake_vm_set(&nothing);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		ck_assert_int_eq(fake_vm_cli("wait", bad[i][0], bad[i][1],
					     "web", "p", NULL),
				 125);
		ck_assert_str_eq(fake_vm_calls(), "");
		ck_assert_str_eq(fake_vm_out(), "");
	}
}
END_TEST

START_TEST(list_shows_what_passes_the_filters)
{
	static const char *const labels[] = { "job=7", "k=", NULL };
	struct hutch_record a = { .name = "web-1",
				  .state = HUTCH_STATE_RUNNING,
				  .labels = labels };
	struct hutch_record b = { .name = "web-2",
				  .state = HUTCH_STATE_STOPPED };
	struct hutch_record *list[] = { &a, &b, NULL };
	const struct fake_vm vm = { .records = list };
	static const char *const want[][3] = {
		{ "name=web-*", "name=x", "web-1\nweb-2\n" },
		{ "label=job", "label=k", "web-1\n" },
		{ "label=job=7", "state=running", "web-1\n" },
		{ "label=job=8", "state=running", "" },
		{ "label=jo", "name=*", "" },
		{ "state=stopped", "state=running", "web-1\nweb-2\n" },
		{ "state=stopped", "name=web-1", "" },
	};

	fake_vm_set(&vm);
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		ck_assert_int_eq(fake_vm_cli("list", "-q", "--filter",
					     want[i][0], "-f", want[i][1],
					     NULL),
				 0);
		ck_assert_str_eq(fake_vm_out(), want[i][2]);
	}
	ck_assert_int_eq(fake_vm_cli("list", "-f", "state=asleep", NULL), 125);
	ck_assert_int_eq(fake_vm_cli("list", "-f", "label=", NULL), 125);
	ck_assert_int_eq(fake_vm_cli("list", "-f", "colour=red", NULL), 125);
}
END_TEST

static void wait_on(void)
{
	tail_wait(-1, 0);
}

static void print_on(void)
{
	(void)printf("x\n");
	tail_flush();
}

/* What becomes of a program whose reader goes away, or has gone. */
static int status_without_reader(void (*fn)(void), int gone, int ignored)
{
	int fd[2], status = 0;
	pid_t pid;

	ck_assert_int_eq(pipe2(fd, O_CLOEXEC), 0);
	if (gone)
		(void)close(fd[0]);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (ignored)
			(void)signal(SIGPIPE, SIG_IGN);
		(void)dup2(fd[1], STDOUT_FILENO);
		(void)close_range(3, ~0u, 0);
		fn();
		_exit(0);
	}
	(void)close(fd[1]);
	if (!gone)
		(void)close(fd[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

START_TEST(who_follows_ends_with_its_reader)
{
	for (int ignored = 0; ignored < 2; ignored++) {
		int r = status_without_reader(wait_on, 0, ignored);

		ck_assert(WIFSIGNALED(r) && WTERMSIG(r) == SIGPIPE);
		r = status_without_reader(wait_on, 1, ignored);
		ck_assert(WIFSIGNALED(r) && WTERMSIG(r) == SIGPIPE);
		r = status_without_reader(print_on, 1, ignored);
		ck_assert(WIFSIGNALED(r) && WTERMSIG(r) == SIGPIPE);
	}
}
END_TEST

CHECK_MAIN("cli_read", logs_say_what_is_lost, logs_since_a_cursor_begin_there,
	   logs_with_times_and_as_json, logs_that_follow_end_with_the_vm,
	   logs_of_a_process_come_from_the_vm, events_are_told_a_line_each,
	   denials_have_parts, wait_for_a_line_says_which_of_three,
	   wait_for_an_exit_has_its_code,
	   wait_without_a_process_goes_by_the_record,
	   logs_of_no_main_process_are_none, wait_for_a_vm_says_how_it_ended,
	   wait_refuses_what_it_cannot_wait_for,
	   list_shows_what_passes_the_filters, who_follows_ends_with_its_reader)
