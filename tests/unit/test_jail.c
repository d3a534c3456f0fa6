/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_jail.c - vmm/jail: each forbidden call, in each kind of thread
 *
 * A child locks itself in and makes one call.  The control is the same child
 * with an allowed call: it must come to its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/kvm.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/lib/check_main.h"
#include "vmm/jail/jail.h"

/** struct call - A system call by number; only the second argument matters */
struct call {
	const char *name;
	long nr;
	long arg[6];
};

/* Status of a child that is jailed as @kind and then makes @c. */
static int status_of(enum jail_kind kind, const struct call *c)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		const long *a = c->arg;

		/* A core file of each would fill the folder. */
		(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
		if (jail_drop(NULL) < 0 || jail_enter(kind, NULL) < 0)
			_exit(99);
		(void)syscall(c->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		(void)syscall(SYS_exit_group, 0);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static const struct call forbidden[] = {
	{ "open", SYS_open, { 0 } },
	{ "openat", SYS_openat, { AT_FDCWD } },
	{ "creat", SYS_creat, { 0 } },
	{ "open_by_handle_at", SYS_open_by_handle_at, { -1 } },
	{ "memfd_create", SYS_memfd_create, { 0 } },
	{ "socket", SYS_socket, { AF_UNIX, SOCK_STREAM } },
	{ "socketpair", SYS_socketpair, { AF_UNIX, SOCK_STREAM } },
	{ "connect", SYS_connect, { -1 } },
	{ "bind", SYS_bind, { -1 } },
	{ "listen", SYS_listen, { -1 } },
	{ "execve", SYS_execve, { 0 } },
	{ "execveat", SYS_execveat, { -1 } },
	{ "fork", SYS_fork, { 0 } },
	{ "vfork", SYS_vfork, { 0 } },
	{ "clone", SYS_clone, { SIGCHLD } },
	{ "clone3", SYS_clone3, { 0 } },
	{ "unshare", SYS_unshare, { CLONE_NEWUSER } },
	{ "setns", SYS_setns, { -1 } },
	{ "mount", SYS_mount, { 0 } },
	{ "ptrace", SYS_ptrace, { -1 } },
	{ "process_vm_readv", SYS_process_vm_readv, { 1 } },
	{ "kill", SYS_kill, { 1 } },
	{ "tkill", SYS_tkill, { 1 } },
	{ "pidfd_getfd", SYS_pidfd_getfd, { -1 } },
	{ "prctl", SYS_prctl, { PR_SET_DUMPABLE } },
	{ "seccomp", SYS_seccomp, { 0 } },
	{ "bpf", SYS_bpf, { 0 } },
	{ "io_uring_setup", SYS_io_uring_setup, { 1 } },
	{ "userfaultfd", SYS_userfaultfd, { 0 } },
	{ "unlink", SYS_unlink, { 0 } },
	{ "rename", SYS_rename, { 0 } },
	{ "chmod", SYS_chmod, { 0 } },
	{ "setuid", SYS_setuid, { 0 } },
	{ "capset", SYS_capset, { 0 } },
	{ "keyctl", SYS_keyctl, { 0 } },
	{ "sendmmsg", SYS_sendmmsg, { -1 } },
	{ "ioctl TIOCSTI", SYS_ioctl, { -1, 0x5412 } },
	{ "ioctl KVM_CREATE_VM", SYS_ioctl, { -1, KVM_CREATE_VM } },
	{ "ioctl KVM_CREATE_VCPU", SYS_ioctl, { -1, KVM_CREATE_VCPU } },
	{ "ioctl KVM_SET_USER_MEMORY_REGION",
	  SYS_ioctl,
	  { -1, KVM_SET_USER_MEMORY_REGION } },
	/* The upper half of an ioctl's number does not hide it. */
	{ "ioctl upper half", SYS_ioctl, { -1, 1l << 32 | KVM_RUN } },
	{ "mmap exec",
	  SYS_mmap,
	  { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1 } },
	{ "mprotect exec", SYS_mprotect, { 0, 4096, PROT_EXEC } },
};

/* What one kind needs is not for the others. */
static const struct call forbidden_to_vcpu[] = {
	{ "openat2", SYS_openat2, { AT_FDCWD } },
	{ "pwritev", SYS_pwritev, { -1 } },
	{ "unlinkat", SYS_unlinkat, { -1 } },
	{ "epoll_ctl", SYS_epoll_ctl, { -1 } },
	{ "accept4", SYS_accept4, { -1 } },
	{ "recvmsg", SYS_recvmsg, { -1 } },
	{ "sendmsg", SYS_sendmsg, { -1 } },
	{ "sendto", SYS_sendto, { -1 } },
	{ "close", SYS_close, { -1 } },
	{ "read", SYS_read, { -1 } },
	{ "fcntl", SYS_fcntl, { -1, F_GETFL } },
};

static const struct call forbidden_to_loop[] = {
	{ "openat2", SYS_openat2, { AT_FDCWD } },
	{ "pwritev", SYS_pwritev, { -1 } },
	{ "unlinkat", SYS_unlinkat, { -1 } },
	{ "KVM_RUN", SYS_ioctl, { -1, KVM_RUN } },
	{ "KVM_IRQFD", SYS_ioctl, { -1, KVM_IRQFD } },
	{ "KVM_SET_GSI_ROUTING", SYS_ioctl, { -1, KVM_SET_GSI_ROUTING } },
	{ "fcntl F_SETOWN", SYS_fcntl, { -1, F_SETOWN } },
};

static const struct call forbidden_to_fs[] = {
	{ "epoll_ctl", SYS_epoll_ctl, { -1 } },
	{ "accept4", SYS_accept4, { -1 } },
	{ "sendmsg", SYS_sendmsg, { -1 } },
	{ "sendto", SYS_sendto, { -1 } },
	{ "read", SYS_read, { -1 } },
	{ "KVM_RUN", SYS_ioctl, { -1, KVM_RUN } },
	{ "FICLONE", SYS_ioctl, { -1, 0x40049409 } },
	{ "fchownat to root", SYS_fchownat, { -1, 0, 0 } },
	{ "fchown", SYS_fchown, { -1 } },
	{ "renameat", SYS_renameat, { -1 } },
	{ "chroot", SYS_chroot, { 0 } },
	{ "fchdir", SYS_fchdir, { -1 } },
	{ "umask", SYS_umask, { 0 } },
	{ "fcntl F_SETOWN", SYS_fcntl, { -1, F_SETOWN } },
	{ "fcntl F_SETLKW", SYS_fcntl, { -1, F_SETLKW } },
};

static const struct call forbidden_to_net[] = {
	{ "openat2", SYS_openat2, { AT_FDCWD } },
	{ "unlinkat", SYS_unlinkat, { -1 } },
	{ "epoll_ctl", SYS_epoll_ctl, { -1 } },
	{ "accept4", SYS_accept4, { -1 } },
	{ "sendto", SYS_sendto, { -1 } },
	{ "close", SYS_close, { -1 } },
	{ "KVM_RUN", SYS_ioctl, { -1, KVM_RUN } },
	{ "TUNSETIFF", SYS_ioctl, { -1, TUNSETIFF } },
	{ "SIOCSIFFLAGS", SYS_ioctl, { -1, SIOCSIFFLAGS } },
	{ "fcntl", SYS_fcntl, { -1, F_GETFL } },
};

static const struct call allowed_to_net[] = {
	{ "ppoll of too many", SYS_ppoll, { 0, -1 } },
	{ "read", SYS_read, { -1 } },
	{ "readv", SYS_readv, { -1 } },
	{ "writev", SYS_writev, { -1 } },
	{ "recvmsg", SYS_recvmsg, { -1 } },
	{ "sendmsg", SYS_sendmsg, { -1 } },
	{ "TUNSETOFFLOAD", SYS_ioctl, { -1, TUNSETOFFLOAD } },
	{ "TUNSETQUEUE", SYS_ioctl, { -1, TUNSETQUEUE } },
};

static const struct call allowed_to_fs[] = {
	{ "fchownat to nobody", SYS_fchownat, { -1, 0, 0xffffffff } },
	{ "openat2", SYS_openat2, { -1 } },
	{ "preadv", SYS_preadv, { -1 } },
	{ "pwritev2", SYS_pwritev2, { -1 } },
	{ "getdents64", SYS_getdents64, { -1 } },
	{ "statx", SYS_statx, { -1 } },
	{ "renameat2", SYS_renameat2, { -1 } },
	{ "unlinkat", SYS_unlinkat, { -1 } },
	{ "fsync", SYS_fsync, { -1 } },
	{ "close", SYS_close, { -1 } },
};

static const struct call allowed_to_all[] = {
	{ "write", SYS_write, { -1 } },
	{ "futex", SYS_futex, { 0, -1 } },
	{ "getpid", SYS_getpid, { 0 } },
	{ "brk", SYS_brk, { 0 } },
	{ "mmap",
	  SYS_mmap,
	  { 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	    -1 } },
	{ "munmap", SYS_munmap, { 0, 0 } },
	{ "madvise", SYS_madvise, { 0, 0 } },
	{ "exit_group", SYS_exit_group, { 0 } },
};

static const struct call allowed_to_vcpu[] = {
	{ "KVM_RUN", SYS_ioctl, { -1, KVM_RUN } },
	{ "KVM_IRQFD", SYS_ioctl, { -1, KVM_IRQFD } },
	{ "KVM_SET_GSI_ROUTING", SYS_ioctl, { -1, KVM_SET_GSI_ROUTING } },
	{ "KVM_KVMCLOCK_CTRL", SYS_ioctl, { -1, KVM_KVMCLOCK_CTRL } },
};

static const struct call allowed_to_loop[] = {
	{ "epoll_ctl", SYS_epoll_ctl, { -1 } },
	{ "accept4", SYS_accept4, { -1 } },
	{ "recvmsg", SYS_recvmsg, { -1 } },
	{ "sendmsg", SYS_sendmsg, { -1 } },
	{ "readv", SYS_readv, { -1 } },
	{ "shutdown", SYS_shutdown, { -1 } },
	{ "close", SYS_close, { -1 } },
	{ "F_DUPFD_CLOEXEC", SYS_fcntl, { -1, F_DUPFD_CLOEXEC } },
};

static void all_die(enum jail_kind kind, const struct call *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int status = status_of(kind, &c[i]);

		ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS,
			      "%s was let through: %#x", c[i].name,
			      (unsigned int)status);
	}
}

