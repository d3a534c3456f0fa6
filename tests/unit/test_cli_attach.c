/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cli_attach.c - being with a process, and leaving it */
#include <signal.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fake_vm.h"

#define NS 1000000000ll
/* 2026-01-31T12:00:00Z */
#define NOON (1769860800ll * NS)

START_TEST(attach_takes_a_terminals_last_part)
{
	const struct hutch_exec_event ev[] = {
		{ .kind = HUTCH_EXEC_STARTED, .id = "server" },
		{ .kind = HUTCH_EXEC_TRUNCATED,
		  .stream = 1,
		  .lost = 100,
		  .cursor = 100 },
		{ .kind = HUTCH_EXEC_STDOUT,
		  .data = "hi\n",
		  .len = 3,
		  .cursor = 100 },
		{ .kind = HUTCH_EXEC_EXIT,
		  .how = HUTCH_EXEC_EXITED,
		  .value = 4 },
	};
	struct hutch_process p = { .id = "server", .pid = 7 };
	struct hutch_process *list[] = { &p, NULL };
	static const char *const argv[] = { "x", NULL };
	struct hutch_record rec = { .name = "web", .argv = argv };
	const struct fake_vm vm = {
		.procs = list, .ev = ev, .n_ev = 4, .record = &rec
	};

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("attach", "web", "server", NULL), 4);
	ck_assert_str_eq(fake_vm_calls(), "processes web server 0\n"
					  "attach web server flags 0x3 from "
					  "0 0\n");
	ck_assert_str_eq(fake_vm_out(), "hi\n");
	ck_assert_str_eq(fake_vm_err(), "hutch: 100 bytes of stdout are lost: "
					"it goes on at cursor 100\n");
	p.tty = 1;
	ck_assert_int_eq(
		fake_vm_cli("attach", "--no-stdin", "--json", "web", NULL), 4);
	ck_assert_str_eq(fake_vm_calls(), "inspect web\n"
					  "processes web main 0\n"
					  "attach web main flags 0x12 from "
					  "262144 262144\n");
	ck_assert_ptr_nonnull(strstr(fake_vm_out(),
				     "{\"event\": \"truncated\", \"stream\": "
				     "\"stdout\", \"lost\": 100, \"cursor\": "
				     "100}\n"));
	ck_assert_str_eq(fake_vm_err(), "");
}
END_TEST

START_TEST(attach_that_is_left_says_so)
{
	struct hutch_process p = { .id = "server", .pid = 7 };
	struct hutch_process *list[] = { &p, NULL };
	struct fake_vm vm = { .procs = list,
			      .sh = "exec sleep 1000",
			      .sig = SIGINT };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("attach", "web", "server", NULL), 130);
	ck_assert_str_eq(fake_vm_err(),
			 "hutch: 'p1' goes on: hutch attach web p1\n");
}
END_TEST

START_TEST(attach_needs_a_main_process_or_an_id)
{
	struct hutch_record rec = { .name = "web" };
	const struct fake_vm vm = { .record = &rec };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("attach", "web", NULL), 125);
	ck_assert_str_eq(fake_vm_calls(), "inspect web\n");
	ck_assert_str_eq(fake_vm_err(),
			 "hutch: VM 'web' has no main process\n");
}
END_TEST

/* The guest says it when it starts, and not again at the end. */
START_TEST(exit_tells_when_it_began)
{
	const struct hutch_exec_event ev[] = {
		{ .kind = HUTCH_EXEC_STARTED, .id = "p1", .start_ns = NOON },
		{ .kind = HUTCH_EXEC_EXIT,
		  .how = HUTCH_EXEC_EXITED,
		  .end_ns = NOON + NS },
	};
	const struct fake_vm vm = { .ev = ev, .n_ev = 2 };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("exec", "--json", "web", "x", NULL), 0);
	ck_assert_ptr_nonnull(strstr(
		fake_vm_out(), "\"started\": \"2026-01-31T12:00:00.000Z\", "
			       "\"ended\": \"2026-01-31T12:00:01.000Z\""));
}
END_TEST

CHECK_MAIN("cli_attach", attach_takes_a_terminals_last_part,
	   attach_that_is_left_says_so, attach_needs_a_main_process_or_an_id,
	   exit_tells_when_it_began)
