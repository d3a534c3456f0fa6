/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/fuse_kit.c - see fuse_kit.h */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/io.h"
#include "tests/lib/fuse_kit.h"

#define ROOM (64u << 10)

struct fs_opts fk_usual(void)
{
	return (struct fs_opts){ .root_fd = -1, .fds_max = 512 };
}

static void write_file(int dirfd, const char *path, const char *text)
{
	int fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0644);

	bug_on(fd < 0);
	bug_on(io_write_full(fd, text, strlen(text)) < 0);
	base_closep(&fd);
}

void fk_scratch(struct fuse_kit *k)
{
	const char *tmp = getenv("TMPDIR");

	*k = (struct fuse_kit){ .room = ROOM, .top_fd = -1, .fd = -1 };
	(void)umask(0);
	(void)snprintf(k->top, sizeof(k->top), "%s/hutch-fs-XXXXXX",
		       tmp ? tmp : "/tmp");
	bug_on(!mkdtemp(k->top));
	k->top_fd = open(k->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bug_on(k->top_fd < 0);
	bug_on(mkdirat(k->top_fd, "share", 0755) < 0);
	k->fd = openat(k->top_fd, "share", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bug_on(k->fd < 0);
	write_file(k->top_fd, "secret", FK_SECRET);
}

void fk_serve(struct fuse_kit *k, const struct fs_opts *o)
{
	struct fs_opts mine = *o;
	struct err e = { 0 };

	mine.root_fd = openat(k->top_fd, "share", O_PATH | O_CLOEXEC);
	bug_on(mine.root_fd < 0);
	if (fs_server_new(&mine, &k->s, &e) < 0) {
		(void)fprintf(stderr, "%s\n", e.msg);
		bug_on(true);
	}
}

int fk_start(struct fuse_kit *k)
{
	struct fuse_init_in in = {
		.major = 7,
		.minor = 41,
		.max_readahead = 128 << 10,
		.flags = UINT32_MAX & ~FUSE_INIT_RESERVED,
		.flags2 = UINT32_MAX,
	};

	return fk_op(k, FUSE_INIT, 0, &in, sizeof(in), FK_NO_NAMES);
}

void fk_init(struct fuse_kit *k, const struct fs_opts *o)
{
	struct fs_opts usual = fk_usual();

	fk_scratch(k);
	fk_serve(k, o ? o : &usual);
	bug_on(fk_start(k) != 0);
}

/* Step by step, as its paths may be longer than paths may be; closes @fd. */
static void empty(int fd)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *de;

	bug_on(!dir);
	while ((de = readdir(dir))) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0 ||
		    unlinkat(fd, de->d_name, 0) == 0)
			continue;
		bug_on(errno != EISDIR);
		bug_on(fchmodat(fd, de->d_name, 0700, 0) < 0);
		empty(openat(fd, de->d_name,
			     O_RDONLY | O_DIRECTORY | O_CLOEXEC));
		bug_on(unlinkat(fd, de->d_name, AT_REMOVEDIR) < 0);
	}
	(void)closedir(dir);
}

void fk_done(struct fuse_kit *k)
{
	char text[64] = { 0 };
	int fd = openat(k->top_fd, "secret", O_RDONLY | O_CLOEXEC);

	bug_on(fd < 0);
	bug_on(io_read_full(fd, text, sizeof(text) - 1) < 0);
	base_closep(&fd);
	bug_on(strcmp(text, FK_SECRET) != 0);
	fs_server_free(k->s);
	free(k->body);
	base_closep(&k->fd);
	empty(take_fd(&k->top_fd));
	bug_on(rmdir(k->top) < 0);
}

/* @len bytes of @src, or of nothing, in pieces. Return: how many pieces */
static unsigned int cut(struct iovec *iov, const uint8_t *src, size_t len,
			size_t piece)
{
	unsigned int n = 0;

	if (piece == 0 || len / piece >= FS_PIECES_MAX)
		piece = len ? len : 1;
	for (size_t at = 0; at < len; at += piece) {
		size_t part = MIN(piece, len - at);

		iov[n].iov_base = malloc(part);
		bug_on(!iov[n].iov_base);
		if (src)
			memcpy(iov[n].iov_base, src + at, part);
		iov[n++].iov_len = part;
	}
	return n;
}

