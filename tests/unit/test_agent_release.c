/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_agent_release.c - guest-agent: who is killed while waiting */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest-agent/child.h"
#include "guest-agent/process.h"
#include "guest-agent/release.h"
#include "guest-agent/table.h"
#include "tests/lib/agent_kit.h"
#include "tests/lib/check_main.h"

#define SHARES 2

/**
 * struct place - An agent with shares that answer when they are told to
 * @ours:	A child of each says that it is there, and gets its exit code
 * @theirs:	What the agent takes for a share's root
 */
struct place {
	struct kit k;
	struct agent_ops ops;
	int ours[SHARES];
	int theirs[SHARES];
};

/* In place of one that looks: who waits for the share's word. */
static pid_t ask(const struct release_spawn *s)
{
	pid_t pid = fork();
	char code = 0;

	if (pid != 0)
		return pid;
	/* A test leaves those that were not told. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(s->mount, "?", 1) != 1 || read(s->mount, &code, 1) != 1)
		_exit(0);
	_exit(code);
}

static void place_init(struct place *p)
{
	kit_init(&p->k);
	p->ops = *p->k.a.ops;
	p->ops.release = ask;
	p->k.a.ops = &p->ops;
	for (int i = 0; i < SHARES; i++) {
		int sv[2];

		ck_assert_int_eq(
			socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv),
			0);
		p->ours[i] = sv[0];
		p->theirs[i] = sv[1];
	}
	p->k.a.release.mounts = p->theirs;
	p->k.a.release.n = SHARES;
}

static void place_done(struct place *p)
{
	kit_done(&p->k);
	for (int i = 0; i < SHARES; i++) {
		(void)close(p->ours[i]);
		(void)close(p->theirs[i]);
	}
}

static bool asked(const struct place *p, int i)
{
	struct pollfd pfd = { .fd = p->ours[i], .events = POLLIN };

	return poll(&pfd, 1, 0) > 0;
}

/* Until somebody looks at share @i. */
static void wait_for(struct place *p, int i)
{
	char byte;

	while (!asked(p, i))
		kit_step(&p->k, 20);
	ck_assert_int_eq(read(p->ours[i], &byte, 1), 1);
}

static void answer(struct place *p, int i, char code)
{
	ck_assert_int_eq(write(p->ours[i], &code, 1), 1);
}

static bool has_said_something(const struct kit *k)
{
	return container_of(k->a.live.next, struct proc, link)
		       ->out[0]
		       .store.total > 0;
}

/* One that SIGTERM does not end, by now. */
static void sleeper(struct place *p)
{
	struct msg_exec m = { .id = "job" };

	kit_background(&p->k, &m, "trap '' TERM; echo; exec sleep 1000");
	kit_until(&p->k, has_said_something);
}

static void send_signal(struct place *p, int sig)
{
	proc_signal(table_find(&p->k.a, "job"), sig, WIRE_SCOPE_TREE);
}

START_TEST(nobody_looks_before_a_signal_and_each_share_after)
{
	struct place p;

	place_init(&p);
	sleeper(&p);
	ck_assert_uint_eq(p.k.a.release.wait_ms, 0);
	send_signal(&p, SIGTERM);
	for (int i = 0; i < SHARES; i++) {
		wait_for(&p, i);
		answer(&p, i, 0);
	}
	send_signal(&p, SIGKILL);
	place_done(&p);
}
END_TEST

START_TEST(share_that_hangs_holds_up_no_other)
{
	struct place p;

	place_init(&p);
	sleeper(&p);
	send_signal(&p, SIGTERM);
	wait_for(&p, 0);
	for (int i = 0; i < 4; i++) {
		wait_for(&p, 1);
		ck_assert(!asked(&p, 0));
		answer(&p, 1, 0);
	}
	answer(&p, 0, RELEASE_LEFT);
	wait_for(&p, 0);
	answer(&p, 0, 0);
	send_signal(&p, SIGKILL);
	place_done(&p);
}
END_TEST

/* A signal that ends nobody is looked after for a while. */
START_TEST(looking_ends_when_nobody_is_killed)
{
	struct release *r;
	unsigned int n = 0;
	struct place p;

	place_init(&p);
	r = &p.k.a.release;
	sleeper(&p);
	send_signal(&p, SIGTERM);
	while (r->wait_ms > 0) {
		kit_step(&p.k, 20);
		for (int i = 0; i < SHARES; i++) {
			if (!asked(&p, i))
				continue;
			wait_for(&p, i);
			/* Then there is one, for longer than usual. */
			answer(&p, i, n++ < 16 ? RELEASE_LEFT : 0);
		}
	}
	ck_assert_uint_ge(n, 16);
	ck_assert(!table_find(&p.k.a, "job")->signalled);
	/* The next one begins anew. */
	send_signal(&p, SIGTERM);
	ck_assert_uint_eq(r->wait_ms, RELEASE_MIN_MS);
	wait_for(&p, 0);
	answer(&p, 0, 0);
	send_signal(&p, SIGKILL);
	place_done(&p);
}
END_TEST

START_TEST(looking_ends_with_the_process)
{
	struct place p;

	place_init(&p);
	sleeper(&p);
	send_signal(&p, SIGKILL);
	ck_assert_uint_gt(p.k.a.release.wait_ms, 0);
	kit_until(&p.k, kit_none_lives);
	while (p.k.a.release.wait_ms > 0) {
		kit_step(&p.k, 20);
		for (int i = 0; i < SHARES; i++)
			if (asked(&p, i)) {
				wait_for(&p, i);
				answer(&p, i, 0);
			}
	}
	place_done(&p);
}
END_TEST

START_TEST(without_such_shares_nobody_looks)
{
	struct place p;

	place_init(&p);
	p.k.a.release.n = 0;
	sleeper(&p);
	send_signal(&p, SIGTERM);
	ck_assert_uint_eq(p.k.a.release.wait_ms, 0);
	send_signal(&p, SIGKILL);
	place_done(&p);
}
END_TEST

START_TEST(killed_is_what_has_sigkill_pending)
{
	static const char before[] =
		"(a) b)) D 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 99 "
		"4096 10 18446744073709551615 1 2 3 4 5";
	static const struct {
		const char *after;
		bool killed;
	} v[] = {
		{ " 256 0 0 0\n", true },
		{ " 258 0 0 0\n", true },
		{ " 0 256 256 256", false },
		{ " 16384 0 0 0\n", false },
		{ " 255 0 0 0\n", false },
		{ " 512 0 0 0\n", false },
		{ "", false },
		{ " ", false },
	};
	char text[256];

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		(void)snprintf(text, sizeof(text), "7 %s%s", before,
			       v[i].after);
		ck_assert_int_eq(release_is_killed(text), v[i].killed);
	}
	ck_assert(!release_is_killed(""));
	ck_assert(!release_is_killed("7 (256 256"));
}
END_TEST

