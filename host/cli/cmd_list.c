/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_list.c - hutch list: the VMs there are and were */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/cli.h"
#include "host/cli/filter.h"
#include "host/cli/show.h"
#include "host/cli/table.h"
#include "host/cli/text.h"

#define IMAGE_COLS   32
#define COMMAND_COLS 40
#define REASON_COLS  48

struct list_opts {
	struct cli_common common;
	bool all;
	bool quiet;
	bool no_trunc;
	struct opt_list filter;
};

static const struct opt list_opts[] = {
	{ "all", 'a', OPT_FLAG, offsetof(struct list_opts, all), NULL,
	  "stopped ones too (they are always listed)" },
	{ "quiet", 'q', OPT_FLAG, offsetof(struct list_opts, quiet), NULL,
	  "print names only" },
	{ "filter", 'f', OPT_LIST, offsetof(struct list_opts, filter), "FILTER",
	  "label=K, label=K=V, state=S or name=PATTERN" },
	{ "no-trunc", 0, OPT_FLAG, offsetof(struct list_opts, no_trunc), NULL,
	  "do not cut long commands and reasons" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static const struct table_col cols[] = {
	{ "NAME", 0 },
	{ "IMAGE", IMAGE_COLS },
	{ "STATE", 0 },
	{ "CPUS", 0 },
	{ "MEMORY", 0 },
	{ "CREATED", 0 },
	{ "UPTIME", 0 },
	{ "COMMAND", COMMAND_COLS },
	{ "REASON", REASON_COLS },
};

static const struct table_col cols_whole[] = {
	{ "NAME", 0 },   { "IMAGE", 0 },   { "STATE", 0 },
	{ "CPUS", 0 },   { "MEMORY", 0 },  { "CREATED", 0 },
	{ "UPTIME", 0 }, { "COMMAND", 0 }, { "REASON", 0 },
};
_Static_assert(ARRAY_LEN(cols) == ARRAY_LEN(cols_whole), "same columns");

static int add_row(struct table *t, const struct hutch_record *rec)
{
	char cpus[16], memory[SHOW_MAX], created[SHOW_MAX], up[SHOW_MAX];
	char reason[SHOW_REASON_MAX];
	AUTO_FREE char *command = rec->argv ? text_join(rec->argv) : NULL;
	int r;

	(void)snprintf(cpus, sizeof(cpus), "%u", rec->cpus);
	show_size(memory, rec->memory);
	show_ago(created, rec->created_ns);
	show_uptime(up, rec);
	show_reason(reason, rec);

	r = table_add(t, rec->name);
	r = r < 0 ? r : table_add(t, text_or_null(rec->image));
	r = r < 0 ? r : table_add(t, hutch_state_name(rec->state));
	r = r < 0 ? r : table_add(t, cpus);
	r = r < 0 ? r : table_add(t, memory);
	r = r < 0 ? r : table_add(t, created);
	r = r < 0 ? r : table_add(t, up);
	r = r < 0 ? r : table_add(t, command);
	return r < 0 ? r : table_add(t, reason);
}

static int print_table(struct hutch_record *const *list, bool whole)
{
	struct table t;
	int r = 0;

	table_init(&t, whole ? cols_whole : cols, ARRAY_LEN(cols));
	for (; *list && r == 0; list++)
		r = add_row(&t, *list);
	if (r == 0)
		table_print(&t, stdout);
	table_done(&t);
	return r;
}

static int print_list(const struct cli *c, const struct list_opts *o,
		      struct hutch_record *const *list)
{
	if (c->json)
		return show_records(list);
	if (!o->quiet)
		return print_table(list, o->no_trunc);
	for (; *list; list++)
		(void)printf("%s\n", (*list)->name);
	return 0;
}

/* Those of @list that are wanted; free() it, not what is in it. */
static struct hutch_record **wanted(struct hutch_record *const *list,
				    const struct opt_list *filters)
{
	struct hutch_record **ret;
	size_t n = 0, k = 0;

	while (list[n])
		n++;
	ret = calloc(n + 1, sizeof(struct hutch_record *));
	for (size_t i = 0; ret && i < n; i++) {
		if (filter_match(filters, list[i]))
			ret[k++] = list[i];
	}
	return ret;
}

static int cmd_list(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct list_opts *o = opts;
	struct hutch_record **list = NULL, **some;
	struct hutch_err e = { 0 };
	int r;

	(void)w;
	if (filter_check(&o->filter, &e) < 0)
		return cli_fail(c, &e);
	r = cli_open(c);
	if (r != 0)
		return r;
	if (hutch_list(c->h, &list, &e) < 0)
		return cli_fail(c, &e);
	some = wanted(list, &o->filter);
	r = some ? print_list(c, o, some) : -ENOMEM;
	free(some);
	hutch_list_free(list);
	return r < 0 ? cli_usage(c, "list: out of memory") : 0;
}

const struct verb verb_list = {
	.name = "list",
	.alias = "ls",
	.args = "[OPTIONS]",
	.summary = "list VMs, and why those that ended did",
	.help = "Lists all VMs, alive or stopped, sorted by name; with "
		"--filter those that pass\nall of them. A PATTERN is one "
		"of a shell. Of several states or names one is\nenough.\n\n"
		"  hutch list --filter state=running --filter label=job=7\n",
	.rules = { .table = list_opts },
	.opts_size = sizeof(struct list_opts),
	.run = cmd_list,
};
