/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cli_margin.c - a sentence in the middle of a line of output */
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "host/cli/margin.h"
#include "host/cli/output.h"
#include "host/cli/print.h"
#include "tests/lib/check_main.h"

#define LOST "hutch: 5 bytes of stdout are lost: it goes on at cursor 8\r\n"

static const struct hutch_exec_event cut[] = {
	{ .kind = HUTCH_EXEC_STDOUT, .data = "abc", .len = 3 },
	{ .kind = HUTCH_EXEC_TRUNCATED, .stream = 1, .lost = 5, .cursor = 8 },
	{ .kind = HUTCH_EXEC_STDOUT, .data = "def\n", .len = 4, .cursor = 8 },
	{ .kind = HUTCH_EXEC_TRUNCATED, .stream = 1, .lost = 5, .cursor = 8 },
};

static void by_output(void)
{
	struct output o;

	output_open(&o, false);
	for (size_t i = 0; i < ARRAY_LEN(cut); i++)
		output_event(&o, &cut[i]);
	output_close(&o);
}

static void by_print(void)
{
	struct print p = { 0 };

	margin_init(&p.margin, STDOUT_FILENO, STDERR_FILENO);
	for (size_t i = 0; i < ARRAY_LEN(cut); i++)
		print_event(&p, &cut[i]);
}

/* What a terminal shows of @fn; @out is its stdout, or -1: the terminal. */
static const char *seen(void (*fn)(void), int out)
{
	static char text[1024];
	int master, slave, status;
	size_t n = 0;
	ssize_t k;
	pid_t pid;

	ck_assert_int_eq(openpty(&master, &slave, NULL, NULL, NULL), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		(void)dup2(out < 0 ? slave : out, STDOUT_FILENO);
		(void)dup2(slave, STDERR_FILENO);
		fn();
		_exit(0);
	}
	(void)close(slave);
	/* To the hang-up, which is an error. */
	while ((k = read(master, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)k;
	text[n] = '\0';
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	(void)close(master);
	return text;
}

START_TEST(sentence_in_a_terminal_has_a_line_of_its_own)
{
	static const char want[] = "abc\r\n" LOST "def\r\n" LOST;

	ck_assert_str_eq(seen(by_output, -1), want);
	ck_assert_str_eq(seen(by_print, -1), want);
}
END_TEST

/* Then it is no part of what the terminal shows. */
START_TEST(output_elsewhere_needs_no_line_break)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	ck_assert_int_ge(null, 0);
	ck_assert_str_eq(seen(by_output, null), LOST LOST);
	ck_assert_str_eq(seen(by_print, null), LOST LOST);
	(void)close(null);
}
END_TEST

static void to_another_terminal(void)
{
	int master, slave;

	if (openpty(&master, &slave, NULL, NULL, NULL) < 0)
		_exit(1);
	(void)dup2(slave, STDOUT_FILENO);
	by_print();
}

START_TEST(output_on_another_terminal_needs_no_line_break)
{
	ck_assert_str_eq(seen(to_another_terminal, -1), LOST LOST);
}
END_TEST

CHECK_MAIN("cli_margin", sentence_in_a_terminal_has_a_line_of_its_own,
	   output_elsewhere_needs_no_line_break,
	   output_on_another_terminal_needs_no_line_break)
