/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/config.c - see config.h */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "common/log.h"
#include "common/unix.h"
#include "common/words.h"
#include "vmm/config.h"
#include "vmm/jail/jail.h"

#define CPUS_DEFAULT   1u
#define MEMORY_DEFAULT (256ull << 20)
#define QUOTE_MAX      64
#define FD_MAX         (1u << 20)
#define FIRST_FD       3 /* after those of stdio */
#define KEEP_MAX       (CONFIG_CONTROLS_MAX + SHARES_MAX + 9)

/**
 * struct option - One line of --help
 * @arg:	What the value is called there; NULL for a flag
 * @take:	Stores the value. Return: 0 or -errno with a sentence
 */
struct option {
	const char *name;
	const char *arg;
	const char *help;
	int (*take)(struct config *c, const char *v, struct err *e);
};

static int take_fd_number(const char *what, const char *v, int *ret,
			  struct err *e)
{
	uint64_t n = 0;
	int r;

	if (strncmp(v, "fd=", 3) != 0)
		return err_set(e, -EINVAL, "%s: write fd=N, not '%.32s'", what,
			       v);
	r = words_uint(what, v + 3, 0, FD_MAX, &n, e);
	if (r == 0)
		*ret = (int)n;
	return r;
}

static int take_end(const char *what, const char *v, struct config_end *end,
		    struct err *e)
{
	if (strncmp(v, "fd=", 3) == 0)
		return take_fd_number(what, v, &end->fd, e);
	if (!*v)
		return err_set(e, -EINVAL, "%s: an empty path", what);
	end->path = v;
	return 0;
}

static int take_path(const char *what, const char *v, struct config_end *end,
		     struct err *e)
{
	if (!*v)
		return err_set(e, -EINVAL, "%s: an empty path", what);
	end->path = v;
	return 0;
}

static int take_kernel(struct config *c, const char *v, struct err *e)
{
	return take_path("--kernel", v, &c->kernel, e);
}

static int take_cpus(struct config *c, const char *v, struct err *e)
{
	uint64_t n = 0;
	int r = words_uint("--cpus", v, 1, CONFIG_CPUS_MAX, &n, e);

	if (r == 0)
		c->cpus = (unsigned int)n;
	return r;
}

static uint64_t host_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), len = sysconf(_SC_PAGESIZE);

	return pages > 0 && len > 0 ? (uint64_t)pages * (uint64_t)len : 0;
}

static int take_memory(struct config *c, const char *v, struct err *e)
{
	uint64_t n = 0, most = host_memory();
	int r = words_size("--memory", v, &n, e);

	if (r < 0)
		return r;
	if (n < CONFIG_MEMORY_MIN)
		return err_set(e, -ERANGE,
			       "--memory: '%.32s' is less than 64M, which is "
			       "the least that a guest can have",
			       v);
	if (n > most)
		return err_set(e, -ERANGE,
			       "--memory: '%.32s' is more than this host has, "
			       "which is %lluM",
			       v, (unsigned long long)(most >> 20));
	if (n % CONFIG_MEMORY_ALIGN)
		return err_set(e, -EINVAL,
			       "--memory: '%.32s' is not a multiple of 4096 "
			       "bytes",
			       v);
	c->memory = n;
	return 0;
}

static int take_cmdline(struct config *c, const char *v,
			struct err *e __attribute__((unused)))
{
	c->cmdline = v;
	return 0;
}

static int take_initrd(struct config *c, const char *v, struct err *e)
{
	return take_path("--initrd", v, &c->initrd, e);
}

static int take_agent(struct config *c, const char *v, struct err *e)
{
	return take_path("--agent", v, &c->agent, e);
}

static int take_boot(struct config *c, const char *v, struct err *e)
{
	return take_end("--boot-config", v, &c->boot, e);
}

static int take_vsock(struct config *c, const char *v, struct err *e)
{
	return take_end("--vsock", v, &c->vsock, e);
}

