/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/arch/x86_64/regs.c - see regs.h; Documentation/arch/x86/boot, "64-bit" */
#include <errno.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>

#include "vmm/arch/x86_64/layout.h"
#include "vmm/arch/x86_64/regs.h"
#include "vmm/core/mem.h"
#include "vmm/kvm/vcpu.h"

#define CR0_BOOT   0x80050033ull /* PG AM WP NE ET MP PE */
#define CR4_BOOT   0x20ull       /* PAE */
#define EFER_BOOT  0x500ull      /* LME LMA */
#define RFLAGS_OFF 0x2ull

#define PTE_TABLE 0x03ull /* present, writable */
#define PTE_2M    0x83ull
#define PTES      512u
#define MIB2      0x200000ull

#define SEL_CODE 0x10
#define SEL_DATA 0x18

#define MSR_MISC_ENABLE   0x1a0u
#define MSR_MTRR_DEF_TYPE 0x2ffu
#define FAST_STRINGS      1ull
#define MTRR_ON_WB        0x806ull /* enabled, all memory write-back */

/* Null, null, 64-bit code, data: __BOOT_CS and __BOOT_DS are 0x10 and 0x18. */
static const uint64_t gdt[] = { 0, 0, 0x00af9b000000ffffull,
				0x00cf93000000ffffull };

int regs_load_tables(const struct gmem *m, struct err *e)
{
	uint64_t table[PTES] = { LAYOUT_PAGE_TABLES + LAYOUT_PAGE + PTE_TABLE };
	uint64_t gpa = LAYOUT_PAGE_TABLES;
	int r = gmem_write(m, LAYOUT_GDT, gdt, sizeof(gdt));

	/* RAM is zeroed: of the upper two tables only one entry is written. */
	if (r == 0)
		r = gmem_write(m, gpa, table, sizeof(table[0]));
	table[0] = gpa + 2 * LAYOUT_PAGE + PTE_TABLE;
	if (r == 0)
		r = gmem_write(m, gpa + LAYOUT_PAGE, table, sizeof(table[0]));
	for (unsigned int i = 0; i < PTES; i++)
		table[i] = i * MIB2 + PTE_2M;
	if (r == 0)
		r = gmem_write(m, gpa + 2 * LAYOUT_PAGE, table, sizeof(table));
	if (r < 0)
		return err_set(e, r, "no RAM for the boot page tables");
	return 0;
}

static struct kvm_segment segment(uint16_t selector, uint8_t type, int is_code)
{
	return (struct kvm_segment){
		.limit = 0xffffffff,
		.selector = selector,
		.type = type,
		.present = 1,
		.s = 1,
		.g = 1,
		.l = (uint8_t)is_code,
		.db = (uint8_t)!is_code,
	};
}

static void fill_sregs(struct kvm_sregs *s)
{
	s->cs = segment(SEL_CODE, 0xb, 1);
	s->ds = segment(SEL_DATA, 0x3, 0);
	s->es = s->ds;
	s->fs = s->ds;
	s->gs = s->ds;
	s->ss = s->ds;
	s->gdt.base = LAYOUT_GDT;
	s->gdt.limit = sizeof(gdt) - 1;
	s->idt.base = 0;
	s->idt.limit = 0;
	s->cr0 = CR0_BOOT;
	s->cr3 = LAYOUT_PAGE_TABLES;
	s->cr4 = CR4_BOOT;
	s->efer = EFER_BOOT;
}

int regs_set_entry(const struct vcpu *v, uint64_t entry, struct err *e)
{
	struct kvm_regs regs = {
		.rip = entry,
		.rsi = LAYOUT_BOOT_PARAMS,
		.rsp = LAYOUT_BOOT_STACK,
		.rflags = RFLAGS_OFF,
	};
	struct kvm_sregs sregs;

	if (ioctl(v->fd, KVM_GET_SREGS, &sregs) < 0)
		return err_set(e, -errno, "KVM_GET_SREGS: %s", strerror(errno));
	fill_sregs(&sregs);
	if (ioctl(v->fd, KVM_SET_SREGS, &sregs) < 0)
		return err_set(e, -errno, "KVM_SET_SREGS: %s", strerror(errno));
	if (ioctl(v->fd, KVM_SET_REGS, &regs) < 0)
		return err_set(e, -errno, "KVM_SET_REGS: %s", strerror(errno));
	return 0;
}

int regs_set_msrs(const struct vcpu *v, struct err *e)
{
	static const struct kvm_msr_entry start[] = {
		/* Linux drops its fast copies where firmware left this off. */
		{ .index = MSR_MISC_ENABLE, .data = FAST_STRINGS },
		{ .index = MSR_MTRR_DEF_TYPE, .data = MTRR_ON_WB },
	};
	union {
		struct kvm_msrs head;
		uint8_t space[sizeof(struct kvm_msrs) + sizeof(start)];
	} u = { .head = { .nmsrs = ARRAY_LEN(start) } };
	int n;

	memcpy(u.head.entries, start, sizeof(start));
	n = ioctl(v->fd, KVM_SET_MSRS, &u);
	if (n != (int)ARRAY_LEN(start))
		return err_set(e, n < 0 ? -errno : -EINVAL,
			       "vCPU %u: KVM_SET_MSRS took %d of %zu", v->id, n,
			       ARRAY_LEN(start));
	return 0;
}
