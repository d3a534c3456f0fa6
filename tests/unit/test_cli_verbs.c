/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cli_verbs.c - what the verbs about processes ask of libhutch
 * and what they make of its answers
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fake_vm.h"

#define NS 1000000000ll
/* 2026-01-31T12:00:00Z */
#define NOON (1769860800ll * NS)

static const struct fake_vm nothing;

/* One sentence on stderr, exit code 125, and nothing asked of libhutch. */
#define REFUSED(sentence, ...)                                            \
	do {                                                              \
		ck_assert_int_eq(fake_vm_cli(__VA_ARGS__, NULL), 125);    \
		ck_assert_str_eq(fake_vm_err(), "hutch: " sentence "\n"); \
		ck_assert_str_eq(fake_vm_out(), "");                      \
		ck_assert_str_eq(fake_vm_calls(), "");                    \
	} while (0)

START_TEST(kill_of_a_name_is_the_vm)
{
	fake_vm_set(&nothing);
	ck_assert_int_eq(fake_vm_cli("kill", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "kill web\n");
	ck_assert_str_eq(fake_vm_out(), "web\n");
	REFUSED("kill ends a whole VM at once: --signal is for a process, "
		"hutch kill web PROC",
		"kill", "-s", "TERM", "web");
}
END_TEST

START_TEST(kill_of_a_process_is_its_tree)
{
	fake_vm_set(&nothing);
	ck_assert_int_eq(fake_vm_cli("kill", "web", "a", "b", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "kill web a 15 0 2000\n"
					  "kill web b 15 0 2000\n");
	ck_assert_str_eq(fake_vm_out(), "a\nb\n");
	ck_assert_int_eq(fake_vm_cli("kill", "web", "a", "-s", "hup", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "kill web a 1 0 0\n");
	ck_assert_int_eq(fake_vm_cli("kill", "-s9", "--one", "web", "a", NULL),
			 0);
	ck_assert_str_eq(fake_vm_calls(), "kill web a 9 0x1 0\n");
	ck_assert_int_eq(fake_vm_cli("kill", "--signal=INT", "--grace", "1.5s",
				     "web", "a", NULL),
			 0);
	ck_assert_str_eq(fake_vm_calls(), "kill web a 2 0 1500\n");
}
END_TEST

START_TEST(kill_refuses_what_makes_no_sense)
{
	fake_vm_set(&nothing);
	REFUSED("--signal: 'NO' is no signal: write a name such as TERM or a "
		"number from 1 to 64",
		"kill", "-s", "NO", "web", "a");
	REFUSED("--one and --grace do not go together: the SIGKILL after the "
		"grace is for all",
		"kill", "--one", "--grace", "1", "web", "a");
	REFUSED("--grace: '99999h' is more than 24 days", "kill", "--grace",
		"99999h", "web", "a");
}
END_TEST

START_TEST(run_takes_an_image_or_a_command)
{
	static const struct hutch_exec_event end = { .kind = HUTCH_EXEC_EXIT,
						     .how = HUTCH_EXEC_EXITED,
						     .value = 3 };
	const struct fake_vm vm = { .ev = &end, .n_ev = 1 };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("run", "here", NULL), 3);
	ck_assert_ptr_nonnull(strstr(fake_vm_calls(),
				     "image-open here\nimage-command own\n"
				     "start - flags 0x6 "));
	ck_assert_ptr_nonnull(strstr(fake_vm_calls(), " image\n"));
	ck_assert_int_eq(fake_vm_cli("run", "here", "ls", "-l", NULL), 3);
	ck_assert_ptr_nonnull(strstr(fake_vm_calls(), "image-command ls\n"));
	ck_assert_int_eq(fake_vm_cli("run", "here", "--", "ls", NULL), 3);
	ck_assert_ptr_nonnull(strstr(fake_vm_calls(), "image-command ls\n"));
	ck_assert_int_eq(fake_vm_cli("run", "--", "here", NULL), 3);
	ck_assert_ptr_null(strstr(fake_vm_calls(), "image"));
	ck_assert_int_eq(fake_vm_cli("run", "--disk=ram", "--entrypoint", "cat",
				     "here", NULL),
			 3);
	ck_assert_ptr_nonnull(strstr(fake_vm_calls(),
				     "image-command cat\nstart - flags 0x26 "));
}
END_TEST

START_TEST(run_pulls_an_image_that_is_not_here)
{
	static const struct hutch_exec_event end = { .kind = HUTCH_EXEC_EXIT,
						     .how = HUTCH_EXEC_EXITED };
	const struct fake_vm vm = { .ev = &end, .n_ev = 1 };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("run", "alpine", NULL), 0);
	ck_assert_ptr_nonnull(strstr(fake_vm_calls(),
				     "pull alpine - 0 0 0\n"
				     "image-open 0123456789abcdef"));
	ck_assert_str_eq(fake_vm_err(),
			 "hutch: not here yet: pulling image 'alpine'\n");
	ck_assert_int_eq(fake_vm_cli("run", "--pull=always", "here", NULL), 0);
	ck_assert_ptr_nonnull(strstr(fake_vm_calls(), "pull here - 0 0 0\n"));
	REFUSED("there is no image", "run", "--pull=never", "alpine");
	REFUSED("there is no image", "run", "no!name");
	REFUSED("--pull: 'now' is not missing, always or never", "run",
		"--pull=now", "alpine");
}
END_TEST

START_TEST(what_is_for_images_needs_one)
{
	fake_vm_set(&nothing);
	REFUSED("--entrypoint is for images: write hutch run IMAGE", "run",
		"--entrypoint", "cat", "--", "x");
	REFUSED("--disk is for images: without one all is in memory", "run",
		"--disk=ram", "--", "x");
	REFUSED("--disk: '4k' is too little: a disk needs 1M", "run",
		"--disk=4k", "here");
	REFUSED("run needs an image or a command: hutch run IMAGE, or hutch "
		"run -- COMMAND",
		"run");
}
END_TEST

START_TEST(start_goes_on_with_the_disk_of_its_name)
{
	static const char *const argv[] = { "was", NULL };
	static const char *const labels[] = { "a=1", "b=2", NULL };
	struct hutch_record rec = { .name = "web",
				    .state = HUTCH_STATE_STOPPED,
				    .disk = HUTCH_DISK_KEPT,
				    .image_id = "here",
				    .labels = labels };
	const struct fake_vm vm = { .record = &rec };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("start", "web", NULL), 0);
	/* What an image says has a stdin; 0x10. */
	ck_assert_ptr_nonnull(strstr(fake_vm_calls(),
				     "image-open here\nimage-command own\n"
				     "start web flags 0x10 "));
	ck_assert_int_eq(fake_vm_cli("start", "web", "--", "x", NULL), 0);
	ck_assert_ptr_nonnull(
		strstr(fake_vm_calls(), "image-command x\nstart web flags 0 "));
	/* As it was, but for what is said. */
	ck_assert_ptr_nonnull(strstr(fake_vm_calls(), " a=1 b=2 image\n"));
	ck_assert_int_eq(fake_vm_cli("start", "-l", "c=3", "web", NULL), 0);
	ck_assert_ptr_nonnull(strstr(fake_vm_calls(), " c=3 image\n"));
	rec.net = "passt";
	ck_assert_int_eq(fake_vm_cli("start", "web", NULL), 0);
	ck_assert_ptr_nonnull(strstr(fake_vm_calls(), " net passt image\n"));
	ck_assert_int_eq(fake_vm_cli("start", "--net", "none", "web", NULL), 0);
	ck_assert_ptr_nonnull(strstr(fake_vm_calls(), " net none image\n"));
	rec.argv = argv;
	ck_assert_int_eq(fake_vm_cli("start", "web", NULL), 0);
	ck_assert_ptr_nonnull(strstr(fake_vm_calls(), "start web flags 0 "));
}
END_TEST

