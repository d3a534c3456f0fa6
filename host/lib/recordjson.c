/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/recordjson.c - a record as JSON, and back (record.h) */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/words.h"
#include "host/lib/internal.h"
#include "host/lib/jsontext.h"
#include "host/lib/names.h"
#include "host/lib/record.h"
#include "host/lib/recordlists.h"

static const char on_exit_keep[] = "keep";
static const char on_exit_stop[] = "stop";

/* By enum hutch_disk; none is null. */
static const char *const disks[] = { NULL, "ram", "kept" };

/* "KEY=VALUE" strings as an object; without any an empty one. */
static json_t *json_labels(const char *const *v)
{
	json_t *o = json_object();

	for (size_t i = 0; v && v[i]; i++) {
		const char *eq = strchrnul(v[i], '=');
		char key[HUTCH_LABEL_KEY_MAX + 1];
		size_t len = MIN((size_t)(eq - v[i]), sizeof(key) - 1);

		memcpy(key, v[i], len);
		key[len] = '\0';
		if (json_object_set_new(
			    o, key, jsontext_string(*eq ? eq + 1 : "")) < 0) {
			json_decref(o);
			return NULL;
		}
	}
	return o;
}

static json_t *json_time(int64_t ns)
{
	char buf[RFC3339_LEN];

	return ns ? json_string(rfc3339_text(ns, buf)) : json_null();
}

static json_t *json_or_null(int64_t v, int64_t null)
{
	return v == null ? json_null() : json_integer(v);
}

/* What was JSON when it came; "" is null. */
static json_t *json_text(const char *s)
{
	json_t *j = *s ? json_loads(s, 0, NULL) : NULL;

	return j ? j : json_null();
}

static json_t *record_to_json(const struct hutch_record *rec)
{
	const char *reason = hutch_reason_name(rec->reason);
	json_t *j = json_object();
	int r = 0;

	if (!j)
		return NULL;
#define PUT(key, value) (r |= json_object_set_new_nocheck(j, key, value))
	PUT("version", json_integer(RECORD_VERSION));
	PUT("name", json_string(rec->name));
	PUT("id", json_string(rec->id));
	PUT("state", json_string(hutch_state_name(rec->state)));
	PUT("reason", *reason ? json_string(reason) : json_null());
	PUT("exit_code", json_or_null(rec->exit_code, -1));
	PUT("signal", json_or_null(rec->signal, 0));
	PUT("text", jsontext_string(rec->text));
	PUT("created", json_time(rec->created_ns));
	PUT("started", json_time(rec->started_ns));
	PUT("ready", json_time(rec->ready_ns));
	PUT("ended", json_time(rec->ended_ns));
	PUT("boot_id", jsontext_string(rec->boot_id));
	PUT("keeper_pid", json_or_null(rec->keeper_pid, 0));
	PUT("vmm_pid", json_or_null(rec->vmm_pid, 0));
	PUT("cpus", json_integer(rec->cpus));
	PUT("memory", json_integer((json_int_t)rec->memory));
	PUT("hostname", jsontext_string(rec->hostname));
	PUT("kernel", jsontext_string(rec->kernel));
	PUT("command", jsontext_list(rec->argv));
	PUT("env", jsontext_list(rec->env));
	PUT("user", jsontext_string(rec->user));
	PUT("workdir", jsontext_string(rec->workdir));
	PUT("timeout_ms", json_integer((json_int_t)rec->timeout_ms));
	PUT("grace_ms", json_integer(rec->grace_ms));
	PUT("rm", json_boolean(rec->rm));
	PUT("attach", json_boolean(rec->attach));
	PUT("labels", json_labels(rec->labels));
	PUT("idle_timeout_ms", json_integer((json_int_t)rec->idle_timeout_ms));
	PUT("on_exit",
	    json_string(rec->on_exit == HUTCH_ON_EXIT_KEEP ? on_exit_keep
							   : on_exit_stop));
	PUT("keep_alive_processes", json_boolean(rec->keep_alive_processes));
	PUT("last_activity", json_time(rec->last_activity_ns));
	PUT("log_lost", json_integer((json_int_t)rec->log_lost));
	PUT("events_lost", json_integer((json_int_t)rec->events_lost));
	PUT("main_ended", json_time(rec->main_ended_ns));
	PUT("mounts", recordlists_mounts(rec->mounts));
	PUT("image", *rec->image ? jsontext_string(rec->image) : json_null());
	PUT("image_id",
	    *rec->image_id ? json_string(rec->image_id) : json_null());
	PUT("disk",
	    disks[rec->disk] ? json_string(disks[rec->disk]) : json_null());
	PUT("disk_bytes", json_or_null((json_int_t)rec->disk_bytes, 0));
	PUT("image_dax", *rec->image
				 ? json_string(hutch_dax_name(rec->image_dax))
				 : json_null());
	PUT("image_window", json_or_null((json_int_t)rec->image_window, 0));
	PUT("stop_signal", *rec->stop_signal ? jsontext_string(rec->stop_signal)
					     : json_null());
	PUT("net", *rec->net ? jsontext_string(rec->net) : json_null());
	PUT("net_policy", json_text(rec->net_policy));
	PUT("forwards", recordlists_forwards(rec->forwards));
#undef PUT
	if (r == 0)
		return j;
	json_decref(j);
	return NULL;
}