static int take_connector(struct config *c, const char *v, struct err *e)
{
	return take_fd_number("--connector", v, &c->connector_fd, e);
}

static int take_console(struct config *c, const char *v, struct err *e)
{
	if (strcmp(v, "-") == 0) {
		c->console_stdout = true;
		return 0;
	}
	return take_path("--console", v, &c->console, e);
}

static int take_control(struct config *c, const char *v, struct err *e)
{
	if (c->n_controls == CONFIG_CONTROLS_MAX)
		return err_set(e, -ERANGE, "--control: more than %u of them",
			       CONFIG_CONTROLS_MAX);
	return take_end("--control", v, &c->control[c->n_controls++], e);
}

static int take_fs(struct config *c, const char *v, struct err *e)
{
	struct share_opt s;
	int r;

	if (c->n_shares == SHARES_MAX)
		return err_set(e, -ERANGE, "--fs: more than %u of them",
			       SHARES_MAX);
	r = share_opt_parse(v, &s, e);
	for (unsigned int i = 0; r == 0 && i < c->n_shares; i++)
		if (strcmp(c->share[i].tag, s.tag) == 0)
			r = err_set(e, -EINVAL, "--fs: tag=%s is given twice",
				    s.tag);
	if (r == 0)
		c->share[c->n_shares++] = s;
	return r;
}

static int take_net(struct config *c, const char *v, struct err *e)
{
	if (c->net_given)
		return err_set(e, -EINVAL, "--net: a VM has one of it");
	c->net_given = true;
	return net_opt_parse(v, &c->net, e);
}

static int take_lifeline(struct config *c, const char *v, struct err *e)
{
	return take_fd_number("--lifeline", v, &c->lifeline_fd, e);
}

static int take_help(struct config *c, const char *v __attribute__((unused)),
		     struct err *e __attribute__((unused)))
{
	c->help = true;
	return 0;
}

static int take_version(struct config *c, const char *v __attribute__((unused)),
			struct err *e __attribute__((unused)))
{
	c->version = true;
	return 0;
}

static const struct option options[] = {
	{ "--kernel", "FILE", "an ELF vmlinux or a bzImage; required",
	  take_kernel },
	{ "--cpus", "N", "virtual CPUs, 1 to 32 (1)", take_cpus },
	{ "--memory", "SIZE", "RAM, from 64M to what the host has (256M)",
	  take_memory },
	{ "--cmdline", "TEXT", "the kernel's command line, in place of ours",
	  take_cmdline },
	{ "--initrd", "FILE", "an initramfs, given to the kernel as it is",
	  take_initrd },
	{ "--agent", "FILE", "a static program to be /init, in an initramfs",
	  take_agent },
	{ "--boot-config", "FILE|fd=N", "what /init finds as /.hutch/boot",
	  take_boot },
	{ "--vsock", "PATH|fd=N",
	  "Unix socket by which clients reach the guest", take_vsock },
	{ "--connector", "fd=N", "socket to who makes the guest's connects",
	  take_connector },
	{ "--console", "FILE|-",
	  "keep the last 64K of the console, or print it", take_console },
	{ "--control", "PATH|fd=N", "control socket; may be given 8 times",
	  take_control },
	{ "--fs", "tag=T,dir=D|fd=N[,...]",
	  "share a folder: ro, cache=auto|always|never, owner=host|mapped,\n"
	  "                           uid=N, gid=N, queues=N, upper, lower,\n"
	  "                           quota=SIZE, inodes=N, window=SIZE,\n"
	  "                           dax=auto|never|inode|always,\n"
	  "                           locks=guest|host; up to 18 times",
	  take_fs },
	{ "--net", "none|tap=IF|fd=N|...",
	  "a network interface: a tap, or a stream of frames at fd=N or\n"
	  "                           unix=PATH; mac=MAC, mtu=N, vnet-hdr=on|off,\n"
	  "                           rate=BYTES/PACKETSp a second (none)",
	  take_net },
	{ "--lifeline", "fd=N", "end the VM at its end of file",
	  take_lifeline },
	{ "--help", NULL, "print this", take_help },
	{ "--version", NULL, "print the version", take_version },
};

