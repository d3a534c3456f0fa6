/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/integration/exec_many.c - many commands in a row by one process
 *
 *	exec_many VM N [cat | echo | file]
 *
 * Runs N commands in a VM that is up and compares what this process, the
 * monitor's guest, its kernel and its cgroups hold before and after: commands
 * with input and output, short ones that say their pid, or ones that leave a
 * file in memory behind. A first tenth is for caches to fill.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/lib/hutch.h"

#define MEMORY_SLACK_KIB 512

/* An inode and a directory entry of each file stay; a cgroup would be more. */
#define FILE_KERNEL_BYTES 2048
#define SLAB_SLACK_KIB    1024
#define PERCPU_SLACK_KIB  128
#define DYING_SLACK       8

/* What must not grow. */
struct held {
	long fds;
	long memory_kib;
	long processes;
	long cgroups;
	long dying;
	long percpu_kib;
	long slab_kib;
};

/* One kind of command. */
struct kind {
	const char *name;
	const char *script; /* its $0 is the number of the command */
	const char *input;
	const char *output; /* NULL: its pid */
	int code;
	long file_bytes;
};

static void die(const char *what, const struct hutch_err *e)
{
	(void)fprintf(stderr, "%s: %s\n", what, e ? e->msg : "");
	exit(1);
}

/* What came of one. */
struct outcome {
	int code;
	int pid;
	char out[256];
};

static void take(struct outcome *o, const struct hutch_exec_event *ev)
{
	size_t at = strlen(o->out);

	if (ev->kind == HUTCH_EXEC_ERROR)
		die("command", NULL);
	if (ev->kind == HUTCH_EXEC_STARTED)
		o->pid = ev->pid;
	if (ev->kind == HUTCH_EXEC_EXIT)
		o->code = ev->how == HUTCH_EXEC_EXITED ? ev->value
						       : 128 + ev->value;
	if (ev->kind != HUTCH_EXEC_STDOUT)
		return;
	if (ev->len >= sizeof(o->out) - at)
		die("too much output", NULL);
	memcpy(o->out + at, ev->data, ev->len);
}

/* Runs @argv and writes @input to it. */
static struct outcome run(struct hutch *h, const char *vm,
			  const char *const *argv, const char *input)
{
	struct hutch_exec_opts xo = HUTCH_EXEC_OPTS_INIT;
	struct hutch_exec_event ev = { 0 };
	struct hutch_err e = { 0 };
	struct outcome o = { 0 };
	struct hutch_exec *x;

	xo.argv = argv;
	xo.flags = HUTCH_EXEC_STDIN;
	if (hutch_exec_open(h, vm, &xo, &x, &e) < 0)
		die("open", &e);
	if (*input &&
	    hutch_exec_write(x, input, strlen(input)) != (ssize_t)strlen(input))
		die("write", NULL);
	if (hutch_exec_close_stdin(x) < 0)
		die("close stdin", NULL);
	do {
		if (hutch_exec_wait(x, &ev, -1, &e) < 0)
			die("wait", &e);
		take(&o, &ev);
	} while (ev.kind != HUTCH_EXEC_EXIT);
	hutch_exec_close(x);
	return o;
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
	struct outcome o = run(h, vm, argv, "");

	if (o.code != 0)
		die(script, NULL);
	return strtol(o.out, NULL, 10);
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
		.dying = count_in_guest(h, vm,
					"awk '/^nr_dying_descendants/ "
					"{ print $2 }' "
					"/sys/fs/cgroup/cgroup.stat"),
		.percpu_kib = count_in_guest(
			h, vm, "awk '/^Percpu:/ { print $2 }' /proc/meminfo"),
		.slab_kib = count_in_guest(
			h, vm, "awk '/^Slab:/ { print $2 }' /proc/meminfo"),
		.fds = count_fds(),
		.memory_kib = private_memory(),
	};
}

static const struct kind kinds[] = {
	{ "cat", "cat; exit 7", "ping", "ping", 7, 0 },
	{ "echo", "echo $$", "", NULL, 0, 0 },
	{ "file", "head -c 8192 /dev/zero >/dev/shm/many.$0", "", "", 0,
	  FILE_KERNEL_BYTES },
};

static void many(struct hutch *h, const char *vm, const struct kind *kind,
		 long from, long to)
{
	char number[32], want[64];

	for (long i = from; i < to; i++) {
		const char *argv[] = { "sh", "-c", kind->script, number, NULL };
		struct outcome o;

		(void)snprintf(number, sizeof(number), "%ld", i);
		o = run(h, vm, argv, kind->input);
		(void)snprintf(want, sizeof(want), "%d\n", o.pid);
		if (o.code == kind->code &&
		    strcmp(o.out, kind->output ? kind->output : want) == 0)
			continue;
		(void)fprintf(stderr,
			      "exec %ld: code %d, pid %d, output '%s'\n", i,
			      o.code, o.pid, o.out);
		exit(1);
	}
}

static int grown(const char *what, long before, long after, long slack)
{
	(void)printf("%s: %ld before, %ld after\n", what, before, after);
	return after > before + slack;
}

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

static int compare(const struct held *b, const struct held *a, long file_kib)
{
	return grown("descriptors", b->fds, a->fds, 0) +
	       grown("private KiB", b->memory_kib, a->memory_kib,
		     MEMORY_SLACK_KIB) +
	       grown("guest processes", b->processes, a->processes, 0) +
	       grown("guest cgroups", b->cgroups, a->cgroups, 0) +
	       grown("dying cgroups", b->dying, a->dying, DYING_SLACK) +
	       grown("percpu KiB", b->percpu_kib, a->percpu_kib,
		     PERCPU_SLACK_KIB) +
	       grown("slab KiB", b->slab_kib, a->slab_kib,
		     SLAB_SLACK_KIB + file_kib);
}

int main(int argc, char **argv)
{
	const struct kind *kind = find_kind(argc == 4 ? argv[3] : "cat");
	long n = argc >= 3 ? strtol(argv[2], NULL, 10) : 0;
	struct held before, after;
	struct hutch_err e = { 0 };
	struct hutch *h;

	if (n < 10 || !kind) {
		(void)fprintf(stderr, "usage: exec_many VM N [cat|echo|file], "
				      "N 10 or more\n");
		return 2;
	}
	if (hutch_open(NULL, &h, &e) < 0)
		die("hutch_open", &e);
	many(h, argv[1], kind, 0, n / 10);
	before = look(h, argv[1]);
	many(h, argv[1], kind, n / 10, n);
	after = look(h, argv[1]);
	hutch_close(h);
	return compare(&before, &after, n * kind->file_bytes / 1024) ? 1 : 0;
}
