/* SPDX-License-Identifier: Apache-2.0 */
/* common/wire_file.c - requests about files, both ways; see wire_file.h */
#include <errno.h>
#include <string.h>

#include "common/wire_check.h"
#include "common/wire_file.h"

/**
 * struct op_rule - What goes with an operation
 * @flags:	Those that it takes
 * @mode:	Whether it makes something that has one
 * @other:	Whether there is a second path, or name: 0 none, 1 may be, 2 is
 */
struct op_rule {
	uint32_t flags;
	bool mode;
	int other;
};

static const struct op_rule rules[] = {
	[WIRE_FILE_READ] = { 0, false, 0 },
	[WIRE_FILE_WRITE] = { WIRE_FILE_ATOMIC, true, 0 },
	[WIRE_FILE_STAT] = { WIRE_FILE_FOLLOW, false, 0 },
	[WIRE_FILE_LIST] = { 0, false, 0 },
	[WIRE_FILE_MKDIR] = { WIRE_FILE_PARENTS, true, 0 },
	[WIRE_FILE_REMOVE] = { WIRE_FILE_RECURSIVE | WIRE_FILE_FORCE, false,
			       0 },
	[WIRE_FILE_RENAME] = { 0, false, 2 },
	[WIRE_FILE_GET] = { WIRE_FILE_FOLLOW | WIRE_FILE_ARCHIVE |
				    WIRE_FILE_ONE_FS,
			    false, 0 },
	[WIRE_FILE_PUT] = { WIRE_FILE_ARCHIVE | WIRE_FILE_CONTENTS |
				    WIRE_FILE_REPLACE,
			    false, 1 },
	[WIRE_FILE_WATCH] = { WIRE_FILE_RECURSIVE, false, 0 },
};

bool wire_name_ok(const char *s)
{
	return *s && strlen(s) <= WIRE_NAME_MAX && !strchr(s, '/') &&
	       !base_is_dots(s);
}

static int check_strings(const struct msg_file *m, struct err *e)
{
	int other = rules[m->op].other;

	if (strlen(m->user) > WIRE_USER_MAX)
		return wire_too_long(e, "FILE: user", WIRE_USER_MAX);
	if (strlen(m->path) > WIRE_PATH_MAX || strlen(m->other) > WIRE_PATH_MAX)
		return wire_too_long(e, "FILE: path", WIRE_PATH_MAX);
	if (!*m->path || (other == 2 && !*m->other))
		return err_set(e, -EBADMSG, "FILE: the path is empty");
	if (other == 0 && *m->other)
		return err_set(e, -EBADMSG,
			       "FILE: this operation has one path only");
	if (other == 1 && *m->other && !wire_name_ok(m->other))
		return err_set(e, -EBADMSG, "FILE: the name is not a name");
	return 0;
}

static int check_file(const struct msg_file *m, struct err *e)
{
	uint32_t unknown;

	if (m->op < WIRE_FILE_READ || m->op > WIRE_FILE_WATCH)
		return err_set(e, -EBADMSG, "FILE: unknown operation %u",
			       (unsigned int)m->op);
	unknown = m->flags & ~rules[m->op].flags;
	if (unknown)
		return wire_bad_flags(e, "FILE", unknown);
	if (m->mode > (rules[m->op].mode ? WIRE_MODE_MAX : 0))
		return err_set(e, -EBADMSG, "FILE: mode %#o is out of range",
			       m->mode);
	return check_strings(m, e);
}

int wire_file_parse(const void *p, size_t len, struct msg_file *ret,
		    struct err *e)
{
	struct rd rd = rd_init(p, len);
	const struct wire_file *w = rd_bytes(&rd, sizeof(*w));

	ret->user = rd_str(&rd);
	ret->path = rd_str(&rd);
	ret->other = rd_str(&rd);
	if (!w || rd_end(&rd))
		return wire_malformed(e, "FILE");
	if (le16_get(w->reserved) || le32_get(w->reserved2))
		return wire_reserved_set(e, "FILE");
	ret->op = (enum wire_file_op)le16_get(w->op);
	ret->flags = le32_get(w->flags);
	ret->mode = le32_get(w->mode);
	return check_file(ret, e);
}

void wire_file_put(struct wr *wr, const struct msg_file *m)
{
	wire_head_put(wr, WIRE_FILE,
		      sizeof(struct wire_file) + wire_str_size(m->user) +
			      wire_str_size(m->path) + wire_str_size(m->other));
	wr_le16(wr, (uint16_t)m->op);
	wr_le16(wr, 0);
	wr_le32(wr, m->flags);
	wr_le32(wr, m->mode);
	wr_le32(wr, 0);
	wr_str(wr, m->user);
	wr_str(wr, m->path);
	wr_str(wr, m->other);
}

