/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_agent_attach.c - guest-agent: background, replay, follow */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "guest-agent/process.h"
#include "tests/lib/agent_kit.h"
#include "tests/lib/check_main.h"

#define KIB 1024ul

/* sh -c @script in the background, under an id. */
static void background(struct kit *k, const char *id, uint32_t flags,
		       uint32_t ring, const char *script)
{
	const struct msg_exec m = { .flags = flags, .ring = ring, .id = id };

	kit_background(k, &m, script);
}

/* All that one who attaches gets; @o may have been prepared. */
static void attach(struct kit *k, const char *id, uint32_t flags, uint64_t from,
		   struct outcome *o)
{
	struct wire_frame f;
	struct client c;

	client_open(&c, k, true);
	client_attach(&c, id, flags, from);
	while (client_next(&c, &f))
		outcome_take(o, &f);
	client_close(&c);
	kit_step(k, 0);
}

static const struct proc *the_ended(const struct kit *k)
{
	ck_assert_uint_eq(k->a.n_ended, 1);
	return container_of(k->a.ended.next, struct proc, link);
}

START_TEST(background_output_is_replayed_from_any_cursor)
{
	struct outcome o = { 0 };
	struct kit k;

	kit_init(&k);
	background(&k, "job", 0, 0, "echo one; echo two >&2; exit 4");
	kit_until(&k, kit_none_lives);
	attach(&k, "job", 0, 0, &o);
	ck_assert(o.started && o.exited);
	ck_assert_uint_eq(o.exit.value, 4);
	ck_assert_uint_eq(o.exit.stdout_cut, 0);
	ck_assert_uint_ge(o.exit.end_ns, o.start_ns);
	ck_assert_str_eq(bytes_text(&o.out), "one\n");
	ck_assert_str_eq(bytes_text(&o.err), "two\n");
	outcome_done(&o);

	/* Again, as often as one likes, and from a cursor. */
	o = (struct outcome){ .out.skip = 2, .err.skip = 2 };
	attach(&k, "job", WIRE_ATTACH_FOLLOW, 2, &o);
	ck_assert(o.exited);
	ck_assert_str_eq(bytes_text(&o.out), "e\n");
	ck_assert_str_eq(bytes_text(&o.err), "o\n");
	outcome_done(&o);

	o = (struct outcome){ .out.skip = 1, .err.skip = 1 };
	attach(&k, "job", WIRE_ATTACH_BACK, 3, &o);
	ck_assert_str_eq(bytes_text(&o.out), "ne\n");
	outcome_done(&o);

	/* Past the end there is nothing, and that is no error. */
	o = (struct outcome){ .out.skip = 4, .err.skip = 4 };
	attach(&k, "job", 0, INT64_MAX, &o);
	ck_assert(o.exited && !o.out.len && !o.err.len);
	kit_done(&k);
}
END_TEST

START_TEST(streams_come_in_the_order_they_were_read)
{
	static const char want[] = "o1e1o2e2o3e3";
	struct wire_frame f;
	struct client c;
	struct kit k;
	char got[64] = "";

	kit_init(&k);
	background(&k, "job", 0, 0,
		   "for i in 1 2 3; do printf o$i; sleep 0.05; "
		   "printf e$i >&2; sleep 0.05; done");
	kit_until(&k, kit_none_lives);
	client_open(&c, &k, true);
	client_attach(&c, "job", 0, 0);
	while (client_next(&c, &f)) {
		if (f.type == WIRE_STDOUT || f.type == WIRE_STDERR)
			(void)strncat(got, (const char *)f.data + 16,
				      f.len - 16);
	}
	ck_assert_str_eq(got, want);
	client_close(&c);
	kit_done(&k);
}
END_TEST

