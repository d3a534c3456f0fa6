/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/fs/dir.c - READDIR and READDIRPLUS
 *
 * The positions that a guest sees are the host's.  A reader that goes on where
 * it was is served from what was read ahead; any other position is the host's
 * to make sense of.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "vmm/fs/attr.h"
#include "vmm/fs/entry.h"
#include "vmm/fs/ops.h"
#include "vmm/fs/owner.h"

/* Bytes before the name: there is no padding in what the kernel writes. */
#define DIRENT_HEAD offsetof(struct fs_dirent, name)

#define RECORD_MAX FUSE_REC_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + NAME_MAX)

/* Return: 0; -ENFILE if the guest has made us keep too much; -ENOMEM */
static int make_buf(struct fs_server *s, struct fs_dir *d)
{
	uint8_t *buf = malloc(FS_DIR_BUF);
	int r;

	if (!buf)
		return -ENOMEM;
	fs_lock(s);
	r = fs_mem_take(s, FS_DIR_BUF);
	fs_unlock(s);
	if (r < 0)
		free(buf);
	else
		d->buf = buf;
	return r;
}

/* Return: 1 if there are entries in the buffer, 0 at the end, or -errno */
static int fill(struct fs_server *s, struct fs_dir *d, int fd)
{
	int r = d->buf ? 0 : make_buf(s, d);
	ssize_t n;

	if (r < 0)
		return r;
	if (d->at < d->len)
		return 1;
	d->at = 0;
	d->len = 0;
	n = getdents64(fd, d->buf, FS_DIR_BUF);
	if (n < 0)
		return -errno;
	d->len = (size_t)n;
	return n > 0;
}

static int go_to(struct fs_dir *d, int fd, uint64_t off)
{
	if (off > INT64_MAX)
		return -EINVAL;
	if (d->next == (int64_t)off)
		return 0;
	d->at = 0;
	d->len = 0;
	if (lseek(fd, (off_t)off, SEEK_SET) < 0)
		return -errno;
	d->next = (int64_t)off;
	return 0;
}

/**
 * struct reader - One READDIR
 * @r:		Request and answer
 * @dir:	The folder
 * @dir_fd:	The folder, walked to for this; or -1: then each name is, and
 *		of what type a file is may remain unknown
 * @own:	@dir_fd if it is to be closed, else -1
 * @left:	Bytes that the guest asked for, and has not got yet
 * @plus:	With what each name stands for
 * @record:	An entry as the guest is to have it
 */
struct reader {
	struct fs_req *r;
	struct fs_inode *dir;
	int dir_fd;
	int own;
	size_t left;
	bool plus;
	uint8_t record[RECORD_MAX];
};

/*
 * In one piece, as each on its own is looked for in the guest's memory.
 *
 * Return: 1; 0 if it does not fit
 */
static int put_entry(struct reader *rd, const struct fs_dirent *de,
		     uint32_t type, const struct fuse_entry_out *entry)
{
	size_t len = strlen(de->name);
	size_t head = rd->plus ? FUSE_NAME_OFFSET_DIRENTPLUS : FUSE_NAME_OFFSET;
	size_t all = FUSE_REC_ALIGN(head + len);
	struct fuse_dirent out = {
		.ino = fs_attr_number(rd->r->s, de->ino),
		.off = (uint64_t)de->off,
		.namelen = (uint32_t)len,
		.type = type,
	};
	uint8_t *buf = rd->record;

	/* One that could not be looked up either. */
	if (len > NAME_MAX)
		return 1;
	if (all > rd->left || fs_req_needs(rd->r, all) < 0)
		return 0;
	/* Nothing above the root is the guest's to know. */
	if (rd->dir == rd->r->s->root && strcmp(de->name, "..") == 0)
		out.ino = 1;
	if (rd->plus)
		memcpy(buf, entry, sizeof(*entry));
	memcpy(buf + head - FUSE_NAME_OFFSET, &out, FUSE_NAME_OFFSET);
	memcpy(buf + head, de->name, len);
	memset(buf + head + len, 0, all - head - len);
	/* There is room for all of it. */
	if (fs_req_put(rd->r, buf, all) < 0)
		return 0;
	rd->left -= all;
	return 1;
}

static bool fits(const struct reader *rd, const char *name)
{
	size_t head = rd->plus ? FUSE_NAME_OFFSET_DIRENTPLUS : FUSE_NAME_OFFSET;
	size_t all = FUSE_REC_ALIGN(head + strlen(name));

	return all <= rd->left && fs_req_needs(rd->r, all) == 0;
}

static void forget_one(struct fs_server *s, uint64_t nodeid)
{
	struct fs_inode *ino = NULL;

	fs_lock(s);
	ino = fs_inode_find(s, nodeid);
	if (ino)
		fs_inode_forget(s, ino, 1);
	fs_unlock(s);
}

static int look_up(const struct reader *rd, const char *name,
		   struct fuse_entry_out *ret)
{
	struct fs_server *s = rd->r->s;

