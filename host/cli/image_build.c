/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/image_build.c - hutch image build: of Debian's packages */
#include <stdio.h>

#include "host/cli/image.h"

struct build_opts {
	struct cli_common common;
	const char *suite;
	struct opt_list include;
	struct opt_list mirror;
	const char *max_size;
	const char *max_files;
};

static const struct opt build_opts[] = {
	{ "suite", 0, OPT_STR, offsetof(struct build_opts, suite), "SUITE",
	  "release of Debian (that of the recipe)" },
	{ "include", 0, OPT_LIST, offsetof(struct build_opts, include),
	  "PACKAGE,...", "more packages" },
	{ "mirror", 0, OPT_LIST, offsetof(struct build_opts, mirror), "URL",
	  "where packages are from, or a line 'deb ...'" },
	{ "max-size", 0, OPT_STR, offsetof(struct build_opts, max_size), "SIZE",
	  "refuse one whose files are larger (64G)" },
	{ "max-files", 0, OPT_STR, offsetof(struct build_opts, max_files), "N",
	  "refuse one that has more files (4000000)" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

/* What it will be called, where nothing was said. */
static const char *base_name(const char *recipe)
{
	const char *name = recipe;

	for (; *recipe; recipe++)
		if (*recipe == '/')
			name = recipe + 1;
	return name;
}

static int build(struct cli *c, const struct hutch_image_build_opts *bo)
{
	struct hutch_image_build_opts o = *bo;
	struct hutch_image_info *info = NULL;
	struct image_progress p;
	struct hutch_err e = { 0 };
	int r;

	image_progress_begin(&p);
	o.progress = image_progress_step;
	o.progress_arg = &p;
	r = hutch_image_build(c->h, &o, &info, &e);
	image_progress_end(&p);
	if (r < 0)
		return cli_fail(c, &e);
	r = image_print_made(c, o.name, info);
	hutch_image_info_free(info);
	return r;
}

static int cmd_build(struct cli *c, const void *opts, const struct opt_words *w)
{
	struct hutch_image_build_opts bo = HUTCH_IMAGE_BUILD_OPTS_INIT;
	const struct build_opts *o = opts;
	struct hutch_err e = { 0 };
	int r;

	if (image_read_limits(o->max_size, o->max_files, &bo.max_bytes,
			      &bo.max_entries, &e) < 0)
		return cli_fail(c, &e);
	bo.recipe = opt_word(w, 0);
	bo.name = opt_word(w, 1);
	if (!bo.name)
		bo.name = base_name(bo.recipe);
	bo.suite = o->suite;
	bo.include = o->include.v;
	bo.mirrors = o->mirror.v;
	bo.log_fd = STDERR_FILENO;
	r = cli_open(c);
	return r ? r : build(c, &bo);
}

const struct verb verb_image_build = {
	.name = "image build",
	.args = "[OPTIONS] RECIPE [NAME[:TAG]]",
	.summary = "make an image of Debian's packages",
	.help = "Makes an image of packages, by mmdebstrap. RECIPE is one of "
		"hutch's (debian,\nnode) or a file of yours, which is written "
		"with a '/': docs/images.md. The image\nis called as the recipe "
		"is. The same package lists make the same image.\n\n"
		"  hutch image build debian\n"
		"  hutch image build --suite trixie --include gcc,make debian "
		"debian:gcc\n",
	.rules = { .table = build_opts },
	.opts_size = sizeof(struct build_opts),
	.min = 1,
	.max = 2,
	.run = cmd_build,
};
