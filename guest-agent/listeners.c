/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/listeners.c - see listeners.h */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/io.h"
#include "common/wire.h"
#include "guest-agent/child.h"
#include "guest-agent/listeners.h"
#include "guest-agent/port.h"

#define LINE_MAX_BYTES 256
#define INODE_FIELD    9 /* of a line, from 0; the local address is 1 */

/**
 * struct table - All that listens, sorted by inode once it has been read
 * @unknown:	Of which no process has been found
 * @looks:	Descriptors looked at
 */
struct table {
	struct listener *l;
	size_t n;
	size_t unknown;
	unsigned int looks;
};

/* ---- What listens ---- */

/*
 * The kernel prints an address as words in the byte order of the CPU, of which
 * the memory is in that of the network.
 */
static int parse_address(const char *s, enum wire_family family,
			 uint8_t address[16])
{
	const size_t words = family == WIRE_IPV4 ? 1 : 4;

	memset(address, 0, 16);
	if (strspn(s, "0123456789ABCDEF") != 8 * words)
		return -ENOENT;
	for (size_t i = 0; i < words; i++) {
		char hex[9] = "";
		uint32_t w;

		memcpy(hex, s + 8 * i, 8);
		w = (uint32_t)strtoul(hex, NULL, 16);
		memcpy(address + 4 * i, &w, sizeof(w));
	}
	return 0;
}

int listener_parse(const char *line, enum wire_family family,
		   struct listener *ret)
{
	char copy[LINE_MAX_BYTES], *save = NULL;
	unsigned int port = port_in_line(line);
	size_t len = strlen(line);
	const char *field;

	if (port == 0 || len >= sizeof(copy))
		return -ENOENT;
	memcpy(copy, line, len + 1);
	*ret = (struct listener){ .port = (uint16_t)port,
				  .family = (uint8_t)family };
	field = strtok_r(copy, " ", &save);
	for (int i = 0; field && i < INODE_FIELD; i++) {
		if (i == 1 && parse_address(field, family, ret->address) < 0)
			return -ENOENT;
		field = strtok_r(NULL, " ", &save);
	}
	if (field)
		ret->inode = strtoull(field, NULL, 10);
	return 0;
}

static void read_table(struct table *t, const char *path,
		       enum wire_family family)
{
	char line[LINE_MAX_BYTES];
	FILE *f = fopen(path, "re");
	size_t done = 0;

	while (f && done < PORT_TABLE_MAX && t->n < LISTENERS_MAX &&
	       fgets(line, sizeof(line), f)) {
		done += strlen(line);
		if (listener_parse(line, family, &t->l[t->n]) == 0)
			t->n++;
	}
	if (f)
		(void)fclose(f);
}

/* ---- Whose it is ---- */

