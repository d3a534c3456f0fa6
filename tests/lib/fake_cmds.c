/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/fake_cmds.c - programs that the fake machine can run */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "common/connector.h"
#include "common/io.h"
#include "common/le.h"
#include "common/unix.h"
#include "tests/lib/fake_vmm.h"

static void put_exit(struct peer *p, enum wire_how how, uint32_t value,
		     uint32_t flags)
{
	const struct msg_exit m = { .how = how,
				    .state = WIRE_STATE_EXITED,
				    .flags = flags,
				    .value = value,
				    .stdout_total = p->proc->total[0],
				    .stderr_total = p->proc->total[1],
				    .end_ns = 1 };

	fake_end(p, &m);
}

static uint32_t num(const struct msg_exec *m, unsigned int i)
{
	return i < m->argc ? (uint32_t)strtoul(m->argv[i], NULL, 10) : 0;
}

/* ---- Commands ---- */

static void do_exit(struct peer *p, const struct msg_exec *m)
{
	put_exit(p, WIRE_HOW_EXITED, num(m, 1), 0);
}

static void do_signal(struct peer *p, const struct msg_exec *m)
{
	put_exit(p, WIRE_HOW_SIGNALLED, num(m, 1), 0);
}

static void do_oom(struct peer *p, const struct msg_exec *m)
{
	(void)m;
	put_exit(p, WIRE_HOW_SIGNALLED, SIGKILL, WIRE_EXIT_OOM);
}

static void do_overtime(struct peer *p, const struct msg_exec *m)
{
	(void)m;
	put_exit(p, WIRE_HOW_SIGNALLED, SIGTERM, WIRE_EXIT_TIMED_OUT);
}

/* Each further word on stdout, or on stderr if it begins with '!'. */
static void do_say(struct peer *p, const struct msg_exec *m)
{
	for (unsigned int i = 1; i < m->argc; i++) {
		const char *s = m->argv[i];
		int err = *s == '!';

		fake_output(p, err, s + err, strlen(s + err));
	}
	put_exit(p, WIRE_HOW_EXITED, 0, 0);
}

/* What comes on stdin goes to stdout. */
static void do_cat(struct peer *p, const struct msg_exec *m)
{
	struct wire_frame f;
	uint64_t got = 0;

	(void)m;
	while (fake_recv(p, &f) > 0 && f.type != WIRE_STDIN_CLOSE) {
		struct msg_stdin_ack ack = { 0 };
		uint8_t buf[64];
		struct wr wr = wr_init(buf, sizeof(buf));

		if (f.type == WIRE_SIGNAL || f.type == WIRE_RESIZE ||
		    f.type == WIRE_CLOSE_STDOUT) {
			const char *s = wire_type_name(f.type);

			fake_output(p, 1, s, strlen(s));
			continue;
		}
		got += f.len;
		ack.consumed = got;
		fake_output(p, 0, f.data, f.len);
		wire_stdin_ack_put(&wr, &ack);
		fake_send(p, &wr);
	}
	put_exit(p, WIRE_HOW_EXITED, 0, 0);
}

static void do_flood(struct peer *p, const struct msg_exec *m)
{
	static _Thread_local uint8_t buf[WIRE_DATA_MAX];
	uint64_t left = (uint64_t)num(m, 1);

	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)(i * 7);
	while (left) {
		size_t n = left < sizeof(buf) ? (size_t)left : sizeof(buf);

		fake_output(p, 0, buf, n);
		left -= n;
	}
	put_exit(p, WIRE_HOW_EXITED, 0, 0);
}

static void do_hang(struct peer *p, const struct msg_exec *m);

/* As many bytes, each in a frame and all at once; then it goes on. */
static void do_burst(struct peer *p, const struct msg_exec *m)
{
	static _Thread_local uint8_t buf[1u << 16];
	struct wr wr = wr_init(buf, sizeof(buf));

	for (uint32_t i = 0; i < num(m, 1); i++) {
		struct msg_output o = { .cursor = p->proc->total[0],
					.data = (const uint8_t *)"x",
					.len = 1 };

		if (p->detached)
			fake_output(p, 0, "x", 1);
		else
			p->proc->total[0]++;
		wire_output_put(&wr, WIRE_STDOUT, &o);
	}
	if (!p->detached)
		fake_send(p, &wr);
	do_hang(p, m);
}

