/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/jail.c - see jail.h */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/rd.h"
#include "common/sanitized.h"
#include "common/wr.h"
#include "host/image/jail.h"
#include "host/lib/imagework.h"

#define MSG_MAX    512u
#define MSG_DONE   1u /* so many bytes were read */
#define MSG_END    2u /* the result */
#define TELL_BYTES (1u << 20)

/* The first Landlock by which a file can be linked into another folder. */
#define LANDLOCK_ABI_MIN 2

/* The first by which signals to those outside can be refused. */
#define LANDLOCK_ABI_SCOPES 6

/* What this system's headers may be too old to name. */
#define LANDLOCK_TRUNCATE     (1ull << 14)
#define LANDLOCK_SCOPE_SIGNAL (1ull << 1)

/** struct ruleset - landlock_ruleset_attr, as of ABI 6 */
struct ruleset {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
};

static long landlock_abi(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0,
		       LANDLOCK_CREATE_RULESET_VERSION);
}

bool jail_landlock(void)
{
	return landlock_abi() >= LANDLOCK_ABI_MIN;
}

/* ---- The child ---- */

/* All that is of ABI 2, and TRUNCATE where there is more. */
static uint64_t all_access(void)
{
	uint64_t all = ((uint64_t)LANDLOCK_ACCESS_FS_REFER << 1) - 1;

	if (landlock_abi() > LANDLOCK_ABI_MIN)
		all |= LANDLOCK_TRUNCATE;
	return all;
}

static int add_rule(int rules, int fd, uint64_t access)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = access,
						   .parent_fd = fd };

	return syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH,
		       &rule, 0) < 0
		       ? -errno
		       : 0;
}

/* Of @handled, what is beneath @fd alone is left, and no execution. */
static int enter_landlock(int fd, uint64_t handled, uint64_t scoped)
{
	struct ruleset attr = { .fs = handled };
	size_t len = sizeof(attr.fs);
	auto_fd int rules = -1, null = -1;
	int r;

	if (!jail_landlock())
		return 0;
	if (landlock_abi() >= LANDLOCK_ABI_SCOPES) {
		attr.scoped = scoped;
		len = sizeof(attr);
	}
	rules = (int)syscall(SYS_landlock_create_ruleset, &attr, len, 0);
	null = open("/dev/null", O_PATH | O_CLOEXEC);
	if (rules < 0 || null < 0)
		return -errno;
	r = add_rule(rules, fd, handled & ~LANDLOCK_ACCESS_FS_EXECUTE);
	/* What a child has in place of standard input and output. */
	r = r < 0 ? r : add_rule(rules, null, LANDLOCK_ACCESS_FS_WRITE_FILE);
	if (r == 0 && syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		r = -errno;
	return r;
}

/*
 * libc's opendir() asks what a descriptor is.  No other command: by F_SETOWN
 * and F_NOTIFY the kernel sends signals to whom one likes.
 */
static int allow_fcntl(scmp_filter_ctx ctx)
{
	static const unsigned int commands[] = { F_GETFD, F_SETFD, F_GETFL };
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(commands) && r == 0; i++)
		r = seccomp_rule_add(
			ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
			SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, commands[i]));
	return r;
}

static int enter_seccomp(void)
{
	static const int calls[] = {
		/* The tar, and what is in it. */
		SCMP_SYS(read),
		SCMP_SYS(lseek),
		SCMP_SYS(pwrite64),
		SCMP_SYS(ftruncate),
		SCMP_SYS(openat),
		SCMP_SYS(openat2),
		SCMP_SYS(mkdirat),
		SCMP_SYS(linkat),
		SCMP_SYS(unlinkat),
		SCMP_SYS(fsetxattr),
		SCMP_SYS(utimensat),
		SCMP_SYS(fstat),
		SCMP_SYS(newfstatat),
		SCMP_SYS(getdents64),
		SCMP_SYS(close),
		/* The report, and a last word of libc's. */
		SCMP_SYS(write),
		SCMP_SYS(exit_group),
		SCMP_SYS(rt_sigreturn),
		SCMP_SYS(restart_syscall),
		/* Memory; clocks and chance, as libraries like to ask. */
		SCMP_SYS(brk),
		SCMP_SYS(mmap),
		SCMP_SYS(munmap),
		SCMP_SYS(mremap),
		SCMP_SYS(mprotect),
		SCMP_SYS(madvise),
		SCMP_SYS(futex),
		SCMP_SYS(getrandom),
		SCMP_SYS(clock_gettime),
#if SANITIZED
		SCMP_SYS(sigaltstack),
		SCMP_SYS(getpid),
		SCMP_SYS(gettid),
		SCMP_SYS(readlink),
		SCMP_SYS(sched_yield),
		SCMP_SYS(open),
		SCMP_SYS(prctl),
		SCMP_SYS(rt_sigprocmask),
		SCMP_SYS(rt_sigaction),
#endif
	};
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = ctx ? 0 : -ENOMEM;

	for (size_t i = 0; i < ARRAY_LEN(calls) && r == 0; i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);
	r = r < 0 ? r : allow_fcntl(ctx);
	r = r < 0 ? r : seccomp_load(ctx);
	seccomp_release(ctx);
	return r;
}

