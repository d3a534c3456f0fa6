/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_keeper.c - libhutch and the real keeper over a fake monitor
 *
 * tests/lib/fake_vmm.c stands in for hutch-vmm and what runs in it; so these
 * tests need no KVM, and reach ways to end that no real guest takes on demand.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/unix.h"
#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

/* ---- How it ends ---- */

START_TEST(each_way_of_death_has_its_reason)
{
	static const struct {
		const char *script;
		const char *want;
	} way[] = {
		{ "exit=0", "stopped" },
		{ "stderr=no_/dev/kvm exit=1", "host-error(no /dev/kvm)" },
		{ "stderr=a stderr=bad_kernel exit=2",
		  "host-error(bad kernel)" },
		{ "exit=1", "host-error" },
		{ "exit=3", "stopped" },
		{ "exit=4", "guest-panic" },
		{ "exit=5", "guest-crash" },
		{ "exit=6", "stopped" },
		{ "exit=77", "host-error(hutch-vmm ended with status 77)" },
		{ "signal=9", "vmm-crash(9)" },
		{ "signal=31", "vmm-crash(31)" },
	};

	for (size_t i = 0; i < ARRAY_LEN(way); i++) {
		struct host_env v;

		host_env_init(&v);
		hutch_vm_close(host_start(&v, way[i].script));
		host_expect_reason(&v, way[i].want);
		host_env_done(&v);
	}
}
END_TEST

START_TEST(main_process_gives_the_reason)
{
	static const struct {
		const char *argv[4];
		const char *want;
	} way[] = {
		{ { "exit", "0" }, "exited(0)" },
		{ { "exit", "7" }, "exited(7)" },
		{ { "signal", "15" }, "killed(15)" },
		{ { "oom" }, "oom" },
		{ { "overtime" }, "timeout" },
		{ { "nosuch" }, "exited(127)" },
		{ { "denied" }, "exited(126)" },
		{ { "die", "exit", "4" }, "guest-panic" },
		{ { "die", "signal", "31" }, "vmm-crash(31)" },
	};

	for (size_t i = 0; i < ARRAY_LEN(way); i++) {
		struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
		struct host_env v;

		host_env_init(&v);
		o.name = "web";
		o.argv = way[i].argv;
		hutch_vm_close(host_start_with(&v, "", &o));
		host_expect_reason(&v, way[i].want);
		host_env_done(&v);
	}
}
END_TEST

START_TEST(attached_main_process_gives_the_reason)
{
	static const char *const argv[] = { "exit", "9", NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_exec *x;
	struct host_env v;
	struct host_result res;

	o.argv = argv;
	o.flags = HUTCH_START_ATTACH;
	host_up_with(&v, "", &o);
	x = host_run_flags(&v, HUTCH_EXEC_MAIN, argv);
	host_collect(&v, x, &res);
	ck_assert_int_eq(res.last.kind, HUTCH_EXEC_EXIT);
	ck_assert_int_eq(res.last.value, 9);
	hutch_exec_close(x);
	host_expect_reason(&v, "exited(9)");
	host_env_done(&v);
}
END_TEST

START_TEST(stop_ends_it_and_is_on_record)
{
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	ck_assert_int_eq(hutch_wait(v.h, "web", HUTCH_WAIT_READY, HOST_LONG_MS,
				    NULL, &v.e),
			 0);
	ck_assert_msg(hutch_stop(v.h, "web", -1, &v.e) == 0, "%s", v.e.msg);
	host_expect_reason(&v, "stopped");
	/* Again: it is stopped, which is what was asked for. */
	ck_assert_int_eq(hutch_stop(v.h, "web", -1, &v.e), 0);
	ck_assert_int_eq(hutch_stop(v.h, "nosuch", -1, &v.e), -ENOENT);
	host_env_done(&v);
}
END_TEST

START_TEST(stop_of_a_guest_that_does_not_boot_ends_it)
{
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, "nobell"));
	ck_assert_int_eq(hutch_stop(v.h, "web", -1, &v.e), 0);
	host_expect_reason(&v, "stopped");
	host_env_done(&v);
}
END_TEST

START_TEST(stop_of_a_deaf_guest_ends_it)
{
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, "deaf"));
	ck_assert_int_eq(hutch_wait(v.h, "web", HUTCH_WAIT_READY, HOST_LONG_MS,
				    NULL, &v.e),
			 0);
	ck_assert_int_eq(hutch_stop(v.h, "web", 0, &v.e), 0);
	host_expect_reason(&v, "stopped");
	host_env_done(&v);
}
END_TEST

