/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/mmio.c - see mmio.h */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "vmm/virtio/mmio_regs.h"

const struct bus_ops virtio_mmio_bus_ops = {
	.read = mmio_read,
	.write = mmio_write,
};
static void raise_interrupt(struct virtio_dev *vd, uint32_t why)
{
	struct virtio_mmio *m = vd->link;

	/*
	 * One edge each time, though the bit may be set already: whether the
	 * driver has read its rings since it saw the last one is not known.
	 */
	m->interrupt_status |= why;
	mmio_show_reg(m, REG_INTERRUPT_STATUS);
	irq_raise(m->irq);
}

static void mmio_interrupt(struct virtio_dev *vd, unsigned int qi)
{
	(void)qi; /* all queues share the device's one line */
	raise_interrupt(vd, INT_USED);
}

static void mmio_config_changed(struct virtio_dev *vd)
{
	struct virtio_mmio *m = vd->link;

	m->config_generation++;
	mmio_show_reg(m, REG_CONFIG_GENERATION);
	mmio_show_config(m);
	if (m->status & S_DRIVER_OK)
		raise_interrupt(vd, INT_CONFIG);
}

static void mmio_broken(struct virtio_dev *vd)
{
	struct virtio_mmio *m = vd->link;

	m->status |= S_NEEDS_RESET;
	mmio_show_reg(m, REG_STATUS);
	if (m->status & S_DRIVER_OK)
		raise_interrupt(vd, INT_CONFIG);
}

static void mmio_kick(struct virtio_dev *vd, unsigned int qi)
{
	static const uint64_t one = 1;
	struct virtio_mmio *m = vd->link;

	/* Full (EAGAIN) means that one is already waiting. */
	if (write(m->kick[qi].fd, &one, sizeof(one)) < 0)
		bug_on(errno != EAGAIN && errno != EINTR);
}

static int mmio_kick_fd(struct virtio_dev *vd, unsigned int qi)
{
	return virtio_mmio_notify_fd(vd->link, qi);
}

static const struct virtio_transport_ops transport_ops = {
	.interrupt = mmio_interrupt,
	.config_changed = mmio_config_changed,
	.broken = mmio_broken,
	.kick = mmio_kick,
	.kick_fd = mmio_kick_fd,
};

static void on_kick(struct loop_io *io, uint32_t events)
{
	struct virtio_mmio_kick *k =
		container_of(io, struct virtio_mmio_kick, io);
	uint64_t n;

	(void)events;
	/* Before the work: a kick that comes during it is a new one. */
	if (read(k->fd, &n, sizeof(n)) < 0 && errno == EAGAIN)
		return;
	virtio_dev_serve(k->vd, k->qi);
}

int virtio_mmio_init(struct virtio_mmio *m, struct virtio_dev *vd,
		     const struct gmem *mem, struct irq *irq, struct err *e)
{
	memset(m, 0, sizeof(*m));
	m->vd = vd;
	m->mem = mem;
	m->irq = irq;
	m->ack_fd = -1;
	atomic_init(&m->first_status_ns, 0);
	for (unsigned int i = 0; i < VIRTIO_QUEUES_MAX; i++)
		m->kick[i].fd = -1;
	for (unsigned int i = 0; i < vd->ops->n_queues; i++) {
		m->kick[i].vd = vd;
		m->kick[i].qi = i;
		m->kick[i].fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (m->kick[i].fd < 0) {
			int r = -errno;

			virtio_mmio_done(m);
			return err_set(e, r, "%s: eventfd: %s", vd->ops->name,
				       strerror(-r));
		}
	}
	for (unsigned int i = 0; i < VIRTIO_QUEUES_MAX; i++)
		vd->vq[i] = (struct virtq){ .mem = mem };
	vd->link = m;
	vd->transport = &transport_ops;
	return 0;
}

int virtio_mmio_show(struct virtio_mmio *m, struct err *e)
{
	void *p = mmap(NULL, VIRTIO_MMIO_LEN, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return err_set(e, -errno, "%s: page of registers: %s",
			       m->vd->ops->name, strerror(errno));
	m->page = p;
	m->ack_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (m->ack_fd < 0)
		return err_set(e, -errno, "%s: eventfd: %s", m->vd->ops->name,
			       strerror(errno));
	for (unsigned int reg = 0; reg < REG_CONFIG; reg += sizeof(uint32_t))
		mmio_show_reg(m, reg);
	mmio_show_config(m);
	return 0;
}

int virtio_mmio_start(struct virtio_mmio *m, struct loop *l, struct err *e)
{
	if (m->vd->ops->own_kicks)
		return 0;
	for (unsigned int i = 0; i < m->vd->ops->n_queues; i++) {
		struct virtio_mmio_kick *k = &m->kick[i];
		int r = loop_add(l, &k->io, k->fd, EPOLLIN, on_kick);

		if (r < 0)
			return err_set(e, r, "%s: cannot watch queue %u: %s",
				       m->vd->ops->name, i, strerror(-r));
	}
	return 0;
}

void virtio_mmio_done(struct virtio_mmio *m)
{
	for (unsigned int i = 0; i < VIRTIO_QUEUES_MAX; i++) {
		loop_del(&m->kick[i].io);
		drop_fd(&m->kick[i].fd);
	}
	if (m->page) {
		(void)munmap(m->page, VIRTIO_MMIO_LEN);
		base_closep(&m->ack_fd);
		m->page = NULL;
		m->ack_fd = -1;
	}
	if (m->vd) {
		m->vd->transport = NULL;
		m->vd->running = false;
	}
}

int virtio_mmio_notify_fd(const struct virtio_mmio *m, unsigned int qi)
{
	struct virtio_dev *vd = m->vd;

	return vd->ops->notify_fd ? vd->ops->notify_fd(vd, qi) : m->kick[qi].fd;
}
