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
#include <sys/socket.h>

#include "common/io.h"
#include "common/unix.h"
#include "common/wire.h"
#include "host/lib/bootmsg.h"
#include "host/lib/dirs.h"
#include "host/lib/disk.h"
#include "host/lib/execmsg.h"
#include "host/lib/image.h"
#include "host/lib/internal.h"
#include "host/lib/kcall.h"
#include "host/lib/record.h"
#include "host/lib/launch.h"
#include "host/lib/memfile.h"
#include "host/lib/mounts.h"
#include "host/lib/netplan.h"
#include "host/lib/netpolicy.h"
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

/* ---- What the keeper is given ---- */

/**
 * struct gift - Everything for the keeper, and what stays ours
 * @fd:		By enum launch_fd; -1: not given
 * @start_fd:	Our end: the keeper says here whether it has started the VM
 * @lifeline:	Our end: closing it ends the VM
 * @mounts:	Opened; their descriptors move to @fd
 * @id:		Of the VM
 * @old:	Record of the VM of that name, of which the disk stays; or NULL
 */
struct gift {
	int fd[LAUNCH_N_FDS];
	int start_fd;
	int lifeline;
	struct mounts mounts;
	char *path[LAUNCH_N_PATHS];
	char id[HUTCH_ID_LEN + 1];
	bool keep;
	struct hutch_record *old;
};

static void gift_done(struct gift *g)
{
	for (size_t i = 0; i < ARRAY_LEN(g->fd); i++)
		if (g->fd[i] >= 0)
			(void)close(take_fd(&g->fd[i]));
	if (g->start_fd >= 0)
		(void)close(take_fd(&g->start_fd));
	if (g->lifeline >= 0)
		(void)close(take_fd(&g->lifeline));
	mounts_done(&g->mounts);
	hutch_record_free(g->old);
	for (size_t i = 0; i < ARRAY_LEN(g->path); i++) {
		free(g->path[i]);
		g->path[i] = NULL;
	}
}

static void gift_init(struct gift *g)
{
	*g = (struct gift){ .start_fd = -1, .lifeline = -1 };
	for (size_t i = 0; i < ARRAY_LEN(g->fd); i++)
		g->fd[i] = -1;
}

/* Whoever carries its frames; "" is nobody. */
static int find_helper(struct hutch *h, const struct hutch_start_opts *o,
		       struct gift *g, struct err *e)
{
	struct netplan p;
	int r = netplan_read(o->net, &p, e);

	if (r < 0)
		return r;
	if (p.mode == NETPLAN_POLICY)
		return dirs_find(h, HUTCH_PATH_NET, NULL,
				 &g->path[LAUNCH_PATH_NET], e);
	if (netplan_helper(&p))
		return dirs_find_helper(h, netplan_helper(&p),
					&g->path[LAUNCH_PATH_NET], e);
	g->path[LAUNCH_PATH_NET] = strdup("");
	return g->path[LAUNCH_PATH_NET] ? 0 : err_set(e, -ENOMEM, "no memory");
}

static int find_files(struct hutch *h, const struct hutch_start_opts *o,
		      struct gift *g, struct err *e)
{
	static const enum hutch_path what[LAUNCH_PATH_NET] = {
		[LAUNCH_PATH_KEEPER] = HUTCH_PATH_KEEPER,
		[LAUNCH_PATH_VMM] = HUTCH_PATH_VMM,
		[LAUNCH_PATH_AGENT] = HUTCH_PATH_AGENT,
		[LAUNCH_PATH_ROOT] = HUTCH_PATH_ROOT,
		[LAUNCH_PATH_KERNEL] = HUTCH_PATH_KERNEL,
	};
	int r = 0;

	for (int i = 0; r == 0 && i < LAUNCH_PATH_NET; i++)
		r = dirs_find(h, (int)what[i], o->kernel, &g->path[i], e);
	return r < 0 ? r : find_helper(h, o, g, e);
}

static int give_boot(const struct hutch_start_opts *o, const char *hostname,
		     struct gift *g, struct err *e)
{
	auto_free uint8_t *frame = NULL;
	size_t len = 0;
	int r = bootmsg_make(o, &g->mounts, hostname, &frame, &len, e);

	if (r < 0)
		return r;
	g->fd[LAUNCH_FD_BOOT] = memfile_make("hutch-boot", frame, len, e);
	return MIN(g->fd[LAUNCH_FD_BOOT], 0);
}

/* With what the policy injects: in memory only, and soon hutch-net's alone. */
static int give_net(const struct hutch_start_opts *o, struct gift *g,
		    struct err *e)
{
	char *message = NULL;
	struct netplan p;
	int r = netplan_read(o->net, &p, e);

	if (r < 0 || p.mode != NETPLAN_POLICY)
		return r;
	r = netpolicy_message(o->net_policy ? o->net_policy
					    : NETPOLICY_INTERNET,
			      p.net.mtu, &message, e);
	if (r < 0)
		return r;
	g->fd[LAUNCH_FD_NET] =
		memfile_make("hutch-net", message, strlen(message), e);
	netpolicy_free(message);
	return MIN(g->fd[LAUNCH_FD_NET], 0);
}

