/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cmd_inspect.c - hutch inspect: all that is on record about a VM */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "host/cli/cli.h"
#include "host/cli/forward.h"
#include "host/cli/show.h"
#include "host/cli/text.h"

#define LINE_MAX_BYTES 4096
#define TIME_MAX       32
#define WAY_MAX        128

static const struct opt inspect_opts[] = {
	CLI_COMMON_OPTS('h'),
	OPT_END,
};

PRINTF(2, 3) static void line(const char *key, const char *fmt, ...)
{
	char raw[LINE_MAX_BYTES], shown[LINE_MAX_BYTES];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	if (!raw[0])
		return;
	(void)text_show(shown, sizeof(shown), raw, SIZE_MAX);
	(void)printf("%-10s %s\n", key, shown);
}

static void time_line(const char *key, int64_t ns)
{
	char buf[TIME_MAX];

	line(key, "%s", hutch_time_text(ns, buf, sizeof(buf)));
}

static void span_line(const char *key, uint64_t ms)
{
	char span[SHOW_MAX];

	if (ms == 0)
		return;
	show_span(span, (int64_t)ms * 1000000);
	line(key, "%s", span);
}

/* What was asked for beyond a command and a machine. */
static void print_policy(const struct hutch_record *rec)
{
	for (size_t i = 0; rec->labels && rec->labels[i]; i++)
		line("label", "%s", rec->labels[i]);
	span_line("timeout", rec->timeout_ms);
	span_line("idle", rec->idle_timeout_ms);
	if (rec->keep_alive_processes)
		line("keep-alive", "processes");
	if (rec->on_exit == HUTCH_ON_EXIT_KEEP)
		line("on-exit", "keep");
}

/* As options have it: "inode,window=64M". */
static void show_dax(char ret[WAY_MAX], enum hutch_dax dax, uint64_t window)
{
	char size[SHOW_MAX];

	show_size(size, window);
	(void)snprintf(ret, WAY_MAX, "%s%s%s", hutch_dax_name(dax),
		       window ? ",window=" : "", window ? size : "");
}

/* As -v has it. */
static void print_mounts(const struct hutch_record *rec)
{
	for (size_t i = 0; rec->mounts && rec->mounts[i]; i++) {
		const struct hutch_mount *m = rec->mounts[i];
		char way[4 * WAY_MAX] = "", dax[WAY_MAX] = "";
		char uid[WAY_MAX] = "", gid[WAY_MAX] = "";

		if (m->dax != HUTCH_DAX_AUTO)
			show_dax(dax, m->dax, m->window);
		if (m->uid)
			(void)snprintf(uid, sizeof(uid), ",uid=%u", m->uid);
		if (m->gid)
			(void)snprintf(gid, sizeof(gid), ",gid=%u", m->gid);
		(void)snprintf(way, sizeof(way), "%s%s%s%s%s%s%s",
			       m->flags & HUTCH_MOUNT_RDONLY ? ",ro" : "",
			       m->flags & HUTCH_MOUNT_NOCOPY ? ",nocopy" : "",
			       m->flags & HUTCH_MOUNT_LOCKS_HOST ? ",locks=host"
								 : "",
			       *dax ? ",dax=" : "", dax, uid, gid);
		line("mount", "%s:%s%s%s", m->source, m->target,
		     *way ? ":" : "", *way ? way + 1 : "");
	}
}

/* As --image-dax has it; nothing if nothing was said. */
static void print_image_dax(const struct hutch_record *rec)
{
	char dax[WAY_MAX];

	if (rec->image_dax == HUTCH_DAX_AUTO)
		return;
	show_dax(dax, rec->image_dax, rec->image_window);
	line("image-dax", "%s", dax);
}

static void print_forwards(const struct hutch_record *rec)
{
	char place[FORWARD_PLACE_MAX];

	for (size_t i = 0; rec->forwards && rec->forwards[i]; i++)
		line("forward", "%s -> %u",
		     forward_place(rec->forwards[i], place),
		     rec->forwards[i]->guest_port);
}

