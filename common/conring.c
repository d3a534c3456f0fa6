/* SPDX-License-Identifier: Apache-2.0 */
/* common/conring.c - see conring.h */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "common/conring.h"
#include "common/le.h"
#include "common/rd.h"

#define HEAD_LEN  16u
#define OFF_TOTAL 8u

static void store_le32(uint8_t *p, uint32_t v)
{
	le32 w = le32_put(v);

	memcpy(p, &w, sizeof(w));
}

/* Aligned and whole, since readers look at any time. */
static void store_total(struct conring *c)
{
	le64 w = le64_put(c->total);
	uint64_t raw;

	memcpy(&raw, &w, sizeof(raw));
	/* Release: a reader that sees the count also sees the bytes. */
	__atomic_store_n((uint64_t *)(void *)(c->map + OFF_TOTAL), raw,
			 __ATOMIC_RELEASE);
}

int conring_open(struct conring *c, int fd, struct err *e)
{
	void *p;
	int r;

	*c = (struct conring){ 0 };
	if (ftruncate(fd, 0) < 0)
		return err_set(e, -errno, "console ring: %s", strerror(errno));
	r = -posix_fallocate(fd, 0, CONRING_FILE_LEN);
	if (r < 0)
		return err_set(e, r, "console ring of %u bytes: %s",
			       CONRING_FILE_LEN, strerror(-r));
	p = mmap(NULL, CONRING_FILE_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 0);
	if (p == MAP_FAILED)
		return err_set(e, -errno, "console ring: mmap: %s",
			       strerror(errno));
	c->map = p;
	store_le32(c->map, CONRING_MAGIC);
	store_le32(c->map + 4, CONRING_VERSION);
	store_total(c);
	return 0;
}

void conring_close(struct conring *c)
{
	if (c->map)
		(void)munmap(c->map, CONRING_FILE_LEN);
	c->map = NULL;
}

void conring_put(struct conring *c, const void *buf, size_t len)
{
	const uint8_t *src = buf;

	while (len > 0) {
		size_t at = c->total % CONRING_DATA_LEN;
		size_t n = MIN(len, CONRING_DATA_LEN - at);

		memcpy(c->map + CONRING_DATA_OFF + at, src, n);
		c->total += n;
		src += n;
		len -= n;
	}
	store_total(c);
}

/* All of the file, which has one size only. */
static int read_file(int fd, uint8_t *buf, struct err *e)
{
	size_t got = 0;

	while (got < CONRING_FILE_LEN) {
		ssize_t n = pread(fd, buf + got, CONRING_FILE_LEN - got,
				  (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(e, -errno, "console ring: %s",
				       strerror(errno));
		if (n == 0)
			return err_set(e, -EBADMSG,
				       "console ring: %zu bytes instead of %u",
				       got, CONRING_FILE_LEN);
		got += (size_t)n;
	}
	return 0;
}

int conring_read(int fd, char **ret, size_t *ret_len, struct err *e)
{
	auto_free uint8_t *file = malloc(CONRING_FILE_LEN);
	auto_free char *out = malloc(CONRING_DATA_LEN + 1);
	uint64_t total;
	size_t at, len;
	struct rd rd;
	int r;

	if (!file || !out)
		return err_set(e, -ENOMEM, "console ring: no memory");
	r = read_file(fd, file, e);
	if (r < 0)
		return r;
	rd = rd_init(file, HEAD_LEN);
	if (rd_le32(&rd) != CONRING_MAGIC || rd_le32(&rd) != CONRING_VERSION)
		return err_set(e, -EBADMSG, "not a console ring");
	total = rd_le64(&rd);
	len = (size_t)MIN(total, CONRING_DATA_LEN);
	at = total > CONRING_DATA_LEN ? total % CONRING_DATA_LEN : 0;
	memcpy(out, file + CONRING_DATA_OFF + at, len - at);
	memcpy(out + len - at, file + CONRING_DATA_OFF, at);
	out[len] = '\0';
	*ret = take_ptr(&out);
	*ret_len = len;
	return 0;
}
