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
#define WORDS_MAX    7
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

/* Cut at blanks. Return: how many words, at most WORDS_MAX */
static int split(char *line, char *word[WORDS_MAX])
{
	char *save = NULL;
	int n = 0;

	for (char *p = strtok_r(line, " \t\n", &save); p && n < WORDS_MAX;
	     p = strtok_r(NULL, " \t\n", &save))
		word[n++] = p;
	return n;
}

/* Mode, uid and gid from three words. Return: 0, or -1 if one is no number */
static int owner(struct entry *e, char *const word[3])
{
	unsigned int *const to[] = { &e->mode, &e->uid, &e->gid };

	for (int i = 0; i < 3; i++) {
		char *end;

		*to[i] = (unsigned int)strtoul(word[i], &end, i ? 10 : 8);
		if (end == word[i] || *end)
			return -1;
	}
	return 0;
}

static int put_line(struct out *o, char *line)
{
	char *w[WORDS_MAX];
	int n = *line == '#' ? 0 : split(line, w);
	struct entry e = { .name = n > 1 ? w[1] : NULL };

	if (n == 0)
		return 0;
	if (n == 5 && strcmp(w[0], "dir") == 0 && owner(&e, w + 2) == 0) {
		e.mode |= S_IFDIR;
		put_entry(o, &e);
		return 0;
	}
	if (n == 6 && strcmp(w[0], "file") == 0 && owner(&e, w + 3) == 0) {
		e.mode |= S_IFREG;
		return put_file(o, w[2], &e);
	}
	if (n == 3 && strcmp(w[0], "slink") == 0) {
		e.mode = S_IFLNK | 0777;
		e.data = w[2];
		e.len = strlen(w[2]);
		put_entry(o, &e);
		return 0;
	}
	(void)fprintf(stderr, "mkcpio: not a line of a list: %s...\n", w[0]);
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
