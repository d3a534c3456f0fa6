/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/kvm/vcpu.c - see vcpu.h */
#include <errno.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "vmm/core/bus.h"
#include "vmm/kvm/kvm.h"
#include "vmm/kvm/vcpu.h"

int vcpu_init(struct vcpu *v, const struct kvm *k, unsigned int id,
	      struct err *e)
{
	void *run;

	*v = (struct vcpu){ .id = id, .run_size = k->run_size };
	v->fd = ioctl(k->vm_fd, KVM_CREATE_VCPU, (unsigned long)id);
	if (v->fd < 0)
		return err_set(e, -errno, "vCPU %u: %s", id, strerror(errno));
	run = mmap(NULL, v->run_size, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd,
		   0);
	if (run == MAP_FAILED) {
		int r = err_set(e, -errno, "vCPU %u: mmap: %s", id,
				strerror(errno));

		(void)close(take_fd(&v->fd));
		return r;
	}
	v->run = run;
	return 0;
}

void vcpu_done(struct vcpu *v)
{
	if (v->run)
		(void)munmap(v->run, v->run_size);
	if (v->fd >= 0)
		(void)close(v->fd);
	v->run = NULL;
	v->fd = -1;
}

void vcpu_kick_flag(struct vcpu *v, int on)
{
	/*
	 * In one order with the wish (see run.c) on all threads: a thread that
	 * clears the flag late, after it has read the old wish, would undo the
	 * kick that came with the new one.
	 */
	__atomic_store_n(&v->run->immediate_exit, (uint8_t)on,
			 __ATOMIC_SEQ_CST);
}

void vcpu_was_paused(struct vcpu *v)
{
	/* EINVAL: this guest does not use kvm-clock. */
	(void)ioctl(v->fd, KVM_KVMCLOCK_CTRL, 0);
}

static void do_mmio(struct vcpu *v)
{
	struct kvm_run *run = v->run;
	unsigned int len = MIN(run->mmio.len, BUS_ACCESS_MAX);

	if (run->mmio.is_write) {
		stat_exit_add(&v->exits, STAT_EXIT_MMIO_WRITE);
		(void)bus_write(v->mmio, run->mmio.phys_addr, run->mmio.data,
				len);
	} else {
		stat_exit_add(&v->exits, STAT_EXIT_MMIO_READ);
		(void)bus_read(v->mmio, run->mmio.phys_addr, run->mmio.data,
			       len);
	}
}

/* A string instruction brings several units at once; each is an access. */
static void do_io(struct vcpu *v)
{
	struct kvm_run *run = v->run;
	uint8_t *data = (uint8_t *)run + run->io.data_offset;
	unsigned int size = run->io.size;

	stat_exit_add(&v->exits, STAT_EXIT_IO);
	for (uint32_t i = 0; i < run->io.count; i++, data += size) {
		if (run->io.direction == KVM_EXIT_IO_OUT)
			(void)bus_write(v->ports, run->io.port, data, size);
		else
			(void)bus_read(v->ports, run->io.port, data, size);
	}
}

static int crashed(const struct vcpu *v, struct err *e)
{
	const struct kvm_run *run = v->run;

	switch (run->exit_reason) {
	case KVM_EXIT_SHUTDOWN:
		return err_set(e, -ECANCELED, "vCPU %u: triple fault", v->id);
	case KVM_EXIT_FAIL_ENTRY:
		return err_set(e, -ECANCELED,
			       "vCPU %u: the processor refused to enter the "
			       "guest, code %#llx",
			       v->id,
			       (unsigned long long)run->fail_entry
				       .hardware_entry_failure_reason);
	case KVM_EXIT_INTERNAL_ERROR:
		return err_set(e, -ECANCELED,
			       "vCPU %u: KVM internal error, suberror %u",
			       v->id, run->internal.suberror);
	default:
		return err_set(e, -ECANCELED,
			       "vCPU %u: KVM exit %u is not one we know", v->id,
			       run->exit_reason);
	}
}

static int dispatch(struct vcpu *v, struct err *e)
{
	switch (v->run->exit_reason) {
	case KVM_EXIT_MMIO:
		do_mmio(v);
		return 0;
	case KVM_EXIT_IO:
		if (!v->ports)
			return crashed(v, e);
		do_io(v);
		return 0;
	case KVM_EXIT_IOAPIC_EOI:
		/* Every line is edge-triggered: nothing is held until then. */
		stat_exit_add(&v->exits, STAT_EXIT_EOI);
		return 0;
	case KVM_EXIT_HLT:
		stat_exit_add(&v->exits, STAT_EXIT_HLT);
		return 0;
	case KVM_EXIT_INTR:
		stat_exit_add(&v->exits, STAT_EXIT_KICK);
		return -EINTR;
	default:
		stat_exit_add(&v->exits, STAT_EXIT_OTHER);
		return crashed(v, e);
	}
}

int vcpu_run(struct vcpu *v, struct err *e)
{
	int r = ioctl(v->fd, KVM_RUN, 0);

	if (r == 0)
		return dispatch(v, e);
	if (errno == EINTR || errno == EAGAIN) {
		stat_exit_add(&v->exits, STAT_EXIT_KICK);
		return -EINTR;
	}
	stat_exit_add(&v->exits, STAT_EXIT_OTHER);
	if (errno == EFAULT)
		return err_set(e, -EFAULT,
			       "vCPU %u: the host could not provide a page of "
			       "guest memory, or of a file that is mapped into "
			       "it: is it out of memory, or is the file's disk "
			       "full or failing?",
			       v->id);
	return err_set(e, -errno, "vCPU %u: KVM_RUN: %s", v->id,
		       strerror(errno));
}
