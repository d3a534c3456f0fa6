/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/fs_watch.c - hutch fs watch: what happens to files */
#include <stdio.h>

#include "host/cli/fs.h"
#include "host/cli/tail.h"
#include "host/cli/text.h"
#include "host/cli/value.h"

/* A path of 4095 bytes, each escaped. */
#define PATH_SHOW 16400

struct watch_opts {
	struct cli_common common;
	const char *user;
	const char *count;
	bool recursive;
};

static const struct opt watch_opts[] = {
	{ "recursive", 'r', OPT_FLAG, offsetof(struct watch_opts, recursive),
	  NULL, "in folders below too" },
	{ "count", 'n', OPT_STR, offsetof(struct watch_opts, count), "N",
	  "leave after so many events" },
	FS_USER_OPT(struct watch_opts),
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

/** struct watching - How events are printed; @left of them, 0: all */
struct watching {
	bool json;
	unsigned int left;
};

static void print_json(const struct hutch_fs_event *ev)
{
	struct jsonw j = { .out = stdout };

	jsonw_object(&j, NULL);
	jsonw_str(&j, "event", hutch_fs_event_name(ev->kind));
	fs_put_bytes(&j, "path", "path_base64", ev->path);
	jsonw_bool(&j, "folder", ev->folder);
	if (ev->cookie)
		jsonw_uint(&j, "cookie", ev->cookie);
	else
		jsonw_null(&j, "cookie");
	jsonw_object_end(&j);
}

static void print_text(const struct hutch_fs_event *ev)
{
	char path[PATH_SHOW];

	(void)text_show(path, sizeof(path), *ev->path ? ev->path : ".",
			(size_t)-1);
	(void)printf("%-10s %s%s\n", hutch_fs_event_name(ev->kind), path,
		     ev->folder ? "/" : "");
}

static int print_event(void *arg, const struct hutch_fs_event *ev)
{
	struct watching *w = arg;

	if (w->json)
		print_json(ev);
	else
		print_text(ev);
	tail_flush();
	if (ferror(stdout))
		return 1;
	/* That it has begun is no event of those that are counted. */
	return ev->kind != HUTCH_FS_READY && w->left && --w->left == 0;
}

static int cmd_watch(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct watch_opts *o = opts;
	const char *path = opt_word(w, 1);
	struct watching how = { .json = c->json };
	struct hutch_fs *fs = NULL;
	struct hutch_err e = { 0 };
	int r = value_uint("--count", o->count, 1, 1000000000, &how.left, &e);

	if (r < 0)
		return cli_fail(c, &e);
	r = fs_open(c, opt_word(w, 0), o->user, &fs);
	if (r != 0)
		return r;
	r = hutch_fs_watch(fs, path ? path : ".",
			   o->recursive ? HUTCH_FS_RECURSIVE : 0, print_event,
			   &how, &e);
	return fs_end(c, fs, r, &e);
}

const struct verb verb_fs_watch = {
	.name = "fs watch",
	.args = "[OPTIONS] NAME [PATH]",
	.summary = "tell what happens to files",
	.rules = { .table = watch_opts },
	.opts_size = sizeof(struct watch_opts),
	.min = 1,
	.max = 2,
	.run = cmd_watch,
};