START_TEST(start_by_name_alone_goes_on_whatever_it_was)
{
	static const char *const argv[] = { "was", NULL };
	static const char *const labels[] = { "a=1", NULL };
	const struct hutch_forward f = {
		.size = sizeof(f), .host = "::1", .port = 8080, .guest_port = 80
	};
	const struct hutch_forward *const list[] = { &f, NULL };
	struct hutch_record rec = { .name = "web",
				    .state = HUTCH_STATE_STOPPED,
				    .net = "policy,mtu=1500",
				    .net_policy = "{\"rules\":[]}",
				    .forwards = list,
				    .labels = labels,
				    .argv = argv,
				    .timeout_ms = 1000,
				    .idle_timeout_ms = 2000,
				    .keep_alive_processes = 1,
				    .on_exit = HUTCH_ON_EXIT_KEEP };
	const struct fake_vm vm = { .record = &rec };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("start", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(),
			 "inspect web\n"
			 "start web flags 0x8 idle 2000 on-exit 1 timeout 1000 "
			 "a=1 net policy,mtu=1500 {\"rules\":[]} runs was "
			 "8080:80\n");
	ck_assert_int_eq(fake_vm_cli("start", "--net", "none", "--timeout=2s",
				     "--on-exit=stop", "-p", "1:2", "web",
				     NULL),
			 0);
	ck_assert_str_eq(fake_vm_calls(),
			 "inspect web\n"
			 "start web flags 0x8 idle 2000 on-exit 0 timeout 2000 "
			 "a=1 net none runs was 1:2\n");
	/* Another command is another VM, and so is one beside it. */
	ck_assert_int_eq(fake_vm_cli("start", "web", "--", "x", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(),
			 "inspect web\n"
			 "start web flags 0 idle 0 on-exit 0 timeout 0 "
			 "runs x\n");
	rec.state = HUTCH_STATE_RUNNING;
	ck_assert_int_eq(fake_vm_cli("start", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(),
			 "inspect web\n"
			 "start web flags 0 idle 0 on-exit 0 timeout 0\n");
	rec.state = HUTCH_STATE_STOPPED;
	rec.disk = HUTCH_DISK_RAM;
	rec.image_id = "here";
	ck_assert_int_eq(fake_vm_cli("start", "web", NULL), 0);
	/* 0x20: its disk is in memory, again. */
	ck_assert_ptr_nonnull(strstr(fake_vm_calls(),
				     "image-open here\nimage-command own\n"
				     "start web flags 0x28 "));
	ck_assert_int_eq(fake_vm_cli("start", "web", "--", "x", NULL), 0);
	ck_assert_ptr_null(strstr(fake_vm_calls(), "image"));
}
END_TEST

START_TEST(kill_that_fails_says_so_for_each)
{
	const struct fake_vm vm = { .error = -ESRCH };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("kill", "--json", "web", "a", NULL), 125);
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"code\": \"ESRCH\""));
	ck_assert_str_eq(fake_vm_err(), "hutch: failed for a test\n");
}
END_TEST

