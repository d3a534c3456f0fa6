/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/agent_kit.c - see agent_kit.h */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "guest-agent/child.h"
#include "guest-agent/conn.h"
#include "guest-agent/files/serve.h"
#include "guest-agent/listeners.h"
#include "guest-agent/tunnel.h"
#include "tests/lib/agent_kit.h"
#include "tests/lib/check_main.h"

/* A machine may be slow; that something never happens takes this long. */
#define PATIENCE_NS (120ull * 1000 * 1000 * 1000)

#define STEP_MS 20

static int kit_kill(pid_t pid, int sig)
{
	/* Never the tests themselves. */
	ck_assert(pid > 1 || pid < -1);
	return kill(pid, sig);
}

/* The ops get no agent: what was asked for is for the caller to compare. */
static int kit_set_clock(uint64_t ns)
{
	return ns == KIT_CLOCK_OK ? 0 : -EPERM;
}

static void kit_power_off(struct agent *a)
{
	container_of(a, struct kit, a)->powered_off++;
}

static const struct agent_ops kit_ops = {
	.spawn = child_spawn,
	.serve_files = files_spawn,
	.serve_ports = listeners_spawn,
	.dial = tunnel_dial,
	.kill = kit_kill,
	.set_clock = kit_set_clock,
	.power_off = kit_power_off,
};

void kit_init_listening(struct kit *k, int listen_fd)
{
	struct agent_config cfg = { .ops = &kit_ops,
				    .boot = &k->boot,
				    .cgroups = CGROUPS_NONE,
				    .listen_fd = listen_fd,
				    .log = { .fd = -1 } };
	struct err e = { 0 };

	memset(k, 0, sizeof(*k));
	k->env[0] = "BOOTED=yes";
	k->boot = (struct msg_boot){ .root = WIRE_ROOT_BUILTIN,
				     .hostname = "",
				     .cwd = "",
				     .user = "",
				     .env = k->env,
				     .envc = 1 };
	ck_assert_msg(agent_init(&k->a, &cfg, &e) == 0, "%s", e.msg);
}

void kit_init(struct kit *k)
{
	kit_init_listening(k, -1);
}

/* The cgroup2 mount of this machine, wherever it is; "" if it has none. */
static void find_cgroup2(char *buf, size_t cap)
{
	FILE *f = fopen("/proc/self/mounts", "re");
	char line[1024], at[80], type[32];

	*buf = '\0';
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %79s %31s", at, type) == 2 &&
		    strcmp(type, "cgroup2") == 0)
			(void)snprintf(buf, cap, "%s/hutch-test-%d", at,
				       (int)getpid());
	if (f)
		(void)fclose(f);
}

bool kit_cgroups(struct kit *k)
{
	find_cgroup2(k->cgroup, sizeof(k->cgroup));
	if (!*k->cgroup || mkdir(k->cgroup, 0755) < 0) {
		*k->cgroup = '\0';
		return false;
	}
	k->a.cgroups.plain =
		open(k->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	k->a.cgroups.work = k->a.cgroups.plain;
	return k->a.cgroups.plain >= 0;
}

void kit_done(struct kit *k)
{
	int fd = k->a.cgroups.plain;

	agent_done(&k->a);
	if (fd >= 0)
		(void)close(fd);
	if (*k->cgroup)
		ck_assert_msg(rmdir(k->cgroup) == 0, "%s: %s", k->cgroup,
			      strerror(errno));
}

void kit_step(struct kit *k, int ms)
{
	ck_assert_int_ge(loop_step(&k->a.loop, ms), 0);
}

void kit_until(struct kit *k, bool (*done)(const struct kit *k))
{
	uint64_t end = loop_now_ns() + PATIENCE_NS;

	while (!done(k)) {
		ck_assert_msg(loop_now_ns() < end, "it never happens");
		kit_step(k, STEP_MS);
	}
}

void client_open(struct client *c, struct kit *k, bool hello)
{
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));
	int fd[2];

	ck_assert_int_eq(socketpair(AF_UNIX,
				    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
				    0, fd),
			 0);
	*c = (struct client){ .k = k, .fd = fd[0] };
	wire_reader_init(&c->in, WIRE_FROM_AGENT);
	conn_new(&k->a, fd[1]);
	if (!hello)
		return;
	wire_hello_put(&wr, &(struct msg_hello){ .version = WIRE_VERSION });
	client_send(c, buf, wr.len);
}

