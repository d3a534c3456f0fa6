/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/truststore.c - see truststore.h */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/io.h"
#include "common/newfile.h"
#include "guest-agent/truststore.h"

#define BEGIN "# hutch: who speaks for hosts that are intercepted\n"
#define END   "# hutch: end\n"

/* Return: the caller's; NULL: it is none. A FIFO would hold us up. */
static char *read_whole(const char *path, struct stat *st)
{
	auto_free char *text = NULL;
	size_t len = 0;
	struct err ignored;

	if (stat(path, st) < 0 || !S_ISREG(st->st_mode) ||
	    io_read_file(AT_FDCWD, path, TRUSTSTORE_MAX, &text, &len,
			 &ignored) < 0)
		return NULL;
	if (strlen(text) != len || !strstr(text, "-----BEGIN "))
		return NULL;
	return take_ptr(&text);
}

/* In place. */
static void remove_ours(char *text)
{
	char *from = strstr(text, BEGIN);
	char *to = from ? strstr(from, END) : NULL;

	if (!to)
		return;
	to += sizeof(END) - 1;
	memmove(from, to, strlen(to) + 1);
}

char *truststore_read(const char *path)
{
	struct stat st;
	char *text = read_whole(path, &st);

	if (text)
		remove_ours(text);
	return text;
}

static int fill(int fd, const char *text, const struct stat *as)
{
	int r = io_write_full(fd, text, strlen(text));

	if (r == 0 && (fchown(fd, as->st_uid, as->st_gid) < 0 ||
		       fchmod(fd, as->st_mode & 07777) < 0))
		r = -errno;
	return r;
}

/* @path is where it is, without links: it is cut. */
static int replace(char *path, const char *text, const struct stat *as)
{
	struct newfile f = NEWFILE_NONE;
	char *name = strrchr(path, '/');
	auto_fd int dir = -1;
	int r;

	*name++ = '\0';
	dir = open(*path ? path : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = dir < 0 ? -errno : newfile_open(&f, dir);
	r = r < 0 ? r : fill(f.fd, text, as);
	r = r < 0 ? r : newfile_publish(&f, name);
	newfile_drop(&f);
	return r;
}

int truststore_add(const char *path, const char *ca)
{
	auto_free char *place = realpath(path, NULL);
	auto_free char *old = NULL;
	auto_free char *own = NULL;
	auto_free char *text = NULL;
	struct stat st;

	old = place ? read_whole(place, &st) : NULL;
	own = old ? strdup(old) : NULL;
	if (!own)
		return old ? -ENOMEM : 0;
	remove_ours(own);
	if (asprintf(&text, "%s%s" BEGIN "%s" END, own,
		     own[strlen(own) - 1] == '\n' ? "" : "\n", ca) < 0) {
		text = NULL;
		return -ENOMEM;
	}
	return strcmp(text, old) == 0 ? 0 : replace(place, text, &st);
}