static void free_pieces(const struct iovec *iov, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		free(iov[i].iov_base);
}

static void join(struct iovec *iov, unsigned int n, uint8_t *dst, size_t len)
{
	for (unsigned int i = 0; i < n && len > 0; i++) {
		size_t part = MIN(len, iov[i].iov_len);

		memcpy(dst, iov[i].iov_base, part);
		dst += part;
		len -= part;
	}
}

size_t fk_raw(struct fuse_kit *k, const void *in, size_t len, size_t out_len,
	      int *ret_error)
{
	struct iovec in_iov[FS_PIECES_MAX], out_iov[FS_PIECES_MAX];
	unsigned int n_in = cut(in_iov, in, len, k->piece);
	unsigned int n_out = cut(out_iov, NULL, out_len, k->piece);
	size_t n = fs_serve(k->s, in_iov, n_in, out_iov, n_out);
	const bool later = n == FS_SERVE_LATER;
	struct fuse_out_header h = { 0 };
	uint8_t *all;

	n = later ? 0 : n;
	all = malloc(n ? n : 1);

	bug_on(!all || n > out_len);
	join(out_iov, n_out, all, n);
	free_pieces(in_iov, n_in);
	free_pieces(out_iov, n_out);
	free(k->body);
	k->body = NULL;
	k->len = 0;
	*ret_error = later ? FK_LATER : 0;
	if (n > 0) {
		bug_on(n < sizeof(h));
		memcpy(&h, all, sizeof(h));
		bug_on(h.len != n || h.error > 0 || h.error < -4095);
		bug_on(h.error && n != sizeof(h));
		*ret_error = h.error;
		k->len = n - sizeof(h);
		k->body = malloc(k->len ? k->len : 1);
		bug_on(!k->body);
		memcpy(k->body, all + sizeof(h), k->len);
	}
	free(all);
	return n;
}

static size_t append(uint8_t *buf, size_t at, const void *src, size_t len)
{
	if (len)
		memcpy(buf + at, src, len);
	return at + len;
}

int fk_op(struct fuse_kit *k, uint32_t op, uint64_t node, const void *arg,
	  size_t len, struct fk_names names)
{
	size_t len1 = names.first ? strlen(names.first) + 1 : 0;
	size_t len2 = names.second ? strlen(names.second) + 1 : 0;
	struct fuse_in_header h = {
		.len = (uint32_t)(sizeof(h) + len + len1 + len2),
		.opcode = op,
		.unique = k->unique ? k->unique : 0x1234567890ull,
		.nodeid = node,
		.uid = k->uid,
		.gid = k->gid,
		.pid = k->tid ? k->tid : 1,
	};
	uint8_t *buf = malloc(h.len);
	size_t n;
	int error;

	bug_on(!buf);
	n = append(buf, 0, &h, sizeof(h));
	n = append(buf, n, arg, len);
	n = append(buf, n, names.first, len1);
	(void)append(buf, n, names.second, len2);
	n = fk_raw(k, buf, h.len, sizeof(struct fuse_out_header) + k->room,
		   &error);
	free(buf);
	bug_on(n == 0 && error != FK_LATER && op != FUSE_FORGET &&
	       op != FUSE_BATCH_FORGET);
	return error;
}

/* The answer begins with what the guest expects; what it has is not less. */
static int take(struct fuse_kit *k, int error, void *dst, size_t len)
{
	if (error)
		return error;
	bug_on(k->len < len);
	memcpy(dst, k->body, len);
	return 0;
}

int fk_lookup(struct fuse_kit *k, uint64_t dir, const char *name)
{
	int e = fk_op(k, FUSE_LOOKUP, dir, NULL, 0, FK_NAMES(name, NULL));

	return take(k, e, &k->entry, sizeof(k->entry));
}

int fk_getattr(struct fuse_kit *k, uint64_t node, struct fuse_attr *ret)
{
	struct fuse_getattr_in in = { 0 };
	struct fuse_attr_out out;
	int e = fk_op(k, FUSE_GETATTR, node, &in, sizeof(in), FK_NO_NAMES);

	e = take(k, e, &out, sizeof(out));
	if (e == 0)
		*ret = out.attr;
	return e;
}

