/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/jail/filters.h - the programs that gen.c makes of filters.def */
#ifndef HUTCH_VMM_JAIL_FILTERS_H
#define HUTCH_VMM_JAIL_FILTERS_H

#include <linux/filter.h>

#include "vmm/jail/jail.h"

#define FILTERS_LEN_MAX 512

/** struct filters_program - For seccomp(2) */
struct filters_program {
	unsigned short len;
	const struct sock_filter *code;
};

extern const struct filters_program filters_programs[JAIL_KINDS];

#endif
