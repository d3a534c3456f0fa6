/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/initramfs.c - see initramfs.h
 *
 * The same walk over the entries runs twice: with no memory it only adds up,
 * with memory it writes.  So the length cannot differ from what is written.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "vmm/core/mem.h"
#include "vmm/initramfs.h"

#define ALIGN       4u
#define HEAD_LEN    110u /* magic and 13 fields of 8 digits */
#define INITRD_MAX  (1ull << 32)
#define CONSOLE_DEV 5u
#define CONSOLE_MIN 1u

/**
 * struct out - Where the walk is
 * @m:		NULL while only adding up
 * @pos:	Bytes so far
 * @ino:	Of the last entry
 */
struct out {
	const struct gmem *m;
	uint64_t gpa;
	uint64_t pos;
	unsigned int ino;
};

/** struct entry - One member; @fd -1 for one with no contents */
struct entry {
	const char *name;
	unsigned int mode;
	int fd;
	uint64_t len;
	unsigned int dev_major;
	unsigned int dev_minor;
};

/* RAM is zeroed, so that padding is only a step. */
static void pad(struct out *o)
{
	o->pos = (o->pos + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

static int put_bytes(struct out *o, const void *p, size_t len)
{
	int r = o->m ? gmem_write(o->m, o->gpa + o->pos, p, len) : 0;

	o->pos += len;
	return r;
}

static int put_file(struct out *o, int fd, uint64_t len)
{
	int r = o->m ? gmem_load_fd(o->m, o->gpa + o->pos, fd, 0, len) : 0;

	o->pos += len;
	return r;
}

static int put_entry(struct out *o, const struct entry *x)
{
	size_t name_len = strlen(x->name) + 1;
	char head[HEAD_LEN + 1];
	int r;

	(void)snprintf(head, sizeof(head),
		       "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x"
		       "%08x",
		       ++o->ino, x->mode, 0u, 0u, 1u, 0u, (unsigned int)x->len,
		       0u, 0u, x->dev_major, x->dev_minor,
		       (unsigned int)name_len, 0u);
	r = put_bytes(o, head, HEAD_LEN);
	if (r == 0)
		r = put_bytes(o, x->name, name_len);
	pad(o);
	if (r == 0 && x->len > 0)
		r = put_file(o, x->fd, x->len);
	pad(o);
	return r;
}

static int file_len(const char *what, int fd, uint64_t max, uint64_t *ret,
		    struct err *e)
{
	struct stat st;

	*ret = 0;
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return err_set(e, -errno, "%s: %s", what, strerror(errno));
	if (st.st_size <= 0 || (uint64_t)st.st_size > max)
		return err_set(
			e, -EINVAL, "%s has %lld bytes, it must have 1 to %llu",
			what, (long long)st.st_size, (unsigned long long)max);
	*ret = (uint64_t)st.st_size;
	return 0;
}

static int put_ours(struct out *o, const struct initramfs *i, uint64_t agent,
		    uint64_t boot)
{
	const struct entry all[] = {
		{ "dev", S_IFDIR | 0755, -1, 0, 0, 0 },
		{ "dev/console", S_IFCHR | 0600, -1, 0, CONSOLE_DEV,
		  CONSOLE_MIN },
		{ ".hutch", S_IFDIR | 0700, -1, 0, 0, 0 },
		{ ".hutch/boot", S_IFREG | 0600, i->boot_fd, boot, 0, 0 },
		{ "init", S_IFREG | 0755, i->agent_fd, agent, 0, 0 },
		{ "TRAILER!!!", 0, -1, 0, 0, 0 },
	};
	int r = 0;

	for (size_t k = 0; r == 0 && k < ARRAY_LEN(all); k++)
		r = put_entry(o, &all[k]);
	return r;
}

static int walk(struct out *o, const struct initramfs *i, struct err *e)
{
	uint64_t initrd = 0, agent = 0, boot = 0;
	int r = file_len("the initramfs", i->initrd_fd, INITRD_MAX, &initrd, e);

	if (r == 0)
		r = file_len("the agent", i->agent_fd, INITRAMFS_AGENT_MAX,
			     &agent, e);
	if (r == 0)
		r = file_len("the boot message", i->boot_fd, INITRAMFS_BOOT_MAX,
			     &boot, e);
	if (r < 0)
		return r;
	if (initrd > 0)
		r = put_file(o, i->initrd_fd, initrd);
	pad(o);
	if (r == 0 && i->agent_fd >= 0)
		r = put_ours(o, i, agent, boot);
	if (r < 0)
		return err_set(e, r, "making the initramfs: %s", strerror(-r));
	return 0;
}

int initramfs_len(const struct initramfs *i, uint64_t *ret, struct err *e)
{
	struct out o = { .m = NULL };
	int r = walk(&o, i, e);

	if (r == 0)
		*ret = o.pos;
	return r;
}

int initramfs_load(const struct initramfs *i, const struct gmem *m,
		   uint64_t gpa, struct err *e)
{
	struct out o = { .m = m, .gpa = gpa };

	return walk(&o, i, e);
}
