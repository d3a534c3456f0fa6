/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/hosts.c - see hosts.h */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/io.h"
#include "guest-agent/hosts.h"

#define BLANKS " \t\r"

/** struct host - A line of ours: @address is @name, and maybe @more */
struct host {
	const char *address;
	const char *name;
	const char *more;
};

static size_t line_len(const char *line)
{
	return strcspn(line, "\n");
}

static bool is_ours(const char *line)
{
	const size_t len = line_len(line), mark = strlen(HOSTS_MARK);

	return len >= mark && memcmp(line + len - mark, HOSTS_MARK, mark) == 0;
}

/* The next word of a line, up to a comment. Return: its length, or 0 */
static size_t next_word(const char **p)
{
	*p += strspn(*p, BLANKS);
	return strcspn(*p, BLANKS "#\n");
}

static bool is_word(const char *p, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(p, word, len) == 0;
}

static bool line_says(const char *line, const struct host *h)
{
	const char *p = line;
	size_t len = next_word(&p);

	if (!is_word(p, len, h->address))
		return false;
	for (p += len; (len = next_word(&p)) > 0; p += len)
		if (is_word(p, len, h->name))
			return true;
	return false;
}

static const char *next_line(const char *line)
{
	line += line_len(line);
	return *line ? line + 1 : line;
}

static bool says(const char *old, const struct host *h)
{
	for (const char *l = old; *l; l = next_line(l))
		if (!is_ours(l) && line_says(l, h))
			return true;
	return false;
}

char *hosts_text(const char *old, const char *name)
{
	const struct host ours[] = {
		{ "127.0.0.1", "localhost", "" },
		{ "::1", "localhost", " ip6-localhost ip6-loopback" },
		{ "127.0.1.1", name, "" },
	};
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int bad = 0;

	if (!f)
		return NULL;
	for (const char *l = old; *l; l = next_line(l))
		if (!is_ours(l))
			bad |= fprintf(f, "%.*s\n", (int)line_len(l), l) < 0;
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (!says(old, &ours[i]))
			bad |= fprintf(f, "%s\t%s%s\t" HOSTS_MARK "\n",
				       ours[i].address, ours[i].name,
				       ours[i].more) < 0;
	bad |= fclose(f) != 0;
	if (!bad)
		return text;
	free(text);
	return NULL;
}

/* Return: what is there, to be free()d; NULL with an error */
static char *read_old(int fd, int *error)
{
	struct stat st;
	char *old;
	ssize_t n;

	*error = -errno;
	if (fd < 0 || fstat(fd, &st) < 0)
		return NULL;
	*error = S_ISREG(st.st_mode) ? -EFBIG : -EINVAL;
	if (!S_ISREG(st.st_mode) || st.st_size > HOSTS_MAX)
		return NULL;
	*error = -ENOMEM;
	old = calloc(1, HOSTS_MAX + 1);
	if (!old)
		return NULL;
	n = io_read_full(fd, old, HOSTS_MAX);
	*error = n < 0 ? (int)n : -EINVAL;
	if (n >= 0 && strlen(old) == (size_t)n)
		return old;
	free(old);
	return NULL;
}

static size_t same(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

int hosts_set(const char *path, const char *name)
{
	/* An image may have anything there: a FIFO is not to make us wait. */
	auto_fd int fd = open(path,
			      O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW |
				      O_NONBLOCK | O_NOCTTY,
			      0644);
	int error = 0;
	auto_free char *old = read_old(fd, &error);
	auto_free char *text = old ? hosts_text(old, name) : NULL;
	size_t keep;
	int r;

	if (!text)
		return old ? -ENOMEM : error;
	keep = same(old, text);
	if (!old[keep] && !text[keep])
		return 0;
	if (lseek(fd, (off_t)keep, SEEK_SET) < 0)
		return -errno;
	r = io_write_full(fd, text + keep, strlen(text + keep));
	if (r < 0 || strlen(text) >= strlen(old))
		return r;
	return ftruncate(fd, (off_t)strlen(text)) < 0 ? -errno : 0;
}
