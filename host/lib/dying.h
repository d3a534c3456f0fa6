/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/dying.h - whether a process is on its way out */
#ifndef HUTCH_HOST_LIB_DYING_H
#define HUTCH_HOST_LIB_DYING_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * process_is_dying() - Whether @pid has ended, or can do nothing but end
 *
 * True from the moment a SIGKILL was sent to it: between that and its end
 * lies the time that the kernel needs to give back its memory.
 */
bool process_is_dying(pid_t pid);

#endif
