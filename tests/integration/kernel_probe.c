/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_probe - run inside a guest: does its kernel do what programs ask?
 *
 * A symbol in a configuration is not yet a feature that works.  Each probe
 * uses one, as the programs do that need it, and prints "ok NAME" or
 * "FAILED NAME: reason".  As an ordinary user those are left out that ask for
 * root.  Static, so that it runs in any root.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/kcmp.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <linux/loop.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/base.h"
#include "kernel_probe.h"

/* Where probes make files: a tmpfs in the guests of the tests. */
#define PROBE_DIR "/tmp/probe"

/* Does the file have the word, with blanks around it? */
static int file_has(const char *path, const char *word)
{
	char text[4096], spaced[64];
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	text[0] = ' ';
	n = read(fd, text + 1, sizeof(text) - 3);
	(void)close(fd);
	if (n < 0)
		return WRONG;
	text[n + 1] = ' ';
	text[n + 2] = '\0';
	for (char *p = text; *p != '\0'; p++)
		if (*p == '\n' || *p == '\t')
			*p = ' ';
	(void)snprintf(spaced, sizeof(spaced), " %s ", word);
	return strstr(text, spaced) != NULL ? 0 : WRONG;
}

static int all_in(const char *path, const char *const *words)
{
	int r;

	for (; *words != NULL; words++) {
		r = file_has(path, *words);
		if (r < 0) {
			(void)printf("# %s: no %s\n", path, *words);
			return r;
		}
	}
	return 0;
}

int in_child(int (*fn)(void))
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(-fn());
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return WRONG;
	return -WEXITSTATUS(status);
}

/* ---- Files, memory, system calls ---------------------------------------- */

static int probe_filesystems(void)
{
	static const char *const words[] = {
		"ext4",      "squashfs", "erofs",       "overlay",
		"fuse",      "virtiofs", "tmpfs",       "cgroup2",
		"mqueue",    "autofs",   "binfmt_misc", "devpts",
		"hugetlbfs", "bpf",      "securityfs",  NULL
	};

	return all_in("/proc/filesystems", words);
}

static int probe_io_uring(void)
{
	struct io_uring_params p;

	memset(&p, 0, sizeof(p));
	return closed((int)syscall(SYS_io_uring_setup, 8, &p));
}

static int probe_inotify(void)
{
	return closed(inotify_init1(IN_CLOEXEC));
}

static int probe_fanotify(void)
{
	return closed(fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY));
}

static int probe_memfd(void)
{
	return closed(memfd_create("probe", MFD_CLOEXEC | MFD_ALLOW_SEALING));
}

static int probe_memfd_secret(void)
{
	return closed((int)syscall(SYS_memfd_secret, 0));
}

static int probe_userfaultfd(void)
{
	/* UFFD_USER_MODE_ONLY, which Debian 12's libc does not know. */
	return closed((int)syscall(SYS_userfaultfd, O_CLOEXEC | 1));
}

static int probe_sysv_shm(void)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);

	return id < 0 ? -errno : result(shmctl(id, IPC_RMID, NULL));
}

static int probe_mqueue(void)
{
	mqd_t q = mq_open("/probe", O_RDWR | O_CREAT, 0600, NULL);

	if (q < 0)
		return -errno;
	(void)mq_close(q);
	return result(mq_unlink("/probe"));
}

static int probe_keyring(void)
{
	return result(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID,
			      KEY_SPEC_PROCESS_KEYRING, 1));
}

static int probe_kcmp(void)
{
	pid_t me = getpid();

	return result(syscall(SYS_kcmp, me, me, KCMP_FILE, 1, 1));
}

static int probe_membarrier(void)
{
	return result(syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0));
}

static int probe_process_vm(void)
{
	char from[8] = "hutch", to[8] = "";
	struct iovec local = { to, sizeof(to) },
		     remote = { from, sizeof(from) };

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) < 0)
		return -errno;
	return strcmp(to, from) == 0 ? 0 : WRONG;
}

static int probe_perf(void)
{
	struct perf_event_attr a;

	memset(&a, 0, sizeof(a));
	a.size = sizeof(a);
	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_TASK_CLOCK;
	a.exclude_kernel = 1;
	return closed((int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0));
}

