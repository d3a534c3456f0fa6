/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/acl.c - see acl.h */
#include <archive.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "common/wr.h"
#include "host/image/acl.h"
#include "host/image/tree.h"

#define ACCESS  ARCHIVE_ENTRY_ACL_TYPE_ACCESS
#define DEFAULT ARCHIVE_ENTRY_ACL_TYPE_DEFAULT

/* Linux' form: a version, and 8 bytes for each entry. */
#define VERSION 2u
#define NOBODY  UINT32_MAX
#define LEN_MAX (4u + 8u * ACL_MAX)

/* In the order that Linux wants. */
enum {
	OWNER,
	USER,
	GROUP_OBJ,
	GROUP,
	MASK,
	OTHER,
	N_KINDS
};

/** struct kind - What libarchive and Linux call it */
struct kind {
	int theirs;
	uint16_t tag;
	bool named;
	bool masked;
};

static const struct kind kinds[N_KINDS] = {
	[OWNER] = { ARCHIVE_ENTRY_ACL_USER_OBJ, 0x01, false, false },
	[USER] = { ARCHIVE_ENTRY_ACL_USER, 0x02, true, true },
	[GROUP_OBJ] = { ARCHIVE_ENTRY_ACL_GROUP_OBJ, 0x04, false, true },
	[GROUP] = { ARCHIVE_ENTRY_ACL_GROUP, 0x08, true, true },
	[MASK] = { ARCHIVE_ENTRY_ACL_MASK, 0x10, false, false },
	[OTHER] = { ARCHIVE_ENTRY_ACL_OTHER, 0x20, false, false },
};

/**
 * struct acl - What was read of one
 * @wr:		In Linux' form
 * @count:	Entries of each of kinds
 * @mask:	The most that those get who are masked: said, or by what they have
 */
struct acl {
	uint8_t buf[LEN_MAX];
	struct wr wr;
	unsigned int n;
	unsigned int count[N_KINDS];
	unsigned int mask;
};

static void put(struct acl *a, unsigned int kind, unsigned int perm, int id)
{
	a->count[kind]++;
	if (a->n++ >= ACL_MAX)
		return;
	wr_le16(&a->wr, kinds[kind].tag);
	wr_le16(&a->wr, (uint16_t)perm);
	wr_le32(&a->wr, kinds[kind].named ? (uint32_t)id : NOBODY);
}

/* libarchive has the largest number for all that are larger. */
static bool is_known(int id)
{
	return id >= 0 && id < INT_MAX;
}

static void put_kind(struct acl *a, struct archive_entry *ae, int type,
		     unsigned int kind)
{
	int got, perm, tag, id;
	const char *name;

	(void)archive_entry_acl_reset(ae, type);
	while (archive_entry_acl_next(ae, type, &got, &perm, &tag, &id,
				      &name) == ARCHIVE_OK) {
		if (tag != kinds[kind].theirs ||
		    (kinds[kind].named && !is_known(id)))
			continue;
		perm &= 7;
		if (kind == MASK)
			a->mask = (unsigned int)perm;
		else if (kinds[kind].masked)
			a->mask |= (unsigned int)perm;
		put(a, kind, (unsigned int)perm, id);
	}
}

/* All but the mask, which is known when those are that it is for. */
static void take(struct acl *a, struct archive_entry *ae, int type)
{
	*a = (struct acl){ .n = 0 };
	a->wr = wr_init(a->buf, sizeof(a->buf));
	wr_le32(&a->wr, VERSION);
	for (unsigned int i = 0; i < N_KINDS; i++) {
		put_kind(a, ae, type, i);
		if (i == MASK && a->count[MASK] == 0 &&
		    a->count[USER] + a->count[GROUP] > 0)
			put(a, MASK, a->mask, 0);
	}
}

/* As Linux takes it, and more than a mode. */
static bool is_kept(const struct acl *a, int type)
{
	return a->count[OWNER] == 1 && a->count[GROUP_OBJ] == 1 &&
	       a->count[OTHER] == 1 && a->count[MASK] <= 1 &&
	       (type == DEFAULT || a->n > 3);
}

static bool has(struct archive_entry *ae, int type)
{
	return archive_entry_acl_count(ae, type) > 0;
}

unsigned int acl_perm(struct archive_entry *ae)
{
	unsigned int perm = archive_entry_perm(ae) & 07777u;
	struct acl a;

	if (!has(ae, ACCESS))
		return perm;
	take(&a, ae, ACCESS);
	return is_kept(&a, ACCESS) ? (perm & ~070u) | a.mask << 3 : perm;
}

static int put_one(int fd, struct archive_entry *ae, int type, const char *attr,
		   const char *name, struct err *e)
{
	struct acl a;

	if (!has(ae, type))
		return 0;
	take(&a, ae, type);
	if (a.n > ACL_MAX) {
		char q[TREE_QUOTE_MAX];

		return err_set(e, -E2BIG,
			       "'%s': its ACL has more than %u "
			       "entries",
			       tree_quote(name, q), ACL_MAX);
	}
	bug_on(wr_end(&a.wr) < 0);
	return is_kept(&a, type) ? tree_xattr(fd, attr, a.buf,
					      (size_t)wr_end(&a.wr), name, e)
				 : 0;
}

int acl_put(int fd, struct archive_entry *ae, const char *name, struct err *e)
{
	int r;

	/* A symlink has none, and a default is for what is made in a folder. */
	if (archive_entry_filetype(ae) == AE_IFLNK)
		return 0;
	r = put_one(fd, ae, ACCESS, "system.posix_acl_access", name, e);
	if (r < 0 || archive_entry_filetype(ae) != AE_IFDIR)
		return r;
	return put_one(fd, ae, DEFAULT, "system.posix_acl_default", name, e);
}
