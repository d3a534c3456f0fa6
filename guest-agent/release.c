/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/release.c - see release.h */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "common/killed.h"
#include "guest-agent/agent.h"
#include "guest-agent/cgroup.h"
#include "guest-agent/child.h"
#include "guest-agent/process.h"
#include "guest-agent/release.h"

#define NS_PER_MS 1000000ull

/* Fields of /proc/TID/stat behind the name, up to the signals pending. */
#define STAT_TO_PENDING 29

#define STAT_MAX 1024

/* ---- In the agent ---- */

/* What moved out of its group is killed at the end, and so looked for there. */
static unsigned int find_groups(const struct agent *a, int *ret)
{
	unsigned int n = 0;
	struct list *l;

	if (a->killed && a->cgroups.work >= 0) {
		ret[0] = a->cgroups.work;
		return 1;
	}
	list_for_each (l, &a->live) {
		const struct proc *p = list_entry(l, struct proc, link);

		if (p->signalled && p->cgroup_fd >= 0 && n < AGENT_PROCS_MAX)
			ret[n++] = p->cgroup_fd;
	}
	return n;
}

static bool any(const struct agent *a)
{
	struct list *l;

	list_for_each (l, &a->live)
		if (list_entry(l, struct proc, link)->signalled)
			return true;
	return false;
}

static void begin(struct agent *a)
{
	struct release *r = &a->release;
	int groups[AGENT_PROCS_MAX];
	struct release_spawn s = { .groups = groups,
				   .n = find_groups(a, groups) };

	for (unsigned int i = 0; i < r->n; i++) {
		pid_t pid;

		/* One that hangs is not joined by others. */
		if (r->pid[i]) {
			r->left = true;
			continue;
		}
		s.mount = r->mounts[i];
		pid = a->ops->release(&s);
		r->pid[i] = MAX(pid, 0);
	}
}

static void stop(struct agent *a)
{
	struct list *l;

	list_for_each (l, &a->live)
		list_entry(l, struct proc, link)->signalled = false;
	a->release.wait_ms = 0;
}

static void on_timer(struct loop_timer *t)
{
	struct agent *a = container_of(t, struct agent, release.timer);
	struct release *r = &a->release;

	/* What was sent is not the end of those that are there. */
	if (!any(a) || (r->wait_ms == RELEASE_MAX_MS && !r->left)) {
		stop(a);
		return;
	}
	r->left = false;
	begin(a);
	r->wait_ms = MIN(2 * r->wait_ms, RELEASE_MAX_MS);
	loop_timer_set(&a->loop, t, r->wait_ms * NS_PER_MS, on_timer);
}

void release_soon(struct proc *p)
{
	struct release *r = &p->a->release;

	if (r->n == 0)
		return;
	p->signalled = true;
	if (r->wait_ms == RELEASE_MIN_MS)
		return;
	r->wait_ms = RELEASE_MIN_MS;
	loop_timer_set(&p->a->loop, &r->timer, r->wait_ms * NS_PER_MS,
		       on_timer);
}

bool release_reaped(struct agent *a, pid_t pid, int status)
{
	struct release *r = &a->release;

	for (unsigned int i = 0; i < r->n; i++) {
		if (r->pid[i] != pid)
			continue;
		r->pid[i] = 0;
		if (!WIFEXITED(status) || WEXITSTATUS(status) == RELEASE_LEFT)
			r->left = true;
		return true;
	}
	return false;
}

void release_done(struct agent *a)
{
	loop_timer_cancel(&a->release.timer);
	a->release.n = 0;
}

/* ---- In the child ---- */

bool release_is_killed(const char *stat)
{
	/* The name may have anything in it, brackets too. */
	const char *p = strrchr(stat, ')');

	for (int i = 0; p && i < STAT_TO_PENDING; i++)
		p = strchr(p + 1, ' ');
	return p && strtoull(p + 1, NULL, 10) & 1ull << (SIGKILL - 1);
}

static bool is_killed(pid_t tid)
{
	char path[32], stat[STAT_MAX];
	auto_fd int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, stat, sizeof(stat) - 1);
	if (n < 0)
		return false;
	stat[n] = '\0';
	return release_is_killed(stat);
}

/* Whatever the share says: another one may be what it waits for. */
static void tell(pid_t tid)
{
	char name[sizeof(KILLED_PREFIX) + 10];

	(void)snprintf(name, sizeof(name), KILLED_PREFIX "%d", (int)tid);
	(void)getxattr(".", name, NULL, 0);
}

static _Noreturn void look(const struct release_spawn *s)
{
	static pid_t tasks[RELEASE_TASKS_MAX];
	unsigned int n = 0;
	bool left = false;

	for (unsigned int i = 0; i < s->n; i++)
		n += cgroup_tasks(s->groups[i], tasks + n,
				  RELEASE_TASKS_MAX - n);
	/* From here on it may hang, with nothing that others wait for. */
	child_keep_only(s->mount);
	child_reset_signals();
	if (fchdir(s->mount) < 0)
		_exit(0);
	for (unsigned int i = 0; i < n; i++) {
		if (!is_killed(tasks[i]))
			continue;
		left = true;
		tell(tasks[i]);
	}
	_exit(left ? RELEASE_LEFT : 0);
}

pid_t release_spawn(const struct release_spawn *s)
{
	pid_t pid = child_fork(-1);

	if (pid == 0)
		look(s);
	return pid;
}
