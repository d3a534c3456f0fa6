/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/start.c - start a VM: hutch_start()
 *
 * How it works.  We take the name's lock, make its folders, write the record
 * and bind the VM's sockets, all before any other program runs: from then on
 * whoever asks for the VM gets an answer, at once or when it has one.  Then
 * hutch-keeper gets all of it as descriptors, and we let go of the lock.  If
 * we die on the way, the lock is free and the next reader records "lost".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "host/lib/disk.h"
#include "host/lib/gift.h"
#include "host/lib/image.h"
#include "host/lib/internal.h"
#include "host/lib/kcall.h"
#include "host/lib/launch.h"
#include "host/lib/record.h"
#include "host/lib/startopts.h"
#include "host/lib/vmdir.h"

#define NAME_TRIES 20

/* ---- The name ---- */

static int lock_new(struct hutch *h, struct vmdir *d, struct err *e)
{
	char name[HUTCH_NAME_MAX + 1] = "vm-";
	int r = -EEXIST;

	for (int i = 0; i < NAME_TRIES; i++) {
		startopts_hex(name + 3, 8);
		if (faccessat(h->state_fd, name, F_OK, 0) == 0)
			continue;
		r = vmdir_lock(h, name, d, e);
		if (r != -EWOULDBLOCK)
			return r;
	}
	return err_set(e, r, "no free name was found");
}

static int lock_given(struct hutch *h, const char *name, struct vmdir *d,
		      struct err *e)
{
	int r = vmdir_lock_stopped(h, name, d, e);

	if (r != -EWOULDBLOCK)
		return r;
	return err_set(e, -EEXIST,
		       "name '%s' is in use by a VM that is alive; choose "
		       "another name or end it with hutch stop %s",
		       name, name);
}

/* ---- The disk ---- */

/*
 * A disk that is there is not written over, nor left out: it may be all that
 * somebody has.
 */
