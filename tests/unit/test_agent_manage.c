/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_agent_manage.c - guest-agent: list, kill, drop, wait, events */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "guest-agent/conn.h"
#include "guest-agent/info.h"
#include "guest-agent/layout.h"
#include "guest-agent/port.h"
#include "guest-agent/process.h"
#include "guest-agent/table.h"
#include "tests/lib/agent_kit.h"
#include "tests/lib/check_main.h"

static bool one_has_said_something(const struct kit *k)
{
	return container_of(k->a.live.next, struct proc, link)
		       ->out[0]
		       .store.total > 0;
}

/* The only PROCESS of a list; its strings live until the next frame. */
static void list_one(struct client *c, struct kit *k, const char *id,
		     uint32_t flags, struct msg_process *m)
{
	struct wire_frame f;
	struct err e = { 0 };

	client_open(c, k, true);
	client_list(c, id, flags);
	client_want(c, WIRE_HELLO, &f);
	client_want(c, WIRE_PROCESS, &f);
	ck_assert_msg(wire_process_parse(f.data, f.len, m, &e) == 0, "%s",
		      e.msg);
}

static void list_over(struct client *c, struct msg_process *m)
{
	struct wire_frame f;

	wire_process_done(m);
	client_want(c, WIRE_DONE, &f);
	ck_assert_int_eq(client_next(c, &f), 0);
	client_close(c);
}

START_TEST(list_tells_of_a_process_what_there_is_to_tell)
{
	const char *env[] = { "A=1", NULL };
	struct msg_exec m = { .id = "job",
			      .cwd = "/tmp",
			      .timeout_ms = 60000,
			      .grace_ms = 1500,
			      .env = env,
			      .envc = 1,
			      .flags = WIRE_EXEC_STDIN | WIRE_EXEC_MAIN };
	struct msg_process p;
	struct client c;
	struct kit k;

	kit_init(&k);
	kit_background(&k, &m, "read x; echo $x; exit 3");
	list_one(&c, &k, "job", 0, &p);
	ck_assert_int_eq(p.state, WIRE_PROC_RUNNING);
	ck_assert_uint_gt(p.pid, 1);
	ck_assert_uint_eq(p.flags, WIRE_PROC_MAIN | WIRE_PROC_STDIN);
	ck_assert_uint_gt(p.start_ns, 0);
	ck_assert_uint_eq(p.timeout_ms, 60000);
	ck_assert_uint_eq(p.grace_ms, 1500);
	ck_assert_uint_eq(p.cpu_weight, 100);
	ck_assert_uint_eq(p.attached, 0);
	ck_assert_str_eq(p.id, "job");
	ck_assert_str_eq(p.user, "root");
	ck_assert_str_eq(p.cwd, "/tmp");
	ck_assert_uint_eq(p.argc, 3);
	ck_assert_str_eq(p.argv[2], "read x; echo $x; exit 3");
	ck_assert_uint_eq(p.envc, 0);
	list_over(&c, &p);

	client_open(&c, &k, true);
	client_attach(&c, "job", WIRE_ATTACH_STDIN | WIRE_ATTACH_FOLLOW, 0);
	client_stdin(&c, "word\n", 5);
	kit_until(&k, kit_none_lives);
	client_close(&c);
	list_one(&c, &k, "", WIRE_LIST_ENV, &p);
	ck_assert_int_eq(p.state, WIRE_PROC_EXITED);
	ck_assert_int_eq(p.how, WIRE_HOW_EXITED);
	ck_assert_uint_eq(p.value, 3);
	ck_assert_uint_ge(p.end_ns, p.start_ns);
	ck_assert_uint_eq(p.stdout_total, 5);
	ck_assert_uint_eq(p.flags, WIRE_PROC_MAIN);
	ck_assert_uint_eq(p.envc, 2);
	ck_assert_str_eq(p.env[0], "BOOTED=yes");
	ck_assert_str_eq(p.env[1], "A=1");
	list_over(&c, &p);
	kit_done(&k);
}
END_TEST