static int check_entry(const struct msg_entry *m, struct err *e)
{
	if (m->kind < WIRE_KIND_FILE || m->kind > WIRE_KIND_LINK)
		return err_set(e, -EBADMSG, "FILE_ENTRY: unknown kind %u",
			       (unsigned int)m->kind);
	if (m->mode > WIRE_MODE_MAX)
		return err_set(e, -EBADMSG,
			       "FILE_ENTRY: mode %#o is out of range", m->mode);
	if (m->size > INT64_MAX || m->blocks > INT64_MAX)
		return err_set(e, -EBADMSG,
			       "FILE_ENTRY: the size is too large");
	if (*m->name && !wire_name_ok(m->name))
		return err_set(e, -EBADMSG,
			       "FILE_ENTRY: the name is not a name");
	if (strlen(m->target) > WIRE_PATH_MAX)
		return wire_too_long(e, "FILE_ENTRY: target", WIRE_PATH_MAX);
	if ((m->kind == WIRE_KIND_SYMLINK) != (*m->target != '\0'))
		return err_set(e, -EBADMSG,
			       "FILE_ENTRY: a symbolic link without target, or "
			       "a target without one");
	if (m->link > WIRE_TREE_LINKS_MAX ||
	    (m->kind == WIRE_KIND_LINK && m->link == 0) ||
	    (m->kind == WIRE_KIND_DIR && m->link != 0))
		return err_set(e, -EBADMSG,
			       "FILE_ENTRY: link number %u is out of range",
			       m->link);
	return 0;
}

int wire_entry_parse(const void *p, size_t len, struct msg_entry *ret,
		     struct err *e)
{
	struct rd rd = rd_init(p, len);
	const struct wire_entry *w = rd_bytes(&rd, sizeof(*w));
	const char *name = rd_str(&rd), *target = rd_str(&rd);

	if (!w || rd_end(&rd))
		return wire_malformed(e, "FILE_ENTRY");
	if (le16_get(w->reserved))
		return wire_reserved_set(e, "FILE_ENTRY");
	*ret = (struct msg_entry){
		.kind = (enum wire_file_kind)le16_get(w->kind),
		.mode = le32_get(w->mode),
		.uid = le32_get(w->uid),
		.gid = le32_get(w->gid),
		.nlink = le32_get(w->nlink),
		.link = le32_get(w->link),
		.rdev_major = le32_get(w->rdev_major),
		.rdev_minor = le32_get(w->rdev_minor),
		.size = le64_get(w->size),
		.blocks = le64_get(w->blocks),
		.ino = le64_get(w->ino),
		.atime_ns = (int64_t)le64_get(w->atime_ns),
		.mtime_ns = (int64_t)le64_get(w->mtime_ns),
		.ctime_ns = (int64_t)le64_get(w->ctime_ns),
		.name = name,
		.target = target,
	};
	return check_entry(ret, e);
}

void wire_entry_put(struct wr *wr, const struct msg_entry *m)
{
	wire_head_put(wr, WIRE_FILE_ENTRY,
		      sizeof(struct wire_entry) + wire_str_size(m->name) +
			      wire_str_size(m->target));
	wr_le16(wr, (uint16_t)m->kind);
	wr_le16(wr, 0);
	wr_le32(wr, m->mode);
	wr_le32(wr, m->uid);
	wr_le32(wr, m->gid);
	wr_le32(wr, m->nlink);
	wr_le32(wr, m->link);
	wr_le32(wr, m->rdev_major);
	wr_le32(wr, m->rdev_minor);
	wr_le64(wr, m->size);
	wr_le64(wr, m->blocks);
	wr_le64(wr, m->ino);
	wr_le64(wr, (uint64_t)m->atime_ns);
	wr_le64(wr, (uint64_t)m->mtime_ns);
	wr_le64(wr, (uint64_t)m->ctime_ns);
	wr_str(wr, m->name);
	wr_str(wr, m->target);
}

int wire_file_data_parse(const void *p, size_t len, struct msg_file_data *ret,
			 struct err *e)
{
	struct rd rd = rd_init(p, len);

	ret->offset = rd_le64(&rd);
	ret->len = rd.left;
	ret->data = rd_bytes(&rd, rd.left);
	if (rd_end(&rd))
		return wire_malformed(e, "FILE_DATA");
	if (ret->len == 0 || ret->len > WIRE_DATA_MAX)
		return err_set(e, -EBADMSG,
			       "FILE_DATA: %zu bytes in a frame, not 1 to %u",
			       ret->len, WIRE_DATA_MAX);
	/* So that no receiver has to fear that the sum wraps. */
	if (ret->offset > (uint64_t)INT64_MAX - ret->len)
		return err_set(e, -EBADMSG,
			       "FILE_DATA: the offset is too large");
	return 0;
}

void wire_file_data_head_put(struct wr *wr, uint64_t offset, size_t len)
{
	wire_head_put(wr, WIRE_FILE_DATA, 8 + len);
	wr_le64(wr, offset);
}

