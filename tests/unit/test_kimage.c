/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_kimage.c - vmm/arch/x86_64/kimage.c: hostile kernel files */
#include <errno.h>
#include <string.h>

#include "common/le.h"
#include "common/wr.h"
#include "tests/lib/check_main.h"
#include "vmm/arch/x86_64/kimage.h"

#define FILE_LEN 0x3000u
#define BASE     0x1000000ull

/** struct elf - The fields that matter, sound until a test spoils one */
struct elf {
	uint8_t class;
	uint8_t data;
	uint16_t type;
	uint16_t machine;
	uint64_t entry;
	uint64_t ph_off;
	uint16_t ph_size;
	uint16_t ph_num;
	uint32_t seg_type;
	uint64_t off;
	uint64_t gpa;
	uint64_t file_len;
	uint64_t mem_len;
};

static const struct elf sound = {
	.class = 2,
	.data = 1,
	.type = 2,
	.machine = 62,
	.entry = BASE + 0x10,
	.ph_off = 64,
	.ph_size = 56,
	.ph_num = 2,
	.seg_type = 1,
	.off = 0x1000,
	.gpa = BASE,
	.file_len = 0x2000,
	.mem_len = 0x9000,
};

/* A head as it is in the file; program headers lie right behind. */
static size_t compose(const struct elf *x, uint8_t head[KIMAGE_HEAD_LEN])
{
	struct wr w = wr_init(head, KIMAGE_HEAD_LEN);

	memset(head, 0, KIMAGE_HEAD_LEN);
	wr_bytes(&w, "\177ELF", 4);
	wr_u8(&w, x->class);
	wr_u8(&w, x->data);
	wr_u8(&w, 1);
	wr_bytes(&w, "\0\0\0\0\0\0\0\0\0", 9);
	wr_le16(&w, x->type);
	wr_le16(&w, x->machine);
	wr_le32(&w, 1);
	wr_le64(&w, x->entry);
	wr_le64(&w, x->ph_off);
	wr_le64(&w, 0);
	wr_le32(&w, 0);
	wr_le16(&w, 64);
	wr_le16(&w, x->ph_size);
	wr_le16(&w, x->ph_num);
	wr_bytes(&w, "\0\0\0\0\0\0", 6);
	for (unsigned int i = 0; i < x->ph_num && i < 40; i++) {
		wr_le32(&w, i == 0 ? x->seg_type : 4); /* then notes */
		wr_le32(&w, 7);
		wr_le64(&w, x->off);
		wr_le64(&w, 0xffffffff81000000);
		wr_le64(&w, x->gpa);
		wr_le64(&w, x->file_len);
		wr_le64(&w, x->mem_len);
		wr_le64(&w, 0x200000);
	}
	return (size_t)wr_end(&w);
}

/* Parse a heap copy of exact size. */
static int parse(const uint8_t *head, size_t len, uint64_t file_len,
		 struct kimage *k)
{
	auto_free uint8_t *p = check_copy(head, len);
	struct err e = { 0 };
	int r = kimage_parse(p, len, file_len, k, &e);

	ck_assert((r < 0) == (e.msg[0] != '\0'));
	return r;
}

static int parse_elf(const struct elf *x)
{
	uint8_t head[KIMAGE_HEAD_LEN];
	struct kimage k;

	(void)compose(x, head);
	return parse(head, sizeof(head), FILE_LEN, &k);
}

START_TEST(a_sound_elf_becomes_one_copy)
{
	uint8_t head[KIMAGE_HEAD_LEN];
	struct kimage k;

	(void)compose(&sound, head);
	ck_assert_int_eq(parse(head, sizeof(head), FILE_LEN, &k), 0);
	ck_assert_uint_eq(k.n_seg, 1);
	ck_assert_uint_eq(k.seg[0].file_off, 0x1000);
	ck_assert_uint_eq(k.seg[0].gpa, BASE);
	ck_assert_uint_eq(k.seg[0].file_len, 0x2000);
	ck_assert_uint_eq(k.seg[0].mem_len, 0x9000);
	ck_assert_uint_eq(k.entry, BASE + 0x10);
	ck_assert_uint_eq(k.end, BASE + 0x9000);
	ck_assert_uint_eq(k.cmdline_max, 2047);
	ck_assert_uint_eq(k.setup_len, 0);
}
END_TEST

