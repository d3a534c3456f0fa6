/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/gift.c - see gift.h */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "common/io.h"
#include "common/unix.h"
#include "host/lib/bootmsg.h"
#include "host/lib/dirs.h"
#include "host/lib/disk.h"
#include "host/lib/execmsg.h"
#include "host/lib/gift.h"
#include "host/lib/image.h"
#include "host/lib/internal.h"
#include "host/lib/memfile.h"
#include "host/lib/netplan.h"
#include "host/lib/netpolicy.h"

void gift_done(struct gift *g)
{
	for (size_t i = 0; i < ARRAY_LEN(g->fd); i++)
		drop_fd(&g->fd[i]);
	drop_fd(&g->start_fd);
	drop_fd(&g->lifeline);
	mounts_done(&g->mounts);
	hutch_record_free(g->old);
	for (size_t i = 0; i < ARRAY_LEN(g->path); i++) {
		free(g->path[i]);
		g->path[i] = NULL;
	}
}

void gift_init(struct gift *g)
{
	*g = (struct gift){ .start_fd = -1, .lifeline = -1 };
	for (size_t i = 0; i < ARRAY_LEN(g->fd); i++)
		g->fd[i] = -1;
}

/* Whoever carries its frames; "" is nobody. */
static int find_helper(struct hutch *h, const struct hutch_start_opts *o,
		       struct gift *g, struct err *e)
{
	struct netplan p;
	int r = netplan_read(o->net, &p, e);

	if (r < 0)
		return r;
	if (p.mode == NETPLAN_POLICY)
		return dirs_find(h, HUTCH_PATH_NET, NULL,
				 &g->path[LAUNCH_PATH_NET], e);
	if (netplan_helper(&p))
		return dirs_find_helper(h, netplan_helper(&p),
					&g->path[LAUNCH_PATH_NET], e);
	g->path[LAUNCH_PATH_NET] = strdup("");
	return g->path[LAUNCH_PATH_NET] ? 0 : err_set(e, -ENOMEM, "no memory");
}

static int find_files(struct hutch *h, const struct hutch_start_opts *o,
		      struct gift *g, struct err *e)
{
	static const enum hutch_path what[LAUNCH_PATH_NET] = {
		[LAUNCH_PATH_KEEPER] = HUTCH_PATH_KEEPER,
		[LAUNCH_PATH_VMM] = HUTCH_PATH_VMM,
		[LAUNCH_PATH_AGENT] = HUTCH_PATH_AGENT,
		[LAUNCH_PATH_ROOT] = HUTCH_PATH_ROOT,
		[LAUNCH_PATH_KERNEL] = HUTCH_PATH_KERNEL,
	};
	int r = 0;

	for (int i = 0; r == 0 && i < LAUNCH_PATH_NET; i++)
		r = dirs_find(h, (int)what[i], o->kernel, &g->path[i], e);
	return r < 0 ? r : find_helper(h, o, g, e);
}

static int give_boot(const struct hutch_start_opts *o, const char *hostname,
		     struct gift *g, struct err *e)
{
	auto_free uint8_t *frame = NULL;
	size_t len = 0;
	int r = bootmsg_make(o, &g->mounts, hostname, &frame, &len, e);

	if (r < 0)
		return r;
	g->fd[LAUNCH_FD_BOOT] = memfile_make("hutch-boot", frame, len, e);
	return MIN(g->fd[LAUNCH_FD_BOOT], 0);
}

/* With what the policy injects: in memory only, and soon hutch-net's alone. */
static int give_net(const struct hutch_start_opts *o, struct gift *g,
		    struct err *e)
{
	char *message = NULL;
	struct netplan p;
	int r = netplan_read(o->net, &p, e);

	if (r < 0 || p.mode != NETPLAN_POLICY)
		return r;
	r = netpolicy_message(o->net_policy ? o->net_policy
					    : NETPOLICY_INTERNET,
			      p.net.mtu, &message, e);
	if (r < 0)
		return r;
	g->fd[LAUNCH_FD_NET] =
		memfile_make("hutch-net", message, strlen(message), e);
	netpolicy_free(message);
	return MIN(g->fd[LAUNCH_FD_NET], 0);
}

static int give_main(const struct hutch_start_opts *o, struct gift *g,
		     struct err *e)
{
	const struct hutch_exec_opts x = {
		.argv = o->argv,
		.grace_ms = o->grace_ms,
		.flags = HUTCH_EXEC_MAIN | HUTCH_EXEC_DETACH |
			 (o->flags & HUTCH_START_STDIN ? HUTCH_EXEC_STDIN : 0),
	};
	auto_free uint8_t *frame = NULL;
	size_t len = 0;
	int r;