void fk_forget(struct fuse_kit *k, uint64_t node, uint64_t n)
{
	struct fuse_forget_in in = { .nlookup = n };

	(void)fk_op(k, FUSE_FORGET, node, &in, sizeof(in), FK_NO_NAMES);
}

int fk_setattr(struct fuse_kit *k, uint64_t node,
	       const struct fuse_setattr_in *in, struct fuse_attr *ret)
{
	struct fuse_attr_out out = { 0 };
	int e = fk_op(k, FUSE_SETATTR, node, in, sizeof(*in), FK_NO_NAMES);

	e = take(k, e, &out, sizeof(out));
	if (e == 0 && ret)
		*ret = out.attr;
	return e;
}

static int take_open(struct fuse_kit *k, int error, size_t off)
{
	struct fuse_open_out out;

	if (error)
		return error;
	bug_on(k->len != off + sizeof(out));
	memcpy(&out, k->body + off, sizeof(out));
	k->fh = out.fh;
	k->open_flags = out.open_flags;
	return 0;
}

int fk_open(struct fuse_kit *k, uint64_t node, uint32_t flags)
{
	struct fuse_open_in in = { .flags = flags };

	return take_open(
		k, fk_op(k, FUSE_OPEN, node, &in, sizeof(in), FK_NO_NAMES), 0);
}

static int make(struct fuse_kit *k, uint32_t op, uint64_t dir, const char *name,
		const struct fuse_create_in *in)
{
	int e = fk_op(k, op, dir, in, sizeof(*in), FK_NAMES(name, NULL));

	e = take(k, e, &k->entry, sizeof(k->entry));
	return take_open(k, e, sizeof(k->entry));
}

int fk_create(struct fuse_kit *k, uint64_t dir, const char *name,
	      uint32_t flags, uint32_t mode)
{
	struct fuse_create_in in = { .flags = flags | O_CREAT,
				     .mode = S_IFREG | mode };

	return make(k, FUSE_CREATE, dir, name, &in);
}

int fk_tmpfile(struct fuse_kit *k, uint64_t dir, uint32_t flags, uint32_t mode)
{
	struct fuse_create_in in = { .flags = flags, .mode = S_IFREG | mode };

	return make(k, FUSE_TMPFILE, dir, "/", &in);
}

int fk_read(struct fuse_kit *k, uint64_t node, uint64_t fh, uint64_t off,
	    uint32_t size)
{
	struct fuse_read_in in = { .fh = fh, .offset = off, .size = size };

	return fk_op(k, FUSE_READ, node, &in, sizeof(in), FK_NO_NAMES);
}

int fk_write_as(struct fuse_kit *k, const struct fuse_write_in *in,
		uint64_t node, const void *data)
{
	struct fuse_write_out out = { 0 };
	uint8_t *arg = malloc(sizeof(*in) + in->size);
	int e;

	bug_on(!arg);
	memcpy(arg, in, sizeof(*in));
	if (in->size)
		memcpy(arg + sizeof(*in), data, in->size);
	e = fk_op(k, FUSE_WRITE, node, arg, sizeof(*in) + in->size,
		  FK_NO_NAMES);
	free(arg);
	e = take(k, e, &out, sizeof(out));
	return e < 0 ? e : (int)out.size;
}

int fk_write(struct fuse_kit *k, uint64_t node, uint64_t fh, uint64_t off,
	     const void *data, uint32_t len)
{
	struct fuse_write_in in = { .fh = fh, .offset = off, .size = len };

	return fk_write_as(k, &in, node, data);
}

static int release(struct fuse_kit *k, uint32_t op, uint64_t node, uint64_t fh)
{
	struct fuse_release_in in = { .fh = fh };

	return fk_op(k, op, node, &in, sizeof(in), FK_NO_NAMES);
}

int fk_release(struct fuse_kit *k, uint64_t node, uint64_t fh)
{
	return release(k, FUSE_RELEASE, node, fh);
}

