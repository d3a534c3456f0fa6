/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cli_stream.c - host/cli/stream.c, input.c, output.c and
 * sink.c, with a local process in place of one in a VM
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fake_hutch.h"
#include "tests/lib/stream_kit.h"

#define BULK (24u << 20)
/* A stream that buffered without bound would hold most of BULK_SLOW. */
#define BULK_SLOW   (192u << 20)
#define RSS_MAX_KIB (96 << 10)

START_TEST(streams_and_code_come_back_apart)
{
	char out_text[LINE_ROOM], err_text[LINE_ROOM];
	int out[2], err[2];
	struct run run = { .script = "echo out; echo err >&2; exit 7" };
	pid_t pid;

	stream_kit_pipe(out);
	stream_kit_pipe(err);
	run.fd[0] = -1;
	run.fd[1] = out[1];
	run.fd[2] = err[1];
	pid = stream_kit_start(&run);
	(void)close(out[1]);
	(void)close(err[1]);
	(void)stream_kit_read_all(out[0], out_text, sizeof(out_text));
	(void)stream_kit_read_all(err[0], err_text, sizeof(err_text));

	ck_assert_int_eq(stream_kit_finish(pid), 7);
	ck_assert_str_eq(out_text, "out\n");
	ck_assert_str_eq(err_text, "err\n");
	(void)close(out[0]);
	(void)close(err[0]);
}
END_TEST

/* The last sequence is cut by the end of the stream. */
START_TEST(output_of_the_past_has_no_questions)
{
	struct run run = { .script = "printf 'a\\033[6nb\\033['", .o.past = 9 };
	char text[LINE_ROOM];
	int out[2];
	pid_t pid;

	stream_kit_pipe(out);
	run.fd[0] = -1;
	run.fd[1] = out[1];
	run.fd[2] = -1;
	pid = stream_kit_start(&run);
	(void)close(out[1]);
	(void)stream_kit_read_all(out[0], text, sizeof(text));
	ck_assert_int_eq(stream_kit_finish(pid), 0);
	ck_assert_str_eq(text, "ab\033[");
	(void)close(out[0]);
}
END_TEST

/* A temporary file of BULK bytes that differ. */
static int bulk_file(void)
{
	size_t n = BULK / sizeof(uint32_t);
	uint32_t *word = calloc(n, sizeof(*word));
	FILE *f = tmpfile();
	int fd;

	ck_assert(f && word);
	for (size_t i = 1; i < n; i++)
		word[i] = word[i - 1] * 1664525u + 1013904223u;
	ck_assert_uint_eq(fwrite(word, sizeof(*word), n, f), n);
	ck_assert_int_eq(fflush(f), 0);
	free(word);
	fd = fcntl(fileno(f), F_DUPFD_CLOEXEC, 3);
	ck_assert_int_ge(fd, 0);
	(void)fclose(f);
	(void)lseek(fd, 0, SEEK_SET);
	return fd;
}

static void equal_to_file(int file, int fd)
{
	static char a[1 << 20], b[1 << 20];
	size_t n;

	(void)lseek(file, 0, SEEK_SET);
	do {
		n = stream_kit_read_all(fd, a, sizeof(a));
		ck_assert_int_eq(read(file, b, sizeof(b) - 1), n);
		ck_assert_mem_eq(a, b, n);
	} while (n == sizeof(a) - 1);
	ck_assert_int_eq(read(file, b, 1), 0);
}

START_TEST(input_of_a_file_comes_back_through_a_pipe)
{
	struct run run = { .script = "cat", .o.in = true };
	int file = bulk_file(), out[2];
	pid_t pid;

	stream_kit_pipe(out);
	run.fd[0] = file;
	run.fd[1] = out[1];
	run.fd[2] = -1;
	pid = stream_kit_start(&run);
	(void)close(out[1]);
	file = bulk_file();
	equal_to_file(file, out[0]);
	ck_assert_int_eq(stream_kit_finish(pid), 0);
	(void)close(file);
	(void)close(out[0]);
	(void)close(run.fd[0]);
}
END_TEST

START_TEST(output_to_a_socket_and_a_file_is_whole)
{
	int sock[2], file = bulk_file();
	struct run run = { .script = "cat", .o.in = true };
	FILE *copy = tmpfile();
	pid_t pid;

	ck_assert_ptr_nonnull(copy);
	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock), 0);
	run.fd[0] = file;
	run.fd[1] = sock[1];
	run.fd[2] = -1;
	pid = stream_kit_start(&run);
	(void)close(sock[1]);
	file = bulk_file();
	equal_to_file(file, sock[0]);
	ck_assert_int_eq(stream_kit_finish(pid), 0);

	(void)lseek(run.fd[0], 0, SEEK_SET);
	run.fd[1] = fileno(copy);
	ck_assert_int_eq(stream_kit_finish(stream_kit_start(&run)), 0);
	(void)lseek(fileno(copy), 0, SEEK_SET);
	equal_to_file(file, fileno(copy));
	(void)close(sock[0]);
	(void)close(file);
	(void)close(run.fd[0]);
	(void)fclose(copy);
}
END_TEST