/* With the cgroup of one that lives: it is not killed, so nothing is told. */
START_TEST(child_looks_and_ends)
{
	const struct release_spawn none = {
		.mount = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC)
	};
	int status = -1;
	pid_t pid = release_spawn(&none);

	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	(void)close(none.mount);
}
END_TEST

START_TEST(threads_of_a_cgroup_are_found)
{
	struct msg_exec m = { .id = "job" };
	pid_t tasks[8];
	struct kit k;
	bool can;

	kit_init(&k);
	can = kit_cgroups(&k);
	if (can) {
		const struct proc *p;

		kit_background(&k, &m, "sleep 1000 & exec sleep 1000");
		p = table_find(&k.a, "job");
		while (cgroup_tasks(p->cgroup_fd, tasks, 8) < 2)
			kit_step(&k, 20);
		ck_assert_uint_eq(cgroup_tasks(p->cgroup_fd, tasks, 1), 1);
		proc_signal(table_find(&k.a, "job"), SIGKILL, WIRE_SCOPE_TREE);
		kit_until(&k, kit_none_lives);
	} else {
		(void)printf("# no cgroup can be made here\n");
	}
	ck_assert_uint_eq(cgroup_tasks(-1, tasks, 8), 0);
	kit_done(&k);
}
END_TEST

CHECK_MAIN("agent_release", nobody_looks_before_a_signal_and_each_share_after,
	   share_that_hangs_holds_up_no_other,
	   looking_ends_when_nobody_is_killed, looking_ends_with_the_process,
	   without_such_shares_nobody_looks, killed_is_what_has_sigkill_pending,
	   child_looks_and_ends, threads_of_a_cgroup_are_found)