int fk_opendir(struct fuse_kit *k, uint64_t node)
{
	struct fuse_open_in in = { 0 };

	return take_open(
		k, fk_op(k, FUSE_OPENDIR, node, &in, sizeof(in), FK_NO_NAMES),
		0);
}

int fk_releasedir(struct fuse_kit *k, uint64_t node, uint64_t fh)
{
	return release(k, FUSE_RELEASEDIR, node, fh);
}

int fk_readdir(struct fuse_kit *k, uint64_t node, uint64_t off, uint32_t size,
	       bool plus)
{
	struct fuse_read_in in = { .fh = k->fh, .offset = off, .size = size };

	return fk_op(k, plus ? FUSE_READDIRPLUS : FUSE_READDIR, node, &in,
		     sizeof(in), FK_NO_NAMES);
}

bool fk_dirent(const struct fuse_kit *k, size_t *at, bool plus,
	       struct fk_dirent *ret)
{
	size_t head = plus ? FUSE_NAME_OFFSET_DIRENTPLUS : FUSE_NAME_OFFSET;
	const uint8_t *p = k->body + *at;
	struct fuse_dirent de;

	memset(ret, 0, sizeof(*ret));
	if (*at == k->len)
		return false;
	bug_on(k->len - *at < head);
	if (plus)
		memcpy(&ret->entry, p, sizeof(ret->entry));
	memcpy(&de, p + head - FUSE_NAME_OFFSET, FUSE_NAME_OFFSET);
	bug_on(de.namelen == 0 || de.namelen > 255);
	bug_on(k->len - *at < FUSE_REC_ALIGN(head + de.namelen));
	memcpy(ret->name, p + head, de.namelen);
	bug_on(strlen(ret->name) != de.namelen);
	ret->ino = de.ino;
	ret->off = de.off;
	ret->type = de.type;
	*at += FUSE_REC_ALIGN(head + de.namelen);
	return true;
}

static int named(struct fuse_kit *k, uint32_t op, uint64_t dir, const void *in,
		 size_t len, const char *name)
{
	int e = fk_op(k, op, dir, in, len, FK_NAMES(name, NULL));

	return take(k, e, &k->entry, sizeof(k->entry));
}

int fk_mkdir(struct fuse_kit *k, uint64_t dir, const char *name, uint32_t mode)
{
	struct fuse_mkdir_in in = { .mode = mode };

	return named(k, FUSE_MKDIR, dir, &in, sizeof(in), name);
}

int fk_mknod(struct fuse_kit *k, uint64_t dir, const char *name, uint32_t mode,
	     uint32_t rdev)
{
	struct fuse_mknod_in in = { .mode = mode, .rdev = rdev };

	return named(k, FUSE_MKNOD, dir, &in, sizeof(in), name);
}

int fk_symlink(struct fuse_kit *k, uint64_t dir, const char *name,
	       const char *target)
{
	int e = fk_op(k, FUSE_SYMLINK, dir, NULL, 0, FK_NAMES(name, target));

	return take(k, e, &k->entry, sizeof(k->entry));
}

int fk_link(struct fuse_kit *k, uint64_t node, uint64_t dir, const char *name)
{
	struct fuse_link_in in = { .oldnodeid = node };

	return named(k, FUSE_LINK, dir, &in, sizeof(in), name);
}

int fk_unlink(struct fuse_kit *k, uint64_t dir, const char *name)
{
	return fk_op(k, FUSE_UNLINK, dir, NULL, 0, FK_NAMES(name, NULL));
}

int fk_rmdir(struct fuse_kit *k, uint64_t dir, const char *name)
{
	return fk_op(k, FUSE_RMDIR, dir, NULL, 0, FK_NAMES(name, NULL));
}

int fk_rename(struct fuse_kit *k, uint64_t dir, const char *name,
	      uint64_t newdir, const char *newname, uint32_t flags)
{
	struct fuse_rename2_in in = { .newdir = newdir, .flags = flags };

	if (!flags)
		return fk_op(k, FUSE_RENAME, dir, &in,
			     sizeof(struct fuse_rename_in),
			     FK_NAMES(name, newname));
	return fk_op(k, FUSE_RENAME2, dir, &in, sizeof(in),
		     FK_NAMES(name, newname));
}

