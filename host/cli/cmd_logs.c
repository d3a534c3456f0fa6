/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_logs.c - hutch logs: what a VM's main process or kernel wrote */
#include <stdio.h>

#include "host/cli/cli.h"
#include "host/cli/event.h"

#define TIME_MAX 32

struct logs_opts {
	struct cli_common common;
	bool console;
	bool timestamps;
};

static const struct opt logs_opts[] = {
	{ "console", 0, OPT_FLAG, offsetof(struct logs_opts, console), NULL,
	  "the guest kernel's messages, the last 64 KiB" },
	{ "timestamps", 't', OPT_FLAG, offsetof(struct logs_opts, timestamps),
	  NULL, "the time in front of each piece" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static void put_json(const struct hutch_log_piece *p)
{
	struct jsonw j = { .out = stdout };
	char when[TIME_MAX];

	jsonw_object(&j, NULL);
	jsonw_str(&j, "stream", p->stream == 2 ? "stderr" : "stdout");
	if (p->time_ns)
		jsonw_str(&j, "time",
			  hutch_time_text(p->time_ns, when, sizeof(when)));
	event_put_data(&j, p->data, p->len);
	jsonw_object_end(&j);
}

static void put_piece(const struct logs_opts *o,
		      const struct hutch_log_piece *p)
{
	FILE *out = p->stream == 2 ? stderr : stdout;
	char when[TIME_MAX];

	if (o->common.json) {
		put_json(p);
		return;
	}
	if (o->timestamps && p->time_ns)
		(void)fprintf(out, "%s ",
			      hutch_time_text(p->time_ns, when, sizeof(when)));
	(void)fwrite(p->data, 1, p->len, out);
	/* Keeps the order of the two where they meet in a terminal. */
	(void)fflush(out);
}

static int cmd_logs(struct cli *c, const void *opts, const struct opt_words *w)
{
	const struct logs_opts *o = opts;
	const char *name = w->n ? w->word[0] : w->rest[0];
	struct hutch_log_piece piece;
	struct hutch_logs *logs = NULL;
	struct hutch_err e = { 0 };
	int r = cli_open(c);

	if (r != 0)
		return r;
	if (hutch_logs_open(c->h, name,
			    o->console ? HUTCH_LOG_CONSOLE : HUTCH_LOG_MAIN, 0,
			    &logs, &e) < 0)
		return cli_fail(c, &e);
	while (!ferror(stdout) && (r = hutch_logs_next(logs, &piece, &e)) > 0)
		put_piece(o, &piece);
	hutch_logs_close(logs);
	return r < 0 ? cli_fail(c, &e) : 0;
}

const struct verb verb_logs = {
	.name = "logs",
	.args = "[OPTIONS] NAME",
	.summary = "print what a VM's main process or kernel wrote",
	.help = "Prints the output of the main process of a VM that was "
		"started with one: what it\nwrote to stdout on stdout, what "
		"it wrote to stderr on stderr. Of long output the\nend is "
		"kept.\n",
	.rules = { .table = logs_opts },
	.opts_size = sizeof(struct logs_opts),
	.min = 1,
	.max = 1,
	.run = cmd_logs,
};