void client_close(struct client *c)
{
	if (c->fd >= 0)
		(void)close(c->fd);
	c->fd = -1;
	wire_reader_done(&c->in);
}

void client_send(struct client *c, const void *p, size_t len)
{
	uint64_t end = loop_now_ns() + PATIENCE_NS;
	size_t done = 0;

	while (done < len) {
		ssize_t n = send(c->fd, (const char *)p + done, len - done,
				 MSG_NOSIGNAL);

		/* Who was refused is shut out in the middle of a word. */
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return;
		ck_assert_msg(n >= 0 || errno == EAGAIN, "send: %s",
			      strerror(errno));
		ck_assert_msg(loop_now_ns() < end, "the agent does not read");
		done += n > 0 ? (size_t)n : 0;
		if (n < 0)
			kit_step(c->k, STEP_MS);
	}
}

void client_empty(struct client *c, enum wire_type type)
{
	uint8_t buf[WIRE_HDR_LEN];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_empty_put(&wr, type);
	client_send(c, buf, wr.len);
}

void client_exec(struct client *c, const struct msg_exec *m,
		 const char *const *argv)
{
	struct msg_exec all = *m;
	const char *v[16];
	auto_free uint8_t *buf = NULL;
	struct wr wr;

	for (all.argc = 0; argv[all.argc]; all.argc++)
		v[all.argc] = argv[all.argc];
	all.argv = v;
	all.id = m->id ? m->id : "";
	all.user = m->user ? m->user : "";
	all.cwd = m->cwd ? m->cwd : "";
	wr = wr_init(NULL, wire_exec_size(&all));
	buf = malloc(wr.cap);
	wr.buf = buf;
	wire_exec_put(&wr, &all);
	ck_assert_int_eq(wr_end(&wr), wr.cap);
	client_send(c, buf, wr.len);
}

void client_sh(struct client *c, uint32_t flags, const char *script)
{
	const char *argv[] = { "sh", "-c", script, NULL };

	client_exec(c, &(struct msg_exec){ .flags = flags }, argv);
}

void client_stdin(struct client *c, const void *p, size_t len)
{
	auto_free uint8_t *buf = malloc(WIRE_HDR_LEN + WIRE_DATA_MAX);

	for (size_t at = 0; at < len; at += WIRE_DATA_MAX) {
		size_t n = MIN(len - at, WIRE_DATA_MAX);
		struct wr wr = wr_init(buf, WIRE_HDR_LEN + WIRE_DATA_MAX);

		wire_stdin_put(&wr, (const uint8_t *)p + at, n);
		client_send(c, buf, wr.len);
	}
}

void client_attach(struct client *c, const char *id, uint32_t flags,
		   uint64_t from)
{
	uint8_t buf[128];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_attach_put(&wr, &(struct msg_attach){ .flags = flags,
						   .stdout_from = from,
						   .stderr_from = from,
						   .id = id });
	client_send(c, buf, wr.len);
}

void client_kill(struct client *c, const char *id, int sig,
		 enum wire_scope scope, uint32_t grace_ms)
{
	uint8_t buf[128];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_kill_put(&wr, &(struct msg_kill){ .signo = (uint32_t)sig,
					       .scope = scope,
					       .grace_ms = grace_ms,
					       .id = id });
	client_send(c, buf, wr.len);
}

void client_drop(struct client *c, const char *id)
{
	uint8_t buf[128];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_drop_put(&wr, &(struct msg_drop){ .id = id });
	client_send(c, buf, wr.len);
}

