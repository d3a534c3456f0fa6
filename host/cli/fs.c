/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/fs.c - see fs.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "host/cli/fs.h"
#include "host/cli/text.h"
#include "host/cli/value.h"

#define NS_PER_S 1000000000ll
#define MODE_MAX 07777u
#define MODE_LEN 5

/* The largest number that JSON's readers keep, see docs/json.md. */
#define JSON_MAX ((1ull << 53) - 1)

static void print_note(void *arg, int code, const char *sentence)
{
	(void)arg;
	(void)code;
	cli_warn("%s", sentence);
}

int fs_open(struct cli *c, const char *name, const char *user,
	    struct hutch_fs **ret)
{
	struct hutch_fs_opts o = HUTCH_FS_OPTS_INIT;
	struct hutch_err e = { 0 };
	int r = cli_open(c);

	if (r != 0)
		return r;
	o.user = user;
	o.note = print_note;
	return hutch_fs_open(c->h, name, &o, ret, &e) < 0 ? cli_fail(c, &e) : 0;
}

int fs_end(const struct cli *c, struct hutch_fs *fs, int r,
	   const struct hutch_err *e)
{
	int code = r ? FS_EXIT_REFUSED : 0;

	if (r < 0) {
		code = cli_fail(c, e);
		if (hutch_fs_refused(fs))
			code = FS_EXIT_REFUSED;
	}
	hutch_fs_close(fs);
	return code;
}

int fs_mode(const char *word, unsigned int *ret, struct hutch_err *e)
{
	unsigned int mode = 0;
	const char *s = word;

	if (!word)
		return 0;
	for (; *s >= '0' && *s <= '7' && s - word < MODE_LEN; s++)
		mode = mode * 8 + (unsigned int)(*s - '0');
	if (*s || s == word || mode > MODE_MAX)
		return value_refuse(e, "--mode", word,
				    "is no mode: write it in octal, as 644 or "
				    "0755");
	*ret = mode;
	return 0;
}

char *fs_time(char buf[FS_TIME_MAX], int64_t ns)
{
	int64_t part = ns % NS_PER_S;
	time_t s = (time_t)(ns / NS_PER_S);
	struct tm tm = { 0 };
	size_t len;

	if (part < 0) {
		part += NS_PER_S;
		s--;
	}
	(void)gmtime_r(&s, &tm);
	len = strftime(buf, FS_TIME_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(buf + len, FS_TIME_MAX - len, ".%09" PRId64 "Z", part);
	return buf;
}

static int is_utf8(const char *s)
{
	size_t len = strlen(s);
	uint32_t c;

	while (len) {
		int n = text_utf8(s, len, &c);

		if (n <= 0)
			return 0;
		s += n;
		len -= (size_t)n;
	}
	return 1;
}

void fs_put_bytes(struct jsonw *j, const char *key, const char *key64,
		  const char *s)
{
	jsonw_str(j, key, s);
	if (!s || is_utf8(s))
		jsonw_null(j, key64);
	else
		jsonw_base64(j, key64, s, strlen(s));
}

static void put_device(struct jsonw *j, const struct hutch_file *f)
{
	char text[32];

	if (f->kind != HUTCH_FILE_CHAR_DEVICE &&
	    f->kind != HUTCH_FILE_BLOCK_DEVICE) {
		jsonw_null(j, "device");
		return;
	}
	(void)snprintf(text, sizeof(text), "%u:%u", f->rdev_major,
		       f->rdev_minor);
	jsonw_str(j, "device", text);
}

void fs_put_file(struct jsonw *j, const struct hutch_file *f)
{
	int link = f->kind == HUTCH_FILE_SYMLINK;
	char text[FS_TIME_MAX];

	jsonw_object(j, NULL);
	fs_put_bytes(j, "name", "name_base64", f->name);
	jsonw_str(j, "kind", hutch_file_kind_name(f->kind));
	(void)snprintf(text, sizeof(text), "%04o", f->mode);
	jsonw_str(j, "mode", text);
	jsonw_uint(j, "uid", f->uid);
	jsonw_uint(j, "gid", f->gid);
	jsonw_uint(j, "links", f->nlink);
	jsonw_uint(j, "size", MIN(f->bytes, JSON_MAX));
	jsonw_uint(j, "allocated", MIN(f->allocated, JSON_MAX));
	(void)snprintf(text, sizeof(text), "%" PRIu64, f->ino);
	jsonw_str(j, "inode", text);
	put_device(j, f);
	fs_put_bytes(j, "target", "target_base64", link ? f->target : NULL);
	jsonw_str(j, "accessed", fs_time(text, f->atime_ns));
	jsonw_str(j, "modified", fs_time(text, f->mtime_ns));
	jsonw_str(j, "changed", fs_time(text, f->ctime_ns));
	jsonw_object_end(j);
}

int fs_to_stdout(void *arg, const void *data, size_t len)
{
	(void)arg;
	/* cli_main() says why, when it flushes. */
	return fwrite(data, 1, len, stdout) == len ? 0 : -EIO;
}
