/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/connector.c - see connector.h */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/connector.h"
#include "vmm/connector.h"
#include "vmm/jail/jail.h"

/* Keeps only its end of the socket; ends when the other end is closed. */
__attribute__((noreturn)) static void serve(int sock, const char *prefix)
{
	struct err e = { 0 };
	int r;

	jail_close_others(0, &sock, 1);
	r = jail_drop(&e);
	while (r == 0)
		r = connector_serve_one(sock, AT_FDCWD, prefix);
	_exit(r == -EPIPE ? 0 : 1);
}

int connector_start(const char *vsock_path, struct err *e)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(e, -errno, "connector: socketpair: %s",
			       strerror(errno));
	/* Nobody waits for it: it must not stay behind as a zombie. */
	(void)signal(SIGCHLD, SIG_IGN);
	pid = fork();
	if (pid == 0)
		serve(pair[1], vsock_path);
	(void)close(pair[1]);
	if (pid < 0) {
		(void)close(pair[0]);
		return err_set(e, -errno, "connector: fork: %s",
			       strerror(errno));
	}
	return pair[0];
}
