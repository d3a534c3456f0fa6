/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/bootmsg.c - see bootmsg.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/io.h"
#include "common/log.h"
#include "common/wire.h"
#include "host/lib/bootmsg.h"
#include "host/lib/disk.h"
#include "host/lib/image.h"
#include "host/lib/internal.h"
#include "host/lib/memfile.h"
#include "host/lib/netplan.h"

#define ENTRIES_MAX (HUTCH_MOUNTS_MAX + DISK_VOLUMES_MAX)
#define SOURCE_MAX  32 /* "volumes/31" */
#define QUOTE_MAX   80

_Static_assert(ENTRIES_MAX <= WIRE_MOUNTS_MAX, "all in a boot message");

/** struct entries - Mounts of the message, and room for their strings */
struct entries {
	unsigned int n;
	struct msg_mount m[ENTRIES_MAX];
	char tag[HUTCH_MOUNTS_MAX][MOUNTS_TAG_MAX];
	char source[DISK_VOLUMES_MAX][SOURCE_MAX];
	char target[DISK_VOLUMES_MAX][WIRE_PATH_MAX + 1];
};

static bool is_taken(const struct entries *en, const char *target)
{
	for (unsigned int i = 0; i < en->n; i++)
		if (strcmp(en->m[i].target, target) == 0)
			return true;
	return false;
}

/* As an image writes it, with a '/' at the end maybe. */
static int take_path(char to[WIRE_PATH_MAX + 1], const char *path,
		     struct err *e)
{
	char q[QUOTE_MAX];

	(void)snprintf(to, WIRE_PATH_MAX + 1, "%s", path);
	if (strlen(path) <= WIRE_PATH_MAX && mounts_tidy(to) == 0 && *to)
		return 0;
	return err_set(e, -EINVAL,
		       "the image has a volume '%s', which can be no folder "
		       "of a VM",
		       log_escape(q, sizeof(q), path, strlen(path)));
}

/* The image's own, where the user has not said otherwise. */
static int add_volumes(struct entries *en, const char *const *volumes,
		       struct err *e)
{
	for (unsigned int i = 0; volumes && volumes[i]; i++) {
		int r = take_path(en->target[i], volumes[i], e);

		if (r < 0)
			return r;
		if (is_taken(en, en->target[i]))
			continue;
		(void)snprintf(en->source[i], SOURCE_MAX, DISK_VOLUMES "/%u",
			       i);
		en->m[en->n++] = (struct msg_mount){
			.flags = WIRE_MOUNT_DISK,
			.type = "none",
			.source = en->source[i],
			.target = en->target[i],
			.options = "",
		};
	}
	return 0;
}

/* Outer ones first. */
static int by_target(const void *a, const void *b)
{
	const struct msg_mount *x = a, *y = b;

	return strcmp(x->target, y->target);
}

static int put(const struct msg_boot *m, uint8_t **ret, size_t *ret_len,
	       struct err *e)
{
	size_t size = wire_boot_size(m);
	struct wr wr;

	if (size > WIRE_HDR_LEN + WIRE_MSG_MAX)
		return err_set(e, -E2BIG,
			       "environment and mounts: %zu bytes are more "
			       "than %u",
			       size, WIRE_MSG_MAX);
	*ret = malloc(size);
	if (!*ret)
		return err_set(e, -ENOMEM, "no memory");
	wr = wr_init(*ret, size);
	wire_boot_put(&wr, m);
	bug_on(wr_end(&wr) != (ptrdiff_t)size);
	*ret_len = size;
	return 0;
}

/* What was asked for, or what the image says; 0 if neither does. */
static int stop_signal(const struct hutch_start_opts *o, unsigned int *ret,
		       struct err *e)
{
	int signo = 0, r;

	if (!o->stop_signal)
		return o->image ? image_stop_signal(o->image, ret, e) : 0;
	r = hutch_parse_signal("stop signal", o->stop_signal, &signo,
			       (struct hutch_err *)(void *)e);
	*ret = (unsigned int)signo;
	return r;
}

int bootmsg_make(const struct hutch_start_opts *o, const struct mounts *mounts,
		 const char *hostname, uint8_t **ret, size_t *ret_len,
		 struct err *e)
{
	const bool disk = o->image && !(o->flags & HUTCH_START_DISK_RAM);
	auto_free struct entries *en = calloc(1, sizeof(*en));
	struct msg_boot m = {
		.flags = o->image ? WIRE_BOOT_MAKE_CWD : 0,
		.root = o->image ? WIRE_ROOT_OVERLAY : WIRE_ROOT_BUILTIN,
		.lower = o->image ? BOOTMSG_TAG_IMAGE : "",
		.upper = disk ? BOOTMSG_TAG_DISK : "",
		.envc = (uint32_t)strv_len(o->env),
		.hostname = hostname,
		.cwd = o->workdir ? o->workdir : "",
		.user = o->user ? o->user : "",
		.env = strv_borrow(o->env),
	};
	struct netplan plan;
	int r = stop_signal(o, &m.stop_signal, e);

	if (!en)
		return err_set(e, -ENOMEM, "no memory");
	en->n = mounts->n;
	mounts_message(mounts, en->tag, en->m);
	if (r == 0)
		r = netplan_read(o->net, &plan, e);
	if (r == 0 && plan.mode != NETPLAN_NONE) {
		m.flags |= WIRE_BOOT_NET;
		m.net = plan.net;
	}
	if (r == 0 && disk)
		r = add_volumes(en, hutch_image_info_of(o->image)->volumes, e);
	if (r < 0)
		return r;
	qsort(en->m, en->n, sizeof(en->m[0]), by_target);
	m.mounts = en->m;
	m.n_mounts = en->n;
	return put(&m, ret, ret_len, e);
}

int bootmsg_add_ca(int fd, const char *pem, struct err *e)
{
	const size_t max = WIRE_HDR_LEN + WIRE_MSG_MAX;
	auto_free uint8_t *frame = malloc(max);
	auto_free uint8_t *made = NULL;
	size_t size = 0;
	ssize_t len = frame ? io_read_full(fd, frame, max) : -ENOMEM;
	struct msg_boot m;
	int r;

	if (len < (ssize_t)WIRE_HDR_LEN || !wire_net_ca_ok(pem))
		return err_set(e, len < 0 ? (int)len : -EBADMSG,
			       "network: the certificate cannot be added");
	r = wire_boot_parse(frame + WIRE_HDR_LEN, (size_t)len - WIRE_HDR_LEN,
			    &m, e);
	if (r < 0)
		return r;
	m.net.ca = pem;
	r = m.flags & WIRE_BOOT_NET
		    ? put(&m, &made, &size, e)
		    : err_set(e, -EBADMSG, "network: there is none");
	wire_boot_done(&m);
	return r < 0 ? r : memfile_make("hutch-boot", made, size, e);
}
