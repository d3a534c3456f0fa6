/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/machine.h - the small devices: power-off, reset, panic, generation id */
#ifndef HUTCH_VMM_MACHINE_H
#define HUTCH_VMM_MACHINE_H

#include <stdint.h>

#include "vmm/core/bus.h"

/* Contexts are the struct run * whose VM they end. */
extern const struct bus_ops machine_power_ops; /* syscon, one register */
extern const struct bus_ops machine_panic_ops; /* pvpanic, one byte */
extern const struct bus_ops machine_reset_ops; /* port 0x64 */

#define MACHINE_POWER_LEN   4u
#define MACHINE_PANIC_LEN   2u
#define MACHINE_VMGENID_LEN 16u

/**
 * struct machine_vmgenid - A page of its own that holds the generation id
 *
 * It is a memory slot outside of RAM: the driver refuses one that is RAM.
 */
struct machine_vmgenid {
	uint8_t *page;
	uint64_t len;
};

/** machine_vmgenid_init() - A fresh id. Return: 0 or -errno */
MUST_CHECK int machine_vmgenid_init(struct machine_vmgenid *g, struct err *e);
void machine_vmgenid_done(struct machine_vmgenid *g);

#endif
