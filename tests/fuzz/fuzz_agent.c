/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_agent.c - a hostile client against the whole agent
 *
 * Input: one byte, in pieces of how many bytes it comes; then a client's
 * stream.  Before that a process "job" runs in the background, which has a
 * client already, and "old" has ended.  Nothing is forked: a process is a pid
 * that says a word and is reaped when the client has said all.  What the agent answers must be frames
 * of the protocol, and when all have gone nothing may be left.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "common/io.h"
#include "common/wire_proc.h"
#include "guest-agent/agent.h"
#include "guest-agent/child.h"
#include "guest-agent/conn.h"
#include "guest-agent/files/serve.h"
#include "guest-agent/job.h"
#include "guest-agent/listeners.h"
#include "guest-agent/process.h"
#include "guest-agent/tunnel.h"
#include "tests/fuzz/fuzz.h"

#define INPUT_MAX 100000u

/* Not pids that the kernel gives out: of any process, of "job", of "old", of
 * who serves files.
 */
#define PID_FAKE 0x3fffffff
#define PID_JOB  0x3ffffffe
#define PID_OLD  0x3ffffffd
#define PID_FILE 0x3ffffffc

static pid_t fake_spawn(const struct spawn *s)
{
	static const char said[] = "a word\n";
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));

	if (s->req->argv[0][0] == 'f')
		return -EAGAIN;
	if (s->req->argv[0][0] == 'e') {
		wire_error_put(&wr,
			       &(struct msg_error){ .code = ENOENT,
						    .kind = WIRE_ERR_NOT_FOUND,
						    .sentence = "not found" });
		bug_on(io_write_full(s->report_fd, buf, wr.len) < 0);
	}
	bug_on(io_write_full(s->stdio[1], said, strlen(said)) < 0);
	bug_on(io_write_full(s->stdio[2], said, strlen(said)) < 0);
	if (s->req->argv[0][0] == 'j')
		return PID_JOB;
	return s->req->argv[0][0] == 'o' ? PID_OLD : PID_FAKE;
}

/* A child that never ends, until it is killed. */
static pid_t fake_serve_files(const struct files_spawn *s)
{
	bug_on(!s->req->path[0] || s->fd < 0);
	return s->req->path[0] == 'f' ? -EAGAIN : PID_FILE;
}

static pid_t fake_serve_ports(const struct listeners_spawn *s)
{
	bug_on(s->fd < 0);
	return PID_FILE;
}

/* Nobody at port 1; at port 2 on IPv6; elsewhere one who leaves at once. */
static int fake_dial(uint16_t port, unsigned int nr)
{
	int fd[2];

	bug_on(port == 0 || nr >= TUNNEL_ADDRESSES);
	if (port == 1 || (port == 2 && nr == 0))
		return -ECONNREFUSED;
	bug_on(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			  0, fd) < 0);
	(void)close(fd[0]);
	return fd[1];
}

static int fake_kill(pid_t pid, int sig)
{
	bug_on(pid > PID_FAKE || pid < -PID_FAKE);
	bug_on(pid < PID_FILE && pid > -PID_FILE);
	bug_on(sig < 1 || sig > 64);
	return 0;
}

static int fake_set_clock(uint64_t ns)
{
	return ns & 1 ? -EPERM : 0;
}

static void fake_power_off(struct agent *a)
{
	bug_on(!a->stopping);
}

static const struct agent_ops fake_ops = {
	.spawn = fake_spawn,
	.serve_files = fake_serve_files,
	.serve_ports = fake_serve_ports,
	.dial = fake_dial,
	.kill = fake_kill,
	.set_clock = fake_set_clock,
	.power_off = fake_power_off,
};

static void serve(struct agent *a)
{
	/* Bounded, since timers of a shutdown may come again and again. */
	for (int i = 0; i < 64 && loop_step(&a->loop, 0) > 0; i++)
		;
}

