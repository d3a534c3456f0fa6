/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/conform/conform.h - rules of POSIX and Linux for a file system
 *
 * A rule is a function that does something and says what must come of it. It
 * runs as root in a process and in an empty folder of its own, of mode 0755
 * and with a umask of 022; what it leaves behind is removed. The first thing
 * that is not as it must be ends the rule:
 *
 *	static void folder_is_not_empty(void)
 *	{
 *		make_dir("d", 0755);
 *		make_file("d/x", 0644);
 *		fails(ENOTEMPTY, rmdir("d"));
 *	}
 *
 * A set is the rules of one operation. Those that hold for each operation that
 * takes a path are in path.c, once for all of them.
 */
#ifndef HUTCH_TESTS_CONFORM_H
#define HUTCH_TESTS_CONFORM_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base.h"

/**
 * enum need - What a rule rests on, which not every file system has
 * @OWNERS:	files of several users and groups
 * @SUID:	setuid and setgid bits of files
 * @DEVICES:	device nodes
 * @ROOT:	root may do what a mode forbids
 * @TRUSTED:	trusted.* and security.* attributes
 * @ACLS:	POSIX ACLs
 */
enum need {
	OWNERS = 1 << 0,
	SUID = 1 << 1,
	DEVICES = 1 << 2,
	ROOT = 1 << 3,
	TRUSTED = 1 << 4,
	ACLS = 1 << 5,
};

struct op;

/**
 * struct rule - One thing that must be so
 * @name:	Its function's name
 * @check:	The function, or
 * @check_with:	one that is given @with, or
 * @check_op:	one that is given an operation
 * @applies:	Whether it is a rule for that operation
 * @needs:	Bits of enum need
 */
struct rule {
	const char *name;
	void (*check)(void);
	void (*check_with)(unsigned int with);
	void (*check_op)(const struct op *op);
	bool (*applies)(const struct op *op);
	unsigned int with;
	unsigned int needs;
};

#define RULE(fn)                           \
	{                                  \
		.name = #fn, .check = (fn) \
	}
#define RULE_NEEDS(fn, bits)                                \
	{                                                   \
		.name = #fn, .check = (fn), .needs = (bits) \
	}

struct rules {
	const char *set;
	const struct rule *rule;
	size_t n;
};

#define RULES(name)                                          \
	{                                                    \
#name, name##_rules, ARRAY_LEN(name##_rules) \
	}

/* ---- What must be so ---- */

