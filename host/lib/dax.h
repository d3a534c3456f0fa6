/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/dax.h - which files a VM maps: checked, and for the monitor */
#ifndef HUTCH_HOST_LIB_DAX_H
#define HUTCH_HOST_LIB_DAX_H

#include <stdint.h>

#include "common/err.h"
#include "host/lib/hutch.h"

#define DAX_WORDS_MAX 48

/**
 * dax_check() - Whether the two go together
 * @what:	For the sentence: "mount"
 * @window:	Bytes; 0 for the default
 *
 * Return: 0; -EINVAL with a sentence
 */
MUST_CHECK int dax_check(const char *what, enum hutch_dax dax, uint64_t window,
			 struct err *e);

/** dax_words() - ",dax=inode,window=N" for hutch-vmm, which knows auto itself */
const char *dax_words(enum hutch_dax dax, uint64_t window,
		      char buf[DAX_WORDS_MAX]);

#endif