START_TEST(list_cuts_what_is_too_long_and_says_so)
{
	static char big[INFO_STRINGS_MAX + 1], some[3000];
	const char *argv[] = { "true", some, some, some, NULL };
	const char *env[] = { "BOOTED=no", big, NULL };
	struct msg_exec m = {
		.id = "job", .env = env, .envc = 2, .flags = WIRE_EXEC_DETACH
	};
	struct msg_process p;
	struct outcome o;
	struct client c;
	struct kit k;

	memset(big, 'b', sizeof(big) - 1);
	memset(some, 's', sizeof(some) - 1);
	big[1] = '=';
	kit_init(&k);
	client_open(&c, &k, true);
	client_exec(&c, &m, argv);
	client_collect(&c, &o);
	ck_assert(o.started);
	client_close(&c);
	outcome_done(&o);
	kit_until(&k, kit_none_lives);

	list_one(&c, &k, "job", WIRE_LIST_ENV, &p);
	ck_assert_uint_eq(p.flags, WIRE_PROC_ARGS_CUT | WIRE_PROC_ENV_CUT);
	ck_assert_uint_eq(p.argc, 3);
	/* The sandbox's is overridden, the long one is left out. */
	ck_assert_uint_eq(p.envc, 1);
	ck_assert_str_eq(p.env[0], "BOOTED=no");
	list_over(&c, &p);
	kit_done(&k);
}
END_TEST

START_TEST(list_of_many_comes_whole_and_in_order)
{
	struct wire_frame f;
	struct client c;
	struct kit k;
	char id[16];
	int n = 0;

	kit_init(&k);
	for (int i = 0; i < 200; i++) {
		(void)snprintf(id, sizeof(id), "job-%d", i);
		kit_background(&k, &(struct msg_exec){ .id = id }, ":");
	}
	kit_until(&k, kit_none_lives);
	client_open(&c, &k, true);
	client_list(&c, "", 0);
	client_want(&c, WIRE_HELLO, &f);
	while (client_next(&c, &f) && f.type == WIRE_PROCESS) {
		struct msg_process p;
		struct err e = { 0 };

		ck_assert_int_eq(wire_process_parse(f.data, f.len, &p, &e), 0);
		(void)snprintf(id, sizeof(id), "job-%d", n++);
		ck_assert_str_eq(p.id, id);
		wire_process_done(&p);
	}
	ck_assert_int_eq(f.type, WIRE_DONE);
	ck_assert_int_eq(n, 200);
	client_close(&c);
	kit_done(&k);
}
END_TEST

/* What came of one of the short requests, which has been sent. */
static void answer(struct client *c, struct kit *k, struct outcome *o)
{
	client_collect(c, o);
	client_close(c);
	kit_step(k, 0);
}

static void want_error(const struct outcome *o, enum wire_error_kind kind,
		       unsigned int code, const char *says)
{
	ck_assert(o->failed);
	ck_assert_int_eq(o->error.kind, kind);
	ck_assert_uint_eq(o->error.code, code);
	ck_assert_str_eq(o->sentence, says);
}

START_TEST(kill_ends_the_tree_and_says_who_is_gone)
{
	struct outcome o;
	struct client c;
	struct kit k;

	kit_init(&k);
	kit_background(&k, &(struct msg_exec){ .id = "job" },
		       "trap '' TERM; echo up; sleep 1000; sleep 1000");
	kit_until(&k, one_has_said_something);
	client_open(&c, &k, true);
	client_kill(&c, "job", SIGTERM, WIRE_SCOPE_TREE, 200);
	answer(&c, &k, &o);
	ck_assert(o.done);
	kit_until(&k, kit_none_lives);

	client_open(&c, &k, true);
	client_attach(&c, "job", 0, 0);
	answer(&c, &k, &o);
	ck_assert_int_eq(o.exit.how, WIRE_HOW_SIGNALLED);
	ck_assert_uint_eq(o.exit.value, SIGKILL);
	ck_assert_uint_eq(o.exit.flags, 0);
	outcome_done(&o);

	client_open(&c, &k, true);
	client_kill(&c, "job", SIGTERM, WIRE_SCOPE_TREE, 0);
	answer(&c, &k, &o);
	want_error(&o, WIRE_ERR_GENERAL, ESRCH, "process 'job' has ended");
	client_open(&c, &k, true);
	client_kill(&c, "other", SIGTERM, WIRE_SCOPE_ONE, 0);
	answer(&c, &k, &o);
	want_error(&o, WIRE_ERR_NO_PROCESS, ESRCH,
		   "process 'other' is not there");
	kit_done(&k);
}
END_TEST

