/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/request.c - see request.h */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "common/wire_port.h"
#include "guest-agent/agent.h"
#include "guest-agent/clock.h"
#include "guest-agent/conn.h"
#include "guest-agent/events.h"
#include "guest-agent/job.h"
#include "guest-agent/manage.h"
#include "guest-agent/process.h"
#include "guest-agent/request.h"
#include "guest-agent/shutdown.h"
#include "guest-agent/table.h"
#include "guest-agent/tunnel.h"

static int on_hello(struct conn *c, const struct wire_frame *f, struct err *e)
{
	struct msg_hello hello = { .version = WIRE_VERSION };
	uint8_t buf[WIRE_HDR_LEN + sizeof(struct wire_hello)];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct msg_hello peer;
	int r;

	if (f->type != WIRE_HELLO)
		return err_set(e, -EPROTO, "%s before HELLO",
			       wire_type_name(f->type));
	wire_hello_put(&wr, &hello);
	/* Said even to a peer of another version: it tells him ours. */
	if (conn_send(c, buf, wr.len) < 0)
		return 0;
	r = wire_hello_parse(f->data, f->len, &peer, e);
	if (r == 0)
		c->state = CONN_REQUEST;
	return r;
}

static int on_shutdown(struct conn *c, const struct wire_frame *f,
		       struct err *e)
{
	struct agent *a = c->a;
	struct msg_shutdown m;
	int r = wire_shutdown_parse(f->data, f->len, &m, e);

	if (r < 0)
		return r;
	conn_done(c);
	shutdown_begin(a, m.grace_ms);
	return 0;
}

static int on_clock(struct conn *c, const struct wire_frame *f, struct err *e)
{
	struct msg_clock m;
	int r = wire_clock_parse(f->data, f->len, &m, e);

	if (r < 0)
		return r;
	r = c->a->ops->set_clock(m.ns);
	if (r < 0) {
		(void)err_set(e, r, "the clock cannot be set: %s",
			      strerror(-r));
		conn_error(c, WIRE_ERR_GENERAL, e);
		return 0;
	}
	conn_done(c);
	return 0;
}

/* What the kernel thinks could be had without swapping, from meminfo. */
static uint64_t mem_available(const struct sysinfo *si)
{
	static const char key[] = "MemAvailable:";
	char buf[512] = "";
	auto_fd int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	const char *p = n > 0 ? strstr(buf, key) : NULL;

	if (p)
		return strtoull(p + sizeof(key) - 1, NULL, 10) * 1024;
	return (uint64_t)si->freeram * si->mem_unit;
}

static int on_stat(struct conn *c)
{
	uint8_t buf[WIRE_HDR_LEN + sizeof(struct wire_stat)];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct sysinfo si = { 0 };
	struct msg_stat m = { .uptime_ns = clock_read_ns(CLOCK_BOOTTIME) };

	events_touch(c->a);
	(void)sysinfo(&si);
	m.mem_total = (uint64_t)si.totalram * si.mem_unit;
	m.mem_available = mem_available(&si);
	m.started = c->a->n_started;
	table_count(c->a, &m.running, &m.lingering);
	m.exited = c->a->n_ended;
	m.connections = c->a->n_conns;
	wire_stat_put(&wr, &m);
	if (conn_send(c, buf, wr.len) == 0)
		conn_last(c);
	return 0;
}

static int on_exec(struct conn *c, const struct wire_frame *f, struct err *e)
{
	enum wire_error_kind kind = WIRE_ERR_GENERAL;
	struct msg_exec m;
	int r = wire_exec_parse(f->data, f->len, &m, e);

	if (r == -ENOMEM) {
		conn_error(c, WIRE_ERR_LIMIT, e);
		return 0;
	}
	if (r < 0)
		return r;
	if (*c->a->boot_failed) {
		kind = WIRE_ERR_BOOT;
		r = err_set(e, -EIO, "%s", c->a->boot_failed);
	} else {
		r = proc_start(c, &m, &kind, e);
	}
	wire_exec_done(&m);
	if (r < 0)
		conn_error(c, kind, e);
	return 0;
}

