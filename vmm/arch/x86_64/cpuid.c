/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/arch/x86_64/cpuid.c - see cpuid.h
 *
 * Linux takes the number and ids of processors from the device tree and their
 * grouping from here: with nothing said, KVM would pass the host's own
 * topology through, which is another machine's.  Each leaf is changed by a
 * small function, found in a table.
 */
#include <errno.h>
#include <asm/kvm_para.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>

#include "vmm/arch/x86_64/cpuid.h"
#include "vmm/kvm/kvm.h"
#include "vmm/kvm/vcpu.h"

#define BIT(n) (1u << (n))

#define L1_ECX_X2APIC       BIT(21)
#define L1_ECX_TSC_DEADLINE BIT(24)
#define L1_ECX_HYPERVISOR   BIT(31)
#define L1_EDX_HTT          BIT(28)
#define L1_CLFLUSH_MASK     0x0000ff00u
#define L4_EAX_SHARE_MASK   0x03ffc000u
#define L4_EAX_CORES_MASK   0xfc000000u
#define LB_LEVEL_SMT        1u
#define LB_LEVEL_CORE       2u
#define AMD1_ECX_CMP_LEGACY BIT(1)
#define LEAF_ADDRESS        0x80000008u
#define AMD1_ECX_TOPOEXT    BIT(22)

#define KVM_ASYNC_FAULTS                                                \
	(BIT(KVM_FEATURE_ASYNC_PF) | BIT(KVM_FEATURE_ASYNC_PF_VMEXIT) | \
	 BIT(KVM_FEATURE_ASYNC_PF_INT))

struct place {
	unsigned int id;
	unsigned int n_cpus;
};

/* Bits of APIC id that number @n cores. */
static unsigned int id_bits(unsigned int n)
{
	unsigned int bits = 0;

	while ((1u << bits) < n)
		bits++;
	return bits;
}

static void leaf_features(struct kvm_cpuid_entry2 *x, const struct place *p)
{
	x->ebx = (x->ebx & L1_CLFLUSH_MASK) | p->id << 24 |
		 (1u << id_bits(p->n_cpus)) << 16;
	x->ecx |= L1_ECX_HYPERVISOR | L1_ECX_TSC_DEADLINE | L1_ECX_X2APIC;
	x->edx &= ~L1_EDX_HTT;
	if (p->n_cpus > 1)
		x->edx |= L1_EDX_HTT;
}

/* Intel's caches: the third level is everybody's, the others a core's own. */
static void leaf_intel_cache(struct kvm_cpuid_entry2 *x, const struct place *p)
{
	unsigned int level = x->eax >> 5 & 7;
	unsigned int sharing = level >= 3 ? p->n_cpus - 1 : 0;

	if ((x->eax & 0x1f) == 0)
		return;
	x->eax &= ~(L4_EAX_SHARE_MASK | L4_EAX_CORES_MASK);
	x->eax |= sharing << 14 | (p->n_cpus - 1) << 26;
}

/* Leaves 0xb and 0x1f: one thread a core, all cores in one package. */
static void leaf_topology(struct kvm_cpuid_entry2 *x, const struct place *p)
{
	static const uint32_t kind[] = { LB_LEVEL_SMT, LB_LEVEL_CORE };
	unsigned int level = x->index;

	x->eax = 0;
	x->ebx = 0;
	x->ecx = level;
	x->edx = p->id;
	if (level >= ARRAY_LEN(kind))
		return;
	x->ecx |= kind[level] << 8;
	x->eax = level == 0 ? 0 : id_bits(p->n_cpus);
	x->ebx = level == 0 ? 1 : p->n_cpus;
}

/* The host's counters are not the guest's to read. */
static void leaf_no_pmu(struct kvm_cpuid_entry2 *x,
			const struct place *p __attribute__((unused)))
{
	x->eax = 0;
	x->ebx = 0;
	x->ecx = 0;
	x->edx = 0;
}

static void leaf_amd_features(struct kvm_cpuid_entry2 *x, const struct place *p)
{
	x->ecx &= ~AMD1_ECX_CMP_LEGACY;
	if (p->n_cpus > 1)
		x->ecx |= AMD1_ECX_CMP_LEGACY;
	x->ebx &= 0xf0000000u; /* package type stays */
}

