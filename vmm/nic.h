/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/nic.h - the network interface of a VM: a device and a link for --net */
#ifndef HUTCH_VMM_NIC_H
#define HUTCH_VMM_NIC_H

#include <stdbool.h>

#include "common/err.h"
#include "vmm/virtio/mmio.h"
#include "vmm/virtio/net.h"

struct vm;

/** struct nic - All zero if there is none, as for all functions here */
struct nic {
	struct virtio_net *dev;
	struct virtio_mmio mmio;
};

/** nic_fds() - Descriptors that it has: queues, link, interrupt */
unsigned int nic_fds(const struct vm *vm);

/**
 * nic_init() - Make the device; no thread yet
 *
 * Return: 0 or -errno with a sentence; nic_done() cleans up either way
 */
MUST_CHECK int nic_init(struct vm *vm, struct err *e);

/** nic_start() - Make the threads, jailed. Context: after jail_drop() */
MUST_CHECK int nic_start(struct vm *vm, struct err *e);

/** nic_done() - Context: no vCPU runs */
void nic_done(struct vm *vm);

/** nic_pause() - Move no frame; vm->run's event_fd tells of the last */
void nic_pause(struct vm *vm);

/** nic_is_paused() - Whether none is under way after nic_pause() */
bool nic_is_paused(struct vm *vm);

/** nic_resume() - Go on */
void nic_resume(struct vm *vm);

/** nic_stats() - And how often the guest broke the rules */
void nic_stats(struct vm *vm, struct virtio_net_stats *ret,
	       unsigned int *ret_broken);

#endif