static int on_file(struct conn *c, const struct wire_frame *f, struct err *e)
{
	struct msg_file m;
	int r = wire_file_parse(f->data, f->len, &m, e);

	if (r < 0)
		return r;
	if (*c->a->boot_failed) {
		(void)err_set(e, -EIO, "%s", c->a->boot_failed);
		conn_error(c, WIRE_ERR_BOOT, e);
		return 0;
	}
	r = job_start(c, &m, e);
	if (r < 0)
		conn_error(c,
			   r == -ESHUTDOWN ? WIRE_ERR_GENERAL : WIRE_ERR_LIMIT,
			   e);
	return 0;
}

static int on_connect(struct conn *c, const struct wire_frame *f, struct err *e)
{
	struct msg_connect m;
	int r = wire_connect_parse(f->data, f->len, &m, e);

	return r < 0 ? r : tunnel_open(c, m.port, e);
}

static int on_ports(struct conn *c, struct err *e)
{
	int r = job_start_ports(c, e);

	if (r < 0)
		conn_error(c,
			   r == -ESHUTDOWN ? WIRE_ERR_GENERAL : WIRE_ERR_LIMIT,
			   e);
	return 0;
}

static int on_request(struct conn *c, const struct wire_frame *f, struct err *e)
{
	switch (f->type) {
	case WIRE_EXEC:
		return on_exec(c, f, e);
	case WIRE_EVENTS:
		events_subscribe(c);
		return 0;
	case WIRE_SHUTDOWN:
		return on_shutdown(c, f, e);
	case WIRE_CLOCK:
		return on_clock(c, f, e);
	case WIRE_STAT:
		return on_stat(c);
	case WIRE_FILE:
		return on_file(c, f, e);
	case WIRE_CONNECT:
		return on_connect(c, f, e);
	case WIRE_PORTS:
		return on_ports(c, e);
	default:
		return manage_request(c, f, e);
	}
}

static int on_signal(struct conn *c, const struct wire_frame *f, struct err *e)
{
	struct msg_signal m;
	int r = wire_signal_parse(f->data, f->len, &m, e);

	if (r == 0)
		proc_signal(c->proc, (int)m.signo, m.scope);
	return r;
}

static int on_resize(struct conn *c, const struct wire_frame *f, struct err *e)
{
	struct msg_resize m;
	int r = wire_resize_parse(f->data, f->len, &m, e);

	return r < 0 ? r : proc_resize(c->proc, m.cols, m.rows, e);
}

static int on_exec_frame(struct conn *c, const struct wire_frame *f,
			 struct err *e)
{
	/* Its only answer may be on its way already: it has said all. */
	if (c == c->proc->fg && !proc_foreground(c->proc))
		return err_set(e, -EPROTO, "%s after EXEC with DETACH",
			       wire_type_name(f->type));
	switch (f->type) {
	case WIRE_STDIN:
		return proc_stdin(c, f->data, f->len, e);
	case WIRE_STDIN_CLOSE:
		return proc_stdin_close(c, e);
	case WIRE_SIGNAL:
		return on_signal(c, f, e);
	case WIRE_RESIZE:
		return on_resize(c, f, e);
	case WIRE_CLOSE_STDOUT:
		proc_close_output(c, 0);
		return 0;
	case WIRE_CLOSE_STDERR:
		proc_close_output(c, 1);
		return 0;
	default:
		return err_set(e, -EPROTO, "%s while a process runs",
			       wire_type_name(f->type));
	}
}

int request_frame(struct conn *c, const struct wire_frame *f, struct err *e)
{
	switch (c->state) {
	case CONN_HELLO:
		return on_hello(c, f, e);
	case CONN_REQUEST:
		return on_request(c, f, e);
	case CONN_EXEC:
	case CONN_ATTACH:
		return on_exec_frame(c, f, e);
	default:
		return err_set(e, -EPROTO, "%s after another request",
			       wire_type_name(f->type));
	}
}

void request_resume(struct conn *c)
{
	switch (c->state) {
	case CONN_EXEC:
		proc_resume(c->proc);
		break;
	case CONN_ATTACH:
		in_ack(&c->proc->in, c);
		attach_feed(c);
		break;
	case CONN_LIST:
		manage_list_more(c);
		break;
	case CONN_EVENTS:
		events_resume(c);
		break;
	default:
		break;
	}
}
