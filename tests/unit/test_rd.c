/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_rd.c - common/rd.c and its other half, common/wr.c */
#include <errno.h>
#include <string.h>

#include "common/rd.h"
#include "common/wr.h"
#include "tests/lib/check_main.h"

START_TEST(integers_are_little_endian)
{
	static const uint8_t m[] = { 0x01, 0x23, 0x01, 0x67, 0x45,
				     0x23, 0x01, 0xef, 0xcd, 0xab,
				     0x89, 0x67, 0x45, 0x23, 0x01 };
	auto_free void *p = check_copy(m, sizeof(m));
	struct rd rd = rd_init(p, sizeof(m));

	ck_assert_uint_eq(rd_u8(&rd), 0x01);
	ck_assert_uint_eq(rd_le16(&rd), 0x0123);
	ck_assert_uint_eq(rd_le32(&rd), 0x01234567);
	ck_assert_uint_eq(rd_le64(&rd), 0x0123456789abcdef);
	ck_assert_int_eq(rd_end(&rd), 0);
}
END_TEST

START_TEST(a_field_cut_short_reads_as_nothing_and_poisons)
{
	/* Every width over every buffer that is too small for it. */
	for (size_t len = 0; len < 8; len++) {
		auto_free void *p = check_copy("\1\1\1\1\1\1\1\1", len);
		struct rd rd = rd_init(p, len);

		ck_assert_uint_eq(rd_le64(&rd), 0);
		ck_assert_int_eq(rd_end(&rd), -EBADMSG);
		/* Bytes that are there are no longer given out. */
		ck_assert_uint_eq(rd_u8(&rd), 0);
		ck_assert_ptr_null(rd_bytes(&rd, 0));
		if (len < 4) {
			rd = rd_init(p, len);
			ck_assert_uint_eq(rd_le32(&rd), 0);
			ck_assert_int_eq(rd_end(&rd), -EBADMSG);
		}
		if (len < 2) {
			rd = rd_init(p, len);
			ck_assert_uint_eq(rd_le16(&rd), 0);
			ck_assert_int_eq(rd_end(&rd), -EBADMSG);
		}
	}
}
END_TEST

START_TEST(bytes_past_the_end_are_refused_whatever_the_length)
{
	static const size_t len[] = { 5, 6, SIZE_MAX / 2, SIZE_MAX };

	for (size_t i = 0; i < ARRAY_LEN(len); i++) {
		auto_free void *p = check_copy("abcd", 4);
		struct rd rd = rd_init(p, 4);

		ck_assert_ptr_null(rd_bytes(&rd, len[i]));
		ck_assert(rd.bad);
	}
}
END_TEST

START_TEST(unread_bytes_are_an_error_at_the_end)
{
	auto_free void *p = check_copy("ab", 2);
	struct rd rd = rd_init(p, 2);

	(void)rd_u8(&rd);

	ck_assert_int_eq(rd_end(&rd), -EBADMSG);
}
END_TEST

START_TEST(a_string_comes_back_in_place)
{
	static const char m[] = "\2\0\0\0hi";
	auto_free char *p = check_copy(m, sizeof(m));
	struct rd rd = rd_init(p, sizeof(m));
	const char *s = rd_str(&rd);

	ck_assert_ptr_eq(s, p + 4);
	ck_assert_str_eq(s, "hi");
	ck_assert_int_eq(rd_end(&rd), 0);
}
END_TEST

START_TEST(an_empty_string_is_a_string)
{
	auto_free char *p = check_copy("\0\0\0\0", 5);
	struct rd rd = rd_init(p, 5);

	ck_assert_str_eq(rd_str(&rd), "");
	ck_assert_int_eq(rd_end(&rd), 0);
}
END_TEST

START_TEST(a_malformed_string_is_refused)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
		{ "\2\0\0\0hi", 6 },    /* no NUL: the end comes first */
		{ "\2\0\0\0hix", 7 },   /* another byte where NUL belongs */
		{ "\2\0\0\0h\0\0", 7 }, /* a NUL inside */
		{ "\3\0\0\0hi\0", 7 },  /* one byte longer than there is */
		{ "\377\377\377\377hi", 7 }, /* longer than anything */
		{ "\0\0\0\0", 4 },           /* empty, and no NUL */
		{ "\0\0\0", 3 },             /* no whole length */
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		auto_free void *p = check_copy(bad[i].bytes, bad[i].len);
		struct rd rd = rd_init(p, bad[i].len);

		ck_assert_ptr_null(rd_str(&rd));
		ck_assert_int_eq(rd_end(&rd), -EBADMSG);
	}
}
END_TEST

START_TEST(what_the_writer_wrote_the_reader_reads)
{
	uint8_t buf[64];
	struct wr wr = wr_init(buf, sizeof(buf));
	auto_free void *p = NULL;
	struct rd rd;

	wr_u8(&wr, 0xfe);
	wr_le16(&wr, 0xfedc);
	wr_le32(&wr, 0xfedcba98);
	wr_le64(&wr, 0xfedcba9876543210);
	wr_str(&wr, "sh");
	wr_bytes(&wr, "xyz", 3);
	ck_assert_int_eq(wr_end(&wr), 1 + 2 + 4 + 8 + 4 + 3 + 3);

	p = check_copy(buf, wr.len);
	rd = rd_init(p, wr.len);
	ck_assert_uint_eq(rd_u8(&rd), 0xfe);
	ck_assert_uint_eq(rd_le16(&rd), 0xfedc);
	ck_assert_uint_eq(rd_le32(&rd), 0xfedcba98);
	ck_assert_uint_eq(rd_le64(&rd), 0xfedcba9876543210);
	ck_assert_str_eq(rd_str(&rd), "sh");
	ck_assert_mem_eq(rd_bytes(&rd, 3), "xyz", 3);
	ck_assert_int_eq(rd_end(&rd), 0);
}
END_TEST

START_TEST(a_write_that_does_not_fit_poisons_the_writer)
{
	auto_free uint8_t *buf = check_copy("......", 6);
	struct wr wr = wr_init(buf, 6);

	wr_le32(&wr, 1);
	wr_le32(&wr, 2);
	/* This one would fit; a message with a hole is no message. */
	wr_u8(&wr, 3);

	ck_assert_int_eq(wr_end(&wr), -EMSGSIZE);
	ck_assert_mem_eq(buf, "\1\0\0\0..", 6);
}
END_TEST

START_TEST(a_message_may_fill_the_buffer_to_the_last_byte)
{
	auto_free uint8_t *buf = check_copy("......", 6);
	struct wr wr = wr_init(buf, 6);

	wr_str(&wr, "a");

	ck_assert_int_eq(wr_end(&wr), 6);
	wr_bytes(&wr, "", 0);
	ck_assert_int_eq(wr_end(&wr), 6);
	wr_u8(&wr, 0);
	ck_assert_int_eq(wr_end(&wr), -EMSGSIZE);
}
END_TEST

CHECK_MAIN("rd", integers_are_little_endian,
	   a_field_cut_short_reads_as_nothing_and_poisons,
	   bytes_past_the_end_are_refused_whatever_the_length,
	   unread_bytes_are_an_error_at_the_end, a_string_comes_back_in_place,
	   an_empty_string_is_a_string, a_malformed_string_is_refused,
	   what_the_writer_wrote_the_reader_reads,
	   a_write_that_does_not_fit_poisons_the_writer,
	   a_message_may_fill_the_buffer_to_the_last_byte)
