/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/jail/gen.c - turn filters.def into seccomp programs, at build time
 *
 * Runs on the machine that builds, for the machine that is built for; so the
 * monitor neither links libseccomp nor spends its start on it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_tun.h>
#include <linux/kvm.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEN_MAX 512

enum {
	LOOP = 1,
	VCPU = 2,
	FS = 4,
	NET = 8
};
enum how {
	ALWAYS,
	EQUAL,
	WITHOUT
};

struct rule {
	const char *call;
	unsigned int kinds;
	enum how how;
	unsigned int arg;
	unsigned long value;
};

/* clang-format off */
#define ALLOW(call, kinds, reason) { #call, kinds, ALWAYS, 0, 0 },
#define ALLOW_IF(call, kinds, arg, value, reason) \
	{ #call, kinds, EQUAL, arg, value },
#define ALLOW_UNLESS(call, kinds, arg, bits, reason) \
	{ #call, kinds, WITHOUT, arg, bits },

static const struct rule rules[] = {
#include "vmm/jail/filters.def"
};
/* clang-format on */

static const struct {
	unsigned int kind;
	const char *index;
	const char *name;
} kinds[] = { { LOOP, "JAIL_LOOP", "loop_code" },
	      { VCPU, "JAIL_VCPU", "vcpu_code" },
	      { FS, "JAIL_FS", "fs_code" },
	      { NET, "JAIL_NET", "net_code" } };

/* What libseccomp 2.5 has not heard of; the number is every machine's. */
static int resolve(const char *call)
{
	int nr = seccomp_syscall_resolve_name(call);

	if (nr == __NR_SCMP_ERROR && strcmp(call, "fchmodat2") == 0)
		return 452;
	return nr;
}

static int add(scmp_filter_ctx ctx, const struct rule *r)
{
	struct scmp_arg_cmp cmp = {
		.arg = r->arg,
		.op = r->how == EQUAL ? SCMP_CMP_EQ : SCMP_CMP_MASKED_EQ,
		.datum_a = r->value,
		.datum_b = 0,
	};
	int nr = resolve(r->call);

	if (nr == __NR_SCMP_ERROR) {
		(void)fprintf(stderr, "gen: no system call '%s'\n", r->call);
		return -EINVAL;
	}
	return seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, nr,
				      r->how == ALWAYS ? 0 : 1, &cmp);
}

static int set_up(scmp_filter_ctx ctx, const char *arch, unsigned int kind)
{
	uint32_t token = seccomp_arch_resolve_name(arch);
	int r = token ? 0 : -EINVAL;

	if (r == 0 && token != seccomp_arch_native()) {
		r = seccomp_arch_remove(ctx, SCMP_ARCH_NATIVE);
		if (r == 0)
			r = seccomp_arch_add(ctx, token);
	}
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
				     SCMP_ACT_KILL_PROCESS);
	for (size_t i = 0; r == 0 && i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].kinds & kind)
			r = add(ctx, &rules[i]);
	return r;
}

static int print_code(scmp_filter_ctx ctx, const char *name)
{
	struct sock_filter code[LEN_MAX];
	int fd = memfd_create("filter", MFD_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0 && seccomp_export_bpf(ctx, fd) == 0)
		n = pread(fd, code, sizeof(code), 0);
	if (fd >= 0)
		(void)close(fd);
	if (n <= 0 || n == (ssize_t)sizeof(code))
		return -EIO;
	(void)printf("static const struct sock_filter %s[] = {\n", name);
	for (size_t i = 0; i < (size_t)n / sizeof(code[0]); i++)
		(void)printf("\t{ %#x, %u, %u, %#x },\n", code[i].code,
			     code[i].jt, code[i].jf, code[i].k);
	(void)printf("};\n");
	return 0;
}

static int one_kind(const char *arch, size_t i)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = ctx ? set_up(ctx, arch, kinds[i].kind) : -ENOMEM;

	if (r == 0)
		r = print_code(ctx, kinds[i].name);
	seccomp_release(ctx);
	return r;
}

int main(int argc, char **argv)
{
	const size_t n = sizeof(kinds) / sizeof(kinds[0]);

	if (argc != 2) {
		(void)fprintf(stderr, "usage: gen ARCH\n");
		return EXIT_FAILURE;
	}
	(void)printf("#include \"vmm/jail/filters.h\"\n");
	for (size_t i = 0; i < n; i++) {
		int r = one_kind(argv[1], i);

		if (r < 0) {
			(void)fprintf(stderr, "gen: %s: %s\n", kinds[i].name,
				      strerror(-r));
			return EXIT_FAILURE;
		}
	}
	(void)printf("const struct filters_program "
		     "filters_programs[JAIL_KINDS] = {\n");
	for (size_t i = 0; i < n; i++)
		(void)printf("\t[%s] = { sizeof(%s) / sizeof(%s[0]), %s },\n",
			     kinds[i].index, kinds[i].name, kinds[i].name,
			     kinds[i].name);
	(void)printf("};\n");
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
