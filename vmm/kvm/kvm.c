/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/kvm/kvm.c - see kvm.h */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>

#include "vmm/core/mem.h"
#include "vmm/kvm/kvm.h"

#define KVM_PATH "/dev/kvm"

struct need {
	unsigned int cap;
	const char *name;
};

static const struct need needs[] = {
	{ KVM_CAP_USER_MEMORY, "user memory" },
	{ KVM_CAP_IRQFD, "irqfd" },
	{ KVM_CAP_IOEVENTFD, "ioeventfd" },
	{ KVM_CAP_IMMEDIATE_EXIT, "immediate exit" },
};

static int open_device(struct err *e)
{
	int fd = open(KVM_PATH, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	switch (errno) {
	case ENOENT:
		return err_set(
			e, -ENODEV,
			"%s is missing: this machine has no KVM; enable "
			"virtualization in its firmware and load kvm_amd "
			"or kvm_intel, or use a machine that has it",
			KVM_PATH);
	case EACCES:
	case EPERM:
		return err_set(
			e, -ENODEV,
			"no permission to open %s: add yourself to group "
			"kvm (sudo usermod -aG kvm \"$USER\") and log in "
			"again",
			KVM_PATH);
	default:
		return err_set(e, -errno, "cannot open %s: %s", KVM_PATH,
			       strerror(errno));
	}
}

static int check_needs(const struct kvm *k, struct err *e)
{
	int v = ioctl(k->sys_fd, KVM_GET_API_VERSION, 0);

	if (v != KVM_API_VERSION)
		return err_set(e, -ENOTSUP, "%s: API version %d, not %d",
			       KVM_PATH, v, KVM_API_VERSION);
	for (size_t i = 0; i < ARRAY_LEN(needs); i++)
		if (!kvm_has(k, needs[i].cap))
			return err_set(e, -ENOTSUP,
				       "%s: the host's kernel is too old, its "
				       "KVM has no %s",
				       KVM_PATH, needs[i].name);
	return 0;
}

static int create_vm(struct kvm *k, struct err *e)
{
	int r;

	r = ioctl(k->sys_fd, KVM_GET_VCPU_MMAP_SIZE, 0);
	if (r < 0)
		return err_set(e, -errno, "%s: vCPU size: %s", KVM_PATH,
			       strerror(errno));
	k->run_size = (size_t)r;
	/* EINTR: the kernel gives up when a signal comes; ask again. */
	do
		k->vm_fd = ioctl(k->sys_fd, KVM_CREATE_VM, 0);
	while (k->vm_fd < 0 && errno == EINTR);
	if (k->vm_fd < 0)
		return err_set(e, -errno, "%s: cannot create a VM: %s",
			       KVM_PATH, strerror(errno));
	return 0;
}

int kvm_open(struct kvm *k, struct err *e)
{
	int r;

	*k = (struct kvm){ .sys_fd = -1, .vm_fd = -1 };
	r = open_device(e);
	if (r < 0)
		return r;
	k->sys_fd = r;
	r = check_needs(k, e);
	if (r == 0)
		r = create_vm(k, e);
	if (r < 0)
		kvm_close(k);
	return r;
}

void kvm_close(struct kvm *k)
{
	if (k->vm_fd >= 0)
		(void)close(k->vm_fd);
	if (k->sys_fd >= 0)
		(void)close(k->sys_fd);
	k->vm_fd = -1;
	k->sys_fd = -1;
}

int kvm_has(const struct kvm *k, unsigned int cap)
{
	int r = ioctl(k->sys_fd, KVM_CHECK_EXTENSION, cap);

	return MAX(r, 0);
}

int kvm_enable(const struct kvm *k, unsigned int cap, uint64_t arg)
{
	struct kvm_enable_cap c = { .cap = cap, .args = { arg } };

	return ioctl(k->vm_fd, KVM_ENABLE_CAP, &c) < 0 ? -errno : 0;
}

static int add_slot(struct kvm *k, uint64_t gpa, void *hva, uint64_t len,
		    uint32_t flags, struct err *e)
{
	struct kvm_userspace_memory_region slot = {
		.slot = k->n_slots,
		.flags = flags,
		.guest_phys_addr = gpa,
		.memory_size = len,
		.userspace_addr = (uintptr_t)hva,
	};

	if (k->n_slots == KVM_SLOTS_MAX)
		return err_set(e, -ENOSPC, "more than %d memory slots",
			       KVM_SLOTS_MAX);
	if (ioctl(k->vm_fd, KVM_SET_USER_MEMORY_REGION, &slot) < 0)
		return err_set(e, -errno, "memory slot at %#llx: %s",
			       (unsigned long long)gpa, strerror(errno));
	k->n_slots++;
	return 0;
}

int kvm_add_slot(struct kvm *k, uint64_t gpa, void *hva, uint64_t len,
		 struct err *e)
{
	return add_slot(k, gpa, hva, len, 0, e);
}

int kvm_add_shown(struct kvm *k, uint64_t gpa, void *hva, uint64_t len,
		  struct err *e)
{
	return add_slot(k, gpa, hva, len, KVM_MEM_READONLY, e);
}

int kvm_add_ram(struct kvm *k, const struct gmem *m, struct err *e)
{
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < m->n; i++)
		r = kvm_add_slot(k, m->region[i].gpa, m->region[i].hva,
				 m->region[i].len, e);
	return r;
}

int kvm_ioeventfd(const struct kvm *k, uint64_t gpa, uint32_t value, int fd,
		  struct err *e)
{
	struct kvm_ioeventfd ev = {
		.datamatch = value,
		.addr = gpa,
		.len = sizeof(value),
		.fd = fd,
		.flags = KVM_IOEVENTFD_FLAG_DATAMATCH,
	};

	if (ioctl(k->vm_fd, KVM_IOEVENTFD, &ev) < 0)
		return err_set(e, -errno, "ioeventfd at %#llx: %s",
			       (unsigned long long)gpa, strerror(errno));
	return 0;
}

int kvm_irqfd(const struct kvm *k, unsigned int gsi, int fd, bool connect)
{
	struct kvm_irqfd ev = {
		.fd = (uint32_t)fd,
		.gsi = gsi,
		.flags = connect ? 0 : KVM_IRQFD_FLAG_DEASSIGN,
	};

	return ioctl(k->vm_fd, KVM_IRQFD, &ev) < 0 ? -errno : 0;
}

int kvm_set_msi_routes(const struct kvm *k, const struct kvm_msi_route *msi,
		       unsigned int n)
{
	union {
		struct kvm_irq_routing head;
		uint8_t space[sizeof(struct kvm_irq_routing) +
			      KVM_MSI_MAX *
				      sizeof(struct kvm_irq_routing_entry)];
	} u = { .head = { .nr = n } };

	bug_on(n > KVM_MSI_MAX);
	for (unsigned int i = 0; i < n; i++) {
		struct kvm_irq_routing_entry *x = &u.head.entries[i];

		x->gsi = msi[i].gsi;
		x->type = KVM_IRQ_ROUTING_MSI;
		x->u.msi.address_lo = (uint32_t)msi[i].addr;
		x->u.msi.address_hi = (uint32_t)(msi[i].addr >> 32);
		x->u.msi.data = msi[i].data;
	}
	return ioctl(k->vm_fd, KVM_SET_GSI_ROUTING, &u) < 0 ? -errno : 0;
}
