/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/arch/x86_64/arch.c - the x86 machine, as arch.h asks for it */
#include <errno.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/stat.h>

#include "vmm/arch/arch.h"
#include "vmm/arch/x86_64/cpuid.h"
#include "vmm/arch/x86_64/intel.h"
#include "vmm/arch/x86_64/ioapic.h"
#include "vmm/arch/x86_64/kimage.h"
#include "vmm/arch/x86_64/layout.h"
#include "vmm/arch/x86_64/params.h"
#include "vmm/arch/x86_64/regs.h"
#include "vmm/kvm/kvm.h"
#include "vmm/kvm/vcpu.h"

#define WARM_LOW       (1ull << 20)
#define WARM_BUDDY     (8ull << 20)
#define WARM_BUDDY_LEN (4ull << 20)
#define WARM_TOP       (4ull << 20)
#define WARM_SEG_MAX   (32ull << 20)

_Static_assert(ARCH_PINS_MAX <= IOAPIC_PINS_MAX, "pins");
_Static_assert(IOAPIC_PINS_MAX <= KVM_MSI_MAX, "routes");

/**
 * struct arch - State of the x86 machine
 * @kvm:	Borrowed, as are @kernel_fd and @cmdline
 * @route:	The routes KVM has, @n_routes of them; the I/O APIC's lock
 * @pin_fd:	eventfd of each pin's device, -1 for none; set at start-up
 */
struct arch {
	const struct kvm *kvm;
	struct arch_config cfg;
	struct cpuid cpuid;
	struct ioapic ioapic;
	struct kvm_msi_route route[IOAPIC_PINS_MAX];
	unsigned int n_routes;
	int pin_fd[IOAPIC_PINS_MAX];
	struct kimage kernel;
	int kernel_fd;
	const char *cmdline;
};

/*
 * Each character on the console costs exits, so only what is worse than an
 * error is shown at boot.  The console is named by its address: "ttyS0" would
 * first be the port at 0x3f8, which is not there, and lose lines.  It comes
 * after the level, so that the level counts for the first lines too.
 */
#define CMDLINE \
	"loglevel=3 console=uart8250,mmio,0xd0000000 reboot=k panic=-1 pci=off"

/*
 * The last console is the one behind /dev/console, which Linux opens for
 * /init; it then polls a serial line that has no interrupt for as long as the
 * guest lives.  The agent wants no console, so it gets the one that is nothing.
 */
const char *arch_default_cmdline(bool agent)
{
	return agent ? CMDLINE " console=ttynull" : CMDLINE;
}
_Static_assert(ARCH_MMIO_SERIAL == 0xd0000000ull, "the console's address");

unsigned int arch_ram_ranges(uint64_t size, struct gmem_range *range)
{
	range[0] = (struct gmem_range){ 0, MIN(size, LAYOUT_HOLE) };
	if (size <= LAYOUT_HOLE)
		return 1;
	range[1] = (struct gmem_range){ LAYOUT_HOLE_END, size - LAYOUT_HOLE };
	return 2;
}

static uint64_t region_end(const struct gmem_region *r)
{
	return r->gpa + r->len;
}

int arch_place_window(struct arch *a, const struct gmem *m, uint64_t len,
		      uint64_t *ret, struct err *e)
{
	uint64_t limit = 1ull << cpuid_address_bits(&a->cpuid);
	uint64_t at = MAX(region_end(&m->region[m->n - 1]), LAYOUT_HOLE_END);

	at = (at + LAYOUT_WINDOW_STEP - 1) & ~(LAYOUT_WINDOW_STEP - 1);
	if (m->n_windows)
		at = region_end(&m->window[m->n_windows - 1]);
	if (at > limit || len > limit - at)
		return err_set(e, -E2BIG,
			       "a window of %llu MiB above the guest's memory "
			       "is beyond the addresses of this processor",
			       (unsigned long long)len >> 20);
	cpuid_no_async_faults(&a->cpuid);
	*ret = at;
	return 0;
}

static int op_route(void *ctx, unsigned int pin, uint64_t addr, uint32_t data)
{
	struct arch *a = ctx;
	unsigned int i = 0;

	while (i < a->n_routes && a->route[i].gsi != pin)
		i++;
	a->route[i] = (struct kvm_msi_route){ addr, data, pin };
	a->n_routes = MAX(a->n_routes, i + 1);
	return kvm_set_msi_routes(a->kvm, a->route, a->n_routes);
}

static int op_connect(void *ctx, unsigned int pin, bool on)
{
	struct arch *a = ctx;

	if (a->pin_fd[pin] < 0)
		return 0;
	return kvm_irqfd(a->kvm, pin, a->pin_fd[pin], on);
}

static const struct ioapic_ops pin_ops = { .route = op_route,
					   .connect = op_connect };

int arch_new(struct arch **ret, const struct arch_config *c, struct err *e)
{
	struct arch *a = calloc(1, sizeof(*a));

	if (!a)
		return err_set(e, -ENOMEM, "no memory for the machine");
	a->cfg = *c;
	a->kernel_fd = -1;
	for (unsigned int i = 0; i < IOAPIC_PINS_MAX; i++)
		a->pin_fd[i] = -1;
	ioapic_init(&a->ioapic, c->n_pins, &pin_ops, a);
	*ret = a;
	return 0;
}

void arch_free(struct arch *a)
{
	if (!a)
		return;
	ioapic_done(&a->ioapic);
	cpuid_done(&a->cpuid);
	free(a);
}

