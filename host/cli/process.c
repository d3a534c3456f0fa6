/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/process.c - see process.h */
#include <errno.h>
#include <stdio.h>

#include "host/cli/event.h"
#include "host/cli/process.h"
#include "host/cli/report.h"
#include "host/cli/show.h"
#include "host/cli/text.h"

#define COMMAND_COLS 48
#define PID_MAX      16

static void put_list(struct jsonw *j, const char *key, const char *const *v)
{
	if (!v) {
		jsonw_null(j, key);
		return;
	}
	jsonw_array(j, key);
	for (; *v; v++)
		jsonw_str(j, NULL, *v);
	jsonw_array_end(j);
}

void process_put_end(struct jsonw *j, enum hutch_exec_how how, int value)
{
	if (how == HUTCH_EXEC_EXITED)
		jsonw_int(j, "exit_code", value);
	else
		jsonw_null(j, "exit_code");
	event_put_signal(j, how, value);
}

static void put_life(struct jsonw *j, const struct hutch_process *p)
{
	jsonw_str(j, "id", p->id);
	jsonw_int(j, "pid", p->pid);
	jsonw_str(j, "state", hutch_process_state_name(p->state));
	process_put_end(j, p->how, p->value);
	jsonw_bool(j, "timed_out", p->timed_out);
	jsonw_bool(j, "oom", p->oom);
	jsonw_bool(j, "core_dumped", p->core_dumped);
	event_put_time(j, "started", p->start_ns);
	event_put_time(j, "ended", p->end_ns);
}

static void put_what(struct jsonw *j, const struct hutch_process *p)
{
	put_list(j, "command", p->argv);
	jsonw_bool(j, "command_cut", p->argv_cut);
	put_list(j, "env", p->env);
	jsonw_bool(j, "env_cut", p->env_cut);
	jsonw_str(j, "user", p->user ? p->user : "");
	jsonw_str(j, "workdir", p->workdir ? p->workdir : "");
	jsonw_bool(j, "main", p->main);
	jsonw_bool(j, "tty", p->tty);
	jsonw_bool(j, "stdin", p->has_stdin);
	jsonw_bool(j, "foreground", p->foreground);
	jsonw_uint(j, "attached", p->attached);
}

void process_json(struct jsonw *j, const struct hutch_process *p)
{
	jsonw_object(j, NULL);
	put_life(j, p);
	put_what(j, p);
	jsonw_uint(j, "timeout_ms", p->timeout_ms);
	jsonw_uint(j, "grace_ms", p->grace_ms);
	jsonw_uint(j, "memory", p->memory);
	jsonw_uint(j, "pids", p->pids);
	jsonw_uint(j, "cpu_weight", p->cpu_weight);
	jsonw_uint(j, "stdout_total", p->stdout_total);
	jsonw_uint(j, "stdout_cut", p->stdout_cut);
	jsonw_uint(j, "stderr_total", p->stderr_total);
	jsonw_uint(j, "stderr_cut", p->stderr_cut);
	jsonw_object_end(j);
}

static const char *exit_text(char buf[REPORT_TEXT_MAX],
			     const struct hutch_process *p)
{
	if (p->state == HUTCH_PROCESS_RUNNING)
		return NULL;
	return report_text(buf, p->how, p->value, p->timed_out, p->oom);
}

static int add_row(struct table *t, const struct hutch_process *p)
{
	AUTO_FREE char *command = p->argv ? text_join(p->argv) : NULL;
	char pid[PID_MAX], exit[REPORT_TEXT_MAX], started[SHOW_MAX];
	char output[SHOW_MAX];
	int r;

	(void)snprintf(pid, sizeof(pid), "%d", p->pid);
	show_ago(started, p->start_ns);
	show_size(output, p->stdout_total + p->stderr_total);

	r = table_add(t, p->id);
	r = r < 0 ? r : table_add(t, pid);
	r = r < 0 ? r : table_add(t, hutch_process_state_name(p->state));
	r = r < 0 ? r : table_add(t, exit_text(exit, p));
	r = r < 0 ? r : table_add(t, started);
	r = r < 0 ? r : table_add(t, output);
	return r < 0 ? r : table_add(t, command);
}

int process_table(struct hutch_process *const *list, bool whole)
{
	const struct table_col cols[] = {
		{ "ID", 0 },
		{ "PID", 0 },
		{ "STATE", 0 },
		{ "EXIT", 0 },
		{ "STARTED", 0 },
		{ "OUTPUT", 0 },
		{ "COMMAND", whole ? 0 : COMMAND_COLS },
	};
	struct table t;
	int r = 0;

	table_init(&t, cols, ARRAY_LEN(cols));
	for (; *list && r == 0; list++)
		r = add_row(&t, *list);
	if (r == 0)
		table_print(&t, stdout);
	table_done(&t);
	return r;
}