static const struct option *find(const char *arg, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (strlen(options[i].name) == len &&
		    memcmp(options[i].name, arg, len) == 0)
			return &options[i];
	return NULL;
}

/* "--name value" or "--name=value". Return: words used or -errno. */
static int take(struct config *c, char **argv, struct err *e)
{
	size_t len = strcspn(argv[0], "=");
	const char *value = argv[0][len] ? argv[0] + len + 1 : NULL;
	const struct option *o = find(argv[0], len);
	char q[QUOTE_MAX];
	int used = 1, r;

	if (!o)
		return err_set(e, -EINVAL,
			       "'%s' is not an option; see hutch-vmm --help",
			       log_escape(q, sizeof(q), argv[0], len));
	if (!o->arg && value)
		return err_set(e, -EINVAL, "%s takes no value", o->name);
	if (o->arg && !value) {
		value = argv[1];
		used = 2;
	}
	if (o->arg && !value)
		return err_set(e, -EINVAL, "%s needs a value: %s", o->name,
			       o->arg);
	r = o->take(c, value, e);
	return r < 0 ? r : used;
}

int config_parse(struct config *c, int argc, char **argv, struct err *e)
{
	static const struct config_end none = { .fd = -1 };
	int r;

	*c = (struct config){ .kernel = none,
			      .initrd = none,
			      .agent = none,
			      .boot = none,
			      .console = none,
			      .vsock = none,
			      .cpus = CPUS_DEFAULT,
			      .memory = MEMORY_DEFAULT,
			      .connector_fd = -1,
			      .lifeline_fd = -1,
			      .net = { .fd = -1 } };
	for (unsigned int i = 0; i < CONFIG_CONTROLS_MAX; i++)
		c->control[i] = none;
	for (int i = 1; i < argc; i += r) {
		r = take(c, argv + i, e);
		if (r < 0)
			return r;
	}
	if (c->help || c->version)
		return 0;
	if (!c->kernel.path)
		return err_set(e, -EINVAL,
			       "--kernel is missing; see hutch-vmm --help");
	for (unsigned int i = 0; i < c->n_shares; i++)
		share_opt_settle(&c->share[i], c->memory);
	if (!c->agent.path && (c->boot.path || c->boot.fd >= 0))
		return err_set(
			e, -EINVAL,
			"--boot-config is for --agent, which is missing");
	return 0;
}

static int open_file(const char *what, struct config_end *end, int flags,
		     struct err *e)
{
	struct stat st;

	if (end->path)
		end->fd = open(end->path, flags | O_CLOEXEC | O_NOCTTY, 0600);
	if (end->fd < 0)
		return end->path
			       ? err_set(e, -errno, "%s: cannot open '%s': %s",
					 what, end->path, strerror(errno))
			       : 0;
	if (fstat(end->fd, &st) < 0)
		return err_set(e, -errno, "%s: %s", what, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, -EINVAL, "%s: '%s' is not a regular file",
			       what, end->path ? end->path : "fd");
	return 0;
}

static int check_fd(const char *what, int fd, struct err *e)
{
	if (fd < 0)
		return 0;
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return err_set(e, -EINVAL, "%s: descriptor %d is not open",
			       what, fd);
	return 0;
}

