/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/wire_file.h - requests about files, and trees of files; see wire.h
 *
 * A tree is a row of entries, each with what belongs to it behind it: of a
 * regular file its data, its extended attributes and END; of a folder its
 * entries, its attributes and UP.  A name is one component, never a path: whoever receives a
 * tree is in one folder at a time, and cannot be led out of it.
 */
#ifndef HUTCH_COMMON_WIRE_FILE_H
#define HUTCH_COMMON_WIRE_FILE_H

#include "common/wire.h"

#define WIRE_NAME_MAX       255u    /* bytes of an entry's name */
#define WIRE_XATTR_MAX      65536u  /* bytes of an extended attribute */
#define WIRE_TREE_DEPTH_MAX 256u    /* folders in folders */
#define WIRE_TREE_LINKS_MAX 262144u /* files with several names, in a tree */
#define WIRE_MODE_MAX       07777u

enum wire_file_op {
	WIRE_FILE_READ = 1, /* FILE_DATA..., DONE */
	WIRE_FILE_WRITE,    /* client: FILE_DATA..., FILE_COMMIT; DONE */
	WIRE_FILE_STAT,     /* FILE_ENTRY, DONE */
	WIRE_FILE_LIST,     /* FILE_ENTRY..., DONE */
	WIRE_FILE_MKDIR,    /* DONE, as the next two */
	WIRE_FILE_REMOVE,
	WIRE_FILE_RENAME,
	WIRE_FILE_GET,  /* a tree, DONE */
	WIRE_FILE_PUT,  /* client: a tree, FILE_COMMIT; DONE */
	WIRE_FILE_WATCH /* FILE_EVENT... */
};

#define WIRE_FILE_FOLLOW    0x01u  /* STAT, GET: what a link points to */
#define WIRE_FILE_PARENTS   0x02u  /* MKDIR: those above too; it may exist */
#define WIRE_FILE_RECURSIVE 0x04u  /* REMOVE, WATCH */
#define WIRE_FILE_FORCE     0x08u  /* REMOVE: nothing there is no error */
#define WIRE_FILE_ATOMIC    0x10u  /* WRITE: beside it, fsync, rename */
#define WIRE_FILE_ARCHIVE   0x20u  /* GET, PUT: owners and attributes too */
#define WIRE_FILE_CONTENTS  0x40u  /* PUT: of the folder, not the folder */
#define WIRE_FILE_ONE_FS    0x80u  /* GET: nothing that is mounted below */
#define WIRE_FILE_REPLACE   0x100u /* PUT: in place of what is there, at once */

/**
 * struct wire_file - Fixed part of FILE
 *
 * Followed by strings: user, path, other.
 */
struct wire_file {
	le16 op;
	le16 reserved;
	le32 flags;
	le32 mode;
	le32 reserved2;
};
_Static_assert(sizeof(struct wire_file) == 16, "wire layout is ABI");

/**
 * struct msg_file - FILE: what is to be done with which file
 * @flags:	WIRE_FILE_*, those of @op
 * @mode:	WRITE, MKDIR: of what is made; else 0
 * @user:	As in EXEC
 * @path:	Not empty; relative to the sandbox's folder if not absolute
 * @other:	RENAME: the new path.  PUT: the name that the tree gets in
 *		@path if that is a folder.  Else ""
 */
struct msg_file {
	enum wire_file_op op;
	uint32_t flags;
	uint32_t mode;
	const char *user;
	const char *path;
	const char *other;
};

enum wire_file_kind {
	WIRE_KIND_FILE = 1,
	WIRE_KIND_DIR,
	WIRE_KIND_SYMLINK,
	WIRE_KIND_FIFO,
	WIRE_KIND_SOCKET,
	WIRE_KIND_CHAR,
	WIRE_KIND_BLOCK,
	WIRE_KIND_LINK /* in a tree: one more name of an earlier file */
};

/**
 * struct wire_entry - Fixed part of FILE_ENTRY
 *
 * Followed by strings: name, target.
 */
struct wire_entry {
	le16 kind;
	le16 reserved;
	le32 mode;
	le32 uid;
	le32 gid;
	le32 nlink;
	le32 link;
	le32 rdev_major;
	le32 rdev_minor;
	le64 size;
	le64 blocks;
	le64 ino;
	le64 atime_ns;
	le64 mtime_ns;
	le64 ctime_ns;
};
_Static_assert(sizeof(struct wire_entry) == 80, "wire layout is ABI");

/**
 * struct msg_entry - FILE_ENTRY: a file, as lstat() has it
 * @mode:	Without the kind: 0 to 07777
 * @link:	In a tree: number of a file with several names, the first has
 *		1; of WIRE_KIND_LINK that of the earlier one.  Else 0
 * @size:	Bytes
 * @blocks:	Of 512 bytes, that it takes
 * @atime_ns:	Since 1970, negative before, as the next two
 * @name:	A component; "" for what the request names itself
 * @target:	Of a symbolic link, else ""
 */
