/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/keeper/netrun.c - run the program that carries a VM's frames
 *
 * It has one end of a socket pair as its link, and says on its standard error what
 * goes wrong. hutch-net has a control socket. passt writes its process id into a
 * file when it is ready to serve: that file is its standard output, a pipe to us.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "common/io.h"
#include "host/keeper/keeper.h"
#include "host/lib/child.h"

/* The program's descriptors. */
#define LINK_FD    3
#define LINK_WORD  "3"
#define CONTROL_FD 4
#define READY_FILE "/proc/self/fd/1"

/**
 * struct ends - What the program gets
 * @link:	Its end of the link
 * @err:	Its stderr
 * @control:	Of hutch-net; else -1
 * @ready:	Of passt; else -1
 */
struct ends {
	int link;
	int err;
	int control;
	int ready;
};

/* So that none has a number that another one shall get. */
static int move_up(int *fd)
{
	int up = *fd < 0 ? -1 : fcntl(*fd, F_DUPFD_CLOEXEC, CONTROL_FD + 1);

	if (*fd >= 0 && up < 0)
		return -errno;
	base_closep(fd);
	*fd = up;
	return 0;
}

static int make_ends(struct keeper_net *n, struct ends *ends)
{
	int p[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p) < 0)
		return -errno;
	n->link = p[0];
	ends->link = p[1];
	if (n->plan.mode == NETPLAN_POLICY) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p) <
		    0)
			return -errno;
		n->control = p[0];
		ends->control = p[1];
	}
	if (n->plan.mode == NETPLAN_PASST) {
		if (pipe2(p, O_CLOEXEC) < 0)
			return -errno;
		n->ready = p[0];
		ends->ready = p[1];
		/* It opens it by its name, of root's as nobody. */
		if (fchmod(p[1], 0622) < 0)
			return -errno;
	}
	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	n->err = p[0];
	ends->err = p[1];
	r = move_up(&ends->link);
	r = r < 0 ? r : move_up(&ends->err);
	r = r < 0 ? r : move_up(&ends->control);
	r = r < 0 ? r : move_up(&ends->ready);
	r = r < 0 ? r : io_set_nonblock(n->err, 1);
	/* We read what it has said when it has ended: it must not wait for us. */
	return r < 0 ? r : io_set_nonblock(ends->err, 1);
}

static int run(char *const argv[], const struct ends *ends, pid_t *pid)
{
	struct child_fds fds = { .n = 0 };
	const struct child s = {
		.argv = argv,
		/* Ours is minimal, and says whom to trust: see launch.c. */
		.env = environ,
		.fds = &fds,
		.cwd = -1,
	};

	child_put(&fds, ends->ready, STDOUT_FILENO);
	child_put(&fds, ends->err, STDERR_FILENO);
	child_put(&fds, ends->link, LINK_FD);
	child_put(&fds, ends->control, CONTROL_FD);
	return child_run(&s, pid);
}

/*
 * The guest has its addresses already; so passt hands out none.  Nothing of the
 * host listens for it, and the gateway's address is not the host.
 */
static int start_passt(struct keeper *k, const struct ends *ends)
{
	static char words[][40] = {
		"--foreground",
		"--stderr",
		"--quiet",
		"--fd",
		LINK_WORD,
		"--pid",
		READY_FILE,
		"--address",
		NETPLAN_IPV4,
		"--netmask",
		"24",
		"--address",
		NETPLAN_IPV6,
		"--gateway",
		NETPLAN_GATEWAY4,
		"--gateway",
		NETPLAN_GATEWAY6,
		"--mac-addr",
		NETPLAN_GATEWAY_MAC,
		"--dns-forward",
		NETPLAN_GATEWAY4,
		"--dns-forward",
		NETPLAN_GATEWAY6,
		"--no-map-gw",
		"--no-dhcp",
		"--no-dhcpv6",
		"--no-ra",
		"--tcp-ports",
		"none",
		"--udp-ports",
		"none",
	};
	char *argv[ARRAY_LEN(words) + 2] = { NULL };
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s", k->path[LAUNCH_PATH_NET]);
	argv[0] = path;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		argv[i + 1] = words[i];
	return run(argv, ends, &k->net.pid);
}

/* The name is for handlers, and for who looks at the list of processes. */
static int start_hutch_net(struct keeper *k, const struct ends *ends)
{
	char path[PATH_MAX], name[HUTCH_NAME_MAX + 1];
	char *argv[] = { path, name, NULL };

	(void)snprintf(path, sizeof(path), "%s", k->path[LAUNCH_PATH_NET]);
	(void)snprintf(name, sizeof(name), "%s", k->rec->name);
	return run(argv, ends, &k->net.pid);
}

int net_run(struct keeper *k)
{
	struct ends ends = { -1, -1, -1, -1 };
	int r = make_ends(&k->net, &ends);

	if (r == 0)
		r = k->net.plan.mode == NETPLAN_PASST
			    ? start_passt(k, &ends)
			    : start_hutch_net(k, &ends);
	base_closep(&ends.link);
	base_closep(&ends.err);
	base_closep(&ends.control);
	base_closep(&ends.ready);
	return r;
}