/* A detached one lives until it is killed, another while its client does. */
static void do_hang(struct peer *p, const struct msg_exec *m)
{
	struct wire_frame f;
	uint32_t signo = 0;

	(void)m;
	while (!p->detached && fake_recv(p, &f) > 0)
		continue;
	(void)pthread_mutex_lock(&p->f->lock);
	while (p->detached && !p->proc->signo)
		(void)pthread_cond_wait(&p->f->changed, &p->f->lock);
	signo = (uint32_t)p->proc->signo;
	(void)pthread_mutex_unlock(&p->f->lock);
	if (signo)
		put_exit(p, WIRE_HOW_SIGNALLED, signo, 0);
}

/* Each word as "say" has it, a moment apart; then it goes on. */
static void do_trickle(struct peer *p, const struct msg_exec *m)
{
	static const struct timespec step = { .tv_nsec = 20000000 };

	for (unsigned int i = 1; i < m->argc; i++) {
		const char *s = m->argv[i];
		int err = *s == '!';

		(void)nanosleep(&step, NULL);
		fake_output(p, err, s + err, strlen(s + err));
	}
	do_hang(p, m);
}

/* "event WHAT HOW FLAGS VALUE ID TEXT [TIMES]": whatever a guest may say. */
static void do_event(struct peer *p, const struct msg_exec *m)
{
	const struct msg_event ev = {
		.what = (enum wire_event_what)num(m, 1),
		.how = (enum wire_how)num(m, 2),
		.flags = num(m, 3),
		.value = num(m, 4),
		.id = m->argv[5],
		.text = m->argv[6],
	};

	for (uint32_t i = 0; i < MAX(num(m, 7), 1u); i++)
		fake_tell(p->f, &ev);
	put_exit(p, WIRE_HOW_EXITED, 0, 0);
}

/* As "exit", but the machine is gone with it. */
static void do_exitdie(struct peer *p, const struct msg_exec *m)
{
	const struct msg_event ev = {
		.what = WIRE_EVENT_MAIN_ENDED,
		.how = WIRE_HOW_EXITED,
		.value = num(m, 1),
		.id = "main",
		.text = "",
	};

	fake_tell(p->f, &ev);
	(void)usleep(100000); /* for the thread that tells it */
	_exit(0);
}

/* "die exit 4", "die signal 11": the whole machine. */
static void do_die(struct peer *p, const struct msg_exec *m)
{
	(void)p;
	if (m->argc > 1 && strcmp(m->argv[1], "exit") == 0)
		_exit((int)num(m, 2));
	(void)raise((int)num(m, 2));
}

static void do_close(struct peer *p, const struct msg_exec *m)
{
	(void)m;
	fake_output(p, 0, "half", 4);
	(void)shutdown(p->fd, SHUT_RDWR);
}

static void do_badtotal(struct peer *p, const struct msg_exec *m)
{
	fake_output(p, 0, "1234", 4);
	p->proc->total[num(m, 1) & 1]++;
	put_exit(p, WIRE_HOW_EXITED, 0, 0);
}

static void do_badcursor(struct peer *p, const struct msg_exec *m)
{
	(void)m;
	fake_output(p, 0, "1234", 4);
	p->proc->total[0] += 1;
	fake_output(p, 0, "1234", 4);
}

static void do_badack(struct peer *p, const struct msg_exec *m)
{
	const struct msg_stdin_ack ack = { .consumed = 1 };
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));

	(void)m;
	wire_stdin_ack_put(&wr, &ack);
	fake_send(p, &wr);
	do_hang(p, m);
}

/* The same thing again, which moves nothing and never ends. */
static void do_sameack(struct peer *p, const struct msg_exec *m)
{
	const struct msg_stdin_ack ack = { .flags = WIRE_ACK_CLOSED };

	for (int i = 0; i < 2; i++) {
		uint8_t buf[64];
		struct wr wr = wr_init(buf, sizeof(buf));

		wire_stdin_ack_put(&wr, &ack);
		fake_send(p, &wr);
	}
	do_hang(p, m);
}

