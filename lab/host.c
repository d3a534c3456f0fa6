/* SPDX-License-Identifier: Apache-2.0 */
/* The program behind scripts/lab, which makes its command line. */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto.h"

/**
 * host_fail() - Say on stderr what failed
 * @what:	What, with errno set
 * @name:	With which object
 *
 * Return: -errno.
 */
int host_fail(const char *what, const char *name)
{
	int r = -errno;

	(void)fprintf(stderr, "lab: %s '%s': %s\n", what, name, strerror(-r));
	return r;
}

/*
 * A folder can be deeper than an address can be long, so the address goes
 * by way of a descriptor of the folder.
 */
static int address(const char *path, struct sockaddr_un *ret, int *ret_dir)
{
	const char *slash = strrchr(path, '/');
	char dir[4096];
	int n;

	if (!slash || (size_t)(slash - path) >= sizeof(dir))
		return -EINVAL;
	memcpy(dir, path, (size_t)(slash - path));
	dir[slash - path] = '\0';
	*ret_dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*ret_dir < 0)
		return -errno;
	ret->sun_family = AF_UNIX;
	n = snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d%s",
		     *ret_dir, slash);
	return n < (int)sizeof(ret->sun_path) ? 0 : -ENAMETOOLONG;
}

static int use_address(int s, const struct sockaddr_un *a, bool server)
{
	const struct sockaddr *sa = (const struct sockaddr *)a;

	if (!server)
		return connect(s, sa, sizeof(*a)) < 0 ? -errno : 0;
	if (bind(s, sa, sizeof(*a)) < 0)
		return -errno;
	return listen(s, (int)LAB_SESSIONS_MAX) < 0 ? -errno : 0;
}

static int open_socket(const char *path, bool server)
{
	struct sockaddr_un a = { 0 };
	int dir = -1, s = -1, r;

	r = address(path, &a, &dir);
	if (r < 0)
		goto out;
	s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	r = s < 0 ? -errno : use_address(s, &a, server);
out:
	if (dir >= 0)
		close(dir);
	if (r < 0 && s >= 0)
		close(s);
	return r < 0 ? r : s;
}

/**
 * host_connect() - Connect to a kept lab
 * @path:	Its socket
 *
 * Return: descriptor, -errno.
 */
int host_connect(const char *path)
{
	return open_socket(path, false);
}

/**
 * host_listen() - Make a kept lab's socket
 * @path:	Where; a left-over is replaced, so the caller holds the lock
 *
 * Return: descriptor, -errno.
 */
int host_listen(const char *path)
{
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	return open_socket(path, true);
}

/* stdin, stdout and stderr must not be kept open by a keeper. */
static int detach(bool keep_stderr)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0 || dup2(fd, 0) < 0 || dup2(fd, 1) < 0)
		return -1;
	return !keep_stderr && dup2(fd, 2) < 0 ? -1 : 0;
}

/* A lab for one command: its keeper is our child and ends with us. */
static int run_once(const struct host_opts *o)
{
	pid_t self = getpid(), pid;
	int s[2], code;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s) < 0)
		return -host_fail("cannot make", "socket pair");
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Ctrl-C is for the command. */
		(void)setsid();
		close(s[0]);
		if (getppid() != self || detach(true) < 0)
			_exit(EXIT_LAB);
		_exit(keeper_run(o, -1, s[1], -1));
	}
	close(s[1]);
	if (pid < 0)
		return -host_fail("cannot start", "keeper");
	code = client_run(o, s[0]);
	close(s[0]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return code;
}

static int cmd_run(const struct host_opts *o)
{
	if (o->socket) {
		int s = host_connect(o->socket);

		if (s >= 0)
			return client_run(o, s);
	}
	return run_once(o);
}

