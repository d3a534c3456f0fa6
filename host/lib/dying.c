/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/dying.c - see dying.h */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/io.h"
#include "host/lib/dying.h"

#define STAT_MAX   4096
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

bool process_is_dying(pid_t pid)
{
	auto_free char *text = NULL;
	char path[32];
	const char *s;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (io_read_file(AT_FDCWD, path, STAT_MAX, &text, NULL, NULL) < 0)
		return true;
	/* A name may hold anything, a parenthesis too: take the last. */
	s = strrchr(text, ')');
	if (!s || s[1] != ' ')
		return false;
	s += 2;
	return strchr("ZXx", *s) || field(s, FIELD_FLAGS) & PF_EXITING ||
	       field(s, FIELD_SIGNAL) >> (SIGKILL - 1) & 1;
}
