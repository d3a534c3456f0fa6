/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/vm_run.c - the life of a VM: what its loop thread waits for */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "common/log.h"
#include "vmm/config.h"
#include "vmm/ctl.h"
#include "vmm/jail/jail.h"
#include "vmm/virtio/vsock.h"
#include "vmm/vm.h"

/* A panicking kernel prints its last lines after it has told us. */
#define PANIC_GRACE_NS 2000000000ull

/* A reader who does not take a guest's last bytes has this long. */
#define LINGER_NS 2000000000ull
#define NS_PER_MS 1000000ull

static void on_panic_over(struct loop_timer *t)
{
	struct vm *vm = container_of(t, struct vm, panic_timer);

	run_end(&vm->run, RUN_PANIC, NULL);
}

static void on_event(struct loop_io *io,
		     uint32_t events __attribute__((unused)))
{
	struct vm *vm = container_of(io, struct vm, event_io);
	struct run_end end;

	run_ack(&vm->run);
	if (run_get_end(&vm->run, &end)) {
		loop_stop(&vm->loop);
		return;
	}
	if (atomic_load(&vm->run.panicked) && !vm->panic_seen) {
		vm->panic_seen = true;
		log_info(vm->log, "the guest's kernel panicked");
		loop_timer_set(&vm->loop, &vm->panic_timer, PANIC_GRACE_NS,
			       on_panic_over);
	}
	if (vm_is_paused(vm))
		ctl_on_paused(vm->ctl);
}

/* Nothing is ever written to it: readable means that the other end is gone. */
static void on_lifeline(struct loop_io *io,
			uint32_t events __attribute__((unused)))
{
	struct vm *vm = container_of(io, struct vm, lifeline_io);

	loop_del(io);
	run_end(&vm->run, RUN_STOPPED, "the lifeline was cut");
}

static void on_signal(struct loop_io *io,
		      uint32_t events __attribute__((unused)))
{
	struct vm *vm = container_of(io, struct vm, signal_io);
	struct signalfd_siginfo si;

	if (read(io->fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
		run_end(&vm->run, RUN_STOPPED, "by a signal");
}

static int watch_signals(struct vm *vm, struct err *e)
{
	sigset_t set;
	int r;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	vm->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (vm->signal_fd < 0)
		return err_set(e, -errno, "signalfd: %s", strerror(errno));
	r = loop_add(&vm->loop, &vm->signal_io, vm->signal_fd, EPOLLIN,
		     on_signal);
	return r < 0 ? err_set(e, r, "signals: %s", strerror(-r)) : 0;
}

static int watch(struct vm *vm, struct err *e)
{
	int r = loop_add(&vm->loop, &vm->event_io, vm->run.event_fd, EPOLLIN,
			 on_event);

	if (r < 0)
		return err_set(e, r, "events: %s", strerror(-r));
	if (vm->cfg->lifeline_fd >= 0) {
		r = loop_add(&vm->loop, &vm->lifeline_io, vm->cfg->lifeline_fd,
			     EPOLLIN, on_lifeline);
		if (r < 0)
			return err_set(e, r, "--lifeline: fd=%d: %s",
				       vm->cfg->lifeline_fd, strerror(-r));
	}
	return watch_signals(vm, e);
}

/*
 * Bytes that the guest sent before it ended may be in its queue, or wait for a
 * reader who is slower than it was.  They are his, not ours to lose.
 */
static void linger(struct vm *vm)
{
	uint64_t now = loop_now_ns(), end = now + LINGER_NS;

	while (now < end && vsock_drain(vm->vsock)) {
		int ms = (int)((end - now) / NS_PER_MS) + 1;

		if (loop_step(&vm->loop, ms) < 0)
			return;
		now = loop_now_ns();
	}
}

int vm_run(struct vm *vm, struct run_end *ret, struct err *e)
{
	int r = watch(vm, e);

	if (r == 0)
		r = jail_drop(e);
	if (r == 0)
		r = run_start(&vm->run, e);
	if (r == 0)
		r = shares_start(vm, e);
	if (r == 0)
		r = nic_start(vm, e);
	if (r == 0)
		r = jail_enter(JAIL_LOOP, e);
	if (r < 0)
		return r;
	run_resume(&vm->run);
	r = loop_run(&vm->loop);
	if (r < 0)
		run_end(&vm->run, RUN_HOST_ERROR, strerror(-r));
	bug_on(!run_get_end(&vm->run, ret));
	/* Who said "stop" wants it to stop. */
	if (vm->vsock && ret->reason != RUN_STOPPED)
		linger(vm);
	shares_settle(vm);
	ctl_on_end(vm->ctl, ret);
	return 0;
}
