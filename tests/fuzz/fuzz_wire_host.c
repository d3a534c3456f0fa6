/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_wire_host.c - a hostile agent against libhutch's connection
 *
 * Input: what comes from the VM's socket, "OK <n>" and all, until the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "common/io.h"
#include "common/wire_proc.h"
#include "host/lib/conn.h"
#include "host/lib/ports.h"
#include "host/lib/procs.h"
#include "tests/fuzz/fuzz.h"

/* One socket buffer full: written before anybody reads. */
#define INPUT_MAX 100000u

/* One process as hutch_processes() hands it out: every string is there. */
static int take_process(const struct wire_frame *f, struct err *e)
{
	struct hutch_process **list = calloc(2, sizeof(struct hutch_process *));
	size_t n = 0;
	int r;

	bug_on(!list);
	r = procs_parse(f, HUTCH_PROCESSES_ENV, list, e);
	if (r == 0) {
		const struct hutch_process *p = list[0];

		n = strlen(p->id) + strlen(p->user) + strlen(p->workdir);
		for (size_t i = 0; p->argv[i]; i++)
			n += strlen(p->argv[i]);
		for (size_t i = 0; p->env[i]; i++)
			n += strlen(p->env[i]);
		bug_on(n > f->len);
		bug_on(p->state != HUTCH_PROCESS_RUNNING && !p->how);
	}
	hutch_processes_free(list);
	return r;
}

/* One port, likewise. */
static int take_port(const struct wire_frame *f, struct err *e)
{
	struct hutch_port **list = calloc(2, sizeof(struct hutch_port *));
	int r;

	bug_on(!list);
	r = ports_parse(f, list, e);
	if (r == 0)
		bug_on(!list[0]->address[0] || list[0]->port == 0 ||
		       strlen(list[0]->process) > f->len);
	hutch_ports_free(list);
	return r;
}

/* What a client takes from a frame, as hutch_exec and the keeper do. */
static void take(const struct wire_frame *f)
{
	struct err e = { 0 };
	union {
		struct msg_started started;
		struct msg_output output;
		struct msg_exit exit;
		struct msg_error error;
		struct msg_event event;
		struct msg_stat stat;
		struct msg_stdin_ack ack;
		struct msg_truncated truncated;
	} m;
	int r = 0;

	switch (f->type) {
	case WIRE_STARTED:
		r = wire_started_parse(f->data, f->len, &m.started, &e);
		break;
	case WIRE_STDOUT:
	case WIRE_STDERR:
		r = wire_output_parse(f->data, f->len, &m.output, &e);
		break;
	case WIRE_EXIT:
		r = wire_exit_parse(f->data, f->len, &m.exit, &e);
		break;
	case WIRE_ERROR:
		r = wire_error_parse(f->data, f->len, &m.error, &e);
		bug_on(r == 0 && procs_error(f, &e) >= 0);
		break;
	case WIRE_EVENT:
		r = wire_event_parse(f->data, f->len, &m.event, &e);
		break;
	case WIRE_STAT_ANSWER:
		r = wire_stat_parse(f->data, f->len, &m.stat, &e);
		break;
	case WIRE_STDIN_ACK:
		r = wire_stdin_ack_parse(f->data, f->len, &m.ack, &e);
		break;
	case WIRE_TRUNCATED:
		r = wire_truncated_parse(f->data, f->len, &m.truncated, &e);
		break;
	case WIRE_PROCESS:
		r = take_process(f, &e);
		break;
	case WIRE_PORT:
		r = take_port(f, &e);
		break;
	default:
		break;
	}
	bug_on(r < 0 && !*e.msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct conn c = { 0 };
	struct wire_frame f;
	struct err e = { 0 };
	int fd[2], r;

	bug_on(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0);
	bug_on(io_set_nonblock(fd[0], 1) < 0);
	c.fd = fd[0];
	c.out.cap = CONN_OUT_MAX;
	wire_reader_init(&c.in, WIRE_FROM_AGENT);
	bug_on(io_write_full(fd[1], data, MIN(len, INPUT_MAX)) < 0);
	(void)close(fd[1]);
	while ((r = conn_next(&c, &f, &e)) > 0) {
		const void *rest = NULL;
		size_t n = wire_reader_rest(&c.in, &rest);

		/* As the keeper takes what comes behind the answer. */
		bug_on(n > INPUT_MAX || (n && !rest));
		take(&f);
	}
	/* The end has come, so "nothing yet" would be waiting for ever. */
	bug_on(r == 0);
	bug_on(r == -EBADMSG && !*e.msg);
	conn_close(&c);
	return 0;
}
