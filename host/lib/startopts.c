/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/startopts.c - see startopts.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "common/log.h"
#include "common/wire.h"
#include "host/lib/dax.h"
#include "host/lib/disk.h"
#include "host/lib/execmsg.h"
#include "host/lib/forward.h"
#include "host/lib/image.h"
#include "host/lib/internal.h"
#include "host/lib/mounts.h"
#include "host/lib/netplan.h"
#include "host/lib/record.h"
#include "host/lib/startopts.h"
#include "host/lib/vmdir.h"

#define MEMORY_DEFAULT (512ull << 20)
#define MEMORY_MAX     (64ull << 40) /* beyond what any host has */
#define TIMEOUT_MAX_MS (10ull * 365 * 86400 * 1000)

#define START_FLAGS                                                   \
	(HUTCH_START_RM | HUTCH_START_LIFELINE | HUTCH_START_ATTACH | \
	 HUTCH_START_KEEP_ALIVE_PROCESSES | HUTCH_START_STDIN |       \
	 HUTCH_START_DISK_RAM)

/* ---- Options ---- */

static int check_size(const struct hutch_start_opts *o, struct err *e)
{
	if (o->cpus > HUTCH_CPUS_MAX)
		return err_set(e, -EINVAL, "cpus: %u is not in 1..%d", o->cpus,
			       HUTCH_CPUS_MAX);
	if (o->memory && (o->memory < HUTCH_MEMORY_MIN ||
			  o->memory > MEMORY_MAX || o->memory % 4096))
		return err_set(e, -EINVAL,
			       "memory: %llu bytes are not whole pages from "
			       "64M to 64T",
			       (unsigned long long)o->memory);
	if (o->timeout_ms > TIMEOUT_MAX_MS)
		return err_set(e, -EINVAL,
			       "timeout: %llu ms are more than ten years",
			       (unsigned long long)o->timeout_ms);
	if (o->grace_ms > WIRE_GRACE_MAX_MS)
		return err_set(e, -EINVAL, "grace: %u ms are more than a day",
			       o->grace_ms);
	return 0;
}

static int check_hostname(const char *s, struct err *e)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";

	if (!s || (*s && strlen(s) <= WIRE_HOSTNAME_MAX && !s[strspn(s, ok)]))
		return 0;
	return err_set(e, -EINVAL,
		       "hostname: use 1 to %u of letters, digits, '-' and '.'",
		       WIRE_HOSTNAME_MAX);
}

static int check_main(const struct hutch_start_opts *o, struct err *e)
{
	const struct hutch_exec_opts x = { .argv = o->argv };

	if (o->argv)
		return execmsg_check(&x, e);
	if (o->flags & HUTCH_START_ATTACH)
		return err_set(e, -EINVAL, "attach: there is no command");
	return 0;
}

static int check_label(const char *s, struct err *e)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-";
	size_t key = strspn(s, ok);
	char q[64];

	if (key == 0 || key > HUTCH_LABEL_KEY_MAX || s[key] != '=')
		return err_set(e, -EINVAL,
			       "label '%s': write KEY=VALUE, with 1 to %d of "
			       "letters, digits, '.', '_', '/' and '-' in KEY",
			       log_escape(q, sizeof(q), s, strlen(s)),
			       HUTCH_LABEL_KEY_MAX);
	if (strlen(s + key + 1) > HUTCH_LABEL_VALUE_MAX)
		return err_set(e, -EINVAL,
			       "label '%s': the value is longer than %d bytes",
			       log_escape(q, sizeof(q), s, key),
			       HUTCH_LABEL_VALUE_MAX);
	return 0;
}

static size_t key_len(const char *label)
{
	return (size_t)(strchrnul(label, '=') - label);
}

static int check_labels(const char *const *v, struct err *e)
{
	int r = 0;

	if (strv_len(v) > HUTCH_LABELS_MAX)
		return err_set(e, -EINVAL, "labels: %zu are more than %d",
			       strv_len(v), HUTCH_LABELS_MAX);
	for (size_t i = 0; r == 0 && v && v[i]; i++) {
		r = check_label(v[i], e);
		for (size_t k = 0; r == 0 && k < i; k++)
			if (key_len(v[k]) == key_len(v[i]) &&
			    memcmp(v[k], v[i], key_len(v[i])) == 0)
				r = err_set(e, -EINVAL,
					    "label '%.*s' is given twice",
					    (int)key_len(v[i]), v[i]);
	}
	return r;
}