START_TEST(unwanted_streams_do_not_come)
{
	struct outcome o = { .partial = true };
	struct kit k;

	kit_init(&k);
	background(&k, "job", 0, 0, "echo one; echo two >&2");
	kit_until(&k, kit_none_lives);
	attach(&k, "job", WIRE_ATTACH_NO_STDOUT, 0, &o);
	ck_assert(o.exited && !o.out.len);
	ck_assert_str_eq(bytes_text(&o.err), "two\n");
	outcome_done(&o);
	o = (struct outcome){ .partial = true };
	attach(&k, "job", WIRE_ATTACH_NO_STDERR, 0, &o);
	ck_assert(o.exited && !o.err.len);
	ck_assert_str_eq(bytes_text(&o.out), "one\n");
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(without_follow_the_living_end_with_done)
{
	struct outcome o = { 0 };
	struct kit k;

	kit_init(&k);
	background(&k, "job", 0, 0, "echo up; exec sleep 1000");
	while (!o.out.len) {
		outcome_done(&o);
		o = (struct outcome){ 0 };
		attach(&k, "job", 0, 0, &o);
		ck_assert(o.done && !o.exited);
	}
	ck_assert_str_eq(bytes_text(&o.out), "up\n");
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(several_follow_and_a_dead_one_holds_up_nobody)
{
	struct client dead, c[3];
	struct outcome o[3];
	struct wire_frame f;
	struct kit k;

	kit_init(&k);
	background(&k, "job", WIRE_EXEC_STDIN, 0,
		   "read go; head -c 8388608 /dev/zero; echo end");
	client_open(&dead, &k, true);
	client_attach(&dead, "job", WIRE_ATTACH_FOLLOW, 0);
	for (int i = 0; i < 3; i++) {
		client_open(&c[i], &k, true);
		client_attach(&c[i], "job",
			      WIRE_ATTACH_FOLLOW | WIRE_ATTACH_STDIN, 0);
		o[i] = (struct outcome){ 0 };
	}
	client_want(&dead, WIRE_HELLO, &f);
	client_want(&dead, WIRE_STARTED, &f);
	client_stdin(&c[1], "go\n", 3);
	for (int i = 0; i < 3; i++) {
		while (client_next(&c[i], &f))
			outcome_take(&o[i], &f);
		ck_assert(o[i].exited);
		ck_assert_uint_eq(o[i].out.skip + o[i].out.len, 8388608 + 4);
		ck_assert_ptr_nonnull(
			strstr((char *)o[i].out.p + o[i].out.len - 4, "end"));
		client_close(&c[i]);
		outcome_done(&o[i]);
	}
	/* What the dead one gets when it wakes: the truth. */
	o[0] = (struct outcome){ .started = true, .hello = true };
	while (client_next(&dead, &f))
		outcome_take(&o[0], &f);
	ck_assert(o[0].exited);
	ck_assert_uint_gt(o[0].out.lost, 0);
	client_close(&dead);
	outcome_done(&o[0]);
	kit_done(&k);
}
END_TEST

START_TEST(tail_is_kept_and_the_cut_is_told)
{
	struct outcome o = { 0 };
	struct kit k;

	kit_init(&k);
	background(&k, "job", 0, 8 * KIB, "seq 1 20000");
	kit_until(&k, kit_none_lives);
	attach(&k, "job", 0, 0, &o);
	ck_assert(o.exited);
	ck_assert_uint_eq(o.out.len, 8 * KIB);
	ck_assert_uint_eq(o.exit.stdout_cut, o.exit.stdout_total - 8 * KIB);
	ck_assert_uint_eq(o.out.lost, o.exit.stdout_cut);
	ck_assert_str_eq(bytes_text(&o.out) + 8 * KIB - 12, "19999\n20000\n");
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(head_is_kept_if_asked_for)
{
	struct outcome o = { 0 };
	struct kit k;

	kit_init(&k);
	background(&k, "job", WIRE_EXEC_KEEP_HEAD, 8 * KIB, "seq 1 200000");
	kit_until(&k, kit_none_lives);
	attach(&k, "job", 0, 0, &o);
	ck_assert(o.exited);
	ck_assert_uint_eq(o.out.len, 72 * KIB);
	ck_assert_int_eq(strncmp(bytes_text(&o.out), "1\n2\n3\n", 6), 0);
	ck_assert_str_eq(bytes_text(&o.out) + 72 * KIB - 14,
			 "199999\n200000\n");
	ck_assert_uint_eq(o.out.lost, o.exit.stdout_cut);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(client_that_leaves_lets_others_have_its_process)
{
	struct outcome o = { 0 };
	struct wire_frame f;
	struct client c;
	const char *argv[] = { "sh", "-c", "echo up; read x; echo down", NULL };
	struct kit k;

	kit_init(&k);
	client_open(&c, &k, true);
	client_exec(&c,
		    &(struct msg_exec){ .id = "job", .flags = WIRE_EXEC_STDIN },
		    argv);
	client_want_started(&c);
	client_want(&c, WIRE_STDOUT, &f);
	client_close(&c);
	attach(&k, "job", WIRE_ATTACH_FOLLOW, 0, &o);
	ck_assert(o.exited);
	ck_assert_str_eq(bytes_text(&o.out), "up\ndown\n");
	/* Its end was not fetched by who started it: it is still there. */
	ck_assert_uint_eq(the_ended(&k)->nr, 1);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(foreground_end_that_was_taken_is_forgotten)
{
	struct outcome o;
	struct client c;
	struct kit k;

	kit_init(&k);
	outcome_run(&k, 0, "true", &o);
	ck_assert(o.exited);
	ck_assert_uint_eq(k.a.n_ended, 0);
	outcome_done(&o);
	/* One that nobody waited for is not. */
	client_open(&c, &k, true);
	client_sh(&c, 0, "true");
	kit_step(&k, 20);
	client_close(&c);
	kit_until(&k, kit_none_lives);
	ck_assert_uint_le(k.a.n_ended, 1);
	kit_done(&k);
}
END_TEST

START_TEST(attached_client_closes_no_pipe)
{
	struct outcome o = { .partial = true };
	struct wire_frame f;
	struct client c;
	struct kit k;

	kit_init(&k);
	background(&k, "job", WIRE_EXEC_STDIN, 0,
		   "echo up; read x; echo more; exit 3");
	client_open(&c, &k, true);
	client_attach(&c, "job", WIRE_ATTACH_FOLLOW | WIRE_ATTACH_STDIN, 0);
	client_empty(&c, WIRE_CLOSE_STDOUT);
	client_stdin(&c, "x\n", 2);
	while (client_next(&c, &f))
		outcome_take(&o, &f);
	ck_assert(o.exited);
	ck_assert_int_eq(o.exit.how, WIRE_HOW_EXITED);
	ck_assert_uint_eq(o.exit.value, 3);
	ck_assert_uint_eq(o.exit.stdout_total, 8);
	ck_assert_uint_lt(o.out.len, 8);
	client_close(&c);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(stdin_of_several_is_written_whole_and_ends_for_all)
{
	struct client c[2];
	struct outcome o[2] = { 0 };
	struct wire_frame f;
	struct kit k;

	kit_init(&k);
	background(&k, "job", WIRE_EXEC_STDIN, 0, "cat");
	for (int i = 0; i < 2; i++) {
		client_open(&c[i], &k, true);
		client_attach(&c[i], "job",
			      WIRE_ATTACH_FOLLOW | WIRE_ATTACH_STDIN, 0);
		client_want(&c[i], WIRE_HELLO, &f);
		client_want(&c[i], WIRE_STARTED, &f);
		o[i].started = true;
	}
	client_stdin(&c[0], "from one\n", 9);
	kit_step(&k, 0);
	client_stdin(&c[1], "from two\n", 9);
	kit_step(&k, 0);
	client_empty(&c[1], WIRE_STDIN_CLOSE);
	for (int i = 0; i < 2; i++) {
		while (client_next(&c[i], &f))
			outcome_take(&o[i], &f);
		ck_assert(o[i].exited);
		ck_assert_str_eq(bytes_text(&o[i].out), "from one\nfrom two\n");
		client_close(&c[i]);
		outcome_done(&o[i]);
	}
	/* The one that did not close it was told. */
	ck_assert_uint_eq(o[0].ack.flags, WIRE_ACK_CLOSED);
	kit_done(&k);
}
END_TEST

START_TEST(stdin_queue_of_all_is_bounded)
{
	auto_free uint8_t *p = calloc(1, WIRE_STDIN_WINDOW);
	struct client c[8];
	unsigned int refused = 0;
	struct kit k;

	ck_assert_ptr_nonnull(p);
	kit_init(&k);
	background(&k, "job", WIRE_EXEC_STDIN, 0, "exec sleep 1000");
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		client_open(&c[i], &k, true);
		client_attach(&c[i], "job",
			      WIRE_ATTACH_FOLLOW | WIRE_ATTACH_STDIN, 0);
		client_stdin(&c[i], p, WIRE_STDIN_WINDOW);
		for (int n = 0; n < 20; n++)
			kit_step(&k, 0);
	}
	for (size_t i = 4; i < ARRAY_LEN(c); i++) {
		struct outcome o;

		client_collect(&c[i], &o);
		ck_assert(o.failed);
		ck_assert_int_eq(o.error.kind, WIRE_ERR_LIMIT);
		refused++;
		outcome_done(&o);
	}
	ck_assert_uint_eq(refused, 4);
	ck_assert_uint_eq(k.a.n_live, 1);
	for (size_t i = 0; i < ARRAY_LEN(c); i++)
		client_close(&c[i]);
	kit_done(&k);
}
END_TEST

/* Windows are given back to the one whose bytes they were. */
START_TEST(stdin_of_two_flows_through_a_slow_reader)
{
	size_t len = 2u << 20;
	auto_free uint8_t *p = calloc(1, WIRE_DATA_MAX);
	struct client c[2];
	struct outcome o[2] = { 0 };
	size_t sent[2] = { 0 };
	struct kit k;

	kit_init(&k);
	background(&k, "job", WIRE_EXEC_STDIN, 0, "sleep 0.2; exec wc -c");
	for (int i = 0; i < 2; i++) {
		client_open(&c[i], &k, true);
		client_attach(&c[i], "job",
			      WIRE_ATTACH_FOLLOW | WIRE_ATTACH_STDIN, 0);
	}
	while (sent[0] < len || sent[1] < len)
		for (int i = 0; i < 2; i++) {
			size_t room = WIRE_STDIN_WINDOW -
				      (sent[i] - o[i].ack.consumed);
			size_t n = MIN(len - sent[i], MIN(room, 10000));
			struct wire_frame f;

			if (n) {
				client_stdin(&c[i], p, n);
				sent[i] += n;
				kit_step(&k, 0);
			} else if (sent[i] < len) {
				ck_assert_int_eq(client_next(&c[i], &f), 1);
				outcome_take(&o[i], &f);
			}
		}
	for (int i = 0; i < 4; i++)
		kit_step(&k, 10);
	client_empty(&c[0], WIRE_STDIN_CLOSE);
	for (int i = 0; i < 2; i++) {
		struct wire_frame f;

		while (client_next(&c[i], &f))
			outcome_take(&o[i], &f);
		ck_assert(o[i].exited);
		ck_assert_str_eq(bytes_text(&o[i].out), "4194304\n");
		client_close(&c[i]);
		outcome_done(&o[i]);
	}
	kit_done(&k);
}
END_TEST

START_TEST(terminal_waits_for_the_next_client)
{
	const char *argv[] = { "sh", "-c",
			       "stty -echo; echo up; "
			       "read x; echo got $x; stty size; exit 5",
			       NULL };
	struct outcome o = { 0 };
	struct wire_frame f;
	struct client c;
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct kit k;

	kit_init(&k);
	client_open(&c, &k, true);
	client_exec(
		&c,
		&(struct msg_exec){ .id = "shell",
				    .flags = WIRE_EXEC_PTY | WIRE_EXEC_STDIN },
		argv);
	client_want_started(&c);
	client_want(&c, WIRE_STDOUT, &f);
	client_close(&c);
	for (int i = 0; i < 10; i++)
		kit_step(&k, 1);
	ck_assert_uint_eq(k.a.n_live, 1);

	client_open(&c, &k, true);
	client_attach(&c, "shell",
		      WIRE_ATTACH_FOLLOW | WIRE_ATTACH_STDIN | WIRE_ATTACH_BACK,
		      262144);
	wire_resize_put(&wr, &(struct msg_resize){ .cols = 99, .rows = 33 });
	client_send(&c, buf, wr.len);
	client_stdin(&c, "word\r", 5);
	while (client_next(&c, &f))
		outcome_take(&o, &f);
	ck_assert(o.exited);
	ck_assert_uint_eq(o.exit.value, 5);
	ck_assert_str_eq(bytes_text(&o.out), "up\r\ngot word\r\n33 99\r\n");
	client_close(&c);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(attach_to_nothing_or_out_of_place_is_refused)
{
	struct outcome o = { 0 };
	struct client c;
	struct kit k;

	kit_init(&k);
	attach(&k, "nobody", 0, 0, &o);
	ck_assert(o.failed);
	ck_assert_int_eq(o.error.kind, WIRE_ERR_NO_PROCESS);
	ck_assert_uint_eq(o.error.code, ESRCH);
	outcome_done(&o);

	background(&k, "job", 0, 0, "exec sleep 1000");
	client_open(&c, &k, true);
	client_attach(&c, "job", WIRE_ATTACH_FOLLOW, 0);
	client_stdin(&c, "x", 1);
	client_collect(&c, &o);
	ck_assert_int_eq(o.error.kind, WIRE_ERR_BAD_REQUEST);
	ck_assert_ptr_nonnull(strstr(o.sentence, "not announced"));
	client_close(&c);
	outcome_done(&o);

	client_open(&c, &k, true);
	client_attach(&c, "job", WIRE_ATTACH_FOLLOW, 0);
	client_signal(&c, SIGTERM, WIRE_SCOPE_ONE);
	client_collect(&c, &o);
	ck_assert(o.exited);
	ck_assert_uint_eq(o.exit.value, SIGTERM);
	client_close(&c);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(child_that_cannot_start_is_told_to_all)
{
	const char *argv[] = { "/no/such/program", NULL };
	struct outcome o;
	struct client c;
	struct kit k;

	kit_init(&k);
	client_open(&c, &k, true);
	client_exec(&c, &(struct msg_exec){ .flags = WIRE_EXEC_DETACH }, argv);
	client_collect(&c, &o);
	ck_assert(o.failed && !o.started);
	ck_assert_int_eq(o.error.kind, WIRE_ERR_NOT_FOUND);
	client_close(&c);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

CHECK_MAIN("agent_attach", background_output_is_replayed_from_any_cursor,
	   streams_come_in_the_order_they_were_read,
	   unwanted_streams_do_not_come,
	   without_follow_the_living_end_with_done,
	   several_follow_and_a_dead_one_holds_up_nobody,
	   tail_is_kept_and_the_cut_is_told, head_is_kept_if_asked_for,
	   client_that_leaves_lets_others_have_its_process,
	   foreground_end_that_was_taken_is_forgotten,
	   attached_client_closes_no_pipe,
	   stdin_of_several_is_written_whole_and_ends_for_all,
	   stdin_queue_of_all_is_bounded,
	   stdin_of_two_flows_through_a_slow_reader,
	   terminal_waits_for_the_next_client,
	   attach_to_nothing_or_out_of_place_is_refused,
	   child_that_cannot_start_is_told_to_all)
