/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_mem.c - vmm/core/mem.c: no pointer past the end of RAM */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/lib/check_main.h"
#include "vmm/core/mem.h"

#define LOW_LEN  0x4000u
#define HIGH_GPA 0x100000000ull
#define HIGH_LEN 0x2000u

/* RAM in two runs with a hole between, as on a large guest. */
static void make(struct gmem *m)
{
	static const struct gmem_range range[] = { { 0, LOW_LEN },
						   { HIGH_GPA, HIGH_LEN } };

	ck_assert_int_eq(gmem_init(m, range, 2, NULL), 0);
}

START_TEST(bytes_written_in_each_region_are_read_back)
{
	struct gmem m;
	char got[4];

	make(&m);
	ck_assert_uint_eq(gmem_size(&m), LOW_LEN + HIGH_LEN);
	ck_assert_int_eq(gmem_write(&m, LOW_LEN - 4, "low!", 4), 0);
	ck_assert_int_eq(gmem_write(&m, HIGH_GPA, "high", 4), 0);
	ck_assert_int_eq(gmem_read(&m, LOW_LEN - 4, got, 4), 0);
	ck_assert_mem_eq(got, "low!", 4);
	ck_assert_int_eq(gmem_read(&m, HIGH_GPA, got, 4), 0);
	ck_assert_mem_eq(got, "high", 4);
	gmem_done(&m);
}
END_TEST

START_TEST(ranges_not_wholly_in_ram_are_efault)
{
	/* Each touches RAM, or wraps round to it, but does not fit in it. */
	static const struct {
		uint64_t gpa;
		uint64_t len;
	} bad[] = {
		{ LOW_LEN - 4, 5 },         { LOW_LEN, 1 },
		{ HIGH_GPA - 1, 2 },        { HIGH_GPA - 1, 1 },
		{ HIGH_GPA + HIGH_LEN, 1 }, { HIGH_GPA, HIGH_LEN + 1 },
		{ UINT64_MAX, 2 },          { UINT64_MAX - 7, 16 },
		{ 0, UINT64_MAX },          { 1, UINT64_MAX },
		{ 0, HIGH_GPA + 1 },
	};
	struct iovec iov;
	struct gmem m;
	char c[16] = { 0 };

	make(&m);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		size_t len = (size_t)bad[i].len;

		ck_assert_int_eq(gmem_check(&m, bad[i].gpa, len), -EFAULT);
		ck_assert_int_eq(gmem_iov(&m, bad[i].gpa, len, &iov), -EFAULT);
		ck_assert_int_eq(gmem_load_fd(&m, bad[i].gpa, m.fd, 0, len),
				 -EFAULT);
		if (len > sizeof(c))
			continue;
		ck_assert_int_eq(gmem_read(&m, bad[i].gpa, c, len), -EFAULT);
		ck_assert_int_eq(gmem_write(&m, bad[i].gpa, c, len), -EFAULT);
	}
	gmem_done(&m);
}
END_TEST

START_TEST(indexes_must_be_aligned_and_in_ram)
{
	struct gmem m;
	uint16_t v = 0;

	make(&m);
	ck_assert_int_eq(gmem_store_le16(&m, 2, 0x1234), 0);
	ck_assert_int_eq(gmem_load_le16(&m, 2, &v), 0);
	ck_assert_uint_eq(v, 0x1234);
	ck_assert_int_eq(gmem_load_le16(&m, 3, &v), -EFAULT);
	ck_assert_int_eq(gmem_store_le16(&m, 3, 1), -EFAULT);
	ck_assert_int_eq(gmem_load_le16(&m, LOW_LEN, &v), -EFAULT);
	ck_assert_int_eq(gmem_store_le16(&m, LOW_LEN, 1), -EFAULT);
	gmem_done(&m);
}
END_TEST

START_TEST(a_file_lands_at_its_place_in_either_region)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	char got[12];
	struct gmem m;

	make(&m);
	ck_assert_int_eq(pwrite(fd, "0123456789", 10, 0), 10);
	ck_assert_int_eq(gmem_load_fd(&m, 5, fd, 2, 4), 0);
	ck_assert_int_eq(gmem_load_fd(&m, HIGH_GPA + 1, fd, 0, 10), 0);
	ck_assert_int_eq(gmem_read(&m, 4, got, 6), 0);
	ck_assert_mem_eq(got, "\0002345\0", 6);
	ck_assert_int_eq(gmem_read(&m, HIGH_GPA, got, 12), 0);
	ck_assert_mem_eq(got, "\0000123456789\0", 12);
	ck_assert_int_eq(gmem_load_fd(&m, 0, fd, 8, 3), -ENODATA);
	(void)close(fd);
	gmem_done(&m);
}
END_TEST

/* Only whole large pages of RAM can be warmed; the rest is left alone. */
START_TEST(warming_any_range_changes_no_byte)
{
	static const struct gmem_range range[] = { { 0, 5u << 20 },
						   { HIGH_GPA, HIGH_LEN } };
	static const struct gmem_range warm[] = {
		{ 0, 0 },
		{ 0, 1 },
		{ 1u << 20, 3u << 20 },
		{ 4u << 20, 8u << 20 },
		{ HIGH_GPA, HIGH_LEN },
		{ 64u << 20, 4u << 20 },
	};
	struct gmem m;
	uint8_t c = 1;

	ck_assert_int_eq(gmem_init(&m, range, 2, NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(warm); i++)
		gmem_warm(&m, warm[i].gpa, warm[i].len);
	for (uint64_t at = 0; at < range[0].len; at += 4096) {
		ck_assert_int_eq(gmem_read(&m, at, &c, 1), 0);
		ck_assert_uint_eq(c, 0);
	}
	ck_assert_int_eq(gmem_write(&m, (2u << 20) - 2, "abcd", 4), 0);
	ck_assert_int_eq(gmem_read(&m, (2u << 20) + 1, &c, 1), 0);
	ck_assert_uint_eq(c, 'd');
	gmem_done(&m);
}
END_TEST

START_TEST(ram_is_sparse_and_zero)
{
	static const struct gmem_range range[] = { { 0, 1ull << 40 } };
	struct stat st;
	struct gmem m;
	uint8_t c = 1;

	ck_assert_int_eq(gmem_init(&m, range, 1, NULL), 0);
	ck_assert_int_eq(gmem_read(&m, (1ull << 40) - 1, &c, 1), 0);
	ck_assert_uint_eq(c, 0);
	ck_assert_int_eq(fstat(m.fd, &st), 0);
	ck_assert_int_le(st.st_blocks, 16);
	gmem_done(&m);
	ck_assert_int_eq(m.fd, -1);
}
END_TEST

CHECK_MAIN("mem", bytes_written_in_each_region_are_read_back,
	   ranges_not_wholly_in_ram_are_efault,
	   indexes_must_be_aligned_and_in_ram,
	   a_file_lands_at_its_place_in_either_region,
	   warming_any_range_changes_no_byte, ram_is_sparse_and_zero)
