/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/record.c - see record.h */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "common/io.h"
#include "common/log.h"
#include "common/words.h"
#include "host/lib/internal.h"
#include "host/lib/names.h"
#include "host/lib/record.h"

static void drop_json(json_t **j)
{
	json_decref(*j);
}
#define auto_json AUTO(drop_json)

struct hutch_record *record_new(void)
{
	struct hutch_record *rec = calloc(1, sizeof(*rec));

	if (!rec)
		return NULL;
	rec->state = HUTCH_STATE_STARTING;
	rec->exit_code = -1;
	if (record_set(&rec->text, "") < 0 ||
	    record_set(&rec->boot_id, "") < 0 ||
	    record_set(&rec->hostname, "") < 0 ||
	    record_set(&rec->kernel, "") < 0 ||
	    record_set(&rec->user, "") < 0 ||
	    record_set(&rec->workdir, "") < 0) {
		hutch_record_free(rec);
		return NULL;
	}
	return rec;
}

/* The public struct has const pointers; the memory behind them is ours. */
static void free_const(const void *p)
{
	void *q;

	memcpy(&q, &p, sizeof(q));
	free(q);
}

static void free_list(const char *const *v)
{
	for (size_t i = 0; v && v[i]; i++)
		free_const(v[i]);
	free_const(v);
}

void hutch_record_free(struct hutch_record *rec)
{
	if (!rec)
		return;
	free_const(rec->text);
	free_const(rec->boot_id);
	free_const(rec->hostname);
	free_const(rec->kernel);
	free_const(rec->user);
	free_const(rec->workdir);
	free_list(rec->argv);
	free_list(rec->env);
	free(rec);
}

int record_set(const char **field, const char *s)
{
	char *copy = strdup(s);

	if (!copy)
		return -ENOMEM;
	free_const(*field);
	*field = copy;
	return 0;
}

int record_set_list(const char *const **field, const char *const *v)
{
	size_t n = strv_len(v);
	const char **copy = calloc(n + 1, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		copy[i] = strdup(v[i]);
		if (!copy[i]) {
			free_list(copy);
			return -ENOMEM;
		}
	}
	free_list(*field);
	*field = copy;
	return 0;
}

void record_set_text(struct hutch_record *rec, const char *s, size_t len)
{
	char text[RECORD_TEXT];

	log_escape(text, sizeof(text), s, len);
	/* Without memory the old text stays, which is never wrong, only less.
	 */
	if (record_set(&rec->text, text) < 0)
		return;
}

/* JSON is UTF-8; what is not shows as U+FFFD, a byte for a character. */
static json_t *json_bytes(const char *s)
{
	size_t len = strlen(s), n = 0;
	json_t *j = json_stringn(s, len);
	auto_free char *fixed = NULL;

	if (j)
		return j;
	fixed = malloc(len * 3 + 1);
	if (!fixed)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)s[i] < 0x80) {
			fixed[n++] = s[i];
			continue;
		}
		fixed[n++] = '\xef';
		fixed[n++] = '\xbf';
		fixed[n++] = '\xbd';
	}
	return json_stringn(fixed, n);
}

static json_t *json_list(const char *const *v)
{
	json_t *a;

	if (!v)
		return json_null();
	a = json_array();
	for (size_t i = 0; v[i]; i++)
		if (json_array_append_new(a, json_bytes(v[i])) < 0) {
			json_decref(a);
			return NULL;
		}
	return a;
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
	PUT("text", json_bytes(rec->text));
	PUT("created", json_time(rec->created_ns));
	PUT("started", json_time(rec->started_ns));
	PUT("ready", json_time(rec->ready_ns));
	PUT("ended", json_time(rec->ended_ns));
	PUT("boot_id", json_bytes(rec->boot_id));
	PUT("keeper_pid", json_or_null(rec->keeper_pid, 0));
	PUT("vmm_pid", json_or_null(rec->vmm_pid, 0));
	PUT("cpus", json_integer(rec->cpus));
	PUT("memory", json_integer((json_int_t)rec->memory));
	PUT("hostname", json_bytes(rec->hostname));
	PUT("kernel", json_bytes(rec->kernel));
	PUT("command", json_list(rec->argv));
	PUT("env", json_list(rec->env));
	PUT("user", json_bytes(rec->user));
	PUT("workdir", json_bytes(rec->workdir));
	PUT("timeout_ms", json_integer((json_int_t)rec->timeout_ms));
	PUT("grace_ms", json_integer(rec->grace_ms));
	PUT("rm", json_boolean(rec->rm));
	PUT("attach", json_boolean(rec->attach));
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
	r = r < 0 ? r : get_list(j, "command", &rec->argv);
	return r < 0 ? r : get_list(j, "env", &rec->env);
}

