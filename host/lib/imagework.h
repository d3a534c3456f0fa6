/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/imagework.h - libhutch and hutch-image, which makes images
 *
 * How it works.  Making an image takes libraries that no other program of ours
 * should carry, and a process that can lock itself in.  So libhutch starts
 * hutch-image, hands it the open folder of images and the open source, and
 * reads from a pipe how it goes, a line each:
 *
 *	step STEP DONE TOTAL TEXT	enum hutch_image_step; bytes
 *	failed ERRNO TEXT		the last line: it has failed
 *	image ID			the last line: it has not
 *
 * The words on its command line are KEY=VALUE.  It ends when libhutch's caller
 * does.
 */
#ifndef HUTCH_HOST_LIB_IMAGEWORK_H
#define HUTCH_HOST_LIB_IMAGEWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "host/lib/hutch.h"

#define IMAGEWORK_LINE_MAX  1024
#define IMAGEWORK_WORDS_MAX 8

struct imagestore;

/**
 * struct imagework - What hutch-image is to do
 * @verb:	"import", "build" or "pull"
 * @name:	As imageref_text() writes it
 * @pick:	Or NULL
 * @src_fd:	What is imported; for pull, what has credentials; -1: none
 * @secret:	Of pull: enum pull_secret, as in host/image/pull.h
 * @idle_s:	Of pull
 * @config:	Of build: the image's "config" as JSON; or NULL
 */
struct imagework {
	const char *verb;
	const char *name;
	const char *pick;
	int src_fd;
	unsigned int secret;
	unsigned int idle_s;
	const char *config;
	uint64_t max_bytes;
	uint64_t max_entries;
	hutch_image_progress_fn progress;
	void *progress_arg;
};

/** imagework_clean() - Whether @s has no control characters, and turns no text */
bool imagework_clean(const char *s);

/**
 * imagework_number() - A decimal number, and one ',' or ' ' behind it
 * @s:		Moved on
 *
 * Return: whether there was one, followed by that or by the end
 */
bool imagework_number(const char **s, uint64_t *ret);

/** imagework_run() - Have it done. Return: 0 with the id, or -errno */
MUST_CHECK int imagework_run(struct hutch *h, const struct imagestore *s,
			     const struct imagework *w,
			     char ret_id[HUTCH_IMAGE_ID_LEN + 1],
			     struct err *e);

/**
 * imagework_line() - Understand one line of hutch-image
 * @line:	Without the newline; changed
 *
 * Return: 0 to go on; 1 if it was the last, with the id; -errno with a
 *         sentence if it has failed, or speaks nonsense (-EPROTO)
 */
MUST_CHECK int imagework_line(const struct imagework *w, char *line,
			      char ret_id[HUTCH_IMAGE_ID_LEN + 1],
			      struct err *e);

#endif
