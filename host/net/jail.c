/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/jail.c - see jail.h */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/landlock.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/sanitized.h"
#include "host/net/jail.h"
#include "host/net/limits.h"

/* What this system's headers may be too old to name. */
#define LANDLOCK_FS_ABI1       ((1ull << 13) - 1)
#define LANDLOCK_FS_REFER      (1ull << 13) /* ABI 2 */
#define LANDLOCK_FS_TRUNCATE   (1ull << 14) /* ABI 3 */
#define LANDLOCK_NET_BIND      1ull         /* ABI 4 */
#define LANDLOCK_FS_IOCTL      (1ull << 15) /* ABI 5 */
#define LANDLOCK_SCOPE_UNIX    1ull         /* ABI 6: abstract sockets */
#define LANDLOCK_SCOPE_SIGNALS 2ull         /* ABI 6 */

/* socket(2) has flags in its type. */
#define TYPE_MASK 15u

/** struct ruleset - landlock_ruleset_attr, as of ABI 6 */
struct ruleset {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
};

#define CONDITIONS_MAX 3u

/* A value that is known only when it runs. */
#define IS_SELF UINT64_MAX

/** struct rule - A line of filters.def */
struct rule {
	int call;
	struct scmp_arg_cmp cmp[CONDITIONS_MAX]; /* those with @op */
};

/* clang-format off */
#define ALLOW(call, reason) { SCMP_SYS(call), { { 0 } } },
#define ALLOW_IF(call, reason, ...) { SCMP_SYS(call), { __VA_ARGS__ } },
#define IS(i, v) { .arg = (i), .op = SCMP_CMP_EQ, .datum_a = (v) }
#define HAS(i, mask, v) { .arg = (i), .op = SCMP_CMP_MASKED_EQ, \
			  .datum_a = (mask), .datum_b = (v) }
#define SELF(i) IS(i, IS_SELF)

static const struct rule rules[] = {
#include "host/net/filters.def"
#if SANITIZED
	ALLOW(sigaltstack, "run-time of sanitizers")
	ALLOW(readlink, "the same")
	ALLOW(sched_yield, "the same")
	ALLOW(open, "the same")
	ALLOW(openat, "the same")
	ALLOW(read, "the same")
	ALLOW(fstat, "the same")
	ALLOW(newfstatat, "the same")
	ALLOW(prctl, "the same")
	ALLOW(getppid, "the same")
	ALLOW(clone, "looking for leaks")
	ALLOW(wait4, "the same")
	ALLOW(ptrace, "the same")
	ALLOW(pipe, "the same")
	ALLOW(getdents64, "the same")
	ALLOW(lseek, "the same")
	ALLOW(kill, "the same")
	ALLOW(set_robust_list, "the same")
	ALLOW(mmap, "the same")
	ALLOW(madvise, "the same")
	ALLOW(mremap, "the same")
	ALLOW(futex, "the same")
	ALLOW(rt_sigaction, "the same")
	ALLOW(write, "the same, into a pipe")
#endif
};
/* clang-format on */

unsigned int jail_fds(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		return 0;
	rl.rlim_cur = MIN(rl.rlim_max, NET_FDS_MAX);
	rl.rlim_max = rl.rlim_cur;
	(void)setrlimit(RLIMIT_NOFILE, &rl);
	return getrlimit(RLIMIT_NOFILE, &rl) < 0 ? 0
						 : (unsigned int)rl.rlim_cur;
}

/*
 * An empty root that nobody can change. What an ordinary user may do of this
 * differs from host to host; what is missing, Landlock and seccomp make up for.
 */
static void leave_the_rest(void)
{
	const int spaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC |
			   CLONE_NEWUTS | CLONE_NEWCGROUP;
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	if (SANITIZED || unshare(spaces) < 0 ||
	    mount("", "/", NULL, MS_PRIVATE | MS_REC, NULL) < 0 ||
	    mount("none", "/tmp", "tmpfs", flags | MS_RDONLY,
		  "nr_inodes=2,nr_blocks=1") < 0 ||
	    chdir("/tmp") < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0)
		return;
	(void)!chdir("/");
}

static int drop_rights(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
	const struct rlimit no_core = { 0 };

	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &head, none) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    setrlimit(RLIMIT_CORE, &no_core) < 0)
		return -errno;
	return 0;
}

/* All that this kernel's Landlock can refuse is refused, with no exception. */
static int enter_landlock(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset all = { .fs = LANDLOCK_FS_ABI1 };
	size_t len = sizeof(all.fs);
	auto_fd int fd = -1;

	if (abi < 1 || SANITIZED)
		return 0;
	all.fs |= abi >= 2 ? LANDLOCK_FS_REFER : 0;
	all.fs |= abi >= 3 ? LANDLOCK_FS_TRUNCATE : 0;
	all.fs |= abi >= 5 ? LANDLOCK_FS_IOCTL : 0;
	if (abi >= 4) {
		all.net = LANDLOCK_NET_BIND;
		len = sizeof(all.fs) + sizeof(all.net);
	}
	if (abi >= 6) {
		all.scoped = LANDLOCK_SCOPE_UNIX | LANDLOCK_SCOPE_SIGNALS;
		len = sizeof(all);
	}
	fd = (int)syscall(SYS_landlock_create_ruleset, &all, len, 0);
	if (fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return -errno;
	return 0;
}

static int add(scmp_filter_ctx ctx, const struct rule *r)
{
	struct scmp_arg_cmp cmp[CONDITIONS_MAX];
	unsigned int n = 0;

	memcpy(cmp, r->cmp, sizeof(cmp));
	for (; n < CONDITIONS_MAX && cmp[n].op; n++)
		if (cmp[n].datum_a == IS_SELF)
			cmp[n].datum_a = (scmp_datum_t)getpid();
	return seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, r->call, n, cmp);
}

static int enter_seccomp(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = ctx ? 0 : -ENOMEM;

	for (size_t i = 0; i < ARRAY_LEN(rules) && r == 0; i++)
		r = add(ctx, &rules[i]);
	r = r < 0 ? r : seccomp_load(ctx);
	seccomp_release(ctx);
	return r;
}

int jail_enter(struct err *e)
{
	int r;

	leave_the_rest();
	r = drop_rights();
	if (r < 0)
		return err_set(e, r, "cannot give up privileges: %s",
			       strerror(-r));
	r = enter_landlock();
	if (r < 0)
		return err_set(e, r, "cannot enter a Landlock domain: %s",
			       strerror(-r));
	r = enter_seccomp();
	if (r < 0)
		return err_set(e, r, "cannot install the seccomp list: %s",
			       strerror(-r));
	return 0;
}
