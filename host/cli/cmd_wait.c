/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_wait.c - hutch wait: for an end, a line of output, or a port */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/cli.h"
#include "host/cli/process.h"
#include "host/cli/report.h"
#include "host/cli/value.h"

#define PORT_MAX 65535
/* It ended before what was waited for came. */
#define EXIT_TOO_EARLY 1

struct wait_opts {
	struct cli_common common;
	const char *what;
	const char *from;
	const char *timeout;
};

static const struct opt wait_opts[] = {
	{ "for", 0, OPT_STR, offsetof(struct wait_opts, what), "WHAT",
	  "exit, line=RE or port=N (exit)" },
	{ "from", 0, OPT_STR, offsetof(struct wait_opts, from), "CURSOR",
	  "look only at output behind this byte (0)" },
	{ "timeout", 0, OPT_STR, offsetof(struct wait_opts, timeout), "TIME",
	  "give up after this long; 0: look once" },
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

/*
 * Of a VM that was only started: none failed if someone wanted it to end, or
 * nobody wanted anything of it.
 */
static int vm_code(enum hutch_reason reason)
{
	switch (reason) {
	case HUTCH_REASON_EXITED:
	case HUTCH_REASON_STOPPED:
	case HUTCH_REASON_IDLE:
		return 0;
	case HUTCH_REASON_TIMEOUT:
		return CLI_EXIT_TIMEOUT;
	default:
		return CLI_EXIT_FAILED;
	}
}

/**
 * struct waited - What came of it
 * @proc:	Id of the process, or NULL
 * @rec:	Of the VM, if its end is what was seen; or NULL
 * @is_line:	A line was waited for
 * @port:	Or this port
 */
struct waited {
	struct hutch_wait_result r;
	const char *proc;
	const struct hutch_record *rec;
	bool is_line;
	unsigned int port;
};

static int exit_code(const struct waited *w)
{
	switch (w->r.outcome) {
	case HUTCH_WAITED_MATCHED:
		return 0;
	case HUTCH_WAITED_TIMED_OUT:
		return CLI_EXIT_TIMEOUT;
	case HUTCH_WAITED_EXITED:
		break;
	}
	if (w->is_line || w->port)
		return EXIT_TOO_EARLY;
	if (w->rec && !w->rec->argv)
		return vm_code(w->rec->reason);
	return report_code(w->r.how, w->r.value, w->r.timed_out);
}

static const char *reason_name(const struct waited *w)
{
	return w->rec ? hutch_reason_name(w->rec->reason) : NULL;
}

static const char *outcome_name(const struct waited *w)
{
	return w->r.outcome == HUTCH_WAITED_MATCHED  ? "matched"
	       : w->r.outcome == HUTCH_WAITED_EXITED ? "exited"
						     : "timed out";
}

static void put_text(const struct waited *w)
{
	char how[REPORT_TEXT_MAX];

	(void)printf("%s", outcome_name(w));
	if (w->r.outcome == HUTCH_WAITED_MATCHED && w->is_line)
		(void)printf(": %s", w->r.line);
	else if (w->r.outcome == HUTCH_WAITED_MATCHED)
		(void)printf(": port %u", w->port);
	else if (w->r.outcome == HUTCH_WAITED_EXITED && w->r.how)
		(void)printf(": %s", report_text(how, w->r.how, w->r.value,
						 w->r.timed_out, w->r.oom));
	else if (w->r.outcome == HUTCH_WAITED_EXITED)
		(void)printf(": the VM, %s", reason_name(w));
	(void)putchar('\n');
}

static void put_json(const struct waited *w, int code)
{
	bool line = w->r.outcome == HUTCH_WAITED_MATCHED && w->is_line;
	struct jsonw j = cli_json();

	jsonw_object(&j, NULL);
	jsonw_str(&j, "outcome", outcome_name(w));
	jsonw_int(&j, "code", code);
	jsonw_str(&j, "process", w->proc);
	process_put_end(&j, w->r.how, w->r.value);
	jsonw_bool(&j, "timed_out", w->r.timed_out);
	jsonw_bool(&j, "oom", w->r.oom);
	jsonw_bool(&j, "lingering", w->r.lingering);
	jsonw_str(&j, "reason", reason_name(w));
	jsonw_str(&j, "line", line ? w->r.line : NULL);
	jsonw_str(&j, "stream",
		  !line              ? NULL
		  : w->r.stream == 2 ? "stderr"
				     : "stdout");
	if (line)
		jsonw_uint(&j, "cursor", w->r.cursor);
	else
		jsonw_null(&j, "cursor");
	jsonw_object_end(&j);
}

static int report(const struct cli *c, const struct waited *w)
{
	int code = exit_code(w);

	if (c->json)
		put_json(w, code);
	else
		put_text(w);
	return code;
}

static int read_what(const char *word, struct hutch_wait_opts *wo,
		     struct hutch_err *e)
{
	wo->what = HUTCH_WAIT_FOR_EXIT;
	if (!word || !strcmp(word, "exit"))
		return 0;
	if (!strncmp(word, "line=", 5)) {
		wo->what = HUTCH_WAIT_FOR_LINE;
		wo->line = word + 5;
		return 0;
	}
	if (!strncmp(word, "port=", 5)) {
		wo->what = HUTCH_WAIT_FOR_PORT;
		return value_uint("--for port", word + 5, 1, PORT_MAX,
				  &wo->port, e);
	}
	return value_refuse(e, "--for", word,
			    "is not exit, line=REGULAR-EXPRESSION or "
			    "port=NUMBER");
}

static int read_opts(const struct wait_opts *o, struct hutch_wait_opts *wo,
		     struct hutch_err *e)
{
	int r = read_what(o->what, wo, e);

	if (r == 0)
		r = value_ms("--timeout", o->timeout, &wo->timeout_ms, e);
	if (r == 0 && o->from && wo->what != HUTCH_WAIT_FOR_LINE)
		r = value_refuse(e, "--from", o->from,
				 "is for --for line=RE alone");
	if (r == 0 && o->from)
		r = hutch_parse_uint("--from", o->from, 0, INT64_MAX, &wo->from,
				     e);
	return r;
}

/*
 * How the main process ended, as far as the record of its VM says.
 *
 * Return: whether it does
 */
static bool main_end(const struct hutch_record *rec,
		     struct hutch_wait_result *r)
{
	r->outcome = HUTCH_WAITED_EXITED;
	r->oom = rec->reason == HUTCH_REASON_OOM;
	if (rec->exit_code >= 0) {
		r->how = HUTCH_EXEC_EXITED;
		r->value = rec->exit_code;
		return true;
	}
	/* The monitor's own death is not that of the process. */
	if (rec->reason == HUTCH_REASON_VMM_CRASH)
		return false;
	if (rec->signal > 0) {
		r->how = HUTCH_EXEC_SIGNALLED;
		r->value = rec->signal;
	}
	/* The VM's time, and not that of one that has ended before. */
	r->timed_out = !r->how && rec->reason == HUTCH_REASON_TIMEOUT;
	return r->how || r->timed_out;
}

/* Takes @rec, of a VM that has ended or whose main process has. */
static int report_record(const struct cli *c, struct hutch_record *rec)
{
	char reason[HUTCH_ERR_MAX / 2];
	struct waited w = { .rec = rec };
	int r;

	if (!rec->argv) {
		w.r.outcome = HUTCH_WAITED_EXITED;
		r = report(c, &w);
	} else if (main_end(rec, &w.r)) {
		w.proc = "main";
		r = report(c, &w);
	} else {
		struct hutch_err e = { .code = -ESRCH };

		(void)snprintf(e.msg, sizeof(e.msg),
			       "VM '%s' has ended, and nobody knows how its "
			       "main process did: %s",
			       rec->name,
			       hutch_reason_text(rec, reason, sizeof(reason)));
		r = cli_fail(c, &e);
	}
	hutch_record_free(rec);
	return r;
}

static int timed_out(const struct cli *c, const char *proc)
{
	const struct waited w = { .proc = proc,
				  .r.outcome = HUTCH_WAITED_TIMED_OUT };

	return report(c, &w);
}

static int wait_for_process(const struct cli *c, const char *vm,
			    const char *proc, const struct hutch_wait_opts *wo)
{
	struct waited w = { .proc = proc,
			    .is_line = wo->what == HUTCH_WAIT_FOR_LINE,
			    .port = wo->port };
	struct hutch_record *rec = NULL;
	struct hutch_err e = { 0 };
	int r = hutch_process_wait(c->h, vm, proc, wo, &w.r, &e);

	if (r == 0)
		return report(c, &w);
	/* The main process may be told of on record alone. */
	if (r == -ESRCH && !proc && wo->what == HUTCH_WAIT_FOR_EXIT &&
	    hutch_inspect(c->h, vm, &rec, NULL) == 0) {
		if (rec->exit_code >= 0 || rec->signal > 0)
			return report_record(c, rec);
		hutch_record_free(rec);
	}
	return cli_fail(c, &e);
}

/*
 * Without a process: the main one, which takes the VM with it unless that is
 * to stay, or the VM.
 */
static int wait_for_main(const struct cli *c, const char *vm,
			 const struct hutch_wait_opts *wo)
{
	struct hutch_record *rec = NULL;
	struct hutch_err e = { 0 };
	bool keep;
	int r;

	if (hutch_inspect(c->h, vm, &rec, &e) < 0)
		return cli_fail(c, &e);
	keep = rec->argv && rec->on_exit == HUTCH_ON_EXIT_KEEP &&
	       rec->state != HUTCH_STATE_STOPPED;
	hutch_record_free(rec);
	if (keep)
		return wait_for_process(c, vm, NULL, wo);
	r = hutch_wait(c->h, vm, HUTCH_WAIT_EXIT, wo->timeout_ms, &rec, &e);
	if (r == 0)
		return report_record(c, rec);
	return r == -ETIMEDOUT ? timed_out(c, NULL) : cli_fail(c, &e);
}

static int cmd_wait(struct cli *c, const void *opts, const struct opt_words *w)
{
	struct hutch_wait_opts wo = HUTCH_WAIT_OPTS_INIT;
	const char *vm = opt_word(w, 0), *proc = opt_word(w, 1);
	struct hutch_err e = { 0 };
	int r;

	if (read_opts(opts, &wo, &e) < 0)
		return cli_fail(c, &e);
	r = cli_open(c);
	if (r != 0)
		return r;
	if (!proc && wo.what == HUTCH_WAIT_FOR_EXIT)
		return wait_for_main(c, vm, &wo);
	return wait_for_process(c, vm, proc, &wo);
}

const struct verb verb_wait = {
	.name = "wait",
	.args = "[OPTIONS] NAME [PROC]",
	.summary = "wait for an end, a line of output, or a port",
	.help = "Waits until process PROC of VM NAME has ended, and exits "
		"with its exit code;\nwith --for line=RE until a line of "
		"its output matches that extended regular\nexpression, "
		"with --for port=N until something listens on that TCP "
		"port of the\nVM. Without PROC it is the main process; if "
		"there is none, the end of the VM: 0\nif it was stopped or "
		"idle, 124 if its time was up, else 125.\n\n"
		"One line says what it was: matched (exit code 0), exited "
		"(1, if it was not\nwaited for) or timed out (124). "
		"--timeout 0 looks once at what is there already.\n\n"
		"  hutch wait web server --for port=8080 --timeout 30\n"
		"  hutch wait web server --for 'line=^Listening'\n",
	.rules = { .table = wait_opts },
	.opts_size = sizeof(struct wait_opts),
	.min = 1,
	.max = 2,
	.run = cmd_wait,
};
