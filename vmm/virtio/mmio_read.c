/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/mmio_read.c - see mmio_regs.h */
#include <string.h>

#include "vmm/virtio/mmio_regs.h"

#define MAGIC   0x74726976u /* "virt" */
#define VERSION 2u
#define VENDOR  0x48435448u /* "HTCH" */

static uint32_t half(uint64_t v, bool high)
{
	return (uint32_t)(high ? v >> 32 : v);
}

uint64_t mmio_offered(const struct virtio_mmio *m)
{
	return m->vd->ops->features | VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX |
	       VIRTIO_F_INDIRECT_DESC;
}

/* The queue that QueueSel names, or NULL if the device has no such queue. */
struct virtq *mmio_selected(struct virtio_mmio *m)
{
	if (m->queue_sel >= m->vd->ops->n_queues)
		return NULL;
	return &m->vd->vq[m->queue_sel];
}

static uint32_t read_queue(struct virtio_mmio *m, unsigned int reg)
{
	const struct virtq *q = mmio_selected(m);

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
		return half(mmio_offered(m), m->device_features_sel);
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

void mmio_read(void *ctx, uint64_t off, uint8_t *data, unsigned int len)
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
void mmio_show_reg(struct virtio_mmio *m, unsigned int reg)
{
	if (m->page)
		__atomic_store_n((uint32_t *)(void *)(m->page + reg),
				 htole32(read_reg(m, reg)), __ATOMIC_RELEASE);
}

/* After whatever may have changed them. */
void mmio_show_regs(struct virtio_mmio *m)
{
	static const uint16_t change[] = {
		REG_DEVICE_FEATURES,  REG_QUEUE_NUM_MAX, REG_QUEUE_READY,
		REG_INTERRUPT_STATUS, REG_STATUS,        REG_SHM_LEN_LOW,
		REG_SHM_LEN_HIGH,     REG_SHM_BASE_LOW,  REG_SHM_BASE_HIGH,
		REG_CONFIG_GENERATION
	};

	for (size_t i = 0; i < ARRAY_LEN(change); i++)
		mmio_show_reg(m, change[i]);
}

void mmio_show_config(struct virtio_mmio *m)
{
	if (m->page)
		m->vd->ops->config(m->vd, 0, m->page + REG_CONFIG,
				   m->vd->ops->config_len);
}