static int check_fds(const struct config *c, struct err *e)
{
	int r = check_fd("--boot-config", c->boot.fd, e);

	if (r == 0)
		r = check_fd("--vsock", c->vsock.fd, e);
	if (r == 0)
		r = check_fd("--connector", c->connector_fd, e);
	if (r == 0)
		r = check_fd("--lifeline", c->lifeline_fd, e);
	for (unsigned int i = 0; r == 0 && i < c->n_controls; i++)
		r = check_fd("--control", c->control[i].fd, e);
	for (unsigned int i = 0; r == 0 && i < c->n_shares; i++)
		r = check_fd("--fs", c->share[i].fd, e);
	return r == 0 ? check_fd("--net", c->net.fd, e) : r;
}

static void close_others(const struct config *c)
{
	int keep[KEEP_MAX];
	unsigned int n = 0;

	keep[n++] = c->boot.fd;
	keep[n++] = c->vsock.fd;
	keep[n++] = c->connector_fd;
	keep[n++] = c->lifeline_fd;
	keep[n++] = c->net.fd;
	for (unsigned int i = 0; i < c->n_controls; i++)
		keep[n++] = c->control[i].fd;
	for (unsigned int i = 0; i < c->n_shares; i++)
		keep[n++] = c->share[i].fd;
	jail_close_others(FIRST_FD, keep, n);
}

static int open_socket(const char *what, struct config_end *end, struct err *e)
{
	int fd;

	if (!end->path)
		return 0;
	fd = unix_listen(AT_FDCWD, end->path, SOCK_STREAM, e);
	if (fd < 0)
		return err_wrap(e, fd, "%s", what);
	end->fd = fd;
	return 0;
}

static int open_sockets(struct config *c, struct err *e)
{
	int r = open_socket("--vsock", &c->vsock, e);

	for (unsigned int i = 0; r == 0 && i < c->n_controls; i++)
		r = open_socket("--control", &c->control[i], e);
	return r;
}

int config_open(struct config *c, struct err *e)
{
	int r;

	close_others(c);
	r = check_fds(c, e);
	if (r == 0)
		r = open_file("--kernel", &c->kernel, O_RDONLY, e);
	if (r == 0)
		r = open_file("--initrd", &c->initrd, O_RDONLY, e);
	if (r == 0)
		r = open_file("--agent", &c->agent, O_RDONLY, e);
	if (r == 0)
		r = open_file("--boot-config", &c->boot, O_RDONLY, e);
	if (r == 0)
		r = open_file("--console", &c->console,
			      O_RDWR | O_CREAT | O_NOFOLLOW, e);
	for (unsigned int i = 0; r == 0 && i < c->n_shares; i++)
		r = share_opt_open(&c->share[i], e);
	if (r == 0)
		r = net_opt_open(&c->net, c->cpus, e);
	return r == 0 ? open_sockets(c, e) : r;
}

static void close_end(struct config_end *end)
{
	drop_fd(&end->fd);
}

void config_close(struct config *c)
{
	close_end(&c->kernel);
	close_end(&c->initrd);
	close_end(&c->agent);
	close_end(&c->boot);
	close_end(&c->console);
	close_end(&c->vsock);
	for (unsigned int i = 0; i < c->n_controls; i++)
		close_end(&c->control[i]);
	for (unsigned int i = 0; i < c->n_shares; i++)
		drop_fd(&c->share[i].fd);
	net_opt_close(&c->net);
}

int config_help(FILE *f)
{
	int bad = fprintf(f, "usage: hutch-vmm --kernel FILE [OPTION]...\n"
			     "Boots one virtual machine on KVM and ends when "
			     "it ends.\n\n") < 0;

	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		const struct option *o = &options[i];
		char left[32];

		(void)snprintf(left, sizeof(left), "%s %s", o->name,
			       o->arg ? o->arg : "");
		bad |= fprintf(f, "  %-24s %s\n", left, o->help) < 0;
	}
	bad |= fprintf(f, "\nExit status: 0 the guest powered off, 1 an error "
			  "of the host, 2 bad usage or\ninput, 3 reset, 4 "
			  "guest panic, 5 guest crash, 6 stopped from "
			  "outside.\n") < 0;
	return bad ? -EIO : 0;
}
