/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/net/netserve.c - the network of a guest with no policy and no jail
 *
 * Usage: netserve FD MTU [no-peek-off] [deny=PORT]
 *
 * Serves the link FD as hutch-net does, allowing all but one port. Prints
 * counters as JSON when the link has ended, for tests to look at.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "host/net/net.h"

/** struct serve - The test's network */
struct serve {
	struct loop loop;
	struct net net;
	uint16_t deny;
	int result;
};

static struct verdict judge(void *arg, const struct attempt *a)
{
	const struct serve *s = arg;

	if (s->deny && a->port == s->deny)
		return (struct verdict){ .how = JUDGE_DENY, .why = "a test" };
	return (struct verdict){ .how = JUDGE_ALLOW };
}

static void denied(void *arg, const struct attempt *a, const struct verdict *v)
{
	(void)arg;
	(void)a;
	(void)v;
}

static void over(void *arg, int r)
{
	struct serve *s = arg;

	s->result = r;
	loop_stop(&s->loop);
}

static void print(const struct net *n)
{
	(void)printf("{\"frames_in\":%" PRIu64 ",\"bad\":%" PRIu64
		     ",\"spoofed\":%" PRIu64 ",\"refused\":%" PRIu64
		     ",\"evicted\":%" PRIu64 ",\"retransmits\":%" PRIu64
		     ",\"tcp\":%u,\"udp\":%u,\"ping\":%u}\n",
		     n->stats.frames_in, n->stats.bad_frames, n->stats.spoofed,
		     n->stats.refused, n->stats.evicted, n->stats.retransmits,
		     n->flows.n[NET_TCP], n->flows.n[NET_UDP],
		     n->flows.n[NET_ICMP]);
}

int main(int argc, char **argv)
{
	static struct serve s;
	struct net_config cfg = {
		.judge = judge, .denied = denied, .over = over, .arg = &s
	};
	struct err e = { 0 };
	int r;

	if (argc < 3)
		return 2;
	(void)signal(SIGPIPE, SIG_IGN);
	cfg.mtu = (uint32_t)strtoul(argv[2], NULL, 10);
	for (int i = 3; i < argc; i++) {
		if (strcmp(argv[i], "no-peek-off") == 0)
			cfg.no_peek_off = true;
		else if (strncmp(argv[i], "deny=", 5) == 0)
			s.deny = (uint16_t)strtoul(argv[i] + 5, NULL, 10);
	}
	r = loop_init(&s.loop, &e);
	r = r < 0 ? r
		  : net_open(&s.net, &s.loop, (int)strtol(argv[1], NULL, 10),
			     &cfg, &e);
	if (r < 0) {
		(void)fprintf(stderr, "netserve: %s\n", e.msg);
		return 1;
	}
	r = loop_run(&s.loop);
	print(&s.net);
	net_close(&s.net);
	/* What was to be freed at the end of a batch. */
	if (loop_step(&s.loop, 0) < 0)
		r = -1;
	loop_done(&s.loop);
	return r < 0 || s.result < 0;
}