char *hutch_record_json(const struct hutch_record *rec)
{
	auto_json json_t *j = record_to_json(rec);

	return j ? json_dumps(j, JSON_COMPACT) : NULL;
}

/* ---- Reading ---- */

/* A value of any kind, as compact text. */
static int get_text(const json_t *j, const char *key, const char **field)
{
	const json_t *v = json_object_get(j, key);
	auto_free char *text = json_is_object(v) ? json_dumps(v, JSON_COMPACT)
						 : NULL;

	if (json_is_object(v) && !text)
		return -ENOMEM;
	return text ? record_set(field, text) : 0;
}

static int64_t get_int(const json_t *j, const char *key, int64_t null)
{
	const json_t *v = json_object_get(j, key);

	return json_is_integer(v) ? json_integer_value(v) : null;
}

static int64_t get_time(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));
	int64_t ns;

	return s && rfc3339_parse(s, &ns) == 0 ? ns : 0;
}

static int get_str(const json_t *j, const char *key, const char **field)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? record_set(field, s) : 0;
}

static int get_list(const json_t *j, const char *key, const char *const **field)
{
	const json_t *a = json_object_get(j, key);
	size_t n = json_array_size(a);
	auto_free const char **v = NULL;

	if (!json_is_array(a))
		return 0;
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		v[i] = json_string_value(json_array_get(a, i));
		if (!v[i])
			return -EBADMSG;
	}
	return record_set_list(field, v);
}

/* The other way round: sorted by key, as libhutch has written them. */
static int get_labels(const json_t *j, const char *const **field)
{
	json_t *o = json_object_get(j, "labels");
	char text[HUTCH_LABELS_MAX][HUTCH_LABEL_MAX + 1];
	const char *v[HUTCH_LABELS_MAX + 1] = { NULL };
	size_t n = 0;

	for (void *it = json_object_iter(o); it;
	     it = json_object_iter_next(o, it)) {
		const char *value =
			json_string_value(json_object_iter_value(it));

		if (!value || n == HUTCH_LABELS_MAX)
			return -EBADMSG;
		(void)snprintf(text[n], sizeof(text[n]), "%s=%s",
			       json_object_iter_key(it), value);
		v[n] = text[n];
		n++;
	}
	return n ? record_set_list(field, v) : 0;
}

static int fill_names(const json_t *j, struct hutch_record *rec)
{
	const char *name = json_string_value(json_object_get(j, "name"));
	const char *id = json_string_value(json_object_get(j, "id"));
	const char *state = json_string_value(json_object_get(j, "state"));
	const char *reason = json_string_value(json_object_get(j, "reason"));

	if (!name || !words_name_ok(name) || !id || !state)
		return -EBADMSG;
	if (strlen(id) != HUTCH_ID_LEN)
		return -EBADMSG;
	memcpy(rec->name, name, strlen(name) + 1);
	memcpy(rec->id, id, sizeof(rec->id));
	rec->state = state_from_name(state);
	rec->reason = reason_from_name(reason ? reason : "");
	return (int)rec->state < 0 || (int)rec->reason < 0 ? -EBADMSG : 0;
}

