/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/boot.c - see boot.h
 *
 * Every system call here is between the user and his first byte of output.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "common/io.h"
#include "common/rd.h"
#include "guest-agent/boot.h"
#include "guest-agent/hosts.h"
#include "guest-agent/layout.h"
#include "guest-agent/net.h"
#include "guest-agent/root.h"

#define NS_PER_S 1000000000ull

/* Of the agent itself: connections, pipes, cgroups. */
#define AGENT_NOFILE     16384u
#define AGENT_NOFILE_MAX 524288u

/** struct text_file - A file or a kernel setting, and what goes in */
struct text_file {
	const char *path;
	const char *text;
};

/* As container engines set them: ping and low ports need no privilege. */
static const struct text_file settings[] = {
	{ "/proc/sys/net/ipv4/ping_group_range", "0 2147483647" },
	{ "/proc/sys/net/ipv4/ip_unprivileged_port_start", "0" },
	{ "/proc/self/oom_score_adj", "-1000" },
};

/* As udev would set them: who may use them is asked elsewhere. */
static const char *const for_all[] = { "/dev/fuse", "/dev/net/tun",
				       "/dev/vsock" };

static const struct text_file links[] = {
	{ "/dev/fd", "/proc/self/fd" },
	{ "/dev/stdin", "/proc/self/fd/0" },
	{ "/dev/stdout", "/proc/self/fd/1" },
	{ "/dev/stderr", "/proc/self/fd/2" },
};

void boot_problem(struct boot *b, const struct err *e)
{
	log_err(&b->log, "boot: %s", e->msg);
	if (!*b->problem)
		(void)snprintf(b->problem, sizeof(b->problem), "%s", e->msg);
}

void boot_problem_errno(struct boot *b, const char *what, const char *name)
{
	struct err e;

	(void)err_set(&e, -errno, "%s '%s': %s", what, name, strerror(errno));
	boot_problem(b, &e);
}

/* Whoever asked for it would miss it: a guest without it is of no use. */
void boot_failed(struct boot *b, const struct err *e)
{
	log_err(&b->log, "boot: %s", e->msg);
	if (!*b->failed)
		(void)snprintf(b->failed, sizeof(b->failed), "%s", e->msg);
}

static void default_message(struct msg_boot *m)
{
	static const char *no_env[] = { NULL };

	*m = (struct msg_boot){ .root = WIRE_ROOT_BUILTIN,
				.hostname = "",
				.cwd = "",
				.user = "",
				.lower = "",
				.upper = "",
				.env = no_env };
}

static int parse_message(struct boot *b, size_t len, struct err *e)
{
	struct wire_reader r;
	struct wire_frame f;
	ssize_t took;
	int ret;

	/* The reader checks the header; the bytes are ours already. */
	wire_reader_init(&r, WIRE_FROM_FILE);
	took = wire_reader_push(&r, b->buf, len);
	ret = took < 0 ? (int)took : wire_reader_next(&r, &f, e);
	if (ret == 0 || (ret > 0 && f.len + WIRE_HDR_LEN != len))
		ret = err_set(e, -EBADMSG, "the message is cut or too long");
	wire_reader_done(&r);
	if (ret < 0)
		return ret;
	return wire_boot_parse(b->buf + WIRE_HDR_LEN, len - WIRE_HDR_LEN,
			       &b->msg, e);
}

static void read_message(struct boot *b)
{
	struct err e = { 0 };
	size_t len = 0;
	int r = io_read_file(AT_FDCWD, BOOT_FILE, WIRE_MSG_MAX + WIRE_HDR_LEN,
			     &b->buf, &len, &e);

	if (r == 0)
		r = parse_message(b, len, &e);
	if (r < 0) {
		(void)err_wrap(&e, r, "boot message");
		boot_problem(b, &e);
		default_message(&b->msg);
	}
	/* It may hold secrets, and what runs later has no use for it. */
	(void)unlink(BOOT_FILE);
	(void)unlink("/init");
}