#define SPOIL(field, value)                                 \
	do {                                                \
		struct elf x_ = sound;                      \
		x_.field = (value);                         \
		ck_assert_int_eq(parse_elf(&x_), -ENOEXEC); \
	} while (0)

START_TEST(each_bad_identification_is_refused)
{
	SPOIL(class, 1);
	SPOIL(data, 2);
	SPOIL(machine, 183);
	SPOIL(type, 3);
	SPOIL(ph_size, 32);
	SPOIL(ph_size, 57);
}
END_TEST

START_TEST(each_bad_segment_is_refused)
{
	SPOIL(off, 0x1001); /* one byte past the end of the file */
	SPOIL(off, UINT64_MAX);
	SPOIL(off, UINT64_MAX - 0xfff);
	SPOIL(file_len, 0x2001);
	SPOIL(file_len, UINT64_MAX);
	SPOIL(mem_len, 0x1fff); /* less than comes from the file */
	SPOIL(mem_len, UINT64_MAX);
	SPOIL(mem_len, 0xc0000000 - BASE + 1); /* into the hole */
	SPOIL(gpa, 0xff000);
	SPOIL(gpa, 0);
	SPOIL(gpa, 0xc0000000);
	SPOIL(gpa, UINT64_MAX);
	SPOIL(gpa, 0x100000000);
}
END_TEST

START_TEST(an_entry_outside_of_what_is_loaded_is_refused)
{
	SPOIL(entry, BASE - 1);
	SPOIL(entry, BASE + 0x2000); /* in memory, but nothing was copied */
	SPOIL(entry, 0);
	SPOIL(entry, UINT64_MAX);
	SPOIL(seg_type, 4); /* nothing is loaded at all */
	SPOIL(ph_num, 0);
}
END_TEST

START_TEST(program_headers_outside_of_the_head_are_refused)
{
	SPOIL(ph_off, KIMAGE_HEAD_LEN);
	SPOIL(ph_off, KIMAGE_HEAD_LEN - 55);
	SPOIL(ph_off, KIMAGE_HEAD_LEN + 1);
	SPOIL(ph_off, UINT64_MAX);
	SPOIL(ph_num, 0xffff);
}
END_TEST

START_TEST(more_segments_than_the_limit_are_refused)
{
	uint8_t head[KIMAGE_HEAD_LEN];
	struct elf x = sound;
	struct kimage k;

	x.ph_num = KIMAGE_SEGS_MAX + 1;
	(void)compose(&x, head);
	for (unsigned int i = 0; i < x.ph_num; i++)
		head[64 + 56 * i] = 1;
	ck_assert_int_eq(parse(head, sizeof(head), FILE_LEN, &k), -ENOEXEC);
	head[64 + 56 * KIMAGE_SEGS_MAX] = 4;
	ck_assert_int_eq(parse(head, sizeof(head), FILE_LEN, &k), 0);
	ck_assert_uint_eq(k.n_seg, KIMAGE_SEGS_MAX);
}
END_TEST

START_TEST(a_file_cut_anywhere_is_refused)
{
	uint8_t head[KIMAGE_HEAD_LEN];
	size_t len = compose(&sound, head);
	struct kimage k;

	for (size_t n = 0; n < len; n++)
		ck_assert_int_eq(parse(head, n, n, &k), -ENOEXEC);
	/* The head is whole, the contents are not. */
	ck_assert_int_eq(parse(head, sizeof(head), FILE_LEN - 1, &k), -ENOEXEC);
	ck_assert_int_eq(parse(head, sizeof(head), FILE_LEN, &k), 0);
}
END_TEST

static void put_le32(uint8_t *p, uint32_t v)
{
	le32 w = le32_put(v);

	memcpy(p, &w, sizeof(w));
}

/* A bzImage of protocol 2.15: 2 sectors of setup, 64-bit entry. */
static void compose_bz(uint8_t head[KIMAGE_HEAD_LEN])
{
	memset(head, 0, KIMAGE_HEAD_LEN);
	head[0x1f1] = 2;
	head[0x201] = 0x6a;
	put_le32(head + 0x202, 0x53726448); /* "HdrS" */
	head[0x206] = 0x0f;
	head[0x207] = 0x02;
	head[0x211] = 1;
	put_le32(head + 0x22c, 0x7fffffff);
	head[0x236] = 1;
	put_le32(head + 0x238, 0x7ff);
	put_le32(head + 0x258, 0x1000000);
	put_le32(head + 0x260, 0x200000);
}