START_TEST(kill_ends_it_and_is_on_record)
{
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, "deaf"));
	ck_assert_int_eq(hutch_kill(v.h, "web", &v.e), 0);
	host_expect_reason(&v, "stopped");
	ck_assert_int_eq(hutch_kill(v.h, "web", &v.e), -ESRCH);
	ck_assert_int_eq(hutch_kill(v.h, "nosuch", &v.e), -ENOENT);
	host_env_done(&v);
}
END_TEST

START_TEST(timeout_ends_it_and_is_on_record)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct host_env v;

	o.timeout_ms = 1;
	host_up_with(&v, "nobell", &o);
	host_expect_reason(&v, "timeout");
	host_env_done(&v);
}
END_TEST

START_TEST(lifeline_ends_it)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_vm *vm;
	struct host_env v;

	host_env_init(&v);
	o.name = "web";
	o.flags = HUTCH_START_LIFELINE;
	vm = host_start_with(&v, "deaf", &o);
	hutch_vm_end(vm);
	ck_assert_int_eq(hutch_vm_wait(v.h, vm, HOST_LONG_MS, NULL, &v.e), 0);
	hutch_vm_end(vm);
	hutch_vm_close(vm);
	host_expect_reason(&v, "stopped");
	vm = host_start_with(&v, "deaf", &o);
	hutch_vm_close(vm);
	host_expect_reason(&v, "stopped");
	host_env_done(&v);
}
END_TEST

/* SIGKILL of whoever started it: nothing stays, with rm not even a record. */
START_TEST(lifeline_outlives_a_killed_starter)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_record **list;
	struct hutch_record *rec;
	struct host_env v;
	int p[2], status;
	char c;
	pid_t pid;

	host_env_init(&v);
	o.name = "web";
	o.flags = HUTCH_START_LIFELINE | HUTCH_START_RM;
	ck_assert_int_eq(pipe(p), 0);
	pid = fork();
	if (pid == 0) {
		(void)host_start_with(&v, "", &o);
		(void)!write(p[1], "x", 1);
		for (;;)
			(void)pause();
	}
	ck_assert_int_eq(read(p[0], &c, 1), 1);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (hutch_wait(v.h, "web", HUTCH_WAIT_EXIT, HOST_LONG_MS, &rec, &v.e) ==
	    0)
		hutch_record_free(rec);
	ck_assert_int_eq(hutch_list(v.h, &list, &v.e), 0);
	hutch_list_free(list);
	(void)close(p[0]);
	(void)close(p[1]);
	host_env_done(&v);
}
END_TEST

static void rm_record_is_handed_out(struct host_env *v)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	static const char *const argv[] = { "exit", "3", NULL };
	struct hutch_record *rec;

	o.name = "web";
	o.argv = argv;
	o.flags = HUTCH_START_RM | HUTCH_START_ATTACH;
	hutch_vm_close(host_start_with(v, "", &o));
	hutch_exec_close(host_run_flags(v, HUTCH_EXEC_MAIN, argv));
	rec = host_wait_end(v, "web");
	ck_assert_int_eq(rec->reason, HUTCH_REASON_EXITED);
	ck_assert_int_eq(rec->exit_code, 3);
	hutch_record_free(rec);
	ck_assert_int_eq(hutch_inspect(v->h, "web", &rec, &v->e), -ENOENT);
}

START_TEST(rm_leaves_nothing_but_tells_how_it_ended)
{
	char path[4200];
	struct host_env v;

	host_env_init(&v);
	rm_record_is_handed_out(&v);
	(void)snprintf(path, sizeof(path), "%s/s/run/web", v.dir);
	ck_assert_int_eq(access(path, F_OK), -1);
	(void)snprintf(path, sizeof(path), "%s/s/state/web", v.dir);
	ck_assert_int_eq(access(path, F_OK), -1);
	host_env_done(&v);
}
END_TEST

/* Gone, though not a child of ours: the process that waited has reaped it. */
static void await_gone(pid_t pid)
{
	for (int i = 0; i < 6000 && kill(pid, 0) == 0; i++)
		(void)usleep(10000);
	ck_assert_int_eq(kill(pid, 0), -1);
}

START_TEST(killed_monitor_is_a_crash)
{
	struct hutch_record *rec;
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	rec = host_inspect(&v);
	ck_assert_int_eq(kill(rec->vmm_pid, SIGKILL), 0);
	hutch_record_free(rec);
	host_expect_reason(&v, "vmm-crash(9)");
	host_env_done(&v);
}
END_TEST

