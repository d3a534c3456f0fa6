/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/arch/x86_64/intel.h - what only KVM on Intel processors asks for */
#ifndef HUTCH_VMM_ARCH_X86_64_INTEL_H
#define HUTCH_VMM_ARCH_X86_64_INTEL_H

#include "common/err.h"

struct kvm;

/**
 * intel_prepare() - Set what must precede the first vCPU on Intel
 *
 * Harmless elsewhere: KVM on AMD takes the addresses and never uses them.
 */
MUST_CHECK int intel_prepare(const struct kvm *k, struct err *e);

#endif
