/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/arch/x86_64/kimage.c - see kimage.h */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/rd.h"
#include "vmm/arch/arch.h"
#include "vmm/arch/x86_64/kimage.h"
#include "vmm/arch/x86_64/layout.h"

#define ELF_IDENT_REST 9 /* after magic, class, data, version */
#define ELF_PHENT_SIZE 56
#define INITRD_MAX     0x7fffffffull
#define BZ_MAGIC_OFF   0x202
#define BZ_MAGIC       0x53726448u /* "HdrS" */
#define BZ_LEN_OFF     0x201       /* header ends this far past 0x202 */
#define BZ_VERSION_MIN 0x020cu     /* first with xloadflags */
#define BZ_SECTOR      512u
#define BZ_ENTRY_64    0x200u
#define BZ_SETUP_SECTS 4u /* what 0 stands for */
#define BZ_XLF_64      1u
#define BZ_LOADED_HIGH 1u

/* Offsets in the file of the fields we need (Documentation/arch/x86/boot). */
enum {
	BZ_OFF_SETUP_SECTS = 0x1f1,
	BZ_OFF_VERSION = 0x206,
	BZ_OFF_LOADFLAGS = 0x211,
	BZ_OFF_INITRD_MAX = 0x22c,
	BZ_OFF_XLOADFLAGS = 0x236,
	BZ_OFF_CMDLINE_SIZE = 0x238,
	BZ_OFF_PREF_ADDRESS = 0x258,
	BZ_OFF_INIT_SIZE = 0x260,
	BZ_OFF_END = 0x264,
};

/* Add one copy, or say what is wrong with it. */
static int add_seg(struct kimage *k, const struct kimage_seg *s,
		   uint64_t file_len, struct err *e)
{
	if (k->n_seg == KIMAGE_SEGS_MAX)
		return err_set(e, -ENOEXEC, "more than %d segments to load",
			       KIMAGE_SEGS_MAX);
	if (s->file_len > file_len || s->file_off > file_len - s->file_len)
		return err_set(e, -ENOEXEC,
			       "truncated: a segment needs %llu bytes at %llu, "
			       "the file has %llu",
			       (unsigned long long)s->file_len,
			       (unsigned long long)s->file_off,
			       (unsigned long long)file_len);
	if (s->file_len > s->mem_len)
		return err_set(
			e, -ENOEXEC,
			"a segment is larger in the file than in memory");
	if (s->gpa < LAYOUT_HIGH_RAM || s->gpa >= LAYOUT_HOLE ||
	    s->mem_len > LAYOUT_HOLE - s->gpa)
		return err_set(
			e, -ENOEXEC,
			"a segment of %llu bytes at %#llx is not between "
			"1 MiB and 3 GiB",
			(unsigned long long)s->mem_len,
			(unsigned long long)s->gpa);
	k->seg[k->n_seg++] = *s;
	k->end = MAX(k->end, s->gpa + s->mem_len);
	return 0;
}

static bool entry_in_seg(const struct kimage *k)
{
	for (unsigned int i = 0; i < k->n_seg; i++) {
		const struct kimage_seg *s = &k->seg[i];

		if (k->entry >= s->gpa && k->entry - s->gpa < s->file_len)
			return true;
	}
	return false;
}

static int elf_segments(struct kimage *k, struct rd *ph, unsigned int n,
			uint64_t file_len, struct err *e)
{
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < n; i++) {
		struct kimage_seg s = { 0 };
		uint32_t type = rd_le32(ph);

		(void)rd_le32(ph); /* flags */
		s.file_off = rd_le64(ph);
		(void)rd_le64(ph); /* virtual address */
		s.gpa = rd_le64(ph);
		s.file_len = rd_le64(ph);
		s.mem_len = rd_le64(ph);
		(void)rd_le64(ph); /* alignment */
		if (ph->bad)
			return err_set(e, -ENOEXEC,
				       "truncated ELF: program headers are not "
				       "within the first %d bytes",
				       KIMAGE_HEAD_LEN);
		if (type == PT_LOAD && s.mem_len > 0)
			r = add_seg(k, &s, file_len, e);
	}
	return r;
}

/* What identifies an x86-64 executable; ph_off and ph_num are for later. */
static int elf_header(struct rd *rd, struct kimage *k, uint64_t *ph_off,
		      unsigned int *ph_num, struct err *e)
{
	uint8_t class, data;
	uint16_t type, machine, ph_size;

	(void)rd_bytes(rd, SELFMAG);
	class = rd_u8(rd);
	data = rd_u8(rd);
	(void)rd_u8(rd); /* version */
	(void)rd_bytes(rd, ELF_IDENT_REST);
	type = rd_le16(rd);
	machine = rd_le16(rd);
	(void)rd_le32(rd); /* version again */
	k->entry = rd_le64(rd);
	*ph_off = rd_le64(rd);
	(void)rd_le64(rd); /* sections */
	(void)rd_le32(rd); /* flags */
	(void)rd_le16(rd); /* size of this header */
	ph_size = rd_le16(rd);
	*ph_num = rd_le16(rd);
	if (rd->bad)
		return err_set(e, -ENOEXEC, "truncated ELF header");
	if (class != ELFCLASS64 || data != ELFDATA2LSB || machine != EM_X86_64)
		return err_set(e, -ENOEXEC, "an ELF file, but not for x86-64");
	if (type != ET_EXEC)
		return err_set(e, -ENOEXEC,
			       "an ELF file, but not a kernel: type %u, not %d",
			       type, ET_EXEC);
	if (ph_size != ELF_PHENT_SIZE)
		return err_set(e, -ENOEXEC, "ELF program headers of %u bytes",
			       ph_size);
	return 0;
}