	if (!o->argv || (o->flags & HUTCH_START_ATTACH))
		return 0;
	r = execmsg_make(&x, &frame, &len, e);
	if (r < 0)
		return r;
	g->fd[LAUNCH_FD_MAIN] = memfile_make("hutch-main", frame, len, e);
	return MIN(g->fd[LAUNCH_FD_MAIN], 0);
}

static int give_sockets(const struct vmdir *d, struct gift *g, struct err *e)
{
	static const struct {
		enum launch_fd fd;
		const char *name;
	} sock[] = {
		{ LAUNCH_FD_KEEPER_SOCK, VMDIR_KEEPER_SOCK },
		{ LAUNCH_FD_VMM_SOCK, VMDIR_VMM_SOCK },
		{ LAUNCH_FD_VSOCK_SOCK, VMDIR_VSOCK_SOCK },
	};

	for (size_t i = 0; i < ARRAY_LEN(sock); i++) {
		/* The lock is ours: what is there is of a VM that is gone. */
		(void)unlinkat(d->run_fd, sock[i].name, 0);
		g->fd[sock[i].fd] =
			unix_listen(d->run_fd, sock[i].name, SOCK_STREAM, e);
		if (g->fd[sock[i].fd] < 0)
			return g->fd[sock[i].fd];
	}
	return 0;
}

static int give_pipes(bool lifeline, struct gift *g, struct err *e)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return err_set(e, -errno, "pipe: %s", strerror(errno));
	g->start_fd = p[0];
	g->fd[LAUNCH_FD_START] = p[1];
	if (!lifeline)
		return 0;
	if (pipe2(p, O_CLOEXEC) < 0)
		return err_set(e, -errno, "pipe: %s", strerror(errno));
	g->fd[LAUNCH_FD_LIFELINE] = p[0];
	g->lifeline = p[1];
	return 0;
}

int gift_dirs(struct hutch *h, struct vmdir *d, struct gift *g, struct err *e)
{
	g->fd[LAUNCH_FD_RUN_ROOT] = fcntl(h->run_fd, F_DUPFD_CLOEXEC, 0);
	g->fd[LAUNCH_FD_STATE_ROOT] = fcntl(h->state_fd, F_DUPFD_CLOEXEC, 0);
	if (g->fd[LAUNCH_FD_RUN_ROOT] < 0 || g->fd[LAUNCH_FD_STATE_ROOT] < 0)
		return err_set(e, -errno, "folders: %s", strerror(errno));
	for (unsigned int i = 0; i < g->mounts.n; i++)
		g->fd[LAUNCH_FD_MOUNT + i] = take_fd(&g->mounts.m[i].fd);
	g->fd[LAUNCH_FD_RUN] = take_fd(&d->run_fd);
	g->fd[LAUNCH_FD_STATE] = take_fd(&d->state_fd);
	g->fd[LAUNCH_FD_LOCK] = take_fd(&d->lock_fd);
	return 0;
}

static int give_image(const struct hutch_start_opts *o, const struct vmdir *d,
		      struct gift *g, struct err *e)
{
	int *fd = g->fd;

	if (!o->image)
		return 0;
	fd[LAUNCH_FD_IMAGE] =
		fcntl(hutch_image_tree(o->image), F_DUPFD_CLOEXEC, 0);
	fd[LAUNCH_FD_IMAGE_LOCK] =
		fcntl(hutch_image_lock(o->image), F_DUPFD_CLOEXEC, 0);
	if (fd[LAUNCH_FD_IMAGE] < 0 || fd[LAUNCH_FD_IMAGE_LOCK] < 0)
		return err_set(e, -errno, "image: %s", strerror(errno));
	if (o->flags & HUTCH_START_DISK_RAM)
		return 0;
	fd[LAUNCH_FD_DISK] = disk_open(d->state_fd, o->image, e);
	return MIN(fd[LAUNCH_FD_DISK], 0);
}

int gift_find(struct hutch *h, const struct hutch_start_opts *o, struct gift *g,
	      struct err *e)
{
	int r = find_files(h, o, g, e);

	r = r < 0 ? r : give_net(o, g, e);
	return r < 0 ? r : mounts_open(h, o->mounts, o->image, &g->mounts, e);
}

int gift_fill(const struct hutch_start_opts *o, const struct vmdir *d,
	      const char *hostname, struct gift *g, struct err *e)
{
	int r = give_image(o, d, g, e);

	r = r < 0 ? r : give_boot(o, hostname, g, e);
	r = r < 0 ? r : give_main(o, g, e);
	r = r < 0 ? r : give_sockets(d, g, e);
	return r < 0 ? r : give_pipes(o->flags & HUTCH_START_LIFELINE, g, e);
}
