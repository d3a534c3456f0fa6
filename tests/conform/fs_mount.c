/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/conform/fs_mount.c - our FUSE server, with this kernel in the guest's place
 *
 *	fs_mount host|host-locks|host-nocache|mapped UID DIR MOUNTPOINT COMMAND...
 *
 * Mounts DIR, as vmm/fs serves it, while COMMAND runs, and ends as that does.
 * The requests come by way of /dev/fuse instead of a virtqueue; they are the
 * same, and so are the mount's options to those of virtio-fs. The server is a
 * process of that user, who has no rights but his own, with as many threads as
 * the device has. With host-locks, locks of files are those of the host; what
 * waits for one is put aside, as the device does. With host-nocache this kernel
 * is to remember nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base.h"
#include "vmm/fs/server.h"
#include "vmm/virtio/fs.h"

/* A request, or an answer, with its headers. */
#define BUFFER_LEN (FS_IO_MAX + (64u << 10))

/* So that a program may have a thousand files open. */
#define DESCRIPTORS 2048u

/* Of a request for a lock there is more than enough. */
#define ASIDE_LEN 4096u

/**
 * struct served - What is served
 * @fd:		/dev/fuse
 */
struct served {
	struct fs_server *s;
	int fd;
};

__attribute__((noreturn)) static void die(const char *what)
{
	(void)fprintf(stderr, "fs_mount: %s: %s\n", what, strerror(errno));
	exit(125);
}

/**
 * struct aside - A request that is put aside
 * @len:	Bytes in @in
 */
struct aside {
	struct served *v;
	size_t len;
	uint8_t in[ASIDE_LEN];
};

static void answer(const struct served *v, const uint8_t *out, size_t len)
{
	/* ENOENT is of a request that was called back. */
	if (len > 0 && write(v->fd, out, len) < 0 && errno != ENOENT)
		die("write to /dev/fuse");
}

static void *serve_again(void *arg)
{
	struct aside *a = arg;
	uint8_t out[ASIDE_LEN];
	const struct iovec from = { a->in, a->len };
	const struct iovec to = { out, sizeof(out) };
	size_t len;

	while ((len = fs_serve(a->v->s, &from, 1, &to, 1)) == FS_SERVE_LATER)
		(void)usleep(1000);
	answer(a->v, out, len);
	free(a);
	return NULL;
}

static void put_aside(struct served *v, const struct iovec *in)
{
	struct aside *a = malloc(sizeof(*a));
	pthread_t id;

	if (!a || in->iov_len > sizeof(a->in))
		die("a request to be put aside");
	a->v = v;
	a->len = in->iov_len;
	memcpy(a->in, in->iov_base, in->iov_len);
	if (pthread_create(&id, NULL, serve_again, a) != 0)
		die("pthread_create");
	(void)pthread_detach(id);
}

/* ENOENT is of a request that was called back, ENODEV of the end. */
static void *serve(void *arg)
{
	struct served *v = arg;
	uint8_t *in = malloc(BUFFER_LEN), *out = malloc(BUFFER_LEN);

	if (!in || !out)
		die("memory");
	for (;;) {
		ssize_t n = read(v->fd, in, BUFFER_LEN);
		struct iovec to = { out, BUFFER_LEN };
		struct iovec from = { in, (size_t)MAX(n, 0) };
		size_t len;

		if (n < 0 && errno == ENODEV)
			break;
		if (n < 0 && (errno == EINTR || errno == ENOENT))
			continue;
		if (n < 0)
			die("read of /dev/fuse");
		len = fs_serve(v->s, &from, 1, &to, 1);
		if (len == FS_SERVE_LATER)
			put_aside(v, &from);
		else
			answer(v, out, len);
	}
	free(in);
	free(out);
	return NULL;
}

/* As one who can do nothing but what anybody can. */
static void become(uid_t uid)
{
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		die("setresuid");
	/* Or the sanitizer that looks for leaks may not look. */
	(void)prctl(PR_SET_DUMPABLE, 1);
}

static void allow_descriptors(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		die("getrlimit");
	rl.rlim_cur = rl.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &rl) < 0)
		die("setrlimit");
}

static int run_server(struct served *v, const struct fs_opts *o, uid_t uid)
{
	pthread_t id[VIRTIO_FS_WORKERS_DEFAULT];
	struct err e = { 0 };

	allow_descriptors();
	become(uid);
	(void)umask(0);
	if (fs_server_new(o, &v->s, &e) < 0) {
		(void)fprintf(stderr, "fs_mount: %s\n", e.msg);
		return 125;
	}
	for (unsigned int i = 0; i < ARRAY_LEN(id); i++)
		if (pthread_create(&id[i], NULL, serve, v) != 0)
			die("pthread_create");
	for (unsigned int i = 0; i < ARRAY_LEN(id); i++)
		(void)pthread_join(id[i], NULL);
	fs_server_free(v->s);
	return 0;
}

static int code_of(pid_t pid)
{
	int status = 0;

	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

static int run_command(char **argv)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		(void)execvp(argv[0], argv);
		die(argv[0]);
	}
	return code_of(pid);
}

static void mount_at(const char *where, int fd)
{
	char options[128];

	(void)snprintf(options, sizeof(options),
		       "fd=%d,rootmode=40000,user_id=0,group_id=0,"
		       "default_permissions,allow_other",
		       fd);
	if (mount("hutch", where, "fuse", 0, options) < 0)
		die(where);
}

int main(int argc, char **argv)
{
	struct served v = { .fd = -1 };
	struct fs_opts o = { .fds_max = DESCRIPTORS };
	int code, served;
	pid_t pid;

	if (argc < 6) {
		(void)fprintf(stderr,
			      "usage: fs_mount host|host-locks|host-nocache|"
			      "mapped UID DIR MOUNTPOINT COMMAND...\n");
		return 125;
	}
	if (strcmp(argv[1], "mapped") == 0)
		o.owner = FS_OWNER_MAPPED;
	if (strcmp(argv[1], "host-locks") == 0)
		o.locks = FS_LOCKS_HOST;
	if (strcmp(argv[1], "host-nocache") == 0)
		o.cache = FS_CACHE_NEVER;
	o.root_fd = open(argv[3], O_PATH | O_DIRECTORY | O_CLOEXEC);
	v.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (o.root_fd < 0 || v.fd < 0)
		die(o.root_fd < 0 ? argv[3] : "/dev/fuse");
	mount_at(argv[4], v.fd);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0)
		return run_server(&v, &o, (uid_t)strtoul(argv[2], NULL, 10));
	/* Or the end of the server would not be that of the mount. */
	(void)close(v.fd);
	code = run_command(argv + 5);
	if (umount2(argv[4], MNT_DETACH) < 0)
		die("umount");
	served = code_of(pid);
	return served ? served : code;
}
