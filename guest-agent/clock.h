/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/clock.h - the kernel's clocks in nanoseconds */
#ifndef HUTCH_GUEST_AGENT_CLOCK_H
#define HUTCH_GUEST_AGENT_CLOCK_H

#include <stdint.h>
#include <time.h>

/** clock_read_ns() - Any clock; 0 if it cannot be read */
uint64_t clock_read_ns(clockid_t id);

/** clock_wall_ns() - Since 1970, as the protocol's times are */
uint64_t clock_wall_ns(void);

#endif
