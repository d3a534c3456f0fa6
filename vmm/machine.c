/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/machine.c - see machine.h */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "common/le.h"
#include "vmm/arch/fdt.h"
#include "vmm/machine.h"
#include "vmm/run.h"

#define PAGE_LEN      4096u
#define PVPANIC_PANIC 1u
#define RESET_PULSE   0xfeu

static void read_zero(void *ctx, uint64_t off, uint8_t *data, unsigned int len)
{
	(void)ctx;
	(void)off;
	memset(data, 0, len);
}

/* The driver reads the register, puts the value in, writes all 32 bits. */
static void power_write(void *ctx, uint64_t off, const uint8_t *data,
			unsigned int len)
{
	le32 v;

	if (off != 0 || len != sizeof(v))
		return;
	memcpy(&v, data, sizeof(v));
	if (le32_get(v) == FDT_POWEROFF_VALUE)
		run_end(ctx, RUN_POWEROFF, NULL);
}

/* What it reads is the set of events it takes: a panic, and no other. */
static void panic_read(void *ctx, uint64_t off, uint8_t *data, unsigned int len)
{
	(void)ctx;
	memset(data, 0, len);
	if (off == 0)
		data[0] = PVPANIC_PANIC;
}

static void panic_write(void *ctx, uint64_t off, const uint8_t *data,
			unsigned int len)
{
	(void)len;
	if (off == 0 && data[0] & PVPANIC_PANIC)
		run_panic(ctx);
}

static void reset_write(void *ctx, uint64_t off, const uint8_t *data,
			unsigned int len)
{
	(void)off;
	if (len == 1 && data[0] == RESET_PULSE)
		run_end(ctx, RUN_RESET, NULL);
}

const struct bus_ops machine_power_ops = { .read = read_zero,
					   .write = power_write };
const struct bus_ops machine_panic_ops = { .read = panic_read,
					   .write = panic_write };
const struct bus_ops machine_reset_ops = { .read = read_zero,
					   .write = reset_write };

int machine_vmgenid_init(struct machine_vmgenid *g, struct err *e)
{
	void *p = mmap(NULL, PAGE_LEN, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return err_set(e, -errno, "generation id: mmap: %s",
			       strerror(errno));
	g->page = p;
	g->len = PAGE_LEN;
	/* Up to 256 bytes are never cut short: getrandom(2). */
	if (getrandom(p, MACHINE_VMGENID_LEN, 0) != MACHINE_VMGENID_LEN)
		return err_set(e, -EIO, "generation id: no random bytes");
	return 0;
}

void machine_vmgenid_done(struct machine_vmgenid *g)
{
	if (g->page)
		(void)munmap(g->page, g->len);
	g->page = NULL;
}