void client_list(struct client *c, const char *id, uint32_t flags)
{
	uint8_t buf[128];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_list_put(&wr, &(struct msg_list){ .flags = flags, .id = id });
	client_send(c, buf, wr.len);
}

void client_wait_port(struct client *c, unsigned int port, const char *id)
{
	uint8_t buf[128];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_wait_port_put(&wr, &(struct msg_wait_port){ .port = (uint16_t)port,
							 .id = id });
	client_send(c, buf, wr.len);
}

void client_signal(struct client *c, int sig, enum wire_scope scope)
{
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_signal_put(&wr, &(struct msg_signal){ .signo = (uint32_t)sig,
						   .scope = scope });
	client_send(c, buf, wr.len);
}

int client_next(struct client *c, struct wire_frame *ret)
{
	uint64_t end = loop_now_ns() + PATIENCE_NS;
	struct err e = { 0 };

	for (;;) {
		int r = wire_reader_next(&c->in, ret, &e);
		ssize_t n;

		ck_assert_msg(r >= 0, "%s", e.msg);
		if (r > 0)
			return 1;
		n = wire_reader_fill(&c->in, c->fd);
		if (n == 0 || n == -ECONNRESET) {
			ck_assert(!wire_reader_partial(&c->in));
			return 0;
		}
		ck_assert_msg(n > 0 || n == -EAGAIN, "read: %s",
			      strerror((int)-n));
		ck_assert_msg(loop_now_ns() < end, "the agent says nothing");
		if (n < 0)
			kit_step(c->k, STEP_MS);
	}
}

void client_want(struct client *c, enum wire_type type, struct wire_frame *ret)
{
	int r = client_next(c, ret);

	ck_assert_msg(r == 1, "closed instead of %s", wire_type_name(type));
	if (ret->type == WIRE_ERROR && type != WIRE_ERROR) {
		struct msg_error m;
		struct err e = { 0 };

		ck_assert_int_eq(wire_error_parse(ret->data, ret->len, &m, &e),
				 0);
		ck_abort_msg("ERROR: %s", m.sentence);
	}
	ck_assert_str_eq(wire_type_name(ret->type), wire_type_name(type));
}

static void take_output(struct outcome *o, struct bytes *b,
			const struct wire_frame *f)
{
	struct msg_output m;
	struct err e = { 0 };

	ck_assert_int_eq(wire_output_parse(f->data, f->len, &m, &e), 0);
	/* No byte is lost, none comes twice. */
	ck_assert_uint_eq(m.cursor, b->skip + b->len);
	ck_assert_uint_ge(m.time_ns, o->start_ns);
	o->time_ns = m.time_ns;
	/* By doubling: a sanitizer copies it each time. */
	if (!b->p || b->cap < b->len + m.len + 1) {
		b->cap = 2 * (b->len + m.len + 1);
		b->p = realloc(b->p, b->cap);
		if (!b->p)
			abort();
	}
	memcpy(b->p + b->len, m.data, m.len);
	b->len += m.len;
	b->p[b->len] = '\0';
}

static void take_truncated(struct outcome *o, const struct wire_frame *f)
{
	struct msg_truncated m;
	struct bytes *b;
	struct err e = { 0 };

	ck_assert_int_eq(wire_truncated_parse(f->data, f->len, &m, &e), 0);
	b = m.stream == 1 ? &o->out : &o->err;
	b->skip += m.lost;
	b->lost += m.lost;
	ck_assert_uint_eq(m.cursor, b->skip + b->len);
}

static void take_exit(struct outcome *o, const struct wire_frame *f)
{
	struct err e = { 0 };

	ck_assert_int_eq(wire_exit_parse(f->data, f->len, &o->exit, &e), 0);
	o->exited = true;
	if (o->partial)
		return;
	ck_assert_uint_eq(o->exit.stdout_total, o->out.skip + o->out.len);
	ck_assert_uint_eq(o->exit.stderr_total, o->err.skip + o->err.len);
}