START_TEST(a_sound_bzimage_becomes_one_copy)
{
	uint8_t head[KIMAGE_HEAD_LEN];
	struct kimage k;

	compose_bz(head);
	ck_assert_int_eq(parse(head, sizeof(head), FILE_LEN, &k), 0);
	ck_assert_uint_eq(k.n_seg, 1);
	ck_assert_uint_eq(k.seg[0].file_off, 0x600);
	ck_assert_uint_eq(k.seg[0].file_len, FILE_LEN - 0x600);
	ck_assert_uint_eq(k.seg[0].mem_len, 0x200000);
	ck_assert_uint_eq(k.entry, BASE + 0x200);
	ck_assert_uint_eq(k.cmdline_max, 2047);
	ck_assert_uint_eq(k.initrd_max, 0x7fffffff);
	ck_assert_uint_eq(k.setup_len, 0x7b);
	ck_assert_mem_eq(k.setup, head + 0x1f1, k.setup_len);

	/* 0 stands for 4 sectors; a short header is copied as far as it goes. */
	head[0x1f1] = 0;
	head[0x201] = 0x62;
	ck_assert_int_eq(parse(head, sizeof(head), FILE_LEN, &k), 0);
	ck_assert_uint_eq(k.seg[0].file_off, 0xa00);
	ck_assert_uint_eq(k.setup_len, 0x73);
	head[0x201] = 0xff;
	ck_assert_int_eq(parse(head, sizeof(head), FILE_LEN, &k), 0);
	ck_assert_uint_eq(k.setup_len, KIMAGE_SETUP_MAX);
}
END_TEST

START_TEST(each_bad_bzimage_is_refused)
{
	static const struct {
		size_t off;
		const char *bytes;
		size_t len;
	} bad[] = {
		{ 0x206, "\x0b\x02", 2 },         /* no xloadflags yet */
		{ 0x236, "\0", 1 },               /* no 64-bit entry */
		{ 0x211, "\0", 1 },               /* loaded low */
		{ 0x1f1, "\x17", 1 },             /* setup fills the file */
		{ 0x1f1, "\xff", 1 },             /* and more */
		{ 0x258, "\0\0\0\0", 4 },         /* at address 0 */
		{ 0x258, "\0\0\0\xc0", 4 },       /* in the hole */
		{ 0x25f, "\xff", 1 },             /* far away */
		{ 0x260, "\xff\xff\xff\xff", 4 }, /* needs all there is */
	};
	uint8_t head[KIMAGE_HEAD_LEN];
	struct kimage k;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		compose_bz(head);
		memcpy(head + bad[i].off, bad[i].bytes, bad[i].len);
		ck_assert_int_eq(parse(head, sizeof(head), FILE_LEN, &k),
				 -ENOEXEC);
	}
	compose_bz(head);
	for (size_t n = 0; n <= 0x800; n++)
		ck_assert_int_eq(parse(head, n, n, &k), -ENOEXEC);
	ck_assert_int_eq(parse(head, 0x801, 0x801, &k), 0);
	/* A command line longer than the place for it is cut to that. */
	put_le32(head + 0x238, 0xffffffff);
	ck_assert_int_eq(parse(head, sizeof(head), FILE_LEN, &k), 0);
	ck_assert_uint_eq(k.cmdline_max, 0xffff);
}
END_TEST

START_TEST(other_files_are_refused)
{
	static const char *const other[] = {
		"", "\177", "\177EL", "#!/bin/sh\n", "\x1f\x8b\x08", "MZ"
	};
	struct kimage k;

	for (size_t i = 0; i < ARRAY_LEN(other); i++)
		ck_assert_int_eq(parse((const uint8_t *)other[i],
				       strlen(other[i]), strlen(other[i]), &k),
				 -ENOEXEC);
}
END_TEST

CHECK_MAIN("kimage", a_sound_elf_becomes_one_copy,
	   each_bad_identification_is_refused, each_bad_segment_is_refused,
	   an_entry_outside_of_what_is_loaded_is_refused,
	   program_headers_outside_of_the_head_are_refused,
	   more_segments_than_the_limit_are_refused,
	   a_file_cut_anywhere_is_refused, a_sound_bzimage_becomes_one_copy,
	   each_bad_bzimage_is_refused, other_files_are_refused)