START_TEST(without_i_the_command_reads_nothing)
{
	struct run run = { .script = "exit 3" };
	int in[2];

	stream_kit_pipe(in);
	ck_assert_int_eq(write(in[1], "x", 1), 1);
	run.fd[0] = in[0];
	run.fd[1] = run.fd[2] = -1;
	ck_assert_int_eq(stream_kit_finish(stream_kit_start(&run)), 3);
	ck_assert_int_eq(close(in[1]), 0);
	/* It is still there for whoever comes next. */
	ck_assert_int_eq(read(in[0], (char[2]){ 0 }, 2), 1);
	(void)close(in[0]);
}
END_TEST

START_TEST(reader_that_leaves_gives_sigpipe)
{
	struct run run = { .script = "exec yes" };
	char some[LINE_ROOM];
	int out[2];
	pid_t pid;

	stream_kit_pipe(out);
	run.fd[0] = run.fd[2] = -1;
	run.fd[1] = out[1];
	pid = stream_kit_start(&run);
	(void)close(out[1]);
	ck_assert_int_gt(read(out[0], some, sizeof(some)), 0);
	(void)close(out[0]);

	ck_assert_int_eq(stream_kit_finish(pid), 128 + SIGPIPE);
}
END_TEST

START_TEST(slow_reader_stops_the_writer)
{
	struct run run = { .script = "exec head -c 201326592 /dev/zero" };
	static char buf[1 << 20];
	struct rusage before = { 0 }, after = { 0 };
	size_t total = 0;
	int out[2], n = 0;
	ssize_t got;
	pid_t pid;

	stream_kit_pipe(out);
	run.fd[0] = run.fd[2] = -1;
	run.fd[1] = out[1];
	(void)getrusage(RUSAGE_SELF, &before);
	pid = stream_kit_start(&run);
	(void)close(out[1]);
	/* Full: whatever is written now must wait somewhere. */
	while (ioctl(out[0], FIONREAD, &n) == 0 && n < 65536)
		(void)usleep(1000);
	/* Time for a careless stream to gather more; ours cannot fail here. */
	(void)usleep(300000);
	while ((got = read(out[0], buf, sizeof(buf))) > 0)
		total += (size_t)got;
	ck_assert_int_eq(stream_kit_finish(pid), 0);
	ck_assert_uint_eq(total, BULK_SLOW);
	(void)getrusage(RUSAGE_CHILDREN, &after);
	ck_assert_int_lt(after.ru_maxrss,
			 MAX(before.ru_maxrss, 0) + RSS_MAX_KIB);
	(void)close(out[0]);
}
END_TEST

START_TEST(signal_reaches_the_command)
{
	struct run run = { .script = "trap 'exit 9' TERM; echo ready; "
				     "while :; do sleep 0.02; done" };
	int out[2];
	pid_t pid;

	stream_kit_pipe(out);
	run.fd[0] = run.fd[2] = -1;
	run.fd[1] = out[1];
	pid = stream_kit_start(&run);
	(void)close(out[1]);
	stream_kit_await_line(out[0], "ready");
	ck_assert_int_eq(kill(pid, SIGTERM), 0);

	ck_assert_int_eq(stream_kit_finish(pid), 9);
	(void)close(out[0]);
}
END_TEST

START_TEST(signal_is_heard_while_output_flows)
{
	struct run run = { .script = "echo ready >&2; exec yes" };
	int err[2];
	pid_t pid;

	stream_kit_pipe(err);
	run.fd[0] = run.fd[1] = -1;
	run.fd[2] = err[1];
	pid = stream_kit_start(&run);
	(void)close(err[1]);
	stream_kit_await_line(err[0], "ready");
	ck_assert_int_eq(kill(pid, SIGTERM), 0);

	ck_assert_int_eq(stream_kit_finish(pid), 128 + SIGTERM);
	(void)close(err[0]);
}
END_TEST

START_TEST(signal_that_nohup_ignores_is_not_passed_on)
{
	struct run run = { .script = "trap 'exit 8' HUP; trap 'exit 9' TERM; "
				     "echo ready; while :; do sleep 0.02; done",
			   .ignored = SIGHUP };
	int out[2];
	pid_t pid;

	stream_kit_pipe(out);
	run.fd[0] = run.fd[2] = -1;
	run.fd[1] = out[1];
	pid = stream_kit_start(&run);
	(void)close(out[1]);
	stream_kit_await_line(out[0], "ready");
	ck_assert_int_eq(kill(pid, SIGHUP), 0);
	ck_assert_int_eq(kill(pid, SIGTERM), 0);

	ck_assert_int_eq(stream_kit_finish(pid), 9);
	(void)close(out[0]);
}
END_TEST