static void all_live(enum jail_kind kind, const struct call *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int status = status_of(kind, &c[i]);

		ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
			      "%s was not let through: %#x", c[i].name,
			      (unsigned int)status);
	}
}

START_TEST(forbidden_calls_kill_the_loop_thread)
{
	all_die(JAIL_LOOP, forbidden, ARRAY_LEN(forbidden));
	all_die(JAIL_LOOP, forbidden_to_loop, ARRAY_LEN(forbidden_to_loop));
}
END_TEST

START_TEST(forbidden_calls_kill_a_vcpu_thread)
{
	all_die(JAIL_VCPU, forbidden, ARRAY_LEN(forbidden));
	all_die(JAIL_VCPU, forbidden_to_vcpu, ARRAY_LEN(forbidden_to_vcpu));
}
END_TEST

START_TEST(forbidden_calls_kill_a_worker_of_a_share)
{
	all_die(JAIL_FS, forbidden, ARRAY_LEN(forbidden));
	all_die(JAIL_FS, forbidden_to_fs, ARRAY_LEN(forbidden_to_fs));
}
END_TEST

START_TEST(forbidden_calls_kill_a_thread_of_the_network)
{
	all_die(JAIL_NET, forbidden, ARRAY_LEN(forbidden));
	all_die(JAIL_NET, forbidden_to_net, ARRAY_LEN(forbidden_to_net));
}
END_TEST

