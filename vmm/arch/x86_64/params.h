/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/arch/x86_64/params.h - boot_params, setup_data and the command line */
#ifndef HUTCH_VMM_ARCH_X86_64_PARAMS_H
#define HUTCH_VMM_ARCH_X86_64_PARAMS_H

#include "common/err.h"
#include "vmm/arch/fdt.h"

struct arch_initrd;
struct gmem;
struct kimage;

/**
 * struct params - What to tell the kernel; all borrowed
 * @cmdline:	No longer than @kernel takes
 * @tree:	Only the processors' number and the devices are filled in
 */
struct params {
	const struct kimage *kernel;
	const char *cmdline;
	const struct arch_initrd *initrd;
	struct fdt_spec tree;
};

/** params_load() - Write it. Return: 0 or -errno with a sentence */
MUST_CHECK int params_load(const struct gmem *m, const struct params *p,
			   struct err *e);

#endif
