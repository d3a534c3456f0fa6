/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/fs_ls.c - hutch fs ls, hutch fs stat: what files are */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/fs.h"
#include "host/cli/text.h"

#define LINE_MAX_COLS ((size_t)-1)
#define NAME_SHOW     1100  /* a name of 255 bytes, each escaped */
#define TARGET_SHOW   16400 /* a path of 4095 */

struct ls_opts {
	struct cli_common common;
	const char *user;
	bool is_long;
};

static const struct opt ls_opts[] = {
	{ "long", 'l', OPT_FLAG, offsetof(struct ls_opts, is_long), NULL,
	  "with mode, owner, size and time" },
	FS_USER_OPT(struct ls_opts),
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static char kind_letter(enum hutch_file_kind kind)
{
	static const char letters[] = "?-dlpscb";

	if ((size_t)kind >= sizeof(letters) - 1)
		return '?';
	return letters[kind];
}

static char exec_letter(unsigned int bits, int special, char set, char unset)
{
	if (!(bits & 1)) {
		if (special)
			return unset;
		return '-';
	}
	if (special)
		return set;
	return 'x';
}

/* "drwxr-xr-x" */
static void mode_text(char buf[11], const struct hutch_file *f)
{
	unsigned int m = f->mode;

	buf[0] = kind_letter(f->kind);
	for (int i = 0; i < 3; i++) {
		unsigned int bits = m >> (6 - 3 * i) & 7;
		int special = !!(m & (04000u >> i));

		buf[1 + 3 * i] = bits & 4 ? 'r' : '-';
		buf[2 + 3 * i] = bits & 2 ? 'w' : '-';
		buf[3 + 3 * i] = exec_letter(bits, special, i < 2 ? 's' : 't',
					     i < 2 ? 'S' : 'T');
	}
	buf[10] = '\0';
}

static void print_name(const struct hutch_file *f, const char *name)
{
	char text[TARGET_SHOW];

	(void)text_show(text, NAME_SHOW, name, LINE_MAX_COLS);
	(void)fputs(text, stdout);
	if (f->kind == HUTCH_FILE_SYMLINK) {
		(void)text_show(text, sizeof(text), f->target, LINE_MAX_COLS);
		(void)printf(" -> %s", text);
	}
	(void)putchar('\n');
}

static void print_long(const struct hutch_file *f, const char *name)
{
	char mode[11], owner[32], when[FS_TIME_MAX];

	mode_text(mode, f);
	(void)snprintf(owner, sizeof(owner), "%u:%u", f->uid, f->gid);
	(void)fs_time(when, f->mtime_ns);
	/* To the second. */
	(void)printf("%s %3u %-11s %12" PRIu64 " %.19sZ ", mode, f->nlink,
		     owner, f->bytes, when);
	print_name(f, name);
}

/** struct listing - How files of a folder are printed */
struct listing {
	struct jsonw json;
	bool is_json;
	bool is_long;
};

static int list_one(void *arg, const struct hutch_file *f)
{
	struct listing *l = arg;

	if (l->is_json)
		fs_put_file(&l->json, f);
	else if (l->is_long)
		print_long(f, f->name);
	else
		text_print(f->name);
	return 0;
}

static int cmd_ls(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct ls_opts *o = opts;
	const char *path = opt_word(w, 1);
	struct listing l = { .json = cli_json(),
			     .is_json = c->json,
			     .is_long = o->is_long };
	struct hutch_fs *fs = NULL;
	struct hutch_err e = { 0 };
	int r = fs_open(c, opt_word(w, 0), o->user, &fs);

	if (r != 0)
		return r;
	if (c->json)
		jsonw_array(&l.json, NULL);
	r = hutch_fs_list(fs, path ? path : ".", list_one, &l, &e);
	/* A document that is begun is ended, whatever comes. */
	if (c->json)
		jsonw_array_end(&l.json);
	return fs_end(c, fs, r, &e);
}

const struct verb verb_fs_ls = {
	.name = "fs ls",
	.alias = "fs list",
	.args = "[OPTIONS] NAME [PATH]",
	.summary = "list a folder",
	.rules = { .table = ls_opts },
	.opts_size = sizeof(struct ls_opts),
	.min = 1,
	.max = 2,
	.run = cmd_ls,
};

struct stat_opts {
	struct cli_common common;
	const char *user;
	bool follow;
};

static const struct opt stat_opts[] = {
	{ "follow-link", 'L', OPT_FLAG, offsetof(struct stat_opts, follow),
	  NULL, "tell of what a symbolic link points to" },
	FS_USER_OPT(struct stat_opts),
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static void print_stat(const struct hutch_file *f, const char *path)
{
	char mode[11], when[FS_TIME_MAX];

	mode_text(mode, f);
	(void)printf("path:      ");
	print_name(f, path);
	(void)printf("kind:      %s\n", hutch_file_kind_name(f->kind));
	(void)printf("mode:      %04o (%s)\n", f->mode, mode);
	(void)printf("owner:     %u:%u\n", f->uid, f->gid);
	(void)printf("size:      %" PRIu64 " (%" PRIu64 " allocated)\n",
		     f->bytes, f->allocated);
	(void)printf("links:     %u\n", f->nlink);
	(void)printf("inode:     %" PRIu64 "\n", f->ino);
	if (f->kind == HUTCH_FILE_CHAR_DEVICE ||
	    f->kind == HUTCH_FILE_BLOCK_DEVICE)
		(void)printf("device:    %u:%u\n", f->rdev_major,
			     f->rdev_minor);
	(void)printf("accessed:  %s\n", fs_time(when, f->atime_ns));
	(void)printf("modified:  %s\n", fs_time(when, f->mtime_ns));
	(void)printf("changed:   %s\n", fs_time(when, f->ctime_ns));
}

static int cmd_stat(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct stat_opts *o = opts;
	const char *path = opt_word(w, 1);
	struct hutch_file *f = NULL;
	struct hutch_fs *fs = NULL;
	struct hutch_err e = { 0 };
	struct jsonw j = cli_json();
	int r = fs_open(c, opt_word(w, 0), o->user, &fs);

	if (r != 0)
		return r;
	r = hutch_fs_stat(fs, path, o->follow ? HUTCH_FS_FOLLOW : 0, &f, &e);
	if (r == 0 && c->json)
		fs_put_file(&j, f);
	else if (r == 0)
		print_stat(f, path);
	hutch_file_free(f);
	return fs_end(c, fs, r, &e);
}

const struct verb verb_fs_stat = {
	.name = "fs stat",
	.args = "[OPTIONS] NAME PATH",
	.summary = "tell what a file is",
	.rules = { .table = stat_opts },
	.opts_size = sizeof(struct stat_opts),
	.min = 2,
	.max = 2,
	.run = cmd_stat,
};
