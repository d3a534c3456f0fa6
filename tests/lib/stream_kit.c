/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/stream_kit.c - see stream_kit.h */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "tests/lib/fake_hutch.h"
#include "tests/lib/stream_kit.h"

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

pid_t stream_kit_start(const struct run *run)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		child(run);
	return pid;
}

int stream_kit_finish(pid_t pid)
{
	int status = 0;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void stream_kit_pipe(int fd[2])
{
	ck_assert_int_eq(pipe2(fd, O_CLOEXEC), 0);
}

size_t stream_kit_read_all(int fd, char *buf, size_t room)
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

void stream_kit_await_line(int fd, const char *want)
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
