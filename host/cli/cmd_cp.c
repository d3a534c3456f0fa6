/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_cp.c - hutch cp: files into a VM and out of it */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/fs.h"
#include "host/cli/text.h"

#define QUOTE_MAX 160
#define FILE_MODE 0644u

struct cp_opts {
	struct cli_common common;
	const char *user;
	bool archive;
	bool follow;
};

static const struct opt cp_opts[] = {
	{ "archive", 'a', OPT_FLAG, offsetof(struct cp_opts, archive), NULL,
	  "keep owners and extended attributes too" },
	{ "follow-link", 'L', OPT_FLAG, offsetof(struct cp_opts, follow), NULL,
	  "copy what SRC points to, if it is a symbolic link" },
	FS_USER_OPT(struct cp_opts),
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

/**
 * struct end - One end of a copy
 * @vm:		"" for this host
 * @path:	Borrowed; "-" for standard input or output
 */
struct end {
	char vm[HUTCH_NAME_MAX + 1];
	const char *path;
};

static bool is_stream(const struct end *x)
{
	return !*x->vm && strcmp(x->path, "-") == 0;
}

/* NAME:PATH, or a path of this host. Return: 0, or an exit code */
static int read_end(const struct cli *c, const char *word, struct end *ret)
{
	size_t len = strcspn(word, ":/");
	char q[QUOTE_MAX];

	*ret = (struct end){ .path = word };
	/* A colon behind a slash, or behind a dot, is part of a path. */
	if (word[len] != ':' || *word == '.')
		return 0;
	(void)text_show(q, sizeof(q), word, 60);
	if (len <= HUTCH_NAME_MAX) {
		memcpy(ret->vm, word, len);
		ret->vm[len] = '\0';
	}
	if (!hutch_name_ok(ret->vm))
		return cli_usage(c,
				 "cp: '%s': no VM can be called what stands "
				 "before the ':'; ./%s is a file here",
				 q, q);
	ret->path = word + len + 1;
	if (!*ret->path)
		return cli_usage(c, "cp: '%s' has no path behind the ':'", q);
	return 0;
}

static int read_ends(const struct cli *c, const struct opt_words *w,
		     struct end *from, struct end *to)
{
	int r = read_end(c, opt_word(w, 0), from);

	if (r == 0)
		r = read_end(c, opt_word(w, 1), to);
	if (r)
		return r;
	if (*from->vm && *to->vm)
		return cli_usage(c, "cp: from one VM to another goes by way of "
				    "this host, in two steps");
	if (!*from->vm && !*to->vm)
		return cli_usage(c, "cp: neither SRC nor DST is in a VM: write "
				    "NAME:PATH for that");
	return 0;
}

/* To and from a stream it is one file, and its bytes alone. */
static int copy_stream(struct hutch_fs *fs, const struct end *from,
		       const struct end *to, struct hutch_err *e)
{
	int r;

	if (is_stream(from))
		return hutch_fs_write(fs, to->path, HUTCH_FS_ATOMIC, FILE_MODE,
				      STDIN_FILENO, e);
	r = hutch_fs_read(fs, from->path, fs_to_stdout, NULL, e);
	return ferror(stdout) ? 0 : r;
}

static int copy(struct hutch_fs *fs, const struct cp_opts *o,
		const struct end *from, const struct end *to,
		struct hutch_err *e)
{
	unsigned int flags = (o->archive ? HUTCH_FS_ARCHIVE : 0) |
			     (o->follow ? HUTCH_FS_FOLLOW : 0);

	if (is_stream(from) || is_stream(to))
		return copy_stream(fs, from, to, e);
	if (*from->vm)
		return hutch_fs_get(fs, from->path, flags, to->path, e);
	return hutch_fs_put(fs, from->path, flags, to->path, e);
}

static int cmd_cp(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct cp_opts *o = opts;
	struct end from, to;
	struct hutch_fs *fs = NULL;
	struct hutch_err e = { 0 };
	struct jsonw j = cli_json();
	int r = read_ends(c, w, &from, &to);

	if (r == 0 && (is_stream(&from) || is_stream(&to)) &&
	    (o->archive || o->follow))
		return cli_usage(c, "cp: of a stream nothing is kept but its "
				    "bytes: leave out --archive and "
				    "--follow-link");
	if (r == 0)
		r = fs_open(c, *from.vm ? from.vm : to.vm, o->user, &fs);
	if (r != 0)
		return r;
	r = copy(fs, o, &from, &to, &e);
	if (r >= 0 && c->json && !is_stream(&to)) {
		jsonw_object(&j, NULL);
		jsonw_bool(&j, "complete", r == 0);
		jsonw_object_end(&j);
	}
	return fs_end(c, fs, r, &e);
}

const struct verb verb_cp = {
	.name = "cp",
	.args = "[OPTIONS] NAME:PATH DST | SRC NAME:PATH",
	.summary = "copy files out of a VM or into it",
	.help = "Copies a file, or a folder with all that is in it, "
		"between this host and VM\nNAME. Modes, times, links and "
		"holes are kept. Where it goes is as with docker\ncp: into "
		"DST if that is a folder, else as DST; SRC/. is what is in "
		"the folder.\nWith - for SRC or DST the bytes of one file "
		"come from standard input or go to\nstandard output. "
		"Something that could not be read is told of, and the exit "
		"code\nis 1.\n\n"
		"  hutch cp app.py web:/srv\n"
		"  hutch cp web:/var/log/. logs\n"
		"  hutch cp web:/etc/passwd - | wc -l\n",
	.rules = { .table = cp_opts },
	.opts_size = sizeof(struct cp_opts),
	.min = 2,
	.max = 2,
	.run = cmd_cp,
};
