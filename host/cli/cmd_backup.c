/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_backup.c - hutch backup, hutch restore: a folder as an archive */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/fs.h"
#include "host/cli/text.h"
#include "host/cli/value.h"

#define QUOTE_MAX 300

struct backup_opts {
	struct cli_common common;
	const char *user;
	const char *sha256;
};

static const struct opt backup_opts[] = {
	FS_USER_OPT(struct backup_opts),
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static bool is_stream(const char *file)
{
	return strcmp(file, "-") == 0;
}

/* As sha256sum writes it; the archive itself may go to standard output. */
static void print_done(const struct cli *c, const struct hutch_backup *b,
		       const char *file, bool complete)
{
	struct jsonw j = cli_json();
	char q[QUOTE_MAX];

	if (c->json) {
		jsonw_object(&j, NULL);
		jsonw_str(&j, "sha256", b->sha256);
		jsonw_str(&j, "format", "tar+zstd");
		jsonw_bool(&j, "complete", complete);
		jsonw_object_end(&j);
		return;
	}
	(void)text_show(q, sizeof(q), file, 60);
	(void)printf("%s  %s\n", b->sha256, q);
}

static int cmd_backup(struct cli *c, const void *opts,
		      const struct opt_words *w)
{
	const struct backup_opts *o = opts;
	const char *file = opt_word(w, 2);
	struct hutch_backup done;
	struct hutch_fs *fs = NULL;
	struct hutch_err e = { 0 };
	int r;

	if (is_stream(file) && isatty(STDOUT_FILENO))
		return cli_usage(c, "backup: an archive does not go to a "
				    "terminal: name a file");
	r = fs_open(c, opt_word(w, 0), o->user, &fs);
	if (r != 0)
		return r;
	r = hutch_fs_backup(fs, opt_word(w, 1), is_stream(file) ? NULL : file,
			    STDOUT_FILENO, &done, &e);
	if (r >= 0 && !is_stream(file))
		print_done(c, &done, file, r == 0);
	return fs_end(c, fs, r, &e);
}

const struct verb verb_backup = {
	.name = "backup",
	.args = "[OPTIONS] NAME DIR FILE",
	.summary = "write a folder of a VM to an archive",
	.help = "Writes folder DIR of VM NAME, with all that is in it, to "
		"FILE as tar+zstd, and\nprints its SHA-256 as sha256sum "
		"does. FILE is there when it is whole; - is\nstandard "
		"output. Kept are modes, owners, times and links; what is "
		"mounted below\nDIR is not. What changes meanwhile may be "
		"from before or after.\n",
	.rules = { .table = backup_opts },
	.opts_size = sizeof(struct backup_opts),
	.min = 3,
	.max = 3,
	.run = cmd_backup,
};

static const struct opt restore_opts[] = {
	{ "sha256", 0, OPT_STR, offsetof(struct backup_opts, sha256), "DIGEST",
	  "what the archive's must be" },
	FS_USER_OPT(struct backup_opts),
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int check_digest(const char *s, struct hutch_err *e)
{
	if (!s || (strlen(s) == HUTCH_SHA256_MAX - 1 &&
		   strspn(s, "0123456789abcdef") == HUTCH_SHA256_MAX - 1))
		return 0;
	return value_refuse(e, "--sha256", s,
			    "is no digest: 64 of 0-9 and a-f");
}

/* Return: a descriptor, or -1 and it has complained. */
static int open_archive(const struct cli *c, const char *file)
{
	int fd = is_stream(file) ? STDIN_FILENO
				 : open(file, O_RDONLY | O_CLOEXEC);
	char q[QUOTE_MAX];

	if (fd < 0) {
		(void)text_show(q, sizeof(q), file, 60);
		(void)cli_usage(c, "restore: '%s': %s", q, strerror(errno));
	}
	return fd;
}

static int cmd_restore(struct cli *c, const void *opts,
		       const struct opt_words *w)
{
	const struct backup_opts *o = opts;
	const char *file = opt_word(w, 2);
	struct hutch_backup done;
	struct hutch_fs *fs = NULL;
	struct hutch_err e = { 0 };
	int r = check_digest(o->sha256, &e), fd;

	if (r < 0)
		return cli_fail(c, &e);
	fd = open_archive(c, file);
	if (fd < 0)
		return CLI_EXIT_FAILED;
	r = fs_open(c, opt_word(w, 0), o->user, &fs);
	if (r == 0) {
		r = hutch_fs_restore(fs, fd, o->sha256, opt_word(w, 1), &done,
				     &e);
		if (r >= 0)
			print_done(c, &done, file, r == 0);
		r = fs_end(c, fs, r, &e);
	}
	if (fd != STDIN_FILENO)
		(void)close(fd);
	return r;
}

const struct verb verb_restore = {
	.name = "restore",
	.args = "[OPTIONS] NAME DIR FILE",
	.summary = "put an archive into the place of a folder",
	.help = "Unpacks FILE, which hutch backup has written, beside "
		"folder DIR of VM NAME, and\nputs it into DIR's place at "
		"once when all of it has come and is sound. Until\nthen, "
		"and if anything fails, DIR is as it was. - is standard "
		"input.\n",
	.rules = { .table = restore_opts },
	.opts_size = sizeof(struct backup_opts),
	.min = 3,
	.max = 3,
	.run = cmd_restore,
};