static int probe_acl(void)
{
	/* Version 2; owner rwx, user 1 r--, group r-x, mask r-x, other ---. */
	static const unsigned char acl[] = {
		2, 0, 0,   0,   1,   0,   7,  0, 255, 255, 255, 255, 2,   0,  4,
		0, 1, 0,   0,   0,   4,   0,  5, 0,   255, 255, 255, 255, 16, 0,
		5, 0, 255, 255, 255, 255, 32, 0, 0,   0,   255, 255, 255, 255
	};
	int fd = open(PROBE_DIR "/acl", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = result(
		fsetxattr(fd, "system.posix_acl_access", acl, sizeof(acl), 0));
	if (r == 0)
		r = result(fsetxattr(fd, "user.probe", "x", 1, 0));
	(void)close(fd);
	return r;
}

/* For who asks; the kernel has none at all in a guest of less than 512 MiB. */
static int probe_huge_pages(void)
{
	static const char path[] =
		"/sys/kernel/mm/transparent_hugepage/enabled";

	return file_has(path, "[madvise]") == 0 ||
			       file_has(path, "[never]") == 0
		       ? 0
		       : WRONG;
}

static int probe_pressure(void)
{
	return file_has("/proc/pressure/memory", "some");
}

static int probe_config_gz(void)
{
	unsigned char magic[2] = { 0, 0 };
	int fd = open("/proc/config.gz", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, magic, sizeof(magic));
	(void)close(fd);
	return n == 2 && magic[0] == 0x1f && magic[1] == 0x8b ? 0 : WRONG;
}

static int probe_no_modules(void)
{
	return access("/proc/modules", F_OK) != 0 &&
			       access("/dev/mem", F_OK) != 0
		       ? 0
		       : WRONG;
}

static int probe_clock(void)
{
	return file_has("/sys/devices/system/clocksource/clocksource0/"
			"current_clocksource",
			"kvm-clock") == 0 ||
			       file_has(
				       "/sys/devices/system/clocksource/clocksource0/"
				       "current_clocksource",
				       "tsc") == 0
		       ? 0
		       : WRONG;
}

static int probe_32_bit(void)
{
#ifdef __x86_64__
	int pid;

	/* getpid() as a 32-bit program calls it. */
	__asm__ volatile("int $0x80" : "=a"(pid) : "a"(20) : "memory");
	return pid == getpid() ? 0 : WRONG;
#else
	return 0;
#endif
}

/* ---- Isolation ---------------------------------------------------------- */

static int new_namespaces(void)
{
	static const int kinds[] = { CLONE_NEWNS,  CLONE_NEWPID,
				     CLONE_NEWNET, CLONE_NEWIPC,
				     CLONE_NEWUTS, CLONE_NEWCGROUP,
				     CLONE_NEWTIME };

	if (unshare(CLONE_NEWUSER) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (unshare(kinds[i]) < 0)
			return -errno;
	return 0;
}

static int probe_namespaces(void)
{
	return in_child(new_namespaces);
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	(void)close(fd);
	return n == (ssize_t)strlen(text) ? 0 : WRONG;
}

/* Becomes root of a user namespace of its own. */
static int new_user(void)
{
	char uids[32], gids[32];
	int r;

	(void)snprintf(uids, sizeof(uids), "0 %u 1", geteuid());
	(void)snprintf(gids, sizeof(gids), "0 %u 1", getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -errno;
	r = write_text("/proc/self/setgroups", "deny");
	if (r == 0)
		r = write_text("/proc/self/uid_map", uids);
	if (r == 0)
		r = write_text("/proc/self/gid_map", gids);
	return r;
}

static int user_mounts(void)
{
	const char *how = "lowerdir=/etc,upperdir=u,workdir=w,userxattr";
	int r = new_user();

	if (r < 0)
		return r;
	if (mount("t", PROBE_DIR, "tmpfs", 0, NULL) < 0 ||
	    chdir(PROBE_DIR) < 0 || mkdir("u", 0700) < 0 ||
	    mkdir("w", 0700) < 0 || mkdir("m", 0700) < 0)
		return -errno;
	return result(mount("o", "m", "overlay", 0, how));
}

/* What rootless containers do. */
static int probe_overlay_in_user_namespace(void)
{
	return in_child(user_mounts);
}

static int probe_landlock(void)
{
	return result(syscall(SYS_landlock_create_ruleset, NULL, 0,
			      LANDLOCK_CREATE_RULESET_VERSION));
}

static int probe_seccomp(void)
{
	unsigned int action = SECCOMP_RET_USER_NOTIF;

	return result(
		syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action));
}

static int probe_bpf_of_cgroups(void)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
	a.insns = (__u64)(uintptr_t)code;
	a.insn_cnt = ARRAY_LEN(code);
	a.license = (__u64)(uintptr_t) "GPL";
	return closed((int)syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof(a)));
}

static int probe_controllers(void)
{
	static const char *const words[] = { "cpu",    "cpuset", "io",
					     "memory", "pids",   NULL };

	return all_in("/sys/fs/cgroup/cgroup.controllers", words);
}

