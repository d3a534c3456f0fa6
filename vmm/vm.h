/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/vm.h - one virtual machine, from its parts to its end */
#ifndef HUTCH_VMM_VM_H
#define HUTCH_VMM_VM_H

#include "common/loop.h"
#include "vmm/arch/arch.h"
#include "vmm/console.h"
#include "vmm/core/irq.h"
#include "vmm/core/serial.h"
#include "vmm/kvm/kvm.h"
#include "vmm/kvm/vcpu.h"
#include "vmm/machine.h"
#include "vmm/nic.h"
#include "vmm/run.h"
#include "vmm/shares.h"
#include "vmm/virtio/mmio.h"

#define VM_DEVICES_MAX (9 + SHARES_MAX)

/* Interrupt pins; the machine has as many as it has devices with one. */
enum vm_pin {
	VM_PIN_VMGENID,
	VM_PIN_VSOCK,
	VM_PIN_SHARE, /* of the first; behind the last, the network's */
	VM_PINS = VM_PIN_SHARE + SHARES_MAX + 1
};
_Static_assert(VM_PINS <= ARCH_PINS_MAX, "the interrupt controller's pins");
_Static_assert(VM_DEVICES_MAX <= FDT_DEVICES_MAX, "the device tree's nodes");

struct config;
struct ctl_server;
struct log;
struct vsock;

/**
 * struct vm - Everything; built in one function, in order, by vm_new()
 * @cfg:	Borrowed, as are @log and @stages
 * @dev:	@n_dev nodes of the device tree
 * @n_vcpus:	Made so far
 * @vsock:	NULL if there is none, then @vsock_mmio is not used
 * @share:	As many as @cfg says
 * @ready:	The bell has rung
 * @panic_seen:	@panic_timer was set once

 */
struct vm {
	struct config *cfg;
	const struct log *log;
	struct stat_stages *stages;
	struct loop loop;
	struct gmem mem;
	struct kvm kvm;
	struct bus mmio;
	struct bus ports;
	struct arch *arch;
	struct console console;
	struct serial serial;
	struct machine_vmgenid vmgenid;
	struct irq irq[VM_PINS];
	struct vsock *vsock;
	struct virtio_mmio vsock_mmio;
	struct share share[SHARES_MAX];
	struct nic nic;
	struct fdt_device dev[VM_DEVICES_MAX];
	unsigned int n_dev;
	struct vcpu vcpu[VCPU_MAX];
	unsigned int n_vcpus;
	struct run run;
	struct ctl_server *ctl;
	bool ready;
	bool panic_seen;
	struct loop_defer ready_defer;
	struct loop_timer panic_timer;
	struct loop_io event_io;
	struct loop_io lifeline_io;
	struct loop_io signal_io;
	int signal_fd;
};

/**
 * vm_new() - Build the machine and load the guest, nothing runs yet
 * @cfg:	Opened; parts of it are taken over
 *
 * Return: 0 with *@ret set, or -errno with a sentence
 */
MUST_CHECK int vm_new(struct vm **ret, struct config *cfg,
		      const struct log *log, struct stat_stages *stages,
		      struct err *e);

/** vm_free() - Stop the vCPUs, let go of everything; takes NULL */
void vm_free(struct vm *vm);

/**
 * vm_run() - Lock the process in and run the guest until the VM ends
 * @ret:	Why it ended; everybody who waited for that has been told
 *
 * Return: 0 with *@ret set, or -errno with a sentence if it never ran
 */
MUST_CHECK int vm_run(struct vm *vm, struct run_end *ret, struct err *e);

/**
 * vm_pause() - Take out all vCPUs, and have the shares begin nothing
 *
 * vm->run.event_fd tells when to ask vm_is_paused().  What is under way is
 * answered first, in the guest's memory.  Context: loop thread, as for all.
 */
void vm_pause(struct vm *vm);
bool vm_is_paused(struct vm *vm);
void vm_resume(struct vm *vm);

/** vm_add_device() - A node of the device tree */
void vm_add_device(struct vm *vm, const struct fdt_device *d);

#endif
