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
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "common/io.h"
#include "common/log.h"
#include "host/keeper/keeper.h"
#include "host/lib/internal.h"

#define TEXT_MAX 512
#define START_NS 30000000000ull /* for it to be ready to serve */

void net_init(struct keeper_net *n)
{
	*n = (struct keeper_net){ .link = -1,
				  .err = -1,
				  .pidfd = -1,
				  .control = -1,
				  .ready = -1,
				  .resolv = RESOLV_INIT };
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

/* ---- Until it serves ---- */

void net_begun(struct keeper *k)
{
	loop_timer_cancel(&k->net.late);
	k->net.begun = true;
}

void net_not_begun(struct keeper *k, const struct err *e)
{
	net_begun(k);
	k->net.why = *e;
}

static const char *program_of(const struct keeper_net *n)
{
	return n->plan.mode == NETPLAN_PASST ? "passt" : "hutch-net";
}

static void on_start_late(struct loop_timer *t)
{
	struct keeper_net *n = container_of(t, struct keeper_net, late);
	struct err e;

	(void)err_set(&e, -ETIMEDOUT, "network: %s does not answer",
		      program_of(n));
	net_not_begun(container_of(n, struct keeper, net), &e);
}

/* Its process id, of which all that counts is that it is there. */
static void on_ready(struct loop_io *io, uint32_t events)
{
	struct keeper_net *n = container_of(io, struct keeper_net, ready_io);
	char pid[32];
	ssize_t len = read(n->ready, pid, sizeof(pid));

	(void)events;
	if (len < 0 && errno == EINTR)
		return;
	loop_del(io);
	/* Nothing: it ends, or will be too late. */
	if (len > 0)
		net_begun(container_of(n, struct keeper, net));
}

static void ended_at_start(struct keeper *k)
{
	char what[64];
	struct err e;

	(void)snprintf(what, sizeof(what), "%s ended before it had begun",
		       program_of(&k->net));
	(void)net_failed(k, -EIO, what, &e);
	net_not_begun(k, &e);
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
	/* Its last words may be in the same batch of events. */
	netctl_drain(k);
	if (!n->begun)
		ended_at_start(k);
	netctl_end(k);
	if (n->why.code == 0)
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
	if (r == 0)
		r = loop_add(&k->loop, &n->err_io, n->err, EPOLLIN, on_err);
	if (r == 0 && n->ready >= 0)
		r = loop_add(&k->loop, &n->ready_io, n->ready, EPOLLIN,
			     on_ready);
	return r;
}

int net_start(struct keeper *k, struct err *e)
{
	int r = netplan_read(*k->rec->net ? k->rec->net : NULL, &k->net.plan,
			     e);

	if (r < 0)
		return r;
	if (!netplan_private(&k->net.plan)) {
		net_begun(k);
		return 0;
	}
	r = net_run(k);
	if (r == 0)
		r = watch(k);
	if (r < 0)
		return err_set(e, r, "network: cannot run '%s': %s",
			       k->path[LAUNCH_PATH_NET], strerror(-r));
	loop_timer_set(&k->loop, &k->net.late, START_NS, on_start_late);
	return k->net.control < 0 ? 0 : netctl_start(k, e);
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
	drop_fd(&k->net.link);
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
	loop_del(&n->ready_io);
	loop_timer_cancel(&n->late);
	netctl_end(k);
	net_given(k);
	if (n->pid > 0) {
		(void)kill(n->pid, SIGKILL);
		(void)waitpid(n->pid, NULL, 0);
	}
	base_closep(&n->pidfd);
	base_closep(&n->err);
	base_closep(&n->ready);
	net_init(n);
}
