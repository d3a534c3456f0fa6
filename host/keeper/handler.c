/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/keeper/handler.c - connections to handlers, for hutch-net
 *
 * hutch-net has no file system, and reads hostile bytes all day: so we connect,
 * and only to paths that the policy in force has, at a socket of our own user's,
 * on a way that the guest cannot have changed. A path is looked up each time, so
 * that a handler may be started again. Nothing here waits: one whose queue is full
 * is asked for again by hutch-net, which waits in our place.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/log.h"
#include "common/unix.h"
#include "host/keeper/keeper.h"
#include "host/lib/jsontext.h"
#include "host/lib/netpolicy.h"

#define ANSWER_MAX 128
#define QUOTE_MAX  256

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

int handler_shares(struct keeper *k)
{
	const struct hutch_mount *const *m = k->rec->mounts;
	struct handlerpath_shares *s = &k->net.shares;
	int r = handlerpath_share(s, k->fd[LAUNCH_FD_DISK]);

	for (int i = 0; r == 0 && m && m[i] && i < HUTCH_MOUNTS_MAX; i++)
		if (!(m[i]->flags & HUTCH_MOUNT_RDONLY))
			r = handlerpath_share(s, k->fd[LAUNCH_FD_MOUNT + i]);
	return r;
}

/* One that is not there yet is looked at again as it is connected to. */
static int check_path(const struct keeper_net *n, const char *path,
		      struct err *e)
{
	char q[QUOTE_MAX];
	int fd = handlerpath_open(&n->shares, path);

	if (fd >= 0)
		(void)close(fd);
	if (fd != -EXDEV)
		return 0;
	return err_set(
		e, -EINVAL,
		"network: the way to handler '%s' leads through a folder "
		"that the VM may write to, and so change it: have the "
		"socket elsewhere",
		log_escape(q, sizeof(q), path, strlen(path)));
}

int handler_check(const struct keeper_net *n, const char *policy, struct err *e)
{
	auto_json json_t *list = netpolicy_handlers(policy);
	const json_t *v;
	size_t i;
	int r = 0;

	json_array_foreach(list, i, v)
	{
		r = r < 0 ? r : check_path(n, json_string_value(v), e);
	}
	return r;
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
	auto_fd int place = -1, fd = -1;
	int r;

	*ret_word = "unknown";
	if (!is_allowed(n, path))
		return -1;
	place = handlerpath_open(&n->shares, path);
	r = place < 0 ? place
		      : unix_connect_file(place, SOCK_STREAM | SOCK_NONBLOCK);
	if (r == -EAGAIN)
		*ret_word = "busy";
	else if (r == -ENOENT || r == -ENOTDIR)
		*ret_word = "none";
	else if (r == -ECONNREFUSED)
		*ret_word = "refused";
	else if (r == -EACCES)
		*ret_word = "forbidden";
	else if (r == -EXDEV)
		*ret_word = "shared";
	else if (r == -ENOTSOCK)
		*ret_word = "no-socket";
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
