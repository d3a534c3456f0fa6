/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/report.h - what "info" and "stats" say */
#ifndef HUTCH_VMM_REPORT_H
#define HUTCH_VMM_REPORT_H

struct ctl_out;
struct vm;

/* Context: the loop thread.  Each composes the whole answer but its end. */
void report_info(struct vm *vm, struct ctl_out *o);
void report_stats(struct vm *vm, struct ctl_out *o);

#endif