START_TEST(forward_makes_lists_and_takes_back)
{
	const struct hutch_forward f = {
		.size = sizeof(f), .host = "::1", .port = 8080, .guest_port = 80
	};
	const struct hutch_forward *list[] = { &f, NULL };
	struct hutch_record rec = { .name = "web", .forwards = list };
	const struct fake_vm vm = { .record = &rec };
	const struct fake_vm fails = { .error = -EADDRINUSE,
				       .only = "forward web - 2" };

	fake_vm_set(&vm);
	ck_assert_int_eq(
		fake_vm_cli("forward", "web", "0:80", "[::1]:2:3", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(),
			 "forward web - 0 80\nforward web ::1 2 3\n");
	ck_assert_str_eq(fake_vm_out(),
			 "127.0.0.1:40001 -> 80\n[::1]:2 -> 3\n");
	ck_assert_int_eq(
		fake_vm_cli("forward", "--rm", "web", "1", "[::]:2", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(),
			 "unforward web - 1\nunforward web :: 2\n");
	ck_assert_int_eq(fake_vm_cli("forward", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_out(), "[::1]:8080 -> 80\n");
	ck_assert_int_eq(fake_vm_cli("forward", "--json", "web", NULL), 0);
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"guest_port\": 80"));
	ck_assert_int_eq(
		fake_vm_cli("start", "web", "-p", "1:2", "-p", "3:4", NULL), 0);
	ck_assert_ptr_nonnull(strstr(fake_vm_calls(), " 1:2 3:4\n"));
	REFUSED("forward: '80' is not [HOST:]PORT:GUEST_PORT, with an IPv6 "
		"address in brackets",
		"forward", "web", "80");
	REFUSED("forward --rm needs a [HOST:]PORT", "forward", "--rm", "web");
	/* The first stays, and is told. */
	fake_vm_set(&fails);
	ck_assert_int_eq(fake_vm_cli("forward", "web", "1:2", "2:3", NULL),
			 125);
	ck_assert_str_eq(fake_vm_out(), "127.0.0.1:1 -> 2\n");
	ck_assert_int_eq(
		fake_vm_cli("forward", "--json", "web", "1:2", "2:3", NULL),
		125);
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"guest_port\": 2"));
	ck_assert_ptr_null(strstr(fake_vm_out(), "error"));
}
END_TEST