START_TEST(drop_forgets_the_ended_and_no_other)
{
	struct outcome o;
	struct client c;
	struct kit k;

	kit_init(&k);
	kit_background(
		&k, &(struct msg_exec){ .id = "job", .flags = WIRE_EXEC_STDIN },
		"read x");
	client_open(&c, &k, true);
	client_drop(&c, "job");
	answer(&c, &k, &o);
	want_error(&o, WIRE_ERR_GENERAL, EBUSY, "process 'job' runs");

	client_open(&c, &k, true);
	client_kill(&c, "job", SIGKILL, WIRE_SCOPE_ONE, 0);
	answer(&c, &k, &o);
	kit_until(&k, kit_none_lives);
	client_open(&c, &k, true);
	client_drop(&c, "job");
	answer(&c, &k, &o);
	ck_assert(o.done);
	ck_assert_uint_eq(k.a.n_ended, 0);
	ck_assert_uint_eq(k.a.pool.used, 0);
	client_open(&c, &k, true);
	client_drop(&c, "job");
	answer(&c, &k, &o);
	want_error(&o, WIRE_ERR_NO_PROCESS, ESRCH,
		   "process 'job' is not there");
	kit_done(&k);
}
END_TEST

/* What runs matters more than what has ended: the oldest of that goes. */
START_TEST(output_of_the_oldest_ended_makes_room)
{
	static const struct msg_exec old = { .id = "old" },
				     mid = { .id = "mid" },
				     new = { .id = "new" };
	struct msg_process m;
	struct client c;
	struct kit k;

	kit_init(&k);
	k.a.pool.max = 400u << 10;
	kit_background(&k, &old, "head -c 150000 /dev/zero");
	kit_until(&k, kit_none_lives);
	kit_background(&k, &mid, "head -c 100000 /dev/zero");
	kit_until(&k, kit_none_lives);
	kit_background(&k, &new, "head -c 200000 /dev/zero");
	kit_until(&k, kit_none_lives);
	list_one(&c, &k, "old", 0, &m);
	ck_assert_uint_eq(m.stdout_total, 150000);
	ck_assert_uint_eq(m.stdout_cut, 150000);
	list_over(&c, &m);
	list_one(&c, &k, "mid", 0, &m);
	ck_assert_uint_eq(m.stdout_cut, 0);
	list_over(&c, &m);
	list_one(&c, &k, "new", 0, &m);
	ck_assert_uint_eq(m.stdout_total, 200000);
	ck_assert_uint_eq(m.stdout_cut, 0);
	list_over(&c, &m);
	kit_done(&k);
}
END_TEST

START_TEST(output_of_many_small_ones_that_ended_stays_within_the_limit)
{
	struct msg_process m;
	struct client c;
	struct kit k;
	char id[8];

	kit_init(&k);
	k.a.pool.max = 64u << 10;
	for (int i = 0; i < 12; i++) {
		(void)snprintf(id, sizeof(id), "job%d", i);
		kit_background(&k, &(struct msg_exec){ .id = id },
			       "head -c 8000 /dev/zero");
		kit_until(&k, kit_none_lives);
		ck_assert_uint_le(k.a.pool.used, k.a.pool.max);
	}
	list_one(&c, &k, "job0", 0, &m);
	ck_assert_uint_eq(m.stdout_cut, 8000);
	list_over(&c, &m);
	list_one(&c, &k, "job11", 0, &m);
	ck_assert_uint_eq(m.stdout_total, 8000);
	ck_assert_uint_eq(m.stdout_cut, 0);
	list_over(&c, &m);
	kit_done(&k);
}
END_TEST

START_TEST(drop_waits_for_who_still_reads)
{
	struct outcome o;
	struct wire_frame f;
	struct client c, reader;
	struct kit k;

	kit_init(&k);
	kit_background(&k, &(struct msg_exec){ .id = "job" },
		       "head -c 1000000 /dev/zero");
	kit_until(&k, kit_none_lives);
	client_open(&reader, &k, true);
	client_attach(&reader, "job", 0, 0);
	client_want(&reader, WIRE_HELLO, &f);
	client_open(&c, &k, true);
	client_drop(&c, "job");
	answer(&c, &k, &o);
	ck_assert(o.done);
	ck_assert_uint_eq(k.a.n_ended, 1);
	/* Gone for all others, and its id is free. */
	kit_background(&k, &(struct msg_exec){ .id = "job" }, ":");
	memset(&o, 0, sizeof(o));
	while (client_next(&reader, &f))
		outcome_take(&o, &f);
	ck_assert(o.exited);
	ck_assert_uint_eq(o.out.len, 1000000);
	client_close(&reader);
	outcome_done(&o);
	kit_until(&k, kit_none_lives);
	kit_step(&k, 0);
	ck_assert_uint_eq(k.a.n_ended, 1);
	kit_done(&k);
}
END_TEST