/* Each gives back what the call did. */
#define ok(call)         must_ok((call), #call, __FILE__, __LINE__)
#define fails(err, call) must_fail((err), (call), #call, __FILE__, __LINE__)
#define eq(want, got) \
	must_eq((int64_t)(want), (int64_t)(got), #got, __FILE__, __LINE__)
#define so(cond) ((cond) ? (void)0 : is_false(#cond, __FILE__, __LINE__))

int must_ok(long r, const char *what, const char *file, int line);
void must_fail(int err, long r, const char *what, const char *file, int line);
void must_eq(int64_t want, int64_t got, const char *what, const char *file,
	     int line);
__attribute__((noreturn)) void is_false(const char *what, const char *file,
					int line);

/* ---- How it is arranged ---- */

#define USER      1001u
#define OTHER     1002u
#define GROUP     2001u
#define OTHERS    2002u
#define TEXT      "content"
#define TEXT_LEN  (sizeof(TEXT) - 1)
#define ATTR      "user.conform"
#define NAME_LEN  256u
#define LONG_PATH 4200u

enum kind {
	FILE_,
	DIR_,
	FIFO_,
	SOCK_,
	LINK_,
	CHR_,
	BLK_
};

/** make_file() - A file with TEXT in it, of exactly that mode */
void make_file(const char *name, mode_t mode);
void make_dir(const char *name, mode_t mode);
void make_link(const char *target, const char *name);
/** make() - Any kind; a symlink leads nowhere */
void make(enum kind kind, const char *name);
mode_t type_of(enum kind kind);

void give(const char *name, uid_t uid, gid_t gid);

/** be() - Become a user who is in that group alone; root can come back */
void be(uid_t uid, gid_t gid);
/** be_in() - And in a second group */
void be_in(uid_t uid, gid_t gid, gid_t second);
void be_root(void);

int open_file(const char *name, int flags);
/** write_text() - @text at @at of what is there */
void write_text(int fd, const char *text, off_t at);
/** has_text() - What it reads at @at is @text */
void has_text(int fd, const char *text, off_t at);
void file_is(const char *name, const char *text);

struct stat stat_of(const char *name);
struct stat stat_fd(int fd);
bool there(const char *name);

/**
 * tick() - Until the clock of the file system has gone on
 *
 * A stamp that is made after it is later than each made before.
 */
void tick(void);
bool later(struct timespec a, struct timespec b);
bool same_time(struct timespec a, struct timespec b);

/** CHANGED, WRITTEN, READ - Stamps of @after that are later than @before's */
enum stamp {
	CHANGED = 1,
	WRITTEN = 2,
	READ = 4
};
unsigned int stamps(const struct stat *before, const struct stat *after);

/** long_name() - @n letters */
const char *long_name(char buf[NAME_LEN + 1], size_t n);
/** long_path() - @name with so many "./" before it that it has @n bytes */
const char *long_path(char buf[LONG_PATH], size_t n, const char *name);

/** nowhere() - An address that nothing can be read from or written to */
void *nowhere(void);

/** make_ro() - Have the folder read-only, by a mount that only we see */
void make_ro(const char *dir);
/** mount_other() - Another file system on the folder */
void mount_other(const char *dir);

/** child() - 0 in a child process; joined() if all was right there */
pid_t child(void);
void joined(pid_t pid);
/** leave() - End a child in which all was right */
__attribute__((noreturn)) void leave(void);

/* ---- How it is run ---- */

/* One line of what was not so, or that all was. */
#define REPORT_MAX 512u

/**
 * struct place - Where rules are tried
 * @dir_fd:	A folder of our own in the file system
 * @n:		Rules that have run
 */
struct place {
	int dir_fd;
	unsigned int n;
};

int place_make(struct place *p, const char *dir);
void place_remove(struct place *p);

/**
 * rule_run() - Try a rule in a process and a folder of its own
 * @report:	What was not so, without an end of line
 *
 * Return: true if all was so
 */
bool rule_run(struct place *p, const struct rule *rule, const struct op *op,
	      char report[REPORT_MAX]);

/* ---- Sets ---- */

/** op_at() - The @i-th operation that takes a path, or NULL */
const struct op *op_at(size_t i);
const char *op_name(const struct op *op);
/** path_rules - For each of them */
extern const struct rules path_set;

extern const struct rules access_set;
extern const struct rules chmod_set;
extern const struct rules chown_set;
extern const struct rules hole_set;
extern const struct rules link_set;
extern const struct rules lock_set;
extern const struct rules map_set;
extern const struct rules mkdir_set;
extern const struct rules mknod_set;
extern const struct rules open_set;
extern const struct rules create_set;
extern const struct rules readdir_set;
extern const struct rules rename_set;
extern const struct rules rename2_set;
extern const struct rules rmdir_set;
extern const struct rules symlink_set;
extern const struct rules tmpfile_set;
extern const struct rules truncate_set;
extern const struct rules unlink_set;
extern const struct rules utimensat_set;
extern const struct rules write_set;
extern const struct rules xattr_set;

/* ---- What differs ---- */

/**
 * struct difference - Rules that do not hold somewhere, for a reason
 * @kind:	Of file system, as --kind names it; or several, with blanks between
 * @pattern:	Of rules, as in "chown/root_gives_away chmod/x*", or NULL
 * @needs:	And all that need one of these
 * @reason:	As docs/conformance.md has it
 * @now_and_then: NULL; or of one that holds but now and then: what is in its
 *		report when it does not, and nothing else will do
 */
struct difference {
	const char *kind;
	const char *pattern;
	unsigned int needs;
	const char *reason;
	const char *now_and_then;
};

/** difference_of() - Why the rule need not hold there, or NULL if it must */
const struct difference *difference_of(const char *kind, const char *name,
				       unsigned int needs);
bool difference_kind(const char *kind);
void differences_print(void);

#endif
