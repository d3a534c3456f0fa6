/* SPDX-License-Identifier: Apache-2.0 */
/*
 * examples/server.c - a web server in a VM: started, waited for, asked, ended
 *
 *	cc -o server server.c -lhutch
 *
 * Whatever fails, the VM ends with this program: HUTCH_START_LIFELINE.
 */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <hutch.h>

#define SERVER  "server"
#define PORT    8080
#define WAIT_MS 60000
/* Between SIGTERM and SIGKILL. */
#define GRACE_MS 2000

static void start_server(struct hutch *h, const char *vm)
{
	const char *argv[] = { "httpd", "-f", "-v", "-p", "8080", NULL };
	struct hutch_exec_opts opts = HUTCH_EXEC_OPTS_INIT;
	struct hutch_exec_event ev;
	struct hutch_exec *x;
	struct hutch_err e;

	opts.argv = argv;
	opts.id = SERVER;
	opts.flags = HUTCH_EXEC_DETACH;
	opts.memory = 64 << 20;
	if (hutch_exec_open(h, vm, &opts, &x, &e) < 0 ||
	    hutch_exec_wait(x, &ev, -1, &e) < 0)
		errx(1, "%s", e.msg);
	if (ev.kind != HUTCH_EXEC_STARTED)
		errx(1, "%s", ev.msg);
	printf("%s runs as process %d\n", ev.id, ev.pid);
	hutch_exec_close(x);
}

static void await_port(struct hutch *h, const char *vm)
{
	struct hutch_wait_opts opts = HUTCH_WAIT_OPTS_INIT;
	struct hutch_wait_result came;
	struct hutch_err e;

	opts.what = HUTCH_WAIT_FOR_PORT;
	opts.port = PORT;
	opts.timeout_ms = WAIT_MS;
	if (hutch_process_wait(h, vm, SERVER, &opts, &came, &e) < 0)
		errx(1, "%s", e.msg);
	if (came.outcome == HUTCH_WAITED_EXITED)
		errx(1, "%s has ended before it listened", SERVER);
	if (came.outcome == HUTCH_WAITED_TIMED_OUT)
		errx(1, "%s does not listen", SERVER);
	printf("it listens on port %d\n", PORT);
}

/* Prints what @x writes until it has ended, and lets go of it. */
static void follow(struct hutch_exec *x)
{
	struct hutch_exec_event ev = { .kind = HUTCH_EXEC_STARTED };
	struct hutch_err e;

	while (ev.kind != HUTCH_EXEC_EXIT) {
		if (hutch_exec_wait(x, &ev, -1, &e) < 0)
			errx(1, "%s", e.msg);
		if (ev.kind == HUTCH_EXEC_ERROR)
			errx(1, "%s", ev.msg);
		if (ev.kind == HUTCH_EXEC_TRUNCATED)
			printf("[%llu bytes are lost]\n",
			       (unsigned long long)ev.lost);
		if (ev.kind == HUTCH_EXEC_STDOUT ||
		    ev.kind == HUTCH_EXEC_STDERR)
			(void)fwrite(ev.data, 1, ev.len, stdout);
	}
	printf("ended by %s %d\n",
	       ev.how == HUTCH_EXEC_SIGNALLED ? "signal" : "exit code",
	       ev.value);
	hutch_exec_close(x);
}

static void ask_server(struct hutch *h, const char *vm)
{
	const char *argv[] = {
		"wget", "-q", "-O", "-", "http://127.0.0.1:8080/etc/os-release",
		NULL
	};
	struct hutch_exec_opts opts = HUTCH_EXEC_OPTS_INIT;
	struct hutch_exec *x;
	struct hutch_err e;

	opts.argv = argv;
	if (hutch_exec_open(h, vm, &opts, &x, &e) < 0)
		errx(1, "%s", e.msg);
	follow(x);
}

/* Attached before it is killed, so that its end is seen. */
static void end_server(struct hutch *h, const char *vm)
{
	struct hutch_exec *x;
	struct hutch_err e;

	if (hutch_attach(h, vm, SERVER, NULL, &x, &e) < 0 ||
	    hutch_process_kill(h, vm, SERVER, SIGTERM, 0, GRACE_MS, &e) < 0)
		errx(1, "%s", e.msg);
	follow(x);
}

static void print_events(struct hutch *h, const char *vm)
{
	struct hutch_events *events;
	struct hutch_vm_event ev;
	struct hutch_err e;

	if (hutch_events_open(h, vm, 0, &events, &e) < 0)
		errx(1, "%s", e.msg);
	while (hutch_events_next(events, &ev, &e) > 0)
		printf("event: %s %s\n", ev.kind, ev.process);
	hutch_events_close(events);
}

int main(void)
{
	struct hutch_start_opts opts = HUTCH_START_OPTS_INIT;
	struct hutch *h;
	struct hutch_vm *vm;
	struct hutch_err e;

	opts.flags = HUTCH_START_LIFELINE | HUTCH_START_RM;
	if (hutch_open(NULL, &h, &e) < 0 || hutch_start(h, &opts, &vm, &e) < 0)
		errx(1, "%s", e.msg);
	start_server(h, hutch_vm_name(vm));
	await_port(h, hutch_vm_name(vm));
	ask_server(h, hutch_vm_name(vm));
	end_server(h, hutch_vm_name(vm));
	print_events(h, hutch_vm_name(vm));
	hutch_vm_close(vm);
	hutch_close(h);
	return 0;
}