static int listener(unsigned int *ret_port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	*ret_port = ntohs(sa.sin_port);
	return fd;
}

START_TEST(port_is_waited_for_until_somebody_listens)
{
	struct outcome o;
	struct client c, other;
	struct kit k;
	unsigned int port;
	int fd = listener(&port);

	kit_init(&k);
	client_open(&c, &k, true);
	client_wait_port(&c, port, "");
	client_open(&other, &k, true);
	client_wait_port(&other, port == 65535 ? 1 : port + 1, "");
	for (int i = 0; i < 10; i++)
		kit_step(&k, 10);
	ck_assert(!list_empty(&k.a.waiting));
	ck_assert_int_eq(listen(fd, 1), 0);
	answer(&c, &k, &o);
	ck_assert(o.done);
	/* At once if somebody does already. */
	client_open(&c, &k, true);
	client_wait_port(&c, port, "");
	answer(&c, &k, &o);
	ck_assert(o.done);
	client_close(&other);
	kit_step(&k, 10);
	kit_step(&k, 10);
	ck_assert(list_empty(&k.a.waiting));
	(void)close(fd);
	kit_done(&k);
}
END_TEST

START_TEST(port_is_not_waited_for_when_its_process_has_ended)
{
	struct outcome o;
	struct client c;
	struct kit k;
	unsigned int port;
	int fd = listener(&port);

	kit_init(&k);
	kit_background(
		&k, &(struct msg_exec){ .id = "job", .flags = WIRE_EXEC_STDIN },
		"read x; exit 9");
	client_open(&c, &k, true);
	client_wait_port(&c, port, "job");
	for (int i = 0; i < 5; i++)
		kit_step(&k, 10);
	{
		struct client in;

		client_open(&in, &k, true);
		client_attach(&in, "job",
			      WIRE_ATTACH_STDIN | WIRE_ATTACH_FOLLOW, 0);
		client_empty(&in, WIRE_STDIN_CLOSE);
		o = (struct outcome){ .partial = true };
		kit_until(&k, kit_none_lives);
		client_close(&in);
	}
	answer(&c, &k, &o);
	ck_assert(o.exited);
	ck_assert_uint_eq(o.exit.value, 9);
	client_open(&c, &k, true);
	client_wait_port(&c, port, "job");
	answer(&c, &k, &o);
	ck_assert(o.exited);
	client_open(&c, &k, true);
	client_wait_port(&c, port, "nobody");
	answer(&c, &k, &o);
	ck_assert_int_eq(o.error.kind, WIRE_ERR_NO_PROCESS);
	(void)close(fd);
	kit_done(&k);
}
END_TEST

START_TEST(port_is_not_waited_for_when_its_process_cannot_start)
{
	static const char *const argv[] = { "/nonexistent", NULL };
	const struct msg_exec m = { .id = "job" };
	struct outcome o;
	struct client x, c;
	struct kit k;
	unsigned int port;
	int fd = listener(&port);

	kit_init(&k);
	client_open(&x, &k, true);
	client_exec(&x, &m, argv);
	client_open(&c, &k, true);
	client_wait_port(&c, port, "job");
	/* Both requests come before the child can have said anything. */
	kit_step(&k, 0);
	ck_assert_uint_eq(k.a.n_live, 1);
	ck_assert(!list_empty(&k.a.waiting));
	answer(&c, &k, &o);
	ck_assert(o.failed);
	ck_assert_int_eq(o.error.kind, WIRE_ERR_NOT_FOUND);
	ck_assert_uint_eq(o.error.code, ENOENT);
	client_close(&x);
	(void)close(fd);
	kit_done(&k);
}
END_TEST

