/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/image_rm.c - hutch image rm, hutch image prune */
#include <stdio.h>

#include "host/cli/image.h"
#include "host/cli/names.h"

struct rm_opts {
	struct cli_common common;
	bool force;
};

static const struct opt rm_opts[] = {
	{ "force", 'f', OPT_FLAG, offsetof(struct rm_opts, force), NULL,
	  "by its id, though it has several names" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int rm_one(struct cli *c, const char *name, const void *arg,
		  struct hutch_err *e)
{
	const struct rm_opts *o = arg;

	return hutch_image_remove(c->h, name,
				  o->force ? HUTCH_IMAGE_RM_FORCE : 0, e);
}

static int cmd_rm(struct cli *c, const void *opts, const struct opt_words *w)
{
	return names_each(c, w, 0, rm_one, opts);
}

const struct verb verb_image_rm = {
	.name = "image rm",
	.alias = "image remove",
	.args = "[OPTIONS] NAME...",
	.summary = "take a name from an image, with the last all of it",
	.help = "Takes the name away, and with its last name the image goes. "
		"An image that a VM\nuses is refused.\n",
	.rules = { .table = rm_opts },
	.opts_size = sizeof(struct rm_opts),
	.min = 1,
	.max = OPT_WORDS_ANY,
	.run = cmd_rm,
};

struct prune_opts {
	struct cli_common common;
	bool all;
};

static const struct opt prune_opts[] = {
	{ "all", 'a', OPT_FLAG, offsetof(struct prune_opts, all), NULL,
	  "those with names as well, unless a VM uses them" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int cmd_prune(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct prune_opts *o = opts;
	struct hutch_image_info **list = NULL;
	struct hutch_err e = { 0 };
	int r = cli_open(c);

	(void)w;
	if (r != 0)
		return r;
	if (hutch_image_prune(c->h, o->all ? HUTCH_IMAGE_PRUNE_ALL : 0, &list,
			      &e) < 0)
		return cli_fail(c, &e);
	if (c->json)
		r = image_print_json(list);
	for (size_t i = 0; !c->json && list[i]; i++)
		(void)printf("%.*s\n", IMAGE_SHORTID, list[i]->id);
	hutch_image_list_free(list);
	return r < 0 ? cli_usage(c, "image prune: out of memory") : 0;
}

const struct verb verb_image_prune = {
	.name = "image prune",
	.args = "[OPTIONS]",
	.summary = "remove images without names, and what was left behind",
	.help = "Removes images that have no name any more, and what imports "
		"that were killed\nhave left behind.\n",
	.rules = { .table = prune_opts },
	.opts_size = sizeof(struct prune_opts),
	.run = cmd_prune,
};
