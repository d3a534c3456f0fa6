/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/mmio_write.c - see mmio_regs.h */
#include <string.h>

#include "vmm/virtio/mmio_regs.h"

static void set_half(uint64_t *v, bool high, uint32_t x)
{
	if (high)
		*v = (*v & UINT32_MAX) | (uint64_t)x << 32;
	else
		*v = (*v & ~(uint64_t)UINT32_MAX) | x;
}

/* The queues stop now; the loop thread does the rest (device.h). */
static void stop(struct virtio_dev *vd)
{
	vd->running = false;
	vd->reset_due = true;
	virtio_dev_kick(vd, 0);
}

/* Until the device has its hands off queue @qi, or off all if that is -1. */
static void quiesce(struct virtio_dev *vd, int qi)
{
	if (vd->ops->quiesce)
		vd->ops->quiesce(vd, qi);
}

/* Under the lock, so no request is half done when the driver goes on. */
static void reset(struct virtio_mmio *m)
{
	struct virtio_dev *vd = m->vd;

	vd->running = false;
	quiesce(vd, -1);
	m->status = 0;
	m->interrupt_status = 0;
	m->driver_features = 0;
	m->features_beyond = false;
	m->device_features_sel = 0;
	m->driver_features_sel = 0;
	m->queue_sel = 0;
	m->shm_sel = 0;
	vd->features = 0;
	for (unsigned int i = 0; i < VIRTIO_QUEUES_MAX; i++)
		vd->vq[i] = (struct virtq){ .mem = m->mem };
	stop(vd);
}

static bool features_ok(const struct virtio_mmio *m)
{
	return !m->features_beyond &&
	       !(m->driver_features & ~mmio_offered(m)) &&
	       (m->driver_features & VIRTIO_F_VERSION_1);
}

static void run(struct virtio_mmio *m)
{
	struct virtio_dev *vd = m->vd;

	vd->running = true;
	/* A driver may have filled its queues already, and need not notify. */
	for (unsigned int i = 0; i < vd->ops->n_queues; i++)
		virtio_dev_kick(vd, i);
}

static void accept_features(struct virtio_mmio *m)
{
	struct virtio_dev *vd = m->vd;

	vd->features = m->driver_features;
	for (unsigned int i = 0; i < vd->ops->n_queues; i++) {
		vd->vq[i].event_idx = vd->features & VIRTIO_F_EVENT_IDX;
		vd->vq[i].indirect = vd->features & VIRTIO_F_INDIRECT_DESC;
	}
}

/* One new bit at a time, in the order of 3.1.1, none ever cleared. */
static void write_status(struct virtio_mmio *m, uint32_t v)
{
	static const struct {
		uint32_t from;
		uint32_t to;
	} legal[] = {
		{ 0, S_ACKNOWLEDGE },
		{ S_ACKNOWLEDGE, S_ACKNOWLEDGE | S_DRIVER },
		{ S_ACKNOWLEDGE | S_DRIVER,
		  S_ACKNOWLEDGE | S_DRIVER | S_FEATURES_OK },
		{ S_ACKNOWLEDGE | S_DRIVER | S_FEATURES_OK,
		  S_ACKNOWLEDGE | S_DRIVER | S_FEATURES_OK | S_DRIVER_OK },
	};
	uint32_t have = m->status & ~S_NEEDS_RESET;

	if (v == 0) {
		reset(m);
		return;
	}
	v &= ~S_NEEDS_RESET; /* ours alone; a driver may write it back */
	if (v == (have | S_FAILED)) {
		/* It has given up, and will reset us before it tries again. */
		m->status |= S_FAILED;
		stop(m->vd);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(legal); i++) {
		if (have != legal[i].from || v != legal[i].to)
			continue;
		if (v & ~have & S_FEATURES_OK) {
			if (!features_ok(m))
				return;
			accept_features(m);
		}
		m->status |= v;
		if (v & S_DRIVER_OK)
			run(m);
		return;
	}
}

