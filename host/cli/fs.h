/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/fs.h - what the verbs about a VM's files share */
#ifndef HUTCH_CLI_FS_H
#define HUTCH_CLI_FS_H

#include "host/cli/cli.h"

/* The VM refused: a file is not there, or may not be read... */
#define FS_EXIT_REFUSED 1

#define FS_TIME_MAX 48

extern const struct verb verb_fs_ls;
extern const struct verb verb_fs_cat;
extern const struct verb verb_fs_write;
extern const struct verb verb_fs_stat;
extern const struct verb verb_fs_mkdir;
extern const struct verb verb_fs_rm;
extern const struct verb verb_fs_mv;
extern const struct verb verb_fs_watch;

/* Each takes it. */
#define FS_USER_OPT(type)                                               \
	{                                                               \
		"user", 'u', OPT_STR, offsetof(type, user), "USER",     \
			"name, uid or uid:gid in the VM (the VM's own)" \
	}

/**
 * fs_open() - Make ready for files of VM @name; notes of copies are printed
 * @user:	NULL for the VM's own
 *
 * Return: 0, or an exit code after complaining
 */
MUST_CHECK int fs_open(struct cli *c, const char *name, const char *user,
		       struct hutch_fs **ret);

/**
 * fs_end() - Complain if it failed, and close
 * @r:		What the call returned; 1: something was left out
 *
 * Return: exit code
 */
int fs_end(const struct cli *c, struct hutch_fs *fs, int r,
	   const struct hutch_err *e);

/** fs_mode() - "755" or "0644", octal; NULL leaves *@ret. 0 or -EINVAL */
MUST_CHECK int fs_mode(const char *word, unsigned int *ret,
		       struct hutch_err *e);

/** fs_time() - With nanoseconds, UTC, of any year. Return: @buf */
char *fs_time(char buf[FS_TIME_MAX], int64_t ns);

/** fs_put_bytes() - As text, and if that is not all of it in base64 too */
void fs_put_bytes(struct jsonw *j, const char *key, const char *key64,
		  const char *s);

/** fs_put_file() - As an object (docs/json.md) */
void fs_put_file(struct jsonw *j, const struct hutch_file *f);

/** fs_to_stdout() - For hutch_fs_read() */
int fs_to_stdout(void *arg, const void *data, size_t len);

#endif
