/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/kvm/vcpu.h - one virtual CPU: entering the guest and answering exits
 *
 * Context: all of it is for the vCPU's own thread, save vcpu_kick_flag().
 */
#ifndef HUTCH_VMM_KVM_VCPU_H
#define HUTCH_VMM_KVM_VCPU_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "vmm/core/stat.h"

#define VCPU_MAX 32

struct bus;
struct kvm;
struct kvm_run;

/**
 * struct vcpu - A vCPU of the kernel
 * @id:		0 to VCPU_MAX - 1; also its APIC id
 * @fd:		The vCPU, -1 when closed
 * @run:	Page shared with the kernel
 * @mmio:	Who answers accesses to memory-mapped registers
 * @ports:	Who answers port accesses; NULL where there are no ports
 * @exits:	Counted by vcpu_run()
 */
struct vcpu {
	unsigned int id;
	int fd;
	struct kvm_run *run;
	size_t run_size;
	const struct bus *mmio;
	const struct bus *ports;
	struct stat_exits exits;
};

/** vcpu_init() - Create vCPU @id. Return: 0 or -errno, then nothing is open */
MUST_CHECK int vcpu_init(struct vcpu *v, const struct kvm *k, unsigned int id,
			 struct err *e);

/** vcpu_done() - Close it; takes one that was never made (zeroed, fd -1) */
void vcpu_done(struct vcpu *v);

/**
 * vcpu_run() - Run the guest until something other than I/O happens
 *
 * Return: 0 to be called again (I/O was answered);
 *         -EINTR if a signal or vcpu_kick_flag() took it out;
 *         -EFAULT if the host could not provide a page of guest memory, which
 *         may be tried again if there is one now;
 *         -ECANCELED if the guest crashed, with the reason in @e;
 *         another -errno is the host's failure, with a sentence
 */
MUST_CHECK int vcpu_run(struct vcpu *v, struct err *e);

/**
 * vcpu_kick_flag() - Make the next vcpu_run() return -EINTR, or no longer
 *
 * A thread that is inside must also get a signal.  Context: any thread.
 */
void vcpu_kick_flag(struct vcpu *v, int on);

/** vcpu_was_paused() - Tell the guest's clock, so no watchdog barks */
void vcpu_was_paused(struct vcpu *v);

#endif
