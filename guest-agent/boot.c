/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/boot.c - see boot.h
 *
 * The kernel unpacked the initramfs into its rootfs: this program as /init,
 * the boot message, and below /.hutch/root the system that processes will
 * see.  That folder becomes a mount of its own and is moved over /, so that
 * pivot_root(2) works in the guest, which it does not on the rootfs itself.
 * A bind mount does that with the files where they are; a tmpfs of its own
 * would be a copy of each, and look the same.
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
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "common/io.h"
#include "common/rd.h"
#include "guest-agent/boot.h"
#include "guest-agent/layout.h"

#define NS_PER_S 1000000000ull

/* Where a file system is whose one file will be seen elsewhere. */
#define HIDDEN "/run/.hutch-mount"

/* Of the agent itself: connections, pipes, cgroups. */
#define AGENT_NOFILE     16384u
#define AGENT_NOFILE_MAX 524288u

#define SAFE (MS_NOSUID | MS_NODEV | MS_NOEXEC)

/** struct mount_point - What every guest has; @at is relative to its root */
struct mount_point {
	const char *type;
	const char *at;
	unsigned long flags;
	const char *data;
};

/* Gid 5 is group tty in every distribution's /etc/group. */
static const struct mount_point mounts[] = {
	{ "devtmpfs", "dev", MS_NOSUID, "mode=0755" },
	{ "proc", "proc", SAFE, NULL },
	{ "sysfs", "sys", SAFE, NULL },
	{ "cgroup2", "sys/fs/cgroup", SAFE, "nsdelegate,memory_recursiveprot" },
	{ "devpts", "dev/pts", MS_NOSUID | MS_NOEXEC,
	  "mode=620,gid=5,ptmxmode=666" },
	{ "tmpfs", "dev/shm", MS_NOSUID | MS_NODEV, "mode=1777" },
	{ "tmpfs", "tmp", MS_NOSUID | MS_NODEV, "mode=1777" },
	{ "tmpfs", "run", MS_NOSUID | MS_NODEV, "mode=0755" },
};

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

static void problem(struct boot *b, const struct err *e)
{
	log_err(&b->log, "boot: %s", e->msg);
	if (!*b->problem)
		(void)snprintf(b->problem, sizeof(b->problem), "%s", e->msg);
}

static void problem_errno(struct boot *b, const char *what, const char *name)
{
	struct err e;

	(void)err_set(&e, -errno, "%s '%s': %s", what, name, strerror(errno));
	problem(b, &e);
}

static void default_message(struct msg_boot *m)
{
	static const char *no_env[] = { NULL };

	*m = (struct msg_boot){ .root = WIRE_ROOT_BUILTIN,
				.hostname = "",
				.cwd = "",
				.user = "",
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
		problem(b, &e);
		default_message(&b->msg);
	}
	/* It may hold secrets, and what runs later has no use for it. */
	(void)unlink(BOOT_FILE);
	(void)unlink("/init");
}

static void make_dir(const char *path)
{
	/* If it cannot be made, the mount on it says so. */
	(void)mkdir(path, 0755);
}

static void mount_one(struct boot *b, const struct mount_point *m)
{
	make_dir(m->at);
	if (mount(m->type, m->at, m->type, m->flags, m->data) < 0)
		problem_errno(b, "mount", m->at);
}

