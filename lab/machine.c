/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends the process that is a lab. */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* QEMU and the namespaces' supervisor end at once when told to. */
#define MACHINE_GRACE_MS 10000

/* Runs mkfs on fd, which has no name. */
static int format(int fd)
{
	char path[32];
	int status;
	pid_t pid;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	pid = fork();
	if (pid == 0) {
		if (fcntl(fd, F_SETFD, 0) == 0)
			execlp("mkfs.ext4", "mkfs.ext4", "-q", "-F", "-E",
			       "lazy_itable_init=1,lazy_journal_init=1,nodiscard",
			       "-J", "size=64", path, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return host_fail("cannot run", "mkfs.ext4");
	if (status) {
		errno = ECHILD;
		return host_fail("cannot format the scratch disk with",
				 "mkfs.ext4");
	}
	return 0;
}

/* The scratch disk has no name from birth, so nothing can be left behind. */
static int make_disk(const struct host_opts *o)
{
	int fd = open(o->scratch, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return host_fail("cannot make a scratch disk in", o->scratch);
	if (ftruncate(fd, (off_t)o->disk_size) < 0 || format(fd) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int make_folder(const struct host_opts *o, struct machine *m)
{
	int n = snprintf(m->scratch, sizeof(m->scratch), "%s/scratch.XXXXXX",
			 o->scratch);

	if (n >= (int)sizeof(m->scratch) || !mkdtemp(m->scratch))
		return host_fail("cannot make a scratch folder in", o->scratch);
	return 0;
}

/* In the child. Descriptors move to where the command line says they are. */
static void become_machine(const struct host_opts *o, pid_t keeper, int port,
			   int disk, int console)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int from[] = { nothing, console, console, port, disk };
	char **argv = calloc(o->machine.n + 1, sizeof(*argv));
	sigset_t none;

	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != keeper || !argv)
		_exit(EXIT_LAB);
	memcpy(argv, o->machine.v, o->machine.n * sizeof(*argv));
	/* First out of each other's way. */
	for (int i = 0; i < 5; i++)
		if (from[i] >= 0)
			from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 10);
	for (int i = 0; i < 5; i++)
		if (from[i] >= 0 && dup2(from[i], i) < 0)
			_exit(EXIT_LAB);
	execvp(argv[0], argv);
	(void)dprintf(2, "cannot run '%s': %s\n", argv[0], strerror(errno));
	_exit(EXIT_LAB);
}

/**
 * machine_start() - Start a lab
 * @o:		Options
 * @ret:	Set
 *
 * It dies with the calling process, however that ends.
 *
 * Return: 0, or negative; stderr says why.
 */
int machine_start(const struct host_opts *o, struct machine *ret)
{
	pid_t pid, keeper = getpid();
	int port[2], out[2], disk = -1;

	*ret = (struct machine){ .port = -1, .console = -1 };
	if (o->disk_size)
		disk = make_disk(o);
	if (o->disk_size ? disk < 0 : make_folder(o, ret) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, port) < 0 ||
	    pipe2(out, O_CLOEXEC) < 0)
		return host_fail("cannot make", "pipe");
	pid = fork();
	if (pid == 0)
		become_machine(o, keeper, port[1], disk, out[1]);
	close(port[1]);
	close(out[1]);
	if (disk >= 0)
		close(disk);
	if (pid < 0)
		return host_fail("cannot start", o->machine.v[0]);
	if (fcntl(port[0], F_SETFL, O_NONBLOCK) < 0 ||
	    fcntl(out[0], F_SETFL, O_NONBLOCK) < 0)
		return host_fail("cannot use", "pipe");
	ret->pid = pid;
	ret->port = port[0];
	ret->console = out[0];
	return 0;
}

/**
 * machine_stop() - End a lab and wait until it is gone
 * @m:		Lab
 */
void machine_stop(struct machine *m)
{
	struct pollfd p = { .fd = -1, .events = POLLIN };

	if (m->pid <= 0)
		return;
	p.fd = (int)syscall(SYS_pidfd_open, m->pid, 0);
	(void)kill(m->pid, SIGTERM);
	if (p.fd < 0 || poll(&p, 1, MACHINE_GRACE_MS) <= 0)
		(void)kill(m->pid, SIGKILL);
	while (waitpid(m->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (p.fd >= 0)
		close(p.fd);
	m->pid = 0;
}
