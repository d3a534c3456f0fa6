/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/image_import.c - hutch image import: from a file or a folder */
#include <stdio.h>
#include <string.h>

#include "host/cli/image.h"

struct import_opts {
	struct cli_common common;
	const char *pick;
	const char *max_size;
	const char *max_files;
};

static const struct opt import_opts[] = {
	{ "pick", 0, OPT_STR, offsetof(struct import_opts, pick), "NAME",
	  "of several images in it, the one of this name" },
	{ "max-size", 0, OPT_STR, offsetof(struct import_opts, max_size),
	  "SIZE", "refuse one whose files are larger (64G)" },
	{ "max-files", 0, OPT_STR, offsetof(struct import_opts, max_files), "N",
	  "refuse one that has more files (4000000)" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int cmd_import(struct cli *c, const void *opts,
		      const struct opt_words *w)
{
	struct hutch_image_import_opts io = HUTCH_IMAGE_IMPORT_OPTS_INIT;
	const struct import_opts *o = opts;
	struct hutch_image_info *info = NULL;
	struct image_progress p;
	struct hutch_err e = { 0 };
	int r;

	if (image_read_limits(o->max_size, o->max_files, &io.max_bytes,
			      &io.max_entries, &e) < 0)
		return cli_fail(c, &e);
	r = cli_open(c);
	if (r != 0)
		return r;
	io.path = opt_word(w, 0);
	if (!strcmp(io.path, "-"))
		io.path = "/dev/stdin";
	io.name = opt_word(w, 1);
	io.pick = o->pick;
	image_progress_begin(&p);
	io.progress = image_progress_step;
	io.progress_arg = &p;
	r = hutch_image_import(c->h, &io, &info, &e);
	image_progress_end(&p);
	if (r < 0)
		return cli_fail(c, &e);
	r = image_print_made(c, io.name, info);
	hutch_image_info_free(info);
	return r;
}

const struct verb verb_image_import = {
	.name = "image import",
	.alias = "image load",
	.args = "[OPTIONS] FILE|FOLDER|- NAME[:TAG]",
	.summary = "take in an image from a file or a folder",
	.help = "Takes in an OCI layout (a folder, or a tar of one), an "
		"archive of docker save, or\na plain tar of a root; tars may be "
		"packed by gzip, zstd, xz or bzip2. All\ndigests are checked, "
		"and a hostile archive is refused whole: docs/images.md.\n\n"
		"  docker save debian:12 | hutch image import - debian:12\n"
		"  hutch image import root.tar.zst mine\n",
	.rules = { .table = import_opts },
	.opts_size = sizeof(struct import_opts),
	.min = 2,
	.max = 2,
	.run = cmd_import,
};
