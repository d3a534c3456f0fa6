/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/run.c - see run.h
 *
 * To stop a vCPU the loop thread first says what it wants, then sets the
 * vCPU's kick flag, then sends a signal.  A thread that has read the old wish
 * but is not yet in KVM_RUN finds the flag there; one that is inside is taken
 * out by the signal.  KVM_RUN with the flag set also completes an access that
 * was just answered, so a stopped vCPU never holds half an instruction.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "vmm/run.h"

#define KICK_SIGNAL SIGRTMIN
#define STACK_LEN   (256u << 10)

/*
 * A page that cannot be had, though there was nothing to mend: another vCPU may
 * have mended it meanwhile, or its file have grown again.  That does not happen
 * so often in a row.
 */
#define FRUITLESS_MAX 16u

static const struct {
	const char *word;
	int status;
} reasons[] = {
	[RUN_POWEROFF] = { "poweroff", 0 },
	[RUN_RESET] = { "reset", 3 },
	[RUN_PANIC] = { "guest-panic", 4 },
	[RUN_CRASH] = { "guest-crash", 5 },
	[RUN_STOPPED] = { "stopped", 6 },
	[RUN_HOST_ERROR] = { "host-error", 1 },
};

const char *run_reason_word(enum run_reason reason)
{
	return reasons[reason].word;
}

int run_reason_status(enum run_reason reason)
{
	return reasons[reason].status;
}

void run_look(struct run *r)
{
	static const uint64_t one = 1;

	/* Full means that the loop thread has not looked yet, and will. */
	if (write(r->event_fd, &one, sizeof(one)) < 0)
		bug_on(errno != EAGAIN && errno != EINTR);
}

void run_ack(struct run *r)
{
	uint64_t n;

	/* Empty is fine: somebody asked without being told. */
	if (read(r->event_fd, &n, sizeof(n)) < 0)
		bug_on(errno != EAGAIN && errno != EINTR);
}

void run_end(struct run *r, enum run_reason reason, const char *text)
{
	(void)pthread_mutex_lock(&r->lock);
	if (!r->ended) {
		r->ended = true;
		/* What follows a panic is its consequence. */
		r->end.reason = reason != RUN_STOPPED &&
						atomic_load(&r->panicked)
					? RUN_PANIC
					: reason;
		(void)snprintf(r->end.text, sizeof(r->end.text), "%s",
			       text ? text : "");
	}
	(void)pthread_mutex_unlock(&r->lock);
	run_look(r);
}

void run_panic(struct run *r)
{
	atomic_store(&r->panicked, true);
	run_look(r);
}

bool run_get_end(struct run *r, struct run_end *ret)
{
	bool ended;

	(void)pthread_mutex_lock(&r->lock);
	ended = r->ended;
	if (ended)
		*ret = r->end;
	(void)pthread_mutex_unlock(&r->lock);
	return ended;
}

/* Wait, stopped, until there is something else to do. */
static void stop_here(struct run *r)
{
	(void)pthread_mutex_lock(&r->lock);
	r->n_stopped++;
	if (r->n_stopped == r->n)
		run_look(r);
	while (atomic_load(&r->want) == RUN_WANT_PAUSE)
		(void)pthread_cond_wait(&r->changed, &r->lock);
	r->n_stopped--;
	(void)pthread_mutex_unlock(&r->lock);
}

/* Return: 0 to try again, or -EFAULT */
static int mend(struct run *r, unsigned int *fruitless)
{
	if (!r->mend)
		return -EFAULT;
	if (r->mend(r->mend_ctx) > 0) {
		*fruitless = 0;
		return 0;
	}
	return ++*fruitless < FRUITLESS_MAX ? 0 : -EFAULT;
}

/* Return: whether this vCPU may run again. */
static bool serve(struct run *r, struct vcpu *v)
{
	struct err e = { 0 };
	unsigned int fruitless = 0;
	int x;

	do {
		x = vcpu_run(v, &e);
		if (x == -EFAULT)
			x = mend(r, &fruitless);
		else
			fruitless = 0;
	} while (x == 0);
	if (x == -EINTR)
		return true;
	run_end(r, x == -ECANCELED ? RUN_CRASH : RUN_HOST_ERROR, e.msg);
	return false;
}

static void wait_to_quit(struct run *r)
{
	(void)pthread_mutex_lock(&r->lock);
	while (atomic_load(&r->want) != RUN_WANT_QUIT)
		(void)pthread_cond_wait(&r->changed, &r->lock);
	(void)pthread_mutex_unlock(&r->lock);
}

