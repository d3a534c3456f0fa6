/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/life.c - list, inspect, wait, stop, kill, rm */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "common/words.h"
#include "host/lib/internal.h"
#include "host/lib/kcall.h"
#include "host/lib/record.h"
#include "host/lib/vmdir.h"

#define VMS_MAX        100000
#define STOP_GRACE_MS  10000
#define STOP_MARGIN_MS 30000 /* the keeper's own is much less */
#define GRACE_MAX_MS   86400000

/* ---- Looking ---- */

void hutch_list_free(struct hutch_record **list)
{
	for (size_t i = 0; list && list[i]; i++)
		hutch_record_free(list[i]);
	free(list);
}

static int by_name(const void *a, const void *b)
{
	const struct hutch_record *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Room for one more and the NULL behind it. */
static int grow(struct hutch_record ***list, size_t n)
{
	struct hutch_record **more;

	if (n & (n - 1)) /* doubles at each power of two */
		return 0;
	more = realloc(*list,
		       (MAX(n, 1) * 2 + 1) * sizeof(struct hutch_record *));
	if (!more)
		return -ENOMEM;
	*list = more;
	return 0;
}

static int collect(struct hutch *h, DIR *dir, struct hutch_record ***ret,
		   struct err *e)
{
	const struct dirent *de;
	size_t n = 0;
	int r = grow(ret, 0);

	while (r == 0 && n < VMS_MAX && (de = readdir(dir))) {
		(*ret)[n] = NULL;
		if (!words_name_ok(de->d_name))
			continue;
		r = grow(ret, n);
		if (r == 0)
			r = vmdir_read(h, de->d_name, &(*ret)[n], e);
		if (r == 0)
			n++;
		if (r == -ENOENT) { /* removed meanwhile, or not begun */
			vmdir_sweep(h, de->d_name);
			r = 0;
		}
	}
	if (*ret)
		(*ret)[n] = NULL;
	if (r == -ENOMEM)
		return err_set(e, r, "no memory");
	return r < 0 ? r : (int)n;
}

static DIR *open_list(int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		(void)close(fd);
	return dir;
}

/* A start killed at its very first steps has a folder here and none there. */
static void sweep_run(struct hutch *h)
{
	DIR *dir = open_list(h->run_fd);
	const struct dirent *de;

	for (int i = 0; dir && i < VMS_MAX && (de = readdir(dir)); i++)
		if (words_name_ok(de->d_name) &&
		    faccessat(h->state_fd, de->d_name, F_OK, 0) < 0)
			vmdir_sweep(h, de->d_name);
	if (dir)
		(void)closedir(dir);
}

int hutch_list(struct hutch *h, struct hutch_record ***ret, struct hutch_err *e)
{
	struct hutch_record **list = NULL;
	DIR *dir = open_list(h->state_fd);
	int n;

	if (!dir)
		return err_set(err_of(e), -errno, "cannot read '%s': %s",
			       h->state, strerror(errno));
	sweep_run(h);
	n = collect(h, dir, &list, err_of(e));
	(void)closedir(dir);
	if (n < 0) {
		hutch_list_free(list);
		return n;
	}
	if (list && n > 1)
		qsort(list, (size_t)n, sizeof(struct hutch_record *), by_name);
	*ret = list;
	return n;
}

int hutch_inspect(struct hutch *h, const char *name, struct hutch_record **ret,
		  struct hutch_err *e)
{
	return vmdir_read(h, name, ret, err_of(e));
}

/* ---- Waiting ---- */

/** struct ask - A request to a keeper; see kcall_send() */
struct ask {
	const char *verb;
	const char *key;
	const char *arg;
};

/*
 * No keeper, or one with no room, is no error, then the record will tell.
 *
 * Return: 0 with *@ret the connection, or -1 if there is none; -errno
 */
static int ask(struct hutch *h, const char *name, const struct ask *q, int *ret,
	       struct err *e)
{
	struct vmdir d = VMDIR_INIT;
	int r = vmdir_open(h, name, &d, e);

	*ret = -1;
	if (r == 0 && d.run_fd >= 0) {
		r = kcall_send(d.run_fd, q->verb, q->key, q->arg, e);
		if (r >= 0)
			*ret = r;
		if (r == -ENOENT || r == -ECONNREFUSED || r == -EPIPE)
			r = 0;
	}
	vmdir_close(&d);
	return MIN(r, 0);
}

/* Another one that has the name by now is not asked. */
static int ask_vm(const struct kcall_vm *vm, const struct ask *q, int *ret,
		  struct err *e)
{
	AUTO(record_freep) struct hutch_record *rec = NULL;
	int r = vm->id ? vmdir_read(vm->h, vm->name, &rec, e) : 0;

	*ret = -1;
	if (r < 0 || (vm->id && strcmp(rec->id, vm->id) != 0))
		return r;
	return ask(vm->h, vm->name, q, ret, e);
}

/*
 * A keeper that has no room for us closes the connection: we ask it again for
 * as long as there is time, with kcall_await_end()'s waits between.
 *
 * @fd is -1 or under way, and stays so if the time is over.
 */
static int await_end_of(const struct kcall_vm *vm, const struct ask *q, int *fd,
			uint64_t end_ns, struct hutch_record **ret,
			struct err *e)
{
	int r = *fd < 0 ? ask_vm(vm, q, fd, e) : 0;

	while (r == 0) {
		r = kcall_await_end(vm, *fd, deadline_left_ms(end_ns), ret, e);
		if (r != -ETIMEDOUT || deadline_left_ms(end_ns) == 0)
			return r;
		drop_fd(fd);
		r = ask_vm(vm, q, fd, e);
	}
	return r;
}

static int await_end(struct hutch *h, const char *name, const struct ask *q,
		     int timeout_ms, struct hutch_record **ret, struct err *e)
{
	AUTO(record_freep) struct hutch_record *rec = NULL;
	const struct kcall_vm vm = { h, name, NULL };
	auto_fd int fd = -1;
	int r = await_end_of(&vm, q, &fd, deadline_in(timeout_ms), &rec, e);

	if (r == 0 && ret)
		*ret = take_ptr(&rec);
	return r;
}

/* The keeper has gone, or there was none: the VM has ended, or never was. */
static int ready_never(struct hutch *h, const char *name, int timeout_ms,
		       struct err *e)
{
	AUTO(record_freep) struct hutch_record *rec = NULL;
	const struct kcall_vm vm = { h, name, NULL };
	int r = kcall_await_end(&vm, -1, timeout_ms, &rec, e);

	return r < 0 ? r : kcall_ended(rec, e);
}

/* Once. Return: as await_ready(); -ETIMEDOUT also if there is no room. */
static int ask_ready(struct hutch *h, const char *name, int timeout_ms,
		     struct err *e)
{
	static const struct ask q = { "wait", "for", "ready" };
	auto_free char *line = malloc(CTL_LINE_MAX);
	auto_fd int fd = -1;
	struct ctl_msg m;
	int r = ask(h, name, &q, &fd, e);

	if (!line)
		return err_set(e, -ENOMEM, "no memory");
	if (r < 0)
		return r;
	r = fd < 0 ? -EPIPE : kcall_answer(fd, timeout_ms, line, &m, e);
	return r == -EPIPE ? ready_never(h, name, timeout_ms, e) : r;
}

static int await_ready(struct hutch *h, const char *name, int timeout_ms,
		       struct hutch_record **ret, struct err *e)
{
	const uint64_t end = deadline_in(timeout_ms);
	int r;

	do
		r = ask_ready(h, name, deadline_left_ms(end), e);
	while (r == -ETIMEDOUT && deadline_left_ms(end) != 0);
	return r == 0 && ret ? vmdir_read(h, name, ret, e) : r;
}

int hutch_wait(struct hutch *h, const char *name, enum hutch_wait what,
	       int timeout_ms, struct hutch_record **ret, struct hutch_err *e)
{
	static const struct ask q = { "wait", "for", "exit" };

	switch (what) {
	case HUTCH_WAIT_READY:
		return await_ready(h, name, timeout_ms, ret, err_of(e));
	case HUTCH_WAIT_EXIT:
		return await_end(h, name, &q, timeout_ms, ret, err_of(e));
	case HUTCH_WAIT_STARTED:
	default:
		return err_set(err_of(e), -EINVAL, "wait: %d is not known",
			       (int)what);
	}
}

/* A record has no copy constructor but its JSON. */
static int give_record(const struct hutch_record *rec,
		       struct hutch_record **ret, struct err *e)
{
	auto_free char *json = NULL;

	if (!ret)
		return 0;
	json = hutch_record_json(rec);
	if (!json)
		return err_set(e, -ENOMEM, "no memory");
	return record_parse(json, strlen(json), ret, e);
}

int hutch_vm_wait(struct hutch *h, struct hutch_vm *vm, int timeout_ms,
		  struct hutch_record **ret, struct hutch_err *e)
{
	static const struct ask q = { "wait", "for", "exit" };
	const struct kcall_vm who = { h, vm->name, vm->id };
	int r = 0;

	if (!vm->rec)
		r = await_end_of(&who, &q, &vm->keeper_fd,
				 deadline_in(timeout_ms), &vm->rec, err_of(e));
	if (r < 0)
		return r;
	drop_fd(&vm->keeper_fd);
	return give_record(vm->rec, ret, err_of(e));
}

/* ---- Ending ---- */

int hutch_stop(struct hutch *h, const char *name, int grace_ms,
	       struct hutch_err *e)
{
	int grace = grace_ms < 0 ? STOP_GRACE_MS : MIN(grace_ms, GRACE_MAX_MS);
	char arg[16];
	const struct ask q = { "stop", "grace_ms", arg };

	(void)snprintf(arg, sizeof(arg), "%d", grace);
	return await_end(h, name, &q, grace + STOP_MARGIN_MS, NULL, err_of(e));
}

int hutch_kill(struct hutch *h, const char *name, struct hutch_err *e)
{
	static const struct ask q = { "kill", NULL, NULL };
	struct hutch_record *rec = NULL;
	int r = vmdir_read(h, name, &rec, err_of(e));

	if (r < 0)
		return r;
	if (rec->state == HUTCH_STATE_STOPPED)
		r = kcall_ended(rec, err_of(e));
	hutch_record_free(rec);
	if (r < 0)
		return r;
	return await_end(h, name, &q, STOP_MARGIN_MS, NULL, err_of(e));
}

static int rm_stopped(struct hutch *h, const char *name, struct err *e)
{
	struct vmdir d = VMDIR_INIT;
	int r = vmdir_lock_stopped(h, name, &d, e);

	if (r == -EWOULDBLOCK)
		return err_set(e, -EBUSY,
			       "VM '%s' is alive: hutch stop ends it, hutch "
			       "rm -f kills it first",
			       name);
	if (r == 0)
		r = vmdir_remove(h->run_fd, h->state_fd, &d, e);
	vmdir_close(&d);
	return r;
}

int hutch_rm(struct hutch *h, const char *name, unsigned int flags,
	     struct hutch_err *e)
{
	struct hutch_record *rec = NULL;
	int alive, r;

	if (flags & ~HUTCH_RM_FORCE)
		return err_set(err_of(e), -EINVAL, "rm: unknown flags %#x",
			       flags & ~HUTCH_RM_FORCE);
	r = vmdir_read(h, name, &rec, err_of(e));
	/* Of a start that was killed there may be a disk, and no record. */
	if (r == -ENOENT && faccessat(h->state_fd, name, F_OK, 0) == 0) {
		vmdir_sweep(h, name);
		return faccessat(h->state_fd, name, F_OK, 0) < 0 ? 0 : r;
	}
	if (r < 0)
		return r;
	alive = rec->state != HUTCH_STATE_STOPPED;
	hutch_record_free(rec);
	if (alive && (flags & HUTCH_RM_FORCE)) {
		r = hutch_kill(h, name, e);
		/* It may have ended, or have gone, by itself. */
		if (r == -ENOENT)
			return 0;
		if (r < 0 && r != -ESRCH)
			return r;
	}
	return rm_stopped(h, name, err_of(e));
}
