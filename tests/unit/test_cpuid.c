/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cpuid.c - vmm/arch/x86_64/cpuid.c, on plain tables */
#include <linux/kvm.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "vmm/arch/x86_64/cpuid.h"

/* The host's own topology in every leaf that has one. */
static const struct kvm_cpuid_entry2 host[] = {
	{ .function = 0, .eax = 0x1f },
	{ .function = 1, .ebx = 0x2a400800, .ecx = 0x1, .edx = 0x178bfbff },
	{ .function = 4, .index = 0, .eax = 0xfc004121 },
	{ .function = 4, .index = 3, .eax = 0xfc1fc163 },
	{ .function = 4, .index = 4, .eax = 0 },
	{ .function = 7, .ebx = 0x12345678 },
	{ .function = 0xa, .eax = 0x07300805, .edx = 0x603 },
	{ .function = 0xb, .index = 0, .eax = 1, .ebx = 2, .edx = 42 },
	{ .function = 0xb, .index = 1, .eax = 7, .ebx = 64, .edx = 42 },
	{ .function = 0xb, .index = 2, .edx = 42 },
	{ .function = 0x1f, .index = 0, .eax = 1, .ebx = 2, .edx = 42 },
	{ .function = 0x1f, .index = 1, .eax = 7, .ebx = 64, .edx = 42 },
	{ .function = 0x40000000, .eax = 0x40000001, .ebx = 0x4b4d564b },
	{ .function = 0x40000001, .eax = 0x01007efb },
	{ .function = 0x80000001, .ebx = 0x40000321, .ecx = 0x444031fb },
	{ .function = 0x80000008, .eax = 0x3028, .ecx = 0x703f },
	{ .function = 0x8000001d, .index = 0, .eax = 0x4121 },
	{ .function = 0x8000001d, .index = 3, .eax = 0x1c163 },
	{ .function = 0x8000001e, .eax = 42, .ebx = 0x115, .ecx = 0x301 },
	{ .function = 0x80000022, .eax = 1, .ebx = 6 },
};

/* @id of @n_cpus, after vCPU 0's table was made, as at a start. */
static void adapt(struct cpuid *c, unsigned int id, unsigned int n_cpus)
{
	c->n = ARRAY_LEN(host);
	c->entry = check_copy(host, sizeof(host));
	cpuid_adapt(c, 0, n_cpus);
	cpuid_adapt(c, id, n_cpus);
}

static const struct kvm_cpuid_entry2 *leaf(const struct cpuid *c, uint32_t fn,
					   uint32_t index)
{
	for (unsigned int i = 0; i < c->n; i++)
		if (c->entry[i].function == fn && c->entry[i].index == index)
			return &c->entry[i];
	ck_abort_msg("no leaf %#x", fn);
	return NULL;
}

START_TEST(every_leaf_with_an_apic_id_has_this_processors)
{
	struct cpuid c;

	adapt(&c, 5, 8);
	ck_assert_uint_eq(leaf(&c, 1, 0)->ebx >> 24, 5);
	ck_assert_uint_eq(leaf(&c, 0xb, 0)->edx, 5);
	ck_assert_uint_eq(leaf(&c, 0xb, 1)->edx, 5);
	ck_assert_uint_eq(leaf(&c, 0xb, 2)->edx, 5);
	ck_assert_uint_eq(leaf(&c, 0x1f, 1)->edx, 5);
	ck_assert_uint_eq(leaf(&c, 0x8000001e, 0)->eax, 5);
	cpuid_done(&c);
}
END_TEST

