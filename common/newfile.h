/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/newfile.h - a file that is seen under its name only when it is whole
 *
 * Its bytes go to a file without a name (O_TMPFILE), which is gone when we
 * are, however we end; where the file system has no such thing, to one beside
 * the name, ".hutch-" and a random word.  newfile_publish() gives it the name,
 * in place of what had it.
 */
#ifndef HUTCH_COMMON_NEWFILE_H
#define HUTCH_COMMON_NEWFILE_H

#include "common/base.h"

#define NEWFILE_TEMP_MAX 32 /* bytes of a name beside it, with its NUL */

/**
 * struct newfile - A file under way
 * @fd:		To write it; -1 if there is none
 * @dirfd:	Where it is to be; borrowed
 * @temp:	What it is called meanwhile, or ""
 */
struct newfile {
	int fd;
	int dirfd;
	char temp[NEWFILE_TEMP_MAX];
};

#define NEWFILE_NONE                      \
	{                                 \
		.fd = -1, .dirfd = -1, "" \
	}

/** newfile_open() - Begin one in folder @dirfd, mode 0600. 0 or -errno */
MUST_CHECK int newfile_open(struct newfile *f, int dirfd);

/**
 * newfile_publish() - It is whole: give it its name
 * @name:	In its folder; a file that has it is replaced, a folder not
 *
 * Return: 0; -errno, and nothing has changed
 */
MUST_CHECK int newfile_publish(struct newfile *f, const char *name);

/** newfile_drop() - Forget it; idempotent */
void newfile_drop(struct newfile *f);

/** newfile_temp_name() - A name that nobody has and nobody guesses */
void newfile_temp_name(char ret[NEWFILE_TEMP_MAX]);

/**
 * newfile_rename() - Give what is called @temp the name @name
 *
 * Takes @temp away in any case: two names of one file are renamed to nothing.
 *
 * Return: 0 or -errno
 */
MUST_CHECK int newfile_rename(int dirfd, const char *temp, const char *name);

#endif
