/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/fs_change.c - hutch fs mkdir, rm and mv: folders and names */
#include "host/cli/fs.h"
#include "host/cli/names.h"

#define FOLDER_MODE 0755u

struct mkdir_opts {
	struct cli_common common;
	const char *user;
	const char *mode;
	bool parents;
};

static const struct opt mkdir_opts[] = {
	{ "parents", 'p', OPT_FLAG, offsetof(struct mkdir_opts, parents), NULL,
	  "the folders above too; it may be there already" },
	{ "mode", 'm', OPT_STR, offsetof(struct mkdir_opts, mode), "MODE",
	  "of what is made, in octal (644; mkdir: 755)" },
	FS_USER_OPT(struct mkdir_opts),
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

/**
 * struct deed - What is done to each path
 * @ours:	Set if one failed by no word of the VM's
 */
struct deed {
	struct hutch_fs *fs;
	unsigned int flags;
	unsigned int mode;
	bool *ours;
};

/* The next call forgets who refused this one. */
static int judge(const struct deed *d, int r)
{
	if (r < 0 && !hutch_fs_refused(d->fs))
		*d->ours = true;
	return r;
}

static int make_one(struct cli *c, const char *path, const void *arg,
		    struct hutch_err *e)
{
	const struct deed *d = arg;

	(void)c;
	return judge(d, hutch_fs_mkdir(d->fs, path, d->flags, d->mode, e));
}

static int remove_one(struct cli *c, const char *path, const void *arg,
		      struct hutch_err *e)
{
	const struct deed *d = arg;

	(void)c;
	return judge(d, hutch_fs_remove(d->fs, path, d->flags, e));
}

/* To each path; the exit code is the VM's if it refused all that failed. */
static int each(struct cli *c, const struct opt_words *w, const char *user,
		names_fn *fn, struct deed *d)
{
	int r = fs_open(c, opt_word(w, 0), user, &d->fs);

	if (r != 0)
		return r;
	r = names_each(c, w, 1, fn, d);
	if (r && !*d->ours)
		r = FS_EXIT_REFUSED;
	hutch_fs_close(d->fs);
	return r;
}

static int cmd_mkdir(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct mkdir_opts *o = opts;
	bool ours = false;
	struct deed d = { .flags = o->parents ? HUTCH_FS_PARENTS : 0,
			  .mode = FOLDER_MODE,
			  .ours = &ours };
	struct hutch_err e = { 0 };

	if (fs_mode(o->mode, &d.mode, &e) < 0)
		return cli_fail(c, &e);
	return each(c, w, o->user, make_one, &d);
}

const struct verb verb_fs_mkdir = {
	.name = "fs mkdir",
	.args = "[OPTIONS] NAME PATH...",
	.summary = "make folders",
	.rules = { .table = mkdir_opts },
	.opts_size = sizeof(struct mkdir_opts),
	.min = 2,
	.max = OPT_WORDS_ANY,
	.run = cmd_mkdir,
};

struct rm_opts {
	struct cli_common common;
	const char *user;
	bool recursive;
	bool force;
};

static const struct opt rm_opts[] = {
	{ "recursive", 'r', OPT_FLAG, offsetof(struct rm_opts, recursive), NULL,
	  "folders, with all that is in them" },
	{ "force", 'f', OPT_FLAG, offsetof(struct rm_opts, force), NULL,
	  "what is not there is no error" },
	FS_USER_OPT(struct rm_opts),
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int cmd_rm(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct rm_opts *o = opts;
	bool ours = false;
	struct deed d = { .flags = (o->recursive ? HUTCH_FS_RECURSIVE : 0) |
				   (o->force ? HUTCH_FS_FORCE : 0),
			  .ours = &ours };

	return each(c, w, o->user, remove_one, &d);
}

const struct verb verb_fs_rm = {
	.name = "fs rm",
	.alias = "fs remove",
	.args = "[OPTIONS] NAME PATH...",
	.summary = "remove files",
	.rules = { .table = rm_opts },
	.opts_size = sizeof(struct rm_opts),
	.min = 2,
	.max = OPT_WORDS_ANY,
	.run = cmd_rm,
};

struct mv_opts {
	struct cli_common common;
	const char *user;
};

static const struct opt mv_opts[] = {
	FS_USER_OPT(struct mv_opts),
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int cmd_mv(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct mv_opts *o = opts;
	struct hutch_fs *fs = NULL;
	struct hutch_err e = { 0 };
	int r = fs_open(c, opt_word(w, 0), o->user, &fs);

	if (r != 0)
		return r;
	r = hutch_fs_rename(fs, opt_word(w, 1), opt_word(w, 2), &e);
	return fs_end(c, fs, r, &e);
}

const struct verb verb_fs_mv = {
	.name = "fs mv",
	.args = "[OPTIONS] NAME FROM TO",
	.summary = "rename a file",
	.rules = { .table = mv_opts },
	.opts_size = sizeof(struct mv_opts),
	.min = 3,
	.max = 3,
	.run = cmd_mv,
};