/* With keep it says nothing about the VM, nor the VM's end about it. */
static void print_main_ended(const struct hutch_record *rec)
{
	if (rec->main_ended_ns)
		time_line("main-ended", rec->main_ended_ns);
	else if (rec->on_exit == HUTCH_ON_EXIT_KEEP && rec->argv &&
		 rec->state == HUTCH_STATE_STOPPED &&
		 (rec->exit_code >= 0 || rec->signal) &&
		 rec->reason != HUTCH_REASON_VMM_CRASH)
		line("main-ended", "by the end of the VM");
}

static void print_record(const struct hutch_record *rec)
{
	AUTO_FREE char *command = rec->argv ? text_join(rec->argv) : NULL;
	char memory[SHOW_MAX], disk[SHOW_MAX], reason[SHOW_REASON_MAX];

	show_size(memory, rec->memory);
	line("name", "%s", rec->name);
	line("id", "%s", rec->id);
	line("state", "%s", hutch_state_name(rec->state));
	show_reason(reason, rec);
	line("reason", "%s", reason);
	line("command", "%s", command ? command : "");
	line("cpus", "%u", rec->cpus);
	line("memory", "%s", memory);
	line("hostname", "%s", rec->hostname ? rec->hostname : "");
	line("user", "%s", rec->user && *rec->user ? rec->user : "root");
	line("workdir", "%s",
	     rec->workdir && *rec->workdir ? rec->workdir : "/");
	for (size_t i = 0; rec->env && rec->env[i]; i++)
		line("env", "%s", rec->env[i]);
	line("stop-signal", "%s", rec->stop_signal ? rec->stop_signal : "");
	line("kernel", "%s", rec->kernel ? rec->kernel : "");
	if (rec->image && *rec->image) {
		line("image", "%s %.12s", rec->image, rec->image_id);
		show_size(disk, rec->disk_bytes);
		line("disk", "%s",
		     rec->disk == HUTCH_DISK_RAM ? "in memory" : disk);
		print_image_dax(rec);
	}
	line("net", "%s", rec->net && *rec->net ? rec->net : "none");
	print_mounts(rec);
	print_forwards(rec);
	print_policy(rec);
	time_line("created", rec->created_ns);
	time_line("started", rec->started_ns);
	time_line("ready", rec->ready_ns);
	print_main_ended(rec);
	time_line("ended", rec->ended_ns);
	time_line("activity", rec->last_activity_ns);
	if (rec->log_lost)
		line("lost", "%llu bytes of output",
		     (unsigned long long)rec->log_lost);
	if (rec->events_lost)
		line("lost", "%llu events",
		     (unsigned long long)rec->events_lost);
	if (rec->keeper_pid > 0)
		line("keeper", "%d", (int)rec->keeper_pid);
	if (rec->vmm_pid > 0)
		line("monitor", "%d", (int)rec->vmm_pid);
}

static int print_records(const struct cli *c, struct hutch_record *const *list)
{
	if (c->json)
		return show_records(list);
	for (size_t i = 0; list[i]; i++) {
		if (i)
			(void)putchar('\n');
		print_record(list[i]);
	}
	return 0;
}

static int cmd_inspect(struct cli *c, const void *opts,
		       const struct opt_words *w)
{
	struct hutch_record **list =
		calloc(w->n + w->n_rest + 1, sizeof(void *));
	struct hutch_err e = { 0 };
	int r = cli_open(c), failed = 0;
	size_t found = 0;

	(void)opts;
	for (size_t i = 0; list && opt_word(w, i) && r == 0; i++) {
		if (hutch_inspect(c->h, opt_word(w, i), &list[found], &e) ==
		    0) {
			found++;
			continue;
		}
		cli_warn("%s", e.msg);
		failed = CLI_EXIT_FAILED;
	}
	if (!list || (r == 0 && print_records(c, list) < 0))
		r = cli_usage(c, "inspect: out of memory");
	for (size_t i = 0; i < found; i++)
		hutch_record_free(list[i]);
	free(list);
	return r ? r : failed;
}

const struct verb verb_inspect = {
	.name = "inspect",
	.args = "[OPTIONS] NAME...",
	.summary = "print all that is on record about a VM",
	.help = "Prints what is on record about each VM, alive or stopped.\n",
	.rules = { .table = inspect_opts },
	.opts_size = sizeof(struct cli_common),
	.min = 1,
	.max = OPT_WORDS_ANY,
	.run = cmd_inspect,
};
