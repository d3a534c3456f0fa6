/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_ports.c - hutch ports: what listens in a VM */
#include "host/cli/cli.h"
#include "host/cli/table.h"

#define NUMBER_MAX 16

static const struct opt ports_opts[] = {
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static void print_json(struct hutch_port *const *list)
{
	struct jsonw j = cli_json();

	jsonw_array(&j, NULL);
	for (; *list; list++) {
		const struct hutch_port *p = *list;

		jsonw_object(&j, NULL);
		jsonw_str(&j, "address", p->address);
		jsonw_uint(&j, "port", p->port);
		if (p->pid)
			jsonw_int(&j, "pid", p->pid);
		else
			jsonw_null(&j, "pid");
		jsonw_str(&j, "process", p->pid ? p->process : NULL);
		jsonw_object_end(&j);
	}
	jsonw_array_end(&j);
}

static int print_table(struct hutch_port *const *list)
{
	static const struct table_col cols[] = {
		{ "ADDRESS", 0 },
		{ "PORT", 0 },
		{ "PID", 0 },
		{ "PROCESS", 0 },
	};
	struct table t;
	int r = 0;

	table_init(&t, cols, ARRAY_LEN(cols));
	for (; *list && r == 0; list++) {
		const struct hutch_port *p = *list;
		char port[NUMBER_MAX], pid[NUMBER_MAX] = "";

		(void)snprintf(port, sizeof(port), "%u", p->port);
		if (p->pid)
			(void)snprintf(pid, sizeof(pid), "%d", p->pid);
		r = table_add(&t, p->address);
		r = r < 0 ? r : table_add(&t, port);
		r = r < 0 ? r : table_add(&t, pid);
		r = r < 0 ? r : table_add(&t, p->process);
	}
	if (r == 0)
		table_print(&t, stdout);
	table_done(&t);
	return r;
}

static int cmd_ports(struct cli *c, const void *opts, const struct opt_words *w)
{
	struct hutch_port **list = NULL;
	struct hutch_err e = { 0 };
	int r = cli_open(c);

	(void)opts;
	if (r != 0)
		return r;
	if (hutch_ports(c->h, opt_word(w, 0), &list, &e) < 0)
		return cli_fail(c, &e);
	if (c->json)
		print_json(list);
	else
		r = print_table(list);
	hutch_ports_free(list);
	return r < 0 ? cli_usage(c, "ports: out of memory") : 0;
}

const struct verb verb_ports = {
	.name = "ports",
	.args = "[OPTIONS] NAME",
	.summary = "list the TCP ports that are listened on in a VM",
	.help = "Lists the TCP sockets that listen in VM NAME, each with a "
		"process that has it,\nas the VM tells it. hutch forward makes "
		"them ports of this host; hutch wait\n--for port=N waits for "
		"one.\n",
	.rules = { .table = ports_opts },
	.opts_size = sizeof(struct cli_common),
	.min = 1,
	.max = 1,
	.run = cmd_ports,
};
