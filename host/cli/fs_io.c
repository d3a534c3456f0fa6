/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/fs_io.c - hutch fs cat, hutch fs write: the bytes of files */
#include <stdio.h>

#include "host/cli/fs.h"

#define FILE_MODE 0644u

struct cat_opts {
	struct cli_common common;
	const char *user;
};

static const struct opt cat_opts[] = {
	FS_USER_OPT(struct cat_opts),
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int cmd_cat(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct cat_opts *o = opts;
	struct hutch_fs *fs = NULL;
	struct hutch_err e = { 0 };
	int r = fs_open(c, opt_word(w, 0), o->user, &fs);

	if (r != 0)
		return r;
	for (size_t i = 1; r == 0 && opt_word(w, i); i++)
		r = hutch_fs_read(fs, opt_word(w, i), fs_to_stdout, NULL, &e);
	return fs_end(c, fs, ferror(stdout) ? 0 : r, &e);
}

const struct verb verb_fs_cat = {
	.name = "fs cat",
	.args = "[OPTIONS] NAME PATH...",
	.summary = "print files",
	.rules = { .table = cat_opts },
	.opts_size = sizeof(struct cat_opts),
	.min = 2,
	.max = OPT_WORDS_ANY,
	.run = cmd_cat,
};

struct write_opts {
	struct cli_common common;
	const char *user;
	const char *mode;
	bool atomic;
};

static const struct opt write_opts[] = {
	{ "atomic", 0, OPT_FLAG, offsetof(struct write_opts, atomic), NULL,
	  "the old file stays until the new one is on the disk" },
	{ "mode", 'm', OPT_STR, offsetof(struct write_opts, mode), "MODE",
	  "of what is made, in octal (644; mkdir: 755)" },
	FS_USER_OPT(struct write_opts),
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int cmd_write(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct write_opts *o = opts;
	unsigned int mode = FILE_MODE;
	struct hutch_fs *fs = NULL;
	struct hutch_err e = { 0 };
	int r = fs_mode(o->mode, &mode, &e);

	if (r < 0)
		return cli_fail(c, &e);
	r = fs_open(c, opt_word(w, 0), o->user, &fs);
	if (r != 0)
		return r;
	r = hutch_fs_write(fs, opt_word(w, 1), o->atomic ? HUTCH_FS_ATOMIC : 0,
			   mode, STDIN_FILENO, &e);
	return fs_end(c, fs, r, &e);
}

const struct verb verb_fs_write = {
	.name = "fs write",
	.args = "[OPTIONS] NAME PATH",
	.summary = "write standard input to a file",
	.rules = { .table = write_opts },
	.opts_size = sizeof(struct write_opts),
	.min = 2,
	.max = 2,
	.run = cmd_write,
};
