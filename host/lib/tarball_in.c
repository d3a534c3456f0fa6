/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/tarball_in.c - read tar+zstd of our own; see tarball.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/lib/tarball.h"
#include "host/lib/tarball_head.h"

#define WINDOW_LOG_MAX 23 /* 8 MiB */

/**
 * struct input - An archive being read
 * @packed:	Read, of which @in tells what is left
 * @ended:	The compressed stream is over
 * @pax:	Records for the next entry, @pax_len of them
 * @path:	The folder we are in, @depth deep
 */
struct input {
	int fd;
	tarball_frame_fn fn;
	void *arg;
	ZSTD_DCtx *z;
	ZSTD_inBuffer in;
	struct sha256_ctx sha;
	bool ended;
	char *pax;
	size_t pax_len;
	unsigned int depth;
	bool begun;
	struct treepath path;
	struct tarball_entry entry;
	uint8_t packed[TARBALL_CHUNK];
	uint8_t data[TARBALL_CHUNK];
	uint8_t head[WIRE_ENTRY_FRAME_MAX];
};

static int damaged(struct err *e, const char *why)
{
	return err_set(e, -EBADMSG,
		       "the archive is damaged, or not one of hutch backup: %s",
		       why);
}

/* More of the compressed bytes. Return: 1; 0 at their end; -errno */
static int refill(struct input *i, struct err *e)
{
	ssize_t n;

	do
		n = read(i->fd, i->packed, sizeof(i->packed));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_set(e, -errno, "the archive: %s", strerror(errno));
	sha256_update(&i->sha, (size_t)n, i->packed);
	i->in = (ZSTD_inBuffer){ .src = i->packed, .size = (size_t)n };
	return n > 0;
}

/* Exactly @len plain bytes. Return: 0; -errno with a sentence */
static int take(struct input *i, void *to, size_t len, struct err *e)
{
	ZSTD_outBuffer out = { .dst = to, .size = len };

	while (out.pos < len) {
		size_t r;

		if (i->ended)
			return damaged(e, "it ends early");
		if (i->in.pos == i->in.size) {
			int n = refill(i, e);

			if (n <= 0)
				return n < 0 ? n : damaged(e, "it ends early");
		}
		r = ZSTD_decompressStream(i->z, &out, &i->in);
		if (ZSTD_isError(r))
			return damaged(e, ZSTD_getErrorName(r));
		i->ended = r == 0;
	}
	return 0;
}

static int send_wr(struct input *i, const struct wr *wr, const void *data,
		   size_t len, struct err *e)
{
	bug_on(wr_end(wr) < 0);
	return i->fn(i->arg, wr->buf, wr->len, data, len, e);
}

static int up(struct input *i, struct err *e)
{
	struct wr wr = wr_init(i->head, sizeof(i->head));

	wire_empty_put(&wr, WIRE_FILE_UP);
	treepath_pop(&i->path);
	i->depth--;
	return send_wr(i, &wr, NULL, 0, e);
}

/*
 * Go to the folder that @path is in, which we are in, or were on the way to it.
 * Return: 0 with its name; -errno
 */
static int go_to(struct input *i, const char *path, const char **name,
		 struct err *e)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	int r = 0;

	if (strcmp(path, ".") == 0) {
		*name = "";
		return i->begun ? damaged(e, "it has two roots") : 0;
	}
	if (!slash || !wire_name_ok(slash + 1))
		return damaged(e, "a name in it cannot be one");
	while (r == 0 && i->depth > 1 &&
	       (i->path.len != len || memcmp(i->path.text, path, len) != 0))
		r = up(i, e);
	if (r == 0 && (i->depth == 0 || i->path.len != len ||
		       memcmp(i->path.text, path, len) != 0))
		return damaged(e, "a file is in no folder");
	*name = slash + 1;
	return r;
}

static enum wire_file_kind kind_of(char type)
{
	static const char types[] = "0526-341";
	const char *p = type ? strchr(types, type) : NULL;

	return p ? (enum wire_file_kind)(p - types + 1)
		 : (enum wire_file_kind)0;
}

static bool is_zero(const uint8_t *p, size_t len)
{
	return len == 0 || (p[0] == 0 && memcmp(p, p + 1, len - 1) == 0);
}

/* The bytes of a file; what is nothing but zeros is a hole. */
static int read_file(struct input *i, uint64_t size, struct err *e)
{
	uint64_t left = size;
	int r = 0;

	while (r == 0 && left) {
		size_t n = MIN(left, sizeof(i->data));
		struct wr wr = wr_init(i->head, sizeof(i->head));

		r = take(i, i->data, n, e);
		if (r == 0 && !is_zero(i->data, n)) {
			wire_file_data_head_put(&wr, size - left, n);
			r = send_wr(i, &wr, i->data, n, e);
		}
		left -= n;
	}
	if (r == 0)
		r = take(i, i->data, -size % TARBALL_BLOCK, e);
	if (r == 0) {
		struct wr wr = wr_init(i->head, sizeof(i->head));

		wire_file_end_put(&wr, &(struct msg_file_end){ .size = size });
		r = send_wr(i, &wr, NULL, 0, e);
	}
	return r;
}