int boot_write_file(const char *path, int flags, const char *text)
{
	struct stat st;

	/* An image may have anything there: a FIFO is not to make us wait. */
	auto_fd int fd = open(path,
			      O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
				      O_NOCTTY | flags,
			      0644);

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? io_write_full(fd, text, strlen(text))
				   : -EINVAL;
}

static void set_names(struct boot *b)
{
	const char *name = boot_hostname(&b->msg);
	char text[WIRE_HOSTNAME_MAX + 2];
	int r;

	if (sethostname(name, strlen(name)) < 0)
		boot_problem_errno(b, "hostname", name);
	(void)mkdir("/etc", 0755);
	(void)snprintf(text, sizeof(text), "%s\n", name);
	if (boot_write_file("/etc/hostname", O_CREAT | O_TRUNC, text) < 0)
		boot_problem_errno(b, "write", "/etc/hostname");
	r = hosts_set("/etc/hosts", name);
	if (r < 0) {
		errno = -r;
		boot_problem_errno(b, "write", "/etc/hosts");
	}
}

static void raise_lo(struct boot *b)
{
	struct ifreq ifr = { .ifr_name = "lo",
			     .ifr_flags = IFF_UP | IFF_RUNNING };
	auto_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr) < 0)
		boot_problem_errno(b, "bring up interface", "lo");
}

static void set_kernel(struct boot *b)
{
	struct rlimit rl = { .rlim_cur = AGENT_NOFILE,
			     .rlim_max = AGENT_NOFILE_MAX };
	uint64_t ns = b->msg.clock_ns;
	struct timespec ts = { .tv_sec = (time_t)(ns / NS_PER_S),
			       .tv_nsec = (long)(ns % NS_PER_S) };

	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		if (boot_write_file(settings[i].path, 0, settings[i].text) < 0)
			boot_problem_errno(b, "set", settings[i].path);
	if (setrlimit(RLIMIT_NOFILE, &rl) < 0)
		boot_problem_errno(b, "limit of", "descriptors");
	if (ns && clock_settime(CLOCK_REALTIME, &ts) < 0)
		boot_problem_errno(b, "set", "clock");
	/* Ctrl-Alt-Del is no business of a machine without a keyboard. */
	(void)reboot(RB_DISABLE_CAD);
}

static void make_cgroups(struct boot *b)
{
	struct err e;

	if (layout_make(&b->cgroups, &e) < 0)
		boot_problem(b, &e);
}

static void make_dev(struct boot *b)
{
	/* A kernel without one of these has no use for its mode either. */
	for (size_t i = 0; i < ARRAY_LEN(for_all); i++)
		(void)chmod(for_all[i], 0666);
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		if (symlink(links[i].text, links[i].path) < 0 &&
		    errno != EEXIST)
			boot_problem_errno(b, "link", links[i].path);
}

void boot_run(struct boot *b)
{
	*b = (struct boot){
		.log = { .fd = STDERR_FILENO,
			 .level = LOG_LEVEL_INFO,
			 .prefix = "hutch-agent: " },
		.cgroups = CGROUPS_NONE,
	};
	(void)umask(022);
	read_message(b);
	root_make(b);
	make_dev(b);
	set_names(b);
	raise_lo(b);
	net_set_up(b);
	set_kernel(b);
	make_cgroups(b);
	root_mount_message(b);
	if (b->msg.flags & WIRE_BOOT_MAKE_CWD && *b->msg.cwd)
		root_make_folders(b->msg.cwd);
}

void boot_power_off(const struct boot *b)
{
	sync();
	root_unmount_message(b);
	if (reboot(RB_POWER_OFF) < 0)
		log_err(&b->log, "power off: %s", strerror(errno));
	/* Reached only if the machine has no switch: PID 1 must not end. */
	for (;;)
		(void)pause();
}
