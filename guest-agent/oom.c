/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/oom.c - see oom.h */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/base.h"
#include "guest-agent/oom.h"

/* The kernel's CONSOLE_EXT_LOG_MAX: no record is longer. */
#define RECORD_MAX 8192u

/* The log's clock may lag behind CLOCK_MONOTONIC by a little. */
#define SLACK_US 100000ull

bool oom_record_names(const char *rec, pid_t pid, uint64_t since_us)
{
	static const char said[] = "Killed process ";
	unsigned long prio, at;
	unsigned long long us;
	const char *text = strchr(rec, ';');
	char *end;

	prio = strtoul(rec, &end, 10);
	if (!text || *end != ',' || prio > 7)
		return false;
	(void)strtoull(end + 1, &end, 10);
	if (*end != ',')
		return false;
	us = strtoull(end + 1, &end, 10);
	if (us < since_us)
		return false;
	text = strstr(text, said);
	if (!text)
		return false;
	at = strtoul(text + sizeof(said) - 1, &end, 10);
	return *end == ' ' && at == (unsigned long)pid;
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
