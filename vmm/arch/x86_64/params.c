/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/arch/x86_64/params.c - see params.h
 *
 * The setup_data list has two nodes: 64 random bytes, fresh each boot, that
 * make the guest's random generator ready at once, and the device tree.
 */
#include <asm/bootparam.h>
#include <errno.h>
#include <libfdt.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "vmm/arch/arch.h"
#include "vmm/arch/x86_64/kimage.h"
#include "vmm/arch/x86_64/layout.h"
#include "vmm/arch/x86_64/params.h"

#define SEED_LEN          64u
#define E820_RAM          1u
#define LOADER_UNASSIGNED 0xffu
#define PIN_EDGE_RISING   3u /* arch/x86/kernel/devicetree.c, type 3 */

/* In the form of <asm/bootparam.h>'s struct setup_data, its bytes inline. */
struct seed_node {
	uint64_t next;
	uint32_t type;
	uint32_t len;
	uint8_t data[SEED_LEN];
};
_Static_assert(sizeof(struct seed_node) == 16 + SEED_LEN, "kernel ABI");
_Static_assert(KIMAGE_SETUP_MAX == sizeof(struct setup_header), "kernel ABI");
_Static_assert(KIMAGE_SETUP_OFF == offsetof(struct boot_params, hdr),
	       "kernel ABI");
_Static_assert(LAYOUT_SETUP_DATA + sizeof(struct seed_node) +
			       sizeof(struct setup_data) + FDT_LEN_MAX <=
		       LAYOUT_CMDLINE,
	       "setup_data runs into the command line");

static int cpu_nodes(void *fdt, unsigned int n)
{
	int r = fdt_begin_node(fdt, "cpus");

	r |= fdt_property_u32(fdt, "#address-cells", 1);
	r |= fdt_property_u32(fdt, "#size-cells", 0);
	for (unsigned int i = 0; i < n; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "cpu@%x", i);
		r |= fdt_begin_node(fdt, name);
		r |= fdt_prop_str(fdt, "device_type", "cpu");
		r |= fdt_prop_str(fdt, "compatible", "hutch,cpu");
		r |= fdt_property_u32(fdt, "reg", i);
		r |= fdt_end_node(fdt);
	}
	return r | fdt_end_node(fdt);
}

/* Linux knows these two names alone; what they stand for is architectural. */
static int x86_nodes(void *fdt, const struct fdt_spec *s)
{
	int r = cpu_nodes(fdt, s->n_cpus);

	r |= fdt_begin_node(fdt, "lapic@fee00000");
	r |= fdt_prop_str(fdt, "compatible", "intel,ce4100-lapic");
	r |= fdt_prop_reg(fdt, LAYOUT_LAPIC, LAYOUT_LAPIC_LEN);
	/* There is no interrupt mode register to leave PIC mode by. */
	r |= fdt_property(fdt, "intel,virtual-wire-mode", NULL, 0);
	r |= fdt_end_node(fdt);

	r |= fdt_begin_node(fdt, "ioapic@fec00000");
	r |= fdt_prop_str(fdt, "compatible", "intel,ce4100-ioapic");
	r |= fdt_prop_reg(fdt, LAYOUT_IOAPIC, LAYOUT_IOAPIC_LEN);
	r |= fdt_property(fdt, "interrupt-controller", NULL, 0);
	r |= fdt_property_u32(fdt, "#interrupt-cells", 2);
	r |= fdt_property_u32(fdt, "#address-cells", 0);
	r |= fdt_property_u32(fdt, "phandle", FDT_PHANDLE_IC);
	return r | fdt_end_node(fdt);
}

static unsigned int x86_irq_cells(unsigned int pin, uint32_t *cell)
{
	cell[0] = pin;
	cell[1] = PIN_EDGE_RISING;
	return 2;
}

static int load_seed(const struct gmem *m, struct err *e)
{
	struct seed_node node = {
		.next = LAYOUT_SETUP_DATA + sizeof(node),
		.type = SETUP_RNG_SEED,
		.len = SEED_LEN,
	};

	/* Up to 256 bytes are never cut short: getrandom(2). */
	if (getrandom(node.data, SEED_LEN, 0) != SEED_LEN)
		return err_set(e, -EIO, "no random bytes from the kernel");
	return gmem_write(m, LAYOUT_SETUP_DATA, &node, sizeof(node));
}

static int load_fdt(const struct gmem *m, const struct fdt_spec *tree,
		    struct err *e)
{
	uint64_t gpa = LAYOUT_SETUP_DATA + sizeof(struct seed_node);
	struct setup_data head = { .type = SETUP_DTB };
	struct fdt_spec spec = *tree;
	uint8_t buf[FDT_LEN_MAX];
	int r;

	spec.arch_nodes = x86_nodes;
	spec.irq_cells = x86_irq_cells;
	r = fdt_build(buf, &spec, e);
	if (r < 0)
		return r;
	head.len = (uint32_t)r;
	r = gmem_write(m, gpa, &head, sizeof(head));
	if (r == 0)
		r = gmem_write(m, gpa + sizeof(head), buf, head.len);
	return r;
}

static void add_ram(struct boot_params *bp, uint64_t gpa, uint64_t end)
{
	struct boot_e820_entry *x = &bp->e820_table[bp->e820_entries++];

	x->addr = gpa;
	x->size = end - gpa;
	x->type = E820_RAM;
}

static void fill_e820(struct boot_params *bp, const struct gmem *m)
{
	add_ram(bp, 0, LAYOUT_LOW_RAM_END);
	for (unsigned int i = 0; i < m->n; i++) {
		const struct gmem_region *r = &m->region[i];

		add_ram(bp, MAX(r->gpa, LAYOUT_HIGH_RAM), r->gpa + r->len);
	}
}

static void fill_header(struct boot_params *bp, const struct params *p)
{
	struct setup_header *h = &bp->hdr;

	memcpy(h, p->kernel->setup, p->kernel->setup_len);
	h->type_of_loader = LOADER_UNASSIGNED;
	h->cmd_line_ptr = (uint32_t)LAYOUT_CMDLINE;
	h->ramdisk_image = (uint32_t)p->initrd->gpa;
	h->ramdisk_size = (uint32_t)p->initrd->len;
	h->setup_data = LAYOUT_SETUP_DATA;
}

int params_load(const struct gmem *m, const struct params *p, struct err *e)
{
	struct boot_params bp = { 0 };
	size_t len = strlen(p->cmdline);
	int r;

	bug_on(len > p->kernel->cmdline_max);
	fill_header(&bp, p);
	fill_e820(&bp, m);
	r = gmem_write(m, LAYOUT_BOOT_PARAMS, &bp, sizeof(bp));
	if (r == 0)
		r = gmem_write(m, LAYOUT_CMDLINE, p->cmdline, len + 1);
	if (r == 0)
		r = load_seed(m, e);
	if (r == 0)
		r = load_fdt(m, &p->tree, e);
	if (r == -EFAULT)
		return err_set(e, r, "no RAM for the boot parameters");
	return r;
}
