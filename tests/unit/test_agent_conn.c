/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_agent_conn.c - guest-agent: requests, events, limits, end */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "guest-agent/conn.h"
#include "guest-agent/process.h"
#include "tests/lib/agent_kit.h"
#include "tests/lib/check_main.h"

/* One request frame and all that comes of it. */
static void ask(struct kit *k, const struct wr *wr, struct outcome *o)
{
	struct client c;

	client_open(&c, k, true);
	client_send(&c, wr->buf, wr->len);
	client_collect(&c, o);
	client_close(&c);
	kit_step(k, 0);
}

START_TEST(garbage_gets_a_sentence_and_the_door)
{
	static const char *const v[] = {
		"GET / HTTP/1.1\r\nHost: agent\r\n\r\n",
		"12345678 and so on",
	};
	struct kit k;

	kit_init(&k);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		struct client c;
		struct outcome o;

		client_open(&c, &k, false);
		client_send(&c, v[i], strlen(v[i]));
		client_collect(&c, &o);
		ck_assert(o.failed && !o.hello);
		ck_assert_int_eq(o.error.kind, WIRE_ERR_BAD_REQUEST);
		ck_assert_ptr_nonnull(strstr(o.sentence, "type"));
		client_close(&c);
		kit_step(&k, 0);
		outcome_done(&o);
	}
	ck_assert_uint_eq(k.a.n_conns, 0);
	kit_done(&k);
}
END_TEST

START_TEST(another_version_is_answered_then_refused)
{
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct client c;
	struct outcome o;
	struct kit k;

	kit_init(&k);
	wire_hello_put(&wr, &(struct msg_hello){ .version = 2 });
	client_open(&c, &k, false);
	client_send(&c, buf, wr.len);
	client_collect(&c, &o);

	ck_assert(o.hello && o.failed);
	ck_assert_ptr_nonnull(strstr(o.sentence, "version 2"));
	client_close(&c);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(frames_out_of_turn_are_refused)
{
	static const struct {
		enum wire_type first;
		enum wire_type second;
		const char *says;
	} v[] = {
		{ WIRE_STDIN_CLOSE, WIRE_STDIN_CLOSE, "not a request" },
		{ WIRE_EVENTS, WIRE_STAT, "STAT after another request" },
	};
	struct kit k;

	kit_init(&k);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		struct client c;
		struct outcome o;

		client_open(&c, &k, true);
		client_empty(&c, v[i].first);
		client_empty(&c, v[i].second);
		client_collect(&c, &o);
		ck_assert_int_eq(o.error.kind, WIRE_ERR_BAD_REQUEST);
		ck_assert_msg(strstr(o.sentence, v[i].says) != NULL, "%s",
			      o.sentence);
		client_close(&c);
		outcome_done(&o);
	}
	kit_done(&k);
}
END_TEST

START_TEST(exec_frames_that_do_not_fit_the_process_are_refused)
{
	static const struct {
		uint32_t flags;
		enum wire_type type;
		const char *says;
	} v[] = {
		{ 0, WIRE_STDIN, "was not announced" },
		{ 0, WIRE_STDIN_CLOSE, "was not announced" },
		{ 0, WIRE_RESIZE, "without a terminal" },
		{ 0, WIRE_EVENTS, "while a process runs" },
	};
	struct kit k;

	kit_init(&k);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		uint8_t buf[64];
		struct wr wr = wr_init(buf, sizeof(buf));
		struct client c;
		struct outcome o;

		if (v[i].type == WIRE_STDIN)
			wire_stdin_put(&wr, "x", 1);
		else if (v[i].type == WIRE_RESIZE)
			wire_resize_put(&wr, &(struct msg_resize){ .cols = 1,
								   .rows = 1 });
		else
			wire_empty_put(&wr, v[i].type);
		client_open(&c, &k, true);
		client_sh(&c, v[i].flags, "exec sleep 1000");
		client_send(&c, buf, wr.len);
		client_collect(&c, &o);
		ck_assert_int_eq(o.error.kind, WIRE_ERR_BAD_REQUEST);
		ck_assert_msg(strstr(o.sentence, v[i].says) != NULL, "%s",
			      o.sentence);
		client_close(&c);
		outcome_done(&o);
	}
	/* They broke the protocol; their processes did nothing wrong. */
	ck_assert_uint_eq(k.a.n_live, ARRAY_LEN(v));
	kit_done(&k);
}
END_TEST

