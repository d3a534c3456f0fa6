/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/arch/arch.h - all that the rest of the monitor asks of an architecture
 *
 * Each folder below (x86_64) implements exactly these functions; the build
 * picks one.  Nothing outside of them knows a register of the machine.
 */
#ifndef HUTCH_VMM_ARCH_ARCH_H
#define HUTCH_VMM_ARCH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "vmm/arch/fdt.h"
#include "vmm/core/bus.h"
#include "vmm/core/mem.h"

struct arch;
struct kvm;
struct vcpu;

/* Where the machine's own devices are; the same numbers everywhere. */
#define ARCH_MMIO_BASE    0xd0000000ull
#define ARCH_MMIO_STRIDE  0x1000ull
#define ARCH_MMIO_SERIAL  (ARCH_MMIO_BASE + 0 * ARCH_MMIO_STRIDE)
#define ARCH_MMIO_POWER   (ARCH_MMIO_BASE + 1 * ARCH_MMIO_STRIDE)
#define ARCH_MMIO_PANIC   (ARCH_MMIO_BASE + 2 * ARCH_MMIO_STRIDE)
#define ARCH_MMIO_VMGENID (ARCH_MMIO_BASE + 3 * ARCH_MMIO_STRIDE)
#define ARCH_MMIO_VIRTIO  (ARCH_MMIO_BASE + 16 * ARCH_MMIO_STRIDE)

#define ARCH_PINS_MAX 24

/* A kernel of the ELF kind has no field that says so; this is Linux's. */
#define ARCH_CMDLINE_MAX 2047

/**
 * arch_default_cmdline() - What the kernel is told if the user says nothing
 * @agent:	/init is the agent, which does not read or write /dev/console
 */
const char *arch_default_cmdline(bool agent);

/**
 * arch_ram_ranges() - Where @size bytes of RAM are in the address space
 * @size:	Whole pages
 *
 * Return: how many ranges, at most GMEM_REGIONS_MAX
 */
unsigned int arch_ram_ranges(uint64_t size, struct gmem_range *range);

/**
 * arch_place_window() - Where the next window of a device goes
 * @m:		With RAM and the windows so far
 * @len:	Whole units of 2 MiB
 * @ret:	Above all of these, a multiple of 2 MiB
 *
 * Pages of a window may not be there, and KVM has to say so.
 *
 * Context: after arch_attach(), before the first vCPU.
 *
 * Return: 0, or -E2BIG with a sentence if a vCPU has no address so high
 */
MUST_CHECK int arch_place_window(struct arch *a, const struct gmem *m,
				 uint64_t len, uint64_t *ret, struct err *e);

/**
 * struct arch_config - The size of the machine
 * @n_cpus:	1 to VCPU_MAX
 * @n_pins:	Interrupt lines that devices use, at most ARCH_PINS_MAX
 */
struct arch_config {
	unsigned int n_cpus;
	unsigned int n_pins;
};

/** arch_new() - A machine on paper. Return: 0 with *@ret set, or -ENOMEM */
MUST_CHECK int arch_new(struct arch **ret, const struct arch_config *c,
			struct err *e);
void arch_free(struct arch *a);

/*
 * The steps of a start, in this order.  The first three need no KVM, so that
 * what the user got wrong is found on any machine.  All return 0 or -errno
 * with a sentence.
 */

/**
 * arch_set_kernel() - Check the kernel's file and the command line for it
 * @fd:		Borrowed until arch_load_kernel()
 * @cmdline:	Borrowed until arch_boot()
 *
 * Return: -ENOEXEC, -E2BIG for what the user did; another -errno
 */
MUST_CHECK int arch_set_kernel(struct arch *a, int fd, const char *cmdline,
			       struct err *e);

/** arch_load_kernel() - Copy it. Return: -E2BIG if the RAM is too small */
MUST_CHECK int arch_load_kernel(struct arch *a, const struct gmem *m,
				struct err *e);

/** struct arch_initrd - Where the initramfs is; @len 0 for none */
struct arch_initrd {
	uint64_t gpa;
	uint64_t len;
};

/** arch_place_initrd() - Choose where @len bytes go. Return: -E2BIG likewise */
MUST_CHECK int arch_place_initrd(const struct arch *a, const struct gmem *m,
				 uint64_t len, struct arch_initrd *ret,
				 struct err *e);

/**
 * arch_attach() - Interrupt controller and what else precedes the first vCPU
 * @kvm:	Borrowed
 * @mmio:	Gets the interrupt controller's registers
 */
MUST_CHECK int arch_attach(struct arch *a, const struct kvm *kvm,
			   struct bus *mmio, struct err *e);

/** arch_add_reset() - The port whose write resets; no-op if there are none */
MUST_CHECK int arch_add_reset(struct bus *ports, const struct bus_ops *reset,
			      void *ctx, struct err *e);

/** arch_connect_pin() - A signal on eventfd @fd, borrowed, is an edge on @pin */
MUST_CHECK int arch_connect_pin(struct arch *a, unsigned int pin, int fd,
				struct err *e);

/** arch_vcpu_init() - Processor identification and registers of one vCPU */
MUST_CHECK int arch_vcpu_init(struct arch *a, struct vcpu *v, struct err *e);

/**
 * arch_boot() - Parameters, device tree, registers of the first vCPU
 * @dev:	@n_dev devices for the tree
 */
MUST_CHECK int arch_boot(struct arch *a, const struct gmem *m,
			 const struct arch_initrd *initrd,
			 const struct fdt_device *dev, unsigned int n_dev,
			 struct err *e);

/** arch_boot_vcpu() - The first vCPU will start at the kernel's entry */
MUST_CHECK int arch_boot_vcpu(struct arch *a, struct vcpu *v0, struct err *e);

#endif
