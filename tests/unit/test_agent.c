/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_agent.c - guest-agent: processes and their streams */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/lib/agent_kit.h"
#include "tests/lib/check_main.h"

#define MIB (1u << 20)

static void want_exit(const struct outcome *o, unsigned int code)
{
	ck_assert_msg(!o->failed, "ERROR: %s", o->sentence);
	ck_assert(o->started && o->exited);
	ck_assert_int_eq(o->exit.how, WIRE_HOW_EXITED);
	ck_assert_uint_eq(o->exit.value, code);
}

START_TEST(exec_streams_apart_and_returns_the_code)
{
	struct kit k;
	struct outcome o;

	kit_init(&k);
	outcome_run(&k, 0, "echo out; echo err >&2; exit 7", &o);

	want_exit(&o, 7);
	ck_assert_str_eq(bytes_text(&o.out), "out\n");
	ck_assert_str_eq(bytes_text(&o.err), "err\n");
	ck_assert_int_eq(o.exit.state, WIRE_STATE_EXITED);
	ck_assert_uint_eq(o.exit.flags, 0);
	ck_assert_str_eq(o.id, "p1");
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(exec_killed_by_a_signal_says_which)
{
	struct kit k;
	struct outcome o;

	kit_init(&k);
	outcome_run(&k, 0, "kill -TERM $$", &o);

	ck_assert(o.exited);
	ck_assert_int_eq(o.exit.how, WIRE_HOW_SIGNALLED);
	ck_assert_uint_eq(o.exit.value, SIGTERM);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(exec_without_stdin_reads_end_of_file)
{
	struct kit k;
	struct outcome o;

	kit_init(&k);
	outcome_run(&k, 0, "cat; echo end", &o);

	want_exit(&o, 0);
	ck_assert_str_eq(bytes_text(&o.out), "end\n");
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(exec_combined_keeps_the_order)
{
	struct kit k;
	struct outcome o;

	kit_init(&k);
	outcome_run(&k, WIRE_EXEC_COMBINED, "echo 1; echo 2 >&2; echo 3", &o);

	want_exit(&o, 0);
	ck_assert_str_eq(bytes_text(&o.out), "1\n2\n3\n");
	ck_assert_uint_eq(o.err.len, 0);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(exec_null_outputs_carry_nothing)
{
	struct kit k;
	struct outcome o;

	kit_init(&k);
	outcome_run(&k, WIRE_EXEC_STDOUT_NULL | WIRE_EXEC_STDERR_NULL,
		    "echo 1; echo 2 >&2; exit 3", &o);

	want_exit(&o, 3);
	ck_assert_uint_eq(o.out.len + o.err.len, 0);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(exec_children_have_clean_signals_and_descriptors)
{
	struct kit k;
	struct outcome o;

	kit_init(&k);
	outcome_run(&k, 0,
		    "grep -E '^Sig(Blk|Ign)' /proc/self/status; "
		    "ls /proc/self/fd | tr '\\n' ' '; "
		    "ps -o pid= -o sid= -p $$ | "
		    "{ read p s; test $p = $s && echo leads; }",
		    &o);

	want_exit(&o, 0);
	/* 3 is the folder that ls itself reads. */
	ck_assert_str_eq(bytes_text(&o.out), "SigBlk:\t0000000000000000\n"
					     "SigIgn:\t0000000000000000\n"
					     "0 1 2 3 leads\n");
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

static void run_argv(struct kit *k, const struct msg_exec *m,
		     const char *const *argv, struct outcome *ret)
{
	struct client c;

	client_open(&c, k, true);
	client_exec(&c, m, argv);
	client_collect(&c, ret);
	client_close(&c);
	kit_step(k, 0);
}

START_TEST(exec_that_cannot_start_says_why)
{
	static const struct {
		const char *program;
		const char *cwd;
		enum wire_error_kind kind;
		uint32_t code;
		const char *says;
	} v[] = {
		{ "no-such-program", "", WIRE_ERR_NOT_FOUND, ENOENT,
		  "'no-such-program' is not found" },
		{ "/no/such/program", "", WIRE_ERR_NOT_FOUND, ENOENT,
		  "'/no/such/program' is not found" },
		{ "/etc/passwd/x", "", WIRE_ERR_NOT_FOUND, ENOTDIR,
		  "is not found" },
		{ "/etc", "", WIRE_ERR_NOT_EXECUTABLE, EACCES,
		  "'/etc' is a directory" },
		{ "/etc/passwd", "", WIRE_ERR_NOT_EXECUTABLE, EACCES,
		  "may not be executed" },
		{ "true", "/no/such/folder", WIRE_ERR_GENERAL, ENOENT,
		  "working directory '/no/such/folder'" },
		{ "true", "/etc/passwd", WIRE_ERR_GENERAL, ENOTDIR,
		  "working directory '/etc/passwd'" },
	};
	struct kit k;

	kit_init(&k);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		const char *argv[] = { v[i].program, NULL };
		struct msg_exec m = { .cwd = v[i].cwd };
		struct outcome o;

		run_argv(&k, &m, argv, &o);
		ck_assert(o.failed && !o.started && !o.exited);
		ck_assert_int_eq(o.error.kind, v[i].kind);
		ck_assert_uint_eq(o.error.code, v[i].code);
		ck_assert_msg(strstr(o.sentence, v[i].says) != NULL, "%s",
			      o.sentence);
		outcome_done(&o);
	}
	ck_assert_uint_eq(k.a.n_live, 0);
	kit_done(&k);
}
END_TEST

/* Files that exist and yet cannot be run, made for the test. */
START_TEST(exec_of_a_broken_file_says_what_is_wrong)
{
	char dir[] = "/tmp/hutch-test-XXXXXX";
	static const struct {
		const char *content;
		enum wire_error_kind kind;
		const char *says;
	} v[] = {
		{ "no magic\n", WIRE_ERR_NOT_EXECUTABLE, "neither a program" },
		{ "#!/no/such/interpreter\n", WIRE_ERR_NOT_FOUND,
		  "the interpreter" },
	};
	struct kit k;
	char path[64];

	kit_init(&k);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/file", dir);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		const char *argv[] = { path, NULL };
		struct outcome o;
		FILE *f = fopen(path, "we");

		ck_assert_ptr_nonnull(f);
		ck_assert_int_ge(fputs(v[i].content, f), 0);
		ck_assert_int_eq(fchmod(fileno(f), 0755), 0);
		ck_assert_int_eq(fclose(f), 0);
		run_argv(&k, &(struct msg_exec){ 0 }, argv, &o);
		ck_assert(o.failed);
		ck_assert_int_eq(o.error.kind, v[i].kind);
		ck_assert_msg(strstr(o.sentence, v[i].says) != NULL, "%s",
			      o.sentence);
		outcome_done(&o);
	}
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
	kit_done(&k);
}
END_TEST

START_TEST(exec_environment_comes_from_three_sources)
{
	const char *argv[] = { "env", NULL };
	const char *env[] = { "A=1", "A=2", "BOOTED=no", NULL };
	struct msg_exec m = { .env = env, .envc = 3 };
	struct kit k;
	struct outcome o;

	kit_init(&k);
	run_argv(&k, &m, argv, &o);

	want_exit(&o, 0);
	ck_assert_ptr_nonnull(strstr(bytes_text(&o.out), "A=2\n"));
	ck_assert_ptr_null(strstr(bytes_text(&o.out), "A=1\n"));
	ck_assert_ptr_nonnull(strstr(bytes_text(&o.out), "BOOTED=no\n"));
	ck_assert_ptr_nonnull(strstr(bytes_text(&o.out), "HOME=/root\n"));
	ck_assert_ptr_nonnull(strstr(bytes_text(&o.out), "USER=root\n"));
	ck_assert_ptr_null(strstr(bytes_text(&o.out), "TERM="));
	outcome_done(&o);

	m.flags = WIRE_EXEC_ENV_CLEAR;
	m.envc = 1;
	run_argv(&k, &m, argv, &o);
	want_exit(&o, 0);
	ck_assert_str_eq(bytes_text(&o.out),
			 "A=1\nHOME=/root\n"
			 "PATH=/usr/local/sbin:/usr/local/bin:"
			 "/usr/sbin:/usr/bin:/sbin:/bin\n"
			 "TERM=dumb\n");
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(exec_as_a_user_is_that_user)
{
	const char *argv[] = { "sh", "-c",
			       "id -u; id -g; echo $HOME; "
			       "echo x >/dev/stdout && pwd",
			       NULL };
	struct msg_exec m = { .user = "65534:65533", .cwd = "/tmp" };
	struct kit k;
	struct outcome o;

	kit_init(&k);
	run_argv(&k, &m, argv, &o);

	want_exit(&o, 0);
	ck_assert_str_eq(bytes_text(&o.out),
			 "65534\n65533\n/nonexistent\nx\n/tmp\n");
	outcome_done(&o);

	m.user = "nobody-at-all";
	run_argv(&k, &m, argv, &o);
	ck_assert(o.failed);
	ck_assert_str_eq(o.sentence,
			 "user 'nobody-at-all' is not in /etc/passwd");
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

/* What every test of volume sends: no period that a chunk size divides. */
static uint8_t *pattern(size_t len)
{
	uint8_t *p = malloc(len);
	uint32_t x = 1;

	ck_assert_ptr_nonnull(p);
	for (size_t i = 0; i < len; i++) {
		x = x * 1664525u + 1013904223u;
		p[i] = (uint8_t)(x >> 24);
	}
	return p;
}

/* As a good client does it: no more in flight than the window allows. */
static void feed(struct client *c, const uint8_t *p, size_t len,
		 struct outcome *o)
{
	struct wire_frame f;
	size_t sent = 0;

	while (sent < len || !o->exited) {
		size_t room = WIRE_STDIN_WINDOW - (sent - o->ack.consumed);
		size_t n = MIN(len - sent, MIN(room, WIRE_DATA_MAX));

		if (n) {
			client_stdin(c, p + sent, n);
			sent += n;
			if (sent == len)
				client_empty(c, WIRE_STDIN_CLOSE);
			continue;
		}
		ck_assert_int_eq(client_next(c, &f), 1);
		outcome_take(o, &f);
	}
}

START_TEST(stdin_and_stdout_carry_much_at_once)
{
	size_t len = 32 * MIB + 12345;
	auto_free uint8_t *p = pattern(len);
	struct outcome o = { 0 };
	struct client c;
	struct kit k;

	kit_sh(&k, &c, WIRE_EXEC_STDIN, "cat");
	feed(&c, p, len, &o);

	want_exit(&o, 0);
	ck_assert_uint_eq(o.out.len, len);
	ck_assert_int_eq(memcmp(o.out.p, p, len), 0);
	client_close(&c);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(stdin_that_is_not_read_blocks_nothing_else)
{
	auto_free uint8_t *p = pattern(WIRE_STDIN_WINDOW);
	struct outcome o;
	struct client c;
	struct kit k;

	kit_sh(&k, &c, WIRE_EXEC_STDIN, "exec sleep 1000");
	client_stdin(&c, p, WIRE_STDIN_WINDOW);
	client_signal(&c, SIGINT, WIRE_SCOPE_ONE);
	client_collect(&c, &o);

	ck_assert(o.exited);
	ck_assert_int_eq(o.exit.how, WIRE_HOW_SIGNALLED);
	ck_assert_uint_eq(o.exit.value, SIGINT);
	client_close(&c);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(stdin_past_the_window_is_refused)
{
	auto_free uint8_t *p = pattern(WIRE_STDIN_WINDOW + MIB);
	struct outcome o;
	struct client c;
	struct kit k;

	kit_sh(&k, &c, WIRE_EXEC_STDIN, "exec sleep 1000");
	client_stdin(&c, p, WIRE_STDIN_WINDOW + MIB);
	client_collect(&c, &o);

	ck_assert(o.failed);
	ck_assert_int_eq(o.error.kind, WIRE_ERR_BAD_REQUEST);
	ck_assert_ptr_nonnull(strstr(o.sentence, "STDIN_ACK"));
	client_close(&c);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(stdin_that_nobody_reads_any_more_is_told)
{
	struct wire_frame f;
	struct msg_stdin_ack ack;
	struct err e = { 0 };
	struct outcome o;
	struct client c;
	struct kit k;

	kit_sh(&k, &c, WIRE_EXEC_STDIN, "exec <&-; exec sleep 1000");
	client_want_started(&c);
	client_want(&c, WIRE_STDIN_ACK, &f);
	ck_assert_int_eq(wire_stdin_ack_parse(f.data, f.len, &ack, &e), 0);
	ck_assert_uint_eq(ack.flags, WIRE_ACK_CLOSED);

	/* What is on its way by then is no offence. */
	client_stdin(&c, "late", 4);
	client_signal(&c, SIGTERM, WIRE_SCOPE_ONE);
	memset(&o, 0, sizeof(o));
	while (client_next(&c, &f))
		outcome_take(&o, &f);
	ck_assert(o.exited);
	client_close(&c);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(stdout_of_many_bytes_arrives_whole)
{
	struct kit k;
	struct outcome o;

	kit_init(&k);
	outcome_run(&k, 0,
		    "seq 1 2000000 | tee /dev/stderr | md5sum >/dev/null;"
		    " seq 1 2000000",
		    &o);

	want_exit(&o, 0);
	ck_assert_uint_eq(o.out.len, 14888896);
	ck_assert_uint_eq(o.err.len, 14888896);
	ck_assert_int_eq(memcmp(o.out.p, o.err.p, o.out.len), 0);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

/* Serves for a while that the writer uses, if it can. */
static uint64_t total_after(struct kit *k, struct list *live)
{
	for (int i = 0; i < 200; i++)
		kit_step(k, 1);
	return list_empty(live) ? 0 : 1;
}

START_TEST(stdout_that_is_not_taken_stops_the_writer)
{
	struct client c;
	struct kit k;
	struct outcome o = { 0 };
	struct wire_frame f;

	/* Writes 64 MiB, and says on stderr when it is through. */
	kit_sh(&k, &c, 0, "head -c 67108864 /dev/zero; echo through >&2");
	ck_assert_uint_eq(total_after(&k, &k.a.live), 1);

	while (client_next(&c, &f))
		outcome_take(&o, &f);
	want_exit(&o, 0);
	ck_assert_uint_eq(o.out.len, 67108864);
	ck_assert_str_eq(bytes_text(&o.err), "through\n");
	client_close(&c);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(stdout_closed_by_the_client_is_sigpipe)
{
	struct client c;
	struct kit k;
	struct outcome o = { 0 };
	struct wire_frame f;

	kit_sh(&k, &c, 0, "exec yes");
	while (o.out.len < MIB) {
		ck_assert_int_eq(client_next(&c, &f), 1);
		outcome_take(&o, &f);
	}
	client_empty(&c, WIRE_CLOSE_STDOUT);
	while (client_next(&c, &f))
		outcome_take(&o, &f);

	ck_assert(o.exited);
	ck_assert_int_eq(o.exit.how, WIRE_HOW_SIGNALLED);
	ck_assert_uint_eq(o.exit.value, SIGPIPE);
	client_close(&c);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(exit_does_not_wait_for_a_child_in_the_background)
{
	struct kit k;
	struct outcome o;

	kit_init(&k);
	outcome_run(&k, 0, "sleep 1000 & echo said; exit 5", &o);

	want_exit(&o, 5);
	ck_assert_str_eq(bytes_text(&o.out), "said\n");
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

static bool nothing_lives(const struct kit *k)
{
	return k->a.n_live == 0;
}

START_TEST(client_that_leaves_stops_nobody)
{
	char path[64];
	struct client c;
	char script[160];
	struct kit k;

	/* 1 MiB with no reader: a ring takes it and the writer comes through. */
	(void)snprintf(path, sizeof(path), "/tmp/hutch-test-%d", (int)getpid());
	(void)snprintf(script, sizeof(script),
		       "read go; head -c 1048576 /dev/zero && echo ok >%s",
		       path);
	kit_sh(&k, &c, WIRE_EXEC_STDIN, script);
	client_want_started(&c);
	client_stdin(&c, "go\n", 3);
	client_close(&c);
	kit_until(&k, nothing_lives);

	ck_assert_int_eq(access(path, F_OK), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_uint_eq(k.a.n_ended, 1);
	kit_done(&k);
}
END_TEST

START_TEST(timeout_is_sigterm_then_sigkill)
{
	const char *argv[] = { "sh", "-c",
			       "trap 'echo term' TERM; "
			       "while :; do sleep 0.1; done",
			       NULL };
	const char *meek[] = { "sleep", "1000", NULL };
	struct msg_exec m = { .timeout_ms = 300, .grace_ms = 300 };
	struct kit k;
	struct outcome o;

	kit_init(&k);
	run_argv(&k, &m, argv, &o);
	ck_assert(o.exited);
	ck_assert_int_eq(o.exit.how, WIRE_HOW_SIGNALLED);
	ck_assert_uint_eq(o.exit.value, SIGKILL);
	ck_assert_uint_eq(o.exit.flags, WIRE_EXIT_TIMED_OUT);
	ck_assert_ptr_nonnull(strstr(bytes_text(&o.out), "term"));
	outcome_done(&o);

	m.grace_ms = 100000;
	run_argv(&k, &m, meek, &o);
	ck_assert_uint_eq(o.exit.value, SIGTERM);
	ck_assert_uint_eq(o.exit.flags, WIRE_EXIT_TIMED_OUT);
	outcome_done(&o);

	m.grace_ms = 0;
	run_argv(&k, &m, meek, &o);
	ck_assert_uint_eq(o.exit.value, SIGKILL);
	ck_assert_uint_eq(o.exit.flags, WIRE_EXIT_TIMED_OUT);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(signal_reaches_one_or_the_tree)
{
	static const enum wire_scope scope[] = { WIRE_SCOPE_ONE,
						 WIRE_SCOPE_TREE };

	for (size_t i = 0; i < ARRAY_LEN(scope); i++) {
		struct client c;
		struct kit k;
		struct wire_frame f;
		struct outcome o = { 0 };

		kit_init(&k);
		client_open(&c, &k, true);
		/* The shell outlives SIGUSR1, its child does not. */
		client_sh(&c, 0,
			  "trap 'echo got' USR1; "
			  "sh -c 'echo up; exec sleep 2'; echo $?");
		while (!strstr(bytes_text(&o.out), "up")) {
			ck_assert_int_eq(client_next(&c, &f), 1);
			outcome_take(&o, &f);
		}
		client_signal(&c, SIGUSR1, scope[i]);
		while (client_next(&c, &f))
			outcome_take(&o, &f);
		want_exit(&o, 0);
		ck_assert_str_eq(bytes_text(&o.out),
				 scope[i] == WIRE_SCOPE_ONE ? "up\ngot\n0\n"
							    : "up\ngot\n138\n");
		client_close(&c);
		outcome_done(&o);
		kit_done(&k);
	}
}
END_TEST

START_TEST(pty_is_a_terminal_of_the_asked_size)
{
	const char *argv[] = { "sh", "-c",
			       "test -t 0 && test -t 1 && test -t 2 && "
			       "stty size && echo $TERM && "
			       "echo x >/dev/tty && exit 9",
			       NULL };
	struct msg_exec m = { .flags = WIRE_EXEC_PTY, .cols = 132, .rows = 43 };
	struct kit k;
	struct outcome o;

	kit_init(&k);
	run_argv(&k, &m, argv, &o);
	want_exit(&o, 9);
	ck_assert_str_eq(bytes_text(&o.out), "43 132\r\nxterm\r\nx\r\n");
	outcome_done(&o);

	m.cols = 0;
	m.rows = 0;
	run_argv(&k, &m, argv, &o);
	want_exit(&o, 9);
	ck_assert_str_eq(bytes_text(&o.out), "24 80\r\nxterm\r\nx\r\n");
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

static void resize(struct client *c, uint16_t cols, uint16_t rows)
{
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_resize_put(&wr,
			&(struct msg_resize){ .cols = cols, .rows = rows });
	client_send(c, buf, wr.len);
}

START_TEST(pty_resize_and_keys_reach_the_program)
{
	struct client c;
	struct kit k;
	struct wire_frame f;
	struct outcome o = { 0 };

	kit_sh(&k, &c, WIRE_EXEC_PTY | WIRE_EXEC_STDIN,
	       "stty -echo; trap 'stty size' WINCH; echo up; "
	       "while ! read line; do :; done; echo got $line; "
	       "trap 'echo int; exit 4' INT; cat; echo eof; "
	       "while :; do sleep 0.1; done");
	while (!strstr(bytes_text(&o.out), "up")) {
		ck_assert_int_eq(client_next(&c, &f), 1);
		outcome_take(&o, &f);
	}
	resize(&c, 100, 50);
	while (!strstr(bytes_text(&o.out), "50 100")) {
		ck_assert_int_eq(client_next(&c, &f), 1);
		outcome_take(&o, &f);
	}
	client_stdin(&c, "word\r", 5);
	while (!strstr(bytes_text(&o.out), "got word")) {
		ck_assert_int_eq(client_next(&c, &f), 1);
		outcome_take(&o, &f);
	}
	client_stdin(&c, "\4", 1);
	while (!strstr(bytes_text(&o.out), "eof")) {
		ck_assert_int_eq(client_next(&c, &f), 1);
		outcome_take(&o, &f);
	}
	client_stdin(&c, "\3", 1);
	while (client_next(&c, &f))
		outcome_take(&o, &f);

	want_exit(&o, 4);
	ck_assert_ptr_nonnull(strstr(bytes_text(&o.out), "int"));
	client_close(&c);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(pty_output_is_whole_when_the_session_ends)
{
	struct kit k;
	struct outcome o;

	kit_init(&k);
	/* More than the kernel holds: the end of it is written and left. */
	outcome_run(&k, WIRE_EXEC_PTY, "seq 1 30000", &o);

	want_exit(&o, 0);
	ck_assert_uint_eq(o.out.len, 168894 + 30000);
	ck_assert_str_eq(bytes_text(&o.out) + o.out.len - 7, "30000\r\n");
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(pty_output_outlives_its_session_leader)
{
	struct client c;
	struct kit k;
	struct wire_frame f;
	struct outcome o = { 0 };
	siginfo_t si;

	/* All of it fits what the kernel holds; nobody reads till the end. */
	kit_sh(&k, &c, WIRE_EXEC_PTY | WIRE_EXEC_STDIN, "seq 1 2000");
	while (k.a.n_live == 0)
		kit_step(&k, 1);
	ck_assert_int_eq(waitid(P_ALL, 0, &si, WEXITED | WNOWAIT), 0);
	while (client_next(&c, &f))
		outcome_take(&o, &f);

	want_exit(&o, 0);
	ck_assert_uint_eq(o.out.len, 8893 + 2000);
	client_close(&c);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

CHECK_MAIN("agent", exec_streams_apart_and_returns_the_code,
	   exec_killed_by_a_signal_says_which,
	   exec_without_stdin_reads_end_of_file, exec_combined_keeps_the_order,
	   exec_null_outputs_carry_nothing,
	   exec_children_have_clean_signals_and_descriptors,
	   exec_that_cannot_start_says_why,
	   exec_of_a_broken_file_says_what_is_wrong,
	   exec_environment_comes_from_three_sources,
	   exec_as_a_user_is_that_user, stdin_and_stdout_carry_much_at_once,
	   stdin_that_is_not_read_blocks_nothing_else,
	   stdin_past_the_window_is_refused,
	   stdin_that_nobody_reads_any_more_is_told,
	   stdout_of_many_bytes_arrives_whole,
	   stdout_that_is_not_taken_stops_the_writer,
	   stdout_closed_by_the_client_is_sigpipe,
	   exit_does_not_wait_for_a_child_in_the_background,
	   client_that_leaves_stops_nobody, timeout_is_sigterm_then_sigkill,
	   signal_reaches_one_or_the_tree, pty_is_a_terminal_of_the_asked_size,
	   pty_resize_and_keys_reach_the_program,
	   pty_output_is_whole_when_the_session_ends,
	   pty_output_outlives_its_session_leader)
