/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/arch/x86_64/regs.h - registers at the 64-bit entry, and start-up MSRs */
#ifndef HUTCH_VMM_ARCH_X86_64_REGS_H
#define HUTCH_VMM_ARCH_X86_64_REGS_H

#include <stdint.h>

#include "common/err.h"

struct gmem;
struct vcpu;

/** regs_load_tables() - Descriptor table and page tables, one to one, 1 GiB */
MUST_CHECK int regs_load_tables(const struct gmem *m, struct err *e);

/** regs_set_entry() - Long mode at @entry, RSI = boot_params */
MUST_CHECK int regs_set_entry(const struct vcpu *v, uint64_t entry,
			      struct err *e);

/** regs_set_msrs() - What firmware would have set on every processor */
MUST_CHECK int regs_set_msrs(const struct vcpu *v, struct err *e);

#endif
