/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/tarball_head.h - a header of a tar of our own, as it is read back */
#ifndef HUTCH_HOST_LIB_TARBALL_HEAD_H
#define HUTCH_HOST_LIB_TARBALL_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base.h"
#include "common/treepath.h"
#include "common/wire_file.h"

/**
 * struct tarball_entry - What a header and the pax records in front of it say
 * @type:	As in the header
 * @link:	Number of a file that has several names; 0: it has one
 * @path:	Without NUL inside
 * @target:	Of a symlink; or ""
 */
struct tarball_entry {
	char type;
	uint32_t mode, uid, gid, major, minor, link;
	uint64_t size;
	int64_t mtime_ns;
	char path[TREEPATH_MAX];
	char target[WIRE_PATH_MAX + 1];
};

/* All of them take a block of TARBALL_BLOCK bytes. */

/** tarball_head_ok() - Whether it is a header, and undamaged */
bool tarball_head_ok(const uint8_t *p);

/** tarball_head_is_pax() - Whether what follows are records for the next one */
bool tarball_head_is_pax(const uint8_t *p);

/** tarball_head_size() - How many bytes follow. Return: whether that is said */
bool tarball_head_size(const uint8_t *p, uint64_t *ret);

/**
 * tarball_head_parse() - All of it
 * @m:		Filled in; undefined if this says no
 * @pax:	Its records, without NULs; they are taken apart
 *
 * Return: whether it is one that we write
 */
bool tarball_head_parse(const uint8_t *p, char *pax, size_t pax_len,
			struct tarball_entry *m);

#endif
