/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/arch/fdt.h - the flattened device tree that describes the machine
 *
 * The device nodes are the same on every architecture; the processors and
 * the interrupt controller come from the architecture, see struct fdt_spec.
 */
#ifndef HUTCH_VMM_ARCH_FDT_H
#define HUTCH_VMM_ARCH_FDT_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define FDT_LEN_MAX     32768u
#define FDT_DEVICES_MAX 32
#define FDT_NO_PIN      (-1)

enum fdt_kind {
	FDT_SERIAL,   /* ns16550a, polled */
	FDT_POWEROFF, /* syscon and syscon-poweroff, one 32-bit register */
	FDT_PVPANIC,  /* qemu,pvpanic-mmio */
	FDT_VMGENID,  /* microsoft,vmgenid: 16 bytes of memory */
	FDT_VIRTIO,   /* virtio,mmio */
};

/**
 * struct fdt_device - One node
 * @pin:	Of the interrupt controller, or FDT_NO_PIN
 * @base:	First guest physical address
 * @len:	Bytes of registers
 */
struct fdt_device {
	enum fdt_kind kind;
	int pin;
	uint64_t base;
	uint64_t len;
};

/**
 * struct fdt_spec - The machine to describe
 * @n_cpus:	At least 1
 * @dev:	@n_dev devices, at most FDT_DEVICES_MAX
 * @arch_nodes:	Adds cpus and the interrupt controller, whose phandle must be
 *		FDT_PHANDLE_IC; returns what libfdt returned
 * @irq_cells:	Writes the cells of an edge-triggered pin's "interrupts"
 *		property, at most FDT_IRQ_CELLS_MAX; returns how many
 */
struct fdt_spec {
	unsigned int n_cpus;
	const struct fdt_device *dev;
	unsigned int n_dev;
	int (*arch_nodes)(void *fdt, const struct fdt_spec *s);
	unsigned int (*irq_cells)(unsigned int pin, uint32_t *cell);
};

#define FDT_PHANDLE_IC      1u
#define FDT_PHANDLE_SYSCON  2u
#define FDT_IRQ_CELLS_MAX   3
#define FDT_POWEROFF_VALUE  0x5555u
#define FDT_SERIAL_CLOCK_HZ 1843200u

/**
 * fdt_build() - Write the tree
 * @buf:	FDT_LEN_MAX bytes
 *
 * Return: bytes used, or -ENOSPC with a sentence
 */
MUST_CHECK int fdt_build(void *buf, const struct fdt_spec *s, struct err *e);

/** fdt_prop_str() - A string, without the warning of libfdt's own macro */
int fdt_prop_str(void *fdt, const char *name, const char *s);

/** fdt_prop_reg() - "reg" with two cells of address and two of size */
int fdt_prop_reg(void *fdt, uint64_t base, uint64_t len);

#endif
