/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/kvm/kvm.h - a VM of the kernel: every ioctl on /dev/kvm and the VM */
#ifndef HUTCH_VMM_KVM_KVM_H
#define HUTCH_VMM_KVM_KVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define KVM_SLOTS_MAX 64

struct gmem;

/**
 * struct kvm - An open /dev/kvm and one VM
 * @sys_fd:	/dev/kvm, -1 when closed
 * @vm_fd:	The VM, -1 before kvm_create()
 * @run_size:	Bytes of a vCPU's shared page
 * @n_slots:	Memory slots in use
 */
struct kvm {
	int sys_fd;
	int vm_fd;
	size_t run_size;
	unsigned int n_slots;
};

/**
 * kvm_open() - Open /dev/kvm and create a VM
 *
  * Return: 0; -ENODEV if there is no KVM that we may use, or another -errno,
 *         with a sentence that says what the user can do; then nothing is open
 */
MUST_CHECK int kvm_open(struct kvm *k, struct err *e);

/** kvm_close() - Let go of the VM; takes a closed one too */
void kvm_close(struct kvm *k);

/** kvm_has() - Value of a capability, 0 if the kernel does not have it */
int kvm_has(const struct kvm *k, unsigned int cap);

/** kvm_enable() - Switch a capability of the VM on. Return: 0 or -errno */
MUST_CHECK int kvm_enable(const struct kvm *k, unsigned int cap, uint64_t arg);

/** kvm_add_ram() - Give the guest every region of @m */
MUST_CHECK int kvm_add_ram(struct kvm *k, const struct gmem *m, struct err *e);

/** kvm_add_slot() - Give the guest @len bytes at @hva, at @gpa */
MUST_CHECK int kvm_add_slot(struct kvm *k, uint64_t gpa, void *hva,
			    uint64_t len, struct err *e);

/** kvm_add_shown() - The same, but each write of the guest's is an exit */
MUST_CHECK int kvm_add_shown(struct kvm *k, uint64_t gpa, void *hva,
			     uint64_t len, struct err *e);

/**
 * kvm_ioeventfd() - A 4-byte write of @value to @gpa signals @fd, no exit
 *
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int kvm_ioeventfd(const struct kvm *k, uint64_t gpa, uint32_t value,
			     int fd, struct err *e);

/**
 * kvm_irqfd() - Make a signal on @fd an interrupt @gsi, or stop doing so
 *
 * What was signalled while not connected is delivered on connecting.
 * Context: any thread.  Return: 0 or -errno
 */
MUST_CHECK int kvm_irqfd(const struct kvm *k, unsigned int gsi, int fd,
			 bool connect);

/** struct kvm_msi_route - A message-signalled interrupt that a GSI stands for */
struct kvm_msi_route {
	uint64_t addr;
	uint32_t data;
	uint32_t gsi;
};

#define KVM_MSI_MAX 32

/**
 * kvm_set_msi_routes() - Replace the whole table of routes
 *
 * Waits for all vCPUs to have left the old one, so call it for real changes
 * only.  Context: any thread, one at a time.  Return: 0 or -errno
 */
MUST_CHECK int kvm_set_msi_routes(const struct kvm *k,
				  const struct kvm_msi_route *msi,
				  unsigned int n);

#endif
