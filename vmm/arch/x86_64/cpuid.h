/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/arch/x86_64/cpuid.h - what a vCPU says about itself */
#ifndef HUTCH_VMM_ARCH_X86_64_CPUID_H
#define HUTCH_VMM_ARCH_X86_64_CPUID_H

#include <stdint.h>

#include "common/err.h"

#define CPUID_ENTRIES_MAX 256

struct kvm;
struct kvm_cpuid_entry2;
struct vcpu;

/**
 * struct cpuid - The table of the first vCPU; the others differ by their id
 * @n:		Entries used
 * @entry:	Room for CPUID_ENTRIES_MAX
 */
struct cpuid {
	unsigned int n;
	struct kvm_cpuid_entry2 *entry;
};

/** cpuid_init() - Ask KVM what it can offer on this host */
MUST_CHECK int cpuid_init(struct cpuid *c, const struct kvm *k, struct err *e);
void cpuid_done(struct cpuid *c);

/**
 * cpuid_adapt() - Turn what KVM offers into what vCPU @id of @n_cpus says
 *
 * One package, one thread a core, no hypervisor below ours to be seen.
 * Idempotent, so that one table serves all vCPUs in turn.
 */
void cpuid_adapt(struct cpuid *c, unsigned int id, unsigned int n_cpus);

/** cpuid_address_bits() - Of physical addresses; 36 if KVM does not say */
unsigned int cpuid_address_bits(const struct cpuid *c);

/**
 * cpuid_no_async_faults() - Do not offer the guest to wait for pages by itself
 *
 * KVM would tell it again and again that a page is there which cannot be had,
 * and never tell us.
 */
void cpuid_no_async_faults(struct cpuid *c);

/** cpuid_set() - Give the vCPU its table */
MUST_CHECK int cpuid_set(struct cpuid *c, struct vcpu *v, unsigned int n_cpus,
			 struct err *e);

#endif
