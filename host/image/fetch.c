/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/fetch.c - see fetch.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "common/io.h"
#include "host/image/fetch.h"
#include "host/image/pull.h"
#include "host/image/sha.h"

#define DIGEST_SKIP  7 /* "sha256:" */
#define STEP_BYTES   (1u << 20)
#define PAUSE_S      1
#define MANIFEST_MAX 300 /* bytes of "manifests/..." */

#define ACCEPT                                                        \
	"application/vnd.oci.image.index.v1+json, "                   \
	"application/vnd.oci.image.manifest.v1+json, "                \
	"application/vnd.docker.distribution.manifest.list.v2+json, " \
	"application/vnd.docker.distribution.manifest.v2+json"

/* ---- Documents ---- */

/** struct doc - A document that comes, with a NUL behind it in the end */
struct doc {
	char *buf;
	size_t len;
};

static int take_doc(void *arg, const void *p, size_t len, struct err *e)
{
	struct doc *d = arg;

	if (len > HUTCH_IMAGE_CONFIG_MAX - d->len)
		return err_set(e, -E2BIG, "a document has more than %u bytes",
			       HUTCH_IMAGE_CONFIG_MAX);
	memcpy(d->buf + d->len, p, len);
	d->len += len;
	return 0;
}

static int fetch_doc(struct registry *r, const char *what, const char *accept,
		     struct doc *d, struct http_answer *got, struct err *e)
{
	struct http_ask ask = { .accept = accept, .sink = take_doc, .arg = d };
	int n = -EIO;

	d->buf = malloc(HUTCH_IMAGE_CONFIG_MAX + 1u);
	if (!d->buf)
		return err_set(e, -ENOMEM, "no memory");
	for (int i = 0; i < PULL_TRIES; i++) {
		d->len = 0;
		n = registry_get(r, what, &ask, got, e);
		if (n == 0 || !got->broken)
			break;
	}
	if (n == 0)
		d->buf[d->len] = '\0';
	return n;
}

static int check(const char *want, const struct doc *d, char *ret_digest,
		 struct err *e)
{
	char hex[SHA_HEX + 1];

	sha_of(d->buf, d->len, hex);
	(void)snprintf(ret_digest, IMAGEREF_DIGEST_LEN + 1, "sha256:%s", hex);
	if (!*want || strcmp(want, ret_digest) == 0)
		return 0;
	return err_set(e, -EBADMSG,
		       "%s is not what it should be: its digest is %s", want,
		       ret_digest);
}

int fetch_manifest(struct registry *r, const char *what, char **ret,
		   size_t *ret_len, char ret_digest[IMAGEREF_DIGEST_LEN + 1],
		   struct err *e)
{
	bool is_digest = imageref_digest_ok(what);
	char path[MANIFEST_MAX];
	struct http_answer got = { 0 };
	struct doc d = { 0 };
	int n = snprintf(path, sizeof(path), "manifests/%s", what);

	bug_on(n < 0 || (size_t)n >= sizeof(path));
	n = fetch_doc(r, path, ACCEPT, &d, &got, e);
	/* What a registry says of a tag's digest has to be true as well. */
	if (n == 0)
		n = check(is_digest                        ? what
			  : imageref_digest_ok(got.digest) ? got.digest
							   : "",
			  &d, ret_digest, e);
	if (n < 0) {
		free(d.buf);
		return n;
	}
	*ret = d.buf;
	*ret_len = d.len;
	return 0;
}

int fetch_document(struct registry *r, const struct oci_desc *desc, char **ret,
		   size_t *ret_len, struct err *e)
{
	char path[MANIFEST_MAX], digest[IMAGEREF_DIGEST_LEN + 1];
	struct http_answer got = { 0 };
	struct doc d = { 0 };
	int n = snprintf(path, sizeof(path), "blobs/%s", desc->digest);

	bug_on(n < 0 || (size_t)n >= sizeof(path));
	n = fetch_doc(r, path, NULL, &d, &got, e);
	n = n < 0 ? n : check(desc->digest, &d, digest, e);
	if (n < 0) {
		free(d.buf);
		return n;
	}
	*ret = d.buf;
	*ret_len = d.len;
	return 0;
}

/* ---- Blobs ---- */

/**
 * struct blob - A blob that comes
 * @got:	Of the answer under way
 * @have:	Bytes that are in the file, and in @sha
 * @began:	The first bytes of this answer have been looked at
 * @told:	Progress was told so far
 * @wrong:	What came is not what was asked for
 */
struct blob {
	const struct oci_desc *d;
	const struct report *rp;
	struct http_answer got;
	int fd;
	struct sha sha;
	uint64_t have;
	uint64_t told;
	bool began;
	bool wrong;
};

static int start_over(struct blob *b, struct err *e)
{
	sha_init(&b->sha);
	b->have = 0;
	b->told = 0;
	if (ftruncate(b->fd, 0) < 0 || lseek(b->fd, 0, SEEK_SET) < 0)
		return err_set(e, -errno, "cannot keep a blob: %s",
			       strerror(errno));
	return 0;
}