static void take_started(struct outcome *o, const struct wire_frame *f)
{
	struct msg_started m;
	struct err e = { 0 };

	ck_assert_int_eq(wire_started_parse(f->data, f->len, &m, &e), 0);
	ck_assert(!o->started && !o->out.len && !o->err.len);
	o->started = true;
	o->pid = m.pid;
	o->start_ns = m.start_ns;
	(void)snprintf(o->id, sizeof(o->id), "%s", m.id);
}

static void take_error(struct outcome *o, const struct wire_frame *f)
{
	struct err e = { 0 };

	ck_assert_int_eq(wire_error_parse(f->data, f->len, &o->error, &e), 0);
	(void)snprintf(o->sentence, sizeof(o->sentence), "%s",
		       o->error.sentence);
	ck_assert_uint_gt(strlen(o->sentence), 0);
	o->error.sentence = NULL;
	o->failed = true;
}

void outcome_take(struct outcome *o, const struct wire_frame *f)
{
	struct err e = { 0 };

	ck_assert_msg(!o->exited && !o->failed, "a frame after the last one");
	switch (f->type) {
	case WIRE_HELLO:
		ck_assert(!o->hello);
		o->hello = true;
		break;
	case WIRE_STARTED:
		take_started(o, f);
		break;
	case WIRE_STDOUT:
		take_output(o, &o->out, f);
		break;
	case WIRE_STDERR:
		take_output(o, &o->err, f);
		break;
	case WIRE_STDIN_ACK:
		ck_assert_int_eq(
			wire_stdin_ack_parse(f->data, f->len, &o->ack, &e), 0);
		break;
	case WIRE_TRUNCATED:
		take_truncated(o, f);
		break;
	case WIRE_EXIT:
		take_exit(o, f);
		break;
	case WIRE_ERROR:
		take_error(o, f);
		break;
	case WIRE_DONE:
		o->done = true;
		break;
	case WIRE_EVENT:
		o->events++;
		break;
	default:
		ck_abort_msg("unexpected %s", wire_type_name(f->type));
	}
}

void client_collect(struct client *c, struct outcome *ret)
{
	struct wire_frame f;

	memset(ret, 0, sizeof(*ret));
	while (client_next(c, &f))
		outcome_take(ret, &f);
	ck_assert(ret->hello || ret->failed);
}

void outcome_done(struct outcome *o)
{
	free(o->out.p);
	free(o->err.p);
	o->out.p = NULL;
	o->err.p = NULL;
}

void outcome_run(struct kit *k, uint32_t flags, const char *script,
		 struct outcome *ret)
{
	struct client c;

	client_open(&c, k, true);
	client_sh(&c, flags, script);
	client_collect(&c, ret);
	client_close(&c);
	/* So that the agent sees that the client has gone. */
	kit_step(k, 0);
}

const char *bytes_text(const struct bytes *b)
{
	return b->p ? (const char *)b->p : "";
}

/* ---- What many tests begin with ---- */

bool kit_none_lives(const struct kit *k)
{
	return k->a.n_live == 0;
}

bool kit_powered_off(const struct kit *k)
{
	return k->powered_off > 0;
}

void kit_background(struct kit *k, const struct msg_exec *m, const char *script)
{
	const char *argv[] = { "sh", "-c", script, NULL };
	struct msg_exec all = *m;
	struct outcome o;
	struct client c;

	all.flags |= WIRE_EXEC_DETACH;
	client_open(&c, k, true);
	client_exec(&c, &all, argv);
	client_collect(&c, &o);
	ck_assert_msg(o.started && !o.exited && !o.failed, "%s", o.sentence);
	if (m->id)
		ck_assert_str_eq(o.id, m->id);
	client_close(&c);
	outcome_done(&o);
	kit_step(k, 0);
}

void kit_sh(struct kit *k, struct client *c, uint32_t flags, const char *script)
{
	kit_init(k);
	client_open(c, k, true);
	client_sh(c, flags, script);
}

void client_want_started(struct client *c)
{
	struct wire_frame f;

	client_want(c, WIRE_HELLO, &f);
	client_want(c, WIRE_STARTED, &f);
}
