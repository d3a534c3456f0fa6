/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/soon.c - functions of hutch.h that are on their way */
#include <errno.h>

#include "host/lib/internal.h"

#define SOON(name, ...)                                              \
	int name(__VA_ARGS__)                                        \
	{                                                            \
		return err_set(err_of(e), -ENOSYS, "not there yet"); \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"

SOON(hutch_events_open, struct hutch *h, const char *name, unsigned int flags,
     struct hutch_events **ret, struct hutch_err *e)
SOON(hutch_events_next, struct hutch_events *ev, struct hutch_vm_event *ret,
     struct hutch_err *e)
SOON(hutch_events_wait, struct hutch_events *ev, struct hutch_vm_event *ret,
     int timeout_ms, struct hutch_err *e)
SOON(hutch_logs_wait, struct hutch_logs *l, struct hutch_log_piece *piece,
     int timeout_ms, struct hutch_err *e)

int hutch_events_fd(const struct hutch_events *ev)
{
	return -1;
}

void hutch_events_close(struct hutch_events *ev)
{
}

int hutch_logs_fd(const struct hutch_logs *l)
{
	return -1;
}