struct msg_entry {
	enum wire_file_kind kind;
	uint32_t mode;
	uint32_t uid;
	uint32_t gid;
	uint32_t nlink;
	uint32_t link;
	uint32_t rdev_major;
	uint32_t rdev_minor;
	uint64_t size;
	uint64_t blocks;
	uint64_t ino;
	int64_t atime_ns;
	int64_t mtime_ns;
	int64_t ctime_ns;
	const char *name;
	const char *target;
};

/**
 * struct msg_file_data - FILE_DATA: le64 offset, then the bytes
 * @offset:	Of the first byte in the file; what is left out is a hole
 * @len:	1 to WIRE_DATA_MAX
 */
struct msg_file_data {
	uint64_t offset;
	const void *data;
	size_t len;
};

/**
 * struct msg_xattr - FILE_XATTR: string name, then the bytes
 * @len:	0 to WIRE_XATTR_MAX
 */
struct msg_xattr {
	const char *name;
	const void *data;
	size_t len;
};

#define WIRE_END_BROKEN 0x1u /* it could not be read to its end: drop it */
#define WIRE_END_FLAGS  0x1u

/** struct msg_file_end - FILE_END: le64 size, le32 flags, le32 reserved */
struct msg_file_end {
	uint64_t size;
	uint32_t flags;
};

/**
 * struct msg_note - FILE_NOTE: le32 errno, le32 reserved, string sentence
 * @code:	Something was left out because of this errno; 0: a remark
 */
struct msg_note {
	uint32_t code;
	const char *sentence;
};

enum wire_watch_what {
	WIRE_WATCH_READY = 1, /* from here on nothing is missed */
	WIRE_WATCH_CREATE,
	WIRE_WATCH_MODIFY, /* its bytes */
	WIRE_WATCH_ATTRIB, /* its mode, owner, times, names */
	WIRE_WATCH_DELETE,
	WIRE_WATCH_MOVED_FROM,
	WIRE_WATCH_MOVED_TO,
	WIRE_WATCH_WRITTEN, /* closed by one who could write it */
	WIRE_WATCH_LOST,    /* events that nobody knows: look anew */
	WIRE_WATCH_GONE     /* what was to be watched is not there any more */
};

#define WIRE_WATCH_DIR   0x1u /* it is a folder */
#define WIRE_WATCH_FLAGS 0x1u

/**
 * struct msg_watch - FILE_EVENT: le16 what, le16 flags, le32 cookie, string
 * @cookie:	The same, not 0, in the MOVED_FROM and MOVED_TO of one rename
 * @path:	Relative to what is watched; "" for that itself
 */
struct msg_watch {
	enum wire_watch_what what;
	uint32_t flags;
	uint32_t cookie;
	const char *path;
};

MUST_CHECK int wire_file_parse(const void *p, size_t len, struct msg_file *ret,
			       struct err *e);
MUST_CHECK int wire_entry_parse(const void *p, size_t len,
				struct msg_entry *ret, struct err *e);
MUST_CHECK int wire_file_data_parse(const void *p, size_t len,
				    struct msg_file_data *ret, struct err *e);
MUST_CHECK int wire_xattr_parse(const void *p, size_t len,
				struct msg_xattr *ret, struct err *e);
MUST_CHECK int wire_file_end_parse(const void *p, size_t len,
				   struct msg_file_end *ret, struct err *e);
MUST_CHECK int wire_note_parse(const void *p, size_t len, struct msg_note *ret,
			       struct err *e);
MUST_CHECK int wire_watch_parse(const void *p, size_t len,
				struct msg_watch *ret, struct err *e);

/* As in wire.h: append a frame, check nothing. */
void wire_file_put(struct wr *wr, const struct msg_file *m);
void wire_entry_put(struct wr *wr, const struct msg_entry *m);
void wire_file_data_put(struct wr *wr, const struct msg_file_data *m);
void wire_xattr_put(struct wr *wr, const struct msg_xattr *m);
void wire_file_end_put(struct wr *wr, const struct msg_file_end *m);
void wire_note_put(struct wr *wr, const struct msg_note *m);
void wire_watch_put(struct wr *wr, const struct msg_watch *m);

/** wire_file_data_head_put() - Header and offset, for data where it lies */
void wire_file_data_head_put(struct wr *wr, uint64_t offset, size_t len);

/** wire_name_ok() - Whether @s can name an entry of a folder */
bool wire_name_ok(const char *s);

/* Frames of the largest size, for buffers. */
#define WIRE_FILE_FRAME_MAX                                             \
	(WIRE_HDR_LEN + sizeof(struct wire_file) + 15 + WIRE_USER_MAX + \
	 2ul * WIRE_PATH_MAX)
#define WIRE_ENTRY_FRAME_MAX                                             \
	(WIRE_HDR_LEN + sizeof(struct wire_entry) + 10 + WIRE_NAME_MAX + \
	 WIRE_PATH_MAX)

#endif