START_TEST(ports_are_shown_escaped)
{
	fake_vm_set(&nothing);
	ck_assert_int_eq(fake_vm_cli("ports", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "ports web\n");
	ck_assert_str_eq(fake_vm_out(), "ADDRESS    PORT  PID  PROCESS\n"
					"::         22    -    -\n"
					"127.0.0.1  80    57   a\\eb\n");
	ck_assert_int_eq(fake_vm_cli("ports", "--json", "web", NULL), 0);
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"pid\": null"));
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"process\": null"));
}
END_TEST

START_TEST(drop_takes_several)
{
	fake_vm_set(&nothing);
	ck_assert_int_eq(fake_vm_cli("drop", "web", "a", "b", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "drop web a\ndrop web b\n");
	REFUSED("drop needs more words: hutch drop [OPTIONS] NAME PROC...",
		"drop", "web");
}
END_TEST

START_TEST(detached_exec_prints_the_id)
{
	const struct hutch_exec_event ev = { .kind = HUTCH_EXEC_STARTED,
					     .id = "server",
					     .pid = 7,
					     .start_ns = NOON };
	const struct fake_vm vm = { .ev = &ev, .n_ev = 1 };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("exec", "-d", "--name", "server", "-m",
				     "32m", "--pids", "9", "--cpu-weight",
				     "500", "--ring", "64K", "--keep=head",
				     "--timeout", "9", "web", "httpd", "-f",
				     NULL),
			 0);
	ck_assert_str_eq(fake_vm_calls(),
			 "exec web server flags 0x180 memory 33554432 ring "
			 "65536 pids 9 weight 500 timeout 9000\n");
	ck_assert_str_eq(fake_vm_out(), "server\n");
	ck_assert_int_eq(fake_vm_cli("exec", "-d", "--json", "web", "x", NULL),
			 0);
	ck_assert_str_eq(fake_vm_out(),
			 "{\"event\": \"started\", \"id\": \"server\", "
			 "\"pid\": 7, \"time\": "
			 "\"2026-01-31T12:00:00.000Z\"}\n");
}
END_TEST

START_TEST(exec_with_a_cleared_environment_says_so)
{
	const struct hutch_exec_event ev = { .kind = HUTCH_EXEC_STARTED,
					     .id = "p1" };
	const struct fake_vm vm = { .ev = &ev, .n_ev = 1 };

	fake_vm_set(&vm);
	ck_assert_int_eq(
		fake_vm_cli("exec", "-d", "--clear-env", "web", "x", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(),
			 "exec web - flags 0xa0 memory 0 ring 0 pids 0 weight "
			 "0 timeout 0\n");
	/* The VM's own are those of run and start. */
	ck_assert_int_eq(fake_vm_cli("run", "--clear-env", "--", "x", NULL),
			 125);
}
END_TEST

START_TEST(detached_exec_takes_no_input_that_is_there)
{
	const struct hutch_exec_event ev = { .kind = HUTCH_EXEC_STARTED,
					     .id = "p1" };
	const struct fake_vm vm = { .ev = &ev, .n_ev = 1 };
	const struct fake_vm piped = { .ev = &ev, .n_ev = 1, .piped = 1 };

	fake_vm_set(&piped);
	REFUSED("--detach passes no input on, and with --interactive it comes "
		"from hutch attach: pipe it into that, and give this one "
		"</dev/null",
		"exec", "-d", "-i", "web", "cat");
	ck_assert_int_eq(fake_vm_cli("exec", "-d", "web", "cat", NULL), 0);
	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("exec", "-d", "-i", "web", "cat", NULL),
			 0);
	ck_assert_str_eq(fake_vm_out(), "p1\n");
}
END_TEST

