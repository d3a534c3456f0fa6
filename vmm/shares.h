/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/shares.h - shared folders of a VM: a device and a server for each --fs */
#ifndef HUTCH_VMM_SHARES_H
#define HUTCH_VMM_SHARES_H

#include "common/err.h"
#include "vmm/core/window.h"
#include "vmm/share_opt.h"
#include "vmm/virtio/mmio.h"

struct vm;

/**
 * struct share - One of them; half-made it has NULLs at its end
 * @vm:		Whose it is
 * @window:	Of length 0 if files are not mapped
 */
struct share {
	struct vm *vm;
	struct window window;
	struct fs_server *server;
	struct virtio_fs *dev;
	struct virtio_mmio mmio;
};

/** struct shares_stats - Sums over all of them */
struct shares_stats {
	uint64_t served;
	uint64_t n_busy;
	uint64_t n_broken;
	uint64_t n_mapped;
	uint64_t mends;
};

/**
 * shares_fds() - Descriptors that shares may use, of what RLIMIT_NOFILE leaves
 *
 * The limit is raised as far as the user may first, if there are any shares.
 */
unsigned int shares_fds(struct vm *vm);

/**
 * shares_init() - Make the devices; no thread yet
 *
 * Return: 0 or -errno with a sentence; shares_done() cleans up either way
 */
MUST_CHECK int shares_init(struct vm *vm, struct err *e);

/** shares_start() - Make the threads, jailed. Context: after jail_drop() */
MUST_CHECK int shares_start(struct vm *vm, struct err *e);

/**
 * shares_settle() - The machine has ended: leave the counts of quotas behind
 *
 * Nothing that the guest still asks for is answered.  Waits for nothing.
 */
void shares_settle(struct vm *vm);

/** shares_done() - Context: no vCPU runs; waits for requests under way */
void shares_done(struct vm *vm);

/** shares_pause() - Begin no request; vm->run's event_fd tells of the last */
void shares_pause(struct vm *vm);

/** shares_are_paused() - Whether none is under way after shares_pause() */
bool shares_are_paused(struct vm *vm);

/** shares_resume() - Go on */
void shares_resume(struct vm *vm);

/**
 * shares_mend() - Lay zero pages over what windows show past the ends of files
 * @ctx:	struct vm
 *
 * Context: any thread. Return: places that were mended
 */
unsigned int shares_mend(void *ctx);

void shares_stats(struct vm *vm, struct shares_stats *ret);

#endif
