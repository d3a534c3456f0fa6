/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/cgroup.c - see cgroup.h */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/io.h"
#include "guest-agent/cgroup.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)

int cgroup_make(int parent, const char *name)
{
	int fd;

	if (parent < 0)
		return -ENOSYS;
	if (mkdirat(parent, name, 0755) < 0) {
		if (errno != EEXIST)
			return -errno;
		/* It may have limits, or be used: not what was asked for. */
		cgroup_remove(parent, name);
		if (mkdirat(parent, name, 0755) < 0)
			return -errno;
	}
	fd = openat(parent, name, DIR_FLAGS);
	return fd < 0 ? -errno : fd;
}

int cgroup_write(int dir, const char *file, const char *text)
{
	auto_fd int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : io_write_full(fd, text, strlen(text));
}

static int write_number(int dir, const char *file, uint64_t v)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	return cgroup_write(dir, file, text);
}

int cgroup_limit(int dir, const struct cgroup_limits *limits)
{
	int r = 0;

	if (limits->memory)
		r = write_number(dir, "memory.max", limits->memory);
	if (r == 0 && limits->pids)
		r = write_number(dir, "pids.max", limits->pids);
	if (r == 0 && limits->cpu_weight)
		r = write_number(dir, "cpu.weight", limits->cpu_weight);
	return r;
}

uint64_t cgroup_oom_kills(int dir)
{
	static const char key[] = "\noom_kill ";
	auto_fd int fd = openat(dir, "memory.events", O_RDONLY | O_CLOEXEC);
	char buf[512];
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	const char *p;

	if (n <= 0)
		return 0;
	buf[n] = '\0';
	p = strstr(buf, key);
	return p ? strtoull(p + sizeof(key) - 1, NULL, 10) : 0;
}

typedef void visit_fn(int parent, const char *name, void *arg);

/* Post-order, so that what is removed is empty by then. */
static void walk(int dir, unsigned int depth, unsigned int *budget,
		 visit_fn *fn, void *arg)
{
	int fd = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;

	if (!d) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	/* The offset is shared with the descriptor that we got. */
	rewinddir(d);
	while (*budget && (de = readdir(d))) {
		auto_fd int sub = -1;

		if (de->d_type != DT_DIR || de->d_name[0] == '.')
			continue;
		(*budget)--;
		sub = openat(dir, de->d_name, DIR_FLAGS);
		if (sub >= 0 && depth)
			walk(sub, depth - 1, budget, fn, arg);
		fn(dir, de->d_name, arg);
	}
	(void)closedir(d);
}

static void visit_remove(int parent, const char *name, void *arg)
{
	(void)arg;
	(void)unlinkat(parent, name, AT_REMOVEDIR);
}

void cgroup_remove(int parent, const char *name)
{
	unsigned int budget = CGROUP_WALK_MAX;
	auto_fd int dir = -1;

	if (parent < 0 || unlinkat(parent, name, AT_REMOVEDIR) == 0)
		return;
	dir = openat(parent, name, DIR_FLAGS);
	if (dir < 0)
		return;
	walk(dir, CGROUP_DEPTH_MAX, &budget, visit_remove, NULL);
	(void)unlinkat(parent, name, AT_REMOVEDIR);
}

int cgroup_kill(int dir)
{
	auto_fd int fd =
		dir < 0 ? -1 : openat(dir, "cgroup.kill", O_WRONLY | O_CLOEXEC);

	if (dir < 0)
		return -ENOSYS;
	return fd < 0 ? -errno : io_write_full(fd, "1", 1);
}

/**
 * struct each - What is done with each number in a file
 * @file:	Of each cgroup: cgroup.procs or cgroup.threads
 */
struct each {
	const char *file;
	void (*fn)(pid_t id, void *arg);
	void *arg;
};

static void each_id(int dir, const struct each *each)
{
	auto_fd int fd = openat(dir, each->file, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[16];

	if (!f)
		return;
	(void)take_fd(&fd);
	while (fgets(line, sizeof(line), f)) {
		long id = strtol(line, NULL, 10);

		if (id > 1)
			each->fn((pid_t)id, each->arg);
	}
	(void)fclose(f);
}

static void visit_ids(int parent, const char *name, void *arg)
{
	auto_fd int dir = openat(parent, name, DIR_FLAGS);

	if (dir >= 0)
		each_id(dir, arg);
}

static void for_each_id(int dir, struct each *each)
{
	unsigned int budget = CGROUP_WALK_MAX;

	if (dir < 0)
		return;
	walk(dir, CGROUP_DEPTH_MAX, &budget, visit_ids, each);
	each_id(dir, each);
}

static void signal_one(pid_t pid, void *arg)
{
	const int *sig = arg;

	(void)kill(pid, *sig);
}

void cgroup_signal(int dir, int sig)
{
	for_each_id(dir, &(struct each){ "cgroup.procs", signal_one, &sig });
}

/** struct tasks - @n of them, in room for @max */
struct tasks {
	pid_t *id;
	unsigned int n;
	unsigned int max;
};

static void take(pid_t tid, void *arg)
{
	struct tasks *t = arg;

	if (t->n < t->max)
		t->id[t->n++] = tid;
}

unsigned int cgroup_tasks(int dir, pid_t *ret, unsigned int max)
{
	struct tasks t = { .max = max };

	t.id = ret;
	for_each_id(dir, &(struct each){ "cgroup.threads", take, &t });
	return t.n;
}

int cgroup_watch(int dir)
{
	int fd;

	if (dir < 0)
		return -ENOSYS;
	fd = openat(dir, "cgroup.events", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool cgroup_populated(int watch)
{
	char buf[256];
	ssize_t n = pread(watch, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		return false;
	buf[n] = '\0';
	return strstr(buf, "populated 1") != NULL;
}
