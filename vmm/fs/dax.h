/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/dax.h - files in the guest's memory, by the host's own pages */
#ifndef HUTCH_VMM_FS_DAX_H
#define HUTCH_VMM_FS_DAX_H

#include <sys/stat.h>

#include "vmm/fs/state.h"

/* Log2 of what offsets and lengths are multiples of: what Linux maps at once. */
#define FS_DAX_SHIFT 21u
#define FS_DAX_UNIT  (1ull << FS_DAX_SHIFT)

/* With FS_DAX_INODE, smaller files are read: they would waste the window. */
#define FS_DAX_SIZE_MIN (1ull << 20)

/** fs_dax_wanted() - Whether the guest is to map a file with these attributes */
bool fs_dax_wanted(const struct fs_server *s, const struct statx *st);

/** fs_dax_clear() - Nothing is mapped any more */
void fs_dax_clear(struct fs_server *s);

/** fs_dax_heal() - @node may be longer than the guest knows, which it will now */
void fs_dax_heal(const struct fs_server *s, uint64_t node);

#endif