/* ---- Devices and file systems ------------------------------------------- */

static int probe_devices(void)
{
	static const char *const paths[] = {
		"/dev/fuse",  "/dev/net/tun", "/dev/loop-control",
		"/dev/vsock", "/dev/ptmx",    "/dev/null"
	};
	int r;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		r = closed(open(paths[i], O_RDWR | O_NOCTTY | O_CLOEXEC));
		if (r < 0) {
			(void)printf("# %s\n", paths[i]);
			return r;
		}
	}
	return 0;
}

static int mount_each(void)
{
	static const char *const types[] = { "tmpfs",       "mqueue",
					     "binfmt_misc", "hugetlbfs",
					     "bpf",         "securityfs",
					     "devpts",      "ramfs" };

	if (unshare(CLONE_NEWNS) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (mount("none", PROBE_DIR, types[i], 0, NULL) < 0) {
			int r = -errno;

			(void)printf("# %s\n", types[i]);
			(void)fflush(stdout);
			return r;
		}
	}
	return 0;
}

static int probe_mounts(void)
{
	return in_child(mount_each);
}

/* A loop device is made, holds a file and goes. */
static int probe_loop(void)
{
	char path[32];
	int ctl, n, loop = -1, file, r;

	ctl = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	if (ctl < 0)
		return -errno;
	file = memfd_create("disk", MFD_CLOEXEC);
	n = ioctl(ctl, LOOP_CTL_GET_FREE);
	(void)snprintf(path, sizeof(path), "/dev/loop%d", n);
	r = result(n);
	if (r == 0 && ftruncate(file, 1 << 20) == 0)
		loop = open(path, O_RDWR | O_CLOEXEC);
	if (r == 0 && loop < 0)
		r = -errno;
	if (r == 0)
		r = result(ioctl(loop, LOOP_SET_FD, file));
	if (r == 0)
		r = result(ioctl(loop, LOOP_CLR_FD, 0));
	(void)close(loop);
	(void)close(file);
	(void)close(ctl);
	return r;
}

/* ---- All of them -------------------------------------------------------- */

struct probe {
	const char *name;
	int (*fn)(void);
	bool root; /* an ordinary user is refused, and should be */
};

static const struct probe probes[] = {
	{ "filesystems", probe_filesystems, false },
	{ "io_uring", probe_io_uring, false },
	{ "inotify", probe_inotify, false },
	{ "fanotify", probe_fanotify, true },
	{ "memfd", probe_memfd, false },
	{ "memfd_secret", probe_memfd_secret, false },
	{ "userfaultfd", probe_userfaultfd, false },
	{ "sysv_shm", probe_sysv_shm, false },
	{ "mqueue", probe_mqueue, false },
	{ "keyring", probe_keyring, false },
	{ "kcmp", probe_kcmp, false },
	{ "membarrier", probe_membarrier, false },
	{ "process_vm", probe_process_vm, false },
	{ "perf", probe_perf, false },
	{ "acl", probe_acl, false },
	{ "huge_pages", probe_huge_pages, false },
	{ "pressure", probe_pressure, false },
	{ "config_gz", probe_config_gz, false },
	{ "no_modules", probe_no_modules, false },
	{ "clock", probe_clock, false },
	{ "32_bit", probe_32_bit, false },
	{ "namespaces", probe_namespaces, false },
	{ "overlay_in_user_namespace", probe_overlay_in_user_namespace, false },
	{ "landlock", probe_landlock, false },
	{ "seccomp", probe_seccomp, false },
	{ "bpf_of_cgroups", probe_bpf_of_cgroups, true },
	{ "controllers", probe_controllers, false },
	{ "devices", probe_devices, true },
	{ "mounts", probe_mounts, true },
	{ "loop", probe_loop, true },
	{ "sockets", probe_sockets, false },
	{ "packet_socket", probe_packet_socket, true },
	{ "hash_socket", probe_hash_socket, false },
	{ "tun", probe_tun, true },
	{ "links", probe_links, false },
	{ "iptables", probe_iptables, false },
};

int main(void)
{
	int failed = 0, r;

	if (mkdir(PROBE_DIR, 0700) < 0 && errno != EEXIST) {
		(void)printf("FAILED %s: %s\n", PROBE_DIR, strerror(errno));
		return 1;
	}
	for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
		if (probes[i].root && geteuid() != 0)
			continue;
		r = probes[i].fn();
		failed += r < 0;
		if (r < 0)
			(void)printf("FAILED %s: %s\n", probes[i].name,
				     strerror(-r));
		else
			(void)printf("ok %s\n", probes[i].name);
		(void)fflush(stdout);
	}
	return failed == 0 ? 0 : 1;
}
