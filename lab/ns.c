/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the root of a lab that is this machine in namespaces of its own. */
#include "world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* From sys/mount.h, which does not go together with linux/mount.h. */
int mount(const char *what, const char *where, const char *type,
	  unsigned long flags, const void *data);
int umount2(const char *where, int flags);
#define DETACH      2
#define BIND        4096
#define PRIVATE_ALL ((1 << 18) | (1 << 14))

/* The new root, until it is entered; any folder that every system has. */
#define NEW "/tmp"

static int clone_tree(const char *path)
{
	return (int)syscall(SYS_open_tree, AT_FDCWD, path,
			    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
}

static int attach(int fd, const char *where)
{
	return (int)syscall(SYS_move_mount, fd, "", AT_FDCWD, where,
			    MOVE_MOUNT_F_EMPTY_PATH);
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return world_fail("cannot open", path);
	n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? world_fail("cannot write", path) : 0;
}

/* Who is not root becomes the only user of a user namespace, as itself. */
static int own_user_namespace(void)
{
	char map[64];
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (!uid)
		return 0;
	if (unshare(CLONE_NEWUSER) < 0)
		return world_fail("cannot make", "user namespace");
	(void)snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	if (write_text("/proc/self/uid_map", map) < 0 ||
	    write_text("/proc/self/setgroups", "deny") < 0)
		return -1;
	(void)snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	return write_text("/proc/self/gid_map", map);
}

/* An entry of the host's root, held while the new root is made. */
struct entry {
	char name[256];
	char link[256]; /* of a symbolic link: where to */
	int fd;         /* of a folder: its mounts, detached */
};

/* More entries than any sane root has; what is beyond them is not seen. */
#define ENTRIES_MAX 64u

struct held {
	struct entry e[ENTRIES_MAX];
	unsigned int n;
	int tree;
	int cache;
	int scratch;
	int images; /* -1: none */
};

/* Links as they are, folders read-only, but for devices and /sys. */
static int hold_entry(struct held *h, const char *name)
{
	struct mount_attr ro = { .attr_set = MOUNT_ATTR_RDONLY };
	struct entry *e = &h->e[h->n];
	char path[300];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/%s", name);
	(void)snprintf(e->name, sizeof(e->name), "%s", name);
	e->fd = -1;
	if (h->n == ENTRIES_MAX || lstat(path, &st) < 0)
		return 0;
	if (S_ISLNK(st.st_mode)) {
		if (readlink(path, e->link, sizeof(e->link) - 1) > 0)
			h->n++;
		return 0;
	}
	if (!S_ISDIR(st.st_mode) || !strcmp(name, "proc") ||
	    !strcmp(name, "run") || !strcmp(name, "scratch"))
		return 0;
	e->fd = clone_tree(path);
	if (e->fd < 0)
		return world_fail("cannot take over", path);
	h->n++;
	if (strcmp(name, "dev") && strcmp(name, "sys") &&
	    syscall(SYS_mount_setattr, e->fd, "", AT_EMPTY_PATH | AT_RECURSIVE,
		    &ro, sizeof(ro)) < 0)
		return world_fail("cannot make read-only", path);
	return 0;
}

static int hold_entries(struct held *h)
{
	DIR *d = opendir("/");
	const struct dirent *e;
	int r = 0;

	if (!d)
		return world_fail("cannot read", "/");
	while (r >= 0 && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			r = hold_entry(h, e->d_name);
	closedir(d);
	return r;
}

/* Into the current folder, which is to be the root. */
static int attach_entries(struct held *h)
{
	for (unsigned int i = 0; i < h->n; i++) {
		const struct entry *e = &h->e[i];

		if (e->fd < 0 && symlink(e->link, e->name) < 0)
			return world_fail("cannot link", e->name);
		if (e->fd < 0)
			continue;
		if (mkdir(e->name, 0755) < 0 || attach(e->fd, e->name) < 0)
			return world_fail("cannot mount", e->name);
		close(e->fd);
	}
	return 0;
}

/* A folder that may be written, with what is thrown away at the end. */
static void layer_over(const char *path, unsigned int nr)
{
	char upper[64], work[64], data[512];

	(void)snprintf(upper, sizeof(upper), "/run/lab/%u/upper", nr);
	(void)snprintf(work, sizeof(work), "/run/lab/%u/work", nr);
	/* In a user namespace an overlay must keep its notes in user.*. */
	(void)snprintf(data, sizeof(data),
		       "lowerdir=%s,upperdir=%s,workdir=%s%s", path, upper,
		       work, getuid() ? ",userxattr" : "");
	if (world_mkdirs(upper, 0755) < 0 || world_mkdirs(work, 0755) < 0)
		return;
	if (mount("layer", path, "overlay", 0, data) < 0)
		(void)world_fail("goes on with a read-only", path);
}

static int fill_root(void)
{
	static const char *const layered[] = { "/tmp", "/var/tmp", "/etc",
					       "/var/lib" };
	/* Others' files cannot be changed by who is not root anyway. */
	const unsigned int n = getuid() ? 2 : 4;

	if (world_mkdirs("/run", 0755) < 0 ||
	    mount("run", "/run", "tmpfs", 0, "mode=0755") < 0 ||
	    mount("shm", "/dev/shm", "tmpfs", 0, "mode=1777") < 0)
		return world_fail("cannot mount", "/run and /dev/shm");
	if (mount("pts", "/dev/pts", "devpts", 0,
		  "newinstance,mode=620,ptmxmode=666") < 0)
		return world_fail("cannot mount", "/dev/pts");
	/* Where it is a device and no link, it is the host's. */
	if (mount("/dev/pts/ptmx", "/dev/ptmx", NULL, BIND, NULL) < 0)
		return world_fail("cannot mount", "/dev/ptmx");
	for (unsigned int i = 0; i < n; i++)
		layer_over(layered[i], i);
	return 0;
}

static int enter(void)
{
	if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", DETACH) < 0 ||
	    chdir("/") < 0)
		return world_fail("cannot enter", "the new root");
	return 0;
}

static int put(int fd, const char *where)
{
	if (world_mkdirs(where, 0755) < 0 || attach(fd, where) < 0)
		return world_fail("cannot mount", where);
	close(fd);
	return 0;
}

static int own_dir(const char *path, uid_t uid, gid_t gid, mode_t mode)
{
	if (world_mkdirs(path, mode) < 0 || chown(path, uid, gid) < 0)
		return world_fail("cannot hand over", path);
	return 0;
}

static int settle(struct world *w)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct stat kvm;
	char run[64];

	if (s < 0 || ioctl(s, SIOCSIFFLAGS, &lo) < 0)
		(void)world_fail("cannot bring up", "lo");
	if (s >= 0)
		close(s);
	(void)snprintf(run, sizeof(run), "/run/user/%u", w->uid);
	if (own_dir(run, w->uid, w->gid, 0700) < 0 ||
	    own_dir("/scratch", w->uid, w->gid, 0755) < 0 ||
	    own_dir("/scratch/home", w->uid, w->gid, 0700) < 0)
		return -1;
	/* The device may belong to another group than the one named kvm. */
	if (!getuid() && world_people(w) < 0)
		return -1;
	if (stat("/dev/kvm", &kvm) == 0)
		w->kvm_gid = kvm.st_gid;
	if (world_link_images(w) < 0)
		return -1;
	if (getuid())
		return 0;
	if (world_mkdirs("/run/user/0", 0700) < 0 ||
	    world_mkdirs("/scratch/root", 0700) < 0 ||
	    world_mkdirs("/scratch/lib", 0755) < 0 ||
	    world_mkdirs("/var/lib/hutch", 0755) < 0 ||
	    mount("/scratch/lib", "/var/lib/hutch", NULL, BIND, NULL) < 0)
		(void)world_fail("goes on with a read-only", "/var/lib/hutch");
	return 0;
}

