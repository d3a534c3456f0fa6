/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/image_list.c - hutch image list: those there are */
#include <errno.h>
#include <stdio.h>

#include "host/cli/image.h"
#include "host/cli/show.h"
#include "host/cli/table.h"

struct list_opts {
	struct cli_common common;
	bool quiet;
	bool no_trunc;
};

static const struct opt list_opts[] = {
	{ "quiet", 'q', OPT_FLAG, offsetof(struct list_opts, quiet), NULL,
	  "print ids only" },
	{ "no-trunc", 0, OPT_FLAG, offsetof(struct list_opts, no_trunc), NULL,
	  "print whole ids" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static const struct table_col cols[] = { { "NAME", 0 },
					 { "ID", 0 },
					 { "CREATED", 0 },
					 { "SIZE", 0 } };

static int id_len(const struct list_opts *o)
{
	return o->no_trunc ? HUTCH_IMAGE_ID_LEN : IMAGE_SHORTID;
}

static int add_row(struct table *t, const struct list_opts *o,
		   const struct hutch_image_info *i, const char *name)
{
	char id[HUTCH_IMAGE_ID_LEN + 1], created[SHOW_MAX], bytes[SHOW_MAX];
	int r = table_add(t, name);

	(void)snprintf(id, sizeof(id), "%.*s", id_len(o), i->id);
	show_ago(created, i->created_ns);
	show_size(bytes, i->bytes);
	r = r < 0 ? r : table_add(t, id);
	r = r < 0 ? r : table_add(t, i->damaged ? NULL : created);
	return r < 0 ? r : table_add(t, i->damaged ? NULL : bytes);
}

/* A line a name; one without a name has a line as well. */
static int print_table(const struct list_opts *o,
		       struct hutch_image_info *const *list)
{
	struct table t;
	int r = 0;

	table_init(&t, cols, ARRAY_LEN(cols));
	for (; *list && r == 0; list++) {
		const char *const *names = (*list)->names;

		if (!names)
			r = add_row(&t, o, *list, NULL);
		for (; names && *names && r == 0; names++)
			r = add_row(&t, o, *list, *names);
	}
	if (r == 0)
		table_print(&t, stdout);
	table_done(&t);
	return r;
}

static int print_list(const struct cli *c, const struct list_opts *o,
		      struct hutch_image_info *const *list)
{
	for (size_t i = 0; list[i]; i++)
		if (list[i]->damaged)
			cli_warn("%s; hutch image rm %.*s removes it",
				 list[i]->damaged, IMAGE_SHORTID, list[i]->id);
	if (c->json)
		return image_print_json(list);
	if (!o->quiet)
		return print_table(o, list);
	for (; *list; list++)
		(void)printf("%.*s\n", id_len(o), (*list)->id);
	return 0;
}

static int cmd_list(struct cli *c, const void *opts, const struct opt_words *w)
{
	struct hutch_image_info **list = NULL;
	struct hutch_err e = { 0 };
	int r = cli_open(c);

	(void)w;
	if (r != 0)
		return r;
	if (hutch_image_list(c->h, &list, &e) < 0)
		return cli_fail(c, &e);
	r = print_list(c, opts, list);
	hutch_image_list_free(list);
	return r < 0 ? cli_usage(c, "image list: out of memory") : 0;
}

const struct verb verb_image_list = {
	.name = "image list",
	.alias = "image ls",
	.args = "[OPTIONS]",
	.summary = "list the images there are",
	.rules = { .table = list_opts },
	.opts_size = sizeof(struct list_opts),
	.run = cmd_list,
};
