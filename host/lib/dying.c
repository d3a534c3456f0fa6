/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/dying.c - see dying.h */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/io.h"
#include "host/lib/dying.h"

#define STAT_MAX   65536
#define PF_EXITING 0x4u /* include/linux/sched.h; shown by proc_pid_stat(5) */

/* Fields of /proc/PID/stat after the name in parentheses; the first is 3. */
#define FIELD_FIRST  3u
#define FIELD_FLAGS  9u
#define FIELD_SIGNAL 31u

/* Field number @n of what follows the name, or 0 if there is none. */
static uint64_t field(const char *s, unsigned int n)
{
	unsigned long long v = 0;

	for (unsigned int i = FIELD_FIRST; i < n; i++) {
		s = strchr(s, ' ');
		if (!s)
			return 0;
		s++;
	}
	/* NOLINTNEXTLINE(cert-err34-c): the kernel wrote it */
	return sscanf(s, "%llu", &v) == 1 ? v : 0;
}

/*
 * A SIGKILL for all threads stays with the process until that is gone; a thread
 * that has taken its own up, and is not PF_EXITING yet, has none any more.
 */
static bool is_killed(const char *status)
{
	static const char key[] = "\nShdPnd:";
	const char *s = strstr(status, key);
	unsigned long long set = 0;

	/* NOLINTNEXTLINE(cert-err34-c): the kernel wrote it */
	return s && sscanf(s + strlen(key), "%llx", &set) == 1 &&
	       set >> (SIGKILL - 1) & 1;
}

static char *read_of(pid_t pid, const char *name)
{
	char *text = NULL;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	if (io_read_file(AT_FDCWD, path, STAT_MAX, &text, NULL, NULL) < 0)
		return NULL;
	return text;
}

bool process_is_dying(pid_t pid)
{
	auto_free char *status = read_of(pid, "status");
	auto_free char *text = read_of(pid, "stat");
	const char *s;

	if (!status || !text || is_killed(status))
		return true;
	/* A name may hold anything, a parenthesis too: take the last. */
	s = strrchr(text, ')');
	if (!s || s[1] != ' ')
		return false;
	s += 2;
	return strchr("ZXx", *s) || field(s, FIELD_FLAGS) & PF_EXITING ||
	       field(s, FIELD_SIGNAL) >> (SIGKILL - 1) & 1;
}
