/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/virtio/mmio.c - see mmio.h
 *
 * Whatever a driver may not do, it does without effect: a write that comes at
 * the wrong time, of the wrong width or to the wrong place is dropped, and the
 * register reads as before.  Nothing here blocks but the device's lock, which
 * is held for a bounded amount of work, and a reset of a device with threads of
 * its own, which waits for what these have under way.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "vmm/virtio/mmio.h"

#define MAGIC   0x74726976u /* "virt" */
#define VERSION 2u
#define VENDOR  0x48435448u /* "HTCH" */

/* Registers: virtio 1.2, table 4.1. */
enum {
	REG_MAGIC = 0x000,
	REG_VERSION = 0x004,
	REG_DEVICE_ID = 0x008,
	REG_VENDOR_ID = 0x00c,
	REG_DEVICE_FEATURES = 0x010,
	REG_DEVICE_FEATURES_SEL = 0x014,
	REG_DRIVER_FEATURES = 0x020,
	REG_DRIVER_FEATURES_SEL = 0x024,
	REG_QUEUE_SEL = 0x030,
	REG_QUEUE_NUM_MAX = 0x034,
	REG_QUEUE_NUM = 0x038,
	REG_QUEUE_READY = 0x044,
	REG_QUEUE_NOTIFY = VIRTIO_MMIO_NOTIFY,
	REG_INTERRUPT_STATUS = 0x060,
	REG_INTERRUPT_ACK = VIRTIO_MMIO_ACK,
	REG_STATUS = 0x070,
	REG_QUEUE_DESC_LOW = 0x080,
	REG_QUEUE_DESC_HIGH = 0x084,
	REG_QUEUE_DRIVER_LOW = 0x090,
	REG_QUEUE_DRIVER_HIGH = 0x094,
	REG_QUEUE_DEVICE_LOW = 0x0a0,
	REG_QUEUE_DEVICE_HIGH = 0x0a4,
	REG_SHM_SEL = 0x0ac,
	REG_SHM_LEN_LOW = 0x0b0,
	REG_SHM_LEN_HIGH = 0x0b4,
	REG_SHM_BASE_LOW = 0x0b8,
	REG_SHM_BASE_HIGH = 0x0bc,
	REG_CONFIG_GENERATION = 0x0fc,
	REG_CONFIG = 0x100
};

/* Status bits: virtio 1.2, 2.1. */
#define S_ACKNOWLEDGE 0x01u
#define S_DRIVER      0x02u
#define S_DRIVER_OK   0x04u
#define S_FEATURES_OK 0x08u
#define S_NEEDS_RESET 0x40u
#define S_FAILED      0x80u

#define INT_USED   VIRTIO_MMIO_USED
#define INT_CONFIG 2u

static uint32_t half(uint64_t v, bool high)
{
	return (uint32_t)(high ? v >> 32 : v);
}

static void set_half(uint64_t *v, bool high, uint32_t x)
{
	if (high)
		*v = (*v & UINT32_MAX) | (uint64_t)x << 32;
	else
		*v = (*v & ~(uint64_t)UINT32_MAX) | x;
}

static uint64_t offered(const struct virtio_mmio *m)
{
	return m->vd->ops->features | VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX |
	       VIRTIO_F_INDIRECT_DESC;
}

/* The queue that QueueSel names, or NULL if the device has no such queue. */
static struct virtq *selected(struct virtio_mmio *m)
{
	if (m->queue_sel >= m->vd->ops->n_queues)
		return NULL;
	return &m->vd->vq[m->queue_sel];
}

static uint32_t read_queue(struct virtio_mmio *m, unsigned int reg)
{
	const struct virtq *q = selected(m);

	if (!q)
		return 0;
	switch (reg) {
	case REG_QUEUE_NUM_MAX:
		return m->vd->ops->queue_max;
	case REG_QUEUE_READY:
		return q->ready;
	default:
		return 0; /* all else is write-only */
	}
}

static uint32_t read_shm(struct virtio_mmio *m, unsigned int reg)
{
	uint64_t base = UINT64_MAX, len = UINT64_MAX;
	const struct virtio_ops *ops = m->vd->ops;

	/* All ones: no such region (4.2.2.1). */
	if (ops->shm && ops->shm(m->vd, m->shm_sel, &base, &len) < 0) {
		base = UINT64_MAX;
		len = UINT64_MAX;
	}
	if (reg == REG_SHM_LEN_LOW || reg == REG_SHM_LEN_HIGH)
		return half(len, reg == REG_SHM_LEN_HIGH);
	return half(base, reg == REG_SHM_BASE_HIGH);
}

