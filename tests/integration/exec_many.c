/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/integration/exec_many.c - many commands in a row by one process
 *
 *	exec_many VM N
 *
 * Runs N commands in a VM that is up, with input and output, and compares
 * what this process, the monitor's guest and its cgroups hold before and
 * after. A first tenth is for caches to fill.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/lib/hutch.h"

#define MEMORY_SLACK_KIB 512

/* What must not grow. */
struct held {
	long fds;
	long memory_kib;
	long processes;
	long cgroups;
};

static void die(const char *what, const struct hutch_err *e)
{
	(void)fprintf(stderr, "%s: %s\n", what, e ? e->msg : "");
	exit(1);
}

/* Runs @argv, writes @input to it; output in @out. Return: exit code. */
static int run(struct hutch *h, const char *vm, const char *const *argv,
	       const char *input, char *out, size_t cap)
{
	struct hutch_exec_opts xo = HUTCH_EXEC_OPTS_INIT;
	struct hutch_exec_event ev = { 0 };
	struct hutch_err e = { 0 };
	struct hutch_exec *x;
	size_t at = 0;
	int r;

	xo.argv = argv;
	xo.flags = HUTCH_EXEC_STDIN;
	if (hutch_exec_open(h, vm, &xo, &x, &e) < 0)
		die("open", &e);
	if (hutch_exec_write(x, input, strlen(input)) != (ssize_t)strlen(input))
		die("write", NULL);
	if (hutch_exec_close_stdin(x) < 0)
		die("close stdin", NULL);
	do {
		r = hutch_exec_wait(x, &ev, -1, &e);
		if (r < 0)
			die("wait", &e);
		if (ev.kind == HUTCH_EXEC_ERROR)
			die("command", NULL);
		if (ev.kind != HUTCH_EXEC_STDOUT)
			continue;
		if (ev.len >= cap - at)
			die("too much output", NULL);
		memcpy(out + at, ev.data, ev.len);
		at += ev.len;
	} while (ev.kind != HUTCH_EXEC_EXIT);
	out[at] = '\0';
	hutch_exec_close(x);
	return ev.how == HUTCH_EXEC_EXITED ? ev.value : 128 + ev.value;
}

/*
 * Not the kernel's own threads, which come and go as they please: those have
 * parent 2.  By the shell alone, so that it does not count its own helpers.
 */
static const char count_processes[] =
	"n=0; for f in /proc/[0-9]*/stat; do"
	" read -r l 2>/dev/null <$f || continue;"
	" case ${l##*) ? } in '0 '*|'2 '*) ;; *) n=$((n + 1)) ;; esac;"
	" done; echo $n";

static long count_in_guest(struct hutch *h, const char *vm, const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	char out[64];

	if (run(h, vm, argv, "", out, sizeof(out)) != 0)
		die(script, NULL);
	return strtol(out, NULL, 10);
}

static long count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	long n = 0;

	if (!dir)
		die("/proc/self/fd", NULL);
	while (readdir(dir))
		n++;
	(void)closedir(dir);
	return n;
}

static long private_memory(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "RssAnon:", 8) == 0)
			kib = strtol(line + 8, NULL, 10);
	if (f)
		(void)fclose(f);
	return kib;
}

static struct held look(struct hutch *h, const char *vm)
{
	return (struct held){
		.processes = count_in_guest(h, vm, count_processes),
		.cgroups = count_in_guest(
			h, vm, "find /sys/fs/cgroup -type d | grep -c ."),
		.fds = count_fds(),
		.memory_kib = private_memory(),
	};
}

static void many(struct hutch *h, const char *vm, long n)
{
	static const char *const argv[] = { "sh", "-c", "cat; exit 7", NULL };
	char out[64];

	for (long i = 0; i < n; i++) {
		int code = run(h, vm, argv, "ping", out, sizeof(out));

		if (code == 7 && strcmp(out, "ping") == 0)
			continue;
		(void)fprintf(stderr, "exec %ld: code %d, output '%s'\n", i,
			      code, out);
		exit(1);
	}
}

static int grown(const char *what, long before, long after, long slack)
{
	(void)printf("%s: %ld before, %ld after\n", what, before, after);
	return after > before + slack;
}

int main(int argc, char **argv)
{
	struct held before, after;
	struct hutch_err e = { 0 };
	struct hutch *h;
	long n = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
	int bad;

	if (n < 10) {
		(void)fprintf(stderr, "usage: exec_many VM N (10 or more)\n");
		return 2;
	}
	if (hutch_open(NULL, &h, &e) < 0)
		die("hutch_open", &e);
	many(h, argv[1], n / 10);
	before = look(h, argv[1]);
	many(h, argv[1], n - n / 10);
	after = look(h, argv[1]);
	hutch_close(h);
	bad = grown("descriptors", before.fds, after.fds, 0) +
	      grown("private KiB", before.memory_kib, after.memory_kib,
		    MEMORY_SLACK_KIB) +
	      grown("guest processes", before.processes, after.processes, 0) +
	      grown("guest cgroups", before.cgroups, after.cgroups, 0);
	return bad ? 1 : 0;
}
