/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/core/irq.h - how a device interrupts the guest: an eventfd, no KVM */
#ifndef HUTCH_VMM_CORE_IRQ_H
#define HUTCH_VMM_CORE_IRQ_H

#include <stdatomic.h>
#include <stdint.h>

#include "common/err.h"

/**
 * struct irq - One edge-triggered interrupt line
 * @fd:		eventfd, registered as an irqfd by the assembly; owned
 * @raised:	Times raised, for "stats"
 */
struct irq {
	int fd;
	atomic_uint_fast64_t raised;
};

MUST_CHECK int irq_init(struct irq *irq, struct err *e);
void irq_done(struct irq *irq);

/** irq_raise() - One edge. Context: any thread */
void irq_raise(struct irq *irq);

#endif
