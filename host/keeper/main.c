/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/keeper/main.c - hutch-keeper: holds one VM, started by libhutch
 *
 * Not for people to run: see host/lib/launch.h for its command line.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "common/io.h"
#include "common/words.h"
#include "host/keeper/keeper.h"

static int usage(void)
{
	(void)fprintf(stderr, "hutch-keeper: started by hutch, not by hand\n");
	return 2;
}

static int parse_fds(const char *s, int fd[LAUNCH_N_FDS])
{
	if (strncmp(s, "fd=", 3) != 0)
		return -EINVAL;
	s += 3;
	for (int i = 0; i < LAUNCH_N_FDS; i++) {
		char *end;
		long v;

		errno = 0;
		v = strtol(s, &end, 10);
		if (end == s || errno || v < -1 || v > 1000000 ||
		    (v >= 0 && v <= 2))
			return -EINVAL;
		if (*end != (i == LAUNCH_N_FDS - 1 ? '\0' : ','))
			return -EINVAL;
		fd[i] = (int)v;
		s = end + 1;
	}
	return 0;
}

/* Whether @n is one of ours. */
static bool is_ours(const int fd[LAUNCH_N_FDS], unsigned int n)
{
	for (int i = 0; i < LAUNCH_N_FDS; i++)
		if (fd[i] == (int)n)
			return true;
	return false;
}

/* Whatever else the starter has open would live as long as the VM. */
static int close_others(const int fd[LAUNCH_N_FDS])
{
	unsigned int max = 2, from = 3;

	for (int i = 0; i < LAUNCH_N_FDS; i++)
		max = MAX(max, (unsigned int)MAX(fd[i], 2));
	for (unsigned int n = 3; n <= max; n++) {
		if (!is_ours(fd, n))
			continue;
		if (n > from)
			(void)close_range(from, n - 1, 0);
		from = n + 1;
	}
	(void)close_range(from, ~0u, 0);
	for (int i = 0; i < LAUNCH_N_FDS; i++)
		if (fd[i] >= 0 && io_set_cloexec(fd[i], 1) < 0)
			return -EBADF;
	return 0;
}

/*
 * A big frame is a mapping of its own and goes when it is done with; by default
 * malloc would raise this limit as it sees such, and keep them.
 */
static void bound_heap(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
	(void)mallopt(M_TRIM_THRESHOLD, 64 << 10);
	(void)mallopt(M_ARENA_MAX, 1);
}

/* The monitor needs a descriptor a connection, and inherits our limit. */
static void raise_nofile(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		return;
	rl.rlim_cur = rl.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &rl);
}

static void say(int fd, const char *word, const char *rest)
{
	char buf[LAUNCH_WORDS_MAX];
	int n = snprintf(buf, sizeof(buf), "%s%s", word, rest);

	/* A starter that has gone needs no answer. */
	if (n > 0 &&
	    io_write_full(fd, buf, MIN((size_t)n, sizeof(buf) - 1)) < 0)
		return;
}

static int keep(struct keeper *k)
{
	struct err e = { 0 };
	int r = keeper_start(k, &e);

	say(k->fd[LAUNCH_FD_START], r < 0 ? LAUNCH_ERROR : LAUNCH_OK,
	    r < 0 ? e.msg : "");
	(void)close(take_fd(&k->fd[LAUNCH_FD_START]));
	if (r == 0)
		r = keeper_run(k);
	else
		keeper_not_started(k, &e);
	keeper_done(k);
	return r < 0;
}

int main(int argc, char **argv)
{
	struct keeper k;
	pid_t pid;

	keeper_init(&k);
	if (argc != 3 + LAUNCH_N_PATHS || !words_name_ok(argv[1]) ||
	    parse_fds(argv[2], k.fd) < 0)
		return usage();
	for (int i = 0; i < LAUNCH_N_PATHS; i++)
		k.path[i] = argv[3 + i];

	/* The starter waits for its child, which must not be the keeper. */
	pid = fork();
	if (pid != 0)
		_exit(pid < 0);
	if (close_others(k.fd) < 0 || chdir("/") < 0)
		return 1;
	raise_nofile();
	bound_heap();
	(void)umask(077);
	return keep(&k);
}