/* Our own 0 to 2, so that nothing else ever gets these numbers. */
static void open_stdio(struct boot *b)
{
	int fd = open("dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; fd >= 0 && i < 3; i++)
		if (fd != i && dup2(fd, i) < 0)
			problem_errno(b, "descriptor for", "/dev/null");
	if (fd > 2)
		(void)close(fd);
	fd = open("dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	b->log.fd = fd;
	b->log.kmsg = 1;
}

int boot_links(char *text)
{
	int n = 0;

	while (*text) {
		char *old = text, *end = strchr(text, '\n');
		char *new = strchr(text, ' ');

		if (!end || !new || new > end)
			return -EBADMSG;
		*end = '\0';
		*new ++ = '\0';
		text = end + 1;
		if (link(old, new) == 0)
			n++;
	}
	return n;
}

static void make_links(struct boot *b)
{
	auto_free char *text = NULL;
	struct err e = { 0 };
	int r = io_read_file(AT_FDCWD, BOOT_LINKS, BOOT_LINKS_MAX, &text, NULL,
			     &e);

	if (r == -ENOENT)
		return;
	if (r == 0)
		r = boot_links(text);
	if (r == -EBADMSG)
		(void)err_set(&e, r, BOOT_LINKS ": not lines of two names");
	if (r < 0)
		problem(b, &e);
	(void)unlink(BOOT_LINKS);
}

static void make_root(struct boot *b)
{
	make_dir("/.hutch");
	make_dir(BOOT_ROOT);
	if (mount(BOOT_ROOT, BOOT_ROOT, NULL, MS_BIND, NULL) < 0 ||
	    chdir(BOOT_ROOT) < 0) {
		problem_errno(b, "mount of the root", BOOT_ROOT);
		return;
	}
	make_links(b);
	for (size_t i = 0; i < ARRAY_LEN(mounts); i++) {
		mount_one(b, &mounts[i]);
		if (i == 0)
			open_stdio(b);
	}
	if (mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
	    chdir("/") < 0)
		problem_errno(b, "switch to the root", BOOT_ROOT);
}

/* A message's mounts may go where nothing is yet. */
static void make_parents(const char *path)
{
	char part[WIRE_PATH_MAX + 1];

	for (const char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(p - path),
			       path);
		make_dir(part);
	}
}

static unsigned long mount_flags(uint32_t flags)
{
	return (flags & WIRE_MOUNT_RDONLY ? MS_RDONLY : 0) |
	       (flags & WIRE_MOUNT_NOSUID ? MS_NOSUID : 0) |
	       (flags & WIRE_MOUNT_NODEV ? MS_NODEV : 0) |
	       (flags & WIRE_MOUNT_NOEXEC ? MS_NOEXEC : 0);
}

/* Whoever asked for it would miss it: a guest without it is of no use. */
static void mount_failed(struct boot *b, const struct msg_mount *m)
{
	struct err e;

	(void)err_set(&e, -errno, "mount '%s': %s", m->target, strerror(errno));
	log_err(&b->log, "boot: %s", e.msg);
	if (!*b->failed)
		(void)snprintf(b->failed, sizeof(b->failed), "%s", e.msg);
}

/* Out of sight, until its one file is where it belongs. */
static int mount_file(const struct msg_mount *m)
{
	int fd, r, cause;

	make_dir(HIDDEN);
	if (mount(m->source, HIDDEN, m->type, mount_flags(m->flags),
		  m->options) < 0)
		return -1;
	make_parents(m->target);
	/* If it cannot be made, the mount on it says so. */
	fd = open(m->target, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd >= 0)
		(void)close(fd);
	r = mount(HIDDEN "/" WIRE_MOUNT_ENTRY, m->target, NULL, MS_BIND, NULL);
	cause = errno;
	(void)umount2(HIDDEN, MNT_DETACH);
	(void)rmdir(HIDDEN);
	errno = cause;
	return r;
}

static int mount_folder(const struct msg_mount *m)
{
	make_parents(m->target);
	make_dir(m->target);
	return mount(m->source, m->target, m->type, mount_flags(m->flags),
		     m->options);
}

static void mount_message(struct boot *b)
{
	for (uint32_t i = 0; i < b->msg.n_mounts; i++) {
		const struct msg_mount *m = &b->msg.mounts[i];

		if ((m->flags & WIRE_MOUNT_FILE ? mount_file(m)
						: mount_folder(m)) < 0)
			mount_failed(b, m);
	}
}

static int write_file(const char *path, int flags, const char *text)
{
	auto_fd int fd =
		open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0644);

	return fd < 0 ? -errno : io_write_full(fd, text, strlen(text));
}

static void set_names(struct boot *b)
{
	const char *name = *b->msg.hostname ? b->msg.hostname : BOOT_HOSTNAME;
	char text[256 + WIRE_HOSTNAME_MAX];

	if (sethostname(name, strlen(name)) < 0)
		problem_errno(b, "hostname", name);
	make_dir("/etc");
	(void)snprintf(text, sizeof(text), "%s\n", name);
	if (write_file("/etc/hostname", O_CREAT | O_TRUNC, text) < 0)
		problem_errno(b, "write", "/etc/hostname");
	(void)snprintf(text, sizeof(text),
		       "127.0.0.1\tlocalhost\n"
		       "::1\tlocalhost ip6-localhost ip6-loopback\n"
		       "127.0.1.1\t%s\n",
		       name);
	if (write_file("/etc/hosts", O_CREAT | O_TRUNC, text) < 0)
		problem_errno(b, "write", "/etc/hosts");
}

static void raise_lo(struct boot *b)
{
	struct ifreq ifr = { .ifr_name = "lo",
			     .ifr_flags = IFF_UP | IFF_RUNNING };
	auto_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr) < 0)
		problem_errno(b, "bring up interface", "lo");
}

static void set_kernel(struct boot *b)
{
	struct rlimit rl = { .rlim_cur = AGENT_NOFILE,
			     .rlim_max = AGENT_NOFILE_MAX };
	uint64_t ns = b->msg.clock_ns;
	struct timespec ts = { .tv_sec = (time_t)(ns / NS_PER_S),
			       .tv_nsec = (long)(ns % NS_PER_S) };

	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		if (write_file(settings[i].path, 0, settings[i].text) < 0)
			problem_errno(b, "set", settings[i].path);
	if (setrlimit(RLIMIT_NOFILE, &rl) < 0)
		problem_errno(b, "limit of", "descriptors");
	if (ns && clock_settime(CLOCK_REALTIME, &ts) < 0)
		problem_errno(b, "set", "clock");
	/* Ctrl-Alt-Del is no business of a machine without a keyboard. */
	(void)reboot(RB_DISABLE_CAD);
}

static void make_cgroups(struct boot *b)
{
	struct err e;

	if (layout_make(&b->cgroups, &e) < 0)
		problem(b, &e);
}

static void make_dev(struct boot *b)
{
	/* A kernel without one of these has no use for its mode either. */
	for (size_t i = 0; i < ARRAY_LEN(for_all); i++)
		(void)chmod(for_all[i], 0666);
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		if (symlink(links[i].text, links[i].path) < 0 &&
		    errno != EEXIST)
			problem_errno(b, "link", links[i].path);
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
	make_root(b);
	make_dev(b);
	set_names(b);
	raise_lo(b);
	set_kernel(b);
	make_cgroups(b);
	mount_message(b);
}

void boot_power_off(const struct boot *b)
{
	sync();
	for (uint32_t i = b->msg.n_mounts; i > 0; i--)
		(void)umount2(b->msg.mounts[i - 1].target, MNT_DETACH);
	if (reboot(RB_POWER_OFF) < 0)
		log_err(&b->log, "power off: %s", strerror(errno));
	/* Reached only if the machine has no switch: PID 1 must not end. */
	for (;;)
		(void)pause();
}
