/* SPDX-License-Identifier: Apache-2.0 */
/* common/fileinfo.h - what stat() says as an entry, and an entry on a file */
#ifndef HUTCH_COMMON_FILEINFO_H
#define HUTCH_COMMON_FILEINFO_H

#include <sys/stat.h>

#include "common/wire_file.h"

/** fileinfo_of() - Everything but name, target and link number */
void fileinfo_of(const struct stat *st, struct msg_entry *ret);

/** fileinfo_kind_name() - "folder", "FIFO", for sentences */
const char *fileinfo_kind_name(enum wire_file_kind kind);

/**
 * fileinfo_target() - Read a symbolic link
 *
 * Return: 0; -ENAMETOOLONG; -errno
 */
MUST_CHECK int fileinfo_target(int dirfd, const char *name,
			       char ret[WIRE_PATH_MAX + 1]);

/**
 * fileinfo_mode() - The mode that a received entry gets
 * @archive:	Its owner is kept, so that setuid and setgid mean the same
 */
mode_t fileinfo_mode(const struct msg_entry *m, bool archive);

/** fileinfo_set_time() - Its time of change; not of a link's target. 0, -errno */
MUST_CHECK int fileinfo_set_time(int dirfd, const char *name, int64_t mtime_ns);

/** fileinfo_set_time_fd() - The same for an open one */
MUST_CHECK int fileinfo_set_time_fd(int fd, int64_t mtime_ns);

#endif
