/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/bench/boot_timer.c - time a command from its start to its first byte
 *
 *	boot_timer CONTROL-SOCKET COMMAND [ARG...]
 *
 * Starts COMMAND, waits for the first byte on its stdout, asks the monitor
 * behind CONTROL-SOCKET for its stats, and ends COMMAND. Prints one line:
 * start_ns=N first_byte_ns=N and the stats, all of CLOCK_MONOTONIC.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/ctl.h"
#include "common/io.h"
#include "common/loop.h"
#include "common/unix.h"

static int fail(const char *what, int r)
{
	(void)fprintf(stderr, "boot_timer: %s: %s\n", what, strerror(-r));
	return 1;
}

static int spawn(char **argv, int out, pid_t *ret)
{
	posix_spawn_file_actions_t fa;
	int r;

	(void)posix_spawn_file_actions_init(&fa);
	(void)posix_spawn_file_actions_adddup2(&fa, out, STDOUT_FILENO);
	r = -posix_spawnp(ret, argv[0], &fa, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&fa);
	return r;
}

static int read_line(int fd, char *line, size_t cap)
{
	size_t len = 0;

	while (len + 1 < cap) {
		ssize_t n = io_read_full(fd, line + len, 1);

		if (n <= 0)
			return n < 0 ? (int)n : -EPIPE;
		if (line[len] == '\n')
			break;
		len++;
	}
	line[len] = '\0';
	return 0;
}

static int stats(const char *path, char *line, size_t cap)
{
	auto_fd int fd = unix_connect(AT_FDCWD, path, SOCK_STREAM, NULL);
	int r;

	if (fd < 0)
		return fd;
	r = io_write_full(fd, "stats\n", 6);
	return r < 0 ? r : read_line(fd, line, cap);
}

int main(int argc, char **argv)
{
	char line[CTL_LINE_MAX], byte;
	uint64_t start, first;
	pid_t pid;
	int out[2], r;

	if (argc < 3 || pipe2(out, O_CLOEXEC) < 0)
		return fail("usage: boot_timer SOCKET COMMAND", -EINVAL);
	start = loop_now_ns();
	r = spawn(argv + 2, out[1], &pid);
	if (r < 0)
		return fail(argv[2], r);
	(void)close(out[1]);
	if (io_read_full(out[0], &byte, 1) != 1)
		return fail("no output", -EPIPE);
	first = loop_now_ns();
	r = stats(argv[1], line, sizeof(line));
	(void)kill(pid, SIGTERM);
	(void)waitpid(pid, NULL, 0);
	if (r < 0)
		return fail(argv[1], r);
	(void)printf("start_ns=%" PRIu64 " first_byte_ns=%" PRIu64 " %s\n",
		     start, first, line);
	return 0;
}
