/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/keeper/net.c - the program that carries a VM's frames, if there is one
 *
 * It is started before the monitor, as our child, with one end of a socket pair
 * as its link; the monitor gets the other.  It has nothing else of ours.  When
 * it ends, the guest has no network, never another one: the monitor sees the
 * link's end, and we put an event on record.  When the monitor ends it sees the
 * same, and ends by itself; we see to that.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/io.h"
#include "common/log.h"
#include "host/keeper/keeper.h"
#include "host/lib/internal.h"

#define TEXT_MAX 512
#define GRACE_MS 500 /* for what ends at once to have ended */

/* The program's descriptors; its stderr is a pipe to us. */
#define LINK_FD    "3"
#define CONTROL_FD 4

/**
 * struct ends - What the program gets
 * @link:	Its end of the link
 * @err:	Its stderr
 * @control:	Of hutch-net; else -1
 */
struct ends {
	int link;
	int err;
	int control;
};

void net_init(struct keeper_net *n)
{
	*n = (struct keeper_net){
		.link = -1, .err = -1, .pidfd = -1, .control = -1
	};
}

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
	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	n->err = p[0];
	ends->err = p[1];
	r = move_up(&ends->link);
	r = r < 0 ? r : move_up(&ends->err);
	r = r < 0 ? r : move_up(&ends->control);
	r = r < 0 ? r : io_set_nonblock(n->err, 1);
	/* We read what it has said when it has ended: it must not wait for us. */
	return r < 0 ? r : io_set_nonblock(ends->err, 1);
}

static int file_actions(posix_spawn_file_actions_t *fa, const struct ends *ends)
{
	int r = posix_spawn_file_actions_adddup2(fa, ends->err, 2);

	r = r ? r
	      : posix_spawn_file_actions_adddup2(fa, ends->link,
						 LINK_FD[0] - '0');
	if (r == 0 && ends->control >= 0)
		r = posix_spawn_file_actions_adddup2(fa, ends->control,
						     CONTROL_FD);
	return -r;
}

static int spawn(char *const argv[], const struct ends *ends, pid_t *pid)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t none;
	int r;

	(void)sigemptyset(&none);
	if (posix_spawn_file_actions_init(&fa) != 0)
		return -ENOMEM;
	if (posix_spawnattr_init(&attr) != 0) {
		(void)posix_spawn_file_actions_destroy(&fa);
		return -ENOMEM;
	}
	r = file_actions(&fa, ends);
	if (r == 0)
		r = -posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	if (r == 0)
		r = -posix_spawnattr_setsigmask(&attr, &none);
	if (r == 0)
		/* Ours is minimal, and says whom to trust: see launch.c. */
		r = -posix_spawn(pid, argv[0], &fa, &attr, argv, environ);
	(void)posix_spawnattr_destroy(&attr);
	(void)posix_spawn_file_actions_destroy(&fa);
	return r;
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
		LINK_FD,
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
	return spawn(argv, ends, &k->net.pid);
}

static int start_hutch_net(struct keeper *k, const struct ends *ends)
{
	char path[PATH_MAX];
	char *argv[] = { path, NULL };

	(void)snprintf(path, sizeof(path), "%s", k->path[LAUNCH_PATH_NET]);
	return spawn(argv, ends, &k->net.pid);
}

/* All that it has said, with its name in front or not. */
static const char *last_line(struct keeper *k, char *buf, size_t cap)
{
	struct keeper_net *n = &k->net;

	for (int i = 0; i < LASTWORDS_MAX; i++)
		if (n->err < 0 || lastwords_read(&n->words, n->err) <= 0)
			break;
	return lastwords_line(&n->words, "hutch-net: ", buf, cap);
}

static void tell_end(struct keeper *k, int status)
{
	char said[TEXT_MAX / 2], text[TEXT_MAX];
	const char *line = last_line(k, said, sizeof(said));
	struct hutch_vm_event ev = { .time_ns = now_ns(),
				     .vm = k->rec->name,
				     .id = k->rec->id,
				     .kind = "net-ended",
				     .text = text };

	if (WIFSIGNALED(status))
		(void)snprintf(text, sizeof(text), "killed by signal %d",
			       WTERMSIG(status));
	else
		(void)snprintf(text, sizeof(text), "exit code %d%s%s",
			       WEXITSTATUS(status), *line ? ": " : "", line);
	eventlog_put(&k->eventlog, &ev);
}

static void on_err(struct loop_io *io, uint32_t events)
{
	struct keeper_net *n = container_of(io, struct keeper_net, err_io);
	ssize_t len = lastwords_read(&n->words, n->err);

	(void)events;
	if (len == 0 || (len < 0 && len != -EAGAIN && len != -EINTR))
		loop_del(io);
}

