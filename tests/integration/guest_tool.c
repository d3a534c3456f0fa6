/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/integration/guest_tool.c - what a guest's shell cannot do
 *
 *	guest_tool zero			writes of no bytes between others
 *	guest_tool order N		"oI" on stdout, "eI" on stderr, each
 *					when the one before has been read
 *	guest_tool listen ADDRESS PORT	a TCP server that never accepts
 *	guest_tool echo ADDRESS PORT	one that sends back what it gets, until
 *					its end
 *	guest_tool bye ADDRESS PORT	for one connection: "bye" and the end, then
 *					how many bytes come, on stdout
 *	guest_tool lock flock|fcntl wait|try FILE COMMAND...
 *					run it with FILE locked; 1: it cannot be
 *	guest_tool bomb			as many processes as it gets
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define POLL_US 1000

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void put(int fd, const char *s)
{
	size_t n = strlen(s);

	if (write(fd, s, n) != (ssize_t)n)
		die("write");
}

static void zero(void)
{
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		put(fd, "");
		put(fd, "a");
		put(fd, "");
		put(fd, "");
		put(fd, "b");
		put(fd, "");
	}
}

/* Until the agent has taken what is in the pipe. */
static void wait_read(int fd)
{
	int left = 1;

	while (left > 0) {
		if (ioctl(fd, FIONREAD, &left) < 0)
			die("FIONREAD");
		if (left > 0)
			(void)usleep(POLL_US);
	}
}

static void order(long n)
{
	char line[32];

	for (long i = 0; i < n; i++) {
		(void)snprintf(line, sizeof(line), "o%ld\n", i);
		put(STDOUT_FILENO, line);
		wait_read(STDOUT_FILENO);
		line[0] = 'e';
		put(STDERR_FILENO, line);
		wait_read(STDERR_FILENO);
	}
}

static int listen_on(const char *address, const char *port, int backlog)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	const struct sockaddr *sa = (const struct sockaddr *)&v4;
	socklen_t len = sizeof(v4);
	int fd;

	v4.sin_port = v6.sin6_port = htons((uint16_t)strtoul(port, NULL, 10));
	if (inet_pton(AF_INET, address, &v4.sin_addr) != 1) {
		if (inet_pton(AF_INET6, address, &v6.sin6_addr) != 1)
			die(address);
		sa = (const struct sockaddr *)&v6;
		len = sizeof(v6);
	}
	fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, sa, len) < 0 || listen(fd, backlog) < 0)
		die("listen");
	return fd;
}

/* Nothing of its own: what the reader does not take holds the writer up. */
static void echo(int fd)
{
	char buf[65536];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		for (ssize_t at = 0, m; at < n; at += m) {
			m = write(fd, buf + at, (size_t)(n - at));
			if (m <= 0)
				die("write");
		}
	_exit(n < 0);
}

static void serve_echo(int listener)
{
	(void)signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			die("accept");
		if (fork() == 0)
			echo(fd);
		(void)close(fd);
	}
}

/* Who has said all still hears. */
static void serve_bye(int listener)
{
	const int fd = accept(listener, NULL, NULL);
	char buf[65536];
	long total = 0;
	ssize_t n;

	if (fd < 0)
		die("accept");
	put(fd, "bye");
	if (shutdown(fd, SHUT_WR) < 0)
		die("shutdown");
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		total += n;
	if (n < 0)
		die("read");
	(void)printf("%ld\n", total);
}

/* What is executed goes on to have both kinds. */
static void lock(char **argv)
{
	const int wait = strcmp(argv[1], "wait") == 0;
	int fd = open(argv[2], O_RDWR | O_CREAT, 0644);
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int r;

	if (fd < 0)
		die(argv[2]);
	if (strcmp(argv[0], "flock") == 0)
		r = flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB);
	else
		r = fcntl(fd, wait ? F_SETLKW : F_SETLK, &fl);
	if (r < 0)
		die(argv[0]);
	(void)execvp(argv[3], argv + 3);
	die(argv[3]);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "zero") == 0)
		zero();
	else if (strcmp(what, "order") == 0 && argc == 3)
		order(strtol(argv[2], NULL, 10));
	else if (strcmp(what, "lock") == 0 && argc >= 6)
		lock(argv + 2);
	else if (strcmp(what, "echo") == 0 && argc == 4)
		serve_echo(listen_on(argv[2], argv[3], SOMAXCONN));
	else if (strcmp(what, "bye") == 0 && argc == 4)
		serve_bye(listen_on(argv[2], argv[3], 4));
	else if (strcmp(what, "listen") == 0 && argc == 4)
		for (listen_on(argv[2], argv[3], 4);;)
			(void)pause();
	else if (strcmp(what, "bomb") == 0)
		for (;;)
			(void)fork();
	else
		return 2;
	return 0;
}