static void leaf_amd_cores(struct kvm_cpuid_entry2 *x, const struct place *p)
{
	x->ecx = (x->ecx & ~0xf0ffu) | id_bits(p->n_cpus) << 12 |
		 (p->n_cpus - 1);
}

static void leaf_amd_cache(struct kvm_cpuid_entry2 *x, const struct place *p)
{
	unsigned int level = x->eax >> 5 & 7;
	unsigned int sharing = level >= 3 ? p->n_cpus - 1 : 0;

	if ((x->eax & 0x1f) == 0)
		return;
	x->eax = (x->eax & ~L4_EAX_SHARE_MASK) | sharing << 14;
}

static void leaf_amd_apic(struct kvm_cpuid_entry2 *x, const struct place *p)
{
	x->eax = p->id;
	x->ebx = p->id; /* core number; one thread a core */
	x->ecx = 0;     /* node 0, one node */
}

static const struct {
	uint32_t leaf;
	void (*fn)(struct kvm_cpuid_entry2 *x, const struct place *p);
} changes[] = {
	{ 0x1, leaf_features },
	{ 0x4, leaf_intel_cache },
	{ 0xa, leaf_no_pmu },
	{ 0xb, leaf_topology },
	{ 0x1f, leaf_topology },
	{ 0x80000001, leaf_amd_features },
	{ LEAF_ADDRESS, leaf_amd_cores },
	{ 0x8000001d, leaf_amd_cache },
	{ 0x8000001e, leaf_amd_apic },
	{ 0x80000022, leaf_no_pmu },
};

void cpuid_adapt(struct cpuid *c, unsigned int id, unsigned int n_cpus)
{
	const struct place p = { .id = id, .n_cpus = n_cpus };

	for (unsigned int i = 0; i < c->n; i++)
		for (size_t k = 0; k < ARRAY_LEN(changes); k++)
			if (c->entry[i].function == changes[k].leaf)
				changes[k].fn(&c->entry[i], &p);
}

int cpuid_init(struct cpuid *c, const struct kvm *k, struct err *e)
{
	auto_free struct kvm_cpuid2 *all = calloc(
		1, sizeof(*all) + CPUID_ENTRIES_MAX * sizeof(all->entries[0]));

	c->entry = calloc(CPUID_ENTRIES_MAX, sizeof(*c->entry));
	if (!all || !c->entry)
		return err_set(e, -ENOMEM, "no memory for the CPUID table");
	all->nent = CPUID_ENTRIES_MAX;
	if (ioctl(k->sys_fd, KVM_GET_SUPPORTED_CPUID, all) < 0)
		return err_set(e, -errno, "KVM_GET_SUPPORTED_CPUID: %s",
			       strerror(errno));
	c->n = MIN(all->nent, CPUID_ENTRIES_MAX);
	memcpy(c->entry, all->entries, c->n * sizeof(*c->entry));
	return 0;
}

void cpuid_done(struct cpuid *c)
{
	free(c->entry);
	c->entry = NULL;
	c->n = 0;
}

unsigned int cpuid_address_bits(const struct cpuid *c)
{
	for (unsigned int i = 0; i < c->n; i++) {
		unsigned int bits = c->entry[i].eax & 0xff;

		if (c->entry[i].function == LEAF_ADDRESS && bits >= 36)
			return MIN(bits, 52u);
	}
	return 36;
}

void cpuid_no_async_faults(struct cpuid *c)
{
	for (unsigned int i = 0; i < c->n; i++)
		if (c->entry[i].function == KVM_CPUID_FEATURES)
			c->entry[i].eax &= ~KVM_ASYNC_FAULTS;
}

int cpuid_set(struct cpuid *c, struct vcpu *v, unsigned int n_cpus,
	      struct err *e)
{
	union {
		struct kvm_cpuid2 head;
		uint8_t space[sizeof(struct kvm_cpuid2) +
			      CPUID_ENTRIES_MAX *
				      sizeof(struct kvm_cpuid_entry2)];
	} u;

	cpuid_adapt(c, v->id, n_cpus);
	memset(&u.head, 0, sizeof(u.head));
	u.head.nent = c->n;
	memcpy(u.head.entries, c->entry, c->n * sizeof(*c->entry));
	if (ioctl(v->fd, KVM_SET_CPUID2, &u) < 0)
		return err_set(e, -errno, "vCPU %u: KVM_SET_CPUID2: %s", v->id,
			       strerror(errno));
	return 0;
}