START_TEST(it_is_one_package_of_single_thread_cores)
{
	static const struct {
		unsigned int n;
		unsigned int bits;
	} sizes[] = { { 1, 0 }, { 2, 1 }, { 3, 2 }, { 8, 3 }, { 32, 5 } };
	struct cpuid c;

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		unsigned int n = sizes[i].n, bits = sizes[i].bits;

		adapt(&c, n - 1, n);
		ck_assert_uint_eq(leaf(&c, 1, 0)->ebx >> 16 & 0xff, 1u << bits);
		ck_assert_uint_eq(leaf(&c, 1, 0)->edx >> 28 & 1, n > 1);
		ck_assert_uint_eq(leaf(&c, 0xb, 0)->eax, 0);
		ck_assert_uint_eq(leaf(&c, 0xb, 0)->ebx, 1);
		ck_assert_uint_eq(leaf(&c, 0xb, 0)->ecx, 0x100);
		ck_assert_uint_eq(leaf(&c, 0xb, 1)->eax, bits);
		ck_assert_uint_eq(leaf(&c, 0xb, 1)->ebx, n);
		ck_assert_uint_eq(leaf(&c, 0xb, 1)->ecx, 0x201);
		ck_assert_uint_eq(leaf(&c, 0xb, 2)->ebx, 0);
		ck_assert_uint_eq(leaf(&c, 0xb, 2)->ecx, 2);
		ck_assert_uint_eq(leaf(&c, 0x80000008, 0)->ecx,
				  bits << 12 | (n - 1));
		ck_assert_uint_eq(leaf(&c, 0x80000008, 0)->eax, 0x3028);
		ck_assert_uint_eq(leaf(&c, 0x80000001, 0)->ecx >> 1 & 1, n > 1);
		cpuid_done(&c);
	}
}
END_TEST

START_TEST(third_level_cache_is_shared_by_all_others_by_none)
{
	struct cpuid c;

	adapt(&c, 3, 8);
	ck_assert_uint_eq(leaf(&c, 4, 0)->eax, 0x1c000121);
	ck_assert_uint_eq(leaf(&c, 4, 3)->eax, 0x1c01c163);
	ck_assert_uint_eq(leaf(&c, 4, 4)->eax, 0);
	ck_assert_uint_eq(leaf(&c, 0x8000001d, 0)->eax, 0x121);
	ck_assert_uint_eq(leaf(&c, 0x8000001d, 3)->eax, 0x1c163);
	cpuid_done(&c);
}
END_TEST

START_TEST(what_the_kernel_needs_is_offered_and_counters_are_not)
{
	struct cpuid c;

	adapt(&c, 0, 1);
	ck_assert_uint_eq(leaf(&c, 1, 0)->ecx,
			  1u | 1u << 21 | 1u << 24 | 1u << 31);
	ck_assert_uint_eq(leaf(&c, 0xa, 0)->eax | leaf(&c, 0xa, 0)->edx, 0);
	ck_assert_uint_eq(leaf(&c, 0x80000022, 0)->eax, 0);
	ck_assert_uint_eq(leaf(&c, 0x80000022, 0)->ebx, 0);
	/* All else is the host's. */
	ck_assert_uint_eq(leaf(&c, 7, 0)->ebx, 0x12345678);
	ck_assert_uint_eq(leaf(&c, 0x40000000, 0)->ebx, 0x4b4d564b);
	ck_assert_uint_eq(leaf(&c, 1, 0)->ebx & 0xffff, 0x0800);
	cpuid_done(&c);
}
END_TEST

/* See cpuid_no_async_faults(): three bits of one leaf. */
START_TEST(waiting_for_pages_is_not_offered_if_they_may_never_come)
{
	struct cpuid c;

	adapt(&c, 0, 1);
	ck_assert_uint_eq(leaf(&c, 0x40000001, 0)->eax, 0x01007efb);
	cpuid_no_async_faults(&c);
	ck_assert_uint_eq(leaf(&c, 0x40000001, 0)->eax, 0x01003aeb);
	ck_assert_uint_eq(leaf(&c, 0x40000000, 0)->eax, 0x40000001);
	cpuid_done(&c);
}
END_TEST

START_TEST(width_of_addresses_is_what_kvm_says_or_the_least)
{
	static const struct {
		uint32_t eax;
		unsigned int bits;
	} known[] = {
		{ 0x3028, 40 }, { 0x3034, 52 }, { 0x30ff, 52 }, { 0, 36 }
	};
	struct kvm_cpuid_entry2 x = { .function = 0x80000008 };
	struct cpuid c = { .n = 1, .entry = &x };

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		x.eax = known[i].eax;
		ck_assert_uint_eq(cpuid_address_bits(&c), known[i].bits);
	}
	c.n = 0;
	ck_assert_uint_eq(cpuid_address_bits(&c), 36);
}
END_TEST

CHECK_MAIN("cpuid", every_leaf_with_an_apic_id_has_this_processors,
	   it_is_one_package_of_single_thread_cores,
	   third_level_cache_is_shared_by_all_others_by_none,
	   what_the_kernel_needs_is_offered_and_counters_are_not,
	   waiting_for_pages_is_not_offered_if_they_may_never_come,
	   width_of_addresses_is_what_kvm_says_or_the_least)