START_TEST(detached_exec_that_cannot_start_is_no_success)
{
	const struct hutch_exec_event ev = {
		.kind = HUTCH_EXEC_ERROR,
		.error = HUTCH_EXEC_ERROR_NOT_FOUND,
		.code = -ENOENT,
		.msg = "'nosuch' is not found",
	};
	const struct fake_vm vm = { .ev = &ev, .n_ev = 1 };
	const struct fake_vm gone = { .ev = &ev, .breaks = 1 };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("exec", "-d", "web", "nosuch", NULL), 127);
	ck_assert_str_eq(fake_vm_err(), "hutch: 'nosuch' is not found\n");
	ck_assert_str_eq(fake_vm_out(), "");
	fake_vm_set(&gone);
	ck_assert_int_eq(fake_vm_cli("exec", "-d", "web", "nosuch", NULL), 125);
	ck_assert_str_eq(fake_vm_err(), "hutch: broken for a test\n");
}
END_TEST

START_TEST(guest_whose_errno_is_a_time_out_has_ended_no_command)
{
	const struct hutch_exec_event ev = {
		.kind = HUTCH_EXEC_ERROR,
		.error = HUTCH_EXEC_ERROR_GENERAL,
		.code = -ETIMEDOUT,
		.msg = "cwd '/mnt': Connection timed out",
	};
	const struct fake_vm vm = { .ev = &ev, .n_ev = 1 };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("exec", "-d", "web", "x", NULL), 125);
	ck_assert_str_eq(fake_vm_err(),
			 "hutch: cwd '/mnt': Connection timed out\n");
}
END_TEST

START_TEST(exec_refuses_limits_that_are_none)
{
	fake_vm_set(&nothing);
	REFUSED("--memory: '4K' is too little: a process needs 1M", "exec",
		"-m", "4K", "web", "x");
	REFUSED("--ring: '1K' is not from 4K to 64M", "exec", "--ring", "1K",
		"web", "x");
	REFUSED("--ring: '1G' is not from 4K to 64M", "exec", "--ring", "1G",
		"web", "x");
	REFUSED("--keep: 'all' is not tail or head", "exec", "--keep", "all",
		"web", "x");
	REFUSED("--timeout: '0' is no time at all", "exec", "--timeout", "0",
		"web", "x");
	ck_assert_int_eq(fake_vm_cli("exec", "--pids", "0", "web", "x", NULL),
			 125);
	ck_assert_int_eq(
		fake_vm_cli("exec", "--cpu-weight", "10001", "web", "x", NULL),
		125);
	ck_assert_int_eq(fake_vm_cli("exec", "--detach-keys", "nothing", "web",
				     "x", NULL),
			 125);
	ck_assert_str_eq(fake_vm_calls(), "");
}
END_TEST

START_TEST(start_passes_on_what_it_was_told)
{
	fake_vm_set(&nothing);
	ck_assert_int_eq(fake_vm_cli("start", "-l", "job=7", "--label", "a=b",
				     "--idle-timeout", "5m",
				     "--keep-alive=processes", "--on-exit",
				     "keep", "--net", "passt,mtu=1280", "web",
				     "--", "x", NULL),
			 0);
	ck_assert_str_eq(fake_vm_calls(),
			 "inspect web\n"
			 "start web flags 0x8 idle 300000 on-exit 1 timeout 0 "
			 "job=7 a=b net passt,mtu=1280 runs x\n");
	REFUSED("--on-exit: 'go' is not stop or keep", "start", "--on-exit",
		"go", "web");
	REFUSED("--keep-alive: 'me' is not processes", "start", "--keep-alive",
		"me", "web");
	REFUSED("--idle-timeout: '0' is no time at all", "start",
		"--idle-timeout", "0", "web");
}
END_TEST

