/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/vsock.c - see vsock.h */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/vm_sockets.h>

#include "common/wire.h"
#include "guest-agent/vsock.h"

#define BACKLOG 1024

static struct sockaddr_vm address(unsigned int cid, unsigned int port)
{
	return (struct sockaddr_vm){ .svm_family = AF_VSOCK,
				     .svm_cid = cid,
				     .svm_port = port };
}

int vsock_listen(unsigned int port, struct err *e)
{
	struct sockaddr_vm sa = address(VMADDR_CID_ANY, port);
	auto_fd int fd =
		socket(AF_VSOCK, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_set(e, -errno, "vsock: no such sockets here: %s",
			       strerror(errno));
	if (bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return err_set(e, -errno, "vsock: listen on port %u: %s", port,
			       strerror(errno));
	return take_fd(&fd);
}

static void on_answer(struct loop_io *io, uint32_t events)
{
	int fd = io->fd;

	(void)events;
	loop_del(io);
	(void)close(fd);
}

void bell_ring(struct bell *b, struct loop *l)
{
	struct sockaddr_vm sa = address(WIRE_CID_HOST, WIRE_PORT_BELL);
	int fd =
		socket(AF_VSOCK, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	(void)connect(fd, (const struct sockaddr *)&sa, sizeof(sa));
	/* Kept until it is answered: closing could take the request back. */
	if (loop_add(l, &b->io, fd, EPOLLOUT, on_answer) < 0)
		(void)close(fd);
}