/* One that nothing was due for. */
static void do_emptyack(struct peer *p, const struct msg_exec *m)
{
	const struct msg_stdin_ack ack = { 0 };
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_stdin_ack_put(&wr, &ack);
	fake_send(p, &wr);
	do_hang(p, m);
}

static void do_badtype(struct peer *p, const struct msg_exec *m)
{
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));

	(void)m;
	wire_empty_put(&wr, WIRE_DONE);
	fake_send(p, &wr);
	do_hang(p, m);
}

static void do_badtrunc(struct peer *p, const struct msg_exec *m)
{
	const struct msg_truncated t = { .stream = 1, .cursor = 9, .lost = 9 };
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_truncated_put(&wr, &t);
	fake_send(p, &wr);
	do_hang(p, m);
}

static void do_garbage(struct peer *p, const struct msg_exec *m)
{
	static const char junk[] = "HTTP/1.1 200 OK\r\nServer: evil\r\n\r\n";

	(void)send(p->fd, junk, sizeof(junk), MSG_NOSIGNAL);
	do_hang(p, m);
}

/* Flags, user, folder and environment, as the request has them. */
static void do_show(struct peer *p, const struct msg_exec *m)
{
	char buf[1024];
	int n = snprintf(buf, sizeof(buf),
			 "%#x %llu %u %ux%u '%s' '%s' '%s' '%s' %u %u %llu %u",
			 m->flags, (unsigned long long)m->timeout_ms,
			 m->grace_ms, m->cols, m->rows, m->user, m->cwd,
			 m->envc ? m->env[0] : "", m->id, m->ring, m->pids,
			 (unsigned long long)m->memory, m->cpu_weight);

	fake_output(p, 0, buf, (size_t)n);
	put_exit(p, WIRE_HOW_EXITED, 0, 0);
}

/* Connects out, to host port argv[1], and sends argv[2]. */
static void do_connect(struct peer *p, const struct msg_exec *m)
{
	const le32 port = le32_put(num(m, 1));
	uint8_t answer[CONNECTOR_ANSWER_LEN];
	int fds[UNIX_FDS_MAX], n = 0;

	if (send(p->f->connector, &port, sizeof(port), 0) != sizeof(port) ||
	    unix_recv_fds(p->f->connector, answer, sizeof(answer), fds, &n) !=
		    CONNECTOR_ANSWER_LEN)
		abort();
	if (n == 1) {
		(void)send(fds[0], m->argv[2], strlen(m->argv[2]), 0);
		(void)close(fds[0]);
	}
	put_exit(p, WIRE_HOW_EXITED, answer[4], 0);
}

static const struct {
	const char *name;
	void (*fn)(struct peer *p, const struct msg_exec *m);
} cmds[] = {
	{ "exit", do_exit },         { "signal", do_signal },
	{ "oom", do_oom },           { "overtime", do_overtime },
	{ "say", do_say },           { "cat", do_cat },
	{ "flood", do_flood },       { "hang", do_hang },
	{ "die", do_die },           { "close", do_close },
	{ "badtotal", do_badtotal }, { "badcursor", do_badcursor },
	{ "badack", do_badack },     { "sameack", do_sameack },
	{ "emptyack", do_emptyack }, { "badtype", do_badtype },
	{ "badtrunc", do_badtrunc }, { "burst", do_burst },
	{ "garbage", do_garbage },   { "show", do_show },
	{ "connect", do_connect },   { "trickle", do_trickle },
	{ "event", do_event },       { "exitdie", do_exitdie },
};

bool fake_knows(const char *program)
{
	for (size_t i = 0; i < ARRAY_LEN(cmds); i++)
		if (strcmp(program, cmds[i].name) == 0)
			return true;
	return false;
}

bool fake_run(struct peer *p, const struct msg_exec *m)
{
	for (size_t i = 0; i < ARRAY_LEN(cmds); i++)
		if (strcmp(m->argv[0], cmds[i].name) == 0) {
			cmds[i].fn(p, m);
			return true;
		}
	return false;
}
