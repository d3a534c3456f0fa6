/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fdt.c - the machine that the guest is told of */
#include <asm/bootparam.h>
#include <errno.h>
#include <libfdt.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "vmm/arch/arch.h"
#include "vmm/arch/x86_64/kimage.h"
#include "vmm/arch/x86_64/params.h"
#include "vmm/core/mem.h"

static const struct fdt_device devices[] = {
	{ .kind = FDT_SERIAL, .base = 0xd0000000, .len = 8, .pin = FDT_NO_PIN },
	{ .kind = FDT_POWEROFF,
	  .base = 0xd0001000,
	  .len = 4,
	  .pin = FDT_NO_PIN },
	{ .kind = FDT_PVPANIC,
	  .base = 0xd0002000,
	  .len = 2,
	  .pin = FDT_NO_PIN },
	{ .kind = FDT_VMGENID, .base = 0xd0003000, .len = 16, .pin = 0 },
	{ .kind = FDT_VIRTIO, .base = 0xd0010000, .len = 0x1000, .pin = 1 },
};

/** struct told - What lies in guest memory, read back as the kernel does */
struct told {
	struct boot_params bp;
	char cmdline[32];
	uint8_t seed[64];
	uint8_t fdt[FDT_LEN_MAX];
};

static void load(unsigned int n_cpus, uint64_t ram, struct told *t)
{
	struct gmem_range range[GMEM_REGIONS_MAX];
	const struct arch_initrd initrd = { 0x2000000, 0x1234 };
	const struct kimage k = { .cmdline_max = 2047 };
	const struct params p = {
		.kernel = &k,
		.cmdline = "console=ttyS0",
		.initrd = &initrd,
		.tree = { n_cpus, devices, ARRAY_LEN(devices) },
	};
	struct setup_data head;
	struct gmem m;
	uint64_t at;

	ck_assert_int_eq(
		gmem_init(&m, range, arch_ram_ranges(ram, range), NULL), 0);
	ck_assert_int_eq(params_load(&m, &p, NULL), 0);
	ck_assert_int_eq(gmem_read(&m, 0x7000, &t->bp, sizeof(t->bp)), 0);
	ck_assert_int_eq(gmem_read(&m, t->bp.hdr.cmd_line_ptr, t->cmdline,
				   sizeof(t->cmdline)),
			 0);
	at = t->bp.hdr.setup_data;
	ck_assert_int_eq(gmem_read(&m, at, &head, sizeof(head)), 0);
	ck_assert_uint_eq(head.type, SETUP_RNG_SEED);
	ck_assert_uint_eq(head.len, sizeof(t->seed));
	ck_assert_int_eq(
		gmem_read(&m, at + sizeof(head), t->seed, sizeof(t->seed)), 0);
	at = head.next;
	ck_assert_int_eq(gmem_read(&m, at, &head, sizeof(head)), 0);
	ck_assert_uint_eq(head.type, SETUP_DTB);
	ck_assert_uint_eq(head.next, 0);
	ck_assert_uint_le(head.len, sizeof(t->fdt));
	ck_assert_int_eq(gmem_read(&m, at + sizeof(head), t->fdt, head.len), 0);
	ck_assert_int_eq(fdt_check_full(t->fdt, head.len), 0);
	gmem_done(&m);
}

static int node(const struct told *t, const char *compatible)
{
	int n = fdt_node_offset_by_compatible(t->fdt, -1, compatible);

	ck_assert_int_ge(n, 0);
	/* One of each. */
	ck_assert_int_eq(fdt_node_offset_by_compatible(t->fdt, n, compatible),
			 -FDT_ERR_NOTFOUND);
	return n;
}

static uint32_t cell(const struct told *t, int n, const char *name,
		     unsigned int i)
{
	int len = 0;
	const fdt32_t *p = fdt_getprop(t->fdt, n, name, &len);

	ck_assert_ptr_nonnull(p);
	ck_assert_int_gt(len, (int)(i * sizeof(*p)));
	return fdt32_to_cpu(p[i]);
}

START_TEST(every_device_has_its_node_registers_and_pin)
{
	static const char *const compatible[] = { "ns16550a", "syscon",
						  "qemu,pvpanic-mmio",
						  "microsoft,vmgenid",
						  "virtio,mmio" };
	struct told t;

	load(1, 64u << 20, &t);
	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		int n = node(&t, compatible[i]);

		ck_assert_uint_eq(cell(&t, n, "reg", 0), 0);
		ck_assert_uint_eq(cell(&t, n, "reg", 1), devices[i].base);
		ck_assert_uint_eq(cell(&t, n, "reg", 3), devices[i].len);
		if (devices[i].pin == FDT_NO_PIN) {
			ck_assert_ptr_null(
				fdt_getprop(t.fdt, n, "interrupts", NULL));
			continue;
		}
		ck_assert_uint_eq(cell(&t, n, "interrupts", 0), devices[i].pin);
		ck_assert_uint_eq(cell(&t, n, "interrupts", 1), 3);
	}
}
END_TEST

