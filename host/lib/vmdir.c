/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/vmdir.c - see vmdir.h */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "common/io.h"
#include "common/words.h"
#include "host/lib/dirs.h"
#include "host/lib/disk.h"
#include "host/lib/dying.h"
#include "host/lib/internal.h"
#include "host/lib/record.h"
#include "host/lib/vmdir.h"

#define WAIT_STEP_NS 5000000
#define WAIT_STEPS   400 /* two seconds: a slow disk's fsync */
#define LOCK_TRIES   100 /* each failed one means that somebody removed a VM */

void vmdir_close(struct vmdir *d)
{
	drop_fd(&d->run_fd);
	drop_fd(&d->state_fd);
	drop_fd(&d->lock_fd);
}

/* What stays of a folder when the rest goes. */
static const char *const but_nothing[] = { NULL };
static const char *const but_lock[] = { VMDIR_LOCK, NULL };
static const char *const but_record[] = { RECORD_FILE, NULL };
static const char *const but_disk[] = { RECORD_FILE, DISK_DIR, NULL };

static void vmdir_closep(struct vmdir *d)
{
	vmdir_close(d);
}

static int set_name(struct vmdir *d, const char *name, struct err *e)
{
	int r = name_check(name, e);

	*d = (struct vmdir)VMDIR_INIT;
	if (r == 0)
		memcpy(d->name, name, strlen(name) + 1);
	return r;
}