/* Has no side effect, so that any width can be made of whole registers. */
static uint32_t read_reg(struct virtio_mmio *m, unsigned int reg)
{
	switch (reg) {
	case REG_MAGIC:
		return MAGIC;
	case REG_VERSION:
		return VERSION;
	case REG_DEVICE_ID:
		return m->vd->ops->id;
	case REG_VENDOR_ID:
		return VENDOR;
	case REG_DEVICE_FEATURES:
		if (m->device_features_sel > 1)
			return 0;
		return half(offered(m), m->device_features_sel);
	case REG_QUEUE_NUM_MAX:
	case REG_QUEUE_READY:
		return read_queue(m, reg);
	case REG_INTERRUPT_STATUS:
		return m->interrupt_status;
	case REG_STATUS:
		return m->status;
	case REG_SHM_LEN_LOW:
	case REG_SHM_LEN_HIGH:
	case REG_SHM_BASE_LOW:
	case REG_SHM_BASE_HIGH:
		return read_shm(m, reg);
	case REG_CONFIG_GENERATION:
		return m->config_generation;
	default:
		return 0;
	}
}

static void read_config(struct virtio_mmio *m, uint64_t off, uint8_t *data,
			unsigned int len)
{
	const struct virtio_ops *ops = m->vd->ops;

	memset(data, 0, len);
	if (off < ops->config_len)
		ops->config(m->vd, off, data, MIN(len, ops->config_len - off));
}

static void mmio_read(void *ctx, uint64_t off, uint8_t *data, unsigned int len)
{
	struct virtio_mmio *m = ctx;

	(void)pthread_mutex_lock(&m->vd->lock);
	for (unsigned int i = 0; i < len; i++) {
		uint64_t at = off + i;

		if (at >= REG_CONFIG) {
			read_config(m, at - REG_CONFIG, data + i, len - i);
			break;
		}
		data[i] = (uint8_t)(read_reg(m, at & ~3u) >> (at % 4 * 8));
	}
	(void)pthread_mutex_unlock(&m->vd->lock);
}

/* A guest may read it at this moment. */
static void show_reg(struct virtio_mmio *m, unsigned int reg)
{
	if (m->page)
		__atomic_store_n((uint32_t *)(void *)(m->page + reg),
				 htole32(read_reg(m, reg)), __ATOMIC_RELEASE);
}

/* After whatever may have changed them. */
static void show_regs(struct virtio_mmio *m)
{
	static const uint16_t change[] = {
		REG_DEVICE_FEATURES,  REG_QUEUE_NUM_MAX, REG_QUEUE_READY,
		REG_INTERRUPT_STATUS, REG_STATUS,        REG_SHM_LEN_LOW,
		REG_SHM_LEN_HIGH,     REG_SHM_BASE_LOW,  REG_SHM_BASE_HIGH,
		REG_CONFIG_GENERATION
	};

	for (size_t i = 0; i < ARRAY_LEN(change); i++)
		show_reg(m, change[i]);
}

static void show_config(struct virtio_mmio *m)
{
	if (m->page)
		m->vd->ops->config(m->vd, 0, m->page + REG_CONFIG,
				   m->vd->ops->config_len);
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
	return !m->features_beyond && !(m->driver_features & ~offered(m)) &&
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
	struct virtq *q = selected(m);

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

static void mmio_write(void *ctx, uint64_t off, const uint8_t *data,
		       unsigned int len)
{
	struct virtio_mmio *m = ctx;
	le32 v;

	/* 4.2.2.2: aligned and 32 bits wide; configuration is read-only. */
	if (len != sizeof(v) || off % sizeof(v) || off >= REG_CONFIG)
		return;
	memcpy(&v, data, sizeof(v));
	(void)pthread_mutex_lock(&m->vd->lock);
	write_reg(m, (unsigned int)off, le32_get(v));
	show_regs(m);
	(void)pthread_mutex_unlock(&m->vd->lock);
}

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
	show_reg(m, REG_INTERRUPT_STATUS);
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
	show_reg(m, REG_CONFIG_GENERATION);
	show_config(m);
	if (m->status & S_DRIVER_OK)
		raise_interrupt(vd, INT_CONFIG);
}

static void mmio_broken(struct virtio_dev *vd)
{
	struct virtio_mmio *m = vd->link;

	m->status |= S_NEEDS_RESET;
	show_reg(m, REG_STATUS);
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
		show_reg(m, reg);
	show_config(m);
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
		base_closep(&m->kick[i].fd);
		m->kick[i].fd = -1;
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
