/* SPDX-License-Identifier: Apache-2.0 */
/* common/connector.c - see connector.h */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/connector.h"
#include "common/le.h"
#include "common/unix.h"

static int open_port(int dirfd, const char *prefix, uint32_t port)
{
	char name[PATH_MAX];
	int n = snprintf(name, sizeof(name), "%s_%u", prefix, port);

	if (n < 0 || (size_t)n >= sizeof(name))
		return -ENAMETOOLONG;
	return unix_connect(dirfd, name, SOCK_STREAM | SOCK_NONBLOCK, NULL);
}

int connector_serve_one(int sock, int dirfd, const char *prefix)
{
	struct {
		le32 port;
		le32 code;
	} answer = { 0 };
	_Static_assert(sizeof(answer) == CONNECTOR_ANSWER_LEN, "protocol");
	int junk[UNIX_FDS_MAX], n_junk = 0;
	auto_fd int fd = -1;
	ssize_t n;

	n = unix_recv_fds(sock, &answer.port, sizeof(answer.port), junk,
			  &n_junk);
	for (int i = 0; n >= 0 && i < n_junk; i++)
		(void)close(junk[i]);
	if (n <= 0)
		return n < 0 ? (int)n : -EPIPE;
	if (n != CONNECTOR_REQ_LEN || n_junk > 0)
		return -EBADMSG;
	fd = open_port(dirfd, prefix, le32_get(answer.port));
	if (fd < 0)
		answer.code = le32_put((uint32_t)-fd);
	n = unix_send_fds(sock, &answer, sizeof(answer), &fd, fd < 0 ? 0 : 1);
	return n < 0 ? (int)n : 0;
}
