/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_events.c - hutch events: what has happened to VMs */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/cli.h"
#include "host/cli/event.h"
#include "host/cli/tail.h"
#include "host/cli/process.h"
#include "host/cli/report.h"
#include "host/cli/text.h"

#define TIME_MAX 32

struct events_opts {
	struct cli_common common;
	bool follow;
};

static const struct opt events_opts[] = {
	{ "follow", 'f', OPT_FLAG, offsetof(struct events_opts, follow), NULL,
	  "go on as things happen" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

static void put_json(const struct hutch_vm_event *ev)
{
	struct jsonw j = { .out = stdout };

	jsonw_object(&j, NULL);
	event_put_time(&j, "time", ev->time_ns);
	jsonw_str(&j, "vm", ev->vm);
	jsonw_str(&j, "vm_id", ev->id);
	jsonw_str(&j, "event", ev->kind);
	jsonw_str(&j, "process", text_or_null(ev->process));
	if (ev->pid)
		jsonw_int(&j, "pid", ev->pid);
	else
		jsonw_null(&j, "pid");
	process_put_end(&j, (enum hutch_exec_how)ev->how, ev->value);
	jsonw_bool(&j, "timed_out", ev->timed_out);
	jsonw_bool(&j, "oom", ev->oom);
	jsonw_bool(&j, "core_dumped", ev->core_dumped);
	jsonw_bool(&j, "main", ev->main);
	jsonw_bool(&j, "tty", ev->tty);
	jsonw_str(&j, "reason", text_or_null(ev->reason));
	jsonw_str(&j, "text", ev->text ? ev->text : "");
	event_put_denial(&j, ev);
	jsonw_object_end(&j);
}

/* Each part after a blank; what is not there leaves none. */
static void put_part(const char *s)
{
	if (s && *s)
		(void)printf(" %s", s);
}

static void put_text(const struct hutch_vm_event *ev)
{
	char when[TIME_MAX], how[REPORT_TEXT_MAX] = "";

	if (ev->how)
		(void)report_text(how, (enum hutch_exec_how)ev->how, ev->value,
				  ev->timed_out, ev->oom);
	(void)printf("%s %s %s", hutch_time_text(ev->time_ns, when, TIME_MAX),
		     ev->vm, ev->kind);
	put_part(ev->process);
	put_part(ev->reason);
	put_part(how);
	put_part(ev->text);
	(void)putchar('\n');
}

/* Return: 0 at the end; -errno. */
static int print_events(const struct cli *c, struct hutch_events *events,
			const struct events_opts *o, struct hutch_err *e)
{
	struct hutch_vm_event ev;

	while (!ferror(stdout)) {
		int r = hutch_events_next(events, &ev, e);

		if (r < 0)
			return r == -ENODATA ? 0 : r;
		if (r > 0 && c->json)
			put_json(&ev);
		else if (r > 0)
			put_text(&ev);
		else if (!o->follow)
			return 0;
		if (o->follow)
			tail_flush();
		if (r == 0)
			tail_wait(hutch_events_fd(events), POLLIN);
	}
	return 0;
}

static int cmd_events(struct cli *c, const void *opts,
		      const struct opt_words *w)
{
	const struct events_opts *o = opts;
	struct hutch_events *events = NULL;
	struct hutch_err e = { 0 };
	int r = cli_open(c);

	if (r != 0)
		return r;
	if (hutch_events_open(c->h, opt_word(w, 0),
			      o->follow ? HUTCH_EVENTS_FOLLOW : 0, &events,
			      &e) < 0)
		return cli_fail(c, &e);
	r = print_events(c, events, o, &e);
	hutch_events_close(events);
	return r < 0 ? cli_fail(c, &e) : 0;
}

const struct verb verb_events = {
	.name = "events",
	.args = "[OPTIONS] [NAME]",
	.summary = "print what has happened to a VM, or to all",
	.help = "Prints an event a line: started, ready, process-started, "
		"process-exited, oom,\nidle, stopped. With -f goes on "
		"until VM NAME has ended; without NAME it is all\nVMs, for "
		"ever.\n",
	.rules = { .table = events_opts },
	.opts_size = sizeof(struct events_opts),
	.max = 1,
	.run = cmd_events,
};
