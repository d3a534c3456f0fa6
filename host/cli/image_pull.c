/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/image_pull.c - hutch image pull: from a registry */
#include <stdio.h>
#include <string.h>

#include "host/cli/image.h"

#define MS_PER_S 1000ull
#define IDLE_MAX 86400u

struct pull_opts {
	struct cli_common common;
	const char *creds;
	const char *idle;
	const char *max_size;
	const char *max_files;
};

static const struct opt pull_opts[] = {
	{ "creds", 0, OPT_STR, offsetof(struct pull_opts, creds), "env:VAR",
	  "USER:PASSWORD, in the variable VAR" },
	{ "max-idle", 0, OPT_STR, offsetof(struct pull_opts, idle), "TIME",
	  "give up if nothing comes for so long (60s)" },
	{ "max-size", 0, OPT_STR, offsetof(struct pull_opts, max_size), "SIZE",
	  "refuse one whose files are larger (64G)" },
	{ "max-files", 0, OPT_STR, offsetof(struct pull_opts, max_files), "N",
	  "refuse one that has more files (4000000)" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

/* Not on the command line, where everybody on this machine can read it. */
static int read_creds(const struct cli *c, const char *s, const char **ret)
{
	if (!s)
		return 0;
	if (strncmp(s, "env:", 4) != 0 || !s[4])
		return cli_usage(c, "--creds wants env:VAR, and USER:PASSWORD "
				    "in the variable VAR");
	*ret = getenv(s + 4);
	return *ret ? 0 : cli_usage(c, "--creds: there is no such variable");
}

static int read_idle(const struct cli *c, const char *s, unsigned int *ret)
{
	struct hutch_err e = { 0 };
	uint64_t ms;

	if (!s)
		return 0;
	if (hutch_parse_duration("--max-idle", s, &ms, &e) < 0)
		return cli_fail(c, &e);
	if (ms < MS_PER_S || ms > IDLE_MAX * MS_PER_S)
		return cli_usage(c, "--max-idle is from 1s to 24h");
	*ret = (unsigned int)(ms / MS_PER_S);
	return 0;
}

int image_take(const struct cli *c, const struct hutch_image_pull_opts *po,
	       struct hutch_image_info **ret)
{
	struct hutch_image_pull_opts own = *po;
	struct image_progress p;
	struct hutch_err e = { 0 };
	int r;

	image_progress_begin(&p);
	own.progress = image_progress_step;
	own.progress_arg = &p;
	r = hutch_image_pull(c->h, &own, ret, &e);
	image_progress_end(&p);
	return r < 0 ? cli_fail(c, &e) : 0;
}

static int cmd_pull(struct cli *c, const void *opts, const struct opt_words *w)
{
	struct hutch_image_pull_opts po = HUTCH_IMAGE_PULL_OPTS_INIT;
	const struct pull_opts *o = opts;
	struct hutch_image_info *info = NULL;
	struct hutch_err e = { 0 };
	int r = read_creds(c, o->creds, &po.creds);

	r = r ? r : read_idle(c, o->idle, &po.idle_s);
	if (r == 0 && image_read_limits(o->max_size, o->max_files,
					&po.max_bytes, &po.max_entries, &e) < 0)
		r = cli_fail(c, &e);
	r = r ? r : cli_open(c);
	if (r != 0)
		return r;
	po.ref = opt_word(w, 0);
	r = image_take(c, &po, &info);
	if (r != 0)
		return r;
	r = image_print_made(c, po.ref, info);
	hutch_image_info_free(info);
	return r;
}

const struct verb verb_image_pull = {
	.name = "image pull",
	.args = "[OPTIONS] [HOST[:PORT]/]PATH[:TAG][@DIGEST]",
	.summary = "take in an image from a registry",
	.help = "Takes in an image from a registry, for this machine where "
		"there are several.\nWithout HOST it is docker.io's, as Docker "
		"means it. Credentials are those of\n~/.docker/config.json, if "
		"there are some for the host. What was broken off is\ngone on "
		"with.\n\n"
		"  hutch image pull debian:12\n"
		"  hutch image pull --creds env:LOGIN ghcr.io/me/mine@sha256:...\n",
	.rules = { .table = pull_opts },
	.opts_size = sizeof(struct pull_opts),
	.min = 1,
	.max = 1,
	.run = cmd_pull,
};
