/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/oom.c - see oom.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest-agent/agent.h"
#include "guest-agent/clock.h"
#include "guest-agent/events.h"
#include "guest-agent/oom.h"
#include "guest-agent/process.h"
#include "guest-agent/table.h"

/* The kernel's CONSOLE_EXT_LOG_MAX: no record is longer. */
#define RECORD_MAX 8192u

/* The log's clock may lag behind CLOCK_MONOTONIC by a little. */
#define SLACK_US 100000ull

pid_t oom_record_pid(const char *rec, uint64_t since_us)
{
	static const char said[] = "Killed process ";
	unsigned long prio, pid;
	unsigned long long us;
	const char *text = strchr(rec, ';');
	char *end;

	prio = strtoul(rec, &end, 10);
	if (!text || *end != ',' || prio > 7)
		return 0;
	(void)strtoull(end + 1, &end, 10);
	if (*end != ',')
		return 0;
	us = strtoull(end + 1, &end, 10);
	if (us < since_us)
		return 0;
	text = strstr(text, said);
	if (!text)
		return 0;
	pid = strtoul(text + sizeof(said) - 1, &end, 10);
	return *end == ' ' && pid <= INT32_MAX ? (pid_t)pid : 0;
}

bool oom_record_names(const char *rec, pid_t pid, uint64_t since_us)
{
	return pid > 0 && oom_record_pid(rec, since_us) == pid;
}

bool oom_cgroup_id(const char *line, char id[WIRE_ID_MAX + 1])
{
	static const char *const in[] = { "0::/work/plain/",
					  "0::/work/limited/" };

	for (size_t i = 0; i < ARRAY_LEN(in); i++) {
		size_t skip = strlen(in[i]), len;

		if (strncmp(line, in[i], skip) != 0)
			continue;
		len = strcspn(line + skip, "/\n");
		if (len == 0 || len > WIRE_ID_MAX)
			return false;
		memcpy(id, line + skip, len);
		id[len] = '\0';
		return true;
	}
	return false;
}

bool oom_killed(pid_t pid, uint64_t since_ns)
{
	auto_fd int fd = open("/dev/kmsg", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint64_t since_us = since_ns / 1000;
	char rec[RECORD_MAX + 1];

	since_us -= MIN(since_us, SLACK_US);
	for (unsigned int i = 0; fd >= 0 && i < OOM_RECORDS_MAX; i++) {
		ssize_t n = read(fd, rec, RECORD_MAX);

		/* EPIPE: that record was overwritten; the next one is there. */
		if (n < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (n <= 0)
			return false;
		rec[n] = '\0';
		if (oom_record_names(rec, pid, since_us))
			return true;
	}
	return false;
}

/* Whose cgroup a process is in that is dying, and so is still there. */
static struct proc *find_by_cgroup(const struct agent *a, pid_t pid)
{
	char path[32], line[WIRE_PATH_MAX + 1], id[WIRE_ID_MAX + 1];
	auto_fd int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	if (n <= 0)
		return NULL;
	line[n] = '\0';
	return oom_cgroup_id(line, id) ? table_find(a, id) : NULL;
}

static void tell(struct agent *a, pid_t pid)
{
	struct proc *leader = table_find_pid(a, pid);
	struct proc *p = leader ? leader : find_by_cgroup(a, pid);
	char text[96];

	if (leader)
		leader->oom = true;
	if (p)
		release_soon(p);
	(void)snprintf(text, sizeof(text),
		       "out of memory: the kernel killed process %d", (int)pid);
	events_tell(a, &(struct msg_event){ .what = WIRE_EVENT_OOM,
					    .time_ns = clock_wall_ns(),
					    .id = p ? p->id : "",
					    .text = text });
}

static void on_event(struct loop_io *io, uint32_t events)
{
	struct oom *o = container_of(io, struct oom, io);
	struct agent *a = container_of(o, struct agent, oom);
	char rec[RECORD_MAX + 1];

	(void)events;
	/* Reading it is what ends the event. */
	if (pread(io->fd, rec, RECORD_MAX, 0) < 0)
		return;
	for (unsigned int i = 0; i < OOM_RECORDS_MAX; i++) {
		ssize_t n = read(o->kmsg_fd, rec, RECORD_MAX);
		pid_t pid;

		/* EPIPE: that record was overwritten; the next one is there. */
		if (n < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (n <= 0)
			return;
		rec[n] = '\0';
		pid = oom_record_pid(rec, 0);
		if (pid)
			tell(a, pid);
	}
}

void oom_watch(struct agent *a)
{
	int fd = a->cgroups.work < 0 ? -1
				     : openat(a->cgroups.work, "memory.events",
					      O_RDONLY | O_CLOEXEC);

	a->oom.kmsg_fd = -1;
	if (fd < 0)
		return;
	a->oom.kmsg_fd = open("/dev/kmsg", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (a->oom.kmsg_fd < 0 || lseek(a->oom.kmsg_fd, 0, SEEK_END) < 0 ||
	    loop_add(&a->loop, &a->oom.io, fd, EPOLLPRI, on_event) < 0) {
		log_warn(&a->log, "the oom-killer is not watched");
		(void)close(fd);
	}
}

void oom_done(struct agent *a)
{
	struct oom *o = &a->oom;

	if (o->io.loop) {
		int fd = o->io.fd;

		loop_del(&o->io);
		(void)close(fd);
	}
	if (o->kmsg_fd >= 0)
		(void)close(o->kmsg_fd);
	o->kmsg_fd = -1;
}
