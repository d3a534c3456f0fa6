/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/eventlog.c - see eventlog.h */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/loop.h"
#include "host/lib/eventlog.h"
#include "host/lib/internal.h"
#include "host/lib/jsontext.h"
#include "host/lib/names.h"
#include "host/lib/vmdir.h"

#define NS_PER_S 1000000000ull

void eventlog_init(struct eventlog *l, enum eventlog_kind kind, int dirfd)
{
	*l = (struct eventlog){ .kind = kind, .left = EVENTLOG_BURST };
	if (kind == EVENTLOG_DENIED)
		capfile_init(&l->file, dirfd, VMDIR_DENIED, VMDIR_DENIED_OLD,
			     EVENTLOG_FILE_MAX);
	else
		capfile_init(&l->file, dirfd, VMDIR_EVENTS, VMDIR_EVENTS_OLD,
			     EVENTLOG_FILE_MAX);
}

void eventlog_done(struct eventlog *l)
{
	capfile_done(&l->file);
}

/* ---- Writing ---- */

static json_t *str_or_null(const char *s)
{
	return s && *s ? json_string(s) : json_null();
}

static json_t *int_or_null(bool there, int v)
{
	return there ? json_integer(v) : json_null();
}

/* Of what the network has refused. Return: 0 or less */
static int put_denial(json_t *j, const struct hutch_vm_event *ev)
{
	auto_json json_t *more = NULL;

	if (!ev->proto || !*ev->proto)
		return 0;
	more = json_pack(
		"{s:s, s:o, s:o, s:o, s:o, s:i}", "proto", ev->proto, "address",
		str_or_null(ev->address), "name", str_or_null(ev->name), "port",
		int_or_null(ev->port != 0, ev->port), "rule",
		int_or_null(ev->rule != 0, ev->rule), "count", ev->count);
	return more ? json_object_update(j, more) : -1;
}

static char *line_of(const struct hutch_vm_event *ev)
{
	const char *raw = ev->text ? ev->text : "";
	char text[EVENTLOG_TEXT_MAX], time[RFC3339_LEN];
	json_t *j = json_object();
	char *line = NULL;
	int r = 0;

	if (!j)
		return NULL;
	log_escape(text, sizeof(text), raw, strlen(raw));
#define PUT(key, value) (r |= json_object_set_new_nocheck(j, key, value))
	PUT("time", json_string(rfc3339_text(ev->time_ns, time)));
	PUT("vm", json_string(ev->vm));
	PUT("vm_id", json_string(ev->id));
	PUT("event", json_string(ev->kind));
	PUT("process", str_or_null(ev->process));
	PUT("pid", int_or_null(ev->pid != 0, ev->pid));
	PUT("exit_code", int_or_null(ev->how == HUTCH_EXEC_EXITED, ev->value));
	PUT("signal", int_or_null(ev->how == HUTCH_EXEC_SIGNALLED, ev->value));
	PUT("timed_out", json_boolean(ev->timed_out));
	PUT("oom", json_boolean(ev->oom));
	PUT("core_dumped", json_boolean(ev->core_dumped));
	PUT("main", json_boolean(ev->main));
	PUT("tty", json_boolean(ev->tty));
	PUT("reason", str_or_null(ev->reason));
	PUT("text", json_string(text));
#undef PUT
	r |= put_denial(j, ev);
	if (r == 0)
		line = json_dumps(j, JSON_COMPACT);
	json_decref(j);
	return line;
}

/* Return: 0 or -errno: it is not there. */
static int put_line(struct eventlog *l, const struct hutch_vm_event *ev)
{
	auto_free char *line = line_of(ev);
	struct iovec iov = { .iov_base = line };

	if (!line)
		return -ENOMEM;
	iov.iov_len = strlen(line) + 1;
	line[iov.iov_len - 1] = '\n'; /* in place of the NUL */
	return capfile_append(&l->file, &iov, 1);
}

/* Before @ev: how many there would have been. Return: 0 or -errno. */
static int put_dropped(struct eventlog *l, const struct hutch_vm_event *ev,
		       uint64_t *n, const char *whose)
{
	char text[64];
	const struct hutch_vm_event d = { .time_ns = ev->time_ns,
					  .vm = ev->vm,
					  .id = ev->id,
					  .kind = l->kind == EVENTLOG_DENIED
							  ? "net-dropped"
							  : "dropped",
					  .text = text };
	int r;

	(void)snprintf(text, sizeof(text), "%llu events %s",
		       (unsigned long long)*n, whose);
	r = put_line(l, &d);
	if (r == 0)
		*n = 0;
	return r;
}