static int check_disk(struct hutch *h, const struct hutch_start_opts *o,
		      const char *name, struct gift *g, struct err *e)
{
	char id[HUTCH_IMAGE_ID_LEN + 1];
	struct err ignored;
	auto_fd int fd =
		openat(h->state_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? -errno : disk_image(fd, id);

	if (r == -ENOENT)
		return 0;
	if (fd < 0)
		return err_set(e, r, "cannot open the state of VM '%s': %s",
			       name, strerror(-r));
	if (r < 0)
		return err_set(e, r,
			       "the disk of VM '%s' is damaged; hutch rm %s "
			       "removes it",
			       name, name);
	if (!o->image || o->flags & HUTCH_START_DISK_RAM ||
	    strcmp(id, hutch_image_info_of(o->image)->id) != 0)
		return err_set(e, -EEXIST,
			       "VM '%s' has a disk that was made over image "
			       "%.*s: start it with that one and on its disk, "
			       "or remove it first (hutch rm %s)",
			       name, IMAGESTORE_SHORTID, id, name);
	if (o->flags & HUTCH_START_RM)
		return err_set(e, -EEXIST,
			       "VM '%s' has a disk, which --rm would remove "
			       "in the end: start it without, or remove the "
			       "disk first (hutch rm %s)",
			       name, name);
	g->keep = true;
	/* A damaged one is not missed. */
	if (record_read(fd, &g->old, &ignored) < 0)
		g->old = NULL;
	return 0;
}

/* ---- In order ---- */

static int prepare(struct hutch *h, const struct hutch_start_opts *o,
		   struct vmdir *d, struct gift *g, struct err *e)
{
	AUTO(record_freep) struct hutch_record *rec = NULL;
	int r = startopts_record(o, &g->mounts, d->name,
				 g->path[LAUNCH_PATH_KERNEL], &rec);

	if (r < 0)
		return err_set(e, r, "no memory");
	/* As large as it was, if nothing else is said. */
	if (g->old && !o->disk && g->old->disk_bytes)
		rec->disk_bytes = g->old->disk_bytes;
	memcpy(g->id, rec->id, sizeof(g->id));
	r = vmdir_make_state(h, d, g->keep, e);
	r = r < 0 ? r : gift_fill(o, d, rec->hostname, g, e);
	/* Last: with it the VM can be seen, and all it needs is there. */
	return r < 0 ? r : record_write(d->state_fd, rec, 0, e);
}

/*
 * Nothing half-made stays, and a disk that was there before is as it was: d's
 * descriptors may have moved to @g.
 */
static void undo(struct hutch *h, const struct vmdir *d, const struct gift *g)
{
	struct vmdir t = *d;
	struct err ignored;

	if (t.run_fd < 0)
		t.run_fd = g->fd[LAUNCH_FD_RUN];
	if (t.state_fd < 0)
		t.state_fd = g->fd[LAUNCH_FD_STATE];
	if (g->keep) {
		vmdir_clear_run(&t);
		if (g->old && record_write(t.state_fd, g->old, 0, &ignored) < 0)
			return; /* then it shows as lost, with its disk */
		return;
	}
	if (vmdir_remove(h->run_fd, h->state_fd, &t, NULL) < 0)
		return; /* the next start or rm of this name will try again */
}

static int start_locked(struct hutch *h, const struct hutch_start_opts *o,
			struct vmdir *d, struct gift *g, struct err *e)
{
	int r = prepare(h, o, d, g, e);

	r = r < 0 ? r : gift_dirs(h, d, g, e);
	r = r < 0 ? r : launch_keeper(g->fd, g->path, d->name, e);
	if (r == 0) {
		/* The write end must be the keeper's alone to see it die. */
		(void)close(take_fd(&g->fd[LAUNCH_FD_START]));
		r = launch_await(g->start_fd, e);
	}
	/* A keeper that died is for the record, as lost, like any other. */
	if (r < 0 && r != -EPIPE)
		undo(h, d, g);
	return r;
}

static int start_vm(struct hutch *h, const struct hutch_start_opts *o,
		    struct hutch_vm *vm, struct err *e)
{
	struct vmdir d = VMDIR_INIT;
	struct gift g;
	int r;

	gift_init(&g);
	/* What the user got wrong comes before anything is made. */
	r = gift_find(h, o, &g, e);
	if (r == 0)
		r = o->name ? lock_given(h, o->name, &d, e)
			    : lock_new(h, &d, e);
	if (r == 0 && o->name)
		r = check_disk(h, o, d.name, &g, e);
	if (r == 0)
		r = start_locked(h, o, &d, &g, e);
	if (r == 0) {
		struct err ignored;

		(void)snprintf(vm->name, sizeof(vm->name), "%s", d.name);
		memcpy(vm->id, g.id, sizeof(vm->id));
		vm->lifeline = take_fd(&g.lifeline);
		vm->keeper_fd = kcall_send(g.fd[LAUNCH_FD_RUN], "wait", "for",
					   "exit", &ignored);
	}
	gift_done(&g);
	vmdir_close(&d);
	return r;
}

/* What the image says, where nothing else was said. */
static int add_image(struct hutch_start_opts *o, const char *const **env,
		     struct err *e)
{
	const struct hutch_image_info *i;

	if (!o->image)
		return 0;
	i = hutch_image_info_of(o->image);
	o->user = o->user ? o->user : i->user;
	o->workdir = o->workdir ? o->workdir : i->workdir;
	if (image_env(o->image, o->env, env) < 0)
		return err_set(e, -ENOMEM, "no memory");
	o->env = *env;
	return 0;
}

int hutch_start(struct hutch *h, const struct hutch_start_opts *opts,
		struct hutch_vm **ret, struct hutch_err *e)
{
	struct hutch_start_opts o;
	auto_free const char *const *env = NULL;
	struct hutch_vm *vm;
	int r = opts_take(&o, sizeof(o), opts, opts->size, err_of(e));

	if (r == 0)
		r = add_image(&o, &env, err_of(e));
	if (r == 0)
		r = startopts_check(&o, ret != NULL, err_of(e));
	if (r < 0)
		return r;
	vm = calloc(1, sizeof(*vm));
	if (!vm)
		return err_set(err_of(e), -ENOMEM, "no memory");
	vm->lifeline = -1;
	vm->keeper_fd = -1;
	r = start_vm(h, &o, vm, err_of(e));
	if (r == 0 && o.wait == HUTCH_WAIT_READY)
		r = hutch_wait(h, vm->name, HUTCH_WAIT_READY, -1, NULL, e);
	if (r < 0 || !ret) {
		hutch_vm_close(vm);
		return r;
	}
	*ret = vm;
	return 0;
}

const char *hutch_vm_name(const struct hutch_vm *vm)
{
	return vm->name;
}

const char *hutch_vm_id(const struct hutch_vm *vm)
{
	return vm->id;
}

void hutch_vm_end(struct hutch_vm *vm)
{
	drop_fd(&vm->lifeline);
}

void hutch_vm_close(struct hutch_vm *vm)
{
	if (!vm)
		return;
	hutch_vm_end(vm);
	if (vm->keeper_fd >= 0)
		(void)close(vm->keeper_fd);
	hutch_record_free(vm->rec);
	free(vm);
}
