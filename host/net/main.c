/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/main.c - hutch-net: the network of one VM, started by its keeper
 *
 * Not for people to run. An argument, the VM's name, which may be left out, and
 * two descriptors; all others are closed:
 *
 *	3	the link, a stream socket: frames with the monitor (link.h), to
 *		which it is given as "--net fd=N,vnet-hdr=on"
 *	4	control, a SOCK_SEQPACKET to the keeper, one JSON document a
 *		message, at most CONFIG_MAX bytes (config.h, control.h):
 *
 *	keeper:	{"policy": {...}, "resolvers": ["192.0.2.1"], "mtu": 65520}
 *		first, once; the guest has no network before
 *	keeper:	{"policy": {...}, "apply": "new"|"all"}	any time
 *	keeper:	{"resolvers": ["192.0.2.1"]}		any time
 *	keeper:	{"show": true}				any time
 *	answer:	{"ok": true, "ca": "PEM" if a rule intercepts, ...} or {"error": "sentence"}, one for each, in
 *		order; after an error to the first message hutch-net ends
 *	event:	{"event": "net-denied", ...}, between answers
 *	asked:	{"connect": "PATH", "id": 7}, between answers: handlers.h
 *
 * It ends with 0 when either descriptor does, with 1 and a line on standard
 * error when it cannot go on, and never without its sockets: then the guest has
 * no network, which is what a guest without a policy has to have. Killed by
 * SIGSYS: a system call that filters.def does not have.
 *
 * hutch-net opens nothing after its first message, which it takes before it is
 * locked in: the policy says what it will need. The keeper may give it up any time.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>

#include "common/log.h"
#include "host/net/control.h"
#include "host/net/denials.h"
#include "host/net/hostaddr.h"
#include "host/net/jail.h"
#include "host/net/relay.h"
#include "host/net/wipe.h"

#define FD_LINK    3
#define FD_CONTROL 4
#define FD_FIRST   5 /* of our own */

/** struct program - All of it */
struct program {
	struct log log;
	struct loop loop;
	struct net net;
	struct guard guard;
	struct denials denials;
	struct control control;
	struct hostaddr hostaddr;
	struct relay relay;
	struct intercepts intercepts;
	struct handlers handlers;
	int result;
};

static struct verdict judge(void *arg, const struct attempt *a)
{
	struct program *p = arg;

	return guard_judge(&p->guard, a);
}

static void denied(void *arg, const struct attempt *a, const struct verdict *v)
{
	struct program *p = arg;

	guard_denied(&p->guard, v->rule);
	denials_flow(&p->denials, a, v);
}

static void over(void *arg, int r)
{
	struct program *p = arg;

	p->result = r;
	loop_stop(&p->loop);
}

static void dns(void *arg, const struct flow_key *key, const void *msg,
		size_t len)
{
	struct program *p = arg;

	relay_datagram(&p->relay, key, msg, len);
}

static int dns_stream(void *arg, int fd)
{
	struct program *p = arg;

	return relay_stream(&p->relay, fd);
}

static bool is_local(void *arg, const struct net_addr *a)
{
	struct program *p = arg;

	return guard_is_local(&p->guard, a);
}

static void local_changed(struct hostaddr *h, int r)
{
	struct program *p = container_of(h, struct program, hostaddr);

	if (r < 0)
		log_warn(&p->log,
			 "the host's addresses are not known, so all is "
			 "denied: %s",
			 strerror(-r));
	guard_local(&p->guard, r < 0 ? NULL : &h->list);
	/* What leads to the host from now on was allowed when it did not. */
	net_judge_some(&p->net, is_local, p);
}

static int intercept(void *arg, const struct attempt *a,
		     const struct verdict *v, int fd, int up_fd)
{
	struct program *p = arg;

	return intercepts_take(&p->intercepts, a, v, fd, up_fd);
}

/* With few descriptors a kind of flow leaves some to the others. */
static void set_maxima(struct net_config *cfg, unsigned int fds)
{
	const unsigned int rest = NET_FDS_MAX - NET_TCP_MAX;

	cfg->tcp_max = fds > rest ? fds - rest : fds / 2;
	cfg->udp_max = fds > rest ? NET_UDP_MAX : fds / 8;
}

