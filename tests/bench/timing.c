/* SPDX-License-Identifier: Apache-2.0 */
/* tests/bench/timing.c - see timing.h */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <time.h>

#include "tests/bench/timing.h"

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS 1000000L
#define LINE_LEN  256u

void timing_say(const char *format, ...)
{
	/* Of the kernel's log: 1 is shown by a kernel that is to be quiet. */
	bool log = getpid() == 1;
	int fd = log ? open("/dev/kmsg", O_WRONLY | O_CLOEXEC) : 1;
	char line[LINE_LEN] = "<1>";
	const size_t head = log ? strlen(line) : 0;
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(line + head, sizeof(line) - head, format, ap);
	va_end(ap);
	/* In one piece, which the log wants, and not by way of stdio. */
	if (write(fd, line, strlen(line)) < 0)
		perror("timer");
	if (log)
		base_closep(&fd);
}

void timing_end(int code)
{
	if (getpid() == 1)
		(void)reboot(RB_AUTOBOOT);
	exit(code);
}

void timing_die(const struct timing *t, const char *why)
{
	timing_say("%s failed: %s: %s\n", t->what, why, strerror(errno));
	timing_end(1);
}

int64_t timing_now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

void timing_rest(const struct timing *t)
{
	const struct timespec ts = {
		.tv_sec = t->pause_ms / 1000,
		.tv_nsec = (long)(t->pause_ms % 1000) * NS_PER_MS,
	};

	(void)nanosleep(&ts, NULL);
}

int64_t timing_begin(const struct timing *t, const char *op)
{
	timing_say("%s begin %s\n", t->what, op);
	timing_rest(t);
	return timing_now_ns();
}

void timing_done(const struct timing *t, const char *op, unsigned int n,
		 unsigned int bytes, int64_t start_ns)
{
	const int64_t ns = timing_now_ns() - start_ns;

	timing_say("%s end %s n=%u ns=%" PRId64 " bytes=%u\n", t->what, op, n,
		   ns, bytes);
	timing_rest(t);
}