static int give_main(const struct hutch_start_opts *o, struct gift *g,
		     struct err *e)
{
	const struct hutch_exec_opts x = {
		.argv = o->argv,
		.grace_ms = o->grace_ms,
		.flags = HUTCH_EXEC_MAIN | HUTCH_EXEC_DETACH |
			 (o->flags & HUTCH_START_STDIN ? HUTCH_EXEC_STDIN : 0),
	};
	auto_free uint8_t *frame = NULL;
	size_t len = 0;
	int r;

	if (!o->argv || (o->flags & HUTCH_START_ATTACH))
		return 0;
	r = execmsg_make(&x, &frame, &len, e);
	if (r < 0)
		return r;
	g->fd[LAUNCH_FD_MAIN] = memfile_make("hutch-main", frame, len, e);
	return MIN(g->fd[LAUNCH_FD_MAIN], 0);
}

static int give_sockets(const struct vmdir *d, struct gift *g, struct err *e)
{
	static const struct {
		enum launch_fd fd;
		const char *name;
	} sock[] = {
		{ LAUNCH_FD_KEEPER_SOCK, VMDIR_KEEPER_SOCK },
		{ LAUNCH_FD_VMM_SOCK, VMDIR_VMM_SOCK },
		{ LAUNCH_FD_VSOCK_SOCK, VMDIR_VSOCK_SOCK },
	};

	for (size_t i = 0; i < ARRAY_LEN(sock); i++) {
		/* The lock is ours: what is there is of a VM that is gone. */
		(void)unlinkat(d->run_fd, sock[i].name, 0);
		g->fd[sock[i].fd] =
			unix_listen(d->run_fd, sock[i].name, SOCK_STREAM, e);
		if (g->fd[sock[i].fd] < 0)
			return g->fd[sock[i].fd];
	}
	return 0;
}

static int give_pipes(bool lifeline, struct gift *g, struct err *e)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return err_set(e, -errno, "pipe: %s", strerror(errno));
	g->start_fd = p[0];
	g->fd[LAUNCH_FD_START] = p[1];
	if (!lifeline)
		return 0;
	if (pipe2(p, O_CLOEXEC) < 0)
		return err_set(e, -errno, "pipe: %s", strerror(errno));
	g->fd[LAUNCH_FD_LIFELINE] = p[0];
	g->lifeline = p[1];
	return 0;
}

static int give_dirs(struct hutch *h, struct vmdir *d, struct gift *g,
		     struct err *e)
{
	g->fd[LAUNCH_FD_RUN_ROOT] = fcntl(h->run_fd, F_DUPFD_CLOEXEC, 0);
	g->fd[LAUNCH_FD_STATE_ROOT] = fcntl(h->state_fd, F_DUPFD_CLOEXEC, 0);
	if (g->fd[LAUNCH_FD_RUN_ROOT] < 0 || g->fd[LAUNCH_FD_STATE_ROOT] < 0)
		return err_set(e, -errno, "folders: %s", strerror(errno));
	for (unsigned int i = 0; i < g->mounts.n; i++)
		g->fd[LAUNCH_FD_MOUNT + i] = take_fd(&g->mounts.m[i].fd);
	g->fd[LAUNCH_FD_RUN] = take_fd(&d->run_fd);
	g->fd[LAUNCH_FD_STATE] = take_fd(&d->state_fd);
	g->fd[LAUNCH_FD_LOCK] = take_fd(&d->lock_fd);
	return 0;
}

/* ---- The image, and the disk over it ---- */

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

static int give_image(const struct hutch_start_opts *o, const struct vmdir *d,
		      struct gift *g, struct err *e)
{
	int *fd = g->fd;

	if (!o->image)
		return 0;
	fd[LAUNCH_FD_IMAGE] =
		fcntl(hutch_image_tree(o->image), F_DUPFD_CLOEXEC, 0);
	fd[LAUNCH_FD_IMAGE_LOCK] =
		fcntl(hutch_image_lock(o->image), F_DUPFD_CLOEXEC, 0);
	if (fd[LAUNCH_FD_IMAGE] < 0 || fd[LAUNCH_FD_IMAGE_LOCK] < 0)
		return err_set(e, -errno, "image: %s", strerror(errno));
	if (o->flags & HUTCH_START_DISK_RAM)
		return 0;
	fd[LAUNCH_FD_DISK] = disk_open(d->state_fd, o->image, e);
	return MIN(fd[LAUNCH_FD_DISK], 0);
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
	r = r < 0 ? r : give_image(o, d, g, e);
	r = r < 0 ? r : give_boot(o, rec->hostname, g, e);
	r = r < 0 ? r : give_main(o, g, e);
	r = r < 0 ? r : give_sockets(d, g, e);
	r = r < 0 ? r : give_pipes(o->flags & HUTCH_START_LIFELINE, g, e);
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

	r = r < 0 ? r : give_dirs(h, d, g, e);
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
	r = find_files(h, o, &g, e);
	r = r < 0 ? r : give_net(o, &g, e);
	if (r == 0)
		r = mounts_open(h, o->mounts, o->image, &g.mounts, e);
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
	if (vm->lifeline >= 0)
		(void)close(take_fd(&vm->lifeline));
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