static int drop_caps(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}

static int drop_rights(void)
{
	int r = drop_caps();

	if (r == 0 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		       prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0))
		r = -errno;
	return r;
}

int jail_narrow(int store_fd, bool caps, struct err *e)
{
	const uint64_t reading = LANDLOCK_ACCESS_FS_READ_FILE |
				 LANDLOCK_ACCESS_FS_READ_DIR;
	int r = caps ? 0 : drop_caps();

	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = -errno;
	r = r < 0 ? r : enter_landlock(store_fd, all_access() & ~reading, 0);
	return r < 0 ? err_set(e, r, "cannot lock hutch-image in: %s",
			       strerror(-r))
		     : 0;
}

static int bound(int what, rlim_t to)
{
	struct rlimit rl;

	if (getrlimit(what, &rl) < 0)
		return -errno;
	rl.rlim_max = MIN(rl.rlim_max, to);
	rl.rlim_cur = rl.rlim_max;
	return setrlimit(what, &rl) < 0 ? -errno : 0;
}

/* Moves what is kept to 3, 4 and 5, and closes all above and the stdio. */
static int keep_only(int fd[3])
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -errno;
	for (int i = 0; i < 3; i++) {
		fd[i] = fcntl(fd[i], F_DUPFD_CLOEXEC, 16);
		if (fd[i] < 0)
			return -errno;
	}
	for (int i = 0; i < 3; i++) {
		/* Sanitizers say what they have found on stderr. */
		if ((i < 2 || !SANITIZED) && dup2(null, i) < 0)
			return -errno;
		if (dup3(fd[i], 3 + i, O_CLOEXEC) < 0)
			return -errno;
		fd[i] = 3 + i;
	}
	return close_range(6, ~0u, 0) < 0 ? -errno : 0;
}

static int enter(int fd[3])
{
	int r = keep_only(fd);

	r = r < 0 ? r : bound(RLIMIT_CORE, 0);
	r = r < 0 ? r : bound(RLIMIT_NOFILE, JAIL_FDS);
	if (!SANITIZED)
		r = r < 0 ? r : bound(RLIMIT_AS, JAIL_MEMORY);
	r = r < 0 ? r : drop_rights();
	r = r < 0 ? r
		  : enter_landlock(fd[1], all_access(), LANDLOCK_SCOPE_SIGNAL);
	return r < 0 ? r : enter_seccomp();
}

/** struct tell - Where the child reports */
struct tell {
	int fd;
	uint64_t last;
};

static void tell(int fd, const struct wr *wr)
{
	ptrdiff_t n = wr_end(wr);

	bug_on(n < 0);
	/* Nobody to hear it: then nobody waits for what we do, either. */
	if (write(fd, wr->buf, (size_t)n) != n)
		_exit(1);
}

static void tell_done(void *arg, uint64_t done)
{
	struct tell *t = arg;
	uint8_t buf[MSG_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));

	if (done - t->last < TELL_BYTES)
		return;
	t->last = done;
	wr_u8(&wr, MSG_DONE);
	wr_le64(&wr, done);
	tell(t->fd, &wr);
}

static void tell_end(int fd, int r, const struct unpack_result *res,
		     const struct err *e)
{
	uint8_t buf[MSG_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));

	wr_u8(&wr, MSG_END);
	wr_le32(&wr, (uint32_t)-r);
	wr_str(&wr, e->msg);
	wr_le64(&wr, res->bytes);
	wr_le64(&wr, res->entries);
	wr_str(&wr, res->packed);
	wr_str(&wr, res->plain);
	tell(fd, &wr);
}

