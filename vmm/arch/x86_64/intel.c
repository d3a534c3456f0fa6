/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/arch/x86_64/intel.c - see intel.h
 *
 * From KVM's documentation (Documentation/virt/kvm/api.rst, 4.36 and 4.43);
 * it is not exercised where only AMD can be tried, see docs/testing.md.  A
 * processor without "unrestricted guest" runs real mode, in which the other
 * vCPUs start, as virtual-8086 mode: KVM then needs three pages for a task
 * state segment and one for an identity-mapping page table, below 4 GiB and
 * clear of every memory slot and register.
 */
#include <errno.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>

#include "vmm/arch/x86_64/intel.h"
#include "vmm/arch/x86_64/layout.h"
#include "vmm/kvm/kvm.h"

int intel_prepare(const struct kvm *k, struct err *e)
{
	uint64_t identity = LAYOUT_IDENTITY_MAP;

	if (ioctl(k->vm_fd, KVM_SET_IDENTITY_MAP_ADDR, &identity) < 0)
		return err_set(e, -errno, "KVM_SET_IDENTITY_MAP_ADDR: %s",
			       strerror(errno));
	if (ioctl(k->vm_fd, KVM_SET_TSS_ADDR, (unsigned long)LAYOUT_TSS) < 0)
		return err_set(e, -errno, "KVM_SET_TSS_ADDR: %s",
			       strerror(errno));
	return 0;
}
