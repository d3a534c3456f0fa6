/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/arch/fdt.c - see fdt.h
 *
 * libfdt's sequential writer keeps no error of its own, but each call after a
 * failed one fails too (the tree is left in a bad state), so the results of a
 * run of calls are or-ed together: all of its error codes are negative.
 */
#include <errno.h>
#include <libfdt.h>
#include <stdio.h>
#include <string.h>

#include "vmm/arch/fdt.h"

#define NODE_NAME_MAX 32

int fdt_prop_str(void *fdt, const char *name, const char *s)
{
	return fdt_property(fdt, name, s, (int)strlen(s) + 1);
}

int fdt_prop_reg(void *fdt, uint64_t base, uint64_t len)
{
	const fdt64_t reg[2] = { cpu_to_fdt64(base), cpu_to_fdt64(len) };

	return fdt_property(fdt, "reg", reg, sizeof(reg));
}

static int begin(void *fdt, const char *name, uint64_t base)
{
	char full[NODE_NAME_MAX];

	(void)snprintf(full, sizeof(full), "%s@%llx", name,
		       (unsigned long long)base);
	return fdt_begin_node(fdt, full);
}

static int prop_irq(void *fdt, const struct fdt_spec *s, int pin)
{
	uint32_t cell[FDT_IRQ_CELLS_MAX];
	fdt32_t be[FDT_IRQ_CELLS_MAX];
	unsigned int n;

	if (pin == FDT_NO_PIN)
		return 0;
	n = s->irq_cells((unsigned int)pin, cell);
	for (unsigned int i = 0; i < n; i++)
		be[i] = cpu_to_fdt32(cell[i]);
	return fdt_property(fdt, "interrupts", be, (int)(n * sizeof(be[0])));
}

/* What every device node has; the caller adds the rest and ends it. */
static int device(void *fdt, const struct fdt_spec *s,
		  const struct fdt_device *d, const char *name,
		  const char *compatible)
{
	int r = begin(fdt, name, d->base);

	r |= fdt_prop_str(fdt, "compatible", compatible);
	r |= fdt_prop_reg(fdt, d->base, d->len);
	r |= prop_irq(fdt, s, d->pin);
	return r;
}

static int serial(void *fdt, const struct fdt_spec *s,
		  const struct fdt_device *d)
{
	int r = device(fdt, s, d, "serial", "ns16550a");

	r |= fdt_property_u32(fdt, "clock-frequency", FDT_SERIAL_CLOCK_HZ);
	r |= fdt_property_u32(fdt, "current-speed", 115200);
	return r | fdt_end_node(fdt);
}

static int poweroff(void *fdt, const struct fdt_spec *s,
		    const struct fdt_device *d)
{
	int r = device(fdt, s, d, "syscon", "syscon");

	r |= fdt_property_u32(fdt, "phandle", FDT_PHANDLE_SYSCON);
	r |= fdt_end_node(fdt);
	r |= fdt_begin_node(fdt, "poweroff");
	r |= fdt_prop_str(fdt, "compatible", "syscon-poweroff");
	r |= fdt_property_u32(fdt, "regmap", FDT_PHANDLE_SYSCON);
	r |= fdt_property_u32(fdt, "offset", 0);
	r |= fdt_property_u32(fdt, "value", FDT_POWEROFF_VALUE);
	return r | fdt_end_node(fdt);
}

static int plain(void *fdt, const struct fdt_spec *s,
		 const struct fdt_device *d, const char *name,
		 const char *compatible)
{
	return device(fdt, s, d, name, compatible) | fdt_end_node(fdt);
}

static int one_device(void *fdt, const struct fdt_spec *s,
		      const struct fdt_device *d)
{
	switch (d->kind) {
	case FDT_SERIAL:
		return serial(fdt, s, d);
	case FDT_POWEROFF:
		return poweroff(fdt, s, d);
	case FDT_PVPANIC:
		return plain(fdt, s, d, "pvpanic", "qemu,pvpanic-mmio");
	case FDT_VMGENID:
		return plain(fdt, s, d, "vmgenid", "microsoft,vmgenid");
	case FDT_VIRTIO:
		return plain(fdt, s, d, "virtio_mmio", "virtio,mmio");
	}
	return -FDT_ERR_BADVALUE;
}

static int whole_tree(void *fdt, const struct fdt_spec *s)
{
	int r = fdt_finish_reservemap(fdt);

	r |= fdt_begin_node(fdt, "");
	r |= fdt_property_u32(fdt, "#address-cells", 2);
	r |= fdt_property_u32(fdt, "#size-cells", 2);
	r |= fdt_prop_str(fdt, "compatible", "hutch,microvm");
	r |= fdt_prop_str(fdt, "model", "hutch");
	r |= fdt_property_u32(fdt, "interrupt-parent", FDT_PHANDLE_IC);
	r |= s->arch_nodes(fdt, s);
	for (unsigned int i = 0; i < s->n_dev; i++)
		r |= one_device(fdt, s, &s->dev[i]);
	r |= fdt_end_node(fdt);
	return r | fdt_finish(fdt);
}

int fdt_build(void *buf, const struct fdt_spec *s, struct err *e)
{
	bug_on(s->n_dev > FDT_DEVICES_MAX);
	if (fdt_create(buf, (int)FDT_LEN_MAX) < 0 || whole_tree(buf, s) < 0)
		return err_set(e, -ENOSPC,
			       "device tree of %u CPUs and %u devices does not "
			       "fit in %u bytes",
			       s->n_cpus, s->n_dev, FDT_LEN_MAX);
	return (int)fdt_totalsize(buf);
}
