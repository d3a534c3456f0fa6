/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/pull.h - from a registry into the store */
#ifndef HUTCH_HOST_IMAGE_PULL_H
#define HUTCH_HOST_IMAGE_PULL_H

#include "host/image/make.h"
#include "host/lib/imageref.h"

#define PULL_TRIES 5 /* in a row without a byte more, of one blob */

/** enum pull_secret - What is in the descriptor with credentials */
enum pull_secret {
	PULL_SECRET_NONE = 0,
	PULL_SECRET_USER,  /* "user:password" */
	PULL_SECRET_DOCKER /* Docker's config.json */
};

/**
 * struct pull - What to pull
 * @ref:	With a domain
 * @secret_fd:	-1 for PULL_SECRET_NONE; borrowed
 * @idle_s:	Without a byte, until we give up
 */
struct pull {
	struct imageref ref;
	enum pull_secret secret;
	int secret_fd;
	unsigned int idle_s;
};

/** pull_run() - hutch_image_pull(), behind the process boundary */
MUST_CHECK int pull_run(const struct make_opts *o, const struct pull *p,
			char ret_id[HUTCH_IMAGE_ID_LEN + 1], struct err *e);

#endif