static int serve(struct program *p, const struct config *c, unsigned int fds,
		 struct err *e)
{
	struct net_config cfg = {
		.mtu = c->mtu,
		.new_burst = NET_NEW_BURST,
		.judge = judge,
		.denied = denied,
		.is_local = is_local,
		.intercept = intercept,
		.over = over,
		.dns = dns,
		.dns_stream = dns_stream,
		.arg = p,
	};
	const char *ca = NULL;
	int r;

	set_maxima(&cfg, fds);
	r = net_open(&p->net, &p->loop, FD_LINK, &cfg, e);
	if (r < 0)
		return r;
	denials_init(&p->denials, &p->loop, FD_CONTROL);
	relay_prepare(&p->relay, &p->net, &p->guard, &p->denials);
	relay_resolvers(&p->relay, c->resolvers.v, c->resolvers.n);
	p->control = (struct control){ .loop = &p->loop,
				       .net = &p->net,
				       .guard = &p->guard,
				       .intercepts = &p->intercepts,
				       .relay = &p->relay,
				       .handlers = &p->handlers,
				       .fd = FD_CONTROL };
	p->intercepts.loop = &p->loop;
	p->intercepts.guard = &p->guard;
	p->intercepts.denials = &p->denials;
	p->intercepts.handlers = &p->handlers;
	handlers_init(&p->handlers, &p->loop, FD_CONTROL);
	r = intercepts_prepare(&p->intercepts, p->guard.policy, &ca, e);
	r = r < 0 ? r
		  : hostaddr_watch(&p->hostaddr, &p->loop, local_changed, e);
	if (r < 0)
		return r;
	r = control_watch(&p->control);
	if (r < 0)
		return err_set(e, r, "the control socket: %s", strerror(-r));
	control_ok(FD_CONTROL, ca);
	r = loop_run(&p->loop);
	if (r < 0)
		return err_set(e, r, "event loop: %s", strerror(-r));
	if (p->result < 0)
		return err_set(e, p->result, "the link to the monitor: %s",
			       strerror(-p->result));
	return 0;
}

static int run(struct program *p, struct err *e)
{
	unsigned int fds = jail_fds();
	struct config c = { 0 };
	int r;

	if (close_range(FD_FIRST, ~0u, 0) < 0)
		return err_set(e, -errno, "close_range: %s", strerror(errno));
	wipe_libraries();
	config_seed();
	r = control_first(FD_CONTROL, &c, e);
	if (r < 0)
		return r;
	if (policy_intercepts(c.policy))
		intercepts_open(&p->intercepts);
	r = hostaddr_open(&p->hostaddr, e);
	r = r < 0 ? r : loop_init(&p->loop, e);
	r = r < 0 ? r : jail_enter(e);
	if (r == 0 && guard_init(&p->guard, c.policy) < 0)
		r = err_set(e, -ENOMEM, "out of memory");
	if (r < 0) {
		policy_unref(c.policy);
		return r;
	}
	r = serve(p, &c, fds, e);
	if (r < 0)
		control_error(FD_CONTROL, e);
	return r;
}

static void done(struct program *p)
{
	control_done(&p->control);
	intercepts_done(&p->intercepts);
	relay_done(&p->relay);
	net_close(&p->net);
	denials_done(&p->denials);
	hostaddr_close(&p->hostaddr);
	guard_done(&p->guard);
	loop_done(&p->loop);
}

int main(int argc, char **argv)
{
	static struct program p = {
		.log = { .fd = 2,
			 .level = LOG_LEVEL_INFO,
			 .prefix = "hutch-net: " },
		.loop = { .epfd = -1 },
		.hostaddr = { .fd = -1 },
	};
	struct err e = { 0 };
	int r;

	if (argc < 1 || argc > 2) {
		log_err(&p.log, "started by hutch, not by hand");
		return 2;
	}
	p.intercepts.vm = argv[1];
	(void)signal(SIGPIPE, SIG_IGN);
	/* Flows come and go: what they leave goes back to the host. */
	(void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
	(void)mallopt(M_TRIM_THRESHOLD, 256 << 10);
	r = run(&p, &e);
	done(&p);
	if (r == 0 || r == -EPIPE)
		return 0;
	log_err(&p.log, "%s", e.msg);
	return 1;
}
