/* SPDX-License-Identifier: Apache-2.0 */
/*
 * images/mkcpio.c - make a newc archive from a list, the same one every time
 *
 *	mkcpio OUT < LIST
 *
 * A line of LIST is one of
 *
 *	dir NAME MODE UID GID
 *	file NAME SOURCE MODE UID GID
 *	slink NAME TARGET
 *
 * with MODE in octal; '#' begins a comment.  Owners, modes and times come
 * from the list alone, so that no privilege is needed and nothing of the
 * machine that builds gets in.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_MAX_LEN 1024
#define FIELD_LEN    256
#define FILE_MAX     (64l << 20)

/** struct entry - One member of the archive */
struct entry {
	const char *name;
	unsigned int mode;
	unsigned int uid;
	unsigned int gid;
	const void *data;
	size_t len;
};

/** struct out - The archive under way */
struct out {
	FILE *f;
	unsigned int ino;
	size_t len;
	bool bad;
};

static void put(struct out *o, const void *p, size_t len)
{
	if (fwrite(p, 1, len, o->f) != len)
		o->bad = true;
	o->len += len;
}

static void pad(struct out *o)
{
	static const char zero[4];

	put(o, zero, -o->len & 3);
}

static void put_entry(struct out *o, const struct entry *e)
{
	unsigned int nlink = S_ISDIR(e->mode) ? 2 : 1;
	size_t name_len = strlen(e->name) + 1;
	char head[111];

	(void)snprintf(head, sizeof(head),
		       "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x"
		       "%08x",
		       ++o->ino, e->mode, e->uid, e->gid, nlink, 0u,
		       (unsigned int)e->len, 0u, 0u, 0u, 0u,
		       (unsigned int)name_len, 0u);
	put(o, head, 110);
	put(o, e->name, name_len);
	pad(o);
	put(o, e->data, e->len);
	pad(o);
}

static int put_file(struct out *o, const char *source, struct entry *e)
{
	FILE *f = fopen(source, "re");
	char *buf = NULL;
	struct stat st;
	int r = -1;

	if (f && fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size <= FILE_MAX) {
		e->len = (size_t)st.st_size;
		buf = malloc(e->len + 1);
		if (buf && fread(buf, 1, e->len, f) == e->len)
			r = 0;
	}
	if (r == 0) {
		e->data = buf;
		put_entry(o, e);
	} else {
		(void)fprintf(stderr, "mkcpio: %s: cannot be read: %s\n",
			      source, strerror(errno));
	}
	free(buf);
	if (f)
		(void)fclose(f);
	return r;
}

static int put_line(struct out *o, const char *line)
{
	char name[FIELD_LEN], other[FIELD_LEN];
	struct entry e = { .name = name };

	if (*line == '#' || *line == '\n')
		return 0;
	if (sscanf(line, "dir %255s %o %u %u", name, &e.mode,
		   &e.uid, /* NOLINT */
		   &e.gid) == 4) {
		e.mode |= S_IFDIR;
		put_entry(o, &e);
		return 0;
	}
	if (sscanf(line, "file %255s %255s %o %u %u", name, other, /* NOLINT */
		   &e.mode, &e.uid, &e.gid) == 5) {
		e.mode |= S_IFREG;
		return put_file(o, other, &e);
	}
	if (sscanf(line, "slink %255s %255s", name, other) == 2) {
		e.mode = S_IFLNK | 0777;
		e.data = other;
		e.len = strlen(other);
		put_entry(o, &e);
		return 0;
	}
	(void)fprintf(stderr, "mkcpio: not a line of a list: %s", line);
	return -1;
}

static int make(struct out *o)
{
	static const struct entry trailer = { .name = "TRAILER!!!" };
	char line[LINE_MAX_LEN];

	while (fgets(line, sizeof(line), stdin))
		if (put_line(o, line) < 0)
			return -1;
	put_entry(o, &trailer);
	return ferror(stdin) || o->bad ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct out o = { 0 };
	int r;

	if (argc != 2) {
		(void)fprintf(stderr, "usage: mkcpio OUT < LIST\n");
		return 2;
	}
	o.f = fopen(argv[1], "we");
	if (!o.f) {
		(void)fprintf(stderr, "mkcpio: %s: %s\n", argv[1],
			      strerror(errno));
		return 1;
	}
	r = make(&o);
	if (fclose(o.f) != 0)
		r = -1;
	if (r < 0)
		(void)remove(argv[1]);
	return r < 0 ? 1 : 0;
}
