/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/fake_vmm.c - stands in for hutch-vmm, guest and agent, without KVM
 *
 * For tests of libhutch and the keeper: it takes hutch-vmm's command line,
 * speaks its end of the vsock socket and the agent's protocol, and ends with
 * its exit statuses.  It runs no machine.  The file given as --kernel is a
 * script of words: "stderr=TEXT" (said at once, _ is a blank), "exit=N" or
 * "signal=N" (end so, at once), "nobell" (never ready), "deaf" (SHUTDOWN is
 * ignored).  A command's argv[0] says what the agent does with it, see cmds[].
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/connector.h"
#include "common/io.h"
#include "common/le.h"
#include "common/unix.h"
#include "common/wire.h"

#define STATUS_POWEROFF 0
#define STATUS_STOPPED  6

/**
 * struct fake - The machine
 * @lock:	Protects @ended, @end
 * @ended:	The main process has, as @end says
 */
struct fake {
	int vsock;
	int lifeline;
	int connector;
	bool deaf;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool ended;
	struct msg_exit end;
};

/** struct peer - One connection */
struct peer {
	struct fake *f;
	int fd;
	uint64_t total[2];
	bool main;
	struct wire_reader in;
};

static void put_frame(struct peer *p, struct wr *wr)
{
	if (wr_end(wr) < 0)
		abort();
	for (size_t off = 0; off < wr->len;) {
		ssize_t n =
			send(p->fd, wr->buf + off, wr->len - off, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		off += (size_t)n;
	}
}

static int get_frame(struct peer *p, struct wire_frame *f)
{
	int r;

	while ((r = wire_reader_next(&p->in, f, NULL)) == 0)
		if (wire_reader_fill(&p->in, p->fd) <= 0)
			return -1;
	return r;
}

static void put_output(struct peer *p, int stream, const void *data, size_t len)
{
	static _Thread_local uint8_t buf[WIRE_OUTPUT_HEAD + WIRE_DATA_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct msg_output m = { .cursor = p->total[stream],
				.data = data,
				.len = len };

	wire_output_put(&wr, stream ? WIRE_STDERR : WIRE_STDOUT, &m);
	p->total[stream] += len;
	put_frame(p, &wr);
}

static void put_exit_msg(struct peer *p, const struct msg_exit *m)
{
	uint8_t buf[128];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_exit_put(&wr, m);
	put_frame(p, &wr);
	if (!p->main)
		return;
	(void)shutdown(p->fd, SHUT_WR);
	/* The event comes when the client has gone. */
	while (recv(p->fd, buf, sizeof(buf), 0) > 0)
		continue;
	(void)pthread_mutex_lock(&p->f->lock);
	p->f->ended = true;
	p->f->end = *m;
	(void)pthread_cond_broadcast(&p->f->changed);
	(void)pthread_mutex_unlock(&p->f->lock);
}

static void put_exit(struct peer *p, enum wire_how how, uint32_t value,
		     uint32_t flags)
{
	const struct msg_exit m = { .how = how,
				    .state = WIRE_STATE_EXITED,
				    .flags = flags,
				    .value = value,
				    .stdout_total = p->total[0],
				    .stderr_total = p->total[1] };

	put_exit_msg(p, &m);
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

/* Each further word on stdout, or on stderr if it begins with '!'. */
static void do_say(struct peer *p, const struct msg_exec *m)
{
	for (unsigned int i = 1; i < m->argc; i++) {
		const char *s = m->argv[i];
		int err = *s == '!';

		put_output(p, err, s + err, strlen(s + err));
	}
	put_exit(p, WIRE_HOW_EXITED, 0, 0);
}

/* What comes on stdin goes to stdout. */
static void do_cat(struct peer *p, const struct msg_exec *m)
{
	struct wire_frame f;
	uint64_t got = 0;

	(void)m;
	while (get_frame(p, &f) > 0 && f.type != WIRE_STDIN_CLOSE) {
		struct msg_stdin_ack ack = { 0 };
		uint8_t buf[64];
		struct wr wr = wr_init(buf, sizeof(buf));

		if (f.type == WIRE_SIGNAL || f.type == WIRE_RESIZE ||
		    f.type == WIRE_CLOSE_STDOUT) {
			const char *s = wire_type_name(f.type);

			put_output(p, 1, s, strlen(s));
			continue;
		}
		got += f.len;
		ack.consumed = got;
		put_output(p, 0, f.data, f.len);
		wire_stdin_ack_put(&wr, &ack);
		put_frame(p, &wr);
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

		put_output(p, 0, buf, n);
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
		struct msg_output o = { .cursor = p->total[0]++,
					.data = (const uint8_t *)"x",
					.len = 1 };

		wire_output_put(&wr, WIRE_STDOUT, &o);
	}
	put_frame(p, &wr);
	do_hang(p, m);
}

static void do_hang(struct peer *p, const struct msg_exec *m)
{
	struct wire_frame f;

	(void)m;
	while (get_frame(p, &f) > 0)
		continue;
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
	put_output(p, 0, "half", 4);
	(void)shutdown(p->fd, SHUT_RDWR);
}

static void do_badtotal(struct peer *p, const struct msg_exec *m)
{
	put_output(p, 0, "1234", 4);
	p->total[num(m, 1) & 1]++;
	put_exit(p, WIRE_HOW_EXITED, 0, 0);
}

static void do_badcursor(struct peer *p, const struct msg_exec *m)
{
	(void)m;
	put_output(p, 0, "1234", 4);
	p->total[0] += 1;
	put_output(p, 0, "1234", 4);
}

static void do_badack(struct peer *p, const struct msg_exec *m)
{
	const struct msg_stdin_ack ack = { .consumed = 1 };
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));

	(void)m;
	wire_stdin_ack_put(&wr, &ack);
	put_frame(p, &wr);
	do_hang(p, m);
}

static void do_badtype(struct peer *p, const struct msg_exec *m)
{
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));

	(void)m;
	wire_empty_put(&wr, WIRE_DONE);
	put_frame(p, &wr);
	do_hang(p, m);
}