START_TEST(power_off_writes_the_value_that_the_register_takes)
{
	struct told t;
	int n;

	load(1, 64u << 20, &t);
	n = node(&t, "syscon-poweroff");
	ck_assert_uint_eq(cell(&t, n, "value", 0), FDT_POWEROFF_VALUE);
	ck_assert_uint_eq(cell(&t, n, "offset", 0), 0);
	ck_assert_uint_eq(cell(&t, n, "regmap", 0),
			  cell(&t, node(&t, "syscon"), "phandle", 0));
}
END_TEST

START_TEST(every_processor_is_listed_by_its_apic_id)
{
	static const unsigned int sizes[] = { 1, 2, 8, 32 };
	struct told t;

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		unsigned int n = 0;
		int cpus, c;

		load(sizes[i], 64u << 20, &t);
		cpus = fdt_path_offset(t.fdt, "/cpus");
		ck_assert_int_ge(cpus, 0);
		fdt_for_each_subnode(c, t.fdt, cpus)
			ck_assert_uint_eq(cell(&t, c, "reg", 0), n++);
		ck_assert_uint_eq(n, sizes[i]);
	}
}
END_TEST

START_TEST(the_interrupt_controllers_are_where_they_must_be)
{
	struct told t;
	int n;

	load(1, 64u << 20, &t);
	n = node(&t, "intel,ce4100-ioapic");
	ck_assert_uint_eq(cell(&t, n, "reg", 1), 0xfec00000);
	ck_assert_uint_eq(cell(&t, n, "phandle", 0),
			  cell(&t, 0, "interrupt-parent", 0));
	ck_assert_uint_eq(cell(&t, n, "#interrupt-cells", 0), 2);
	n = node(&t, "intel,ce4100-lapic");
	ck_assert_uint_eq(cell(&t, n, "reg", 1), 0xfee00000);
}
END_TEST

START_TEST(ram_is_told_without_the_hole)
{
	static const struct {
		uint64_t ram;
		unsigned int entries;
		uint64_t low_end;
		uint64_t high_end;
	} sizes[] = {
		{ 64ull << 20, 2, 64ull << 20, 0 },
		{ (3ull << 30) - 4096, 2, (3ull << 30) - 4096, 0 },
		{ 3ull << 30, 2, 3ull << 30, 0 },
		{ (3ull << 30) + 4096, 3, 3ull << 30, (4ull << 30) + 4096 },
		{ 6ull << 30, 3, 3ull << 30, 7ull << 30 },
	};
	struct told t;

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		const struct boot_e820_entry *x = t.bp.e820_table;

		load(1, sizes[i].ram, &t);
		ck_assert_uint_eq(t.bp.e820_entries, sizes[i].entries);
		ck_assert_uint_eq(x[0].addr, 0);
		ck_assert_uint_eq(x[0].size, 0xa0000);
		ck_assert_uint_eq(x[1].addr, 0x100000);
		ck_assert_uint_eq(x[1].addr + x[1].size, sizes[i].low_end);
		if (sizes[i].high_end) {
			ck_assert_uint_eq(x[2].addr, 4ull << 30);
			ck_assert_uint_eq(x[2].addr + x[2].size,
					  sizes[i].high_end);
		}
	}
}
END_TEST

START_TEST(parameters_say_where_the_rest_is)
{
	struct told t;

	load(1, 64u << 20, &t);
	ck_assert_str_eq(t.cmdline, "console=ttyS0");
	ck_assert_uint_eq(t.bp.hdr.ramdisk_image, 0x2000000);
	ck_assert_uint_eq(t.bp.hdr.ramdisk_size, 0x1234);
	ck_assert_uint_eq(t.bp.hdr.type_of_loader, 0xff);
}
END_TEST

START_TEST(no_two_boots_have_the_same_seed)
{
	static const uint8_t zero[64];
	struct told a, b;

	load(1, 64u << 20, &a);
	load(1, 64u << 20, &b);
	ck_assert_mem_ne(a.seed, b.seed, sizeof(a.seed));
	/* Nor is any quarter of it left unset. */
	for (size_t i = 0; i < sizeof(a.seed); i += 16)
		ck_assert_mem_ne(a.seed + i, zero, 16);
}
END_TEST

CHECK_MAIN("fdt", every_device_has_its_node_registers_and_pin,
	   power_off_writes_the_value_that_the_register_takes,
	   every_processor_is_listed_by_its_apic_id,
	   the_interrupt_controllers_are_where_they_must_be,
	   ram_is_told_without_the_hole, parameters_say_where_the_rest_is,
	   no_two_boots_have_the_same_seed)
