/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/arch/x86_64/kimage.h - what a kernel's file asks for, checked
 *
 * Two kinds: an ELF vmlinux for x86-64 and a bzImage with a 64-bit entry.
 * Nothing here touches the file or the guest: the head of the file goes in, a
 * list of copies to make comes out, every number in it checked.
 */
#ifndef HUTCH_VMM_ARCH_X86_64_KIMAGE_H
#define HUTCH_VMM_ARCH_X86_64_KIMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define KIMAGE_HEAD_LEN  4096 /* headers must lie in the file's first page */
#define KIMAGE_SEGS_MAX  16
#define KIMAGE_SETUP_OFF 0x1f1 /* of the setup header, in file and page */
#define KIMAGE_SETUP_MAX 0x7b

/** struct kimage_seg - Copy @file_len bytes; @mem_len are then the kernel's */
struct kimage_seg {
	uint64_t file_off;
	uint64_t gpa;
	uint64_t file_len;
	uint64_t mem_len;
};

/**
 * struct kimage - A kernel to be loaded
 * @entry:	Guest physical address of the 64-bit entry, inside a segment
 * @end:	First address past the last segment
 * @seg:	@n_seg copies, all between 1 MiB and the hole
 * @cmdline_max: Bytes of command line it takes, without the NUL
 * @initrd_max:	The last byte of an initramfs may be here at most
 * @setup:	@setup_len bytes for boot_params at KIMAGE_SETUP_OFF
 */
struct kimage {
	uint64_t entry;
	uint64_t end;
	unsigned int n_seg;
	struct kimage_seg seg[KIMAGE_SEGS_MAX];
	uint32_t cmdline_max;
	uint64_t initrd_max;
	size_t setup_len;
	uint8_t setup[KIMAGE_SETUP_MAX];
};

/**
 * kimage_parse() - Take the head of a kernel's file apart
 * @head:	First @head_len bytes of the file
 * @head_len:	The smaller of KIMAGE_HEAD_LEN and @file_len
 * @file_len:	Of the whole file
 *
 * Return: 0, or -ENOEXEC with a sentence
 */
MUST_CHECK int kimage_parse(const uint8_t *head, size_t head_len,
			    uint64_t file_len, struct kimage *ret,
			    struct err *e);

#endif