static int fill_lists(const json_t *j, struct hutch_record *rec)
{
	int r = get_str(j, "text", &rec->text);

	r = r < 0 ? r : get_str(j, "boot_id", &rec->boot_id);
	r = r < 0 ? r : get_str(j, "hostname", &rec->hostname);
	r = r < 0 ? r : get_str(j, "kernel", &rec->kernel);
	r = r < 0 ? r : get_str(j, "user", &rec->user);
	r = r < 0 ? r : get_str(j, "workdir", &rec->workdir);
	r = r < 0 ? r : get_str(j, "image", &rec->image);
	r = r < 0 ? r : get_str(j, "image_id", &rec->image_id);
	r = r < 0 ? r : get_str(j, "stop_signal", &rec->stop_signal);
	r = r < 0 ? r : get_str(j, "net", &rec->net);
	r = r < 0 ? r : get_text(j, "net_policy", &rec->net_policy);
	r = r < 0 ? r : get_list(j, "command", &rec->argv);
	r = r < 0 ? r : get_labels(j, &rec->labels);
	r = r < 0 ? r
		  : recordlists_get_dax(j, "image_dax", "image_window",
					&rec->image_dax, &rec->image_window);
	r = r < 0 ? r : recordlists_get_mounts(j, &rec->mounts);
	r = r < 0 ? r : recordlists_get_forwards(j, &rec->forwards);
	return r < 0 ? r : get_list(j, "env", &rec->env);
}

static enum hutch_disk get_disk(const json_t *j)
{
	const char *s = json_string_value(json_object_get(j, "disk"));

	for (unsigned int i = 1; s && i < ARRAY_LEN(disks); i++)
		if (strcmp(s, disks[i]) == 0)
			return (enum hutch_disk)i;
	return HUTCH_DISK_NONE;
}

static void fill_numbers(const json_t *j, struct hutch_record *rec)
{
	const char *on_exit;

	rec->exit_code = (int)get_int(j, "exit_code", -1);
	rec->signal = (int)get_int(j, "signal", 0);
	rec->created_ns = get_time(j, "created");
	rec->started_ns = get_time(j, "started");
	rec->ready_ns = get_time(j, "ready");
	rec->ended_ns = get_time(j, "ended");
	rec->keeper_pid = (pid_t)get_int(j, "keeper_pid", 0);
	rec->vmm_pid = (pid_t)get_int(j, "vmm_pid", 0);
	rec->cpus = (unsigned int)get_int(j, "cpus", 0);
	rec->memory = (uint64_t)get_int(j, "memory", 0);
	rec->timeout_ms = (uint64_t)get_int(j, "timeout_ms", 0);
	rec->grace_ms = (unsigned int)get_int(j, "grace_ms", 0);
	rec->rm = json_is_true(json_object_get(j, "rm"));
	rec->attach = json_is_true(json_object_get(j, "attach"));
	rec->idle_timeout_ms = (uint64_t)get_int(j, "idle_timeout_ms", 0);
	on_exit = json_string_value(json_object_get(j, "on_exit"));
	if (on_exit && strcmp(on_exit, on_exit_keep) == 0)
		rec->on_exit = HUTCH_ON_EXIT_KEEP;
	rec->keep_alive_processes =
		json_is_true(json_object_get(j, "keep_alive_processes"));
	rec->last_activity_ns = get_time(j, "last_activity");
	rec->log_lost = (uint64_t)get_int(j, "log_lost", 0);
	rec->events_lost = (uint64_t)get_int(j, "events_lost", 0);
	rec->main_ended_ns = get_time(j, "main_ended");
	rec->disk = get_disk(j);
	rec->disk_bytes = (uint64_t)get_int(j, "disk_bytes", 0);
}

int record_parse(const char *json, size_t len, struct hutch_record **ret,
		 struct err *e)
{
	AUTO(record_freep) struct hutch_record *rec = record_new();
	auto_json json_t *j = NULL;
	json_error_t je;
	int r;

	if (!rec)
		return err_set(e, -ENOMEM, "no memory for a record");
	j = json_loadb(json, len, 0, &je);
	if (!j)
		return err_set(e, -EBADMSG, "not JSON: %s", je.text);
	if (get_int(j, "version", 0) != RECORD_VERSION)
		return err_set(e, -EBADMSG, "version is not %d",
			       RECORD_VERSION);
	r = fill_names(j, rec);
	if (r == 0)
		r = fill_lists(j, rec);
	if (r < 0)
		return err_set(e, r,
			       r == -ENOMEM ? "no memory for a record"
					    : "a field is not right");
	fill_numbers(j, rec);
	*ret = take_ptr(&rec);
	return 0;
}