static void do_garbage(struct peer *p, const struct msg_exec *m)
{
	static const char junk[] = "HTTP/1.1 200 OK\r\nServer: evil\r\n\r\n";

	(void)send(p->fd, junk, sizeof(junk), MSG_NOSIGNAL);
	do_hang(p, m);
}

static void put_error(struct peer *p, int code, enum wire_error_kind kind,
		      const char *sentence)
{
	const struct msg_error m = { .code = (uint32_t)code,
				     .kind = kind,
				     .sentence = sentence };
	uint8_t buf[512];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_error_put(&wr, &m);
	put_frame(p, &wr);
}

/* Flags, user, folder and environment, as the request has them. */
static void do_show(struct peer *p, const struct msg_exec *m)
{
	char buf[1024];
	int n = snprintf(buf, sizeof(buf), "%#x %llu %u %ux%u '%s' '%s' '%s'",
			 m->flags, (unsigned long long)m->timeout_ms,
			 m->grace_ms, m->cols, m->rows, m->user, m->cwd,
			 m->envc ? m->env[0] : "");

	put_output(p, 0, buf, (size_t)n);
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
	{ "exit", do_exit },
	{ "signal", do_signal },
	{ "oom", do_oom },
	{ "say", do_say },
	{ "cat", do_cat },
	{ "flood", do_flood },
	{ "hang", do_hang },
	{ "die", do_die },
	{ "close", do_close },
	{ "badtotal", do_badtotal },
	{ "badcursor", do_badcursor },
	{ "badack", do_badack },
	{ "badtype", do_badtype },
	{ "burst", do_burst },
	{ "garbage", do_garbage },
	{ "show", do_show },
	{ "connect", do_connect },
};

static void put_started(struct peer *p)
{
	const struct msg_started m = { .pid = 42, .id = "p1" };
	uint8_t buf[128];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_started_put(&wr, &m);
	put_frame(p, &wr);
}

static void serve_exec(struct peer *p, const struct wire_frame *f)
{
	struct msg_exec m;
	struct err e;

	if (wire_exec_parse(f->data, f->len, &m, &e) < 0) {
		put_error(p, EINVAL, WIRE_ERR_BAD_REQUEST, e.msg);
		return;
	}
	p->main = m.flags & WIRE_EXEC_MAIN;
	for (size_t i = 0; i < ARRAY_LEN(cmds); i++) {
		if (strcmp(m.argv[0], cmds[i].name) != 0)
			continue;
		put_started(p);
		cmds[i].fn(p, &m);
		return;
	}
	if (strcmp(m.argv[0], "denied") == 0)
		put_error(p, EACCES, WIRE_ERR_NOT_EXECUTABLE, "'denied': no");
	else
		put_error(p, ENOENT, WIRE_ERR_NOT_FOUND, "\033not found");
	wire_exec_done(&m);
}

static void serve_events(struct peer *p)
{
	struct fake *f = p->f;
	struct msg_event m = { .what = WIRE_EVENT_MAIN_ENDED,
			       .id = "p1",
			       .text = "" };
	uint8_t buf[256];
	struct wr wr = wr_init(buf, sizeof(buf));

	(void)pthread_mutex_lock(&f->lock);
	while (!f->ended)
		(void)pthread_cond_wait(&f->changed, &f->lock);
	m.how = f->end.how;
	m.value = f->end.value;
	m.flags = f->end.flags;
	(void)pthread_mutex_unlock(&f->lock);
	wire_event_put(&wr, &m);
	put_frame(p, &wr);
	do_hang(p, NULL);
}