/* The first bytes of an answer: are they those that were asked for? */
static int begin(struct blob *b, struct err *e)
{
	b->began = true;
	if (b->got.status == 206 && b->got.from == b->have)
		return 0;
	b->wrong = b->got.status == 206;
	if (b->wrong)
		return err_set(e, -EPROTO,
			       "the registry sends another part of %s than was "
			       "asked for",
			       b->d->digest);
	return b->have ? start_over(b, e) : 0;
}

static int take_blob(void *arg, const void *p, size_t len, struct err *e)
{
	struct blob *b = arg;
	int n = b->began ? 0 : begin(b, e);

	if (n < 0)
		return n;
	b->wrong = len > b->d->size - b->have;
	if (b->wrong)
		return err_set(e, -EBADMSG,
			       "%s has more bytes than the %llu it should have",
			       b->d->digest, (unsigned long long)b->d->size);
	n = io_write_full(b->fd, p, len);
	if (n < 0)
		return err_set(e, n, "cannot keep a blob: %s", strerror(-n));
	sha_add(&b->sha, p, len);
	b->have += len;
	if (b->have - b->told >= STEP_BYTES || b->have == b->d->size) {
		b->told = b->have;
		report_step(b->rp, HUTCH_IMAGE_STEP_FETCH, b->d->digest,
			    b->have, b->d->size);
	}
	return 0;
}

/* What an earlier call has kept. */
static int take_kept(struct blob *b, struct err *e)
{
	char buf[65536];
	ssize_t n;

	while ((n = io_read_full(b->fd, buf, sizeof(buf))) > 0) {
		sha_add(&b->sha, buf, (size_t)n);
		b->have += (uint64_t)n;
	}
	if (n < 0)
		return err_set(e, (int)n, "cannot read a blob: %s",
			       strerror((int)-n));
	return b->have > b->d->size ? start_over(b, e) : 0;
}

/* Once. Return: 1 to try again. */
static int try_once(struct registry *r, struct blob *b, struct err *e)
{
	char path[MANIFEST_MAX];
	struct http_ask ask = { .sink = take_blob, .arg = b, .from = b->have };
	int n = snprintf(path, sizeof(path), "blobs/%s", b->d->digest);

	bug_on(n < 0 || (size_t)n >= sizeof(path));
	b->began = false;
	n = registry_get(r, path, &ask, &b->got, e);
	if (n == -ERANGE && b->have)
		return start_over(b, e) < 0 ? -EIO : 1;
	if (n < 0)
		/* A registry that is started anew is back in a moment. */
		return b->got.broken || n == -EHOSTUNREACH ? 1 : n;
	if (b->have < b->d->size) {
		(void)err_set(e, -EIO,
			      "%s has %llu bytes, and should have %llu",
			      b->d->digest, (unsigned long long)b->have,
			      (unsigned long long)b->d->size);
		return 1;
	}
	return 0;
}

static int all_of_it(struct registry *r, struct blob *b, struct err *e)
{
	static const struct timespec pause = { .tv_sec = PAUSE_S };
	uint64_t best = b->have;

	for (int tries = 0; b->have < b->d->size;) {
		int n = try_once(r, b, e);

		if (n < 0)
			return n;
		if (n == 0)
			return 0;
		/* Each byte more is as good as a first try. */
		tries = b->have > best ? 0 : tries + 1;
		best = MAX(best, b->have);
		if (tries == PULL_TRIES)
			return -EIO;
		if (tries)
			(void)nanosleep(&pause, NULL);
	}
	return 0;
}

static void part_name(const struct oci_desc *d, char ret[SHA_HEX + 1])
{
	memcpy(ret, d->digest + DIGEST_SKIP, SHA_HEX + 1);
}

void fetch_forget(const struct imagestore *s, const struct oci_desc *d)
{
	char name[SHA_HEX + 1];

	part_name(d, name);
	(void)unlinkat(s->part_fd, name, 0);
}

static int open_part(const struct imagestore *s, const struct oci_desc *d,
		     struct err *e)
{
	char name[SHA_HEX + 1];
	auto_fd int fd = -1;
	int n;

	part_name(d, name);
	fd = openat(s->part_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return err_set(e, -errno, "cannot keep a blob: %s",
			       strerror(errno));
	do
		n = flock(fd, LOCK_EX);
	while (n < 0 && errno == EINTR);
	return n < 0 ? err_set(e, -errno, "cannot lock a blob: %s",
			       strerror(errno))
		     : take_fd(&fd);
}

int fetch_blob(struct registry *r, const struct imagestore *s,
	       const struct oci_desc *d, const struct report *rp, struct err *e)
{
	auto_fd int fd = open_part(s, d, e);
	struct blob b = { .d = d, .rp = rp, .fd = fd };
	char got[SHA_HEX + 1];
	int n;

	if (fd < 0)
		return fd;
	sha_init(&b.sha);
	n = take_kept(&b, e);
	n = n < 0 ? n : all_of_it(r, &b, e);
	if (n < 0) {
		/* What is wrong for good is not kept to be wrong again. */
		if (b.wrong)
			fetch_forget(s, d);
		return n;
	}
	sha_end(&b.sha, got);
	if (strcmp(got, d->digest + DIGEST_SKIP) != 0) {
		fetch_forget(s, d);
		return err_set(e, -EBADMSG,
			       "%s is not what it should be: its digest is "
			       "sha256:%s",
			       d->digest, got);
	}
	return take_fd(&fd);
}
