/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_elf.c - any file as a kernel */
#include "tests/fuzz/fuzz.h"
#include "vmm/arch/x86_64/kimage.h"

#define MIB  (1ull << 20)
#define HOLE (3ull << 30)

/* What the loader does next needs no check of its own. */
static void check(const struct kimage *k, uint64_t file_len)
{
	int inside = 0;

	bug_on(k->n_seg == 0 || k->n_seg > KIMAGE_SEGS_MAX);
	for (unsigned int i = 0; i < k->n_seg; i++) {
		const struct kimage_seg *s = &k->seg[i];

		bug_on(s->file_len > file_len);
		bug_on(s->file_off > file_len - s->file_len);
		bug_on(s->file_len > s->mem_len);
		bug_on(s->gpa < MIB || s->gpa >= HOLE);
		bug_on(s->mem_len > HOLE - s->gpa);
		bug_on(s->gpa + s->mem_len > k->end);
		inside |= k->entry - s->gpa < s->file_len;
	}
	bug_on(!inside);
	bug_on(k->end > HOLE);
	bug_on(k->setup_len > sizeof(k->setup));
	bug_on(k->cmdline_max > 0xffff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t head_len = MIN(len, KIMAGE_HEAD_LEN);
	struct err e = { 0 };
	struct kimage k;

	if (kimage_parse(data, head_len, len, &k, &e) < 0)
		bug_on(!e.msg[0]); /* a refusal always says why */
	else
		check(&k, len);
	return 0;
}