START_TEST(port_of_a_line_is_that_of_a_listener)
{
	static const struct {
		const char *line;
		unsigned int port;
	} v[] = {
		{ "   0: 0100007F:1F90 00000000:0000 0A 00000000:0", 8080 },
		{ "   0: 00000000000000000000000001000000:0050 "
		  "00000000000000000000000000000000:0000 0A 0",
		  80 },
		{ "   1: 0100007F:1F90 0100007F:D2F0 01 00000000:0", 0 },
		{ "  sl  local_address rem_address   st tx_queue", 0 },
		{ "", 0 },
		{ "   0: 0100007F", 0 },
		{ "   0: 0100007F:1F90", 0 },
		{ "   0: 0100007F:1F90 00000000:0000", 0 },
		{ "   0: 0100007F:1F90 00000000:0000 0A", 0 },
		{ "   0: 0100007F:1F9000 00000000:0000 0A 0", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		ck_assert_msg(port_in_line(v[i].line) == v[i].port, "%s",
			      v[i].line);
}
END_TEST

static void want_event(struct client *c, enum wire_event_what what,
		       struct msg_event *m)
{
	struct wire_frame f;
	struct err e = { 0 };

	do {
		client_want(c, WIRE_EVENT, &f);
		ck_assert_msg(wire_event_parse(f.data, f.len, m, &e) == 0, "%s",
			      e.msg);
	} while (m->what != what);
}

START_TEST(events_tell_starts_ends_and_busyness)
{
	struct msg_event m;
	struct wire_frame f;
	struct outcome o;
	struct client ev, c;
	struct kit k;

	kit_init(&k);
	client_open(&ev, &k, true);
	client_empty(&ev, WIRE_EVENTS);
	client_want(&ev, WIRE_HELLO, &f);
	want_event(&ev, WIRE_EVENT_BUSY, &m);
	ck_assert_uint_eq(m.value, 0);

	kit_background(&k, &(struct msg_exec){ .id = "job" },
		       "exec sleep 1000");
	want_event(&ev, WIRE_EVENT_PROCESS_STARTED, &m);
	ck_assert_str_eq(m.id, "job");
	ck_assert_str_eq(m.text, "sh");
	ck_assert_uint_gt(m.value, 1);
	want_event(&ev, WIRE_EVENT_BUSY, &m);
	ck_assert_uint_eq(m.value, WIRE_BUSY_PROCESS);

	client_open(&c, &k, true);
	client_attach(&c, "job", WIRE_ATTACH_FOLLOW, 0);
	want_event(&ev, WIRE_EVENT_BUSY, &m);
	ck_assert_uint_eq(m.value, WIRE_BUSY_PROCESS | WIRE_BUSY_CLIENT);
	client_close(&c);
	want_event(&ev, WIRE_EVENT_BUSY, &m);
	ck_assert_uint_eq(m.value, WIRE_BUSY_PROCESS);

	/* The keeper's own client is nobody, but a request is somebody's. */
	client_open(&c, &k, true);
	client_attach(&c, "job", WIRE_ATTACH_FOLLOW | WIRE_ATTACH_QUIET, 0);
	for (int i = 0; i < 20; i++)
		kit_step(&k, 10);
	ck_assert(!k.a.events.touched);
	client_close(&c);
	client_open(&c, &k, true);
	client_list(&c, "", 0);
	while (client_next(&c, &f))
		;
	client_close(&c);
	want_event(&ev, WIRE_EVENT_BUSY, &m);
	ck_assert_uint_eq(m.value, WIRE_BUSY_PROCESS);

	client_open(&c, &k, true);
	client_kill(&c, "job", SIGKILL, WIRE_SCOPE_TREE, 0);
	answer(&c, &k, &o);
	want_event(&ev, WIRE_EVENT_PROCESS_EXITED, &m);
	ck_assert_str_eq(m.id, "job");
	ck_assert_int_eq(m.how, WIRE_HOW_SIGNALLED);
	ck_assert_uint_eq(m.value, SIGKILL);
	want_event(&ev, WIRE_EVENT_BUSY, &m);
	ck_assert_uint_eq(m.value, 0);
	client_close(&ev);
	kit_done(&k);
}
END_TEST

START_TEST(client_that_waits_for_a_port_makes_busy)
{
	struct msg_event m;
	struct wire_frame f;
	struct client ev, c;
	struct kit k;

	kit_init(&k);
	client_open(&ev, &k, true);
	client_empty(&ev, WIRE_EVENTS);
	client_want(&ev, WIRE_HELLO, &f);
	want_event(&ev, WIRE_EVENT_BUSY, &m);
	ck_assert_uint_eq(m.value, 0);

	/* TCP port 1 has nobody, in a test as elsewhere. */
	client_open(&c, &k, true);
	client_wait_port(&c, 1, "");
	want_event(&ev, WIRE_EVENT_BUSY, &m);
	ck_assert_uint_eq(m.value, WIRE_BUSY_CLIENT);
	client_close(&c);
	want_event(&ev, WIRE_EVENT_BUSY, &m);
	ck_assert_uint_eq(m.value, 0);

	/* Of a process that ends: neither of them is left. */
	kit_background(&k, &(struct msg_exec){ .id = "job" },
		       "exec sleep 1000");
	client_open(&c, &k, true);
	client_wait_port(&c, 1, "job");
	do
		want_event(&ev, WIRE_EVENT_BUSY, &m);
	while (m.value != (WIRE_BUSY_CLIENT | WIRE_BUSY_PROCESS));
	ck_assert_int_eq(kill(table_find(&k.a, "job")->pid, SIGKILL), 0);
	do
		want_event(&ev, WIRE_EVENT_BUSY, &m);
	while (m.value != 0);
	client_close(&c);
	client_close(&ev);
	kit_done(&k);
}
END_TEST

START_TEST(events_that_nobody_reads_do_not_pile_up_but_the_last_comes)
{
	struct msg_event m;
	struct wire_frame f;
	struct outcome o;
	struct client ev;
	struct kit k;

	kit_init(&k);
	client_open(&ev, &k, true);
	client_empty(&ev, WIRE_EVENTS);
	client_want(&ev, WIRE_HELLO, &f);
	for (int i = 0; i < 20000; i++) {
		m = (struct msg_event){ .what = WIRE_EVENT_OOM,
					.id = "",
					.text = "again" };
		events_tell(&k.a, &m);
	}
	outcome_run(&k, WIRE_EXEC_MAIN, "exit 6", &o);
	ck_assert(o.exited);
	outcome_done(&o);
	want_event(&ev, WIRE_EVENT_MAIN_ENDED, &m);
	ck_assert_uint_eq(m.value, 6);
	client_close(&ev);
	kit_done(&k);
}
END_TEST

START_TEST(busyness_that_was_missed_is_told_when_it_can_be)
{
	struct msg_event m;
	struct wire_frame f;
	struct client ev;
	struct kit k;

	kit_init(&k);
	client_open(&ev, &k, true);
	client_empty(&ev, WIRE_EVENTS);
	client_want(&ev, WIRE_HELLO, &f);
	want_event(&ev, WIRE_EVENT_BUSY, &m);
	ck_assert_uint_eq(m.value, 0);
	for (int i = 0; i < 20000; i++) {
		m = (struct msg_event){ .what = WIRE_EVENT_OOM,
					.id = "",
					.text = "again" };
		events_tell(&k.a, &m);
	}
	kit_background(&k, &(struct msg_exec){ .id = "job" },
		       "exec sleep 1000");
	while (k.a.events.touched)
		kit_step(&k, 10);
	ck_assert_uint_eq(k.a.events.busy, WIRE_BUSY_PROCESS);
	want_event(&ev, WIRE_EVENT_BUSY, &m);
	ck_assert_uint_eq(m.value, WIRE_BUSY_PROCESS);
	client_close(&ev);
	kit_done(&k);
}
END_TEST

START_TEST(limits_need_cgroups)
{
	static const char *const argv[] = { "true", NULL };
	static const struct msg_exec v[] = { { .memory = 16 << 20 },
					     { .pids = 3 },
					     { .cpu_weight = 7 } };
	struct kit k;

	kit_init(&k);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		struct outcome o;
		struct client c;

		client_open(&c, &k, true);
		client_exec(&c, &v[i], argv);
		answer(&c, &k, &o);
		want_error(&o, WIRE_ERR_GENERAL, ENOTSUP,
			   "limits: this guest has no cgroups for them");
		ck_assert_uint_eq(k.a.n_live, 0);
	}
	kit_done(&k);
}
END_TEST

START_TEST(cgroup_name_that_is_taken_is_passed_over)
{
	struct outcome o;
	struct client c;
	struct kit k;
	char line[200];
	int dir, fd;

	kit_init(&k);
	if (!kit_cgroups(&k)) {
		/* A machine that gives us none; the guest has them always. */
		kit_done(&k);
		return;
	}
	/* One that is only there is replaced, one in use is not. */
	dir = k.a.cgroups.plain;
	ck_assert_int_eq(mkdirat(dir, "p2", 0755), 0);
	outcome_run(&k, 0, "read x < /proc/self/cgroup; echo $x", &o);
	ck_assert_str_eq(o.id, "p1");
	outcome_done(&o);
	kit_background(&k, &(struct msg_exec){ .id = "guard" },
		       "exec sleep 1000");
	ck_assert_int_eq(mkdirat(dir, "p3", 0755), 0);
	fd = openat(dir, "p3/cgroup.procs", O_WRONLY | O_CLOEXEC);
	(void)snprintf(
		line, sizeof(line), "%d",
		(int)container_of(k.a.live.next, struct proc, link)->pid);
	ck_assert_int_eq(write(fd, line, strlen(line)), strlen(line));
	(void)close(fd);
	outcome_run(&k, 0, "true", &o);
	ck_assert(o.exited);
	ck_assert_str_eq(o.id, "p4");
	outcome_done(&o);

	client_open(&c, &k, true);
	client_exec(&c, &(struct msg_exec){ .id = "p3" },
		    (const char *[]){ "true", NULL });
	answer(&c, &k, &o);
	ck_assert(o.failed);
	ck_assert_uint_eq(o.error.code, EEXIST);
	(void)kill(container_of(k.a.live.next, struct proc, link)->pid,
		   SIGKILL);
	kit_until(&k, kit_none_lives);
	while (unlinkat(dir, "p3", AT_REMOVEDIR) < 0 && errno == EBUSY)
		;
	(void)unlinkat(dir, "p2", AT_REMOVEDIR);
	kit_done(&k);
}
END_TEST

START_TEST(reserve_is_a_part_within_bounds)
{
	ck_assert_uint_eq(layout_reserve(64ull << 20), LAYOUT_RESERVE_MIN);
	ck_assert_uint_eq(layout_reserve(512ull << 20), 16ull << 20);
	ck_assert_uint_eq(layout_reserve(64ull << 30), LAYOUT_RESERVE_MAX);
}
END_TEST

START_TEST(oom_victim_is_found_by_its_cgroup)
{
	static const struct {
		const char *line;
		const char *id;
	} v[] = {
		{ "0::/work/plain/p1\n", "p1" },
		{ "0::/work/limited/build/sub\n", "build" },
		{ "0::/work/plain/p1", "p1" },
		{ "0::/work/plain/\n", NULL },
		{ "0::/work/other/p1\n", NULL },
		{ "0::/agent\n", NULL },
		{ "1:cpu:/work/plain/p1\n", NULL },
		{ "0::/work/plain/a123456789b123456789c123456789d123456789"
		  "e123456789f123456789g1234\n",
		  NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		char id[WIRE_ID_MAX + 1] = "";
		bool found = oom_cgroup_id(v[i].line, id);

		ck_assert_msg(found == !!v[i].id, "%s", v[i].line);
		if (found)
			ck_assert_str_eq(id, v[i].id);
	}
}
END_TEST

CHECK_MAIN("agent_manage", list_tells_of_a_process_what_there_is_to_tell,
	   list_cuts_what_is_too_long_and_says_so,
	   list_of_many_comes_whole_and_in_order,
	   kill_ends_the_tree_and_says_who_is_gone,
	   drop_forgets_the_ended_and_no_other,
	   output_of_the_oldest_ended_makes_room,
	   output_of_many_small_ones_that_ended_stays_within_the_limit,
	   drop_waits_for_who_still_reads,
	   port_is_waited_for_until_somebody_listens,
	   port_is_not_waited_for_when_its_process_has_ended,
	   port_is_not_waited_for_when_its_process_cannot_start,
	   port_of_a_line_is_that_of_a_listener,
	   events_tell_starts_ends_and_busyness,
	   client_that_waits_for_a_port_makes_busy,
	   events_that_nobody_reads_do_not_pile_up_but_the_last_comes,
	   busyness_that_was_missed_is_told_when_it_can_be, limits_need_cgroups,
	   cgroup_name_that_is_taken_is_passed_over,
	   reserve_is_a_part_within_bounds, oom_victim_is_found_by_its_cgroup)