static int check_life(const struct hutch_start_opts *o, struct err *e)
{
	if (o->idle_timeout_ms > TIMEOUT_MAX_MS)
		return err_set(e, -EINVAL,
			       "idle timeout: %llu ms are more than ten years",
			       (unsigned long long)o->idle_timeout_ms);
	if (o->on_exit != HUTCH_ON_EXIT_STOP &&
	    o->on_exit != HUTCH_ON_EXIT_KEEP)
		return err_set(e, -EINVAL, "start: on_exit %d is not known",
			       (int)o->on_exit);
	return check_labels(o->labels, e);
}

static int check_stop_signal(const char *s, struct err *e)
{
	int signo;

	return s ? hutch_parse_signal("stop signal", s, &signo,
				      (struct hutch_err *)(void *)e)
		 : 0;
}

static int check_net(const struct hutch_start_opts *o, struct err *e)
{
	struct netplan p;
	int r = netplan_read(o->net, &p, e);
	bool wants = p.mode == NETPLAN_POLICY && !p.internet;

	if (r < 0 || wants == (o->net_policy != NULL))
		return r;
	return err_set(e, -EINVAL,
		       wants ? "network: policy needs one"
			     : "network: a policy is for the network 'policy'");
}

static int check_image(const struct hutch_start_opts *o, struct err *e)
{
	if ((o->flags & HUTCH_START_DISK_RAM || o->disk) && !o->image)
		return err_set(e, -EINVAL,
			       "disk: a VM without an image writes in memory "
			       "anyhow");
	if (o->disk && (o->disk < HUTCH_DISK_MIN || o->disk > INT64_MAX))
		return err_set(e, -EINVAL,
			       "disk: %llu bytes are not from 1M to 8E",
			       (unsigned long long)o->disk);
	if (o->image &&
	    strv_len(hutch_image_info_of(o->image)->volumes) > DISK_VOLUMES_MAX)
		return err_set(e, -EINVAL, "the image has more than %d volumes",
			       DISK_VOLUMES_MAX);
	if ((o->image_dax || o->image_window) && !o->image)
		return err_set(e, -EINVAL,
			       "image_dax: a VM without an image has nothing "
			       "to map");
	return dax_check("image_dax", o->image_dax, o->image_window, e);
}

int startopts_check(const struct hutch_start_opts *o, bool has_ret,
		    struct err *e)
{
	int r = o->name ? name_check(o->name, e) : 0;

	if (r < 0)
		return r;
	if (o->flags & ~START_FLAGS)
		return err_set(e, -EINVAL, "start: unknown flags %#x",
			       o->flags & ~START_FLAGS);
	if (o->wait != HUTCH_WAIT_STARTED && o->wait != HUTCH_WAIT_READY)
		return err_set(e, -EINVAL, "start: cannot wait for %d",
			       (int)o->wait);
	if (!has_ret && (!o->name || (o->flags & HUTCH_START_LIFELINE)))
		return err_set(e, -EINVAL,
			       "start: a handle is needed for a name made up "
			       "or a lifeline");
	r = check_image(o, e);
	r = r < 0 ? r : check_size(o, e);
	r = r < 0 ? r : check_life(o, e);
	r = r < 0 ? r : check_hostname(o->hostname, e);
	r = r < 0 ? r : check_stop_signal(o->stop_signal, e);
	r = r < 0 ? r : forwards_check(o->forwards, e);
	r = r < 0 ? r : execmsg_check_env(o->env, e);
	r = r < 0 ? r : execmsg_check_ids(o->user, o->workdir, e);
	r = r < 0 ? r : check_net(o, e);
	return r < 0 ? r : check_main(o, e);
}

/* ---- The record ---- */

void startopts_hex(char *buf, size_t digits)
{
	static const char hex[] = "0123456789abcdef";
	uint8_t b[HUTCH_ID_LEN / 2];

	/* So few bytes come whole, once the host is up. */
	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		bug_on(1);
	for (size_t i = 0; i < digits; i++)
		buf[i] = hex[b[i / 2] >> (i % 2 ? 0 : 4) & 15];
	buf[digits] = '\0';
}

