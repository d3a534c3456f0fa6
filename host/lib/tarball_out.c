/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/tarball_out.c - write tar+zstd; see tarball.h */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/io.h"
#include "common/words.h"
#include "host/lib/tarball.h"

#define NS_PER_S 1000000000ll

#define NAME_LEN  100u
#define OCTAL_ID  07777777u       /* the largest of seven octal digits */
#define OCTAL_BIG 077777777777ull /* of eleven */

/** struct head - A ustar header */
struct head {
	char name[NAME_LEN];
	char mode[8];
	char uid[8];
	char gid[8];
	char size[12];
	char mtime[12];
	char sum[8];
	char type;
	char link[NAME_LEN];
	char magic[8];
	char owner[32];
	char group[32];
	char major[8];
	char minor[8];
	char prefix[155];
	char pad[12];
};
_Static_assert(sizeof(struct head) == TARBALL_BLOCK, "a tar header");

void tarball_sha_text(struct sha256_ctx *ctx, char ret[TARBALL_SHA_HEX + 1])
{
	uint8_t raw[SHA256_DIGEST_SIZE];

	sha256_digest(ctx, sizeof(raw), raw);
	words_hex_text(ret, raw, sizeof(raw));
}

struct tarball_out *tarball_out_new(int fd)
{
	struct tarball_out *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->fd = fd;
	t->z = ZSTD_createCCtx();
	if (!t->z || ZSTD_isError(ZSTD_CCtx_setParameter(
			     t->z, ZSTD_c_checksumFlag, 1))) {
		tarball_out_free(t);
		return NULL;
	}
	sha256_init(&t->sha);
	treepath_init(&t->path, ".");
	return t;
}

void tarball_out_free(struct tarball_out *t)
{
	if (!t)
		return;
	(void)ZSTD_freeCCtx(t->z);
	tree_names_done(&t->names);
	free(t);
}

static int compress(struct tarball_out *t, const void *p, size_t len,
		    ZSTD_EndDirective how, struct err *e)
{
	ZSTD_inBuffer in = { .src = p, .size = len };
	size_t left;

	do {
		ZSTD_outBuffer out = { .dst = t->buf, .size = sizeof(t->buf) };
		int r;

		left = ZSTD_compressStream2(t->z, &out, &in, how);
		if (ZSTD_isError(left))
			return err_set(e, -EIO, "zstd: %s",
				       ZSTD_getErrorName(left));
		sha256_update(&t->sha, out.pos, t->buf);
		t->bytes += out.pos;
		r = io_write_full(t->fd, t->buf, out.pos);
		if (r < 0)
			return err_set(e, r, "the archive: %s", strerror(-r));
	} while (how == ZSTD_e_end ? left != 0 : in.pos < in.size);
	return 0;
}

static int put(struct tarball_out *t, const void *p, size_t len, struct err *e)
{
	return compress(t, p, len, ZSTD_e_continue, e);
}

static int put_zeros(struct tarball_out *t, uint64_t len, struct err *e)
{
	static const uint8_t zeros[TARBALL_CHUNK];
	int r = 0;

	while (r == 0 && len) {
		size_t n = MIN(len, sizeof(zeros));

		r = put(t, zeros, n, e);
		len -= n;
	}
	return r;
}

/* To the next block. */
static int pad(struct tarball_out *t, uint64_t len, struct err *e)
{
	return put_zeros(t, -len % TARBALL_BLOCK, e);
}

/* "LEN KEY=VALUE\n", where LEN counts itself. */
static void pax(struct tarball_out *t, const char *key, const char *value)
{
	size_t len = strlen(key) + strlen(value) + 3, all = len;
	char text[24];

	do {
		len = all;
		all = strlen(key) + strlen(value) + 3 +
		      (size_t)snprintf(text, sizeof(text), "%zu", len);
	} while (all != len);
	bug_on(t->pax_len + len >= sizeof(t->pax));
	t->pax_len += (size_t)snprintf(t->pax + t->pax_len,
				       sizeof(t->pax) - t->pax_len,
				       "%zu %s=%s\n", len, key, value);
}

static void pax_number(struct tarball_out *t, const char *key, uint64_t v)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, v);
	pax(t, key, text);
}

static void octal(char *field, size_t size, uint64_t v)
{
	field[size - 1] = '\0';
	for (size_t i = size - 1; i > 0; i--, v /= 8)
		field[i - 1] = (char)('0' + v % 8);
}

