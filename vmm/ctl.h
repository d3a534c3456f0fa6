/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/ctl.h - the monitor's control sockets (common/ctl.h has the protocol)
 *
 *	info			what the VM is and does
 *	stats			counters and times
 *	pause, resume		answered when every vCPU and share has done so
 *	stop			end the VM now
 *	wait for=ready|exit	answered when it is so
 */
#ifndef HUTCH_VMM_CTL_H
#define HUTCH_VMM_CTL_H

#include "common/err.h"

#define CTL_CLIENTS_MAX 64

struct ctl_server;
struct run_end;
struct vm;

/** ctl_new() - Serve the control sockets that the configuration names */
MUST_CHECK int ctl_new(struct ctl_server **ret, struct vm *vm, struct err *e);

/** ctl_free() - Close them all; takes NULL */
void ctl_free(struct ctl_server *s);

/* Things that somebody may be waiting for.  Context: the loop thread. */
void ctl_on_ready(struct ctl_server *s);
void ctl_on_paused(struct ctl_server *s);
void ctl_on_end(struct ctl_server *s, const struct run_end *end);

#endif