static void serve_shutdown(struct peer *p)
{
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));

	if (p->f->deaf) {
		do_hang(p, NULL);
		return;
	}
	wire_empty_put(&wr, WIRE_DONE);
	put_frame(p, &wr);
	_exit(STATUS_POWEROFF);
}

static bool greet(struct peer *p)
{
	static const struct msg_hello hello = { .version = WIRE_VERSION };
	static const char ok[] = "OK 1073741824\n";
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));
	char line[64];
	size_t n = 0;

	while (n < sizeof(line) && recv(p->fd, line + n, 1, 0) == 1)
		if (line[n++] == '\n')
			break;
	if (n != strlen("CONNECT 1000\n") ||
	    memcmp(line, "CONNECT 1000\n", n) != 0)
		return false;
	(void)send(p->fd, ok, strlen(ok), MSG_NOSIGNAL);
	wire_hello_put(&wr, &hello);
	put_frame(p, &wr);
	return true;
}

static void *serve(void *arg)
{
	struct peer *p = arg;
	struct wire_frame f;

	wire_reader_init(&p->in, WIRE_FROM_CLIENT);
	if (greet(p) && get_frame(p, &f) > 0 && f.type == WIRE_HELLO &&
	    get_frame(p, &f) > 0) {
		if (f.type == WIRE_EXEC)
			serve_exec(p, &f);
		else if (f.type == WIRE_EVENTS)
			serve_events(p);
		else if (f.type == WIRE_SHUTDOWN)
			serve_shutdown(p);
	}
	(void)close(p->fd);
	wire_reader_done(&p->in);
	free(p);
	return NULL;
}

static void *watch_lifeline(void *arg)
{
	const struct fake *f = arg;
	char c;

	while (read(f->lifeline, &c, 1) > 0)
		continue;
	_exit(STATUS_STOPPED);
}

static void accept_all(struct fake *f)
{
	for (;;) {
		struct peer *p = calloc(1, sizeof(*p));
		pthread_t t;

		if (!p)
			abort();
		p->f = f;
		p->fd = accept4(f->vsock, NULL, NULL, SOCK_CLOEXEC);
		if (p->fd < 0 || pthread_create(&t, NULL, serve, p) != 0)
			abort();
		(void)pthread_detach(t);
	}
}

static void run_script(struct fake *f, char *script)
{
	char *save = NULL;

	for (char *w = strtok_r(script, " \n", &save); w;
	     w = strtok_r(NULL, " \n", &save)) {
		if (strncmp(w, "stderr=", 7) == 0) {
			for (char *c = w; *c; c++)
				if (*c == '_')
					*c = ' ';
			(void)fprintf(stderr, "hutch-vmm: %s\n", w + 7);
		} else if (strncmp(w, "exit=", 5) == 0) {
			_exit((int)strtol(w + 5, NULL, 10));
		} else if (strncmp(w, "signal=", 7) == 0) {
			(void)raise((int)strtol(w + 7, NULL, 10));
		} else if (strcmp(w, "nobell") == 0) {
			for (;;)
				(void)pause();
		} else if (strcmp(w, "deaf") == 0) {
			f->deaf = true;
		}
	}
}

/* The value of an option, which is always there when the keeper runs us. */
static const char *opt(int argc, char **argv, const char *name)
{
	for (int i = 1; i + 1 < argc; i += 2)
		if (strcmp(argv[i], name) == 0)
			return argv[i + 1];
	(void)fprintf(stderr, "hutch-vmm: %s is missing\n", name);
	exit(2);
}

static int opt_fd(int argc, char **argv, const char *name)
{
	const char *s = opt(argc, argv, name);

	if (strncmp(s, "fd=", 3) != 0)
		exit(2);
	return (int)strtol(s + 3, NULL, 10);
}

int main(int argc, char **argv)
{
	struct fake f = { .lock = PTHREAD_MUTEX_INITIALIZER,
			  .changed = PTHREAD_COND_INITIALIZER };
	char *script = NULL;
	pthread_t t;
	FILE *console;

	f.vsock = opt_fd(argc, argv, "--vsock");
	f.lifeline = opt_fd(argc, argv, "--lifeline");
	f.connector = opt_fd(argc, argv, "--connector");
	(void)opt_fd(argc, argv, "--boot-config");
	(void)opt_fd(argc, argv, "--control");
	console = fopen(opt(argc, argv, "--console"), "w");
	if (!console || io_set_nonblock(f.vsock, 0) < 0 ||
	    io_read_file(-1, opt(argc, argv, "--kernel"), 4096, &script, NULL,
			 NULL) < 0 ||
	    pthread_create(&t, NULL, watch_lifeline, &f) != 0)
		return 2;
	run_script(&f, script);
	accept_all(&f);
	return 0;
}