START_TEST(stat_counts_what_there_is)
{
	struct client c, idle;
	struct wire_frame f;
	struct msg_stat m;
	struct err e = { 0 };
	struct outcome o;
	struct kit k;

	kit_init(&k);
	/* One that nobody fetches. */
	outcome_run(&k, WIRE_EXEC_DETACH, "true", &o);
	outcome_done(&o);
	kit_until(&k, kit_none_lives);
	client_open(&idle, &k, true);
	client_sh(&idle, 0, "exec sleep 1000");
	client_want(&idle, WIRE_HELLO, &f);
	client_want(&idle, WIRE_STARTED, &f);
	client_open(&c, &k, true);
	client_empty(&c, WIRE_STAT);
	client_want(&c, WIRE_HELLO, &f);
	client_want(&c, WIRE_STAT_ANSWER, &f);

	ck_assert_int_eq(wire_stat_parse(f.data, f.len, &m, &e), 0);
	ck_assert_uint_eq(m.started, 2);
	ck_assert_uint_eq(m.running, 1);
	ck_assert_uint_eq(m.lingering, 0);
	ck_assert_uint_eq(m.exited, 1);
	ck_assert_uint_eq(m.connections, 2);
	ck_assert_uint_gt(m.mem_available, 1 << 20);
	ck_assert_uint_gt(m.mem_total, m.mem_available);
	ck_assert_int_eq(client_next(&c, &f), 0);
	client_close(&c);
	client_close(&idle);
	kit_done(&k);
}
END_TEST

START_TEST(clock_is_set_or_the_reason_told)
{
	static const uint64_t ns[] = { KIT_CLOCK_OK, KIT_CLOCK_OK + 1 };
	struct kit k;

	kit_init(&k);
	for (size_t i = 0; i < ARRAY_LEN(ns); i++) {
		uint8_t buf[64];
		struct wr wr = wr_init(buf, sizeof(buf));
		struct outcome o;

		wire_clock_put(&wr, &(struct msg_clock){ .ns = ns[i] });
		ask(&k, &wr, &o);
		ck_assert_int_eq(o.done, i == 0);
		ck_assert_int_eq(o.failed, i == 1);
		ck_assert_uint_eq(o.error.code, i ? EPERM : 0);
		outcome_done(&o);
	}
	kit_done(&k);
}
END_TEST

/* The next event of that kind. */
static void want_event(struct client *c, enum wire_event_what what,
		       struct msg_event *m)
{
	struct wire_frame f;
	struct err e = { 0 };

	do {
		client_want(c, WIRE_EVENT, &f);
		ck_assert_int_eq(wire_event_parse(f.data, f.len, m, &e), 0);
	} while (m->what != what);
}

