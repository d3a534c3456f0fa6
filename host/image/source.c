/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/source.c - see source.h */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "common/io.h"
#include "common/mapped.h"
#include "host/image/sha.h"
#include "host/image/source.h"
#include "host/image/tree.h"

#define DIGEST_SKIP 7 /* "sha256:" */

static int failed(const char *name, int code, struct err *e)
{
	char q[TREE_QUOTE_MAX];

	return err_set(e, code, "'%s' in it: %s", tree_quote(name, q),
		       code == -EXDEV ? "the name leads out of it"
				      : strerror(-code));
}

static int open_one(const struct source *s, const char *name)
{
	/* A FIFO must not hold us up. */
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	struct stat st;
	auto_fd int fd = -1;

	do
		fd = (int)syscall(SYS_openat2, s->fd, name, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	return take_fd(&fd);
}

/* Whether the file stands for a link, and then to where, from its folder. */
static int read_link(int fd, const char *name, char ret[PATH_MAX])
{
	const char *slash = strrchr(name, '/');
	uint8_t buf[MAPPED_STAT_LEN];
	struct mapped_stat st;
	char to[PATH_MAX];
	ssize_t n = fgetxattr(fd, MAPPED_STAT, buf, sizeof(buf));
	int len;

	if (n < 0 || mapped_get(buf, (size_t)n, &st) < 0 || !S_ISLNK(st.mode))
		return 0;
	n = io_read_full(fd, to, sizeof(to) - 1);
	if (n < 0)
		return (int)n;
	to[n] = '\0';
	len = snprintf(ret, PATH_MAX, "%.*s%s",
		       slash ? (int)(slash - name) + 1 : 0, name, to);
	return to[0] == '/' || len < 0 || len >= PATH_MAX ? -EXDEV : 1;
}

int source_open(const struct source *s, const char *name, struct err *e)
{
	char at[PATH_MAX], to[PATH_MAX];

	if (strlen(name) >= sizeof(at))
		return failed(name, -ENAMETOOLONG, e);
	memcpy(at, name, strlen(name) + 1);
	for (int i = 0; i < SOURCE_LINKS_MAX; i++) {
		auto_fd int fd = open_one(s, at);
		int r = fd < 0 || !s->mapped ? MIN(fd, 0)
					     : read_link(fd, at, to);

		if (r < 0)
			return failed(name, r, e);
		if (r == 0)
			return take_fd(&fd);
		memcpy(at, to, sizeof(at));
	}
	return failed(name, -ELOOP, e);
}

bool source_has(const struct source *s, const char *name)
{
	auto_fd int fd = source_open(s, name, NULL);

	return fd >= 0;
}

static void blob_name(const struct oci_desc *d, char ret[PATH_MAX])
{
	(void)snprintf(ret, PATH_MAX, "blobs/sha256/%s",
		       d->digest + DIGEST_SKIP);
}

int source_open_blob(const struct source *s, const struct oci_desc *d,
		     struct err *e)
{
	char name[PATH_MAX];
	struct stat st;
	auto_fd int fd = -1;

	blob_name(d, name);
	fd = source_open(s, name, e);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return failed(name, -errno, e);
	if ((uint64_t)st.st_size != d->size)
		return err_set(e, -EBADMSG,
			       "%s has %llu bytes, and should have %llu",
			       d->digest, (unsigned long long)st.st_size,
			       (unsigned long long)d->size);
	return take_fd(&fd);
}

static int read_all(int fd, const char *name, char **ret, size_t *ret_len,
		    struct err *e)
{
	auto_free char *buf = malloc(HUTCH_IMAGE_CONFIG_MAX + 1u);
	char q[TREE_QUOTE_MAX];
	ssize_t n;

	if (!buf)
		return err_set(e, -ENOMEM, "no memory");
	n = io_read_full(fd, buf, HUTCH_IMAGE_CONFIG_MAX + 1u);
	if (n < 0)
		return failed(name, (int)n, e);
	if (n > (ssize_t)HUTCH_IMAGE_CONFIG_MAX)
		return err_set(e, -E2BIG, "'%s' in it has more than %u bytes",
			       tree_quote(name, q), HUTCH_IMAGE_CONFIG_MAX);
	buf[n] = '\0';
	*ret = take_ptr(&buf);
	*ret_len = (size_t)n;
	return 0;
}

int source_read(const struct source *s, const char *name, char **ret,
		size_t *ret_len, struct err *e)
{
	auto_fd int fd = source_open(s, name, e);

	return fd < 0 ? fd : read_all(fd, name, ret, ret_len, e);
}

int source_check(const struct oci_desc *d, const void *buf, size_t len,
		 struct err *e)
{
	char got[SHA_HEX + 1];

	sha_of(buf, len, got);
	if (len == d->size && strcmp(got, d->digest + DIGEST_SKIP) == 0)
		return 0;
	return err_set(e, -EBADMSG,
		       "%s is not what it should be: its digest is sha256:%s",
		       d->digest, got);
}

int source_read_blob(const struct source *s, const struct oci_desc *d,
		     char **ret, size_t *ret_len, struct err *e)
{
	auto_fd int fd = source_open_blob(s, d, e);
	auto_free char *buf = NULL;
	size_t len = 0;
	int r = fd < 0 ? fd : read_all(fd, d->digest, &buf, &len, e);

	r = r < 0 ? r : source_check(d, buf, len, e);
	if (r < 0)
		return r;
	*ret = take_ptr(&buf);
	*ret_len = len;
	return 0;
}
