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

SOON(hutch_attach, struct hutch *h, const char *name, const char *proc,
     const struct hutch_attach_opts *opts, struct hutch_exec **ret,
     struct hutch_err *e)
SOON(hutch_processes, struct hutch *h, const char *name, const char *proc,
     unsigned int flags, struct hutch_process ***ret, struct hutch_err *e)
SOON(hutch_process_kill, struct hutch *h, const char *name, const char *proc,
     int signo, unsigned int flags, int grace_ms, struct hutch_err *e)
SOON(hutch_process_drop, struct hutch *h, const char *name, const char *proc,
     struct hutch_err *e)
SOON(hutch_process_wait, struct hutch *h, const char *name, const char *proc,
     const struct hutch_wait_opts *opts, struct hutch_wait_result *ret,
     struct hutch_err *e)
SOON(hutch_events_open, struct hutch *h, const char *name, unsigned int flags,
     struct hutch_events **ret, struct hutch_err *e)
SOON(hutch_events_next, struct hutch_events *ev, struct hutch_vm_event *ret,
     struct hutch_err *e)
SOON(hutch_events_wait, struct hutch_events *ev, struct hutch_vm_event *ret,
     int timeout_ms, struct hutch_err *e)
SOON(hutch_logs_wait, struct hutch_logs *l, struct hutch_log_piece *piece,
     int timeout_ms, struct hutch_err *e)

void hutch_processes_free(struct hutch_process **list)
{
}

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