static int on_entry(struct input *i, const uint8_t *head, struct err *e)
{
	const struct tarball_entry *m = &i->entry;
	struct wr wr = wr_init(i->head, sizeof(i->head));
	struct msg_entry out;
	const char *name = "";
	int r;

	if (!tarball_head_parse(head, i->pax, i->pax_len, &i->entry))
		return damaged(e, "a header in it is wrong");
	i->pax_len = 0;
	out = (struct msg_entry){ .kind = kind_of(m->type),
				  .mode = m->mode & WIRE_MODE_MAX,
				  .uid = m->uid,
				  .gid = m->gid,
				  .nlink = 1,
				  .link = m->link,
				  .rdev_major = m->major,
				  .rdev_minor = m->minor,
				  .mtime_ns = m->mtime_ns,
				  .target = m->target };
	if (!out.kind || (out.kind != WIRE_KIND_FILE && m->size) ||
	    (!i->begun && out.kind != WIRE_KIND_DIR))
		return damaged(e, "an entry in it is of no kind that we write");
	r = go_to(i, m->path, &name, e);
	if (r < 0)
		return r;
	i->begun = true;
	out.name = name;
	out.size = m->size;
	wire_entry_put(&wr, &out);
	r = send_wr(i, &wr, NULL, 0, e);
	if (r == 0 && out.kind == WIRE_KIND_FILE)
		return read_file(i, m->size, e);
	if (r == 0 && out.kind == WIRE_KIND_DIR) {
		i->depth++;
		if (*name)
			treepath_push(&i->path, name);
	}
	return r < 0 || i->depth <= WIRE_TREE_DEPTH_MAX
		       ? r
		       : damaged(e, "it is too deep");
}

static int on_pax(struct input *i, const uint8_t *head, struct err *e)
{
	uint64_t size;
	int r;

	if (i->pax_len || !tarball_head_size(head, &size) || size == 0 ||
	    size > TARBALL_PAX_MAX)
		return damaged(e, "its pax records are wrong");
	free(i->pax);
	i->pax = calloc(1, size + TARBALL_BLOCK);
	if (!i->pax)
		return err_set(e, -ENOMEM, "no memory");
	r = take(i, i->pax, size + -size % TARBALL_BLOCK, e);
	if (r == 0 && memchr(i->pax, '\0', size))
		return damaged(e, "its pax records are wrong");
	i->pax_len = size;
	return r;
}

/* Two blocks of zeros, and then nothing. */
static int finish(struct input *i, struct err *e)
{
	uint8_t more;
	int r = take(i, i->data, TARBALL_BLOCK, e);

	if (r < 0)
		return r;
	if (!is_zero(i->data, TARBALL_BLOCK) || i->pax_len || !i->begun)
		return damaged(e, "its end is wrong");
	/* The checksum of the compressed stream is behind its last byte. */
	while (!i->ended) {
		ZSTD_outBuffer out = { .dst = &more, .size = 1 };
		size_t n;

		if (i->in.pos == i->in.size && (r = refill(i, e)) <= 0)
			return r < 0 ? r : damaged(e, "it ends early");
		n = ZSTD_decompressStream(i->z, &out, &i->in);
		if (ZSTD_isError(n))
			return damaged(e, ZSTD_getErrorName(n));
		if (out.pos)
			return damaged(e, "something follows its end");
		i->ended = n == 0;
	}
	if (i->in.pos < i->in.size || (r = refill(i, e)) > 0)
		return damaged(e, "something follows its end");
	while (r == 0 && i->depth)
		r = up(i, e);
	return r;
}

static int read_all(struct input *i, struct err *e)
{
	uint8_t head[TARBALL_BLOCK] = { 0 };
	int r;

	while ((r = take(i, head, sizeof(head), e)) == 0) {
		if (is_zero(head, sizeof(head)))
			return finish(i, e);
		if (!tarball_head_ok(head))
			return damaged(e, "a header in it is wrong");
		r = tarball_head_is_pax(head) ? on_pax(i, head, e)
					      : on_entry(i, head, e);
		if (r < 0)
			break;
	}
	return r;
}

int tarball_read(int fd, tarball_frame_fn fn, void *arg,
		 char sha[TARBALL_SHA_HEX + 1], struct err *e)
{
	struct input *i = calloc(1, sizeof(*i));
	int r;

	if (!i)
		return err_set(e, -ENOMEM, "no memory");
	i->fd = fd;
	i->fn = fn;
	i->arg = arg;
	i->z = ZSTD_createDCtx();
	/* What we write needs less; more would be memory of ours. */
	if (i->z)
		(void)ZSTD_DCtx_setParameter(i->z, ZSTD_d_windowLogMax,
					     WINDOW_LOG_MAX);
	sha256_init(&i->sha);
	treepath_init(&i->path, ".");
	r = i->z ? read_all(i, e) : err_set(e, -ENOMEM, "no memory");
	if (r == 0)
		tarball_sha_text(&i->sha, sha);
	(void)ZSTD_freeDCtx(i->z);
	free(i->pax);
	free(i);
	return r;
}
