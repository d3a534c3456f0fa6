/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/record.c - see record.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "common/io.h"
#include "common/log.h"
#include "host/lib/forward.h"
#include "host/lib/internal.h"
#include "host/lib/mounts.h"
#include "host/lib/record.h"

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
	    record_set(&rec->workdir, "") < 0 ||
	    record_set(&rec->image, "") < 0 ||
	    record_set(&rec->image_id, "") < 0 ||
	    record_set(&rec->stop_signal, "") < 0 ||
	    record_set(&rec->net, "") < 0 ||
	    record_set(&rec->net_policy, "") < 0) {
		hutch_record_free(rec);
		return NULL;
	}
	return rec;
}

/* The public struct has const pointers; the memory behind them is ours. */
void record_drop(const void *p)
{
	void *q;

	memcpy(&q, &p, sizeof(q));
	free(q);
}

void record_drop_list(const char *const *v)
{
	for (size_t i = 0; v && v[i]; i++)
		record_drop(v[i]);
	record_drop(v);
}

void hutch_record_free(struct hutch_record *rec)
{
	if (!rec)
		return;
	record_drop(rec->text);
	record_drop(rec->boot_id);
	record_drop(rec->hostname);
	record_drop(rec->kernel);
	record_drop(rec->user);
	record_drop(rec->workdir);
	record_drop(rec->image);
	record_drop(rec->stop_signal);
	record_drop(rec->net);
	record_drop(rec->net_policy);
	record_drop(rec->image_id);
	record_drop_list(rec->argv);
	record_drop_list(rec->env);
	record_drop_list(rec->labels);
	mounts_free(rec->mounts);
	forwards_free(rec->forwards);
	free(rec);
}

int record_set(const char **field, const char *s)
{
	char *copy = strdup(s);

	if (!copy)
		return -ENOMEM;
	record_drop(*field);
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
			record_drop_list(copy);
			return -ENOMEM;
		}
	}
	record_drop_list(*field);
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
	r = file_size_ok(strlen(text));
	if (r == 0)
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
	r = file_size_ok(len);
	if (r == 0)
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