/* What does not fit goes into a pax record, and 0 or its start here. */
static void number(struct tarball_out *t, char *field, size_t size,
		   const char *key, uint64_t v)
{
	uint64_t max = size == 8 ? OCTAL_ID : OCTAL_BIG;

	octal(field, size, v <= max ? v : 0);
	if (v > max)
		pax_number(t, key, v);
}

static void text(struct tarball_out *t, char field[NAME_LEN], const char *key,
		 const char *s)
{
	size_t len = strlen(s);

	memcpy(field, s, MIN(len, NAME_LEN));
	if (len > NAME_LEN)
		pax(t, key, s);
}

static void mtime(struct tarball_out *t, struct head *h, int64_t ns)
{
	int64_t s = ns / NS_PER_S, part = ns % NS_PER_S;
	char word[40];

	if (part < 0) {
		part += NS_PER_S;
		s--;
	}
	octal(h->mtime, sizeof(h->mtime), s < 0 ? 0 : (uint64_t)s);
	if (s >= 0 && part == 0)
		return;
	/* -1.5 is -2 and half a second more; its digits say -1.5. */
	if (s < 0 && part) {
		s++;
		part = NS_PER_S - part;
	}
	(void)snprintf(word, sizeof(word), "%s%" PRId64 ".%09" PRId64,
		       ns < 0 && s == 0 ? "-" : "", s, part);
	pax(t, "mtime", word);
}

static void checksum(struct head *h)
{
	const uint8_t *p = (const uint8_t *)h;
	unsigned int sum = 0;

	memset(h->sum, ' ', sizeof(h->sum));
	for (size_t i = 0; i < sizeof(*h); i++)
		sum += p[i];
	(void)snprintf(h->sum, sizeof(h->sum), "%06o", sum);
}

static int put_head(struct tarball_out *t, struct head *h, struct err *e)
{
	memcpy(h->magic,
	       "ustar\0"
	       "00",
	       sizeof(h->magic));
	checksum(h);
	return put(t, h, sizeof(*h), e);
}

static int put_pax(struct tarball_out *t, struct err *e)
{
	struct head h = { .type = 'x', .name = "pax" };
	int r;

	if (t->pax_len == 0)
		return 0;
	octal(h.mode, sizeof(h.mode), 0644);
	octal(h.uid, sizeof(h.uid), 0);
	octal(h.gid, sizeof(h.gid), 0);
	octal(h.size, sizeof(h.size), t->pax_len);
	octal(h.mtime, sizeof(h.mtime), 0);
	r = put_head(t, &h, e);
	if (r == 0)
		r = put(t, t->pax, t->pax_len, e);
	return r < 0 ? r : pad(t, t->pax_len, e);
}

static char type_of(enum wire_file_kind kind)
{
	static const char types[] = {
		[WIRE_KIND_FILE] = '0',    [WIRE_KIND_DIR] = '5',
		[WIRE_KIND_SYMLINK] = '2', [WIRE_KIND_FIFO] = '6',
		[WIRE_KIND_CHAR] = '3',    [WIRE_KIND_BLOCK] = '4',
		[WIRE_KIND_LINK] = '1'
	};

	if ((size_t)kind >= sizeof(types))
		return '\0';
	return types[kind];
}

static int put_entry(struct tarball_out *t, const struct msg_entry *m,
		     const char *target, struct err *e)
{
	struct head h = { .type = type_of(m->kind) };
	char link[32];
	int r;

	t->pax_len = 0;
	text(t, h.name, "path", t->path.text);
	text(t, h.link, "linkpath", target);
	octal(h.mode, sizeof(h.mode), m->mode);
	number(t, h.uid, sizeof(h.uid), "uid", m->uid);
	number(t, h.gid, sizeof(h.gid), "gid", m->gid);
	number(t, h.size, sizeof(h.size), "size", t->size);
	mtime(t, &h, m->mtime_ns);
	octal(h.major, sizeof(h.major), m->rdev_major & OCTAL_ID);
	octal(h.minor, sizeof(h.minor), m->rdev_minor & OCTAL_ID);
	if (m->link) {
		(void)snprintf(link, sizeof(link), TARBALL_LINK "%u", m->link);
		pax(t, "comment", link);
	}
	r = put_pax(t, e);
	return r < 0 ? r : put_head(t, &h, e);
}