static void vcpu_loop(struct run *r, struct vcpu *v)
{
	bool alive = true, ran = false;

	while (alive) {
		/* In this order: see the head of this file. */
		vcpu_kick_flag(v, 0);
		switch (atomic_load(&r->want)) {
		case RUN_WANT_QUIT:
			return;
		case RUN_WANT_PAUSE:
			stop_here(r);
			if (ran)
				vcpu_was_paused(v);
			break;
		default:
			if (v->id == 0)
				stat_stage_mark(r->stages,
						STAT_STAGE_FIRST_RUN);
			ran = true;
			alive = serve(r, v);
			break;
		}
	}
	wait_to_quit(r);
}

static void *thread_main(void *arg)
{
	struct run_thread *t = arg;
	struct run *r = t->run;
	struct err e = { 0 };
	int x = r->jail ? r->jail(&e) : 0;

	if (x < 0)
		run_end(r, RUN_HOST_ERROR, e.msg);
	(void)pthread_mutex_lock(&r->lock);
	r->n_started++;
	(void)pthread_cond_broadcast(&r->changed);
	(void)pthread_mutex_unlock(&r->lock);
	if (x == 0)
		vcpu_loop(r, t->vcpu);
	return NULL;
}

static void on_kick(int sig)
{
	(void)sig; /* it interrupts a system call, that is all */
}

int run_init(struct run *r, const struct run_config *c, struct err *e)
{
	struct sigaction sa = { .sa_handler = on_kick };

	bug_on(c->n == 0 || c->n > VCPU_MAX);
	memset(r, 0, sizeof(*r));
	r->n = c->n;
	r->stages = c->stages;
	r->jail = c->jail;
	r->mend = c->mend;
	r->mend_ctx = c->mend_ctx;
	atomic_init(&r->want, RUN_WANT_PAUSE);
	for (unsigned int i = 0; i < c->n; i++)
		r->thread[i] =
			(struct run_thread){ .run = r, .vcpu = &c->vcpu[i] };
	/* Neither fails with default attributes. */
	bug_on(pthread_mutex_init(&r->lock, NULL) != 0);
	bug_on(pthread_cond_init(&r->changed, NULL) != 0);
	r->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->event_fd < 0)
		return err_set(e, -errno, "eventfd: %s", strerror(errno));
	if (sigaction(KICK_SIGNAL, &sa, NULL) < 0)
		return err_set(e, -errno, "sigaction: %s", strerror(errno));
	return 0;
}

/* The threads take every signal but the kick as blocked from their maker. */
static int make_threads(struct run *r, const pthread_attr_t *attr)
{
	sigset_t all, old;
	int x = 0;

	(void)sigfillset(&all);
	(void)sigdelset(&all, KICK_SIGNAL);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	while (x == 0 && r->n_made < r->n) {
		struct run_thread *t = &r->thread[r->n_made];

		x = -pthread_create(&t->id, attr, thread_main, t);
		if (x == 0)
			r->n_made++;
	}
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return x;
}

int run_start(struct run *r, struct err *e)
{
	struct run_end end;
	pthread_attr_t attr;
	int x;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK_LEN);
	x = make_threads(r, &attr);
	(void)pthread_attr_destroy(&attr);
	if (x < 0)
		return err_set(e, x, "thread %u: %s", r->n_made, strerror(-x));
	(void)pthread_mutex_lock(&r->lock);
	while (r->n_started < r->n)
		(void)pthread_cond_wait(&r->changed, &r->lock);
	(void)pthread_mutex_unlock(&r->lock);
	if (run_get_end(r, &end))
		return err_set(e, -EPERM, "%s", end.text);
	return 0;
}

static void set_want(struct run *r, enum run_want want)
{
	(void)pthread_mutex_lock(&r->lock);
	atomic_store(&r->want, want);
	(void)pthread_cond_broadcast(&r->changed);
	(void)pthread_mutex_unlock(&r->lock);
	if (want == RUN_WANT_RUN)
		return;
	for (unsigned int i = 0; i < r->n_made; i++) {
		vcpu_kick_flag(r->thread[i].vcpu, 1);
		(void)pthread_kill(r->thread[i].id, KICK_SIGNAL);
	}
}

void run_pause(struct run *r)
{
	set_want(r, RUN_WANT_PAUSE);
}

void run_resume(struct run *r)
{
	set_want(r, RUN_WANT_RUN);
}

bool run_wants_pause(struct run *r)
{
	return atomic_load(&r->want) == RUN_WANT_PAUSE;
}

bool run_is_paused(struct run *r)
{
	bool paused;

	(void)pthread_mutex_lock(&r->lock);
	paused = r->n_stopped == r->n;
	(void)pthread_mutex_unlock(&r->lock);
	return paused;
}

void run_done(struct run *r)
{
	if (r->n_made)
		set_want(r, RUN_WANT_QUIT);
	for (unsigned int i = 0; i < r->n_made; i++)
		(void)pthread_join(r->thread[i].id, NULL);
	r->n_made = 0;
	if (r->event_fd >= 0)
		(void)close(r->event_fd);
	r->event_fd = -1;
}
