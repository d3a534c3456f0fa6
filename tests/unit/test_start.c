/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_start.c - hutch_start() and the real keeper, no KVM */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

START_TEST(start_then_list_shows_it_running)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	static const char *const env[] = { "A=1", "B=two words", NULL };
	struct hutch_record **list;
	struct hutch_vm *vm;
	struct host_env v;

	host_env_init(&v);
	o.name = "web";
	o.env = env;
	o.cpus = 2;
	o.wait = HUTCH_WAIT_READY;
	vm = host_start_with(&v, "", &o);

	ck_assert_str_eq(hutch_vm_name(vm), "web");
	ck_assert_int_eq(hutch_list(v.h, &list, &v.e), 1);
	ck_assert_int_eq(list[0]->state, HUTCH_STATE_RUNNING);
	ck_assert_int_eq(list[0]->reason, HUTCH_REASON_NONE);
	ck_assert_uint_eq(list[0]->cpus, 2);
	ck_assert_str_eq(list[0]->env[1], "B=two words");
	ck_assert_int_gt(list[0]->keeper_pid, 0);
	ck_assert_int_gt(list[0]->vmm_pid, 0);
	ck_assert(list[0]->created_ns <= list[0]->started_ns);
	ck_assert(list[0]->started_ns <= list[0]->ready_ns);
	hutch_list_free(list);
	hutch_vm_close(vm);
	host_kill_and_rm(&v);
	ck_assert_int_eq(hutch_list(v.h, &list, &v.e), 0);
	hutch_list_free(list);
	host_env_done(&v);
}
END_TEST

START_TEST(start_makes_up_a_name)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_vm *vm;
	struct host_env v;

	host_env_init(&v);
	o.flags = HUTCH_START_LIFELINE | HUTCH_START_RM;
	vm = host_start_with(&v, "", &o);
	ck_assert(hutch_name_ok(hutch_vm_name(vm)));
	hutch_vm_close(vm);
	host_env_done(&v);
}
END_TEST

START_TEST(start_of_a_name_in_use_is_refused)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct host_env v;
	char kernel[4200];

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	o.name = "web";
	o.kernel = host_env_kernel(&v, "", kernel);

	ck_assert_int_eq(hutch_start(v.h, &o, NULL, &v.e), -EEXIST);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "'web' is in use"));
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

START_TEST(start_of_a_stopped_name_is_a_fresh_vm)
{
	struct hutch_record *a, *b;
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, "exit=0"));
	a = host_wait_end(&v, "web");
	/* At once: whoever has been told of the end may use the name. */
	hutch_vm_close(host_start(&v, ""));
	ck_assert_int_eq(hutch_inspect(v.h, "web", &b, &v.e), 0);
	ck_assert_str_ne(a->id, b->id);
	ck_assert_int_ne(b->state, HUTCH_STATE_STOPPED);
	hutch_record_free(a);
	hutch_record_free(b);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

START_TEST(two_starts_of_one_name_one_wins)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	int won = 0, lost = 0, status;
	struct host_env v;
	char kernel[4200];

	host_env_init(&v);
	o.name = "web";
	o.kernel = host_env_kernel(&v, "", kernel);
	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			int r = hutch_start(v.h, &o, NULL, &v.e);

			_exit(r == 0 ? 0 : r == -EEXIST ? 1 : 2);
		}
	for (int i = 0; i < 4; i++) {
		ck_assert_int_gt(wait(&status), 0);
		won += WEXITSTATUS(status) == 0;
		lost += WEXITSTATUS(status) == 1;
	}
	ck_assert_int_eq(won, 1);
	ck_assert_int_eq(lost, 3);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