static int fill_strings(struct hutch_record *rec,
			const struct hutch_start_opts *o)
{
	char boot_id[40];
	int r;

	vmdir_boot_id(boot_id);
	r = record_set(&rec->boot_id, boot_id);
	r = r < 0 ? r
		  : record_set(&rec->hostname,
			       o->hostname ? o->hostname : rec->name);
	r = r < 0 ? r : record_set(&rec->user, o->user ? o->user : "");
	r = r < 0 ? r : record_set(&rec->workdir, o->workdir ? o->workdir : "");
	if (r == 0 && o->stop_signal)
		r = record_set(&rec->stop_signal, o->stop_signal);
	if (r == 0 && o->argv)
		r = record_set_list(&rec->argv, o->argv);
	if (r == 0 && o->env)
		r = record_set_list(&rec->env, o->env);
	return r;
}

/* What is none anyhow needs no words. */
static int fill_net(struct hutch_record *rec, const struct hutch_start_opts *o)
{
	if (!o->net || strcmp(o->net, "none") == 0)
		return 0;
	if (o->net_policy && record_set(&rec->net_policy, o->net_policy) < 0)
		return -ENOMEM;
	return record_set(&rec->net, o->net);
}

static int fill_image(struct hutch_record *rec,
		      const struct hutch_start_opts *o)
{
	if (!o->image)
		return 0;
	if (!(o->flags & HUTCH_START_DISK_RAM))
		rec->disk_bytes = o->disk ? o->disk : HUTCH_DISK_DEFAULT;
	rec->disk = o->flags & HUTCH_START_DISK_RAM ? HUTCH_DISK_RAM
						    : HUTCH_DISK_KEPT;
	rec->image_dax = o->image_dax;
	rec->image_window = o->image_window;
	if (record_set(&rec->image, image_name(o->image)) < 0)
		return -ENOMEM;
	return record_set(&rec->image_id, hutch_image_info_of(o->image)->id);
}

static int by_key(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;
	size_t n = MIN(key_len(*x), key_len(*y));
	int d = memcmp(*x, *y, n);

	return d ? d : (int)key_len(*x) - (int)key_len(*y);
}

static int fill_labels(struct hutch_record *rec, const char *const *labels)
{
	const char *v[HUTCH_LABELS_MAX + 1] = { NULL };
	size_t n = strv_len(labels);

	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		v[i] = labels[i];
	qsort(v, n, sizeof(*v), by_key);
	return record_set_list(&rec->labels, v);
}

int startopts_record(const struct hutch_start_opts *o,
		     const struct mounts *mounts, const char *name,
		     const char *kernel, struct hutch_record **ret)
{
	AUTO(record_freep) struct hutch_record *rec = record_new();

	if (!rec)
		return -ENOMEM;
	(void)snprintf(rec->name, sizeof(rec->name), "%s", name);
	startopts_hex(rec->id, HUTCH_ID_LEN);
	rec->created_ns = now_ns();
	rec->cpus = o->cpus ? o->cpus : 1;
	rec->memory = o->memory ? o->memory : MEMORY_DEFAULT;
	rec->timeout_ms = o->timeout_ms;
	rec->grace_ms = o->grace_ms ? o->grace_ms : EXECMSG_GRACE_MS;
	rec->rm = !!(o->flags & HUTCH_START_RM);
	rec->attach = !!(o->flags & HUTCH_START_ATTACH);
	rec->keep_alive_processes =
		!!(o->flags & HUTCH_START_KEEP_ALIVE_PROCESSES);
	rec->idle_timeout_ms = o->idle_timeout_ms;
	rec->on_exit = (int)o->on_exit;
	if (record_set(&rec->kernel, kernel) < 0 || fill_strings(rec, o) < 0 ||
	    fill_labels(rec, o->labels) < 0 || fill_image(rec, o) < 0 ||
	    mounts_record(mounts, &rec->mounts) < 0 || fill_net(rec, o) < 0 ||
	    forwards_record(o->forwards, &rec->forwards) < 0)
		return -ENOMEM;
	*ret = take_ptr(&rec);
	return 0;
}
