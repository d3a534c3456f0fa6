/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/doctor_kvm.c - can this machine run VMs for us? */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "host/cli/doctor.h"

#define KVM_PATH      "/dev/kvm"
#define CPUINFO_MAX   65536
#define KVM_VERSION   12 /* the only one there has ever been since 2.6.22 */
#define CAP_MISSING   4  /* names in one sentence */
#define CAP_NAMES_MAX 256

/**
 * struct cap - What the monitor needs of KVM
 * @min:	Least answer of KVM_CHECK_EXTENSION
 */
struct cap {
	int cap;
	int min;
	const char *name;
};

static const struct cap caps[] = {
	{ KVM_CAP_USER_MEMORY, 1, "user memory" },
	{ KVM_CAP_READONLY_MEM, 1, "read-only memory" },
	{ KVM_CAP_IRQ_ROUTING, 1, "interrupt routing" },
	{ KVM_CAP_IRQFD, 1, "irqfd" },
	{ KVM_CAP_IOEVENTFD, 1, "ioeventfd" },
	{ KVM_CAP_SIGNAL_MSI, 1, "signal MSI" },
	{ KVM_CAP_IMMEDIATE_EXIT, 1, "immediate exit" },
	{ KVM_CAP_MP_STATE, 1, "multiprocessing" },
#if defined(__x86_64__)
	{ KVM_CAP_SPLIT_IRQCHIP, 1, "split irqchip" },
	{ KVM_CAP_TSC_DEADLINE_TIMER, 1, "TSC deadline timer" },
	{ KVM_CAP_KVMCLOCK_CTRL, 1, "kvm-clock control" },
#endif
};

/* Whether the processor itself offers virtual machines to this kernel. */
static bool cpu_has_it(void)
{
#if !defined(__x86_64__)
	return true;
#else
	AUTO_FREE char *text = malloc(CPUINFO_MAX + 1);
	AUTO_FD int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 1;

	if (!text || fd < 0)
		return true;
	while (len < CPUINFO_MAX && n > 0) {
		n = read(fd, text + len, CPUINFO_MAX - len);
		len += n > 0 ? (size_t)n : 0;
	}
	text[len] = '\0';
	return strstr(text, " vmx ") || strstr(text, " svm ");
#endif
}

static void say_absent(struct doctor *d)
{
	if (cpu_has_it())
		doctor_say(d, DOCTOR_LACKS, KVM_PATH,
			   "load the module, as root: modprobe kvm-amd, or "
			   "modprobe kvm-intel",
			   "is not there, though the processor can do it");
	else
		doctor_say(d, DOCTOR_LACKS, KVM_PATH,
			   "switch virtualization (AMD-V, VT-x) on in the "
			   "firmware; in a cloud or a virtual machine, choose "
			   "one with nested virtualization. To try hutch "
			   "without: scripts/try uses an emulated machine",
			   "is not there, and the processor offers none");
}

static void say_refused(struct doctor *d, int err)
{
	struct stat st = { 0 };

	if (err != EACCES) {
		doctor_say(d, DOCTOR_LACKS, KVM_PATH,
			   "see the kernel's messages: dmesg | grep -i kvm",
			   "cannot be opened: %s", strerror(err));
		return;
	}
	(void)stat(KVM_PATH, &st);
	if ((st.st_mode & 060) == 060)
		doctor_say(d, DOCTOR_LACKS, KVM_PATH,
			   "join its group and log in again: sudo usermod -aG "
			   "kvm \"$USER\"",
			   "is not yours to open");
	else
		doctor_say(d, DOCTOR_LACKS, KVM_PATH,
			   "let its group open it: sudo chgrp kvm /dev/kvm; "
			   "sudo chmod 660 /dev/kvm",
			   "can be opened by root alone");
}

static void check_caps(struct doctor *d, int kvm, int vm)
{
	char names[CAP_NAMES_MAX] = "";
	unsigned int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(caps); i++) {
		int r = ioctl(vm, KVM_CHECK_EXTENSION, caps[i].cap);
		size_t len = strlen(names);

		if (r >= caps[i].min || n++ >= CAP_MISSING)
			continue;
		(void)snprintf(names + len, sizeof(names) - len, "%s%s",
			       len ? ", " : "", caps[i].name);
	}
	if (n > 0)
		doctor_say(d, DOCTOR_LACKS, "KVM features",
			   "use a newer kernel: Linux 5.10 or later",
			   "%u missing: %s%s", n, names,
			   n > CAP_MISSING ? ", ..." : "");
	else
		doctor_say(d, DOCTOR_OK, "KVM features", NULL,
			   "all %zu are there, up to %d CPUs a VM",
			   ARRAY_LEN(caps),
			   ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_MAX_VCPUS));
}

static void check_vm(struct doctor *d, int kvm)
{
	AUTO_FD int vm = ioctl(kvm, KVM_CREATE_VM, 0);

	if (vm < 0) {
		doctor_say(d, DOCTOR_LACKS, "virtual machine",
			   errno == EBUSY
				   ? "another hypervisor (VirtualBox?) holds "
				     "the processor: stop it"
				   : "see the kernel's messages: dmesg | grep "
				     "-i kvm",
			   "KVM makes none: %s", strerror(errno));
		return;
	}
	doctor_say(d, DOCTOR_OK, "virtual machine", NULL, "KVM makes one");
	check_caps(d, kvm, vm);
}

void doctor_kvm(struct doctor *d)
{
	AUTO_FD int kvm = open(KVM_PATH, O_RDWR | O_CLOEXEC);
	int err = errno, version;

	if (kvm < 0) {
		if (err == ENOENT || err == ENODEV || err == ENXIO)
			say_absent(d);
		else
			say_refused(d, err);
		return;
	}
	version = ioctl(kvm, KVM_GET_API_VERSION, 0);
	if (version != KVM_VERSION) {
		doctor_say(d, DOCTOR_LACKS, KVM_PATH,
			   "use the KVM of Linux itself",
			   "speaks version %d, not %d", version, KVM_VERSION);
		return;
	}
	if (!cpu_has_it()) {
		doctor_say(d, DOCTOR_LACKS, KVM_PATH,
			   "use a machine whose processor has AMD-V or VT-x; "
			   "to try hutch without, scripts/try uses an "
			   "emulated one",
			   "does without the processor's help (PVM?): an "
			   "ordinary kernel crashes in it");
		return;
	}
	doctor_say(d, DOCTOR_OK, KVM_PATH, NULL, "can be opened, version %d",
		   version);
	check_vm(d, kvm);
}