static int parse_elf(const uint8_t *head, size_t head_len, uint64_t file_len,
		     struct kimage *k, struct err *e)
{
	struct rd rd = rd_init(head, head_len);
	unsigned int ph_num = 0;
	uint64_t ph_off = 0;
	int r = elf_header(&rd, k, &ph_off, &ph_num, e);

	if (r < 0)
		return r;
	rd = rd_init(head, head_len);
	if (ph_off > head_len)
		rd.bad = true;
	else
		(void)rd_bytes(&rd, (size_t)ph_off);
	r = elf_segments(k, &rd, ph_num, file_len, e);
	if (r < 0)
		return r;
	if (!entry_in_seg(k))
		return err_set(e, -ENOEXEC,
			       "entry %#llx is in none of %u loaded segments",
			       (unsigned long long)k->entry, k->n_seg);
	k->cmdline_max = ARCH_CMDLINE_MAX;
	k->initrd_max = INITRD_MAX;
	return 0;
}

static struct rd at(const uint8_t *head, size_t head_len, size_t off)
{
	struct rd rd = rd_init(head, head_len);

	(void)rd_bytes(&rd, off);
	return rd;
}

static uint32_t le32_at(const uint8_t *head, size_t head_len, size_t off)
{
	struct rd rd = at(head, head_len, off);

	return rd_le32(&rd);
}

static uint64_t le64_at(const uint8_t *head, size_t head_len, size_t off)
{
	struct rd rd = at(head, head_len, off);

	return rd_le64(&rd);
}

/* The whole header goes to boot_params, as far as both know it. */
static void bz_setup(const uint8_t *head, size_t head_len, struct kimage *k)
{
	size_t end = BZ_MAGIC_OFF + (size_t)head[BZ_LEN_OFF];
	size_t len = MIN(end, head_len) - KIMAGE_SETUP_OFF;

	k->setup_len = MIN(len, sizeof(k->setup));
	memcpy(k->setup, head + KIMAGE_SETUP_OFF, k->setup_len);
}

static int bz_segment(const uint8_t *head, size_t head_len, uint64_t file_len,
		      struct kimage *k, struct err *e)
{
	uint64_t setup = head[BZ_OFF_SETUP_SECTS];
	struct kimage_seg s = {
		.gpa = le64_at(head, head_len, BZ_OFF_PREF_ADDRESS),
		.mem_len = le32_at(head, head_len, BZ_OFF_INIT_SIZE),
	};

	s.file_off = ((setup ? setup : BZ_SETUP_SECTS) + 1) * BZ_SECTOR;
	if (s.file_off >= file_len || file_len - s.file_off <= BZ_ENTRY_64)
		return err_set(e, -ENOEXEC, "truncated bzImage");
	s.file_len = file_len - s.file_off;
	/* init_size covers the unpacked kernel, not always what we copy. */
	s.mem_len = MAX(s.mem_len, s.file_len);
	k->entry = s.gpa + BZ_ENTRY_64;
	return add_seg(k, &s, file_len, e);
}

static int parse_bz(const uint8_t *head, size_t head_len, uint64_t file_len,
		    struct kimage *k, struct err *e)
{
	uint32_t version, xload;

	if (head_len < BZ_OFF_END)
		return err_set(e, -ENOEXEC, "truncated bzImage header");
	version = le32_at(head, head_len, BZ_OFF_VERSION) & 0xffff;
	xload = le32_at(head, head_len, BZ_OFF_XLOADFLAGS) & 0xffff;
	if (version < BZ_VERSION_MIN || !(xload & BZ_XLF_64) ||
	    !(head[BZ_OFF_LOADFLAGS] & BZ_LOADED_HIGH))
		return err_set(e, -ENOEXEC,
			       "a bzImage without a 64-bit entry, boot "
			       "protocol %u.%02u",
			       version >> 8, version & 0xff);
	bz_setup(head, head_len, k);
	k->cmdline_max = le32_at(head, head_len, BZ_OFF_CMDLINE_SIZE);
	k->cmdline_max =
		MIN(k->cmdline_max, LAYOUT_CMDLINE_END - LAYOUT_CMDLINE - 1);
	k->initrd_max = le32_at(head, head_len, BZ_OFF_INITRD_MAX);
	return bz_segment(head, head_len, file_len, k, e);
}

int kimage_parse(const uint8_t *head, size_t head_len, uint64_t file_len,
		 struct kimage *ret, struct err *e)
{
	struct kimage k = { 0 };
	int r;

	if (head_len >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
		r = parse_elf(head, head_len, file_len, &k, e);
	else if (le32_at(head, head_len, BZ_MAGIC_OFF) == BZ_MAGIC)
		r = parse_bz(head, head_len, file_len, &k, e);
	else
		r = err_set(e, -ENOEXEC,
			    "neither an ELF vmlinux nor a bzImage; build one "
			    "with scripts/build-kernel");
	if (r == 0)
		*ret = k;
	return r;
}