int net_failed(struct keeper *k, int r, const char *what, struct err *e)
{
	char said[TEXT_MAX / 2];
	const char *line = last_line(k, said, sizeof(said));

	return err_set(e, r, "network: %s%s%s", what, *line ? ": " : "", line);
}

static void on_end(struct loop_io *io, uint32_t events)
{
	struct keeper_net *n = container_of(io, struct keeper_net, io);
	struct keeper *k = container_of(n, struct keeper, net);
	int status;

	(void)events;
	if (waitpid(n->pid, &status, WNOHANG) != n->pid)
		return;
	loop_del(io);
	n->pid = 0;
	netctl_end(k);
	tell_end(k, status);
}

static int watch(struct keeper *k)
{
	struct keeper_net *n = &k->net;
	int r;

	n->pidfd = pidfd_open(n->pid, 0);
	if (n->pidfd < 0)
		return -errno;
	r = loop_add(&k->loop, &n->io, n->pidfd, EPOLLIN, on_end);
	return r < 0 ? r
		     : loop_add(&k->loop, &n->err_io, n->err, EPOLLIN, on_err);
}

/* What cannot do its work says so at once, as passt does without a route. */
static int check_alive(struct keeper *k, struct err *e)
{
	siginfo_t si = { .si_pid = 0 };

	if (deadline_poll(k->net.pidfd, POLLIN, deadline_in(GRACE_MS)) <= 0)
		return 0;
	if (waitid(P_PIDFD, (id_t)k->net.pidfd, &si, WEXITED | WNOWAIT) < 0)
		return 0;
	return net_failed(k, -EIO, "passt has ended", e);
}

int net_start(struct keeper *k, struct err *e)
{
	struct ends ends = { -1, -1, -1 };
	int r = netplan_read(*k->rec->net ? k->rec->net : NULL, &k->net.plan,
			     e);

	if (r < 0 || !netplan_private(&k->net.plan))
		return r;
	r = make_ends(&k->net, &ends);
	if (r == 0)
		r = k->net.plan.mode == NETPLAN_PASST
			    ? start_passt(k, &ends)
			    : start_hutch_net(k, &ends);
	base_closep(&ends.link);
	base_closep(&ends.err);
	base_closep(&ends.control);
	if (r == 0)
		r = watch(k);
	if (r < 0)
		return err_set(e, r, "network: cannot run '%s': %s",
			       k->path[LAUNCH_PATH_NET], strerror(-r));
	return k->net.control < 0 ? check_alive(k, e) : netctl_start(k, e);
}

/* At a tap others may be at the same bridge: it is of the VM's id. */
static const char *own_mac(const char *id, char buf[NETPLAN_MAC_LEN])
{
	(void)snprintf(buf, NETPLAN_MAC_LEN, "02:%.2s:%.2s:%.2s:%.2s:%.2s", id,
		       id + 2, id + 4, id + 6, id + 8);
	return buf;
}

bool net_words(const struct keeper *k, char words[KEEPER_NET_WORDS])
{
	const struct netplan *p = &k->net.plan;
	char mac[NETPLAN_MAC_LEN];
	int n = 0;

	if (p->mode == NETPLAN_TAP)
		n = snprintf(words, KEEPER_NET_WORDS, "tap=%s,", p->tap);
	else if (k->net.link >= 0)
		n = snprintf(words, KEEPER_NET_WORDS, "fd=%d,%s", k->net.link,
			     p->mode == NETPLAN_POLICY ? "vnet-hdr=on," : "");
	else
		return false;
	n += snprintf(words + n, KEEPER_NET_WORDS - (size_t)n, "mac=%s",
		      *p->mac              ? p->mac
		      : netplan_private(p) ? NETPLAN_MAC
					   : own_mac(k->rec->id, mac));
	if (p->net.mtu)
		n += snprintf(words + n, KEEPER_NET_WORDS - (size_t)n,
			      ",mtu=%u", p->net.mtu);
	if (*p->rate)
		n += snprintf(words + n, KEEPER_NET_WORDS - (size_t)n,
			      ",rate=%s", p->rate);
	bug_on(n < 0 || (size_t)n >= KEEPER_NET_WORDS);
	return true;
}

void net_given(struct keeper *k)
{
	base_closep(&k->net.link);
	k->net.link = -1;
}

void net_kill(struct keeper *k)
{
	if (k->net.pid > 0)
		(void)pidfd_send_signal(k->net.pidfd, SIGKILL, NULL, 0);
}

void net_end(struct keeper *k)
{
	struct keeper_net *n = &k->net;

	loop_del(&n->io);
	loop_del(&n->err_io);
	netctl_end(k);
	net_given(k);
	if (n->pid > 0) {
		(void)kill(n->pid, SIGKILL);
		(void)waitpid(n->pid, NULL, 0);
	}
	base_closep(&n->pidfd);
	base_closep(&n->err);
	net_init(n);
}