void wire_file_data_put(struct wr *wr, const struct msg_file_data *m)
{
	wire_file_data_head_put(wr, m->offset, m->len);
	wr_bytes(wr, m->data, m->len);
}

int wire_xattr_parse(const void *p, size_t len, struct msg_xattr *ret,
		     struct err *e)
{
	struct rd rd = rd_init(p, len);

	ret->name = rd_str(&rd);
	ret->len = rd.left;
	ret->data = rd_bytes(&rd, rd.left);
	if (rd_end(&rd))
		return wire_malformed(e, "FILE_XATTR");
	if (!*ret->name || strlen(ret->name) > WIRE_NAME_MAX)
		return err_set(e, -EBADMSG,
			       "FILE_XATTR: a name of %zu bytes, not 1 to %u",
			       strlen(ret->name), WIRE_NAME_MAX);
	if (ret->len > WIRE_XATTR_MAX)
		return wire_too_long(e, "FILE_XATTR: value", WIRE_XATTR_MAX);
	return 0;
}

void wire_xattr_put(struct wr *wr, const struct msg_xattr *m)
{
	wire_head_put(wr, WIRE_FILE_XATTR, wire_str_size(m->name) + m->len);
	wr_str(wr, m->name);
	wr_bytes(wr, m->data, m->len);
}

int wire_file_end_parse(const void *p, size_t len, struct msg_file_end *ret,
			struct err *e)
{
	struct rd rd = rd_init(p, len);
	uint32_t reserved;

	ret->size = rd_le64(&rd);
	ret->flags = rd_le32(&rd);
	reserved = rd_le32(&rd);
	if (rd_end(&rd))
		return wire_malformed(e, "FILE_END");
	if (reserved)
		return wire_reserved_set(e, "FILE_END");
	if (ret->flags & ~WIRE_END_FLAGS)
		return wire_bad_flags(e, "FILE_END",
				      ret->flags & ~WIRE_END_FLAGS);
	if (ret->size > INT64_MAX)
		return err_set(e, -EBADMSG, "FILE_END: the size is too large");
	return 0;
}

void wire_file_end_put(struct wr *wr, const struct msg_file_end *m)
{
	wire_head_put(wr, WIRE_FILE_END, 16);
	wr_le64(wr, m->size);
	wr_le32(wr, m->flags);
	wr_le32(wr, 0);
}

int wire_note_parse(const void *p, size_t len, struct msg_note *ret,
		    struct err *e)
{
	struct rd rd = rd_init(p, len);
	uint32_t reserved;

	ret->code = rd_le32(&rd);
	reserved = rd_le32(&rd);
	ret->sentence = rd_str(&rd);
	if (rd_end(&rd))
		return wire_malformed(e, "FILE_NOTE");
	if (reserved)
		return wire_reserved_set(e, "FILE_NOTE");
	if (ret->code > WIRE_ERRNO_MAX)
		return err_set(e, -EBADMSG, "FILE_NOTE: %u is no errno",
			       ret->code);
	if (strlen(ret->sentence) > WIRE_SENTENCE_MAX)
		return wire_too_long(e, "FILE_NOTE: sentence",
				     WIRE_SENTENCE_MAX);
	return 0;
}

void wire_note_put(struct wr *wr, const struct msg_note *m)
{
	wire_head_put(wr, WIRE_FILE_NOTE, 8 + wire_str_size(m->sentence));
	wr_le32(wr, m->code);
	wr_le32(wr, 0);
	wr_str(wr, m->sentence);
}

int wire_watch_parse(const void *p, size_t len, struct msg_watch *ret,
		     struct err *e)
{
	struct rd rd = rd_init(p, len);

	ret->what = (enum wire_watch_what)rd_le16(&rd);
	ret->flags = rd_le16(&rd);
	ret->cookie = rd_le32(&rd);
	ret->path = rd_str(&rd);
	if (rd_end(&rd))
		return wire_malformed(e, "FILE_EVENT");
	if (ret->what < WIRE_WATCH_READY || ret->what > WIRE_WATCH_GONE)
		return err_set(e, -EBADMSG, "FILE_EVENT: unknown event %u",
			       (unsigned int)ret->what);
	if (ret->flags & ~WIRE_WATCH_FLAGS)
		return wire_bad_flags(e, "FILE_EVENT",
				      ret->flags & ~WIRE_WATCH_FLAGS);
	if (strlen(ret->path) > WIRE_PATH_MAX)
		return wire_too_long(e, "FILE_EVENT: path", WIRE_PATH_MAX);
	return 0;
}

void wire_watch_put(struct wr *wr, const struct msg_watch *m)
{
	wire_head_put(wr, WIRE_FILE_EVENT, 8 + wire_str_size(m->path));
	wr_le16(wr, (uint16_t)m->what);
	wr_le16(wr, (uint16_t)m->flags);
	wr_le32(wr, m->cookie);
	wr_str(wr, m->path);
}
