/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_vmwatch.c - waiting for a VM, also if its keeper is full */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/unix.h"
#include "host/keeper/keeper.h"
#include "host/lib/internal.h"
#include "host/lib/vmwatch.h"
#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

#define SHORT_MS 300 /* the least that a wait takes that must not end */

/* ---- The deadline ---- */

START_TEST(wait_keeps_its_deadline_while_there_is_news)
{
	struct vmwatch f = VMWATCH_INIT;
	struct host_env v;
	struct err e;
	int dirfd, fd;

	host_env_init(&v);
	dirfd = open(v.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(vmwatch_open(&f), 0);
	ck_assert_int_ge(vmwatch_dir(&f, dirfd), 0);
	ck_assert_int_eq(vmwatch_wait(&f, deadline_in(0), &e), 0);
	fd = openat(dirfd, "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(vmwatch_wait(&f, deadline_in(-1), &e), 1);
	ck_assert_int_eq(vmwatch_wait(&f, deadline_in(0), &e), 0);
	(void)close(fd);
	(void)close(dirfd);
	vmwatch_close(&f);
	host_env_done(&v);
}
END_TEST

/* ---- A keeper with all of its clients ---- */

/** struct crowd - Clients that say nothing, as many as a keeper takes */
struct crowd {
	int fd[KEEPER_CLIENTS_MAX];
};

static int keeper_connect(const struct host_env *v)
{
	char dir[4200];
	int dirfd, fd;

	(void)snprintf(dir, sizeof(dir), "%s/s/run/web", v->dir);
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bug_on(dirfd < 0);
	fd = unix_connect(dirfd, "keeper.sock", SOCK_STREAM, NULL);
	(void)close(dirfd);
	bug_on(fd < 0);
	return fd;
}

/* Each is answered, so each is in. */
static void crowd_fill(const struct host_env *v, struct crowd *c)
{
	struct rlimit rl;
	char buf[256];

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	rl.rlim_cur = rl.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
	for (int i = 0; i < KEEPER_CLIENTS_MAX; i++) {
		c->fd[i] = keeper_connect(v);
		bug_on(send(c->fd[i], "status\n", 7, MSG_NOSIGNAL) != 7);
		bug_on(recv(c->fd[i], buf, sizeof(buf), 0) <= 0);
	}
}

static void crowd_leave(struct crowd *c)
{
	for (int i = 0; i < KEEPER_CLIENTS_MAX; i++)
		(void)close(c->fd[i]);
}

/* Return: whether the keeper answers that, and does not just hang up. */
static bool is_answered(int fd, const char *line)
{
	const ssize_t len = (ssize_t)strlen(line);
	char buf[256];

	return send(fd, line, (size_t)len, MSG_NOSIGNAL) == len &&
	       recv(fd, buf, sizeof(buf), 0) > 0;
}

START_TEST(full_keeper_has_places_for_who_ends_it)
{
	int silent[2 * KEEPER_RESERVED];
	struct host_env v;
	struct crowd c;
	int fd;

	host_up(&v);
	crowd_fill(&v, &c);
	fd = keeper_connect(&v);
	ck_assert(is_answered(fd, "status\n"));
	ck_assert(!is_answered(fd, "wait for=ready\n"));
	(void)close(fd);
	/* Somebody leaves: there is a place for all else. */
	fd = keeper_connect(&v);
	ck_assert(is_answered(fd, "status\n"));
	(void)close(c.fd[0]);
	c.fd[0] = -1;
	while (!is_answered(fd, "wait for=ready\n")) {
		(void)close(fd);
		fd = keeper_connect(&v);
	}
	c.fd[0] = fd;
	/* Who says nothing holds none of them. */
	for (size_t i = 0; i < ARRAY_LEN(silent); i++)
		silent[i] = keeper_connect(&v);
	ck_assert_msg(hutch_stop(v.h, "web", 0, &v.e) == 0, "%s", v.e.msg);
	for (size_t i = 0; i < ARRAY_LEN(silent); i++)
		(void)close(silent[i]);
	crowd_leave(&c);
	host_env_done(&v);
}
END_TEST

/* Once is enough: a wait that spins is never quiet. */
static void expect_quiet(int fd, int (*next)(void *ctx), void *ctx)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(next(ctx), 0);
		if (poll(&p, 1, VMWATCH_AGAIN_MS / 4) == 0)
			return;
	}
	ck_abort_msg("there is always something to look at");
}

