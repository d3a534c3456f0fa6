/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/fake_vmm.c - stands in for hutch-vmm, guest and agent, without KVM
 *
 * For tests of libhutch and the keeper: it takes hutch-vmm's command line,
 * speaks its end of the vsock socket and the agent's protocol, and ends with
 * its exit statuses.  It runs no machine.  The file given as --kernel is a
 * script of words: "stderr=TEXT" (said at once, _ is a blank), "exit=N" or
 * "signal=N" (end so, at once), "nobell" (never ready), "deaf" (SHUTDOWN is
 * ignored), "mute" (it answers HELLO and no request), "hangup" (it hangs up on
 * EXEC).  A command's argv[0] says what the agent does with it, see fake_cmds.c.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/io.h"
#include "common/wire_port.h"
#include "guest-agent/files/serve.h"
#include "tests/lib/fake_vmm.h"

#define STATUS_POWEROFF 0
#define STATUS_STOPPED  6

void fake_send(struct peer *p, struct wr *wr)
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

int fake_recv(struct peer *p, struct wire_frame *f)
{
	int r;

	while ((r = wire_reader_next(&p->in, f, NULL)) == 0)
		if (wire_reader_fill(&p->in, p->fd) <= 0)
			return -1;
	return r;
}

void fake_error(struct peer *p, int code, enum wire_error_kind kind,
		const char *sentence)
{
	const struct msg_error m = { .code = (uint32_t)code,
				     .kind = kind,
				     .sentence = sentence };
	uint8_t buf[512];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_error_put(&wr, &m);
	fake_send(p, &wr);
}

static void put_started(struct peer *p)
{
	const struct msg_started m = { .pid = p->proc->pid,
				       .start_ns = 1,
				       .id = p->proc->id };
	uint8_t buf[128];
	struct wr wr = wr_init(buf, sizeof(buf));

	wire_started_put(&wr, &m);
	fake_send(p, &wr);
}

static void run(struct peer *p, const struct msg_exec *m)
{
	p->proc = fake_proc_new(p->f, m);
	put_started(p);
	p->detached = m->flags & WIRE_EXEC_DETACH;
	if (p->detached)
		(void)shutdown(p->fd, SHUT_RDWR);
	else
		fake_client(p->f, 1);
	(void)fake_run(p, m);
	if (!p->detached)
		fake_client(p->f, -1);
}

static void serve_exec(struct peer *p, const struct wire_frame *f)
{
	/* A program's frames come into the same buffer. */
	auto_free uint8_t *copy = malloc(f->len + 1);
	struct msg_exec m;
	struct err e;

	if (!copy)
		abort();
	memcpy(copy, f->data, f->len);
	if (wire_exec_parse(copy, f->len, &m, &e) < 0) {
		fake_error(p, EINVAL, WIRE_ERR_BAD_REQUEST, e.msg);
		return;
	}
	if (fake_knows(m.argv[0])) {
		run(p, &m);
	} else if (strcmp(m.argv[0], "denied") == 0) {
		fake_error(p, EACCES, WIRE_ERR_NOT_EXECUTABLE, "'denied': no");
	} else {
		fake_error(p, ENOENT, WIRE_ERR_NOT_FOUND, "\033not found");
	}
	wire_exec_done(&m);
}

/* Says nothing more, and does not hang up. */
static void be_mute(struct peer *p)
{
	char c;

	while (recv(p->fd, &c, 1, 0) > 0)
		continue;
}

static void serve_shutdown(struct peer *p)
{
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));

	if (p->f->deaf) {
		be_mute(p);
		return;
	}
	wire_empty_put(&wr, WIRE_DONE);
	fake_send(p, &wr);
	fake_await_told(p->f);
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
	fake_send(p, &wr);
	return true;
}