static int make_root(struct world *w)
{
	const char *tree = w->s[WORLD_TREE], *cache = w->s[WORLD_CACHE];
	bool inside = strncmp(tree, cache, strlen(cache)) == 0;
	const char *images = w->s[WORLD_IMAGES];
	struct held h = { .images = -1 };
	int r;

	if (mount(NULL, "/", NULL, PRIVATE_ALL, NULL) < 0)
		return world_fail("cannot make private", "/");
	h.tree = clone_tree(tree);
	h.cache = clone_tree(cache);
	h.scratch = clone_tree(w->s[WORLD_SCRATCH]);
	if (*images)
		h.images = clone_tree(images);
	if (h.tree < 0 || h.cache < 0 || h.scratch < 0 ||
	    (*images && h.images < 0))
		return world_fail("cannot take over", tree);
	if (hold_entries(&h) < 0)
		return -1;
	if (mount("root", NEW, "tmpfs", 0, "mode=0755") < 0 || chdir(NEW) < 0)
		return world_fail("cannot mount", NEW);
	/* In a user namespace proc mounts only while another is in sight. */
	if (mkdir("proc", 0755) < 0 ||
	    mount("proc", "proc", "proc", 0, NULL) < 0)
		return world_fail("cannot mount", "/proc");
	if (attach_entries(&h) < 0 || enter() < 0 || fill_root() < 0)
		return -1;
	/* What lies inside another is mounted after it. */
	r = put(h.scratch, "/scratch");
	if (r >= 0)
		r = inside ? put(h.cache, cache) : put(h.tree, tree);
	if (r >= 0)
		r = inside ? put(h.tree, tree) : put(h.cache, cache);
	if (r >= 0 && *images)
		r = put(h.images, "/images/store");
	return r < 0 ? r : settle(w);
}

/* Stands between the keeper and the lab's PID 1, to clean up after it. */
static void supervise(pid_t lab, const char *scratch)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	while (waitpid(lab, NULL, WNOHANG) == 0) {
		(void)sigwait(&set, &sig);
		if (sig == SIGTERM)
			(void)kill(lab, SIGKILL);
	}
	/* Not in a child: in a PID namespace without its PID 1 is no fork(). */
	execlp("rm", "rm", "-rf", "--", scratch, (char *)NULL);
	_exit(127);
}

/**
 * world_make_ns() - Make the lab's root and enter it
 * @w:		Configuration; the number of group kvm is set
 * @port:	Stream to the keeper
 *
 * Context: started by the keeper. The caller goes on as PID 1 of the lab,
 *          which ends with the keeper's stream.
 *
 * Return: 0, negative if the lab cannot be used; stderr says why.
 */
int world_make_ns(struct world *w, int port)
{
	pid_t pid;

	if (own_user_namespace() < 0)
		return -1;
	if (unshare(CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC) < 0)
		return world_fail("cannot make", "namespaces");
	pid = fork();
	if (pid < 0)
		return world_fail("cannot start", "PID 1");
	if (pid > 0) {
		/* However the keeper ends, there is cleaning up to do. */
		(void)prctl(PR_SET_PDEATHSIG, 0);
		close(port);
		supervise(pid, w->s[WORLD_SCRATCH]);
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Only here: who cleans up must see the host as it is. */
	if (unshare(CLONE_NEWNS) < 0)
		return world_fail("cannot make", "mount namespace");
	return make_root(w);
}