/* The file's number, or the path of an earlier one. Return: 0; -errno */
static int resolve(struct tarball_out *t, const struct msg_entry *m,
		   const char **target, struct err *e)
{
	int r;

	*target = m->target;
	if (m->kind == WIRE_KIND_LINK) {
		*target = tree_names_find(&t->names, m->link);
		return *target ? 0
			       : err_set(e, -EBADMSG,
					 "a link to what has not come");
	}
	if (!m->link)
		return 0;
	r = tree_names_add(&t->names, m->link, t->path.text);
	return r < 0 ? err_set(e, r, "files with several names: %s",
			       strerror(-r))
		     : 0;
}

static int on_entry(struct tarball_out *t, const struct wire_frame *f,
		    struct err *e)
{
	const char *target;
	struct msg_entry m;
	int r = wire_entry_parse(f->data, f->len, &m, e);

	if (r < 0)
		return r;
	if (t->whole || t->in_file || !type_of(m.kind) ||
	    (t->depth == 0) != (*m.name == '\0') ||
	    t->depth == WIRE_TREE_DEPTH_MAX)
		return err_set(e, -EBADMSG, "FILE_ENTRY is out of place");
	if (t->depth == 0 && m.kind != WIRE_KIND_DIR)
		return err_set(e, -ENOTDIR, "only a folder is backed up");
	if (t->depth)
		treepath_push(&t->path, m.name);
	t->size = m.kind == WIRE_KIND_FILE ? m.size : 0;
	t->at = 0;
	r = resolve(t, &m, &target, e);
	if (r == 0)
		r = put_entry(t, &m, target, e);
	if (m.kind == WIRE_KIND_DIR)
		t->depth++;
	else if (m.kind == WIRE_KIND_FILE)
		t->in_file = true;
	else
		treepath_pop(&t->path);
	return r;
}

static int on_data(struct tarball_out *t, const struct wire_frame *f,
		   struct err *e)
{
	struct msg_file_data m;
	int r = wire_file_data_parse(f->data, f->len, &m, e);

	if (r < 0)
		return r;
	if (!t->in_file || m.offset < t->at)
		return err_set(e, -EBADMSG, "FILE_DATA is out of place");
	/* More than it said it has: as if it had grown meanwhile. */
	if (m.offset >= t->size)
		return 0;
	r = put_zeros(t, m.offset - t->at, e);
	if (r == 0)
		r = put(t, m.data, MIN(m.len, t->size - m.offset), e);
	t->at = MIN(m.offset + m.len, t->size);
	return r;
}

static int on_end(struct tarball_out *t, const struct wire_frame *f,
		  struct err *e)
{
	struct msg_file_end m;
	char path[TREEPATH_SHOW_MAX];
	int r = wire_file_end_parse(f->data, f->len, &m, e);

	if (r < 0)
		return r;
	if (!t->in_file)
		return err_set(e, -EBADMSG, "FILE_END is out of place");
	if (m.flags & WIRE_END_BROKEN)
		return err_set(e, -EIO, "'%s' cannot be read",
			       treepath_show(&t->path, path));
	r = put_zeros(t, t->size - t->at, e);
	if (r == 0)
		r = pad(t, t->size, e);
	t->in_file = false;
	treepath_pop(&t->path);
	return r;
}

int tarball_out_frame(struct tarball_out *t, const struct wire_frame *f,
		      struct err *e)
{
	switch (f->type) {
	case WIRE_FILE_ENTRY:
		return on_entry(t, f, e);
	case WIRE_FILE_DATA:
		return on_data(t, f, e);
	case WIRE_FILE_END:
		return on_end(t, f, e);
	case WIRE_FILE_XATTR:
		return 0; /* tar has no one way to keep them */
	case WIRE_FILE_UP:
		if (t->depth == 0 || t->in_file)
			break;
		t->whole = --t->depth == 0;
		treepath_pop(&t->path);
		return 0;
	default:
		break;
	}
	return err_set(e, -EBADMSG, "%s is out of place",
		       wire_type_name(f->type));
}

int tarball_out_end(struct tarball_out *t, char sha[TARBALL_SHA_HEX + 1],
		    struct err *e)
{
	int r;

	if (!t->whole)
		return err_set(e, -EBADMSG, "half a tree");
	r = put_zeros(t, 2ul * TARBALL_BLOCK, e);
	if (r == 0)
		r = compress(t, NULL, 0, ZSTD_e_end, e);
	if (r == 0)
		tarball_sha_text(&t->sha, sha);
	return r;
}
