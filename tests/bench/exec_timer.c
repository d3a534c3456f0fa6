/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/bench/exec_timer.c - time commands in a VM that is up
 *
 *	exec_timer ROW CPUS MEMORY
 *
 * Starts a VM and measures from one open handle of the library, by
 * CLOCK_MONOTONIC: a single "true", with pauses in between; ROW of them in a
 * row; bytes of a stream. Prints lines of "exec" and KEY=VALUE.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/lib/hutch.h"

#define WARM_UP  20
#define SINGLES  9
#define PAUSE_US 50000
/* (The head of busybox counts its bytes one by one.) */
#define BULK_SHELL "dd if=/dev/zero bs=65536 count=64 2>/dev/null"

static void die(const char *what, const struct hutch_err *e)
{
	(void)fprintf(stderr, "exec_timer: %s: %s\n", what, e ? e->msg : "");
	exit(1);
}

static int64_t now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* What one command has come to. */
struct run {
	int64_t first_ns; /* its first byte */
	int64_t end_ns;
	uint64_t bytes;
	char text[256]; /* the beginning of its output */
};

static void take(struct run *run, const struct hutch_exec_event *ev)
{
	size_t at = run->bytes, n = ev->len;

	if (run->bytes == 0)
		run->first_ns = now_ns();
	run->bytes += ev->len;
	if (at >= sizeof(run->text) - 1)
		return;
	if (n > sizeof(run->text) - 1 - at)
		n = sizeof(run->text) - 1 - at;
	memcpy(run->text + at, ev->data, n);
}

static struct run run(struct hutch *h, const char *vm, const char *const *argv)
{
	struct hutch_exec_opts xo = HUTCH_EXEC_OPTS_INIT;
	struct hutch_exec_event ev = { 0 };
	struct hutch_err e = { 0 };
	struct run ret = { 0 };
	struct hutch_exec *x;

	xo.argv = argv;
	if (hutch_exec_open(h, vm, &xo, &x, &e) < 0)
		die("open", &e);
	do {
		if (hutch_exec_wait(x, &ev, -1, &e) < 0)
			die("wait", &e);
		if (ev.kind == HUTCH_EXEC_STDOUT)
			take(&ret, &ev);
	} while (ev.kind != HUTCH_EXEC_EXIT && ev.kind != HUTCH_EXEC_ERROR);
	ret.end_ns = now_ns();
	if (ev.kind != HUTCH_EXEC_EXIT || ev.how != HUTCH_EXEC_EXITED ||
	    ev.value != 0)
		die(argv[0], NULL);
	hutch_exec_close(x);
	return ret;
}

static void run_true(struct hutch *h, const char *vm, long n)
{
	static const char *const argv[] = { "true", NULL };

	for (long i = 0; i < n; i++)
		(void)run(h, vm, argv);
}

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void time_true(struct hutch *h, const char *vm, long row)
{
	int64_t ns[SINGLES], start;

	run_true(h, vm, WARM_UP);
	for (int i = 0; i < SINGLES; i++) {
		(void)usleep(PAUSE_US);
		start = now_ns();
		run_true(h, vm, 1);
		ns[i] = now_ns() - start;
	}
	qsort(ns, SINGLES, sizeof(*ns), by_value);
	start = now_ns();
	run_true(h, vm, row);
	(void)printf("exec single_ns=%" PRId64 " single_min_ns=%" PRId64
		     " single_max_ns=%" PRId64 " row=%ld row_ns=%" PRId64 "\n",
		     ns[SINGLES / 2], ns[0], ns[SINGLES - 1], row,
		     now_ns() - start);
}

static void time_bulk(struct hutch *h, const char *vm)
{
	static const char *const argv[] = { "sh", "-c", BULK_SHELL, NULL };
	struct run r = run(h, vm, argv);

	(void)printf("exec bulk_bytes=%" PRIu64 " bulk_ns=%" PRId64 "\n",
		     r.bytes, r.end_ns - r.first_ns);
}

/* Of lines "KEY:   123 kB" the number of @key, in KiB. */
static long find_kib(FILE *f, const char *key)
{
	char line[256];
	size_t n = strlen(key);

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, key, n) == 0 && line[n] == ':')
			return strtol(line + n + 1, NULL, 10);
	die(key, NULL);
	return -1;
}

/* Not file pages: those lie in memory here, whoever else may have them. */
static long private_kib(pid_t pid)
{
	char path[64];
	long kib;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	kib = find_kib(f, "RssAnon");
	(void)fclose(f);
	return kib;
}

static void show_memory(struct hutch *h, const char *vm)
{
	static const char *const argv[] = { "sh", "-c",
					    "grep ^VmRSS: /proc/1/status",
					    NULL };
	struct run r = run(h, vm, argv);
	struct hutch_record *rec;
	struct hutch_err e = { 0 };
	FILE *f = fmemopen(r.text, strlen(r.text), "r");

	if (hutch_inspect(h, vm, &rec, &e) < 0)
		die("inspect", &e);
	(void)printf("exec agent_rss_kib=%ld keeper_kib=%ld monitor_kib=%ld\n",
		     find_kib(f, "VmRSS"), private_kib(rec->keeper_pid),
		     private_kib(rec->vmm_pid));
	hutch_record_free(rec);
	(void)fclose(f);
}

int main(int argc, char **argv)
{
	struct hutch_start_opts so = HUTCH_START_OPTS_INIT;
	struct hutch_err e = { 0 };
	struct hutch_vm *vm = NULL;
	struct hutch *h;
	long row = argc == 4 ? strtol(argv[1], NULL, 10) : 0;

	if (row < 1) {
		(void)fprintf(
			stderr,
			"usage: exec_timer ROW CPUS MEMORY, ROW from 1\n");
		return 2;
	}
	so.cpus = (unsigned int)strtoul(argv[2], NULL, 10);
	so.flags = HUTCH_START_LIFELINE | HUTCH_START_RM;
	so.wait = HUTCH_WAIT_READY;
	if (hutch_parse_size("MEMORY", argv[3], &so.memory, &e) < 0)
		die("memory", &e);
	if (hutch_open(NULL, &h, &e) < 0 || hutch_start(h, &so, &vm, &e) < 0)
		die("start", &e);
	time_true(h, hutch_vm_name(vm), row);
	time_bulk(h, hutch_vm_name(vm));
	show_memory(h, hutch_vm_name(vm));
	hutch_vm_close(vm);
	hutch_close(h);
	return 0;
}
