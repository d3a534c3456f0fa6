/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cli_stream.c - host/cli/stream.c, sink.c and term.c, with a
 * local process in place of one in a VM
 */
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>

#include "host/cli/stream.h"
#include "tests/lib/check_main.h"
#include "tests/lib/fake_hutch.h"

#define BULK (24u << 20)
/* A stream that buffered without bound would hold most of BULK_SLOW. */
#define BULK_SLOW   (192u << 20)
#define RSS_MAX_KIB (96 << 10)
#define LINE_ROOM   512
#define GAVE_UP     128
#define LEFT        42

/** struct run - A process that joins a command to these descriptors */
struct run {
	const char *script;
	struct stream_opts o;
	int fd[3];       /* -1: /dev/null */
	int break_after; /* events, 0 for never */
	int terminal;    /* fd[0] becomes the controlling terminal */
	int ignored;     /* signal that was ignored before, or 0 */
	int sizes;       /* the command reads its terminal's size */
	int deaf;        /* its guest does not keep its time-out */
};

static void child(const struct run *run)
{
	struct stream_end end;
	struct hutch_exec *x;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (run->terminal) {
		(void)setsid();
		(void)ioctl(run->fd[0], TIOCSCTTY, 0);
	}
	for (int i = 0; i < 3; i++)
		(void)dup2(run->fd[i] < 0 ? null : run->fd[i], i);
	/* The other ends are the test's, or a pipe would never break. */
	(void)close_range(3, ~0u, 0);
	if (run->ignored)
		(void)signal(run->ignored, SIG_IGN);
	x = fake_hutch_sh(run->script);
	if (run->deaf)
		fake_hutch_deaf(x);
	if (run->sizes)
		fake_hutch_tell_size(x);
	if (run->break_after)
		fake_hutch_break_after(x, run->break_after);
	stream_run(x, &run->o, &end);
	hutch_exec_close(x);
	if (end.exited)
		_exit(end.exit.value |
		      (end.exit.how == HUTCH_EXEC_SIGNALLED ? 128 : 0));
	if (end.left)
		_exit(strcmp(end.id, FAKE_HUTCH_ID) == 0 ? LEFT : 125);
	if (end.error == -ETIMEDOUT)
		_exit(124);
	_exit(end.gave_up ? GAVE_UP + end.gave_up : 125);
}

static pid_t start(const struct run *run)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		child(run);
	return pid;
}