/* The lock, or -EWOULDBLOCK while another holds it and answers. */
static int up_lock(const struct host_opts *o)
{
	int s, lock = open(o->lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (lock < 0)
		return host_fail("cannot open", o->lock);
	if (flock(lock, LOCK_EX | LOCK_NB) == 0)
		return lock;
	s = host_connect(o->socket);
	if (s >= 0) {
		close(s);
		close(lock);
		return -EWOULDBLOCK;
	}
	/* It is on its way up, or down. */
	while (flock(lock, LOCK_EX) < 0)
		if (errno != EINTR)
			return host_fail("cannot lock", o->lock);
	return lock;
}

static void up_keeper(const struct host_opts *o, int listener, int ready)
{
	(void)setsid();
	if (chdir("/") < 0 || detach(false) < 0)
		_exit(EXIT_LAB);
	_exit(keeper_run(o, listener, -1, ready));
}

/* Written before the socket is there, under the lock. */
static int write_about(const struct host_opts *o)
{
	FILE *f = fopen(o->about_file, "we");

	if (!f)
		return host_fail("cannot write", o->about_file);
	for (const char *p = o->about; *p; p++)
		(void)fputc(*p == ' ' ? '\n' : *p, f);
	(void)fputc('\n', f);
	return fclose(f) ? host_fail("cannot write", o->about_file) : 0;
}

static int cmd_up(const struct host_opts *o)
{
	int ready[2], listener, lock = up_lock(o);
	char text[9000];
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	if (lock == -EWOULDBLOCK) {
		(void)fprintf(stderr, "lab: it is up already\n");
		return 0;
	}
	if (lock < 0 || write_about(o) < 0)
		return EXIT_LAB;
	listener = host_listen(o->socket);
	if (listener < 0 || pipe2(ready, O_CLOEXEC) < 0)
		return -host_fail("cannot make", o->socket);
	pid = fork();
	if (pid == 0)
		up_keeper(o, listener, ready[1]);
	close(ready[1]);
	close(listener);
	if (pid < 0)
		return -host_fail("cannot start", "keeper");
	while (len < sizeof(text) &&
	       (n = read(ready[0], text + len, sizeof(text) - len)) > 0)
		len += (size_t)n;
	if (len)
		(void)fprintf(stderr, "lab: %.*s\n", (int)len, text);
	return len ? EXIT_LAB : 0;
}

static int cmd_ask(const struct host_opts *o, uint8_t type)
{
	int s = host_connect(o->socket);

	if (s < 0) {
		(void)printf("down\n");
		return type == LAB_DOWN ? 0 : 1;
	}
	return client_ask(s, type);
}

/* Options that take many strings say first how many. */
static int take_strings(int argc, char **argv, struct strings *ret)
{
	unsigned long n = strtoul(optarg, NULL, 10);

	if (n > (unsigned long)(argc - optind))
		return -EINVAL;
	*ret = (struct strings){ .v = argv + optind, .n = (unsigned int)n };
	optind += (int)n;
	return 0;
}

static int parse_one(int c, int argc, char **argv, struct host_opts *o)
{
	switch (c) {
	case 's':
		o->socket = optarg;
		return 0;
	case 'l':
		o->lock = optarg;
		return 0;
	case 'a':
		o->about = optarg;
		return 0;
	case 'k':
		o->about_file = optarg;
		return 0;
	case 'm':
		return take_strings(argc, argv, &o->machine);
	case 'c':
		return take_strings(argc, argv, &o->config);
	case 'e':
		return take_strings(argc, argv, &o->env);
	case 'd':
		o->scratch = optarg;
		return 0;
	case 'z':
		o->disk_size = strtoull(optarg, NULL, 10);
		return 0;
	case 'i':
		o->idle_s = (unsigned int)strtoul(optarg, NULL, 10);
		return 0;
	case 'p':
		o->parent = (pid_t)strtol(optarg, NULL, 10);
		return 0;
	case 't':
		o->tty = true;
		return 0;
	case 'r':
		o->root = true;
		return 0;
	case 'v':
		o->console = true;
		return 0;
	default:
		return -EINVAL;
	}
}

static int parse(int argc, char **argv, struct host_opts *o)
{
	/* "+": options end at the first word that is none. */
	static const char known[] = "+s:l:a:k:m:c:e:d:z:i:p:trv";
	int c;

	while ((c = getopt(argc, argv, known)) >= 0)
		if (parse_one(c, argc, argv, o) < 0)
			return -EINVAL;
	o->command = (struct strings){ .v = argv + optind,
				       .n = (unsigned int)(argc - optind) };
	return 0;
}

int main(int argc, char **argv)
{
	struct host_opts o = { .about = "lab" };
	const char *verb = argc > 1 ? argv[1] : "";

	/* A keeper must not hold open what our caller happens to have. */
	(void)close_range(3, ~0u, 0);
	/* What is closed must not be taken by something of ours. */
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return EXIT_LAB;
	if (argc < 2 || parse(argc - 1, argv + 1, &o) < 0) {
		(void)fprintf(stderr, "lab: use scripts/lab\n");
		return EXIT_LAB;
	}
	if (!strcmp(verb, "run") && o.command.n && o.scratch)
		return cmd_run(&o);
	if (!strcmp(verb, "up") && o.socket && o.lock && o.about_file)
		return cmd_up(&o);
	if (!strcmp(verb, "down") && o.socket)
		return cmd_ask(&o, LAB_DOWN);
	if (!strcmp(verb, "status") && o.socket)
		return cmd_ask(&o, LAB_STATUS);
	(void)fprintf(stderr, "lab: no verb '%s'\n", verb);
	return EXIT_LAB;
}