__attribute__((noreturn)) static void child(jail_fn *fn,
					    const struct unpack_job *given,
					    int report, pid_t parent)
{
	int fd[3] = { given->src_fd, given->tree_fd, report };
	struct unpack_result res = { 0 };
	struct unpack_job job = *given;
	struct err e = { 0 };
	struct tell t = { 0 };
	int r;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
	r = enter(fd);
	if (r < 0) {
		r = err_set(&e, r, "cannot lock the unpacker in: %s",
			    strerror(-r));
	} else {
		job.src_fd = fd[0];
		job.tree_fd = fd[1];
		t.fd = fd[2];
		r = fn(&job, tell_done, &t, &res, &e);
	}
	tell_end(fd[2], r, &res, &e);
	_exit(0);
}

/* ---- The parent ---- */

static int read_end(struct rd *rd, struct unpack_result *ret, struct err *e)
{
	struct unpack_result res = { 0 };
	uint32_t code = rd_le32(rd);
	const char *msg = rd_str(rd), *packed, *plain;

	res.bytes = rd_le64(rd);
	res.entries = rd_le64(rd);
	packed = rd_str(rd);
	plain = rd_str(rd);
	/* Its words are as good as the archive's: escaped, if it is honest. */
	if (rd_end(rd) < 0 || code > 4095 || strlen(msg) >= ERR_MSG_MAX ||
	    !imagework_clean(msg))
		return err_set(e, -EPROTO, "the unpacker spoke nonsense");
	if (code)
		return err_set(e, -(int)code, "%s", msg);
	if (strlen(packed) != SHA_HEX || strlen(plain) != SHA_HEX)
		return err_set(e, -EPROTO, "the unpacker spoke nonsense");
	memcpy(res.packed, packed, SHA_HEX);
	memcpy(res.plain, plain, SHA_HEX);
	*ret = res;
	return 0;
}

/* Return: 1 to go on; else the result is in @ret_r. */
static int read_msg(int fd, stream_fn *report, void *arg,
		    struct unpack_result *ret, int *ret_r, struct err *e)
{
	uint8_t buf[MSG_MAX];
	ssize_t n;
	struct rd rd;
	uint64_t done;

	do
		n = recv(fd, buf, sizeof(buf), 0);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return 0;
	rd = rd_init(buf, (size_t)n);
	switch (rd_u8(&rd)) {
	case MSG_DONE:
		done = rd_le64(&rd);
		if (rd_end(&rd) == 0 && report)
			report(arg, done);
		return 1;
	case MSG_END:
		*ret_r = read_end(&rd, ret, e);
		return 0;
	default:
		return 1;
	}
}

static int reap(pid_t pid)
{
	int status;
	pid_t got;

	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	return got == pid ? status : 0;
}

static int serve(pid_t pid, int fd, stream_fn *report, void *arg,
		 struct unpack_result *ret, struct err *e)
{
	int r = -EPROTO, status;

	(void)err_set(e, r, "the unpacker ended without a word");
	while (read_msg(fd, report, arg, ret, &r, e))
		;
	status = reap(pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		return err_set(
			e, -EPROTO,
			"the unpacker was ended, since it asked for what "
			"it may not do");
	if (WIFSIGNALED(status))
		return err_set(e, -EPROTO,
			       "the unpacker was ended by signal %d",
			       WTERMSIG(status));
	return r;
}

int jail_run(jail_fn *fn, const struct unpack_job *job, stream_fn *report,
	     void *arg, struct unpack_result *ret, struct err *e)
{
	pid_t pid, me = getpid();
	int fd[2], r;

	/* Whole messages, and as much room as the kernel likes to give. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0)
		return err_set(e, -errno, "cannot make a pair of sockets: %s",
			       strerror(errno));
	pid = fork();
	if (pid < 0) {
		r = err_set(e, -errno, "cannot make a process: %s",
			    strerror(errno));
	} else if (pid == 0) {
		child(fn, job, fd[1], me);
	} else {
		(void)close(take_fd(&fd[1]));
		r = serve(pid, fd[0], report, arg, ret, e);
	}
	(void)close(fd[0]);
	base_closep(&fd[1]);
	return r;
}