START_TEST(start_puts_labels_and_life_on_record)
{
	static const char *const labels[] = { "team=b=c", "a/b.c_D-1=", NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_record *rec;
	struct host_env v;

	o.labels = labels;
	o.idle_timeout_ms = 3600000;
	o.on_exit = HUTCH_ON_EXIT_KEEP;
	o.flags = HUTCH_START_KEEP_ALIVE_PROCESSES;
	host_up_with(&v, "", &o);

	ck_assert_int_eq(hutch_inspect(v.h, "web", &rec, &v.e), 0);
	ck_assert_str_eq(rec->labels[0], "a/b.c_D-1=");
	ck_assert_str_eq(rec->labels[1], "team=b=c");
	ck_assert_ptr_null(rec->labels[2]);
	ck_assert_uint_eq(rec->idle_timeout_ms, 3600000);
	ck_assert_int_eq(rec->on_exit, HUTCH_ON_EXIT_KEEP);
	ck_assert_int_eq(rec->keep_alive_processes, 1);
	hutch_record_free(rec);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

/* hutch_wait() goes by the name, hutch_vm_wait() by the VM. */
START_TEST(vm_wait_is_for_the_vm_not_for_its_name)
{
	static const char *const argv[] = { "exit", "3", NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_record *rec;
	struct hutch_vm *a, *b;
	struct host_env v;

	host_env_init(&v);
	o.name = "web";
	o.argv = argv;
	a = host_start_with(&v, "", &o);
	hutch_record_free(host_wait_end(&v, "web"));
	b = host_start(&v, "");

	ck_assert_int_eq(hutch_vm_wait(v.h, a, HOST_LONG_MS, &rec, &v.e), 0);
	ck_assert_str_eq(rec->id, hutch_vm_id(a));
	ck_assert_int_eq(rec->reason, HUTCH_REASON_EXITED);
	ck_assert_int_eq(rec->exit_code, 3);
	hutch_record_free(rec);
	ck_assert_int_eq(hutch_vm_wait(v.h, b, 1, &rec, &v.e), -ETIMEDOUT);
	host_kill_and_rm(&v);
	/* And again, when nothing of either is left. */
	ck_assert_int_eq(hutch_vm_wait(v.h, a, 0, &rec, &v.e), 0);
	ck_assert_int_eq(rec->exit_code, 3);
	hutch_record_free(rec);
	ck_assert_int_eq(hutch_vm_wait(v.h, b, HOST_LONG_MS, &rec, &v.e), 0);
	ck_assert_int_eq(rec->reason, HUTCH_REASON_STOPPED);
	hutch_record_free(rec);
	hutch_vm_close(a);
	hutch_vm_close(b);
	host_env_done(&v);
}
END_TEST

START_TEST(start_refuses_what_is_wrong)
{
	static const char *const bad_label[] = { "no", NULL };
	static const char *const bad_key[] = { "a b=c", NULL };
	static const char *const same_key[] = { "a=1", "ab=1", "a=2", NULL };
	static const char *const no_command[] = { NULL };
	static const char *const bad_env[] = { "NOVALUE", NULL };
	struct {
		const char *says;
		struct hutch_start_opts o;
	} bad[] = {
		{ "name 'Web'", { .name = "Web" } },
		{ "label 'no'", { .name = "web", .labels = bad_label } },
		{ "label 'a b=c'", { .name = "web", .labels = bad_key } },
		{ "'a' is given twice", { .name = "web", .labels = same_key } },
		{ "on_exit 2", { .name = "web", .on_exit = 2 } },
		{ "idle timeout",
		  { .name = "web", .idle_timeout_ms = UINT64_MAX } },
		{ "cpus: 33", { .name = "web", .cpus = 33 } },
		{ "memory", { .name = "web", .memory = 1 << 20 } },
		{ "memory", { .name = "web", .memory = 100ull << 40 } },
		{ "memory", { .name = "web", .memory = (64 << 20) + 1 } },
		{ "unknown flags", { .name = "web", .flags = 1u << 31 } },
		{ "hostname", { .name = "web", .hostname = "a b" } },
		{ "NAME=VALUE", { .name = "web", .env = bad_env } },
		{ "no command", { .name = "web", .argv = no_command } },
		{ "absolute", { .name = "web", .workdir = "tmp" } },
		{ "there is no command",
		  { .name = "web", .flags = HUTCH_START_ATTACH } },
		{ "handle is needed", { .name = NULL } },
		{ "ten years", { .name = "web", .timeout_ms = UINT64_MAX } },
		{ "cannot wait", { .name = "web", .wait = HUTCH_WAIT_EXIT } },
	};
	struct hutch_record **list;
	struct host_env v;
	char kernel[4200];

	host_env_init(&v);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		bad[i].o.size = sizeof(bad[i].o);
		bad[i].o.kernel = host_env_kernel(&v, "", kernel);
		ck_assert_int_eq(hutch_start(v.h, &bad[i].o, NULL, &v.e),
				 -EINVAL);
		ck_assert_msg(strstr(v.e.msg, bad[i].says) != NULL,
			      "'%s' is not in '%s'", bad[i].says, v.e.msg);
	}
	ck_assert_int_eq(hutch_list(v.h, &list, &v.e), 0);
	hutch_list_free(list);
	host_env_done(&v);
}
END_TEST

START_TEST(start_without_a_kernel_says_so_and_leaves_nothing)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_record **list;
	struct host_env v;

	host_env_init(&v);
	o.name = "web";
	o.kernel = "/nonexistent/vmlinux";
	ck_assert_int_eq(hutch_start(v.h, &o, NULL, &v.e), -ENOENT);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "/nonexistent/vmlinux"));
	ck_assert_int_eq(hutch_list(v.h, &list, &v.e), 0);
	hutch_list_free(list);
	host_env_done(&v);
}
END_TEST