static int next_piece(void *ctx)
{
	struct hutch_log_piece p;

	return hutch_logs_next(ctx, &p, NULL);
}

static int next_event(void *ctx)
{
	struct hutch_vm_event ev;

	return hutch_events_next(ctx, &ev, NULL);
}

START_TEST(logs_of_a_full_keeper_go_on_to_the_end)
{
	struct hutch_log_piece p;
	struct hutch_logs *l;
	struct host_env v;
	struct crowd c;

	host_up(&v);
	crowd_fill(&v, &c);
	ck_assert_int_eq(hutch_logs_open(v.h, "web", HUTCH_LOG_MAIN,
					 HUTCH_LOGS_FOLLOW, &l, &v.e),
			 0);
	ck_assert_int_eq(hutch_logs_wait(l, &p, SHORT_MS, &v.e), 0);
	expect_quiet(hutch_logs_fd(l), next_piece, l);
	crowd_leave(&c);
	ck_assert_int_eq(hutch_stop(v.h, "web", -1, &v.e), 0);
	ck_assert_int_eq(hutch_logs_wait(l, &p, HOST_LONG_MS, &v.e), -ENODATA);
	hutch_logs_close(l);
	host_env_done(&v);
}
END_TEST

START_TEST(events_of_a_full_keeper_go_on_to_the_end)
{
	struct hutch_events *ev;
	struct hutch_vm_event e;
	struct host_env v;
	struct crowd c;
	int r;

	host_up(&v);
	ck_assert_int_eq(hutch_wait(v.h, "web", HUTCH_WAIT_READY, HOST_LONG_MS,
				    NULL, &v.e),
			 0);
	crowd_fill(&v, &c);
	ck_assert_int_eq(
		hutch_events_open(v.h, "web", HUTCH_EVENTS_FOLLOW, &ev, &v.e),
		0);
	while ((r = hutch_events_wait(ev, &e, SHORT_MS, &v.e)) > 0)
		ck_assert_str_ne(e.kind, "stopped");
	ck_assert_int_eq(r, 0);
	expect_quiet(hutch_events_fd(ev), next_event, ev);
	crowd_leave(&c);
	ck_assert_int_eq(hutch_stop(v.h, "web", -1, &v.e), 0);
	ck_assert_int_eq(hutch_events_wait(ev, &e, HOST_LONG_MS, &v.e), 1);
	ck_assert_str_eq(e.kind, "stopped");
	ck_assert_str_eq(e.reason, "stopped");
	hutch_events_close(ev);
	host_env_done(&v);
}
END_TEST

/* In a process of its own; ends with 0 if the VM has ended as it should. */
static pid_t wait_beside(struct host_env *v, struct crowd *c)
{
	pid_t pid = fork();
	struct hutch_record *rec;

	if (pid != 0)
		return pid;
	crowd_leave(c); /* copies of ours, that would keep them in */
	if (hutch_wait(v->h, "web", HUTCH_WAIT_EXIT, HOST_LONG_MS, &rec,
		       &v->e) < 0)
		_exit(1);
	_exit(rec->reason == HUTCH_REASON_STOPPED ? 0 : 2);
}

START_TEST(wait_for_a_full_keeper_goes_on_to_the_end)
{
	struct host_env v;
	struct crowd c;
	int status;
	pid_t pid;

	host_up(&v);
	crowd_fill(&v, &c);
	ck_assert_int_eq(
		hutch_wait(v.h, "web", HUTCH_WAIT_EXIT, SHORT_MS, NULL, &v.e),
		-ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "all the clients"));
	ck_assert_int_eq(
		hutch_wait(v.h, "web", HUTCH_WAIT_READY, SHORT_MS, NULL, &v.e),
		-ETIMEDOUT);
	pid = wait_beside(&v, &c);
	ck_assert_int_gt(pid, 0);
	/* Longer than a dying keeper is waited for. */
	(void)sleep(6);
	ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
	crowd_leave(&c);
	ck_assert_int_eq(hutch_stop(v.h, "web", -1, &v.e), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	host_env_done(&v);
}
END_TEST

CHECK_MAIN("vmwatch", wait_keeps_its_deadline_while_there_is_news,
	   full_keeper_has_places_for_who_ends_it,
	   logs_of_a_full_keeper_go_on_to_the_end,
	   events_of_a_full_keeper_go_on_to_the_end,
	   wait_for_a_full_keeper_goes_on_to_the_end)
