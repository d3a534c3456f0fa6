/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the root of a lab that is a machine of its own. */
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#define NEW "/new"
#define P9  "trans=virtio,version=9p2000.L,msize=512000,access=user,"

struct mnt {
	const char *what;
	const char *where;
	const char *type;
	unsigned long flags;
	const char *data;
};

static int mount_all(const struct mnt *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (world_mkdirs(m[i].where, 0755) < 0)
			return -1;
		if (mount(m[i].what, m[i].where, m[i].type, m[i].flags,
			  m[i].data) < 0)
			return world_fail("cannot mount", m[i].where);
	}
	return 0;
}

/* The host's root, read-only, under a layer in memory. */
static int make_root(void)
{
	static const struct mnt lower[] = {
		{ "layer", "/layer", "tmpfs", 0, "mode=0755" },
		{ "host", "/layer/host", "9p", MS_RDONLY, P9 "cache=loose" },
		{ "layer", "/layer/top", "tmpfs", 0, "mode=0755,size=50%" },
	};
	static const struct mnt root[] = {
		{ "root", NEW, "overlay", 0,
		  "lowerdir=/layer/host,upperdir=/layer/top/upper,"
		  "workdir=/layer/top/work" },
		{ "dev", NEW "/dev", "devtmpfs", MS_NOSUID, "mode=0755" },
		{ "pts", NEW "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		  "gid=5,mode=620,ptmxmode=666" },
		{ "shm", NEW "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV,
		  "mode=1777,size=75%" },
		{ "mqueue", NEW "/dev/mqueue", "mqueue", 0, NULL },
		{ "proc", NEW "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  NULL },
		{ "sys", NEW "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  NULL },
		{ "cgroup2", NEW "/sys/fs/cgroup", "cgroup2",
		  MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL },
		{ "run", NEW "/run", "tmpfs", MS_NOSUID | MS_NODEV,
		  "mode=0755" },
		{ "/dev/vda", NEW "/scratch", "ext4", 0, NULL },
	};

	if (mount_all(lower, sizeof(lower) / sizeof(*lower)) < 0 ||
	    world_mkdirs("/layer/top/upper", 0755) < 0 ||
	    world_mkdirs("/layer/top/work", 0755) < 0)
		return -1;
	return mount_all(root, sizeof(root) / sizeof(*root));
}

/*
 * The ordinary user must reach a folder that may lie below /root, which is
 * closed: the folders above it are opened, in the throw-away layer only.
 */
static int open_way(const char *path)
{
	char part[4096];
	struct stat st;

	for (size_t i = 1; path[i]; i++) {
		if (i >= sizeof(part))
			return -ENAMETOOLONG;
		if (path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (stat(part, &st) < 0 ||
		    ((st.st_mode & 0111) != 0111 &&
		     chmod(part, (st.st_mode & 07777) | 0111) < 0))
			return world_fail("cannot open the way to", path);
	}
	return 0;
}

/*
 * cache=mmap keeps nothing of a file past its last close, so each side sees
 * what the other has written.
 */
static int mount_shares(const struct world *w)
{
	const char *tree = w->s[WORLD_TREE], *cache = w->s[WORLD_CACHE];
	/* A share inside another is mounted after it. */
	int first = strncmp(tree, cache, strlen(cache)) == 0;
	const struct mnt m[] = {
		{ "tree", tree, "9p", 0, P9 "cache=mmap" },
		{ "cache", cache, "9p", 0, P9 "cache=mmap" },
	};

	for (int i = 0; i < 2; i++) {
		const struct mnt *x = &m[i ^ first];

		if (open_way(x->where) < 0 || mount_all(x, 1) < 0)
			return -1;
	}
	return 0;
}

static int mount_images(const struct world *w)
{
	const struct mnt m = { w->s[WORLD_IMAGES], "/images", "ext4",
			       MS_NOSUID | MS_NODEV, NULL };

	return *m.what ? mount_all(&m, 1) : 0;
}

static int enter_root(void)
{
	if (chdir(NEW) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 ||
	    chroot(".") < 0 || chdir("/") < 0)
		return world_fail("cannot enter", NEW);
	return 0;
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		(void)world_fail("cannot write", path);
	if (fd >= 0)
		close(fd);
}

/* As udev and systemd would have left them. */
static void settle_devices(const struct world *w)
{
	static const char *const group[] = { "/dev/kvm", "/dev/vhost-vsock",
					     "/dev/vhost-net" };
	static const char *const all[] = { "/dev/net/tun", "/dev/vsock",
					   "/dev/fuse" };

	for (size_t i = 0; i < sizeof(group) / sizeof(*group); i++)
		if (chown(group[i], 0, w->kvm_gid) < 0 ||
		    chmod(group[i], 0660) < 0)
			(void)world_fail("cannot hand over", group[i]);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (chmod(all[i], 0666) < 0 && errno != ENOENT)
			(void)world_fail("cannot hand over", all[i]);
	(void)symlink("/proc/self/fd", "/dev/fd");
	(void)symlink("/proc/self/fd/0", "/dev/stdin");
	(void)symlink("/proc/self/fd/1", "/dev/stdout");
	(void)symlink("/proc/self/fd/2", "/dev/stderr");
}

static void settle_kernel(void)
{
	struct rlimit nofile = { .rlim_cur = 1024, .rlim_max = 524288 };
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s < 0 || ioctl(s, SIOCSIFFLAGS, &lo) < 0)
		(void)world_fail("cannot bring up", "lo");
	if (s >= 0)
		close(s);
	write_file("/proc/sys/net/ipv4/ping_group_range", "0 2147483647");
	write_file("/sys/fs/cgroup/cgroup.subtree_control",
		   "+cpu +cpuset +io +memory +pids");
	if (setrlimit(RLIMIT_NOFILE, &nofile) < 0)
		(void)world_fail("cannot set", "RLIMIT_NOFILE");
	if (sethostname("hutch-lab", 9) < 0)
		(void)world_fail("cannot set", "hostname");
}

static int own_dir(const char *path, mode_t mode, const struct world *w)
{
	if (world_mkdirs(path, mode) < 0)
		return -1;
	if (chown(path, w->uid, w->gid) < 0 || chmod(path, mode) < 0)
		return world_fail("cannot hand over", path);
	return 0;
}

static int settle_scratch(const struct world *w)
{
	char run[64];

	(void)snprintf(run, sizeof(run), "/run/user/%u", w->uid);
	if (own_dir("/scratch", 0755, w) < 0 ||
	    own_dir("/scratch/home", 0700, w) < 0 ||
	    own_dir(run, 0700, w) < 0 ||
	    world_mkdirs("/run/user/0", 0700) < 0 ||
	    world_mkdirs("/run/lock", 01777) < 0 ||
	    world_mkdirs("/scratch/root", 0700) < 0 ||
	    world_mkdirs("/scratch/lib", 0755) < 0 ||
	    world_mkdirs("/var/lib/hutch", 0755) < 0)
		return -1;
	/* Root keeps its state here, and an overlay cannot hold it all. */
	if (mount("/scratch/lib", "/var/lib/hutch", NULL, MS_BIND, NULL) < 0)
		return world_fail("cannot mount", "/var/lib/hutch");
	return 0;
}

/* So that modprobe finds what the lab did not load. */
static void link_modules(const struct world *w)
{
	char from[4352], to[300];
	struct utsname u;

	if (uname(&u) < 0 || !w->s[WORLD_MODULES][0])
		return;
	(void)snprintf(from, sizeof(from), "%s/%s", w->s[WORLD_MODULES],
		       u.release);
	(void)snprintf(to, sizeof(to), "/usr/lib/modules/%s", u.release);
	(void)world_mkdirs("/usr/lib/modules", 0755);
	if (symlink(from, to) < 0 && errno != EEXIST)
		(void)world_fail("cannot link", to);
}

/**
 * world_make_vm() - Make the lab's root and enter it
 * @w:		Configuration; the number of group kvm is set
 *
 * Context: PID 1 of a machine, in its initramfs, modules loaded.
 *
 * Return: 0, negative if the lab cannot be used; the console says why.
 */
int world_make_vm(struct world *w)
{
	if (make_root() < 0 || enter_root() < 0 || mount_shares(w) < 0 ||
	    mount_images(w) < 0 || world_people(w) < 0 ||
	    settle_scratch(w) < 0 || world_link_images(w) < 0)
		return -1;
	settle_devices(w);
	settle_kernel();
	link_modules(w);
	return 0;
}
