/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/arch/x86_64/ioapic.h - an I/O APIC whose pins are message interrupts
 *
 * The guest's redirection entry of a pin becomes an MSI route; a masked pin is
 * disconnected, so that an edge waits in the device's eventfd and comes when
 * the pin is unmasked.  Device interrupts never pass through this code.
 */
#ifndef HUTCH_VMM_ARCH_X86_64_IOAPIC_H
#define HUTCH_VMM_ARCH_X86_64_IOAPIC_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "vmm/core/bus.h"

#define IOAPIC_PINS_MAX 24

/**
 * struct ioapic_ops - What the pins do; const
 * @route:	Pin @pin is from now on a write of @data to @addr
 * @connect:	Let edges of @pin through, or hold them back
 *
 * Context: a vCPU's thread, under the I/O APIC's lock.
 * Return: 0 or -errno, which counts as an error and is not retried.
 */
struct ioapic_ops {
	int (*route)(void *ctx, unsigned int pin, uint64_t addr, uint32_t data);
	int (*connect)(void *ctx, unsigned int pin, bool on);
};

/**
 * struct ioapic_pin - One pin
 * @entry:	Redirection entry as the guest wrote it, read-only bits 0
 * @addr:	Of the route last set; 0 before the first
 * @data:	Likewise
 * @on:		Connected
 */
struct ioapic_pin {
	uint64_t entry;
	uint64_t addr;
	uint32_t data;
	bool on;
};

/**
 * struct ioapic - Registers; @lock guards all of them
 * @n_pins:	1 to IOAPIC_PINS_MAX
 * @errors:	Failures of an operation, for "stats"
 */
struct ioapic {
	pthread_mutex_t lock;
	const struct ioapic_ops *ops;
	void *ctx;
	unsigned int n_pins;
	uint32_t select;
	uint32_t id;
	unsigned int errors;
	struct ioapic_pin pin[IOAPIC_PINS_MAX];
};

extern const struct bus_ops ioapic_bus_ops;

/** ioapic_init() - All pins masked */
void ioapic_init(struct ioapic *a, unsigned int n_pins,
		 const struct ioapic_ops *ops, void *ctx);
void ioapic_done(struct ioapic *a);

#endif
