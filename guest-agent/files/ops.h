/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/files/ops.h - what is done with files, an operation each */
#ifndef HUTCH_GUEST_AGENT_FILES_OPS_H
#define HUTCH_GUEST_AGENT_FILES_OPS_H

#include "guest-agent/files/io.h"

/*
 * Each returns 0, and then DONE is sent; or -errno with the sentence for the
 * client, which names the path.
 */

/* ops.c: one answer. */
MUST_CHECK int files_stat(struct files *f, struct err *e);
MUST_CHECK int files_list(struct files *f, struct err *e);
MUST_CHECK int files_mkdir(struct files *f, struct err *e);
MUST_CHECK int files_remove(struct files *f, struct err *e);
MUST_CHECK int files_rename(struct files *f, struct err *e);

/* stream.c: the bytes of one file. */
MUST_CHECK int files_read(struct files *f, struct err *e);
MUST_CHECK int files_write(struct files *f, struct err *e);

/* tree.c: trees. */
MUST_CHECK int files_get(struct files *f, struct err *e);
MUST_CHECK int files_put(struct files *f, struct err *e);

/* watch.c: until what is watched is gone. */
MUST_CHECK int files_watch(struct files *f, struct err *e);

#endif
