/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/core/irq.c - see irq.h */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "vmm/core/irq.h"

int irq_init(struct irq *irq, struct err *e)
{
	atomic_init(&irq->raised, 0);
	irq->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (irq->fd < 0)
		return err_set(e, -errno, "interrupt: eventfd: %s",
			       strerror(errno));
	return 0;
}

void irq_done(struct irq *irq)
{
	if (irq->fd >= 0)
		(void)close(irq->fd);
	irq->fd = -1;
}

void irq_raise(struct irq *irq)
{
	static const uint64_t one = 1;

	/* Relaxed: a statistic, nothing is ordered by it. */
	atomic_fetch_add_explicit(&irq->raised, 1, memory_order_relaxed);
	/* Full (EAGAIN) means that an edge is already waiting. */
	if (write(irq->fd, &one, sizeof(one)) < 0)
		bug_on(errno != EAGAIN && errno != EINTR);
}
