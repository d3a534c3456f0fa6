/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/clock.c - see clock.h */
#include "guest-agent/clock.h"

#define NS_PER_S 1000000000ull

uint64_t clock_read_ns(clockid_t id)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t clock_wall_ns(void)
{
	return clock_read_ns(CLOCK_REALTIME);
}