START_TEST(third_signal_leaves_a_deaf_command)
{
	struct run run = { .script = "trap '' INT TERM HUP; echo ready; "
				     "exec sleep 1000" };
	int out[2], err[2];
	pid_t pid;

	stream_kit_pipe(out);
	stream_kit_pipe(err);
	run.fd[0] = -1;
	run.fd[1] = out[1];
	run.fd[2] = err[1];
	pid = stream_kit_start(&run);
	(void)close(out[1]);
	(void)close(err[1]);
	stream_kit_await_line(out[0], "ready");
	ck_assert_int_eq(kill(pid, SIGINT), 0);
	ck_assert_int_eq(kill(pid, SIGTERM), 0);
	stream_kit_await_line(
		err[0], "hutch: the command has the signal and still runs: "
			"once more to leave it");
	ck_assert_int_eq(kill(pid, SIGHUP), 0);

	ck_assert_int_eq(stream_kit_finish(pid), GAVE_UP + SIGHUP);
	(void)close(out[0]);
	(void)close(err[0]);
}
END_TEST

START_TEST(broken_connection_is_no_exit_code)
{
	struct run run = { .script = "echo out; exit 0", .break_after = 1 };

	run.fd[0] = run.fd[1] = run.fd[2] = -1;
	ck_assert_int_eq(stream_kit_finish(stream_kit_start(&run)), 125);
}
END_TEST

/* Nothing comes that would wake it: it must look by itself. */
START_TEST(deaf_guest_hangs_nobody)
{
	struct run run = { .script = "exec sleep 1000", .deaf = 1 };

	run.fd[0] = run.fd[1] = run.fd[2] = -1;
	ck_assert_int_eq(stream_kit_finish(stream_kit_start(&run)), 124);
}
END_TEST

START_TEST(full_disk_is_told)
{
	struct run run = { .script = "yes | head -n 100000" };
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	run.fd[0] = run.fd[2] = -1;
	run.fd[1] = full;
	/* head gets SIGPIPE as it would from a pipe that broke. */
	ck_assert_int_eq(stream_kit_finish(stream_kit_start(&run)),
			 128 + SIGPIPE);
	(void)close(full);
}
END_TEST

START_TEST(json_holds_both_streams_in_one)
{
	struct run run = { .script = "printf 'a\\377'; printf b >&2",
			   .o.json = true };
	char text[LINE_ROOM];
	int out[2];
	pid_t pid;

	stream_kit_pipe(out);
	run.fd[0] = run.fd[2] = -1;
	run.fd[1] = out[1];
	pid = stream_kit_start(&run);
	(void)close(out[1]);
	(void)stream_kit_read_all(out[0], text, sizeof(text));

	ck_assert_int_eq(stream_kit_finish(pid), 0);
	ck_assert_ptr_nonnull(
		strstr(text, "{\"event\": \"started\", \"id\": \"" FAKE_HUTCH_ID
			     "\", \"pid\": "));
	ck_assert_ptr_nonnull(strstr(
		text, "{\"event\": \"stdout\", \"base64\": \"Yf8=\"}\n"));
	ck_assert_ptr_nonnull(
		strstr(text, "{\"event\": \"stderr\", \"text\": \"b\"}\n"));
	(void)close(out[0]);
}
END_TEST

START_TEST(who_only_watches_leaves_by_a_signal)
{
	const struct run run = { .script = "trap 'echo hit' INT; echo ready; "
					   "exec sleep 1000",
				 .o.watch = true,
				 .fd = { -1, -1, -1 } };
	struct run seen = run;
	char text[LINE_ROOM];
	int out[2];
	pid_t pid;

	stream_kit_pipe(out);
	seen.fd[1] = out[1];
	pid = stream_kit_start(&seen);
	(void)close(out[1]);
	stream_kit_await_line(out[0], "ready");
	ck_assert_int_eq(kill(pid, SIGINT), 0);
	ck_assert_int_eq(stream_kit_finish(pid), GAVE_UP + SIGINT);
	ck_assert_uint_eq(stream_kit_read_all(out[0], text, sizeof(text)), 0);
	(void)close(out[0]);
}
END_TEST

START_TEST(who_only_watches_leaves_with_its_reader)
{
	struct run run = { .script = "exec yes", .o.watch = true };
	char some[LINE_ROOM];
	int out[2];
	pid_t pid;

	stream_kit_pipe(out);
	run.fd[0] = run.fd[2] = -1;
	run.fd[1] = out[1];
	pid = stream_kit_start(&run);
	(void)close(out[1]);
	ck_assert_int_gt(read(out[0], some, sizeof(some)), 0);
	(void)close(out[0]);

	ck_assert_int_eq(stream_kit_finish(pid), GAVE_UP + SIGPIPE);
}
END_TEST

CHECK_MAIN("cli_stream", streams_and_code_come_back_apart,
	   output_of_the_past_has_no_questions,
	   input_of_a_file_comes_back_through_a_pipe,
	   output_to_a_socket_and_a_file_is_whole,
	   without_i_the_command_reads_nothing,
	   reader_that_leaves_gives_sigpipe, slow_reader_stops_the_writer,
	   signal_reaches_the_command, signal_is_heard_while_output_flows,
	   signal_that_nohup_ignores_is_not_passed_on,
	   third_signal_leaves_a_deaf_command,
	   broken_connection_is_no_exit_code, deaf_guest_hangs_nobody,
	   full_disk_is_told, json_holds_both_streams_in_one,
	   who_only_watches_leaves_by_a_signal,
	   who_only_watches_leaves_with_its_reader)
