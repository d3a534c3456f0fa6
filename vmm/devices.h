/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/devices.h - the devices of a VM: made, put on the buses, connected */
#ifndef HUTCH_VMM_DEVICES_H
#define HUTCH_VMM_DEVICES_H

#include "common/err.h"

struct vm;
struct virtio_dev;
struct virtio_mmio;

/**
 * devices_init() - Make every device of @vm
 *
 * Context: start-up; the buses, KVM and the run state are there, no vCPU is.
 * Return: 0 or -errno with a sentence; devices_done() cleans up either way
 */
MUST_CHECK int devices_init(struct vm *vm, struct err *e);

/**
 * devices_add_virtio() - Registers, interrupt and notifications of @vd
 * @m:		Not used before; the caller calls virtio_mmio_done()
 * @pin:	One of enum vm_pin, from VM_PIN_VSOCK on; it says where too
 */
MUST_CHECK int devices_add_virtio(struct vm *vm, struct virtio_mmio *m,
				  struct virtio_dev *vd, unsigned int pin,
				  struct err *e);

/**
 * devices_show_virtio() - Have the guest read its registers without an exit
 *
 * For a device that interrupts for about each notification: these cost more
 * then, interrupts much less.
 *
 * Context: after devices_add_virtio(), as above.
 */
MUST_CHECK int devices_show_virtio(struct vm *vm, struct virtio_mmio *m,
				   unsigned int pin, struct err *e);

/** devices_done() - Context: no vCPU runs */
void devices_done(struct vm *vm);

#endif
