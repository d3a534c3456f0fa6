/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/layout.c - see layout.h
 *
 * Controllers are switched on from the root down.  The memory controller ends
 * at /work/limited: a cgroup with it costs the kernel per-CPU memory that comes
 * back late, and most processes have no limit of their own.  /work as a whole
 * has one, so that it counts who was killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "guest-agent/layout.h"

#define ALL "+cpu +memory +pids"

/** struct step - A file below LAYOUT_ROOT and what is written into it */
struct step {
	const char *file;
	const char *text;
};

/* "0" is who writes it. */
static const struct step steps[] = {
	{ "cgroup.subtree_control", ALL },
	{ "agent/cgroup.procs", "0" },
	{ "agent/cpu.weight", "10000" },
	{ "work/cgroup.subtree_control", ALL },
	{ "work/plain/cgroup.subtree_control", "+cpu +pids" },
	{ "work/limited/cgroup.subtree_control", ALL },
};

/* Else the first of these changes waits for a grace period of milliseconds. */
#define EXPEDITED "/sys/kernel/rcu_expedited"

uint64_t layout_reserve(uint64_t total)
{
	uint64_t part = total / LAYOUT_RESERVE_PART;

	return MIN(MAX(part, LAYOUT_RESERVE_MIN), LAYOUT_RESERVE_MAX);
}

/* The first failure is the one to tell. */
static void note(int *r, int code, const char *what, struct err *e)
{
	if (code < 0 && *r == 0)
		*r = err_set(e, code, "cgroup '%s': %s", what, strerror(-code));
}

static int open_dir(int at, const char *name)
{
	int fd;

	if (mkdirat(at, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void set_memory(int root, int *r, struct err *e)
{
	struct sysinfo si = { 0 };
	uint64_t reserve, most;
	char text[24];

	(void)sysinfo(&si);
	reserve = layout_reserve((uint64_t)si.totalram * si.mem_unit);
	/* What is in use now, before any process, does not come back. */
	most = (uint64_t)si.freeram * si.mem_unit;
	most -= MIN(reserve, most / 2);
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)reserve);
	note(r, cgroup_write(root, "agent/memory.min", text), "agent", e);
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)most);
	note(r, cgroup_write(root, "work/memory.max", text), "work", e);
}

static void expedite(const char *text)
{
	/* Without it all is as well, only later. */
	if (cgroup_write(-1, EXPEDITED, text) < 0)
		return;
}

int layout_make(struct cgroups *ret, struct err *e)
{
	int root = open(LAYOUT_ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = 0, agent;

	*ret = (struct cgroups)CGROUPS_NONE;
	if (root < 0)
		return err_set(e, -errno, "cgroups: %s", strerror(errno));
	expedite("1");
	agent = open_dir(root, "agent");
	note(&r, agent, "agent", e);
	ret->work = open_dir(root, "work");
	note(&r, ret->work, "work", e);
	ret->plain = open_dir(ret->work, "plain");
	note(&r, ret->plain, "work/plain", e);
	ret->limited = open_dir(ret->work, "limited");
	note(&r, ret->limited, "work/limited", e);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		note(&r, cgroup_write(root, steps[i].file, steps[i].text),
		     steps[i].file, e);
	set_memory(root, &r, e);
	expedite("0");
	if (agent >= 0)
		(void)close(agent);
	(void)close(root);
	return r;
}
