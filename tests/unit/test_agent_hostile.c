/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_agent_hostile.c - guest-agent: who does not play along */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "guest-agent/child.h"
#include "guest-agent/process.h"
#include "tests/lib/agent_kit.h"
#include "tests/lib/check_main.h"

static void exec_id(struct kit *k, const char *id, struct outcome *o)
{
	static const char *const argv[] = { "true", NULL };
	struct client c;

	client_open(&c, k, true);
	client_exec(&c, &(struct msg_exec){ .id = id }, argv);
	client_collect(&c, o);
	client_close(&c);
}

START_TEST(id_of_one_whose_end_is_not_taken_is_not_given_away)
{
	static const char *const argv[] = { "cat", "/dev/zero", NULL };
	struct outcome o = { 0 }, other;
	struct wire_frame f;
	struct client c;
	struct kit k;

	kit_init(&k);
	client_open(&c, &k, true);
	client_exec(&c, &(struct msg_exec){ .id = "slow" }, argv);
	client_want_started(&c);
	/* Until nothing more has room on the way to the client. */
	for (int i = 0; i < 200; i++)
		kit_step(&k, 1);
	client_signal(&c, SIGKILL, WIRE_SCOPE_ONE);
	kit_until(&k, kit_none_lives);
	exec_id(&k, "slow", &other);
	ck_assert(other.failed);
	ck_assert_uint_eq(other.error.code, EEXIST);
	outcome_done(&other);

	/* Its own client may go on with it. */
	client_signal(&c, SIGTERM, WIRE_SCOPE_ONE);
	while (client_next(&c, &f))
		outcome_take(&o, &f);
	ck_assert(o.exited);
	ck_assert_uint_eq(o.exit.value, SIGKILL);
	ck_assert_uint_eq(o.exit.stdout_total, o.out.len);
	/* With EXIT on its way nobody needs the old one. */
	exec_id(&k, "slow", &other);
	ck_assert(other.exited);
	client_close(&c);
	outcome_done(&other);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

/* A grandchild has the report pipe open until it sees the end of stdin. */
static pid_t spawn_and_keep_the_report(const struct spawn *s)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (fork() == 0 && fcntl(s->report_fd, F_SETFD, 0) == 0 &&
	    dup2(s->stdio[0], 0) == 0)
		(void)execlp("cat", "cat", NULL);
	_exit(0);
}

START_TEST(report_that_outlives_its_child_raises_no_dead)
{
	const struct proc *p;
	struct agent_ops ops;
	struct outcome o;
	struct client c;
	struct kit k;

	kit_init(&k);
	ops = *k.a.ops;
	ops.spawn = spawn_and_keep_the_report;
	k.a.ops = &ops;
	client_open(&c, &k, true);
	client_sh(&c,
		  WIRE_EXEC_STDIN | WIRE_EXEC_STDOUT_NULL |
			  WIRE_EXEC_STDERR_NULL,
		  "");
	client_collect(&c, &o);
	ck_assert(o.exited);
	for (int i = 0; i < 50; i++)
		kit_step(&k, 1);

	ck_assert_uint_eq(k.a.n_ended, 1);
	p = container_of(k.a.ended.next, struct proc, link);
	ck_assert_int_eq(p->state, PROC_EXITED);
	client_close(&c);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(timeout_kills_what_left_its_cgroup)
{
	struct client c;
	struct outcome o;
	char script[400];
	const char *argv[] = { "sh", "-c", script, NULL };
	struct kit k;

	kit_init(&k);
	if (!kit_cgroups(&k)) {
		/* A machine that gives us none; the guest has them always. */
		kit_done(&k);
		return;
	}
	(void)snprintf(script, sizeof(script),
		       "echo $$ > %s/../cgroup.procs; exec sleep 1000",
		       k.cgroup);
	client_open(&c, &k, true);
	client_exec(&c, &(struct msg_exec){ .id = "", .timeout_ms = 500 },
		    argv);
	client_collect(&c, &o);
	ck_assert(o.exited);
	ck_assert_uint_eq(o.exit.value, SIGKILL);
	ck_assert_uint_eq(o.exit.flags, WIRE_EXIT_TIMED_OUT);
	client_close(&c);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

static void shut_down(struct kit *k, uint32_t grace_ms)
{
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct client c;
	struct outcome o;

	wire_shutdown_put(&wr, &(struct msg_shutdown){ .grace_ms = grace_ms });
	client_open(&c, k, true);
	client_send(&c, wr.buf, wr.len);
	client_collect(&c, &o);
	client_close(&c);
	ck_assert(o.done);
	outcome_done(&o);
}

START_TEST(shutdown_asked_again_is_not_put_off)
{
	struct client c;
	struct wire_frame f;
	struct kit k;

	kit_sh(&k, &c, 0, "trap '' TERM; echo up; exec sleep 1000");
	client_want_started(&c);
	client_want(&c, WIRE_STDOUT, &f);
	shut_down(&k, 500);
	shut_down(&k, WIRE_GRACE_MAX_MS);
	while (client_next(&c, &f))
		;
	client_close(&c);
	kit_until(&k, kit_powered_off);
	kit_done(&k);
}
END_TEST

CHECK_MAIN("agent_hostile", id_of_one_whose_end_is_not_taken_is_not_given_away,
	   report_that_outlives_its_child_raises_no_dead,
	   timeout_kills_what_left_its_cgroup,
	   shutdown_asked_again_is_not_put_off)
