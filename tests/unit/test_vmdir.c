/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_vmdir.c - folders, locks, and records that tell the truth */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "host/lib/dying.h"
#include "host/lib/internal.h"
#include "host/lib/record.h"
#include "host/lib/vmdir.h"
#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

static const char id[] = "0123456789abcdef0123456789abcdef";

/* A VM as a starter leaves it: a record, and the lock held by @d. */
static void make_vm(struct host_env *v, const char *name, struct vmdir *d,
		    void (*change)(struct hutch_record *rec))
{
	struct hutch_record *rec = record_new();
	struct err e = { 0 };
	char boot_id[40];

	(void)snprintf(rec->name, sizeof(rec->name), "%s", name);
	memcpy(rec->id, id, sizeof(id));
	rec->state = HUTCH_STATE_RUNNING;
	rec->keeper_pid = 1;
	vmdir_boot_id(boot_id);
	ck_assert_int_eq(record_set(&rec->boot_id, boot_id), 0);
	if (change)
		change(rec);
	ck_assert_msg(vmdir_lock(v->h, name, d, &e) == 0, "%s", e.msg);
	ck_assert_msg(vmdir_make_state(v->h, d, false, &e) == 0, "%s", e.msg);
	ck_assert_int_eq(record_write(d->state_fd, rec, 0, &e), 0);
	hutch_record_free(rec);
}

static void expect(struct host_env *v, const char *name, enum hutch_state state,
		   const char *reason)
{
	struct hutch_record *rec = NULL;
	char buf[600];

	ck_assert_msg(hutch_inspect(v->h, name, &rec, &v->e) == 0, "%s",
		      v->e.msg);
	ck_assert_int_eq(rec->state, state);
	ck_assert_str_eq(hutch_reason_text(rec, buf, sizeof(buf)), reason);
	hutch_record_free(rec);
}

START_TEST(lock_is_for_one)
{
	struct vmdir a, b;
	struct host_env v;
	struct err e;

	host_env_init(&v);
	ck_assert_int_eq(vmdir_lock(v.h, "web", &a, &e), 0);
	ck_assert_int_eq(vmdir_lock(v.h, "web", &b, &e), -EWOULDBLOCK);
	vmdir_close(&a);
	ck_assert_int_eq(vmdir_lock(v.h, "web", &b, &e), 0);
	vmdir_close(&b);
	host_env_done(&v);
}
END_TEST

/* The winner of a removed lock file must not think that it owns the name. */
START_TEST(lock_of_a_removed_file_is_taken_anew)
{
	struct vmdir a, b, c;
	struct host_env v;
	struct err e;
	int old;

	host_env_init(&v);
	ck_assert_int_eq(vmdir_lock(v.h, "web", &a, &e), 0);
	old = openat(a.run_fd, VMDIR_LOCK, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(vmdir_remove(v.h->run_fd, v.h->state_fd, &a, &e), 0);
	vmdir_close(&a);
	ck_assert_int_eq(flock(old, LOCK_EX | LOCK_NB), 0);
	ck_assert_int_eq(vmdir_lock(v.h, "web", &b, &e), 0);
	ck_assert_int_eq(vmdir_lock(v.h, "web", &c, &e), -EWOULDBLOCK);
	vmdir_close(&b);
	(void)close(old);
	host_env_done(&v);
}
END_TEST

START_TEST(live_vm_is_not_lost)
{
	struct host_env v;
	struct vmdir d;

	host_env_init(&v);
	make_vm(&v, "web", &d, NULL);
	expect(&v, "web", HUTCH_STATE_RUNNING, "running");
	expect(&v, "web", HUTCH_STATE_RUNNING, "running");
	vmdir_close(&d);
	host_env_done(&v);
}
END_TEST

static pid_t zombie(void)
{
	siginfo_t si;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
	return pid;
}

/* The keeper's part: see the end after a while, and record it. */
static void record_the_end(const struct vmdir *d)
{
	struct hutch_record *rec = NULL;
	struct err e = { 0 };

	(void)usleep(100000);
	if (record_read(d->state_fd, &rec, &e) < 0)
		_exit(1);
	rec->state = HUTCH_STATE_STOPPED;
	rec->reason = HUTCH_REASON_VMM_CRASH;
	rec->signal = SIGKILL;
	_exit(record_write(d->state_fd, rec, 0, &e) < 0);
}

/* Between the monitor's death and its keeper's word: neither runs nor lost. */
START_TEST(monitor_that_is_dead_is_not_said_to_run)
{
	struct hutch_record *rec = NULL;
	struct host_env v;
	struct vmdir d;
	struct err e;
	pid_t dead, keeper;
	int status;

	host_env_init(&v);
	make_vm(&v, "web", &d, NULL);
	dead = zombie();
	ck_assert_int_eq(record_read(d.state_fd, &rec, &e), 0);
	rec->vmm_pid = dead;
	ck_assert_int_eq(record_write(d.state_fd, rec, 0, &e), 0);
	hutch_record_free(rec);
	keeper = fork();
	if (keeper == 0)
		record_the_end(&d);
	expect(&v, "web", HUTCH_STATE_STOPPED, "vmm-crash(9)");
	ck_assert_int_eq(waitpid(keeper, &status, 0), keeper);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(waitpid(dead, &status, 0), dead);
	vmdir_close(&d);
	host_env_done(&v);
}
END_TEST

START_TEST(process_with_a_sigkill_is_dying)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			(void)pause();
	ck_assert(!process_is_dying(pid));
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert(process_is_dying(pid));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(process_is_dying(pid));
	ck_assert(!process_is_dying(getpid()));
}
END_TEST

