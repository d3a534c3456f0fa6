/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/fuse_kit.c - see fuse_kit.h */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
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

	return fk_op(k, FUSE_INIT, 0, &in, sizeof(in), NULL, NULL);
}

void fk_init(struct fuse_kit *k, const struct fs_opts *o)
{
	struct fs_opts usual = fk_usual();

	fk_scratch(k);
	fk_serve(k, o ? o : &usual);
	bug_on(fk_start(k) != 0);
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type == FTW_DNR)
		(void)chmod(path, 0700);
	return remove(path);
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
	base_closep(&k->top_fd);
	bug_on(nftw(k->top, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0);
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
	struct fuse_out_header h = { 0 };
	uint8_t *all = malloc(n ? n : 1);

	bug_on(!all || n > out_len);
	join(out_iov, n_out, all, n);
	free_pieces(in_iov, n_in);
	free_pieces(out_iov, n_out);
	free(k->body);
	k->body = NULL;
	k->len = 0;
	*ret_error = 0;
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

int fk_op(struct fuse_kit *k, uint32_t op, uint64_t node, const void *arg,
	  size_t len, const char *name1, const char *name2)
{
	size_t len1 = name1 ? strlen(name1) + 1 : 0;
	size_t len2 = name2 ? strlen(name2) + 1 : 0;
	struct fuse_in_header h = {
		.len = (uint32_t)(sizeof(h) + len + len1 + len2),
		.opcode = op,
		.unique = 0x1234567890ull,
		.nodeid = node,
		.uid = k->uid,
		.gid = k->gid,
		.pid = 1,
	};
	uint8_t *buf = malloc(h.len);
	size_t n;
	int error;

	bug_on(!buf);
	memcpy(buf, &h, sizeof(h));
	if (len)
		memcpy(buf + sizeof(h), arg, len);
	if (name1)
		memcpy(buf + sizeof(h) + len, name1, len1);
	if (name2)
		memcpy(buf + sizeof(h) + len + len1, name2, len2);
	n = fk_raw(k, buf, h.len, sizeof(struct fuse_out_header) + k->room,
		   &error);
	free(buf);
	bug_on(n == 0 && op != FUSE_FORGET && op != FUSE_BATCH_FORGET);
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
	int e = fk_op(k, FUSE_LOOKUP, dir, NULL, 0, name, NULL);

	return take(k, e, &k->entry, sizeof(k->entry));
}

int fk_getattr(struct fuse_kit *k, uint64_t node, struct fuse_attr *ret)
{
	struct fuse_getattr_in in = { 0 };
	struct fuse_attr_out out;
	int e = fk_op(k, FUSE_GETATTR, node, &in, sizeof(in), NULL, NULL);

	e = take(k, e, &out, sizeof(out));
	if (e == 0)
		*ret = out.attr;
	return e;
}

void fk_forget(struct fuse_kit *k, uint64_t node, uint64_t n)
{
	struct fuse_forget_in in = { .nlookup = n };

	(void)fk_op(k, FUSE_FORGET, node, &in, sizeof(in), NULL, NULL);
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