/* By the agent's own code, in the files of this machine. */
static void serve_file(struct peer *p, const struct wire_frame *f)
{
	const char *no_env[] = { NULL };
	const struct msg_boot boot = {
		.hostname = "", .cwd = "", .user = "", .env = no_env
	};
	struct msg_file m;
	struct err e;
	pid_t pid;

	if (wire_file_parse(f->data, f->len, &m, &e) < 0) {
		fake_error(p, EINVAL, WIRE_ERR_BAD_REQUEST, e.msg);
		return;
	}
	if (fake_evil_files(p, &m))
		return;
	pid = fork();
	if (pid == 0) {
		struct ring none = { .cap = 0 };
		const struct files_spawn s = { .req = &m,
					       .boot = &boot,
					       .fd = p->fd,
					       .in = &p->in,
					       .out = &none };

		files_serve(&s);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		abort();
}

/* Port 7 echoes, 13 speaks first and hangs up, 9 says half and dies. */
static void serve_connect(struct peer *p, const struct wire_frame *f)
{
	static const char banner[] = "banner\n";
	uint8_t buf[4096];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct msg_connect m;
	ssize_t n;

	if (wire_connect_parse(f->data, f->len, &m, NULL) < 0 ||
	    (m.port != 7 && m.port != 9 && m.port != 13)) {
		fake_error(p, ECONNREFUSED, WIRE_ERR_GENERAL, "nobody");
		return;
	}
	wire_empty_put(&wr, WIRE_DONE);
	if (m.port != 7)
		wr_bytes(&wr, banner, strlen(banner));
	fake_send(p, &wr);
	while (m.port == 7 && (n = read(p->fd, buf, sizeof(buf))) > 0) {
		wr = wr_init(buf, sizeof(buf));
		wr.len = (size_t)n;
		fake_send(p, &wr);
	}
	if (m.port == 9)
		return;
	(void)shutdown(p->fd, SHUT_WR);
	while (read(p->fd, buf, sizeof(buf)) > 0)
		continue;
}

static void serve_ports(struct peer *p)
{
	static const struct msg_port ports[] = {
		{ .port = 22, .family = WIRE_IPV6, .name = "" },
		{ .port = 8080,
		  .family = WIRE_IPV4,
		  .pid = 57,
		  .address = { 127, 0, 0, 1 },
		  .name = "webd" },
	};
	uint8_t buf[256];
	struct wr wr = wr_init(buf, sizeof(buf));

	for (size_t i = 0; i < ARRAY_LEN(ports); i++)
		wire_port_put(&wr, &ports[i]);
	wire_empty_put(&wr, WIRE_DONE);
	fake_send(p, &wr);
}

static void serve_request(struct peer *p, const struct wire_frame *f)
{
	switch (f->type) {
	case WIRE_EVENTS:
		fake_serve_events(p);
		break;
	case WIRE_SHUTDOWN:
		serve_shutdown(p);
		break;
	case WIRE_EXEC:
		serve_exec(p, f);
		break;
	case WIRE_ATTACH:
		fake_serve_attach(p, f);
		break;
	case WIRE_LIST:
		fake_serve_list(p, f);
		break;
	case WIRE_KILL:
		fake_serve_kill(p, f);
		break;
	case WIRE_DROP:
		fake_serve_drop(p, f);
		break;
	case WIRE_WAIT_PORT:
		fake_serve_wait_port(p, f);
		break;
	case WIRE_FILE:
		serve_file(p, f);
		break;
	case WIRE_CONNECT:
		serve_connect(p, f);
		break;
	case WIRE_PORTS:
		serve_ports(p);
		break;
	default:
		break;
	}
}

static void *serve(void *arg)
{
	struct peer *p = arg;
	struct wire_frame f;

	wire_reader_init(&p->in, WIRE_FROM_CLIENT);
	if (greet(p) && fake_recv(p, &f) > 0 && f.type == WIRE_HELLO &&
	    fake_recv(p, &f) > 0) {
		if (p->f->mute && f.type != WIRE_EVENTS)
			be_mute(p);
		else if (!p->f->hangup || f.type != WIRE_EXEC)
			serve_request(p, &f);
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
		} else if (strcmp(w, "mute") == 0) {
			f->mute = true;
		} else if (strcmp(w, "hangup") == 0) {
			f->hangup = true;
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
	static struct fake f = { .lock = PTHREAD_MUTEX_INITIALIZER,
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