START_TEST(main_ended_is_told_after_its_client_has_gone)
{
	struct client ev, c, late;
	struct wire_frame f;
	struct msg_event m;
	struct outcome o;
	struct kit k;

	kit_init(&k);
	client_open(&ev, &k, true);
	client_empty(&ev, WIRE_EVENTS);
	client_want(&ev, WIRE_HELLO, &f);
	client_open(&c, &k, true);
	client_sh(&c, WIRE_EXEC_MAIN, "kill -KILL $$");
	client_collect(&c, &o);
	ck_assert(o.exited);
	for (int i = 0; i < 10; i++)
		kit_step(&k, 1);
	/* The client has its EXIT and yet may be reading: nothing is told. */
	ck_assert(!k.a.main.ended);
	client_close(&c);

	want_event(&ev, WIRE_EVENT_MAIN_ENDED, &m);
	ck_assert_int_eq(m.what, WIRE_EVENT_MAIN_ENDED);
	ck_assert_int_eq(m.how, WIRE_HOW_SIGNALLED);
	ck_assert_uint_eq(m.value, SIGKILL);
	ck_assert_uint_eq(m.flags, 0);
	ck_assert_str_eq(m.id, "p1");

	/* Who comes late is told the same. */
	client_open(&late, &k, true);
	client_empty(&late, WIRE_EVENTS);
	client_want(&late, WIRE_HELLO, &f);
	want_event(&late, WIRE_EVENT_MAIN_ENDED, &m);
	ck_assert_str_eq(m.id, "p1");
	client_close(&ev);
	client_close(&late);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(main_that_outlives_its_client_is_told_at_its_end)
{
	struct client ev, c;
	struct wire_frame f;
	struct msg_event m;
	struct kit k;

	kit_init(&k);
	client_open(&ev, &k, true);
	client_empty(&ev, WIRE_EVENTS);
	client_want(&ev, WIRE_HELLO, &f);
	client_open(&c, &k, true);
	client_sh(&c, WIRE_EXEC_MAIN | WIRE_EXEC_STDIN, "read x; exit 3");
	client_want_started(&c);
	/* Its stdin ends with its client. */
	client_close(&c);

	want_event(&ev, WIRE_EVENT_MAIN_ENDED, &m);
	ck_assert_int_eq(m.how, WIRE_HOW_EXITED);
	ck_assert_uint_eq(m.value, 3);
	client_close(&ev);
	kit_done(&k);
}
END_TEST

START_TEST(main_there_is_one_of_unless_it_cannot_start)
{
	const char *nope[] = { "/no/such/program", NULL };
	struct client c;
	struct outcome o;
	struct kit k;

	kit_init(&k);
	client_open(&c, &k, true);
	client_exec(&c, &(struct msg_exec){ .flags = WIRE_EXEC_MAIN }, nope);
	client_collect(&c, &o);
	ck_assert_int_eq(o.error.kind, WIRE_ERR_NOT_FOUND);
	client_close(&c);
	outcome_done(&o);

	outcome_run(&k, WIRE_EXEC_MAIN, "exit 1", &o);
	ck_assert(o.exited);
	outcome_done(&o);
	outcome_run(&k, WIRE_EXEC_MAIN, "exit 1", &o);
	ck_assert(o.failed);
	ck_assert_uint_eq(o.error.code, EEXIST);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(boot_problem_is_an_event)
{
	struct client c;
	struct wire_frame f;
	struct msg_event m;
	struct kit k;

	kit_init(&k);
	(void)snprintf(k.a.boot_problem, sizeof(k.a.boot_problem),
		       "mount 'x': No such device");
	client_open(&c, &k, true);
	client_empty(&c, WIRE_EVENTS);
	client_want(&c, WIRE_HELLO, &f);
	want_event(&c, WIRE_EVENT_BOOT_PROBLEM, &m);
	ck_assert_int_eq(m.what, WIRE_EVENT_BOOT_PROBLEM);
	ck_assert_str_eq(m.text, "mount 'x': No such device");
	client_close(&c);
	kit_done(&k);
}
END_TEST

/* Nothing runs in a guest that lacks what was asked for. */
START_TEST(failed_boot_is_an_event_and_refuses_exec)
{
	static const char text[] = "mount '/x': No such device";
	struct client ev;
	struct outcome o;
	struct wire_frame f;
	struct msg_event m;
	struct kit k;

	kit_init(&k);
	memcpy(k.a.boot_failed, text, sizeof(text));
	client_open(&ev, &k, true);
	client_empty(&ev, WIRE_EVENTS);
	client_want(&ev, WIRE_HELLO, &f);
	want_event(&ev, WIRE_EVENT_BOOT_FAILED, &m);
	ck_assert_str_eq(m.text, text);
	outcome_run(&k, 0, "exit 0", &o);
	ck_assert(o.failed);
	ck_assert_int_eq(o.error.kind, WIRE_ERR_BOOT);
	ck_assert_str_eq(o.sentence, text);
	outcome_done(&o);
	client_close(&ev);
	kit_done(&k);
}
END_TEST

static void exec_id(struct kit *k, const char *id, const char *script,
		    struct outcome *o)
{
	const char *argv[] = { "sh", "-c", script, NULL };
	struct client c;

	client_open(&c, k, true);
	client_exec(&c, &(struct msg_exec){ .id = id }, argv);
	client_collect(&c, o);
	client_close(&c);
	kit_step(k, 0);
}

START_TEST(id_is_unique_among_the_living)
{
	struct client c;
	struct wire_frame f;
	const char *argv[] = { "sleep", "1000", NULL };
	struct outcome o;
	struct kit k;

	kit_init(&k);
	client_open(&c, &k, true);
	client_exec(&c, &(struct msg_exec){ .id = "build" }, argv);
	client_want_started(&c);
	exec_id(&k, "build", "true", &o);
	ck_assert(o.failed);
	ck_assert_uint_eq(o.error.code, EEXIST);
	ck_assert_str_eq(o.sentence, "process 'build' exists already");
	outcome_done(&o);

	/* One that has ended gives its id away. */
	client_signal(&c, SIGKILL, WIRE_SCOPE_TREE);
	while (client_next(&c, &f))
		;
	client_close(&c);
	kit_step(&k, 0);
	exec_id(&k, "build", "exit 2", &o);
	ck_assert(o.exited);
	ck_assert_str_eq(o.id, "build");
	ck_assert_uint_eq(k.a.n_ended, 0);
	outcome_done(&o);
	/* Nor is a made one ever one that was given. */
	exec_id(&k, "p4", "true", &o);
	outcome_done(&o);
	exec_id(&k, "", "true", &o);
	ck_assert_str_eq(o.id, "p4");
	ck_assert_uint_eq(k.a.n_ended, 0);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(table_full_of_ended_ones_makes_room_for_the_next)
{
	struct outcome o;
	struct kit k;

	kit_init(&k);
	for (unsigned int i = 0; i < AGENT_PROCS_MAX + 20; i++) {
		outcome_run(&k, WIRE_EXEC_STDOUT_NULL | WIRE_EXEC_DETACH, ":",
			    &o);
		ck_assert(o.started);
		outcome_done(&o);
		kit_until(&k, kit_none_lives);
	}
	ck_assert_uint_eq(k.a.n_ended, AGENT_PROCS_MAX);
	ck_assert_uint_eq(k.a.n_live, 0);
	kit_done(&k);
}
END_TEST

/* Real processes that many would take the machine's breath away. */
static pid_t pretend_to_spawn(const struct spawn *s)
{
	(void)s;
	return 0x3fffffff;
}

static int pretend_to_kill(pid_t pid, int sig)
{
	(void)pid;
	(void)sig;
	return 0;
}

START_TEST(table_full_of_living_ones_refuses_the_next)
{
	const struct agent_ops ops = { .spawn = pretend_to_spawn,
				       .kill = pretend_to_kill };
	const struct agent_ops *real;
	struct client c;
	struct outcome o;
	struct kit k;

	kit_init(&k);
	real = k.a.ops;
	k.a.ops = &ops;
	for (unsigned int i = 0; i < AGENT_PROCS_MAX; i++) {
		client_open(&c, &k, true);
		client_sh(&c, WIRE_EXEC_STDOUT_NULL | WIRE_EXEC_STDERR_NULL,
			  ":");
		kit_step(&k, 0);
		client_close(&c);
		kit_step(&k, 0);
	}
	ck_assert_uint_eq(k.a.n_live, AGENT_PROCS_MAX);
	outcome_run(&k, 0, ":", &o);

	ck_assert(o.failed);
	ck_assert_int_eq(o.error.kind, WIRE_ERR_LIMIT);
	ck_assert_str_eq(o.sentence,
			 "1024 processes are there, which is the limit");
	outcome_done(&o);
	agent_done(&k.a);
	ck_assert_ptr_nonnull(real);
}
END_TEST

static int connect_unix(const struct sockaddr_un *sa, socklen_t len)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(connect(fd, (const struct sockaddr *)sa, len), 0);
	return fd;
}

START_TEST(connection_past_the_limit_is_told_so)
{
	/* Abstract, so that nothing is left behind. */
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(sa);
	struct client c = { .fd = -1 };
	struct wire_frame f;
	struct outcome o;
	struct kit k;
	int fd[AGENT_CONNS_MAX];
	int l = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	ck_assert_int_eq(bind(l, (struct sockaddr *)&sa, sizeof(sa_family_t)),
			 0);
	ck_assert_int_eq(getsockname(l, (struct sockaddr *)&sa, &len), 0);
	ck_assert_int_eq(listen(l, 64), 0);
	kit_init_listening(&k, l);
	for (unsigned int i = 0; i < AGENT_CONNS_MAX; i++) {
		fd[i] = connect_unix(&sa, len);
		kit_step(&k, 0);
	}
	ck_assert_uint_eq(k.a.n_conns, AGENT_CONNS_MAX);

	c.k = &k;
	c.fd = connect_unix(&sa, len);
	wire_reader_init(&c.in, WIRE_FROM_AGENT);
	client_collect(&c, &o);
	ck_assert(o.failed);
	ck_assert_int_eq(o.error.kind, WIRE_ERR_LIMIT);
	ck_assert_str_eq(o.sentence, "1024 connections are open, the limit");
	client_close(&c);

	/* As soon as one has gone there is room. */
	ck_assert_int_eq(close(fd[0]), 0);
	kit_step(&k, 0);
	client_open(&c, &k, true);
	client_empty(&c, WIRE_STAT);
	client_want(&c, WIRE_HELLO, &f);
	client_want(&c, WIRE_STAT_ANSWER, &f);
	client_close(&c);
	for (unsigned int i = 1; i < AGENT_CONNS_MAX; i++)
		(void)close(fd[i]);
	kit_done(&k);
}
END_TEST

static void shut_down(struct kit *k, uint32_t grace_ms)
{
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct outcome o;

	wire_shutdown_put(&wr, &(struct msg_shutdown){ .grace_ms = grace_ms });
	ask(k, &wr, &o);
	ck_assert(o.done);
	outcome_done(&o);
}

START_TEST(shutdown_of_an_idle_guest_is_at_once)
{
	struct kit k;

	kit_init(&k);
	shut_down(&k, WIRE_GRACE_MAX_MS);
	kit_until(&k, kit_powered_off);
	kit_done(&k);
}
END_TEST

START_TEST(shutdown_asks_then_kills_and_delivers_the_ends)
{
	struct client meek, tough;
	struct outcome om, ot;
	struct kit k;

	kit_init(&k);
	client_open(&meek, &k, true);
	client_sh(&meek, 0,
		  "trap 'echo bye; exit 4' TERM; echo up; "
		  "while :; do sleep 0.1; done");
	client_open(&tough, &k, true);
	client_sh(&tough, 0,
		  "trap '' TERM; echo up; while :; do sleep 0.1; done");
	for (int up = 0; up < 2;) {
		struct client *c = up ? &tough : &meek;
		struct wire_frame f;

		ck_assert_int_eq(client_next(c, &f), 1);
		up += f.type == WIRE_STDOUT;
	}
	shut_down(&k, 500);
	memset(&om, 0, sizeof(om));
	memset(&ot, 0, sizeof(ot));
	om.out.len = 3;
	ot.out.len = 3;
	om.out.p = calloc(1, 4);
	ot.out.p = calloc(1, 4);
	for (struct wire_frame f; client_next(&meek, &f);)
		outcome_take(&om, &f);
	for (struct wire_frame f; client_next(&tough, &f);)
		outcome_take(&ot, &f);

	ck_assert(om.exited && ot.exited);
	ck_assert_int_eq(om.exit.how, WIRE_HOW_EXITED);
	ck_assert_uint_eq(om.exit.value, 4);
	ck_assert_int_eq(ot.exit.how, WIRE_HOW_SIGNALLED);
	ck_assert_uint_eq(ot.exit.value, SIGKILL);
	/* Ours, not the oom-killer's. */
	ck_assert_uint_eq(ot.exit.flags, 0);
	client_close(&meek);
	client_close(&tough);
	kit_until(&k, kit_powered_off);
	outcome_done(&om);
	outcome_done(&ot);
	kit_done(&k);
}
END_TEST

START_TEST(shutdown_under_way_starts_nothing)
{
	struct client c;
	struct wire_frame f;
	struct outcome o;
	struct kit k;

	kit_sh(&k, &c, 0, "trap '' TERM; echo up; exec sleep 1000");
	client_want_started(&c);
	client_want(&c, WIRE_STDOUT, &f);
	shut_down(&k, WIRE_GRACE_MAX_MS);
	outcome_run(&k, 0, "true", &o);
	ck_assert(o.failed);
	ck_assert_uint_eq(o.error.code, ESHUTDOWN);
	outcome_done(&o);

	/* Who is in a hurry after all may say so. */
	shut_down(&k, 0);
	while (client_next(&c, &f))
		;
	client_close(&c);
	kit_until(&k, kit_powered_off);
	kit_done(&k);
}
END_TEST

START_TEST(shutdown_ends_a_shell_that_ignores_sigterm_and_a_stopped_one)
{
	struct client shell, stopped;
	struct outcome os, ot;
	struct wire_frame f;
	struct kit k;

	kit_init(&k);
	client_open(&shell, &k, true);
	client_sh(&shell, WIRE_EXEC_PTY,
		  "trap '' TERM; echo up; exec sleep 1000");
	client_open(&stopped, &k, true);
	client_sh(&stopped, 0, "echo up; kill -STOP $$; exec sleep 1000");
	client_want(&shell, WIRE_HELLO, &f);
	client_want(&shell, WIRE_STARTED, &f);
	client_want(&shell, WIRE_STDOUT, &f);
	client_want(&stopped, WIRE_HELLO, &f);
	client_want(&stopped, WIRE_STARTED, &f);
	client_want(&stopped, WIRE_STDOUT, &f);
	/* A grace that the test does not live to see the end of. */
	shut_down(&k, WIRE_GRACE_MAX_MS);
	memset(&os, 0, sizeof(os));
	memset(&ot, 0, sizeof(ot));
	os.out.len = 4;
	ot.out.len = 3;
	while (client_next(&shell, &f))
		outcome_take(&os, &f);
	while (client_next(&stopped, &f))
		outcome_take(&ot, &f);

	ck_assert_uint_eq(os.exit.value, SIGHUP);
	ck_assert_uint_eq(ot.exit.value, SIGTERM);
	client_close(&shell);
	client_close(&stopped);
	kit_until(&k, kit_powered_off);
	kit_done(&k);
}
END_TEST

START_TEST(shutdown_is_what_poweroff_asks_for)
{
	static const int sig[] = { SIGUSR1, SIGUSR2 };

	for (size_t i = 0; i < ARRAY_LEN(sig); i++) {
		struct kit k;

		kit_init(&k);
		ck_assert_int_eq(kill(getpid(), sig[i]), 0);
		kit_until(&k, kit_powered_off);
		kit_done(&k);
	}
}
END_TEST

CHECK_MAIN("agent_conn", garbage_gets_a_sentence_and_the_door,
	   another_version_is_answered_then_refused,
	   frames_out_of_turn_are_refused,
	   exec_frames_that_do_not_fit_the_process_are_refused,
	   stat_counts_what_there_is, clock_is_set_or_the_reason_told,
	   main_ended_is_told_after_its_client_has_gone,
	   main_that_outlives_its_client_is_told_at_its_end,
	   main_there_is_one_of_unless_it_cannot_start,
	   boot_problem_is_an_event, failed_boot_is_an_event_and_refuses_exec,
	   id_is_unique_among_the_living,
	   table_full_of_ended_ones_makes_room_for_the_next,
	   table_full_of_living_ones_refuses_the_next,
	   connection_past_the_limit_is_told_so,
	   shutdown_of_an_idle_guest_is_at_once,
	   shutdown_asks_then_kills_and_delivers_the_ends,
	   shutdown_under_way_starts_nothing,
	   shutdown_ends_a_shell_that_ignores_sigterm_and_a_stopped_one,
	   shutdown_is_what_poweroff_asks_for)
