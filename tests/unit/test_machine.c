/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_machine.c - vmm/machine.c: what ends a VM and what does not */
#include <string.h>

#include "tests/lib/check_main.h"
#include "vmm/machine.h"
#include "vmm/run.h"

static void make(struct run *r)
{
	static struct vcpu vcpu; /* never run, so never touched */
	const struct run_config c = { .vcpu = &vcpu, .n = 1 };

	ck_assert_int_eq(run_init(r, &c, NULL), 0);
}

static void expect_running(struct run *r)
{
	struct run_end end;

	ck_assert(!run_get_end(r, &end));
	ck_assert(!atomic_load(&r->panicked));
}

static void expect_end(struct run *r, enum run_reason reason)
{
	struct run_end end;

	ck_assert(run_get_end(r, &end));
	ck_assert_int_eq(end.reason, reason);
	run_done(r);
}

static void wr(const struct bus_ops *ops, struct run *r, uint64_t off,
	       uint64_t v, unsigned int len)
{
	auto_free uint8_t *p = check_copy(&v, len);

	ops->write(r, off, p, len);
}

static uint64_t rd(const struct bus_ops *ops, struct run *r, uint64_t off,
		   unsigned int len)
{
	uint64_t v = UINT64_MAX;

	ops->read(r, off, (uint8_t *)&v, len);
	return len == 8 ? v : v & ((1ull << 8 * len) - 1);
}

START_TEST(only_the_whole_power_off_value_powers_off)
{
	struct run r;

	make(&r);
	ck_assert_uint_eq(rd(&machine_power_ops, &r, 0, 4), 0);
	wr(&machine_power_ops, &r, 0, 0x5554, 4);
	wr(&machine_power_ops, &r, 0, 0x5555, 2);
	wr(&machine_power_ops, &r, 0, 0x5555, 8);
	wr(&machine_power_ops, &r, 1, 0x5555, 1);
	wr(&machine_power_ops, &r, 2, 0x5555, 2);
	expect_running(&r);
	wr(&machine_power_ops, &r, 0, 0x5555, 4);
	expect_end(&r, RUN_POWEROFF);
}
END_TEST

START_TEST(only_the_reset_pulse_resets)
{
	struct run r;

	make(&r);
	ck_assert_uint_eq(rd(&machine_reset_ops, &r, 0, 1), 0);
	wr(&machine_reset_ops, &r, 0, 0xff, 1);
	wr(&machine_reset_ops, &r, 0, 0, 1);
	expect_running(&r);
	wr(&machine_reset_ops, &r, 0, 0xfe, 1);
	expect_end(&r, RUN_RESET);
}
END_TEST

START_TEST(a_panic_is_noted_and_names_what_follows)
{
	static const enum run_reason after[] = { RUN_RESET, RUN_CRASH,
						 RUN_POWEROFF, RUN_HOST_ERROR };
	struct run r;

	for (size_t i = 0; i < ARRAY_LEN(after); i++) {
		struct run_end end;

		make(&r);
		ck_assert_uint_eq(rd(&machine_panic_ops, &r, 0, 1), 1);
		wr(&machine_panic_ops, &r, 0, 2,
		   1); /* crash loaded: not ours */
		wr(&machine_panic_ops, &r, 1, 1, 1);
		expect_running(&r);
		wr(&machine_panic_ops, &r, 0, 1, 1);
		ck_assert(atomic_load(&r.panicked));
		ck_assert(!run_get_end(&r, &end));
		run_end(&r, after[i], NULL);
		expect_end(&r, RUN_PANIC);
	}
	make(&r);
	wr(&machine_panic_ops, &r, 0, 1, 1);
	run_end(&r, RUN_STOPPED, NULL); /* this came from outside */
	expect_end(&r, RUN_STOPPED);
}
END_TEST

START_TEST(the_first_reason_stands)
{
	struct run_end end;
	struct run r;

	make(&r);
	run_end(&r, RUN_CRASH, "vCPU 0: triple fault");
	run_end(&r, RUN_STOPPED, "later");
	ck_assert(run_get_end(&r, &end));
	ck_assert_str_eq(end.text, "vCPU 0: triple fault");
	ck_assert_int_eq(run_reason_status(end.reason), 5);
	ck_assert_str_eq(run_reason_word(end.reason), "guest-crash");
	expect_end(&r, RUN_CRASH);
}
END_TEST

START_TEST(words_and_statuses_are_the_documented_ones)
{
	static const struct {
		enum run_reason reason;
		int status;
		const char *word;
	} all[] = { { RUN_POWEROFF, 0, "poweroff" },
		    { RUN_HOST_ERROR, 1, "host-error" },
		    { RUN_RESET, 3, "reset" },
		    { RUN_PANIC, 4, "guest-panic" },
		    { RUN_CRASH, 5, "guest-crash" },
		    { RUN_STOPPED, 6, "stopped" } };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		ck_assert_str_eq(run_reason_word(all[i].reason), all[i].word);
		ck_assert_int_eq(run_reason_status(all[i].reason),
				 all[i].status);
	}
}
END_TEST

START_TEST(no_two_generation_ids_are_equal)
{
	struct machine_vmgenid a = { 0 }, b = { 0 };

	ck_assert_int_eq(machine_vmgenid_init(&a, NULL), 0);
	ck_assert_int_eq(machine_vmgenid_init(&b, NULL), 0);
	ck_assert_mem_ne(a.page, b.page, MACHINE_VMGENID_LEN);
	machine_vmgenid_done(&a);
	machine_vmgenid_done(&b);
}
END_TEST

CHECK_MAIN("machine", only_the_whole_power_off_value_powers_off,
	   only_the_reset_pulse_resets, a_panic_is_noted_and_names_what_follows,
	   the_first_reason_stands, words_and_statuses_are_the_documented_ones,
	   no_two_generation_ids_are_equal)