int arch_connect_pin(struct arch *a, unsigned int pin, int fd, struct err *e)
{
	if (pin >= a->cfg.n_pins || a->pin_fd[pin] >= 0)
		return err_set(e, -EINVAL, "interrupt pin %u is not free", pin);
	a->pin_fd[pin] = fd;
	return 0;
}

int arch_vcpu_init(struct arch *a, struct vcpu *v, struct err *e)
{
	int r = cpuid_set(&a->cpuid, v, a->cfg.n_cpus, e);

	return r < 0 ? r : regs_set_msrs(v, e);
}

int arch_set_kernel(struct arch *a, int fd, const char *cmdline, struct err *e)
{
	uint8_t head[KIMAGE_HEAD_LEN];
	struct stat st;
	ssize_t n;
	int r;

	if (fstat(fd, &st) < 0)
		return err_set(e, -errno, "fstat: %s", strerror(errno));
	n = pread(fd, head, sizeof(head), 0);
	if (n < 0)
		return err_set(e, -errno, "read: %s", strerror(errno));
	r = kimage_parse(head, (size_t)n, (uint64_t)st.st_size, &a->kernel, e);
	if (r < 0)
		return r;
	if (strlen(cmdline) > a->kernel.cmdline_max)
		return err_set(e, -E2BIG,
			       "--cmdline: this kernel takes %u bytes, not %zu",
			       a->kernel.cmdline_max, strlen(cmdline));
	a->kernel_fd = fd;
	a->cmdline = cmdline;
	return 0;
}

/*
 * What Linux touches at every boot, measured with 6.12: itself; the first and
 * the ninth to twelfth MiB; and, from the top of RAM down, a page table entry
 * of its own (64 bytes) for every page and 4 MiB of early allocations.
 */
static void warm(const struct kimage *k, const struct gmem *m)
{
	const struct gmem_region *last = &m->region[m->n - 1];
	uint64_t top = gmem_size(m) / 64 + WARM_TOP;

	for (unsigned int i = 0; i < k->n_seg; i++)
		gmem_warm(m, k->seg[i].gpa,
			  MIN(k->seg[i].mem_len, WARM_SEG_MAX));
	gmem_warm(m, 0, WARM_LOW);
	gmem_warm(m, WARM_BUDDY, WARM_BUDDY_LEN);
	top = MIN(top, last->len / 4);
	gmem_warm(m, last->gpa + last->len - top, top);
}

int arch_load_kernel(struct arch *a, const struct gmem *m, struct err *e)
{
	const struct kimage *k = &a->kernel;

	warm(k, m);

	for (unsigned int i = 0; i < k->n_seg; i++) {
		const struct kimage_seg *s = &k->seg[i];
		int r = gmem_check(m, s->gpa, s->mem_len);

		if (r < 0)
			return err_set(e, -E2BIG,
				       "it needs memory up to %llu MiB; give "
				       "the guest more",
				       (unsigned long long)(k->end >> 20) + 1);
		r = gmem_load_fd(m, s->gpa, a->kernel_fd, (off_t)s->file_off,
				 s->file_len);
		if (r < 0)
			return err_set(e, r, "reading it: %s", strerror(-r));
	}
	return 0;
}

int arch_place_initrd(const struct arch *a, const struct gmem *m, uint64_t len,
		      struct arch_initrd *ret, struct err *e)
{
	uint64_t top = MIN(m->region[0].len, a->kernel.initrd_max + 1);

	/* Whole pages at the start and at the end. */
	len = (len + LAYOUT_PAGE - 1) & ~(LAYOUT_PAGE - 1);
	top &= ~(LAYOUT_PAGE - 1);
	if (top < a->kernel.end || len > top - a->kernel.end)
		return err_set(e, -E2BIG,
			       "an initramfs of %llu bytes does not fit into "
			       "the guest's memory; give it more",
			       (unsigned long long)len);
	*ret = (struct arch_initrd){ top - len, len };
	return 0;
}

int arch_attach(struct arch *a, const struct kvm *kvm, struct bus *mmio,
		struct err *e)
{
	const struct bus_range range = { LAYOUT_IOAPIC, LAYOUT_IOAPIC_LEN,
					 &ioapic_bus_ops, &a->ioapic };
	int r = intel_prepare(kvm, e);

	if (r < 0)
		return r;
	a->kvm = kvm;
	r = kvm_enable(kvm, KVM_CAP_SPLIT_IRQCHIP, a->cfg.n_pins);
	if (r < 0)
		return err_set(e, r, "KVM has no split interrupt chip: %s",
			       strerror(-r));
	r = bus_add(mmio, &range, e);
	return r < 0 ? r : cpuid_init(&a->cpuid, kvm, e);
}

int arch_boot(struct arch *a, const struct gmem *m,
	      const struct arch_initrd *initrd, const struct fdt_device *dev,
	      unsigned int n_dev, struct err *e)
{
	const struct params p = {
		.kernel = &a->kernel,
		.cmdline = a->cmdline,
		.initrd = initrd,
		.tree = { .n_cpus = a->cfg.n_cpus, .dev = dev, .n_dev = n_dev },
	};
	int r = params_load(m, &p, e);

	return r < 0 ? r : regs_load_tables(m, e);
}

int arch_boot_vcpu(struct arch *a, struct vcpu *v0, struct err *e)
{
	return regs_set_entry(v0, a->kernel.entry, e);
}

int arch_add_reset(struct bus *ports, const struct bus_ops *reset, void *ctx,
		   struct err *e)
{
	const struct bus_range r = { LAYOUT_PORT_RESET, 1, reset, ctx };

	return bus_add(ports, &r, e);
}