static void fill_numbers(const json_t *j, struct hutch_record *rec)
{
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

int record_read(int dirfd, struct hutch_record **ret, struct err *e)
{
	auto_free char *text = NULL;
	size_t len;
	int r = io_read_file(dirfd, RECORD_FILE, RECORD_MAX, &text, &len, e);

	if (r < 0)
		return r;
	r = record_parse(text, len, ret, e);
	return r < 0 ? err_wrap(e, r, "'%s'", RECORD_FILE) : 0;
}

/* ---- Writing ---- */

/* Room for the reason, its text and the times, beyond what there is now. */
#define RESERVE_MORE 4096

static int write_tmp(int dirfd, const char *text, int sync)
{
	auto_fd int fd = openat(
		dirfd, RECORD_TMP,
		O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = io_write_full(fd, text, strlen(text));
	if (r == 0 && sync && fsync(fd) < 0)
		r = -errno;
	return r;
}

/* Put @tmp in the record's place; on failure the old record stays. */
static int replace(int dirfd, const char *tmp, int r,
		   const struct hutch_record *rec, struct err *e)
{
	if (r == 0 && renameat(dirfd, tmp, dirfd, RECORD_FILE) < 0)
		r = -errno;
	if (r == 0)
		return 0;
	(void)unlinkat(dirfd, tmp, 0);
	return err_set(e, r, "cannot write the record of '%s': %s", rec->name,
		       strerror(-r));
}

int record_write(int dirfd, const struct hutch_record *rec, int sync,
		 struct err *e)
{
	auto_free char *text = hutch_record_json(rec);
	int r;

	if (!text)
		return err_set(e, -ENOMEM, "no memory for a record");
	r = replace(dirfd, RECORD_TMP, write_tmp(dirfd, text, sync), rec, e);
	if (r == 0 && sync)
		(void)fsync(dirfd);
	return r;
}

int record_reserve(int dirfd, const struct hutch_record *rec, struct err *e)
{
	auto_free char *text = hutch_record_json(rec);
	auto_fd int fd = openat(dirfd, RECORD_LAST,
				O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
				0600);
	int r;

	if (!text)
		return err_set(e, -ENOMEM, "no memory for a record");
	r = fd < 0 ? errno
		   : posix_fallocate(fd, 0, (off_t)strlen(text) + RESERVE_MORE);
	if (r == 0)
		return 0;
	return err_set(e, -r, "cannot set disk space aside for '%s': %s",
		       rec->name, strerror(r));
}

static int overwrite(int dirfd, const char *text)
{
	auto_fd int fd =
		openat(dirfd, RECORD_LAST, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t len = strlen(text);
	int r;

	if (fd < 0)
		return -errno;
	r = io_write_full(fd, text, len);
	if (r == 0 && (ftruncate(fd, (off_t)len) < 0 || fsync(fd) < 0))
		r = -errno;
	return r;
}

int record_write_last(int dirfd, const struct hutch_record *rec, struct err *e)
{
	auto_free char *text = hutch_record_json(rec);
	int r;

	if (!text)
		return err_set(e, -ENOMEM, "no memory for a record");
	r = replace(dirfd, RECORD_LAST, overwrite(dirfd, text), rec, e);
	if (r == 0)
		(void)fsync(dirfd);
	return r;
}
