/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/devices.c - see devices.h */

#include "common/wire.h"
#include "vmm/config.h"
#include "vmm/connector.h"
#include "vmm/ctl.h"
#include "vmm/devices.h"
#include "vmm/shares.h"
#include "vmm/virtio/vsock.h"
#include "vmm/vm.h"

static int add_mmio(struct vm *vm, const struct fdt_device *d,
		    const struct bus_ops *ops, void *ctx, struct err *e)
{
	const struct bus_range r = { d->base, d->len, ops, ctx };

	vm_add_device(vm, d);
	return bus_add(&vm->mmio, &r, e);
}

static int connect_pin(struct vm *vm, unsigned int pin, struct err *e)
{
	int r = irq_init(&vm->irq[pin], e);

	return r < 0 ? r : arch_connect_pin(vm->arch, pin, vm->irq[pin].fd, e);
}

static int init_console(struct vm *vm, struct err *e)
{
	const struct fdt_device d = { .kind = FDT_SERIAL,
				      .base = ARCH_MMIO_SERIAL,
				      .len = SERIAL_LEN,
				      .pin = FDT_NO_PIN };
	int r = console_init(&vm->console, vm->cfg->console_stdout,
			     vm->cfg->console.fd, e);

	if (r < 0)
		return r;
	serial_init(&vm->serial, console_out, &vm->console);
	return add_mmio(vm, &d, &serial_ops, &vm->serial, e);
}

/* Outside of RAM, in a slot of its own: the driver wants it so. */
static int init_vmgenid(struct vm *vm, struct err *e)
{
	const struct fdt_device d = { .kind = FDT_VMGENID,
				      .base = ARCH_MMIO_VMGENID,
				      .len = MACHINE_VMGENID_LEN,
				      .pin = VM_PIN_VMGENID };
	int r = machine_vmgenid_init(&vm->vmgenid, e);

	if (r == 0)
		r = kvm_add_slot(&vm->kvm, ARCH_MMIO_VMGENID, vm->vmgenid.page,
				 vm->vmgenid.len, e);
	if (r == 0)
		r = connect_pin(vm, VM_PIN_VMGENID, e);
	if (r == 0)
		vm_add_device(vm, &d);
	return r;
}

static int init_small(struct vm *vm, struct err *e)
{
	const struct fdt_device power = { .kind = FDT_POWEROFF,
					  .base = ARCH_MMIO_POWER,
					  .len = MACHINE_POWER_LEN,
					  .pin = FDT_NO_PIN };
	const struct fdt_device panic = { .kind = FDT_PVPANIC,
					  .base = ARCH_MMIO_PANIC,
					  .len = MACHINE_PANIC_LEN,
					  .pin = FDT_NO_PIN };
	int r = add_mmio(vm, &power, &machine_power_ops, &vm->run, e);

	if (r == 0)
		r = add_mmio(vm, &panic, &machine_panic_ops, &vm->run, e);
	if (r == 0)
		r = arch_add_reset(&vm->ports, &machine_reset_ops, &vm->run, e);
	return r;
}

static void on_ready(struct loop_defer *d)
{
	struct vm *vm = container_of(d, struct vm, ready_defer);

	ctl_on_ready(vm->ctl);
}

/* The device's lock is held: who waits is told at the end of the batch. */
static void on_bell(void *ctx)
{
	struct vm *vm = ctx;

	vm->ready = true;
	stat_stage_mark(vm->stages, STAT_STAGE_BELL);
	loop_defer(&vm->loop, &vm->ready_defer, on_ready);
}

/* Who named a path and no connector gets one of ours. */
static int open_vsock(struct vm *vm, struct vsock_config *vc, struct err *e)
{
	struct config *cfg = vm->cfg;

	if (cfg->vsock.path && cfg->connector_fd < 0) {
		int r = connector_start(cfg->vsock.path, e);

		if (r < 0)
			return r;
		cfg->connector_fd = r;
	}
	vc->listen_fd = take_fd(&cfg->vsock.fd);
	vc->connector_fd = take_fd(&cfg->connector_fd);
	return 0;
}

static int connect_kicks(struct vm *vm, const struct virtio_mmio *m,
			 uint64_t base, struct err *e)
{
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < m->vd->ops->n_queues; i++)
		r = kvm_ioeventfd(&vm->kvm, base + VIRTIO_MMIO_NOTIFY, i,
				  virtio_mmio_notify_fd(m, i), e);
	return r;
}

int devices_add_virtio(struct vm *vm, struct virtio_mmio *m,
		       struct virtio_dev *vd, unsigned int pin, struct err *e)
{
	const uint64_t at = pin - VM_PIN_VSOCK;
	const struct fdt_device d = { .kind = FDT_VIRTIO,
				      .base = ARCH_MMIO_VIRTIO +
					      at * ARCH_MMIO_STRIDE,
				      .len = VIRTIO_MMIO_LEN,
				      .pin = (int)pin };
	int r = connect_pin(vm, pin, e);

	if (r == 0)
		r = virtio_mmio_init(m, vd, &vm->mem, &vm->irq[pin], e);
	if (r == 0)
		r = add_mmio(vm, &d, &virtio_mmio_bus_ops, m, e);
	if (r == 0)
		r = connect_kicks(vm, m, d.base, e);
	return r == 0 ? virtio_mmio_start(m, &vm->loop, e) : r;
}

int devices_show_virtio(struct vm *vm, struct virtio_mmio *m, unsigned int pin,
			struct err *e)
{
	const uint64_t base = ARCH_MMIO_VIRTIO +
			      (uint64_t)(pin - VM_PIN_VSOCK) * ARCH_MMIO_STRIDE;
	int r = virtio_mmio_show(m, e);

	if (r == 0)
		r = kvm_add_shown(&vm->kvm, base, m->page, VIRTIO_MMIO_LEN, e);
	if (r == 0)
		r = kvm_ioeventfd(&vm->kvm, base + VIRTIO_MMIO_ACK,
				  VIRTIO_MMIO_USED, m->ack_fd, e);
	return r;
}

static int init_vsock(struct vm *vm, struct err *e)
{
	struct vsock_config vc = { .loop = &vm->loop,
				   .fds_taken = shares_fds(vm) + nic_fds(vm),
				   .hold_port = WIRE_PORT_AGENT,
				   .bell_port = WIRE_PORT_BELL,
				   .bell = on_bell,
				   .ctx = vm };
	int r = open_vsock(vm, &vc, e);

	if (r == 0)
		r = vsock_new(&vc, &vm->vsock, e);
	return r == 0 ? devices_add_virtio(vm, &vm->vsock_mmio,
					   vsock_dev(vm->vsock), VM_PIN_VSOCK,
					   e)
		      : r;
}

int devices_init(struct vm *vm, struct err *e)
{
	int r = init_console(vm, e);

	if (r == 0)
		r = init_small(vm, e);
	if (r == 0)
		r = init_vmgenid(vm, e);
	if (r == 0 && vm->cfg->vsock.fd >= 0)
		r = init_vsock(vm, e);
	if (r == 0)
		r = shares_init(vm, e);
	return r == 0 ? nic_init(vm, e) : r;
}

void devices_done(struct vm *vm)
{
	nic_done(vm);
	shares_done(vm);
	if (vm->vsock_mmio.vd)
		virtio_mmio_done(&vm->vsock_mmio);
	vsock_free(vm->vsock);
	machine_vmgenid_done(&vm->vmgenid);
	if (vm->serial.out)
		serial_done(&vm->serial);
	console_done(&vm->console);
	for (unsigned int i = 0; i < VM_PINS; i++)
		irq_done(&vm->irq[i]);
}