START_TEST(free_lock_is_lost_once)
{
	struct hutch_record *a, *b;
	struct host_env v;
	struct vmdir d;

	host_env_init(&v);
	make_vm(&v, "web", &d, NULL);
	vmdir_close(&d);
	ck_assert_int_eq(hutch_inspect(v.h, "web", &a, &v.e), 0);
	ck_assert_int_eq(a->reason, HUTCH_REASON_LOST);
	ck_assert_int_eq(a->keeper_pid, 0);
	/* From disk: the time of the loss does not change. */
	ck_assert_int_eq(hutch_inspect(v.h, "web", &b, &v.e), 0);
	ck_assert_int_eq(b->reason, HUTCH_REASON_LOST);
	ck_assert(a->ended_ns == b->ended_ns);
	hutch_record_free(a);
	hutch_record_free(b);
	host_env_done(&v);
}
END_TEST

static void other_boot(struct hutch_record *rec)
{
	ck_assert_int_eq(record_set(&rec->boot_id, "another"), 0);
}

START_TEST(restarted_host_is_lost_and_says_so)
{
	struct hutch_record *rec;
	char path[4200];
	struct host_env v;
	struct vmdir d;

	host_env_init(&v);
	make_vm(&v, "web", &d, other_boot);
	vmdir_close(&d);
	/* What a restart leaves of a folder in /run. */
	(void)snprintf(path, sizeof(path), "%s/s/run/web", v.dir);
	host_env_remove(path);
	ck_assert_int_eq(hutch_inspect(v.h, "web", &rec, &v.e), 0);
	ck_assert_int_eq(rec->reason, HUTCH_REASON_LOST);
	ck_assert_str_eq(rec->text, "the host was restarted");
	hutch_record_free(rec);
	host_env_done(&v);
}
END_TEST

static void to_be_removed(struct hutch_record *rec)
{
	rec->rm = 1;
}

START_TEST(lost_vm_that_was_to_go_goes)
{
	struct hutch_record *rec;
	char path[4200];
	struct host_env v;
	struct vmdir d;

	host_env_init(&v);
	make_vm(&v, "web", &d, to_be_removed);
	vmdir_close(&d);
	expect(&v, "web", HUTCH_STATE_STOPPED, "lost");
	ck_assert_int_eq(hutch_inspect(v.h, "web", &rec, &v.e), -ENOENT);
	(void)snprintf(path, sizeof(path), "%s/s/run/web", v.dir);
	ck_assert_int_eq(access(path, F_OK), -1);
	host_env_done(&v);
}
END_TEST

static void stopped(struct hutch_record *rec)
{
	rec->state = HUTCH_STATE_STOPPED;
	rec->reason = HUTCH_REASON_EXITED;
	rec->exit_code = 3;
}

/* The keeper has written its last record and is on its way out. */
START_TEST(stopped_vm_stays_as_it_is_under_either_lock)
{
	struct host_env v;
	struct vmdir d;

	host_env_init(&v);
	make_vm(&v, "web", &d, stopped);
	expect(&v, "web", HUTCH_STATE_STOPPED, "exited(3)");
	vmdir_close(&d);
	expect(&v, "web", HUTCH_STATE_STOPPED, "exited(3)");
	host_env_done(&v);
}
END_TEST

