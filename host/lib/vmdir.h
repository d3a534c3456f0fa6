/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/vmdir.h - the two folders of one VM, and its lock
 *
 * RUN/NAME holds lock, keeper.sock, vmm.sock, vsock.sock; STATE/NAME holds
 * record.json, console.log, main.log, events.jsonl, denied.jsonl,
 * disk.  Whoever holds a flock() on RUN/NAME/lock
 * owns both: a client while it starts or removes the VM, the keeper as long as
 * it lives.  So a VM is alive exactly while its lock is held, and a record
 * that says it is alive under a free lock is of a VM nobody saw the end of.
 *
 * The lock file is unlinked only by its holder; whoever then gets the lock of
 * the unlinked file notices, and opens anew.
 */
#ifndef HUTCH_HOST_LIB_VMDIR_H
#define HUTCH_HOST_LIB_VMDIR_H

#include <stdbool.h>

#include "common/err.h"
#include "host/lib/hutch.h"

#define VMDIR_LOCK         "lock"
#define VMDIR_KEEPER_SOCK  "keeper.sock"
#define VMDIR_VMM_SOCK     "vmm.sock"
#define VMDIR_VSOCK_SOCK   "vsock.sock"
#define VMDIR_CONSOLE      "console.log"
#define VMDIR_MAIN_LOG     "main.log"
#define VMDIR_MAIN_LOG_OLD "main.log.1"
#define VMDIR_EVENTS       "events.jsonl"
#define VMDIR_EVENTS_OLD   "events.jsonl.1"
#define VMDIR_DENIED       "denied.jsonl"
#define VMDIR_DENIED_OLD   "denied.jsonl.1"
#define VMDIR_FILES_MAX    100000 /* removed at most, of one folder */

/** struct vmdir - Open folders and the held lock; -1 for what is not there */
struct vmdir {
	int run_fd;
	int state_fd;
	int lock_fd;
	char name[64];
};

#define VMDIR_INIT                                           \
	{                                                    \
		.run_fd = -1, .state_fd = -1, .lock_fd = -1, \
	}

/**
 * vmdir_lock() - Become the owner of the name, making RUN/NAME if need be
 *
 * Return: 0; -EWOULDBLOCK if somebody else is; or -errno with a sentence
 */
MUST_CHECK int vmdir_lock(struct hutch *h, const char *name, struct vmdir *d,
			  struct err *e);

/**
 * vmdir_lock_stopped() - The same, unless a VM of that name is alive
 *
 * A lock may be held for a moment by who is only looking, or removing, or by a
 * keeper on its way out: waits for those.
 *
 * Return: 0; -EWOULDBLOCK if it is alive; or -errno with a sentence
 */
MUST_CHECK int vmdir_lock_stopped(struct hutch *h, const char *name,
				  struct vmdir *d, struct err *e);

/**
 * vmdir_sweep() - Remove what a start has left that was killed halfway
 *
 * That is, folders of @name in which there is no record yet.  What somebody
 * else has put there stays.
 */
void vmdir_sweep(struct hutch *h, const char *name);

/**
 * vmdir_open() - Open the folders without the lock, making nothing
 *
 * A missing folder leaves its descriptor at -1.
 *
 * Return: 0; -EINVAL for a bad name; or -errno
 */
MUST_CHECK int vmdir_open(struct hutch *h, const char *name, struct vmdir *d,
			  struct err *e);

/**
 * vmdir_make_state() - A fresh STATE/NAME; an old one goes. Holds the lock
 * @keep:	Its disk stays, and its record until a new one is written
 */
MUST_CHECK int vmdir_make_state(struct hutch *h, struct vmdir *d, bool keep,
				struct err *e);

/**
 * vmdir_remove() - Remove both folders with all they hold, then the lock file
 *
 * The caller holds the lock, and lets go of it with vmdir_close().
 */
int vmdir_remove(int run_root, int state_root, struct vmdir *d, struct err *e);

/** vmdir_clear_run() - Empty RUN/NAME, as far as it goes, but for the lock */
void vmdir_clear_run(const struct vmdir *d);

/** vmdir_close() - Close what is open, and so let go of the lock */
void vmdir_close(struct vmdir *d);

/**
 * vmdir_read() - The VM's record, true as of now
 *
 * If it says alive while the lock is free it is first made to say lost, on
 * disk too (unless that cannot be written).
 *
 * Return: 0; -ENOENT with a sentence if there is no such VM
 */
MUST_CHECK int vmdir_read(struct hutch *h, const char *name,
			  struct hutch_record **ret, struct err *e);

/** vmdir_is - Whether it is that VM. Return: 1; 0; or -errno, which ends it */
typedef int (*vmdir_is)(int state_fd, const void *arg);

/**
 * vmdir_find() - The first VM, alive or stopped, of which @is says so
 * @arg:	Handed to @is, with the folder STATE/NAME
 * @ret:	Its name
 *
 * Return: 1; 0 if there is none; -errno if that cannot be known
 */
MUST_CHECK int vmdir_find(struct hutch *h, vmdir_is is, const void *arg,
			  char ret[HUTCH_NAME_MAX + 1]);

/** vmdir_boot_id() - The host's boot id in @buf; "" if it has none */
void vmdir_boot_id(char buf[40]);

#endif
