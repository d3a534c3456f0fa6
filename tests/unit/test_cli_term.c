/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cli_term.c - host/cli/stream.c and term.c on a terminal */
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

#include "tests/lib/check_main.h"
#include "tests/lib/stream_kit.h"

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
	pid = stream_kit_start(&run);
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

	stream_kit_await_line(master, "ready");
	ck_assert_uint_eq(lflag_of(master), 0);
	ck_assert_int_eq(write(master, "\n", 1), 1);

	ck_assert_int_eq(stream_kit_finish(pid), 5);
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

	stream_kit_await_line(master, "ready");
	ck_assert_int_eq(write(master, "\003", 1), 1);

	ck_assert_int_eq(stream_kit_finish(pid), 6);
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

		stream_kit_await_line(master, "ready");
		ck_assert_uint_eq(lflag_of(master), 0);
		ck_assert_int_eq(kill(pid, deadly[i]), 0);
		code = stream_kit_finish(pid);
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

	stream_kit_await_line(master, "ready");
	ck_assert_int_eq(kill(pid, SIGTSTP), 0);
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
	ck_assert_uint_eq(lflag_of(master), ICANON | ECHO | ISIG);
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	while (lflag_of(master) != 0)
		(void)usleep(1000);
	ck_assert_int_eq(write(master, "\n", 1), 1);
	ck_assert_int_eq(stream_kit_finish(pid), 4);
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

	stream_kit_await_line(master, "20x10");
	ck_assert_int_eq(ioctl(master, TIOCSWINSZ, &size), 0);
	stream_kit_await_line(master, "50x30");
	ck_assert_int_eq(stream_kit_finish(pid), 0);
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

	stream_kit_await_line(*ret_master, "ready");
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

		ck_assert_int_eq(stream_kit_finish(pid), LEFT);
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

		stream_kit_await_line(master, want[i]);
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		ck_assert_int_eq(stream_kit_finish(pid), -SIGKILL);
		(void)close(master);
	}
}
END_TEST

CHECK_MAIN("cli_term", terminal_is_raw_and_comes_back,
	   interrupt_key_is_a_byte_on_a_terminal,
	   terminal_comes_back_after_each_signal,
	   stopped_terminal_is_usable_and_raw_again,
	   window_size_is_told_at_once_and_when_it_changes,
	   keys_that_leave_restore_the_terminal,
	   key_that_only_begins_to_leave_is_passed_on)
