/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/keeper/handler.c - connections to handlers, for hutch-net
 *
 * hutch-net has no file system, and reads hostile bytes all day: so we connect,
 * and only to paths that the policy in force has, at a socket of our own user's.
 * A path is looked up each time, so that a handler may be started again. Nothing
 * here waits: one whose queue is full is asked for again by hutch-net, which
 * waits in our place.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/unix.h"
#include "host/keeper/keeper.h"
#include "host/lib/jsontext.h"
#include "host/lib/netpolicy.h"

#define ANSWER_MAX 128

void handler_allow(struct keeper_net *n, const char *policy)
{
	json_decref(n->handlers);
	n->handlers = policy ? netpolicy_handlers(policy) : NULL;
}

static bool is_allowed(const struct keeper_net *n, const char *path)
{
	const json_t *v;
	size_t i;

	json_array_foreach(n->handlers, i, v)
	{
		if (strcmp(json_string_value(v), path) == 0)
			return true;
	}
	return false;
}

/* Who listens there, by the kernel's word. */
static bool is_ours(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       peer.uid == geteuid();
}

/* Return: the descriptor; -1 with a word for hutch-net (handlers.h there) */
static int connect_to(const struct keeper_net *n, const char *path,
		      const char **ret_word)
{
	auto_fd int fd = -1;
	int r;

	*ret_word = "unknown";
	if (!is_allowed(n, path))
		return -1;
	r = unix_connect(AT_FDCWD, path, SOCK_STREAM | SOCK_NONBLOCK, NULL);
	if (r == -EAGAIN)
		*ret_word = "busy";
	else if (r == -ENOENT || r == -ENOTDIR)
		*ret_word = "none";
	else if (r == -ECONNREFUSED)
		*ret_word = "refused";
	else if (r == -EACCES)
		*ret_word = "forbidden";
	else
		*ret_word = "failed";
	if (r < 0)
		return -1;
	fd = r;
	*ret_word = "other";
	return is_ours(fd) ? take_fd(&fd) : -1;
}

/* An answer for which there is no room is lost, and hutch-net gives up in time. */
void handler_connect(struct keeper *k, const char *path, long long id)
{
	char answer[ANSWER_MAX];
	const char *word;
	auto_fd int fd = connect_to(&k->net, path, &word);
	int len;

	if (fd >= 0)
		len = snprintf(answer, sizeof(answer), "{\"connected\":%lld}",
			       id);
	else
		len = snprintf(answer, sizeof(answer),
			       "{\"connected\":%lld,\"error\":\"%s\"}", id,
			       word);
	(void)!unix_send_fds(k->net.control, answer, (size_t)len, &fd, fd >= 0);
}