static void write_ready(struct virtq *q, uint32_t v)
{
	if (v == 0)
		q->ready = false;
	else if (v == 1 && virtq_check(q) == 0)
		q->ready = true;
}

static void write_queue(struct virtio_mmio *m, unsigned int reg, uint32_t v)
{
	struct virtq *q = mmio_selected(m);

	if (!q || !(m->status & S_FEATURES_OK))
		return;
	/* A queue may be stopped at any time, but changed only in set-up. */
	if (reg == REG_QUEUE_READY && v == 0) {
		write_ready(q, v);
		quiesce(m->vd, (int)m->queue_sel);
		return;
	}
	if (m->status & S_DRIVER_OK || q->ready)
		return;
	switch (reg) {
	case REG_QUEUE_NUM:
		if (v <= m->vd->ops->queue_max)
			q->size = (uint16_t)v;
		break;
	case REG_QUEUE_READY:
		write_ready(q, v);
		break;
	case REG_QUEUE_DESC_LOW:
	case REG_QUEUE_DESC_HIGH:
		set_half(&q->desc, reg == REG_QUEUE_DESC_HIGH, v);
		break;
	case REG_QUEUE_DRIVER_LOW:
	case REG_QUEUE_DRIVER_HIGH:
		set_half(&q->avail, reg == REG_QUEUE_DRIVER_HIGH, v);
		break;
	case REG_QUEUE_DEVICE_LOW:
	case REG_QUEUE_DEVICE_HIGH:
		set_half(&q->used, reg == REG_QUEUE_DEVICE_HIGH, v);
		break;
	default:
		break;
	}
}

static void write_features(struct virtio_mmio *m, uint32_t v)
{
	if (m->status & S_FEATURES_OK)
		return;
	if (m->driver_features_sel <= 1)
		set_half(&m->driver_features, m->driver_features_sel, v);
	else if (v)
		m->features_beyond = true; /* no such feature: refused later */
}

static void stamp_status(struct virtio_mmio *m)
{
	/* Relaxed: a time for "stats", nothing is ordered by it. */
	if (!atomic_load_explicit(&m->first_status_ns, memory_order_relaxed))
		atomic_store_explicit(&m->first_status_ns, loop_now_ns(),
				      memory_order_relaxed);
}

static void write_reg(struct virtio_mmio *m, unsigned int reg, uint32_t v)
{
	switch (reg) {
	case REG_DEVICE_FEATURES_SEL:
		m->device_features_sel = v;
		break;
	case REG_DRIVER_FEATURES:
		write_features(m, v);
		break;
	case REG_DRIVER_FEATURES_SEL:
		m->driver_features_sel = v;
		break;
	case REG_QUEUE_SEL:
		m->queue_sel = v;
		break;
	case REG_QUEUE_NOTIFY:
		if (v < m->vd->ops->n_queues && m->vd->running)
			virtio_dev_kick(m->vd, v);
		break;
	case REG_INTERRUPT_ACK:
		m->interrupt_status &= ~v;
		break;
	case REG_STATUS:
		stamp_status(m);
		write_status(m, v);
		break;
	case REG_SHM_SEL:
		m->shm_sel = v;
		break;
	default:
		write_queue(m, reg, v);
		break;
	}
}

void mmio_write(void *ctx, uint64_t off, const uint8_t *data, unsigned int len)
{
	struct virtio_mmio *m = ctx;
	le32 v;

	/* 4.2.2.2: aligned and 32 bits wide; configuration is read-only. */
	if (len != sizeof(v) || off % sizeof(v) || off >= REG_CONFIG)
		return;
	memcpy(&v, data, sizeof(v));
	(void)pthread_mutex_lock(&m->vd->lock);
	write_reg(m, (unsigned int)off, le32_get(v));
	mmio_show_regs(m);
	(void)pthread_mutex_unlock(&m->vd->lock);
}
