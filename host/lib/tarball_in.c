/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/tarball_in.c - read tar+zstd of our own; see tarball.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/lib/tarball.h"

#define NS_PER_S 1000000000ll
#define NAME_LEN 100u

#define WINDOW_LOG_MAX 23 /* 8 MiB */

/* Where the fields of a header are. */
#define AT_MODE  100
#define AT_UID   108
#define AT_GID   116
#define AT_SIZE  124
#define AT_MTIME 136
#define AT_SUM   148
#define AT_TYPE  156
#define AT_LINK  157
#define AT_MAGIC 257
#define AT_MAJOR 329
#define AT_MINOR 337

/**
 * struct entry - What a header and the pax records in front of it say
 * @path:	Without NUL inside
 */
struct entry {
	char type;
	uint32_t mode, uid, gid, major, minor, link;
	uint64_t size;
	int64_t mtime_ns;
	char path[TREEPATH_MAX];
	char target[WIRE_PATH_MAX + 1];
};

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
	struct entry entry;
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

/* An octal field that ends in NUL. Return: whether it is one */
static bool octal(const uint8_t *p, size_t len, uint64_t *ret)
{
	uint64_t v = 0;

	for (size_t i = 0; i + 1 < len; i++) {
		if (p[i] < '0' || p[i] > '7')
			return false;
		v = v * 8 + (uint64_t)(p[i] - '0');
	}
	*ret = v;
	return p[len - 1] == '\0';
}

static bool octal32(const uint8_t *p, uint32_t *ret)
{
	uint64_t v = 0;
	bool ok = octal(p, 8, &v);

	*ret = (uint32_t)v;
	return ok;
}

static bool sum_ok(const uint8_t *p)
{
	unsigned int sum = 8 * ' ';
	uint64_t want;

	for (size_t i = 0; i < TARBALL_BLOCK; i++)
		if (i < AT_SUM || i >= AT_SUM + 8)
			sum += p[i];
	return octal(p + AT_SUM, 7, &want) && want == sum;
}

static bool decimal(const char *s, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;

	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' || v > max / 10)
			return false;
		v = v * 10 + (uint64_t)(*s - '0');
	}
	*ret = v;
	return v <= max;
}

/* "-1.500000000": seconds, and nine digits. */
static bool mtime(const char *s, int64_t *ret)
{
	bool minus = *s == '-';
	const char *dot = strchr(s, '.');
	char word[24];
	uint64_t whole, part;
	int64_t ns;

	s += minus;
	if (!dot || (size_t)(dot - s) >= sizeof(word) || strlen(dot) != 10)
		return false;
	memcpy(word, s, (size_t)(dot - s));
	word[dot - s] = '\0';
	if (!decimal(word, INT64_MAX, &whole) ||
	    !decimal(dot + 1, NS_PER_S - 1, &part) ||
	    __builtin_mul_overflow((int64_t)whole, NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)part, &ns))
		return false;
	*ret = minus ? -ns : ns;
	return true;
}

static bool string(char *to, size_t size, const char *s)
{
	size_t len = strlen(s);

	if (len >= size)
		return false;
	memcpy(to, s, len + 1);
	return true;
}

static bool number32(const char *s, uint32_t *ret)
{
	uint64_t v = 0;
	bool ok = decimal(s, UINT32_MAX, &v);

	*ret = (uint32_t)v;
	return ok;
}

static bool pax_one(struct entry *m, const char *key, const char *value)
{
	if (strcmp(key, "path") == 0)
		return string(m->path, sizeof(m->path), value);
	if (strcmp(key, "linkpath") == 0)
		return m->type == '1' ||
		       string(m->target, sizeof(m->target), value);
	if (strcmp(key, "size") == 0)
		return decimal(value, INT64_MAX, &m->size);
	if (strcmp(key, "mtime") == 0)
		return mtime(value, &m->mtime_ns);
	if (strcmp(key, "uid") == 0)
		return number32(value, &m->uid);
	if (strcmp(key, "gid") == 0)
		return number32(value, &m->gid);
	if (strcmp(key, "comment") == 0)
		return strncmp(value, TARBALL_LINK, strlen(TARBALL_LINK)) ==
			       0 &&
		       number32(value + strlen(TARBALL_LINK), &m->link);
	return false;
}

/* "LEN KEY=VALUE\n" after the other; NULs were refused before. */
static bool pax_all(struct entry *m, char *p, size_t len)
{
	while (len) {
		char *blank = memchr(p, ' ', MIN(len, 8)), *eq;
		uint64_t n;

		if (!blank)
			return false;
		*blank = '\0';
		if (!decimal(p, len, &n) || n < (size_t)(blank - p) + 4 ||
		    p[n - 1] != '\n')
			return false;
		p[n - 1] = '\0';
		eq = strchr(blank + 1, '=');
		if (!eq)
			return false;
		*eq = '\0';
		if (!pax_one(m, blank + 1, eq + 1))
			return false;
		p += n;
		len -= n;
	}
	return true;
}

static bool parse(struct input *i, const uint8_t *p)
{
	struct entry *m = &i->entry;
	uint64_t s;

	m->type = (char)p[AT_TYPE];
	m->link = 0;
	m->target[0] = '\0';
	memcpy(m->path, p, NAME_LEN);
	m->path[NAME_LEN] = '\0';
	if (m->type == '2') {
		memcpy(m->target, p + AT_LINK, NAME_LEN);
		m->target[NAME_LEN] = '\0';
	}
	if (!octal32(p + AT_MODE, &m->mode) || !octal32(p + AT_UID, &m->uid) ||
	    !octal32(p + AT_GID, &m->gid) ||
	    !octal(p + AT_SIZE, 12, &m->size) || !octal(p + AT_MTIME, 12, &s) ||
	    !octal32(p + AT_MAJOR, &m->major) ||
	    !octal32(p + AT_MINOR, &m->minor))
		return false;
	m->mtime_ns = (int64_t)MIN(s, INT64_MAX / NS_PER_S) * NS_PER_S;
	return pax_all(m, i->pax, i->pax_len);
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
	const struct entry *m = &i->entry;
	struct wr wr = wr_init(i->head, sizeof(i->head));
	struct msg_entry out;
	const char *name = "";
	int r;

	if (!parse(i, head))
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

	if (i->pax_len || !octal(head + AT_SIZE, 12, &size) || size == 0 ||
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
		if (!sum_ok(head) || memcmp(head + AT_MAGIC, "ustar", 6) != 0)
			return damaged(e, "a header in it is wrong");
		r = head[AT_TYPE] == 'x' ? on_pax(i, head, e)
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
