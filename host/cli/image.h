/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/image.h - what the verbs of hutch image share */
#ifndef HUTCH_CLI_IMAGE_H
#define HUTCH_CLI_IMAGE_H

#include "host/cli/cli.h"

#define IMAGE_SHORTID 12

extern const struct verb verb_image_build;
extern const struct verb verb_image_import;
extern const struct verb verb_image_inspect;
extern const struct verb verb_image_list;
extern const struct verb verb_image_prune;
extern const struct verb verb_image_pull;
extern const struct verb verb_image_rm;

/**
 * struct image_progress - Progress, on a terminal only
 * @tty:	Standard error is one
 * @shown:	Something stands in the line
 */
struct image_progress {
	bool tty;
	bool shown;
};

/** image_progress_begin() - Look where we write */
void image_progress_begin(struct image_progress *p);

/** image_progress_step() - For hutch_image_progress_fn */
void image_progress_step(void *arg, enum hutch_image_step step,
			 const char *text, uint64_t done, uint64_t total);

/** image_progress_end() - Leave the line as it was */
void image_progress_end(struct image_progress *p);

/**
 * image_take() - Pull an image, with progress
 * @po:		All but the progress is filled in
 * @ret:	To be freed by the caller
 *
 * Return: 0, or an exit code after its sentence
 */
MUST_CHECK int image_take(const struct cli *c,
			  const struct hutch_image_pull_opts *po,
			  struct hutch_image_info **ret);

/**
 * image_read_limits() - --max-size and --max-files
 * @bytes:	Untouched if @size is NULL, as @entries if @files is
 */
MUST_CHECK int image_read_limits(const char *size, const char *files,
				 uint64_t *bytes, uint64_t *entries,
				 struct hutch_err *e);

/** image_print_made() - The image's name, or with --json all about it */
int image_print_made(const struct cli *c, const char *name,
		     const struct hutch_image_info *info);

/** image_print_json() - An array of images, on stdout. Return: 0 or -ENOMEM */
MUST_CHECK int image_print_json(struct hutch_image_info *const *list);

#endif