START_TEST(what_the_threads_live_from_is_let_through)
{
	for (int kind = 0; kind < JAIL_KINDS; kind++)
		all_live(kind, allowed_to_all, ARRAY_LEN(allowed_to_all));
	all_live(JAIL_FS, allowed_to_fs, ARRAY_LEN(allowed_to_fs));
	all_live(JAIL_NET, allowed_to_net, ARRAY_LEN(allowed_to_net));
	all_live(JAIL_LOOP, allowed_to_loop, ARRAY_LEN(allowed_to_loop));
	all_live(JAIL_VCPU, allowed_to_vcpu, ARRAY_LEN(allowed_to_vcpu));
}
END_TEST

/* The other system call tables of the same processor are no way round. */
START_TEST(calls_of_another_abi_kill)
{
	static const struct call x32 = { "x32 getpid",
					 0x40000000 + SYS_getpid,
					 { 0 } };

	for (int kind = 0; kind < JAIL_KINDS; kind++)
		all_die(kind, &x32, 1);
}
END_TEST

static void on_signal(int sig)
{
	(void)sig;
}

START_TEST(a_kick_interrupts_a_jailed_vcpu_thread)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct sigaction sa = { .sa_handler = on_signal };

		(void)sigaction(SIGRTMIN, &sa, NULL);
		if (jail_drop(NULL) < 0 || jail_enter(JAIL_VCPU, NULL) < 0)
			_exit(99);
		(void)syscall(SYS_tgkill, getpid(), syscall(SYS_gettid),
			      SIGRTMIN);
		(void)syscall(SYS_exit_group, 7); /* after rt_sigreturn */
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 7);
}
END_TEST