int fk_setxattr(struct fuse_kit *k, uint64_t node, const char *name,
		const void *value, uint32_t len, uint32_t flags)
{
	struct fuse_setxattr_in in = { .size = len, .flags = flags };
	size_t n = strlen(name) + 1;
	uint8_t *arg = malloc(sizeof(in) + n + len);
	int e;

	bug_on(!arg);
	memcpy(arg, &in, sizeof(in));
	memcpy(arg + sizeof(in), name, n);
	if (len)
		memcpy(arg + sizeof(in) + n, value, len);
	e = fk_op(k, FUSE_SETXATTR, node, arg, sizeof(in) + n + len,
		  FK_NO_NAMES);
	free(arg);
	return e;
}

int fk_getxattr(struct fuse_kit *k, uint64_t node, const char *name,
		uint32_t size)
{
	struct fuse_getxattr_in in = { .size = size };

	return fk_op(k, FUSE_GETXATTR, node, &in, sizeof(in),
		     FK_NAMES(name, NULL));
}

int fk_listxattr(struct fuse_kit *k, uint64_t node, uint32_t size)
{
	struct fuse_getxattr_in in = { .size = size };

	return fk_op(k, FUSE_LISTXATTR, node, &in, sizeof(in), FK_NO_NAMES);
}

int fk_removexattr(struct fuse_kit *k, uint64_t node, const char *name)
{
	return fk_op(k, FUSE_REMOVEXATTR, node, NULL, 0, FK_NAMES(name, NULL));
}

bool fk_body_is(const struct fuse_kit *k, const char *text)
{
	return k->len == strlen(text) && memcmp(k->body, text, k->len) == 0;
}

uint64_t fk_at(struct fuse_kit *k, const char *path)
{
	uint64_t node = FUSE_ROOT_ID;
	char *copy = strdup(path), *save = NULL;

	bug_on(!copy);
	for (char *p = strtok_r(copy, "/", &save); p;
	     p = strtok_r(NULL, "/", &save)) {
		bug_on(fk_lookup(k, node, p) != 0);
		node = k->entry.nodeid;
	}
	free(copy);
	return node;
}

void fk_host_file(struct fuse_kit *k, const char *path, const char *text)
{
	write_file(k->fd, path, text);
}

void fk_host_dir(struct fuse_kit *k, const char *path)
{
	bug_on(mkdirat(k->fd, path, 0755) < 0);
}

void fk_host_move(struct fuse_kit *k, const char *from, const char *to)
{
	bug_on(renameat(k->fd, from, k->fd, to) < 0);
}

struct stat fk_host_aged(struct fuse_kit *k, const char *path)
{
	const struct timespec times[2] = { { .tv_sec = 1000 },
					   { .tv_nsec = UTIME_OMIT } };
	struct stat st;

	bug_on(utimensat(k->fd, path, times, AT_SYMLINK_NOFOLLOW) < 0);
	bug_on(fstatat(k->fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0);
	return st;
}

void fk_clock_goes_on(struct fuse_kit *k)
{
	int fd = openat(k->top_fd, "clock", O_WRONLY | O_CREAT | O_CLOEXEC,
			0600);
	struct stat first, st;

	bug_on(fd < 0 || futimens(fd, NULL) < 0 || fstat(fd, &first) < 0);
	do
		bug_on(futimens(fd, NULL) < 0 || fstat(fd, &st) < 0);
	while (st.st_ctim.tv_sec == first.st_ctim.tv_sec &&
	       st.st_ctim.tv_nsec == first.st_ctim.tv_nsec);
	base_closep(&fd);
	bug_on(unlinkat(k->top_fd, "clock", 0) < 0);
}

const char *fk_host_text(struct fuse_kit *k, const char *path)
{
	static char text[4096];
	int fd = openat(k->fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n;

	text[0] = '\0';
	if (fd < 0)
		return text;
	n = io_read_full(fd, text, sizeof(text) - 1);
	bug_on(n < 0);
	text[n] = '\0';
	base_closep(&fd);
	return text;
}