START_TEST(damaged_record_is_lost_and_can_be_removed)
{
	struct hutch_record *rec;
	struct host_env v;
	struct vmdir d;
	int fd;

	host_env_init(&v);
	make_vm(&v, "web", &d, NULL);
	fd = openat(d.state_fd, RECORD_FILE, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ck_assert_int_eq(write(fd, "{\"ver", 5), 5);
	(void)close(fd);
	vmdir_close(&d);
	ck_assert_int_eq(hutch_inspect(v.h, "web", &rec, &v.e), 0);
	ck_assert_int_eq(rec->reason, HUTCH_REASON_LOST);
	ck_assert_ptr_nonnull(strstr(rec->text, "record.json"));
	hutch_record_free(rec);
	ck_assert_int_eq(hutch_rm(v.h, "web", 0, &v.e), 0);
	ck_assert_int_eq(hutch_inspect(v.h, "web", &rec, &v.e), -ENOENT);
	host_env_done(&v);
}
END_TEST

START_TEST(list_is_sorted_and_skips_what_is_no_vm)
{
	static const char *const name[] = { "b", "a-2", "a", "z9" };
	static const char *const want[] = { "a", "a-2", "b", "z9" };
	struct hutch_record **list;
	struct host_env v;
	struct vmdir d;

	host_env_init(&v);
	for (size_t i = 0; i < ARRAY_LEN(name); i++) {
		make_vm(&v, name[i], &d, stopped);
		vmdir_close(&d);
	}
	ck_assert_int_eq(mkdirat(v.h->state_fd, "Not-a-name", 0700), 0);
	ck_assert_int_eq(mkdirat(v.h->state_fd, "no-record", 0700), 0);
	ck_assert_int_eq(hutch_list(v.h, &list, &v.e), 4);
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		ck_assert_str_eq(list[i]->name, want[i]);
	ck_assert_ptr_null(list[4]);
	hutch_list_free(list);
	host_env_done(&v);
}
END_TEST

START_TEST(list_sweeps_up_after_a_killed_start)
{
	struct hutch_record **list;
	char path[4200];
	struct host_env v;
	struct vmdir d;
	struct err e;
	int fd;

	host_env_init(&v);
	/* One with a lock only, one with folders, one that somebody uses. */
	ck_assert_int_eq(vmdir_lock(v.h, "a", &d, &e), 0);
	vmdir_close(&d);
	ck_assert_int_eq(vmdir_lock(v.h, "b", &d, &e), 0);
	ck_assert_int_eq(vmdir_make_state(v.h, &d, false, &e), 0);
	fd = openat(d.state_fd, RECORD_TMP, O_CREAT | O_WRONLY | O_CLOEXEC,
		    0600);
	(void)close(fd);
	vmdir_close(&d);
	ck_assert_int_eq(vmdir_lock(v.h, "c", &d, &e), 0);
	ck_assert_int_eq(hutch_list(v.h, &list, &v.e), 0);
	hutch_list_free(list);
	(void)snprintf(path, sizeof(path), "%s/s/run/a", v.dir);
	ck_assert_int_eq(access(path, F_OK), -1);
	(void)snprintf(path, sizeof(path), "%s/s/run/b", v.dir);
	ck_assert_int_eq(access(path, F_OK), -1);
	(void)snprintf(path, sizeof(path), "%s/s/state/b", v.dir);
	ck_assert_int_eq(access(path, F_OK), -1);
	(void)snprintf(path, sizeof(path), "%s/s/run/c", v.dir);
	ck_assert_int_eq(access(path, F_OK), 0);
	vmdir_close(&d);
	host_env_done(&v);
}
END_TEST

/* What was never ours is not swept up. */
START_TEST(list_leaves_others_files_alone)
{
	struct hutch_record **list;
	char path[4200];
	struct host_env v;

	host_env_init(&v);
	ck_assert_int_eq(mkdirat(v.h->state_fd, "mine", 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/s/state/mine/thesis", v.dir);
	(void)close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	ck_assert_int_eq(hutch_list(v.h, &list, &v.e), 0);
	hutch_list_free(list);
	ck_assert_int_eq(access(path, F_OK), 0);
	host_env_done(&v);
}
END_TEST

START_TEST(bad_names_are_refused_everywhere)
{
	static const char too_long[] =
		"a234567890123456789012345678901234567890123456789012345678901"
		"234";
	const char *const bad[] = {
		"",   "-a", "A",   "a b",      "a/b",
		"..", ".",  "a.b", "\xc3\xa9", too_long,
	};
	struct hutch_record *rec;
	struct host_env v;

	host_env_init(&v);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		ck_assert_int_eq(hutch_inspect(v.h, bad[i], &rec, &v.e),
				 -EINVAL);
		ck_assert_int_eq(hutch_rm(v.h, bad[i], HUTCH_RM_FORCE, &v.e),
				 -EINVAL);
		ck_assert_int_eq(hutch_stop(v.h, bad[i], 0, &v.e), -EINVAL);
	}
	host_env_done(&v);
}
END_TEST

/* ---- hutch_open() ---- */

static int open_at(const char *dir, struct hutch **h, struct hutch_err *e)
{
	struct hutch_opts o = HUTCH_OPTS_INIT;

	o.state_dir = dir;
	return hutch_open(&o, h, e);
}

START_TEST(open_makes_private_folders)
{
	char path[4200];
	struct host_env v;
	struct hutch *h;
	struct stat st;

	host_env_init(&v);
	(void)umask(0);
	(void)snprintf(path, sizeof(path), "%s/p/q", v.dir);
	ck_assert_int_eq(open_at(path, &h, &v.e), 0);
	ck_assert_int_eq(fstat(h->run_fd, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0700);
	ck_assert_int_eq(fstat(h->state_fd, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0700);
	/* One made by hand, too open, is closed. */
	ck_assert_int_eq(fchmod(h->run_fd, 0777), 0);
	hutch_close(h);
	ck_assert_int_eq(open_at(path, &h, &v.e), 0);
	ck_assert_int_eq(fstat(h->run_fd, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0700);
	hutch_close(h);
	host_env_done(&v);
}
END_TEST

START_TEST(open_refuses_a_relative_folder)
{
	struct hutch_err e;
	struct hutch *h;

	ck_assert_int_eq(open_at("some/folder", &h, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.msg, "'some/folder'"));
}
END_TEST

START_TEST(open_refuses_anothers_folder)
{
	char path[4200];
	struct host_env v;
	struct hutch *h;

	if (geteuid() != 0)
		return; /* only root can give a folder away */
	host_env_init(&v);
	(void)snprintf(path, sizeof(path), "%s/p", v.dir);
	ck_assert_int_eq(open_at(path, &h, &v.e), 0);
	ck_assert_int_eq(fchown(h->run_fd, 12345, 12345), 0);
	hutch_close(h);
	ck_assert_int_eq(open_at(path, &h, &v.e), -EPERM);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "12345"));
	host_env_done(&v);
}
END_TEST

static void try_as_user(const struct host_env *v)
{
	struct hutch_err e;
	struct hutch *h;
	char want[4400];

	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		_exit(1);
	(void)unsetenv("HUTCH_STATE");
	(void)setenv("HOME", v->dir, 1);
	(void)unsetenv("XDG_RUNTIME_DIR");
	(void)unsetenv("XDG_STATE_HOME");
	if (hutch_open(NULL, &h, &e) < 0)
		_exit(2);
	(void)snprintf(want, sizeof(want), "%s/.local/state/hutch", v->dir);
	if (strcmp(h->state, want) != 0)
		_exit(3);
	(void)snprintf(want, sizeof(want), "%s/.local/state/hutch/.run",
		       v->dir);
	if (strcmp(h->run, want) != 0)
		_exit(4);
	hutch_close(h);
	(void)setenv("XDG_RUNTIME_DIR", v->dir, 1);
	(void)setenv("XDG_STATE_HOME", v->dir, 1);
	if (hutch_open(NULL, &h, &e) < 0)
		_exit(5);
	(void)snprintf(want, sizeof(want), "%s/hutch", v->dir);
	_exit(strcmp(h->run, want) == 0 && strcmp(h->state, want) == 0 ? 0 : 6);
}

START_TEST(open_as_a_user_follows_xdg)
{
	struct host_env v;
	int status = -1;
	pid_t pid;

	host_env_init(&v);
	if (geteuid() == 0)
		ck_assert_int_eq(chown(v.dir, 65534, 65534), 0);
	pid = fork();
	if (pid == 0)
		try_as_user(&v);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	host_env_done(&v);
}
END_TEST

CHECK_MAIN("vmdir", lock_is_for_one, lock_of_a_removed_file_is_taken_anew,
	   live_vm_is_not_lost, monitor_that_is_dead_is_not_said_to_run,
	   process_with_a_sigkill_is_dying, free_lock_is_lost_once,
	   restarted_host_is_lost_and_says_so, lost_vm_that_was_to_go_goes,
	   stopped_vm_stays_as_it_is_under_either_lock,
	   damaged_record_is_lost_and_can_be_removed,
	   list_is_sorted_and_skips_what_is_no_vm,
	   list_sweeps_up_after_a_killed_start, list_leaves_others_files_alone,
	   bad_names_are_refused_everywhere, open_makes_private_folders,
	   open_refuses_a_relative_folder, open_refuses_anothers_folder,
	   open_as_a_user_follows_xdg)
