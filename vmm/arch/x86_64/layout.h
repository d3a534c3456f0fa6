/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/arch/x86_64/layout.h - the physical address space of an x86 guest
 *
 *	0x0000_0500	descriptor table for the first vCPU's entry
 *	0x0000_7000	boot_params ("zero page")
 *	0x0000_9000	three pages of page tables, the first GiB one to one
 *	0x0001_0000	setup_data: random seed, then the device tree
 *	0x0002_0000	kernel command line
 *	0x0010_0000	kernel; the initramfs ends at the end of low RAM
 *	0xc000_0000	hole of 1 GiB: device registers, I/O APIC, local APICs
 *	0x1_0000_0000	the rest of RAM
 *	above RAM	windows of shared folders, from the next 128 MiB on, which
 *			is what Linux adds and removes memory by
 */
#ifndef HUTCH_VMM_ARCH_X86_64_LAYOUT_H
#define HUTCH_VMM_ARCH_X86_64_LAYOUT_H

#define LAYOUT_PAGE        0x1000ull
#define LAYOUT_GDT         0x500ull
#define LAYOUT_BOOT_PARAMS 0x7000ull
#define LAYOUT_BOOT_STACK  0x8ff0ull
#define LAYOUT_PAGE_TABLES 0x9000ull
#define LAYOUT_SETUP_DATA  0x10000ull
#define LAYOUT_CMDLINE     0x20000ull
#define LAYOUT_CMDLINE_END 0x30000ull
#define LAYOUT_LOW_RAM_END 0xa0000ull
#define LAYOUT_HIGH_RAM    0x100000ull
#define LAYOUT_HOLE        0xc0000000ull
#define LAYOUT_HOLE_END    0x100000000ull
#define LAYOUT_IOAPIC      0xfec00000ull
#define LAYOUT_IOAPIC_LEN  0x1000ull
#define LAYOUT_LAPIC       0xfee00000ull
#define LAYOUT_LAPIC_LEN   0x1000ull
#define LAYOUT_PORT_RESET  0x64u
#define LAYOUT_WINDOW_STEP 0x8000000ull

/* Intel only, see intel.c: four pages that the guest never sees as RAM. */
#define LAYOUT_IDENTITY_MAP 0xfffbc000ull
#define LAYOUT_TSS          0xfffbd000ull

#endif