/* Take what the agent says. Return: whether it may say more */
static bool listen_to(int fd, struct wire_reader *rd, bool *last)
{
	struct wire_frame f;
	struct err e = { 0 };
	ssize_t n;
	int r;

	for (;;) {
		while ((r = wire_reader_next(rd, &f, &e)) > 0) {
			bug_on(*last);
			*last = f.type == WIRE_EXIT || f.type == WIRE_ERROR ||
				f.type == WIRE_DONE ||
				f.type == WIRE_STAT_ANSWER;
		}
		bug_on(r < 0);
		n = wire_reader_fill(rd, fd);
		if (n <= 0)
			return n == -EAGAIN;
	}
}

static int connect_to(struct agent *a)
{
	const struct msg_hello hello = { .version = WIRE_VERSION };
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));
	int fd[2];

	bug_on(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			  0, fd) < 0);
	conn_new(a, fd[1]);
	wire_hello_put(&wr, &hello);
	bug_on(io_write_full(fd[0], buf, wr.len) < 0);
	return fd[0];
}

static void start(struct agent *a, const char *id)
{
	const char *argv[] = { id, NULL }, *env[] = { NULL };
	const struct msg_exec m = { .flags = WIRE_EXEC_DETACH | WIRE_EXEC_STDIN,
				    .ring = WIRE_RING_MIN,
				    .argc = 1,
				    .id = id,
				    .user = "",
				    .cwd = "",
				    .argv = argv,
				    .env = env };
	uint8_t buf[256];
	struct wr wr = wr_init(buf, sizeof(buf));
	int fd = connect_to(a);

	wire_exec_put(&wr, &m);
	bug_on(io_write_full(fd, buf, wr.len) < 0);
	serve(a);
	(void)close(fd);
	serve(a);
}

/* Two processes, and a client of one. Return: its descriptor */
static int set_the_scene(struct agent *a)
{
	const struct msg_attach m = {
		.flags = WIRE_ATTACH_FOLLOW | WIRE_ATTACH_STDIN, .id = "job"
	};
	uint8_t buf[256];
	struct wr wr = wr_init(buf, sizeof(buf));
	int fd;

	start(a, "job");
	start(a, "old");
	proc_reaped(a, PID_OLD, 0);
	serve(a);
	bug_on(a->n_live != 1 || a->n_ended != 1);
	fd = connect_to(a);
	wire_attach_put(&wr, &m);
	bug_on(io_write_full(fd, buf, wr.len) < 0);
	serve(a);
	return fd;
}

static void converse(struct agent *a, int fd, const uint8_t *data, size_t len)
{
	size_t piece = data[0] ? data[0] : len, at = 1;
	struct wire_reader rd;
	bool last = false;

	wire_reader_init(&rd, WIRE_FROM_AGENT);
	while (at < len) {
		size_t n = MIN(piece, len - at);
		ssize_t sent = send(fd, data + at, n, MSG_NOSIGNAL);

		if (sent > 0)
			at += (size_t)sent;
		serve(a);
		if (!listen_to(fd, &rd, &last) || (sent < 0 && errno != EAGAIN))
			break;
	}
	/* Its own process may have called itself like one of the others. */
	for (int i = 0; i < 2; i++)
		for (pid_t pid = PID_OLD; pid <= PID_FAKE; pid++)
			proc_reaped(a, pid, 0);
	while (job_reaped(a, PID_FILE))
		;
	serve(a);
	(void)listen_to(fd, &rd, &last);
	wire_reader_done(&rd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *no_env[] = { NULL };
	const struct msg_boot boot = {
		.hostname = "", .cwd = "", .user = "", .env = no_env
	};
	const struct agent_config cfg = { .ops = &fake_ops,
					  .boot = &boot,
					  .cgroups = CGROUPS_NONE,
					  .listen_fd = -1,
					  .log = { .fd = -1 } };
	auto_free struct agent *a = calloc(1, sizeof(*a));
	struct err e;
	int fd[2], other;

	if (len < 2 || len > INPUT_MAX)
		return 0;
	bug_on(!a || agent_init(a, &cfg, &e) < 0);
	other = set_the_scene(a);
	bug_on(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			  0, fd) < 0);
	conn_new(a, fd[1]);
	converse(a, fd[0], data, len);
	(void)close(fd[0]);
	(void)close(other);
	serve(a);
	bug_on(a->n_conns || a->n_live || a->n_jobs || a->n_tunnels);
	agent_done(a);
	bug_on(a->n_ended || a->pool.used || a->n_clients);
	return 0;
}
