/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/report.c - see report.h */
#include <stdio.h>
#include <unistd.h>

#include "common/ctl.h"
#include "vmm/config.h"
#include "vmm/report.h"
#include "vmm/virtio/vsock.h"
#include "vmm/vm.h"

#define KEY_MAX 40

static const char *const pin_names[VM_PIN_SHARE] = {
	[VM_PIN_VMGENID] = "irq_vmgenid",
	[VM_PIN_VSOCK] = "irq_vsock",
};

void report_info(struct vm *vm, struct ctl_out *o)
{
	const char *state = "running";

	if (run_wants_pause(&vm->run))
		state = vm_is_paused(vm) ? "paused" : "pausing";
	ctl_begin(o, "ok");
	ctl_add(o, "version", HUTCH_VERSION);
	ctl_add_u64(o, "pid", (uint64_t)getpid());
	ctl_add(o, "state", state);
	ctl_add_u64(o, "ready", vm->ready);
	ctl_add_u64(o, "panicked", atomic_load(&vm->run.panicked));
	ctl_add_u64(o, "cpus", vm->cfg->cpus);
	ctl_add_u64(o, "memory", gmem_size(&vm->mem));
	ctl_add(o, "kernel", vm->cfg->kernel.path);
}

static void add_exits(struct vm *vm, struct ctl_out *o)
{
	for (int i = 0; i < STAT_EXITS; i++) {
		uint64_t sum = 0;
		char key[KEY_MAX];

		for (unsigned int k = 0; k < vm->n_vcpus; k++)
			sum += stat_exit_get(&vm->vcpu[k].exits, i);
		(void)snprintf(key, sizeof(key), "exit_%s", stat_exit_name(i));
		ctl_add_u64(o, key, sum);
	}
}

static void add_vsock(struct vm *vm, struct ctl_out *o)
{
	struct vsock_stats s = { 0 };

	if (vm->vsock)
		vsock_stats(vm->vsock, &s);
	ctl_add_u64(o, "vsock_tx_bytes", s.tx_bytes);
	ctl_add_u64(o, "vsock_rx_bytes", s.rx_bytes);
	ctl_add_u64(o, "vsock_copied_bytes", s.copied_bytes);
	ctl_add_u64(o, "vsock_conns", s.n_conns);
	ctl_add_u64(o, "vsock_opened", s.opened);
	ctl_add_u64(o, "vsock_refused", s.refused);
	ctl_add_u64(o, "vsock_resets", s.resets);
	ctl_add_u64(o, "vsock_dropped", s.dropped);
	ctl_add_u64(o, "vsock_window_bytes", s.window_bytes);
	ctl_add_u64(o, "vsock_buffered_bytes", s.buffered_bytes);
	ctl_add_u64(o, "stage_virtio_status",
		    atomic_load_explicit(&vm->vsock_mmio.first_status_ns,
					 memory_order_relaxed));
	ctl_add_u64(o, "stage_first_byte", s.first_byte_ns);
}

static void add_shares(struct vm *vm, struct ctl_out *o)
{
	struct shares_stats s;

	shares_stats(vm, &s);
	ctl_add_u64(o, "fs_shares", vm->cfg->n_shares);
	ctl_add_u64(o, "fs_requests", s.served);
	ctl_add_u64(o, "fs_busy", s.n_busy);
	ctl_add_u64(o, "fs_broken", s.n_broken);
	ctl_add_u64(o, "fs_mapped", s.n_mapped);
	ctl_add_u64(o, "fs_mended", s.mends);
}

static void add_nic(struct vm *vm, struct ctl_out *o)
{
	struct virtio_net_stats s;
	unsigned int broken;

	nic_stats(vm, &s, &broken);
	ctl_add_u64(o, "net_up", s.up);
	ctl_add_u64(o, "net_tx_frames", s.tx_frames);
	ctl_add_u64(o, "net_tx_bytes", s.tx_bytes);
	ctl_add_u64(o, "net_tx_bad", s.tx_bad);
	ctl_add_u64(o, "net_rx_frames", s.rx_frames);
	ctl_add_u64(o, "net_rx_bytes", s.rx_bytes);
	ctl_add_u64(o, "net_rx_dropped", s.rx_dropped);
	ctl_add_u64(o, "net_broken", broken);
}

void report_stats(struct vm *vm, struct ctl_out *o)
{
	ctl_begin(o, "ok");
	add_exits(vm, o);
	for (int i = 0; i < VM_PIN_SHARE; i++)
		ctl_add_u64(o, pin_names[i],
			    atomic_load_explicit(&vm->irq[i].raised,
						 memory_order_relaxed));
	for (int i = 0; i < STAT_STAGES; i++) {
		char key[KEY_MAX];

		(void)snprintf(key, sizeof(key), "stage_%s",
			       stat_stage_name(i));
		ctl_add_u64(o, key, stat_stage_ns(vm->stages, i));
	}
	add_vsock(vm, o);
	add_shares(vm, o);
	add_nic(vm, o);
}
