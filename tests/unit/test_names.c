/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_names.c - words of hutch.h: states, reasons, times, options */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "host/lib/internal.h"
#include "host/lib/names.h"
#include "host/lib/record.h"
#include "tests/lib/check_main.h"

START_TEST(states_and_reasons_come_back)
{
	for (int i = HUTCH_STATE_STARTING; i <= HUTCH_STATE_STOPPED; i++)
		ck_assert_int_eq(state_from_name(hutch_state_name(i)), i);
	for (int i = HUTCH_REASON_NONE; i <= HUTCH_REASON_LOST; i++)
		ck_assert_int_eq(reason_from_name(hutch_reason_name(i)), i);
	ck_assert_str_eq(hutch_state_name(0), "?");
	ck_assert_str_eq(hutch_state_name(99), "?");
	ck_assert_str_eq(hutch_reason_name(99), "?");
	ck_assert_int_eq(state_from_name(""), -1);
	ck_assert_int_eq(reason_from_name("tired"), -1);
}
END_TEST

START_TEST(times_come_back)
{
	static const struct {
		int64_t ns;
		const char *text;
	} t[] = {
		{ 1, "1970-01-01T00:00:00.000000001Z" },
		{ 1769860800123456789, "2026-01-31T12:00:00.123456789Z" },
		{ 951782400000000000, "2000-02-29T00:00:00.000000000Z" },
	};
	char buf[RFC3339_LEN];
	int64_t ns;

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		ck_assert_str_eq(rfc3339_text(t[i].ns, buf), t[i].text);
		ck_assert_int_eq(rfc3339_parse(t[i].text, &ns), 0);
		ck_assert(ns == t[i].ns);
	}
	ck_assert_str_eq(hutch_time_text(1769860800123456789, buf, sizeof(buf)),
			 "2026-01-31T12:00:00.123Z");
	ck_assert_str_eq(hutch_time_text(0, buf, sizeof(buf)), "");
}
END_TEST

/* Against the C library, over all that 64 bits of nanoseconds can say. */
START_TEST(times_agree_with_the_c_library)
{
	const int64_t step = 86400ll * 1000000000 * 7 / 3;

	for (int64_t ns = 1; ns < INT64_MAX - step; ns += step) {
		char buf[RFC3339_LEN], want[RFC3339_LEN];
		time_t s = ns / 1000000000;
		struct tm tm;
		int64_t back;
		size_t n;

		ck_assert_ptr_nonnull(gmtime_r(&s, &tm));
		n = strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%S", &tm);
		(void)snprintf(want + n, sizeof(want) - n, ".%09dZ",
			       (int)(ns % 1000000000));
		if (strcmp(rfc3339_text(ns, buf), want) != 0)
			ck_abort_msg("%s is not %s", buf, want);
		if (tm.tm_year + 1900 > 2261)
			break;
		if (rfc3339_parse(buf, &back) < 0 || back != ns)
			ck_abort_msg("%s does not come back", buf);
	}
}
END_TEST

START_TEST(parse_of_a_wrong_time_is_einval)
{
	static const char good[] = "2026-01-31T12:00:00.123456789Z";
	static const char *const bad[] = {
		"",
		"2026-13-31T12:00:00.123456789Z",
		"2026-00-31T12:00:00.123456789Z",
		"1969-01-31T12:00:00.123456789Z",
		"2262-01-31T12:00:00.123456789Z",
		"2026-01-31 12:00:00.123456789Z",
		"2026-01-31T24:00:00.123456789Z",
		"2026-01-31T12:00:00.123Z",
		"2026-01-31T12:00:00.123456789Zx",
		"2026-01-31T12:00:00.123456789+",
	};
	int64_t ns;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ck_assert_int_eq(rfc3339_parse(bad[i], &ns), -EINVAL);
	for (size_t n = 0; n < sizeof(good) - 1; n++) {
		char *s = check_copy(good, n + 1);

		s[n] = '\0';
		ck_assert_int_eq(rfc3339_parse(s, &ns), -EINVAL);
		free(s);
	}
}
END_TEST

START_TEST(reason_text_says_what_is_known)
{
	struct hutch_record *rec = record_new();
	char buf[64], small[8];

	ck_assert_str_eq(hutch_reason_text(rec, buf, sizeof(buf)), "starting");
	rec->reason = HUTCH_REASON_EXITED;
	rec->exit_code = 7;
	ck_assert_str_eq(hutch_reason_text(rec, buf, sizeof(buf)), "exited(7)");
	rec->reason = HUTCH_REASON_GUEST_PANIC;
	ck_assert_str_eq(hutch_reason_text(rec, buf, sizeof(buf)),
			 "guest-panic");
	ck_assert_str_eq(hutch_reason_text(rec, small, sizeof(small)),
			 "guest-p");
	hutch_record_free(rec);
}
END_TEST

START_TEST(durations_are_rounded_up_to_milliseconds)
{
	uint64_t ms;

	ck_assert_int_eq(hutch_parse_duration("t", "1.5s", &ms, NULL), 0);
	ck_assert_uint_eq(ms, 1500);
	ck_assert_int_eq(hutch_parse_duration("t", "1ns", &ms, NULL), 0);
	ck_assert_uint_eq(ms, 1);
	ck_assert_int_eq(hutch_parse_duration("t", "0", &ms, NULL), 0);
	ck_assert_uint_eq(ms, 0);
	ck_assert_int_eq(hutch_parse_duration("t", "x", &ms, NULL), -EINVAL);
}
END_TEST

/* An older program has fewer fields; a newer one may, if they are unset. */
START_TEST(options_of_other_sizes_are_taken)
{
	struct {
		size_t size;
		int a, b;
	} now = { 0 };
	struct {
		size_t size;
		int a, b;
		long c;
	} newer = { sizeof(newer), 1, 2, 0 };
	struct {
		size_t size;
		int a;
	} older = { sizeof(size_t) + sizeof(int), 3 };

	ck_assert_int_eq(opts_take(&now, sizeof(now), &newer, newer.size, NULL),
			 0);
	ck_assert_int_eq(now.b, 2);
	ck_assert_int_eq(opts_take(&now, sizeof(now), &older, older.size, NULL),
			 0);
	ck_assert_int_eq(now.a, 3);
	ck_assert_int_eq(now.b, 0);
	newer.c = 1;
	ck_assert_int_eq(opts_take(&now, sizeof(now), &newer, newer.size, NULL),
			 -EINVAL);
	ck_assert_int_eq(opts_take(&now, sizeof(now), &newer, 0, NULL),
			 -EINVAL);
	ck_assert_int_eq(opts_take(&now, sizeof(now), &newer, 1 << 20, NULL),
			 -EINVAL);
}
END_TEST

CHECK_MAIN("names", states_and_reasons_come_back, times_come_back,
	   times_agree_with_the_c_library, parse_of_a_wrong_time_is_einval,
	   reason_text_says_what_is_known,
	   durations_are_rounded_up_to_milliseconds,
	   options_of_other_sizes_are_taken)
