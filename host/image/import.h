/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/import.h - from a file or a folder into the store */
#ifndef HUTCH_HOST_IMAGE_IMPORT_H
#define HUTCH_HOST_IMAGE_IMPORT_H

#include "host/image/make.h"

/**
 * import_run() - hutch_image_import(), behind the process boundary
 * @src_fd:	A folder, a file, or something to read to its end
 * @pick:	Or NULL
 * @ret_id:	Of the image
 *
 * Context: a process with one thread.
 */
MUST_CHECK int import_run(const struct make_opts *o, int src_fd,
			  const char *pick, char ret_id[HUTCH_IMAGE_ID_LEN + 1],
			  struct err *e);

/**
 * import_build() - hutch_image_build(), likewise: a root that was made for us
 * @src_fd:	Its tar, a file
 * @config:	What its configuration has as "config"
 *
 * What dpkg has on record in it goes into the image's own record.
 */
MUST_CHECK int import_build(const struct make_opts *o, int src_fd,
			    const char *config,
			    char ret_id[HUTCH_IMAGE_ID_LEN + 1], struct err *e);

#endif