/* Whether the file that @fd has locked is still the one with the name. */
static bool still_there(int run_root, const struct vmdir *d)
{
	struct stat a, b, c, f;

	return fstat(d->lock_fd, &a) == 0 &&
	       fstatat(d->run_fd, VMDIR_LOCK, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_ino == b.st_ino && a.st_dev == b.st_dev &&
	       fstat(d->run_fd, &c) == 0 &&
	       fstatat(run_root, d->name, &f, AT_SYMLINK_NOFOLLOW) == 0 &&
	       c.st_ino == f.st_ino && c.st_dev == f.st_dev;
}

/* Return: 1 with the lock held; 0: it was removed meanwhile; -errno. */
static int try_lock(struct hutch *h, struct vmdir *d, struct err *e)
{
	d->run_fd = dirs_open_at(h->run_fd, d->name, e);
	if (d->run_fd < 0)
		return d->run_fd;
	d->lock_fd = openat(d->run_fd, VMDIR_LOCK,
			    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (d->lock_fd < 0 && errno == ENOENT)
		return 0;
	if (d->lock_fd < 0)
		return err_set(e, -errno, "cannot open the lock of '%s': %s",
			       d->name, strerror(errno));
	if (flock(d->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(e, -errno, "cannot lock '%s': %s", d->name,
			       strerror(errno));
	return still_there(h->run_fd, d);
}

int vmdir_lock(struct hutch *h, const char *name, struct vmdir *d,
	       struct err *e)
{
	AUTO(vmdir_closep) struct vmdir t = VMDIR_INIT;
	int r = set_name(&t, name, e);

	for (int i = 0; r == 0 && i < LOCK_TRIES; i++) {
		vmdir_close(&t);
		r = try_lock(h, &t, e);
	}
	if (r == 0)
		r = err_set(e, -EBUSY, "'%s' is removed again and again", name);
	if (r < 0)
		return r;
	*d = t;
	t = (struct vmdir)VMDIR_INIT;
	return 0;
}

static int open_dir(int root, const char *name)
{
	int fd = openat(root, name,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 && errno != ENOENT ? -errno : fd;
}

int vmdir_open(struct hutch *h, const char *name, struct vmdir *d,
	       struct err *e)
{
	AUTO(vmdir_closep) struct vmdir t = VMDIR_INIT;
	int r = set_name(&t, name, e);

	if (r < 0)
		return r;
	t.run_fd = open_dir(h->run_fd, name);
	t.state_fd = open_dir(h->state_fd, name);
	if (t.run_fd < -1 || t.state_fd < -1) {
		r = MIN(t.run_fd, t.state_fd);
		return err_set(e, r, "cannot open the folders of '%s': %s",
			       name, strerror(-r));
	}
	*d = t;
	t = (struct vmdir)VMDIR_INIT;
	return 0;
}

/* ---- Removing ---- */

static void closedirp(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

static bool is_in(const char *name, const char *const *list)
{
	while (*list && strcmp(*list, name) != 0)
		list++;
	return *list != NULL;
}

/* All files of @fd but @keep; without its disk a VM has no folders. */
static int empty_dir(int fd, const char *const *keep)
{
	AUTO(closedirp) DIR *dir = NULL;
	int dup = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dup < 0)
		return -errno;
	dir = fdopendir(dup);
	if (!dir) {
		(void)close(dup);
		return -ENOMEM;
	}
	for (int i = 0; i < VMDIR_FILES_MAX; i++) {
		const struct dirent *de;

		errno = 0;
		de = readdir(dir);
		if (!de)
			return -errno;
		if (base_is_dots(de->d_name) || is_in(de->d_name, keep))
			continue;
		if (unlinkat(fd, de->d_name, 0) < 0 && errno != ENOENT)
			return -errno;
	}
	return -ENOTEMPTY;
}

static int remove_state(int state_root, const char *name)
{
	auto_fd int fd = open_dir(state_root, name);
	int r;

	if (fd < 0)
		return fd == -1 ? 0 : fd;
	/* Its record goes last: until then it can be asked for again. */
	r = disk_remove(fd);
	r = r < 0 ? r : empty_dir(fd, but_record);
	r = r < 0 ? r : empty_dir(fd, but_nothing);
	if (r == 0 && unlinkat(state_root, name, AT_REMOVEDIR) < 0 &&
	    errno != ENOENT)
		r = -errno;
	return r;
}

/* All but the disk and the record. */
static int clear_state(int state_root, const char *name)
{
	auto_fd int fd = open_dir(state_root, name);

	return fd < 0 ? fd : empty_dir(fd, but_disk);
}

int vmdir_make_state(struct hutch *h, struct vmdir *d, bool keep, struct err *e)
{
	int r = keep ? clear_state(h->state_fd, d->name)
		     : remove_state(h->state_fd, d->name);

	if (r < 0)
		return err_set(e, r, "cannot remove the old '%s/%s': %s",
			       h->state, d->name, strerror(-r));
	if (!keep && mkdirat(h->state_fd, d->name, 0700) < 0)
		return err_set(e, -errno, "cannot make '%s/%s': %s", h->state,
			       d->name, strerror(errno));
	d->state_fd = open_dir(h->state_fd, d->name);
	if (d->state_fd < 0)
		return err_set(e, d->state_fd, "cannot open '%s/%s'", h->state,
			       d->name);
	return 0;
}

void vmdir_clear_run(const struct vmdir *d)
{
	if (empty_dir(d->run_fd, but_lock) < 0)
		return; /* what is left is nobody's, and goes with the next */
}

/* The lock goes last: until then nobody else may come in. */
static int remove_run(int run_root, const struct vmdir *d)
{
	int r = empty_dir(d->run_fd, but_lock);

	if (r == 0 && unlinkat(d->run_fd, VMDIR_LOCK, 0) < 0 && errno != ENOENT)
		r = -errno;
	if (r == 0)
		(void)unlinkat(run_root, d->name, AT_REMOVEDIR);
	return r;
}

int vmdir_remove(int run_root, int state_root, struct vmdir *d, struct err *e)
{
	int r = remove_state(state_root, d->name);

	if (r == 0 && d->run_fd >= 0)
		r = remove_run(run_root, d);
	if (r < 0)
		return err_set(e, r, "cannot remove '%s': %s", d->name,
			       strerror(-r));
	return 0;
}

/* ---- Records that tell the truth ---- */

void vmdir_boot_id(char buf[40])
{
	auto_free char *s = NULL;
	struct err e;

	buf[0] = '\0';
	if (io_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64, &s,
			 NULL, &e) < 0)
		return;
	s[strcspn(s, "\n")] = '\0';
	(void)snprintf(buf, 40, "%s", s);
}

/* What can be said of a VM whose record cannot be read. */
static struct hutch_record *damaged_record(const char *name, const char *why)
{
	struct hutch_record *rec = record_new();

	if (!rec)
		return NULL;
	(void)snprintf(rec->name, sizeof(rec->name), "%s", name);
	memset(rec->id, '0', HUTCH_ID_LEN);
	record_set_text(rec, why, strlen(why));
	return rec;
}

static void make_lost(struct hutch_record *rec)
{
	static const char reboot[] = "the host was restarted";
	char boot_id[40];

	vmdir_boot_id(boot_id);
	if (*rec->boot_id && strcmp(boot_id, rec->boot_id) != 0)
		record_set_text(rec, reboot, sizeof(reboot) - 1);
	rec->state = HUTCH_STATE_STOPPED;
	rec->reason = HUTCH_REASON_LOST;
	rec->ended_ns = now_ns();
	rec->keeper_pid = 0;
	rec->vmm_pid = 0;
}

static int read_or_damaged(int state_fd, const char *name,
			   struct hutch_record **ret, struct err *e)
{
	int r = record_read(state_fd, ret, e);

	if (r == 0 || r == -ENOENT || r == -ENOMEM)
		return r;
	*ret = damaged_record(name, e ? e->msg : "");
	return *ret ? 0 : err_set(e, -ENOMEM, "no memory");
}

static void record_lost(struct hutch *h, struct vmdir *d, int state_fd,
			const struct hutch_record *rec)
{
	struct err ignored;

	/* What was to go away does, told once, to whoever found it. */
	if (rec->rm) {
		(void)vmdir_remove(h->run_fd, h->state_fd, d, NULL);
		return;
	}
	/* On a full disk it is lost all the same, only said anew. */
	if (record_write_last(state_fd, rec, &ignored) == 0 ||
	    record_write(state_fd, rec, 1, &ignored) == 0)
		(void)empty_dir(d->run_fd, but_lock);
}

/* With the lock: nobody else can change the record under us. */
static int finish_lost(struct hutch *h, struct vmdir *d,
		       struct hutch_record **ret, struct err *e)
{
	auto_fd int fd = open_dir(h->state_fd, d->name);
	struct hutch_record *rec = NULL;
	int r;

	r = fd < 0 ? -ENOENT : read_or_damaged(fd, d->name, &rec, e);
	if (r == -ENOENT)
		(void)vmdir_remove(h->run_fd, h->state_fd, d, NULL);
	if (r < 0)
		return r;
	if (rec->state != HUTCH_STATE_STOPPED) {
		make_lost(rec);
		record_lost(h, d, fd, rec);
	}
	*ret = rec;
	return 0;
}

/* Return: whether the record is about to change, as its keeper or monitor go */
static bool is_ending(const struct hutch_record *rec)
{
	return rec->state != HUTCH_STATE_STOPPED &&
	       ((rec->keeper_pid && process_is_dying(rec->keeper_pid)) ||
		(rec->vmm_pid && process_is_dying(rec->vmm_pid)));
}

/* The record as it now is, if its lock is held; lost if the lock is free. */
static int read_once(struct hutch *h, const struct vmdir *d,
		     struct hutch_record **ret, struct err *e)
{
	AUTO(vmdir_closep) struct vmdir lock = VMDIR_INIT;
	AUTO(record_freep) struct hutch_record *rec = NULL;
	int r;

	if (d->state_fd < 0)
		return -ENOENT;
	r = read_or_damaged(d->state_fd, d->name, &rec, e);
	if (r < 0)
		return r;
	if (rec->state != HUTCH_STATE_STOPPED) {
		r = vmdir_lock(h, d->name, &lock, e);
		if (r == 0)
			return finish_lost(h, &lock, ret, e);
		if (r != -EWOULDBLOCK)
			return r;
	}
	*ret = take_ptr(&rec);
	return 0;
}

/*
 * A monitor that has just been killed lives on record until its keeper has
 * seen it: wait for that, rather than tell what is no longer true.
 */
static int read_true(struct hutch *h, const struct vmdir *d,
		     struct hutch_record **ret, struct err *e)
{
	static const struct timespec step = { .tv_nsec = WAIT_STEP_NS };
	int r = read_once(h, d, ret, e);

	for (int i = 0; r == 0 && i < WAIT_STEPS && is_ending(*ret); i++) {
		hutch_record_free(*ret);
		*ret = NULL;
		(void)nanosleep(&step, NULL);
		r = read_once(h, d, ret, e);
	}
	return r;
}

int vmdir_read(struct hutch *h, const char *name, struct hutch_record **ret,
	       struct err *e)
{
	AUTO(vmdir_closep) struct vmdir d = VMDIR_INIT;
	int r = vmdir_open(h, name, &d, e);

	if (r < 0)
		return r;
	r = read_true(h, &d, ret, e);
	if (r == -ENOENT)
		return err_set(e, r,
			       "there is no VM named '%s'; hutch list shows "
			       "those there are",
			       name);
	return r;
}

/* One that has gone meanwhile is none. */
static int ask(int state_root, const char *name, vmdir_is is, const void *arg)
{
	auto_fd int fd = open_dir(state_root, name);

	if (fd < 0)
		return fd == -1 || fd == -ENOTDIR ? 0 : fd;
	return is(fd, arg);
}

int vmdir_find(struct hutch *h, vmdir_is is, const void *arg,
	       char ret[HUTCH_NAME_MAX + 1])
{
	AUTO(closedirp) DIR *dir = NULL;
	int fd = open_dir(h->state_fd, "."), found = 0;
	const struct dirent *de;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		found = fd < -1 ? fd : -errno;
		base_closep(&fd);
		return found;
	}
	while (found == 0 && (de = readdir(dir)) != NULL) {
		if (!words_name_ok(de->d_name))
			continue;
		found = ask(h->state_fd, de->d_name, is, arg);
		(void)snprintf(ret, HUTCH_NAME_MAX + 1, "%.*s", HUTCH_NAME_MAX,
			       de->d_name);
	}
	return found;
}

int vmdir_lock_stopped(struct hutch *h, const char *name, struct vmdir *d,
		       struct err *e)
{
	static const struct timespec step = { .tv_nsec = WAIT_STEP_NS };

	for (int i = 0; i < WAIT_STEPS; i++) {
		AUTO(record_freep) struct hutch_record *rec = NULL;
		int r = vmdir_lock(h, name, d, e);

		if (r != -EWOULDBLOCK)
			return r;
		r = vmdir_read(h, name, &rec, e);
		if (r == 0 && rec && rec->state != HUTCH_STATE_STOPPED)
			break;
		(void)nanosleep(&step, NULL);
	}
	return -EWOULDBLOCK;
}

void vmdir_sweep(struct hutch *h, const char *name)
{
	AUTO(vmdir_closep) struct vmdir d = VMDIR_INIT;
	auto_fd int fd = -1;
	struct err ignored;

	if (vmdir_lock(h, name, &d, &ignored) < 0)
		return;
	fd = open_dir(h->state_fd, name);
	if (fd >= 0 && faccessat(fd, RECORD_FILE, F_OK, 0) == 0)
		return;
	/* A disk that anybody has used has a record beside it. */
	if (fd >= 0) {
		if (disk_remove(fd) < 0)
			return;
		(void)unlinkat(fd, RECORD_TMP, 0);
		(void)unlinkat(h->state_fd, name, AT_REMOVEDIR);
	}
	(void)remove_run(h->run_fd, &d);
}