START_TEST(run_that_keeps_its_vm_has_no_lifeline)
{
	const struct hutch_exec_event ev = { .kind = HUTCH_EXEC_EXIT,
					     .how = HUTCH_EXEC_EXITED,
					     .value = 3 };
	const struct fake_vm vm = { .ev = &ev, .n_ev = 1 };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("run", "--timeout", "1", "--", "x", NULL),
			 3);
	ck_assert_str_eq(fake_vm_calls(),
			 "start - flags 0x6 idle 0 on-exit 0 timeout 1000 "
			 "runs x\n"
			 "exec made-up - flags 0x40 memory 0 ring 0 pids 0 "
			 "weight 0 timeout 1000\n"
			 "vm-wait 60000\nvm-close\n");
	ck_assert_str_eq(fake_vm_err(), "");
	ck_assert_int_eq(fake_vm_cli("run", "--on-exit=keep", "--timeout", "1",
				     "--", "x", NULL),
			 3);
	ck_assert_str_eq(fake_vm_calls(),
			 "start - flags 0x4 idle 0 on-exit 1 timeout 0 "
			 "runs x\n"
			 "exec made-up - flags 0x40 memory 0 ring 0 pids 0 "
			 "weight 0 timeout 1000\n"
			 "vm-close\n");
	ck_assert_str_eq(fake_vm_err(), "hutch: VM 'made-up' stays\n");
	ck_assert_int_eq(fake_vm_cli("run", "--on-exit=keep", "--name", "web",
				     "--", "x", NULL),
			 3);
	ck_assert_str_eq(fake_vm_err(), "");
}
END_TEST

/* Of a command that never ran, it does so unless it has ended. */
START_TEST(run_that_failed_says_whether_its_vm_stays)
{
	const struct hutch_exec_event ev = {
		.kind = HUTCH_EXEC_ERROR,
		.error = HUTCH_EXEC_ERROR_NOT_FOUND,
		.code = -ENOENT,
		.msg = "'x' is not found",
	};
	struct fake_vm vm = { .ev = &ev,
			      .n_ev = 1,
			      .vm_wait_error = -ETIMEDOUT };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("run", "--on-exit=keep", "--", "x", NULL),
			 127);
	ck_assert_str_eq(fake_vm_err(), "hutch: 'x' is not found\n"
					"hutch: VM 'made-up' stays\n");
	ck_assert_int_eq(fake_vm_cli("run", "--", "x", NULL), 127);
	ck_assert_str_eq(fake_vm_err(), "hutch: 'x' is not found\n");
	vm.vm_wait_error = 0;
	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("run", "--on-exit=keep", "--", "x", NULL),
			 127);
	ck_assert_str_eq(fake_vm_err(), "hutch: 'x' is not found\n");
}
END_TEST

START_TEST(h_is_no_help_where_it_is_the_hostname)
{
	fake_vm_set(&nothing);
	REFUSED("start: -h is --hostname NAME here: --help prints the options",
		"start", "-h");
	REFUSED("start needs a name in front of '--'; -h is --hostname here: "
		"--help prints the options",
		"start", "-h", "web");
	REFUSED("run: -h is --hostname NAME here: --help prints the options",
		"run", "-h");
	REFUSED("run: -h is --hostname NAME here: --help prints the options",
		"run", "-h", "--", "x");
	REFUSED("run: --hostname needs a value, and '--' ends the options: "
		"--hostname NAME",
		"run", "--hostname", "--", "x");
}
END_TEST

static struct hutch_process a_process(void)
{
	static const char *const argv[] = { "httpd", "-f", NULL };

	return (struct hutch_process){
		.id = "server",
		.pid = 7,
		.state = HUTCH_PROCESS_EXITED,
		.how = HUTCH_EXEC_SIGNALLED,
		.value = SIGKILL,
		.oom = 1,
		.argv = argv,
		.start_ns = NOON,
		.stdout_total = 2048,
	};
}

START_TEST(ps_lists_how_each_is)
{
	struct hutch_process p = a_process();
	struct hutch_process *list[] = { &p, NULL };
	const struct fake_vm vm = { .procs = list };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("ps", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "processes web - 0\n");
	ck_assert_ptr_nonnull(strstr(fake_vm_out(),
				     "server  7    exited  SIGKILL, out of "
				     "memory  "));
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "  2K      httpd -f\n"));
	ck_assert_int_eq(fake_vm_cli("ps", "-q", "web", "server", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "processes web server 0\n");
	ck_assert_str_eq(fake_vm_out(), "server\n");
	ck_assert_int_eq(fake_vm_cli("ps", "--json", "--env", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "processes web - 0x1\n");
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"exit_code\": null"));
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"signal\": 9"));
	REFUSED("ps needs more words: hutch ps [OPTIONS] NAME [PROC]", "ps");
}
END_TEST