	if (rd->dir_fd < 0)
		return fs_entry_find(s, rd->dir, name, ret);
	return fs_entry_list(s, rd->dir, rd->dir_fd, name, ret);
}

/* What the host has there: not all of its file systems say so (XFS, ftype=0). */
static uint32_t host_type(const struct reader *rd, const struct fs_dirent *de)
{
	struct statx st = { 0 };

	if (base_is_dots(de->name))
		return DT_DIR;
	if (de->type != DT_UNKNOWN || rd->dir_fd < 0)
		return de->type;
	if (statx(rd->dir_fd, de->name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		  STATX_TYPE, &st) < 0)
		return DT_UNKNOWN;
	return IFTODT(st.stx_mode);
}

/*
 * What a file of a mapped tree is to the guest is in its attribute: overlayfs
 * and find(1) go by it, and would look up each name that has none.
 */
static uint32_t mapped_type(const struct reader *rd, const struct fs_dirent *de)
{
	uint32_t type = host_type(rd, de);
	auto_fd int fd = -1;

	if (type != DT_REG)
		return type;
	if (rd->dir_fd < 0)
		return DT_UNKNOWN;
	fd = fs_open_in(rd->r->s, rd->dir_fd, de->name, O_RDONLY);
	return fd < 0 ? DT_UNKNOWN : IFTODT(fs_owner_type(rd->r->s, fd));
}

/* Return: 1; 0 if it does not fit; -errno, when there can be no more */
static int put_one(struct reader *rd, const struct fs_dirent *de)
{
	struct fuse_entry_out entry = { 0 };
	struct fs_server *s = rd->r->s;
	bool plus = rd->plus && !base_is_dots(de->name);
	uint32_t type = de->type;
	int e = 0;

	if (!fits(rd, de->name))
		return rd->r->len ? 0 : -EINVAL;
	if (plus) {
		e = look_up(rd, de->name, &entry);
		if (e == -ENFILE || e == -ENOMEM)
			return e;
		/* One that cannot be looked up is listed without its node. */
		if (e < 0)
			entry = (struct fuse_entry_out){ 0 };
	}
	if (plus && e >= 0)
		type = IFTODT(entry.attr.mode);
	else if (fs_is_mapped(s))
		type = mapped_type(rd, de);
	e = put_entry(rd, de, type, &entry);
	if (e == 0 && entry.nodeid)
		forget_one(s, entry.nodeid);
	return e;
}

static int read_entries(struct reader *rd, struct fs_handle *h, uint64_t off)
{
	struct fs_dir *d = h->dir;
	int e = go_to(d, h->fd, off);

	while (e >= 0) {
		const struct fs_dirent *de;

		e = fill(rd->r->s, d, h->fd);
		if (e <= 0)
			break;
		de = (const void *)(d->buf + d->at);
		e = put_one(rd, de);
		if (e <= 0)
			break;
		d->at += de->len;
		d->next = de->off;
	}
	return rd->r->len ? 0 : e;
}

/* The folder that is made up for a file: 0 and 1 are the dots. */
static int read_stub(struct reader *rd, uint64_t off)
{
	static const char *const names[] = { ".", "..", FS_FILE_NAME };
	union {
		struct fs_dirent de;
		uint8_t room[DIRENT_HEAD + 8];
	} u;
	int e = 0;

	for (; off < ARRAY_LEN(names); off++) {
		u.de.ino = off + 1;
		u.de.off = (int64_t)off + 1;
		u.de.len = sizeof(u);
		u.de.type = off < 2 ? DT_DIR : DT_REG;
		memcpy(u.room + DIRENT_HEAD, names[off],
		       strlen(names[off]) + 1);
		e = put_one(rd, &u.de);
		if (e <= 0)
			break;
	}
	return rd->r->len ? 0 : e;
}

static int readdir_request(struct fs_req *r, bool plus)
{
	struct fuse_read_in in;
	struct reader rd = { .r = r, .plus = plus, .dir_fd = -1, .own = -1 };
	struct fs_handle *h = NULL;
	int e = fs_req_last(r, &in, sizeof(in));

	if (e < 0)
		return e;
	if (in.size > FS_IO_MAX)
		return -EINVAL;
	e = fs_handle_get(r->s, in.fh, r->h.nodeid, true, &h);
	if (e)
		return e;
	rd.left = in.size;
	rd.dir = h->ino;
	/* To look up in a mapped tree, each is found and opened by itself. */
	if (plus != fs_is_mapped(r->s))
		rd.dir_fd = fs_walk_dir(r->s, rd.dir, &rd.own);
	if (h->fd < 0) {
		e = read_stub(&rd, in.offset);
	} else {
		bug_on(pthread_mutex_lock(&h->dir->lock) != 0);
		e = read_entries(&rd, h, in.offset);
		bug_on(pthread_mutex_unlock(&h->dir->lock) != 0);
	}
	base_closep(&rd.own);
	fs_handle_put(r->s, h);
	return e;
}

int fs_op_readdir(struct fs_req *r)
{
	return readdir_request(r, false);
}

int fs_op_readdirplus(struct fs_req *r)
{
	return readdir_request(r, true);
}