START_TEST(killed_keeper_is_lost_and_takes_the_monitor_along)
{
	struct hutch_record *rec;
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	rec = host_inspect(&v);
	ck_assert_int_eq(kill(rec->keeper_pid, SIGKILL), 0);
	host_expect_reason(&v, "lost");
	await_gone(rec->vmm_pid);
	hutch_record_free(rec);
	/* The name can be used again, and removed. */
	hutch_vm_close(host_start(&v, ""));
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

START_TEST(both_killed_is_lost)
{
	struct hutch_record *rec;
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	rec = host_inspect(&v);
	ck_assert_int_eq(kill(rec->keeper_pid, SIGSTOP), 0);
	ck_assert_int_eq(kill(rec->vmm_pid, SIGKILL), 0);
	ck_assert_int_eq(kill(rec->keeper_pid, SIGKILL), 0);
	hutch_record_free(rec);
	host_expect_reason(&v, "lost");
	ck_assert_int_eq(hutch_rm(v.h, "web", 0, &v.e), 0);
	host_env_done(&v);
}
END_TEST

START_TEST(keeper_told_to_end_ends_the_vm)
{
	struct hutch_record *rec;
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	rec = host_inspect(&v);
	ck_assert_int_eq(kill(rec->keeper_pid, SIGTERM), 0);
	hutch_record_free(rec);
	host_expect_reason(&v, "stopped");
	host_env_done(&v);
}
END_TEST

START_TEST(wait_for_ready_of_a_vm_that_dies_tells_why)
{
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, "stderr=no_/dev/kvm exit=1"));
	ck_assert_int_eq(hutch_wait(v.h, "web", HUTCH_WAIT_READY, HOST_LONG_MS,
				    NULL, &v.e),
			 -ESRCH);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "host-error(no /dev/kvm)"));
	ck_assert_int_eq(
		hutch_wait(v.h, "nosuch", HUTCH_WAIT_EXIT, 0, NULL, &v.e),
		-ENOENT);
	host_env_done(&v);
}
END_TEST

START_TEST(wait_with_a_time_out_comes_back)
{
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, "nobell"));
	ck_assert_int_eq(
		hutch_wait(v.h, "web", HUTCH_WAIT_EXIT, 10, NULL, &v.e),
		-ETIMEDOUT);
	ck_assert_int_eq(
		hutch_wait(v.h, "web", HUTCH_WAIT_READY, 10, NULL, &v.e),
		-ETIMEDOUT);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

START_TEST(rm_of_a_live_vm_is_refused)
{
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	ck_assert_int_eq(hutch_rm(v.h, "web", 0, &v.e), -EBUSY);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "alive"));
	host_kill_and_rm(&v);
	ck_assert_int_eq(hutch_rm(v.h, "web", 0, &v.e), -ENOENT);
	host_env_done(&v);
}
END_TEST

/* ---- What the keeper does beside ---- */

START_TEST(guest_connects_to_a_socket_of_the_host)
{
	char dir[4200], buf[16];
	int dirfd, lfd, fd;
	struct hutch_exec *x;
	struct host_env v;
	struct host_result res;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	(void)snprintf(dir, sizeof(dir), "%s/s/run/web", v.dir);
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	lfd = unix_listen(dirfd, "vsock.sock_5000", SOCK_STREAM, NULL);
	ck_assert_int_ge(lfd, 0);
	x = host_run(&v, 0, "connect", "5000", "hi");
	host_collect(&v, x, &res);
	ck_assert_int_eq(res.last.value, 0);
	hutch_exec_close(x);
	fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(read(fd, buf, sizeof(buf)), 2);
	(void)close(fd);
	(void)close(lfd);
	(void)close(dirfd);
	x = host_run(&v, 0, "connect", "5001", "hi");
	host_collect(&v, x, &res);
	ck_assert_int_eq(res.last.value, ENOENT);
	hutch_exec_close(x);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

CHECK_MAIN("keeper", each_way_of_death_has_its_reason,
	   main_process_gives_the_reason,
	   attached_main_process_gives_the_reason,
	   stop_ends_it_and_is_on_record,
	   stop_of_a_guest_that_does_not_boot_ends_it,
	   stop_of_a_deaf_guest_ends_it, kill_ends_it_and_is_on_record,
	   timeout_ends_it_and_is_on_record, lifeline_ends_it,
	   lifeline_outlives_a_killed_starter,
	   rm_leaves_nothing_but_tells_how_it_ended, killed_monitor_is_a_crash,
	   killed_keeper_is_lost_and_takes_the_monitor_along,
	   both_killed_is_lost, keeper_told_to_end_ends_the_vm,
	   wait_for_ready_of_a_vm_that_dies_tells_why,
	   wait_with_a_time_out_comes_back, rm_of_a_live_vm_is_refused,
	   guest_connects_to_a_socket_of_the_host)