/* What a guest calls its processes is its own word. */
START_TEST(ids_of_a_guest_do_a_terminal_no_harm)
{
	const struct hutch_exec_event ev = { .kind = HUTCH_EXEC_STARTED,
					     .id = "\033[31mred" };
	struct hutch_process p = { .id = "\033[2J\n", .user = "\033" };
	struct hutch_process *list[] = { &p, NULL };
	const struct fake_vm vm = { .procs = list, .ev = &ev, .n_ev = 1 };

	fake_vm_set(&vm);
	ck_assert_int_eq(fake_vm_cli("exec", "-d", "web", "x", NULL), 0);
	ck_assert_str_eq(fake_vm_out(), "\\e[31mred\n");
	ck_assert_int_eq(fake_vm_cli("ps", "-q", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_out(), "\\e[2J\\n\n");
	ck_assert_int_eq(fake_vm_cli("ps", "web", NULL), 0);
	ck_assert_ptr_null(strchr(fake_vm_out(), '\033'));
	ck_assert_int_eq(fake_vm_cli("ps", "--json", "web", NULL), 0);
	ck_assert_ptr_null(strchr(fake_vm_out(), '\033'));
}
END_TEST

START_TEST(net_set_takes_words_for_policies)
{
	fake_vm_set(&nothing);
	ck_assert_int_eq(
		fake_vm_cli("net", "set", "--net", "none", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "net-set web {\"rules\":[]} 0\n");
	ck_assert_int_eq(fake_vm_cli("net", "set", "--net", "internet", "--cut",
				     "web", NULL),
			 0);
	ck_assert_str_eq(
		fake_vm_calls(),
		"net-set web {\"rules\":[{\"allow\":\"internet\"}]} 0x1\n");
	REFUSED("net set: what stands behind the network's name cannot change "
		"while it runs",
		"net", "set", "--net", "none,mtu=1500", "web");
	ck_assert_int_eq(
		fake_vm_cli("net", "set", "--net", "passt", "web", NULL), 125);
	ck_assert_int_eq(fake_vm_cli("net", "set", "web", NULL), 125);
	ck_assert_str_eq(fake_vm_calls(), "");
}
END_TEST

START_TEST(rule_without_effect_is_warned_of)
{
	static const char said[] =
		"hutch: --inject: 'b.a' has no effect where --allow '*.a' "
		"decides, which is before it: put it first\n";

	fake_vm_set(&nothing);
	ck_assert_int_eq(fake_vm_cli("net", "set", "--allow", "*.a", "--inject",
				     "b.a X=y", "web", NULL),
			 0);
	ck_assert_str_eq(fake_vm_err(), said);
	ck_assert_int_eq(fake_vm_cli("start", "--allow", "*.a", "--inject",
				     "b.a X=y", "web", NULL),
			 0);
	ck_assert_str_eq(fake_vm_err(), said);
	ck_assert_int_eq(fake_vm_cli("start", "--inject", "b.a X=y", "--allow",
				     "*.a", "web", NULL),
			 0);
	ck_assert_str_eq(fake_vm_err(), "");
}
END_TEST

CHECK_MAIN("cli_verbs", kill_of_a_name_is_the_vm, kill_of_a_process_is_its_tree,
	   run_takes_an_image_or_a_command, run_pulls_an_image_that_is_not_here,
	   what_is_for_images_needs_one,
	   start_goes_on_with_the_disk_of_its_name,
	   start_by_name_alone_goes_on_whatever_it_was,
	   kill_refuses_what_makes_no_sense, kill_that_fails_says_so_for_each,
	   forward_makes_lists_and_takes_back, ports_are_shown_escaped,
	   drop_takes_several, detached_exec_prints_the_id,
	   detached_exec_that_cannot_start_is_no_success,
	   guest_whose_errno_is_a_time_out_has_ended_no_command,
	   exec_refuses_limits_that_are_none, start_passes_on_what_it_was_told,
	   run_that_keeps_its_vm_has_no_lifeline,
	   run_that_failed_says_whether_its_vm_stays,
	   h_is_no_help_where_it_is_the_hostname,
	   exec_with_a_cleared_environment_says_so,
	   detached_exec_takes_no_input_that_is_there, ps_lists_how_each_is,
	   ids_of_a_guest_do_a_terminal_no_harm,
	   net_set_takes_words_for_policies, rule_without_effect_is_warned_of)