static int line_of(const char *key, char *value, size_t cap)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	int found = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		(void)snprintf(value, cap, "%s", line + strlen(key));
		found = 1;
	}
	if (f)
		(void)fclose(f);
	return found;
}

START_TEST(dropping_leaves_no_capability_and_no_new_privileges)
{
	static const char *const sets[] = { "CapInh:\t", "CapPrm:\t",
					    "CapEff:\t", "CapAmb:\t",
					    "CapBnd:\t" };
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		/* Only root has a bounding set that can be dropped. */
		size_t n = ARRAY_LEN(sets) - (geteuid() ? 1 : 0);
		char v[128] = "";

		if (jail_drop(NULL) < 0)
			_exit(99);
		for (size_t i = 0; i < n; i++)
			if (!line_of(sets[i], v, sizeof(v)) ||
			    strcmp(v, "0000000000000000\n") != 0)
				_exit(1 + (int)i);
		if (!line_of("NoNewPrivs:\t", v, sizeof(v)) || v[0] != '1')
			_exit(20);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

START_TEST(all_but_the_kept_descriptors_are_closed)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		int keep[] = { 110, -1, 105, 105 };

		for (int fd = 100; fd < 120; fd++)
			(void)dup2(0, fd);
		jail_close_others(100, keep, ARRAY_LEN(keep));
		for (int fd = 100; fd < 120; fd++)
			if ((fcntl(fd, F_GETFD) >= 0) !=
			    (fd == 110 || fd == 105))
				_exit(fd);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

CHECK_MAIN("jail", forbidden_calls_kill_the_loop_thread,
	   forbidden_calls_kill_a_vcpu_thread,
	   forbidden_calls_kill_a_worker_of_a_share,
	   forbidden_calls_kill_a_thread_of_the_network,
	   what_the_threads_live_from_is_let_through, calls_of_another_abi_kill,
	   a_kick_interrupts_a_jailed_vcpu_thread,
	   dropping_leaves_no_capability_and_no_new_privileges,
	   all_but_the_kept_descriptors_are_closed)