START_TEST(start_with_a_monitor_that_cannot_run_leaves_nothing)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_record **list;
	struct host_env v;
	char kernel[4200], vmm[4200];

	host_env_init(&v);
	(void)snprintf(vmm, sizeof(vmm), "%s/x/hutch-vmm", v.dir);
	ck_assert_int_eq(unlink(vmm), 0);
	ck_assert_int_eq(symlink("/etc/passwd", vmm), 0);
	o.name = "web";
	o.kernel = host_env_kernel(&v, "", kernel);
	ck_assert_int_eq(hutch_start(v.h, &o, NULL, &v.e), -EIO);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "hutch-vmm"));
	ck_assert_int_eq(hutch_list(v.h, &list, &v.e), 0);
	hutch_list_free(list);
	host_env_done(&v);
}
END_TEST

/* A pipe the starter's stdout is must not be held open by the keeper. */
START_TEST(start_leaves_no_descriptor_in_the_keeper)
{
	struct host_env v;
	struct pollfd p;
	int fd[2];

	host_env_init(&v);
	ck_assert_int_eq(pipe(fd), 0);
	hutch_vm_close(host_start(&v, ""));
	(void)close(fd[1]);
	p = (struct pollfd){ .fd = fd[0], .events = POLLIN };
	ck_assert_int_eq(poll(&p, 1, HOST_LONG_MS), 1);
	ck_assert(p.revents & POLLHUP);
	(void)close(fd[0]);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

/* 63 bytes of name under a folder far deeper than a socket's path may be. */
START_TEST(start_with_a_long_name_under_a_deep_folder)
{
	static const char name[] = "a2345678901234567890123456789012345678901"
				   "2345678901234567890123";
	struct hutch_start_opts so = HUTCH_START_OPTS_INIT;
	struct hutch_opts o = HUTCH_OPTS_INIT;
	char deep[4000], libexec[4200], kernel[4200];
	struct hutch_record *rec;
	struct host_env v;
	struct hutch *h;
	int n;

	host_env_init(&v);
	n = snprintf(deep, sizeof(deep), "%s", v.dir);
	while (n < 3000)
		n += snprintf(deep + n, sizeof(deep) - (size_t)n,
			      "/a-folder-with-quite-a-long-name");
	(void)snprintf(libexec, sizeof(libexec), "%s/x", v.dir);
	o.state_dir = deep;
	o.libexec_dir = libexec;
	ck_assert_msg(hutch_open(&o, &h, &v.e) == 0, "%s", v.e.msg);
	so.name = name;
	so.kernel = host_env_kernel(&v, "", kernel);
	so.wait = HUTCH_WAIT_READY;
	ck_assert_msg(hutch_start(h, &so, NULL, &v.e) == 0, "%s", v.e.msg);
	ck_assert_int_eq(hutch_inspect(h, name, &rec, &v.e), 0);
	ck_assert_int_eq(rec->state, HUTCH_STATE_RUNNING);
	hutch_record_free(rec);
	ck_assert_int_eq(hutch_rm(h, name, HUTCH_RM_FORCE, &v.e), 0);
	hutch_close(h);
	host_env_done(&v);
}
END_TEST

/* A file-size limit is a disk that is full. */
START_TEST(start_on_a_full_disk_says_so_and_leaves_nothing)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct rlimit old, rl;
	struct host_env v;
	char kernel[4200], path[4200];
	int r;

	host_env_init(&v);
	o.name = "web";
	o.kernel = host_env_kernel(&v, "", kernel);
	(void)signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
	rl = (struct rlimit){ 200, old.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &rl), 0);
	r = hutch_start(v.h, &o, NULL, &v.e);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
	ck_assert_int_eq(r, -EFBIG);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "record of 'web'"));
	(void)snprintf(path, sizeof(path), "%s/s/state/web", v.dir);
	ck_assert_int_eq(access(path, F_OK), -1);
	(void)snprintf(path, sizeof(path), "%s/s/run/web", v.dir);
	ck_assert_int_eq(access(path, F_OK), -1);
	host_env_done(&v);
}
END_TEST

CHECK_MAIN("start", start_then_list_shows_it_running, start_makes_up_a_name,
	   start_of_a_name_in_use_is_refused,
	   start_of_a_stopped_name_is_a_fresh_vm,
	   two_starts_of_one_name_one_wins, start_refuses_what_is_wrong,
	   start_puts_labels_and_life_on_record,
	   vm_wait_is_for_the_vm_not_for_its_name,
	   start_without_a_kernel_says_so_and_leaves_nothing,
	   start_with_a_monitor_that_cannot_run_leaves_nothing,
	   start_leaves_no_descriptor_in_the_keeper,
	   start_with_a_long_name_under_a_deep_folder,
	   start_on_a_full_disk_says_so_and_leaves_nothing)
