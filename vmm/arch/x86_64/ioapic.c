/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/arch/x86_64/ioapic.c - see ioapic.h; Intel 82093AA, section 3 */
#include <string.h>

#include "common/base.h"
#include "vmm/arch/x86_64/ioapic.h"

#define REG_SELECT  0x00
#define REG_WINDOW  0x10
#define IDX_ID      0x00
#define IDX_VERSION 0x01
#define IDX_ARB     0x02
#define IDX_PINS    0x10
#define VERSION     0x11u
#define ID_MASK     0x0f000000u
#define MASKED      (1ull << 16)
#define READ_ONLY   ((1ull << 12) | (1ull << 14)) /* status, remote IRR */
#define WRITABLE    (0xff0000000001ffffull & ~READ_ONLY)
#define MSI_BASE    0xfee00000ull
#define REG_LEN     4u

void ioapic_init(struct ioapic *a, unsigned int n_pins,
		 const struct ioapic_ops *ops, void *ctx)
{
	bug_on(n_pins == 0 || n_pins > IOAPIC_PINS_MAX);
	*a = (struct ioapic){ .ops = ops, .ctx = ctx, .n_pins = n_pins };
	for (unsigned int i = 0; i < n_pins; i++)
		a->pin[i].entry = MASKED;
	/* Cannot fail with default attributes. */
	bug_on(pthread_mutex_init(&a->lock, NULL) != 0);
}

void ioapic_done(struct ioapic *a)
{
	(void)pthread_mutex_destroy(&a->lock);
}

/*
 * The processor's own format: SDM 3, 11.11.  Destination, its mode (logical or
 * physical), then vector, delivery mode and trigger, which have the same
 * places in both.  All our lines are edges whatever the guest says: a level
 * would wait for an end-of-interrupt that nobody sends on.
 */
static uint64_t msi_addr(uint64_t entry)
{
	return MSI_BASE | (entry >> 56 & 0xff) << 12 | (entry >> 11 & 1) << 2;
}

static uint32_t msi_data(uint64_t entry)
{
	return (uint32_t)(entry & 0x7ff);
}

static void update(struct ioapic *a, unsigned int i)
{
	struct ioapic_pin *p = &a->pin[i];
	uint64_t addr = msi_addr(p->entry);
	uint32_t data = msi_data(p->entry);
	bool on = !(p->entry & MASKED);

	if (on && (p->addr != addr || p->data != data)) {
		p->addr = addr;
		p->data = data;
		if (a->ops->route(a->ctx, i, addr, data) < 0)
			a->errors++;
	}
	if (on != p->on) {
		p->on = on;
		if (a->ops->connect(a->ctx, i, on) < 0)
			a->errors++;
	}
}

static uint32_t read_window(const struct ioapic *a)
{
	uint32_t i = a->select - IDX_PINS;

	switch (a->select) {
	case IDX_ID:
	case IDX_ARB:
		return a->id;
	case IDX_VERSION:
		return VERSION | (a->n_pins - 1) << 16;
	default:
		break;
	}
	if (a->select < IDX_PINS || i / 2 >= a->n_pins)
		return 0;
	return (uint32_t)(a->pin[i / 2].entry >> (i % 2 ? 32 : 0));
}

static void write_window(struct ioapic *a, uint32_t v)
{
	uint32_t i = a->select - IDX_PINS;
	uint64_t *entry;

	if (a->select == IDX_ID)
		a->id = v & ID_MASK;
	if (a->select < IDX_PINS || i / 2 >= a->n_pins)
		return;
	entry = &a->pin[i / 2].entry;
	if (i % 2)
		*entry = (*entry & 0xffffffffull) | (uint64_t)v << 32;
	else
		*entry = (*entry & ~0xffffffffull) | v;
	*entry &= WRITABLE;
	update(a, i / 2);
}

/* Only aligned 32-bit accesses mean anything; others read 0 and write not. */
static void op_read(void *ctx, uint64_t off, uint8_t *data, unsigned int len)
{
	struct ioapic *a = ctx;
	uint32_t v = 0;

	memset(data, 0, len);
	if (len != REG_LEN)
		return;
	(void)pthread_mutex_lock(&a->lock);
	if (off == REG_SELECT)
		v = a->select;
	else if (off == REG_WINDOW)
		v = read_window(a);
	(void)pthread_mutex_unlock(&a->lock);
	memcpy(data, &v, sizeof(v));
}

static void op_write(void *ctx, uint64_t off, const uint8_t *data,
		     unsigned int len)
{
	struct ioapic *a = ctx;
	uint32_t v;

	if (len != REG_LEN)
		return;
	memcpy(&v, data, sizeof(v));
	(void)pthread_mutex_lock(&a->lock);
	if (off == REG_SELECT)
		a->select = v & 0xff;
	else if (off == REG_WINDOW)
		write_window(a, v);
	(void)pthread_mutex_unlock(&a->lock);
}

const struct bus_ops ioapic_bus_ops = { .read = op_read, .write = op_write };
