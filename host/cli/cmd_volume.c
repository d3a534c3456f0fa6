/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_volume.c - hutch volume: create, list, rm */
#include <stdio.h>

#include "host/cli/names.h"
#include "host/cli/show.h"
#include "host/cli/table.h"
#include "host/cli/value.h"

#define TIME_BYTES 32

static const struct opt plain_opts[] = {
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

struct create_opts {
	struct cli_common common;
	const char *size;
};

static const struct opt create_opts[] = {
	{ "size", 's', OPT_STR, offsetof(struct create_opts, size), "SIZE",
	  "let no more be in each, as 512M or 2G" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int create_one(struct cli *c, const char *name, const void *arg,
		      struct hutch_err *e)
{
	return hutch_volume_create(c->h, name, arg, e);
}

static int cmd_create(struct cli *c, const void *opts,
		      const struct opt_words *w)
{
	const struct create_opts *o = opts;
	struct hutch_volume_opts v = HUTCH_VOLUME_OPTS_INIT;
	struct hutch_err e = { 0 };

	if (o->size && value_size("--size", o->size, &v.bytes, &e) < 0)
		return cli_usage(c, "%s", e.msg);
	return names_each(c, w, 0, create_one, &v);
}

static const struct verb verb_create = {
	.name = "volume create",
	.args = "[OPTIONS] NAME...",
	.summary = "make volumes, unless they are there",
	.help = "With --size a VM finds a disk of that size: when it is full "
		"it is told so, and\nwhat is there can be removed. One VM at a "
		"time may write to such a volume.\n",
	.rules = { .table = create_opts },
	.opts_size = sizeof(struct create_opts),
	.min = 1,
	.max = OPT_WORDS_ANY,
	.run = cmd_create,
};

struct rm_opts {
	struct cli_common common;
	bool force;
};

static const struct opt rm_opts[] = {
	{ "force", 'f', OPT_FLAG, offsetof(struct rm_opts, force), NULL,
	  "also what a VM mounts that is stopped" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static int rm_one(struct cli *c, const char *name, const void *arg,
		  struct hutch_err *e)
{
	const struct rm_opts *o = arg;

	return hutch_volume_remove(c->h, name,
				   o->force ? HUTCH_VOLUME_RM_FORCE : 0, e);
}

static int cmd_rm(struct cli *c, const void *opts, const struct opt_words *w)
{
	return names_each(c, w, 0, rm_one, opts);
}

static const struct verb verb_rm_ = {
	.name = "volume rm",
	.alias = "volume remove",
	.args = "[OPTIONS] NAME...",
	.summary = "remove volumes, with all that is in them",
	.help = "One that a VM mounts is refused, though it be stopped.\n",
	.rules = { .table = rm_opts },
	.opts_size = sizeof(struct rm_opts),
	.min = 1,
	.max = OPT_WORDS_ANY,
	.run = cmd_rm,
};

struct list_opts {
	struct cli_common common;
	bool quiet;
};

static const struct opt list_opts[] = {
	{ "quiet", 'q', OPT_FLAG, offsetof(struct list_opts, quiet), NULL,
	  "print names only" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static const struct table_col cols[] = { { "NAME", 0 },
					 { "CREATED", 0 },
					 { "SIZE", 0 },
					 { "USED", 0 },
					 { "IN USE", 0 } };

static int add_sizes(struct table *t, const struct hutch_volume *v)
{
	char size[SHOW_MAX], used[SHOW_MAX];
	int r;

	show_size(size, v->bytes);
	show_size(used, (uint64_t)v->used_bytes);
	r = table_add(t, v->bytes ? size : NULL);
	return r < 0 ? r : table_add(t, v->used_bytes >= 0 ? used : NULL);
}

static int print_table(struct hutch_volume *const *list)
{
	struct table t;
	int r = 0;

	table_init(&t, cols, ARRAY_LEN(cols));
	for (; *list && r == 0; list++) {
		char created[SHOW_MAX];

		show_ago(created, (*list)->created_ns);
		r = table_add(&t, (*list)->name);
		r = r < 0 ? r
			  : table_add(&t, (*list)->created_ns ? created : NULL);
		r = r < 0 ? r : add_sizes(&t, *list);
		r = r < 0 ? r : table_add(&t, (*list)->in_use ? "yes" : "no");
	}
	if (r == 0)
		table_print(&t, stdout);
	table_done(&t);
	return r;
}

static void json_sizes(struct jsonw *j, const struct hutch_volume *v)
{
	if (v->bytes)
		jsonw_uint(j, "size", v->bytes);
	else
		jsonw_null(j, "size");
	if (v->used_bytes >= 0)
		jsonw_uint(j, "used", (uint64_t)v->used_bytes);
	else
		jsonw_null(j, "used");
}

static void print_json(struct hutch_volume *const *list)
{
	struct jsonw j = cli_json();
	char buf[TIME_BYTES];

	jsonw_array(&j, NULL);
	for (; *list; list++) {
		int64_t ns = (*list)->created_ns;

		jsonw_object(&j, NULL);
		jsonw_str(&j, "name", (*list)->name);
		jsonw_str(&j, "path", (*list)->path);
		jsonw_str(&j, "created",
			  ns ? hutch_time_text(ns, buf, sizeof(buf)) : NULL);
		jsonw_bool(&j, "in_use", (*list)->in_use);
		json_sizes(&j, *list);
		jsonw_object_end(&j);
	}
	jsonw_array_end(&j);
}

static int cmd_list(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct list_opts *o = opts;
	struct hutch_volume **list = NULL;
	struct hutch_err e = { 0 };
	int r = cli_open(c);

	(void)w;
	if (r != 0)
		return r;
	if (hutch_volume_list(c->h, &list, &e) < 0)
		return cli_fail(c, &e);
	if (c->json)
		print_json(list);
	else if (!o->quiet)
		r = print_table(list);
	for (size_t i = 0; !c->json && o->quiet && list[i]; i++)
		(void)printf("%s\n", list[i]->name);
	hutch_volume_list_free(list);
	return r < 0 ? cli_usage(c, "volume list: out of memory") : 0;
}

static const struct verb verb_list_ = {
	.name = "volume list",
	.alias = "volume ls",
	.args = "[OPTIONS]",
	.summary = "list the volumes there are",
	.rules = { .table = list_opts },
	.opts_size = sizeof(struct list_opts),
	.run = cmd_list,
};

static int cmd_volume(struct cli *c, const void *opts,
		      const struct opt_words *w)
{
	(void)opts;
	return cli_no_sub(c, &verb_volume, opt_word(w, 0));
}

static const struct verb *const subs[] = {
	&verb_create,
	&verb_list_,
	&verb_rm_,
	NULL,
};

const struct verb verb_volume = {
	.name = "volume",
	.args = "VERB [OPTIONS] ...",
	.summary = "make, list and remove folders that VMs share",
	.help = "Volumes are folders that hutch keeps for VMs, by name: -v "
		"NAME:DST mounts one,\nand makes it if it is not there. Files "
		"in it have the owners and modes that the\nVMs give them; the "
		"first VM from an image fills it with what that has at DST.\n",
	.rules = { .table = plain_opts },
	.opts_size = sizeof(struct cli_common),
	.max = OPT_WORDS_ANY,
	.run = cmd_volume,
	.subs = subs,
};