static int by_inode(const void *a, const void *b)
{
	const struct listener *x = a, *y = b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

/* As the process calls itself; the protocol takes anything but a NUL. */
static void read_name(int proc, char name[WIRE_COMM_MAX + 1])
{
	auto_fd int fd = openat(proc, "comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, name, WIRE_COMM_MAX);

	name[MAX(n, 0)] = '\0';
	name[strcspn(name, "\n")] = '\0';
}

/* Return: the listener that a descriptor is, or NULL */
static struct listener *look_at_fd(const struct table *t, int fds,
				   const char *name)
{
	static const char kind[] = "socket:[";
	char link[64];
	ssize_t n = readlinkat(fds, name, link, sizeof(link) - 1);
	struct listener key = { 0 };

	link[MAX(n, 0)] = '\0';
	if (strncmp(link, kind, sizeof(kind) - 1) != 0)
		return NULL;
	key.inode = strtoull(link + sizeof(kind) - 1, NULL, 10);
	return bsearch(&key, t->l, t->n, sizeof(key), by_inode);
}

static void look_at_process(struct table *t, int proc, uint32_t pid)
{
	int fd = openat(proc, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;

	if (!dir && fd >= 0)
		(void)close(fd);
	while (dir && t->unknown && t->looks++ < LISTENERS_LOOKS_MAX &&
	       (de = readdir(dir))) {
		struct listener *l = look_at_fd(t, dirfd(dir), de->d_name);

		if (!l || l->pid)
			continue;
		l->pid = pid;
		read_name(proc, l->name);
		t->unknown--;
	}
	if (dir)
		(void)closedir(dir);
}

static void find_processes(struct table *t)
{
	DIR *dir = opendir("/proc");
	const struct dirent *de;

	qsort(t->l, t->n, sizeof(*t->l), by_inode);
	t->unknown = t->n;
	while (dir && t->unknown && t->looks++ < LISTENERS_LOOKS_MAX &&
	       (de = readdir(dir))) {
		auto_fd int proc = -1;
		unsigned long pid = strtoul(de->d_name, NULL, 10);

		if (pid == 0 || pid > INT32_MAX)
			continue;
		proc = openat(dirfd(dir), de->d_name,
			      O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (proc >= 0)
			look_at_process(t, proc, (uint32_t)pid);
	}
	if (dir)
		(void)closedir(dir);
}

/* ---- The child ---- */

static int by_port(const void *a, const void *b)
{
	const struct listener *x = a, *y = b;

	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	if (x->family != y->family)
		return x->family < y->family ? -1 : 1;
	return memcmp(x->address, y->address, sizeof(x->address));
}

static int tell(int fd, const struct listener *l)
{
	struct msg_port m = { .port = l->port,
			      .family = (enum wire_family)l->family,
			      .pid = l->pid,
			      .name = l->name };
	uint8_t buf[128];
	struct wr wr = wr_init(buf, sizeof(buf));

	memcpy(m.address, l->address, sizeof(m.address));
	wire_port_put(&wr, &m);
	bug_on(wr_end(&wr) < 0);
	return io_write_full(fd, buf, wr.len);
}

static int tell_all(int fd)
{
	struct table t = { .l = calloc(LISTENERS_MAX, sizeof(*t.l)) };
	uint8_t buf[WIRE_HDR_LEN];
	struct wr wr = wr_init(buf, sizeof(buf));
	int r = 0;

	if (!t.l)
		return -ENOMEM;
	read_table(&t, "/proc/net/tcp", WIRE_IPV4);
	read_table(&t, "/proc/net/tcp6", WIRE_IPV6);
	find_processes(&t);
	qsort(t.l, t.n, sizeof(*t.l), by_port);
	for (size_t i = 0; r == 0 && i < t.n; i++)
		r = tell(fd, &t.l[i]);
	free(t.l);
	wire_empty_put(&wr, WIRE_DONE);
	return r < 0 ? r : io_write_full(fd, buf, wr.len);
}

static int send_rest(int fd, struct ring *out)
{
	struct iovec iov[2];
	int r = 0;

	while (r == 0 && ring_peek(out, iov) > 0) {
		r = io_write_full(fd, iov[0].iov_base, iov[0].iov_len);
		ring_drop(out, iov[0].iov_len);
	}
	return r;
}

static _Noreturn void serve(const struct listeners_spawn *s)
{
	char byte;
	int r;

	child_keep_only(s->fd);
	child_reset_signals();
	child_reset_limits();
	(void)signal(SIGPIPE, SIG_IGN);
	r = io_set_nonblock(s->fd, 0);
	if (r == 0)
		r = send_rest(s->fd, s->out);
	if (r == 0)
		r = tell_all(s->fd);
	/* Closing first could throw away what the client has not read. */
	if (r == 0 && shutdown(s->fd, SHUT_WR) == 0)
		while (read(s->fd, &byte, 1) > 0)
			;
	_exit(r < 0);
}

pid_t listeners_spawn(const struct listeners_spawn *s)
{
	pid_t pid = child_fork(s->cgroup_fd);

	if (pid == 0)
		serve(s);
	return pid;
}