static int finish(pid_t pid)
{
	int status = 0;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void make_pipe(int fd[2])
{
	ck_assert_int_eq(pipe2(fd, O_CLOEXEC), 0);
}

/* All that comes until the end of file, up to @room - 1 bytes. */
static size_t read_all(int fd, char *buf, size_t room)
{
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len + 1 < room) {
		n = read(fd, buf + len, room - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	buf[len] = '\0';
	return len;
}

static void await_line(int fd, const char *want)
{
	char line[LINE_ROOM];
	size_t len = 0;

	while (len + 1 < sizeof(line) && read(fd, line + len, 1) == 1) {
		if (line[len] == '\n')
			break;
		len++;
	}
	line[len] = '\0';
	ck_assert_str_eq(line, want);
}

START_TEST(streams_and_code_come_back_apart)
{
	char out_text[LINE_ROOM], err_text[LINE_ROOM];
	int out[2], err[2];
	struct run run = { .script = "echo out; echo err >&2; exit 7" };
	pid_t pid;

	make_pipe(out);
	make_pipe(err);
	run.fd[0] = -1;
	run.fd[1] = out[1];
	run.fd[2] = err[1];
	pid = start(&run);
	(void)close(out[1]);
	(void)close(err[1]);
	(void)read_all(out[0], out_text, sizeof(out_text));
	(void)read_all(err[0], err_text, sizeof(err_text));

	ck_assert_int_eq(finish(pid), 7);
	ck_assert_str_eq(out_text, "out\n");
	ck_assert_str_eq(err_text, "err\n");
	(void)close(out[0]);
	(void)close(err[0]);
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
		n = read_all(fd, a, sizeof(a));
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

	make_pipe(out);
	run.fd[0] = file;
	run.fd[1] = out[1];
	run.fd[2] = -1;
	pid = start(&run);
	(void)close(out[1]);
	file = bulk_file();
	equal_to_file(file, out[0]);
	ck_assert_int_eq(finish(pid), 0);
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
	pid = start(&run);
	(void)close(sock[1]);
	file = bulk_file();
	equal_to_file(file, sock[0]);
	ck_assert_int_eq(finish(pid), 0);

	(void)lseek(run.fd[0], 0, SEEK_SET);
	run.fd[1] = fileno(copy);
	ck_assert_int_eq(finish(start(&run)), 0);
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

	make_pipe(in);
	ck_assert_int_eq(write(in[1], "x", 1), 1);
	run.fd[0] = in[0];
	run.fd[1] = run.fd[2] = -1;
	ck_assert_int_eq(finish(start(&run)), 3);
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

	make_pipe(out);
	run.fd[0] = run.fd[2] = -1;
	run.fd[1] = out[1];
	pid = start(&run);
	(void)close(out[1]);
	ck_assert_int_gt(read(out[0], some, sizeof(some)), 0);
	(void)close(out[0]);

	ck_assert_int_eq(finish(pid), 128 + SIGPIPE);
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

	make_pipe(out);
	run.fd[0] = run.fd[2] = -1;
	run.fd[1] = out[1];
	(void)getrusage(RUSAGE_SELF, &before);
	pid = start(&run);
	(void)close(out[1]);
	/* Full: whatever is written now must wait somewhere. */
	while (ioctl(out[0], FIONREAD, &n) == 0 && n < 65536)
		(void)usleep(1000);
	/* Time for a careless stream to gather more; ours cannot fail here. */
	(void)usleep(300000);
	while ((got = read(out[0], buf, sizeof(buf))) > 0)
		total += (size_t)got;
	ck_assert_int_eq(finish(pid), 0);
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

	make_pipe(out);
	run.fd[0] = run.fd[2] = -1;
	run.fd[1] = out[1];
	pid = start(&run);
	(void)close(out[1]);
	await_line(out[0], "ready");
	ck_assert_int_eq(kill(pid, SIGTERM), 0);

	ck_assert_int_eq(finish(pid), 9);
	(void)close(out[0]);
}
END_TEST

START_TEST(signal_is_heard_while_output_flows)
{
	struct run run = { .script = "echo ready >&2; exec yes" };
	int err[2];
	pid_t pid;

	make_pipe(err);
	run.fd[0] = run.fd[1] = -1;
	run.fd[2] = err[1];
	pid = start(&run);
	(void)close(err[1]);
	await_line(err[0], "ready");
	ck_assert_int_eq(kill(pid, SIGTERM), 0);

	ck_assert_int_eq(finish(pid), 128 + SIGTERM);
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

	make_pipe(out);
	run.fd[0] = run.fd[2] = -1;
	run.fd[1] = out[1];
	pid = start(&run);
	(void)close(out[1]);
	await_line(out[0], "ready");
	ck_assert_int_eq(kill(pid, SIGHUP), 0);
	ck_assert_int_eq(kill(pid, SIGTERM), 0);

	ck_assert_int_eq(finish(pid), 9);
	(void)close(out[0]);
}
END_TEST

START_TEST(third_signal_leaves_a_deaf_command)
{
	struct run run = { .script = "trap '' INT TERM HUP; echo ready; "
				     "exec sleep 1000" };
	int out[2], err[2];
	pid_t pid;

	make_pipe(out);
	make_pipe(err);
	run.fd[0] = -1;
	run.fd[1] = out[1];
	run.fd[2] = err[1];
	pid = start(&run);
	(void)close(out[1]);
	(void)close(err[1]);
	await_line(out[0], "ready");
	ck_assert_int_eq(kill(pid, SIGINT), 0);
	ck_assert_int_eq(kill(pid, SIGTERM), 0);
	await_line(err[0], "hutch: the command has the signal and still runs: "
			   "once more to leave it");
	ck_assert_int_eq(kill(pid, SIGHUP), 0);

	ck_assert_int_eq(finish(pid), GAVE_UP + SIGHUP);
	(void)close(out[0]);
	(void)close(err[0]);
}
END_TEST

START_TEST(broken_connection_is_no_exit_code)
{
	struct run run = { .script = "echo out; exit 0", .break_after = 1 };

	run.fd[0] = run.fd[1] = run.fd[2] = -1;
	ck_assert_int_eq(finish(start(&run)), 125);
}
END_TEST

/* Nothing comes that would wake it: it must look by itself. */
START_TEST(deaf_guest_hangs_nobody)
{
	struct run run = { .script = "exec sleep 1000", .deaf = 1 };

	run.fd[0] = run.fd[1] = run.fd[2] = -1;
	ck_assert_int_eq(finish(start(&run)), 124);
}
END_TEST

START_TEST(full_disk_is_told)
{
	struct run run = { .script = "yes | head -n 100000" };
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	run.fd[0] = run.fd[2] = -1;
	run.fd[1] = full;
	/* head gets SIGPIPE as it would from a pipe that broke. */
	ck_assert_int_eq(finish(start(&run)), 128 + SIGPIPE);
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

	make_pipe(out);
	run.fd[0] = run.fd[2] = -1;
	run.fd[1] = out[1];
	pid = start(&run);
	(void)close(out[1]);
	(void)read_all(out[0], text, sizeof(text));

	ck_assert_int_eq(finish(pid), 0);
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

/* A command joined to a terminal, as @like says. */
static pid_t on_terminal_as(const struct run *like, int *ret_master)
{
	struct run run = *like;
	struct winsize size = { .ws_row = 10, .ws_col = 20 };
	int master = -1, slave = -1;
	pid_t pid;

	ck_assert_int_eq(openpty(&master, &slave, NULL, NULL, &size), 0);
	(void)fcntl(master, F_SETFD, FD_CLOEXEC);
	(void)fcntl(slave, F_SETFD, FD_CLOEXEC);
	run.fd[0] = run.fd[1] = run.fd[2] = slave;
	pid = start(&run);
	(void)close(slave);
	*ret_master = master;
	return pid;
}

static pid_t on_terminal(const char *script, int *ret_master)
{
	const struct run run = { .script = script,
				 .o = { .in = true, .tty = true },
				 .terminal = 1 };

	return on_terminal_as(&run, ret_master);
}

/* The modes that it has. */
static tcflag_t lflag_of(int fd)
{
	struct termios t = { 0 };

	ck_assert_int_eq(tcgetattr(fd, &t), 0);
	return t.c_lflag & (ICANON | ECHO | ISIG);
}

START_TEST(terminal_is_raw_and_comes_back)
{
	int master;
	pid_t pid = on_terminal("echo ready; read x; exit 5", &master);

	await_line(master, "ready");
	ck_assert_uint_eq(lflag_of(master), 0);
	ck_assert_int_eq(write(master, "\n", 1), 1);

	ck_assert_int_eq(finish(pid), 5);
	ck_assert_uint_eq(lflag_of(master), ICANON | ECHO | ISIG);
	(void)close(master);
}
END_TEST

START_TEST(interrupt_key_is_a_byte_on_a_terminal)
{
	int master;
	pid_t pid = on_terminal("echo ready; head -c 1 | od -An -tx1 | "
				"grep -q 03 && exit 6",
				&master);

	await_line(master, "ready");
	ck_assert_int_eq(write(master, "\003", 1), 1);

	ck_assert_int_eq(finish(pid), 6);
	(void)close(master);
}
END_TEST

START_TEST(terminal_comes_back_after_each_signal)
{
	static const int deadly[] = { SIGTERM, SIGHUP,  SIGINT,
				      SIGQUIT, SIGSEGV, SIGABRT };

	for (size_t i = 0; i < ARRAY_LEN(deadly); i++) {
		int master, code;
		pid_t pid = on_terminal("echo ready; exec sleep 1000", &master);

		await_line(master, "ready");
		ck_assert_uint_eq(lflag_of(master), 0);
		ck_assert_int_eq(kill(pid, deadly[i]), 0);
		code = finish(pid);
		/* Handled as a hang-up, or died of it as it should. */
		ck_assert(code == GAVE_UP + deadly[i] || code == -deadly[i] ||
			  code > 0);
		ck_assert_uint_eq(lflag_of(master), ICANON | ECHO | ISIG);
		(void)close(master);
	}
}
END_TEST

START_TEST(stopped_terminal_is_usable_and_raw_again)
{
	int master, status;
	pid_t pid = on_terminal("echo ready; read x; exit 4", &master);

	await_line(master, "ready");
	ck_assert_int_eq(kill(pid, SIGTSTP), 0);
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
	ck_assert_uint_eq(lflag_of(master), ICANON | ECHO | ISIG);
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	while (lflag_of(master) != 0)
		(void)usleep(1000);
	ck_assert_int_eq(write(master, "\n", 1), 1);
	ck_assert_int_eq(finish(pid), 4);
	(void)close(master);
}
END_TEST

START_TEST(window_size_is_told_at_once_and_when_it_changes)
{
	const struct winsize size = { .ws_row = 30, .ws_col = 50 };
	const struct run run = { .script = "read x; echo $x; read x; echo $x",
				 .o = { .in = true, .tty = true },
				 .terminal = 1,
				 .sizes = 1 };
	int master;
	pid_t pid = on_terminal_as(&run, &master);

	await_line(master, "20x10");
	ck_assert_int_eq(ioctl(master, TIOCSWINSZ, &size), 0);
	await_line(master, "50x30");
	ck_assert_int_eq(finish(pid), 0);
	(void)close(master);
}
END_TEST

/* Types @keys, a read each, at a command that shows what reaches it. */
static pid_t typed(const char *const *keys, int *ret_master)
{
	static const struct keys leave = { .seq = "\020\021", .n = 2 };
	const struct run run = {
		.script = "echo ready; head -c 2 | od -An -c; "
			  "exec sleep 1000",
		.o = { .in = true, .tty = true, .keys = &leave },
		.terminal = 1
	};
	pid_t pid = on_terminal_as(&run, ret_master);

	await_line(*ret_master, "ready");
	while (lflag_of(*ret_master) != 0)
		(void)usleep(1000);
	for (; *keys; keys++) {
		int n = 1;

		ck_assert_int_gt(write(*ret_master, *keys, strlen(*keys)), 0);
		/* Until it is read, so that each is a read of its own. */
		while (keys[1] && n > 0) {
			(void)usleep(20000);
			ck_assert_int_eq(ioctl(*ret_master, TIOCOUTQ, &n), 0);
		}
	}
	return pid;
}

START_TEST(keys_that_leave_restore_the_terminal)
{
	static const char *const ways[][4] = { { "\020\021" },
					       { "\020", "\021" },
					       { "x\020", "\021rest" } };

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		int master;
		pid_t pid = typed(ways[i], &master);

		ck_assert_int_eq(finish(pid), LEFT);
		ck_assert_uint_eq(lflag_of(master), ICANON | ECHO | ISIG);
		(void)close(master);
	}
}
END_TEST

START_TEST(key_that_only_begins_to_leave_is_passed_on)
{
	/* With another behind it, and, in its own time, without. */
	static const char *const ways[][3] = { { "\020x" }, { "x", "\020" } };
	static const char *const want[] = { " 020   x", "   x 020" };

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		int master;
		pid_t pid = typed(ways[i], &master);

		await_line(master, want[i]);
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		ck_assert_int_eq(finish(pid), -SIGKILL);
		(void)close(master);
	}
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

	make_pipe(out);
	seen.fd[1] = out[1];
	pid = start(&seen);
	(void)close(out[1]);
	await_line(out[0], "ready");
	ck_assert_int_eq(kill(pid, SIGINT), 0);
	ck_assert_int_eq(finish(pid), GAVE_UP + SIGINT);
	ck_assert_uint_eq(read_all(out[0], text, sizeof(text)), 0);
	(void)close(out[0]);
}
END_TEST

START_TEST(who_only_watches_leaves_with_its_reader)
{
	struct run run = { .script = "exec yes", .o.watch = true };
	char some[LINE_ROOM];
	int out[2];
	pid_t pid;

	make_pipe(out);
	run.fd[0] = run.fd[2] = -1;
	run.fd[1] = out[1];
	pid = start(&run);
	(void)close(out[1]);
	ck_assert_int_gt(read(out[0], some, sizeof(some)), 0);
	(void)close(out[0]);

	ck_assert_int_eq(finish(pid), GAVE_UP + SIGPIPE);
}
END_TEST

CHECK_MAIN("cli_stream", streams_and_code_come_back_apart,
	   input_of_a_file_comes_back_through_a_pipe,
	   output_to_a_socket_and_a_file_is_whole,
	   without_i_the_command_reads_nothing,
	   reader_that_leaves_gives_sigpipe, slow_reader_stops_the_writer,
	   signal_reaches_the_command, signal_is_heard_while_output_flows,
	   signal_that_nohup_ignores_is_not_passed_on,
	   third_signal_leaves_a_deaf_command,
	   broken_connection_is_no_exit_code, deaf_guest_hangs_nobody,
	   full_disk_is_told, json_holds_both_streams_in_one,
	   terminal_is_raw_and_comes_back,
	   interrupt_key_is_a_byte_on_a_terminal,
	   terminal_comes_back_after_each_signal,
	   stopped_terminal_is_usable_and_raw_again,
	   window_size_is_told_at_once_and_when_it_changes,
	   keys_that_leave_restore_the_terminal,
	   key_that_only_begins_to_leave_is_passed_on,
	   who_only_watches_leaves_by_a_signal,
	   who_only_watches_leaves_with_its_reader)
