/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/main.c - hutch-agent, PID 1 of a hutch guest */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "guest-agent/agent.h"
#include "guest-agent/boot.h"
#include "guest-agent/child.h"
#include "guest-agent/files/serve.h"
#include "guest-agent/listeners.h"
#include "guest-agent/release.h"
#include "guest-agent/tunnel.h"
#include "guest-agent/vsock.h"

#define NS_PER_S 1000000000ull

/** struct guest - All there is; the ops find the rest from the agent */
struct guest {
	struct agent agent;
	struct boot boot;
	struct bell bell;
};

static int op_kill(pid_t pid, int sig)
{
	return kill(pid, sig);
}

static int op_set_clock(uint64_t ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / NS_PER_S),
			       .tv_nsec = (long)(ns % NS_PER_S) };

	return clock_settime(CLOCK_REALTIME, &ts) < 0 ? -errno : 0;
}

static void op_power_off(struct agent *a)
{
	const struct guest *g = container_of(a, struct guest, agent);

	boot_power_off(&g->boot);
}

static const struct agent_ops guest_ops = {
	.spawn = child_spawn,
	.serve_files = files_spawn,
	.serve_ports = listeners_spawn,
	.release = release_spawn,
	.dial = tunnel_dial,
	.kill = op_kill,
	.set_clock = op_set_clock,
	.power_off = op_power_off,
};

static int serve(struct guest *g, struct err *e)
{
	struct agent_config cfg = { .ops = &guest_ops,
				    .boot = &g->boot.msg,
				    .log = g->boot.log,
				    .cgroups = g->boot.cgroups,
				    .lock_mounts = g->boot.lock_mounts,
				    .n_lock_mounts = g->boot.n_lock_mounts,
				    .in_guest = true };
	int r = vsock_listen(WIRE_PORT_AGENT, e);

	if (r < 0)
		return r;
	cfg.listen_fd = r;
	r = agent_init(&g->agent, &cfg, e);
	if (r < 0)
		return r;
	memcpy(g->agent.boot_problem, g->boot.problem,
	       sizeof(g->agent.boot_problem));
	memcpy(g->agent.boot_failed, g->boot.failed,
	       sizeof(g->agent.boot_failed));
	bell_ring(&g->bell, &g->agent.loop);
	for (;;) {
		r = loop_run(&g->agent.loop);
		log_err(&g->agent.log, "event loop: %s", strerror(-r));
		/* Not a busy loop if it should fail for good. */
		(void)sleep(1);
	}
}

static int not_pid_1(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return puts("hutch-agent " HUTCH_VERSION) < 0 ? EXIT_FAILURE
							      : EXIT_SUCCESS;
	(void)fprintf(stderr,
		      "hutch-agent: this is the first process of a hutch "
		      "guest and does nothing elsewhere: see hutch(1)\n");
	return 2;
}

int main(int argc, char **argv)
{
	static struct guest guest; /* too large for a stack, and never ends */
	struct err e = { 0 };

	if (getpid() != 1)
		return not_pid_1(argc, argv);
	boot_run(&guest.boot);
	(void)serve(&guest, &e);
	log_err(&guest.boot.log, "cannot serve, so power off: %s", e.msg);
	boot_power_off(&guest.boot);
}
