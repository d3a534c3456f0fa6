/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/report.c - see report.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/event.h"
#include "host/cli/report.h"
#include "host/cli/signals.h"

int report_code(enum hutch_exec_how how, int value, int timed_out)
{
	if (timed_out)
		return CLI_EXIT_TIMEOUT;
	if (how == HUTCH_EXEC_SIGNALLED)
		return CLI_EXIT_SIGNAL + (value & 0x7f);
	return value & 0xff;
}

char *report_text(char buf[REPORT_TEXT_MAX], enum hutch_exec_how how, int value,
		  int timed_out, int oom)
{
	char name[SIGNALS_NAME_MAX];

	if (how == HUTCH_EXEC_SIGNALLED)
		(void)signals_name(value, name);
	else
		(void)snprintf(name, sizeof(name), "code %d", value);
	(void)snprintf(buf, REPORT_TEXT_MAX, "%s%s", name,
		       timed_out ? ", its time was up"
		       : oom     ? ", out of memory"
				 : "");
	return buf;
}

static int report_exit(const struct cli *c, const struct stream_end *end)
{
	const struct hutch_exec_event *ev = &end->exit;
	int code = report_code(ev->how, ev->value, ev->timed_out);
	struct jsonw j = { .out = stdout };

	if (ev->timed_out)
		cli_warn("the command was ended: its time was up");
	else if (ev->oom)
		cli_warn("the command was ended: there was no memory left "
			 "for it");
	if (end->write_error) {
		cli_warn("cannot write the command's output: %s",
			 strerror(-end->write_error));
		code = code ? code : CLI_EXIT_FAILED;
	}
	if (c->json)
		event_exit(&j, ev, code);
	return code;
}

void report_goes_on(const char *vm, const char *id)
{
	cli_warn("'%s' goes on: hutch attach %s %s", id, vm, id);
}

/* It goes on without us. */
static int report_left(const struct cli *c, const char *vm,
		       const struct stream_end *end)
{
	struct jsonw j = { .out = stdout };
	int code = end->gave_up ? CLI_EXIT_SIGNAL + end->gave_up : 0;

	if (end->left)
		report_goes_on(vm, end->id);
	if (c->json && end->gave_up)
		event_error(&j, "left by a signal", -EINTR, code);
	else if (c->json)
		event_left(&j, end->id, code);
	return code;
}

static int error_code(const struct stream_end *end, bool timed_out)
{
	/* An errno of the guest's is no time-out of ours. */
	if (timed_out || (end->error == -ETIMEDOUT && !end->failed))
		return CLI_EXIT_TIMEOUT;
	switch (end->failed) {
	case HUTCH_EXEC_ERROR_NOT_FOUND:
		return CLI_EXIT_NOT_FOUND;
	case HUTCH_EXEC_ERROR_NOT_EXECUTABLE:
		return CLI_EXIT_NOT_EXECUTABLE;
	default:
		return CLI_EXIT_FAILED;
	}
}

int report_end(const struct cli *c, const char *vm,
	       const struct stream_end *end, bool timed_out)
{
	struct jsonw j = { .out = stdout };
	int code;

	if (end->exited)
		return report_exit(c, end);
	if (end->gave_up || end->left)
		return report_left(c, vm, end);
	code = error_code(end, timed_out);
	cli_warn("%s", end->e.msg);
	if (c->json)
		event_error(&j, end->e.msg, end->error, code);
	return code;
}
