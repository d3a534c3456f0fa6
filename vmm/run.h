/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/run.h - the vCPUs' threads, and how a VM ends
 *
 * Threads are made stopped; run_resume() lets them enter the guest.  Whoever
 * learns first why the VM must end says so with run_end(); the loop thread is
 * told through an eventfd and does the rest.
 */
#ifndef HUTCH_VMM_RUN_H
#define HUTCH_VMM_RUN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/err.h"
#include "vmm/kvm/vcpu.h"

/** enum run_reason - Why a VM ended; each has a word and an exit status */
enum run_reason {
	RUN_POWEROFF,
	RUN_RESET,
	RUN_PANIC,
	RUN_CRASH,
	RUN_STOPPED,
	RUN_HOST_ERROR,
};

/** struct run_end - The verdict; @text is empty where the word says it all */
struct run_end {
	enum run_reason reason;
	char text[ERR_MSG_MAX];
};

/** run_reason_word() - "poweroff", "guest-crash": as control sockets say it */
const char *run_reason_word(enum run_reason reason);

/** run_reason_status() - The monitor's exit status */
int run_reason_status(enum run_reason reason);

enum run_want {
	RUN_WANT_PAUSE,
	RUN_WANT_RUN,
	RUN_WANT_QUIT
};

struct run;

/** struct run_thread - What one thread starts from */
struct run_thread {
	struct run *run;
	struct vcpu *vcpu;
	pthread_t id;
};

/**
 * struct run - All vCPU threads of a VM
 * @event_fd:	Readable when the loop thread must look: ended, panicked,
 *		or all stopped
 * @jail:	Called by each thread before its first KVM_RUN. Return: -errno
 * @mend:	See struct run_config
 * @mend_ctx:	For it
 * @want:	What the threads are to do; written by the loop thread
 * @panicked:	The guest's kernel said that it panicked
 * @lock:	Guards what follows
 * @changed:	Signalled when @want or @n_stopped changes
 * @n_stopped:	Threads that wait for RUN_WANT_RUN or have quit
 * @n_started:	Threads past @jail
 * @ended:	@end is valid and final
 */
struct run {
	unsigned int n;
	unsigned int n_made;
	struct run_thread thread[VCPU_MAX];
	struct stat_stages *stages;
	int event_fd;
	int (*jail)(struct err *e);
	unsigned int (*mend)(void *ctx);
	void *mend_ctx;
	atomic_int want;
	atomic_bool panicked;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int n_stopped;
	unsigned int n_started;
	bool ended;
	struct run_end end;
};

/**
 * struct run_config - What run_init() needs; all borrowed
 * @mend:	A page of guest memory could not be had: see to it that it can.
 *		Which one is not known. Return: places that were mended.
 *		Context: a vCPU's thread, several at once
 * @mend_ctx:	For it
 */
struct run_config {
	struct vcpu *vcpu;
	unsigned int n;
	struct stat_stages *stages;
	int (*jail)(struct err *e);
	unsigned int (*mend)(void *ctx);
	void *mend_ctx;
};

/** run_init() - No thread yet. Return: 0 or -errno with a sentence */
MUST_CHECK int run_init(struct run *r, const struct run_config *c,
			struct err *e);

/** run_start() - Make the threads, stopped; returns when all are jailed */
MUST_CHECK int run_start(struct run *r, struct err *e);

/** run_done() - Have the threads quit and join them; takes a half-made one */
void run_done(struct run *r);

/**
 * run_end() - The VM is over: @reason, unless somebody was first
 * @text:	More to say, or NULL
 *
 * Context: any thread.
 */
void run_end(struct run *r, enum run_reason reason, const char *text);

/** run_panic() - The guest's kernel says that it panicked. Any thread */
void run_panic(struct run *r);

/** run_get_end() - Whether the VM is over, and why. Any thread */
bool run_get_end(struct run *r, struct run_end *ret);

/** run_pause() - Take all vCPUs out; @event_fd tells when. Loop thread */
void run_pause(struct run *r);

/** run_is_paused() - Whether every vCPU has stopped. Loop thread */
bool run_is_paused(struct run *r);

/** run_resume() - Let the vCPUs enter the guest. Loop thread */
void run_resume(struct run *r);

/** run_wants_pause() - Whether a pause was asked for and not taken back */
bool run_wants_pause(struct run *r);

/** run_look() - Make @event_fd readable. Any thread */
void run_look(struct run *r);

/** run_ack() - Empty @event_fd */
void run_ack(struct run *r);

#endif