void eventlog_put(struct eventlog *l, const struct hutch_vm_event *ev)
{
	int r = 0;

	if (l->unwritten)
		r = put_dropped(l, ev, &l->unwritten, "could not be written");
	if (r == 0)
		r = put_line(l, ev);
	if (r < 0) {
		l->unwritten++;
		l->lost++;
	}
}

/* Return: whether the guest may tell one more. */
static bool take_token(struct eventlog *l)
{
	uint64_t now = loop_now_ns();
	uint64_t more = (now - l->at_ns) / (NS_PER_S / EVENTLOG_RATE);

	if (l->at_ns == 0 || more > EVENTLOG_BURST - l->left) {
		l->left = l->at_ns ? EVENTLOG_BURST : l->left;
		l->at_ns = now;
	} else {
		l->left += (unsigned int)more;
		l->at_ns += more * (NS_PER_S / EVENTLOG_RATE);
	}
	if (l->left == 0)
		return false;
	l->left--;
	return true;
}

static int put_too_many(struct eventlog *l, const struct hutch_vm_event *ev)
{
	return put_dropped(l, ev, &l->dropped,
			   l->kind == EVENTLOG_DENIED ? "of the network"
						      : "of the guest");
}

void eventlog_put_guest(struct eventlog *l, const struct hutch_vm_event *ev)
{
	if (!take_token(l)) {
		l->dropped++;
		return;
	}
	/* Said later, if it cannot be said now. */
	if (l->dropped && put_too_many(l, ev) < 0) {
		l->dropped++;
		l->lost++;
		return;
	}
	eventlog_put(l, ev);
}

void eventlog_tell_dropped(struct eventlog *l, const struct hutch_vm_event *ev)
{
	if (l->dropped && put_too_many(l, ev) < 0)
		l->lost++;
}

/* ---- Reading ---- */

static const char *get_str(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static int get_bool(const json_t *j, const char *key)
{
	return json_is_true(json_object_get(j, key));
}

static int get_int(const json_t *j, const char *key)
{
	return (int)json_integer_value(json_object_get(j, key));
}

static void get_end(const json_t *j, struct hutch_vm_event *ev)
{
	const json_t *code = json_object_get(j, "exit_code");
	const json_t *sig = json_object_get(j, "signal");

	if (json_is_integer(code)) {
		ev->how = HUTCH_EXEC_EXITED;
		ev->value = (int)json_integer_value(code);
	} else if (json_is_integer(sig)) {
		ev->how = HUTCH_EXEC_SIGNALLED;
		ev->value = (int)json_integer_value(sig);
	}
}

int eventlog_parse(const char *line, size_t len, struct eventlog_line *ret)
{
	json_t *j = json_loadb(line, len, 0, NULL);
	struct hutch_vm_event *ev = &ret->ev;

	if (!json_is_object(j)) {
		json_decref(j);
		return -EBADMSG;
	}
	*ev = (struct hutch_vm_event){
		.vm = get_str(j, "vm"),
		.id = get_str(j, "vm_id"),
		.kind = get_str(j, "event"),
		.process = get_str(j, "process"),
		.reason = get_str(j, "reason"),
		.text = get_str(j, "text"),
		.pid = get_int(j, "pid"),
		.timed_out = get_bool(j, "timed_out"),
		.oom = get_bool(j, "oom"),
		.core_dumped = get_bool(j, "core_dumped"),
		.main = get_bool(j, "main"),
		.tty = get_bool(j, "tty"),
		.proto = get_str(j, "proto"),
		.address = get_str(j, "address"),
		.name = get_str(j, "name"),
		.port = get_int(j, "port"),
		.rule = get_int(j, "rule"),
		.count = get_int(j, "count"),
	};
	get_end(j, ev);
	if (rfc3339_parse(get_str(j, "time"), &ev->time_ns) < 0 || !*ev->kind) {
		json_decref(j);
		return -EBADMSG;
	}
	ret->json = j;
	return 0;
}

void eventlog_line_done(struct eventlog_line *l)
{
	json_decref(l->json);
	l->json = NULL;
}
