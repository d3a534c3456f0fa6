/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/vm.c - building a VM, and taking it apart
 *
 * In order, in one place: what can fail for the user's doing comes first and
 * needs no KVM; then the machine; then its devices.
 */
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "vmm/config.h"
#include "vmm/ctl.h"
#include "vmm/devices.h"
#include "vmm/initramfs.h"
#include "vmm/jail/jail.h"
#include "vmm/vm.h"

void vm_add_device(struct vm *vm, const struct fdt_device *d)
{
	bug_on(vm->n_dev == VM_DEVICES_MAX);
	vm->dev[vm->n_dev++] = *d;
}

/* The kernel and the memory it goes into. */
static int load_kernel(struct vm *vm, struct err *e)
{
	struct config *cfg = vm->cfg;
	const char *cmdline = cfg->cmdline;
	struct gmem_range range[GMEM_REGIONS_MAX];
	unsigned int n = arch_ram_ranges(cfg->memory, range);
	int r;

	if (!cmdline)
		cmdline = arch_default_cmdline(cfg->agent.fd >= 0);
	r = arch_set_kernel(vm->arch, cfg->kernel.fd, cmdline, e);
	if (r < 0)
		return err_wrap(e, r, "kernel '%s'", cfg->kernel.path);
	r = gmem_init(&vm->mem, range, n, e);
	if (r < 0)
		return r;
	r = arch_load_kernel(vm->arch, &vm->mem, e);
	if (r < 0)
		return err_wrap(e, r, "kernel '%s'", cfg->kernel.path);
	return 0;
}

static int load_initramfs(struct vm *vm, struct arch_initrd *at, struct err *e)
{
	const struct initramfs files = { .initrd_fd = vm->cfg->initrd.fd,
					 .agent_fd = vm->cfg->agent.fd,
					 .boot_fd = vm->cfg->boot.fd };
	uint64_t len = 0;
	int r = initramfs_len(&files, &len, e);

	*at = (struct arch_initrd){ 0 };
	if (r < 0 || len == 0)
		return r;
	r = arch_place_initrd(vm->arch, &vm->mem, len, at, e);
	return r < 0 ? r : initramfs_load(&files, &vm->mem, at->gpa, e);
}

static int make_vcpus(struct vm *vm, struct err *e)
{
	while (vm->n_vcpus < vm->cfg->cpus) {
		struct vcpu *v = &vm->vcpu[vm->n_vcpus];
		int r = vcpu_init(v, &vm->kvm, vm->n_vcpus, e);

		if (r < 0)
			return r;
		vm->n_vcpus++;
		v->mmio = &vm->mmio;
		v->ports = &vm->ports;
		r = arch_vcpu_init(vm->arch, v, e);
		if (r < 0)
			return r;
	}
	return 0;
}

void vm_pause(struct vm *vm)
{
	run_pause(&vm->run);
	shares_pause(vm);
	nic_pause(vm);
}

bool vm_is_paused(struct vm *vm)
{
	return run_wants_pause(&vm->run) && run_is_paused(&vm->run) &&
	       shares_are_paused(vm) && nic_is_paused(vm);
}

void vm_resume(struct vm *vm)
{
	nic_resume(vm);
	shares_resume(vm);
	run_resume(&vm->run);
}

static int jail_vcpu(struct err *e)
{
	return jail_enter(JAIL_VCPU, e);
}

static int build_machine(struct vm *vm, struct err *e)
{
	const struct run_config rc = { .vcpu = vm->vcpu,
				       .n = vm->cfg->cpus,
				       .stages = vm->stages,
				       .jail = jail_vcpu,
				       .mend = shares_mend,
				       .mend_ctx = vm };
	int r = kvm_open(&vm->kvm, e);

	if (r == 0)
		r = kvm_add_ram(&vm->kvm, &vm->mem, e);
	if (r == 0)
		r = arch_attach(vm->arch, &vm->kvm, &vm->mmio, e);
	if (r == 0)
		r = run_init(&vm->run, &rc, e);
	if (r == 0)
		r = devices_init(vm, e);
	return r == 0 ? make_vcpus(vm, e) : r;
}

static int build(struct vm *vm, struct err *e)
{
	const struct arch_config ac = {
		.n_cpus = vm->cfg->cpus,
		.n_pins = VM_PIN_SHARE + vm->cfg->n_shares +
			  (vm->cfg->net.kind != NET_NONE),
	};
	struct arch_initrd initrd;
	int r = loop_init(&vm->loop, e);

	if (r == 0)
		r = arch_new(&vm->arch, &ac, e);
	if (r == 0)
		r = load_kernel(vm, e);
	if (r == 0)
		r = load_initramfs(vm, &initrd, e);
	if (r == 0)
		r = build_machine(vm, e);
	if (r == 0)
		r = arch_boot(vm->arch, &vm->mem, &initrd, vm->dev, vm->n_dev,
			      e);
	if (r == 0)
		r = arch_boot_vcpu(vm->arch, &vm->vcpu[0], e);
	return r == 0 ? ctl_new(&vm->ctl, vm, e) : r;
}

int vm_new(struct vm **ret, struct config *cfg, const struct log *log,
	   struct stat_stages *stages, struct err *e)
{
	struct vm *vm = calloc(1, sizeof(*vm));
	int r;

	if (!vm)
		return err_set(e, -ENOMEM, "no memory for the VM");
	vm->cfg = cfg;
	vm->log = log;
	vm->stages = stages;
	vm->loop.epfd = -1;
	vm->mem.fd = -1;
	vm->kvm = (struct kvm){ .sys_fd = -1, .vm_fd = -1 };
	vm->run.event_fd = -1;
	vm->signal_fd = -1;
	for (unsigned int i = 0; i < VM_PINS; i++)
		vm->irq[i].fd = -1;
	r = build(vm, e);
	if (r < 0) {
		vm_free(vm);
		return r;
	}
	*ret = vm;
	return 0;
}

void vm_free(struct vm *vm)
{
	if (!vm)
		return;
	run_done(&vm->run);
	ctl_free(vm->ctl);
	devices_done(vm);
	while (vm->n_vcpus > 0)
		vcpu_done(&vm->vcpu[--vm->n_vcpus]);
	kvm_close(&vm->kvm);
	arch_free(vm->arch);
	gmem_done(&vm->mem);
	loop_done(&vm->loop);
	if (vm->signal_fd >= 0)
		(void)close(vm->signal_fd);
	free(vm);
}
