/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/acl.c - see acl.h */
#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "common/rd.h"
#include "common/wr.h"
#include "vmm/fs/acl.h"
#include "vmm/fs/attr.h"
#include "vmm/fs/owner.h"

#define VERSION 2u

#define KEPT_ACCESS  MAPPED_XATTR FS_ACL_ACCESS
#define KEPT_DEFAULT MAPPED_XATTR FS_ACL_DEFAULT

/* In this order; those that may be there more than once name somebody. */
static bool follows(unsigned int before, unsigned int tag)
{
	bool named = tag == FS_ACL_USER || tag == FS_ACL_GROUP;

	return named ? tag >= before : tag > before;
}

static bool sound(const struct fs_acl *a)
{
	unsigned int seen = 0, before = 0;
	const unsigned int base = FS_ACL_USER_OBJ | FS_ACL_GROUP_OBJ |
				  FS_ACL_OTHER;

	for (unsigned int i = 0; i < a->n; i++) {
		unsigned int tag = a->e[i].tag;

		/* One bit of the six. */
		if (!tag || tag & (tag - 1) || tag > FS_ACL_OTHER ||
		    a->e[i].perm > 7 || !follows(before, tag))
			return false;
		seen |= tag;
		before = tag;
	}
	if ((seen & base) != base)
		return false;
	return seen & FS_ACL_MASK || !(seen & (FS_ACL_USER | FS_ACL_GROUP));
}

int fs_acl_get(const void *buf, size_t len, struct fs_acl *ret)
{
	struct rd rd = rd_init(buf, len);
	uint32_t version = rd_le32(&rd);

	ret->n = 0;
	if (len < 4 || (len - 4) % 8 != 0 || (len - 4) / 8 > FS_ACL_MAX)
		return -EINVAL;
	for (size_t n = (len - 4) / 8; ret->n < n; ret->n++) {
		struct fs_acl_entry *e = &ret->e[ret->n];

		e->tag = rd_le16(&rd);
		e->perm = rd_le16(&rd);
		e->id = rd_le32(&rd);
	}
	if (rd_end(&rd) < 0 || version != VERSION || !sound(ret)) {
		ret->n = 0;
		return -EINVAL;
	}
	return 0;
}

size_t fs_acl_put(const struct fs_acl *a, uint8_t ret[FS_ACL_LEN_MAX])
{
	struct wr wr = wr_init(ret, FS_ACL_LEN_MAX);

	wr_le32(&wr, VERSION);
	for (unsigned int i = 0; i < a->n; i++) {
		wr_le16(&wr, a->e[i].tag);
		wr_le16(&wr, a->e[i].perm);
		wr_le32(&wr, a->e[i].id);
	}
	bug_on(wr_end(&wr) < 0);
	return (size_t)wr_end(&wr);
}

bool fs_acl_is_mode(const struct fs_acl *a)
{
	return a->n == 3;
}

/* The permissions of the group are those of the mask, if there is one. */
static unsigned int group_tag(const struct fs_acl *a)
{
	for (unsigned int i = 0; i < a->n; i++)
		if (a->e[i].tag == FS_ACL_MASK)
			return FS_ACL_MASK;
	return FS_ACL_GROUP_OBJ;
}

/* Where in a mode the permissions of such an entry are; -1 if nowhere. */
static int shift_of(const struct fs_acl *a, unsigned int tag)
{
	if (tag == FS_ACL_USER_OBJ)
		return 6;
	if (tag == FS_ACL_OTHER)
		return 0;
	return tag == group_tag(a) ? 3 : -1;
}

uint32_t fs_acl_mode(const struct fs_acl *a, uint32_t mode)
{
	mode &= ~0777u;
	for (unsigned int i = 0; i < a->n; i++) {
		int shift = shift_of(a, a->e[i].tag);

		if (shift >= 0)
			mode |= (uint32_t)a->e[i].perm << shift;
	}
	return mode;
}

void fs_acl_chmod(struct fs_acl *a, uint32_t mode)
{
	for (unsigned int i = 0; i < a->n; i++) {
		int shift = shift_of(a, a->e[i].tag);

		if (shift >= 0)
			a->e[i].perm = (uint16_t)(mode >> shift & 7);
	}
}

/* Of a new object: no more than both the folder and its maker let it have. */
static uint32_t restrict_to(struct fs_acl *a, uint32_t mode)
{
	fs_acl_chmod(a, mode & fs_acl_mode(a, mode | 0777));
	return fs_acl_mode(a, mode);
}

/* Return: 0, with @ret->n 0 if there is none; -EIO if it cannot be */
static int load(int fd, const char *name, struct fs_acl *ret)
{
	uint8_t buf[FS_ACL_LEN_MAX];
	ssize_t n = fgetxattr(fd, name, buf, sizeof(buf));

	ret->n = 0;
	if (n < 0)
		return errno == ENODATA ? 0 : errno == ERANGE ? -EIO : -errno;
	return fs_acl_get(buf, (size_t)n, ret) < 0 ? -EIO : 0;
}

static int store(int fd, const char *name, const struct fs_acl *a)
{
	uint8_t buf[FS_ACL_LEN_MAX];
	size_t n = fs_acl_put(a, buf);

	return fsetxattr(fd, name, buf, n, 0) < 0 ? -errno : 0;
}

static int set_access(const struct fs_server *s, int fd, const struct fs_acl *a,
		      bool kill_sgid)
{
	struct statx st = { 0 };
	uint32_t mode;
	int r = fs_stat(s, fd, &st);

	if (r < 0)
		return r;
	if (!fs_acl_is_mode(a))
		r = store(fd, KEPT_ACCESS, a);
	else if (fremovexattr(fd, KEPT_ACCESS) < 0 && errno != ENODATA)
		r = -errno;
	if (r < 0)
		return r;
	mode = fs_acl_mode(a, st.stx_mode);
	if (kill_sgid)
		mode &= ~(uint32_t)S_ISGID;
	if (mode == st.stx_mode)
		return 0;
	st.stx_mode = (uint16_t)mode;
	return fs_owner_change(s, fd, &st);
}

int fs_acl_set(const struct fs_server *s, int fd, const char *name,
	       const void *value, size_t len, bool kill_sgid)
{
	struct fs_acl a;
	struct statx st = { 0 };
	int r = fs_acl_get(value, len, &a);

	if (r < 0)
		return r;
	if (strcmp(name, FS_ACL_ACCESS) == 0)
		return set_access(s, fd, &a, kill_sgid);
	r = fs_stat(s, fd, &st);
	if (r == 0 && !S_ISDIR(st.stx_mode))
		r = -EACCES;
	return r < 0 ? r : store(fd, KEPT_DEFAULT, &a);
}

int fs_acl_follow(int fd, uint32_t mode)
{
	struct fs_acl a;
	int r = load(fd, KEPT_ACCESS, &a);

	if (r < 0 || a.n == 0)
		return r;
	fs_acl_chmod(&a, mode);
	return store(fd, KEPT_ACCESS, &a);
}

int fs_acl_inherit(const struct fs_server *s, int dir, uint32_t umask,
		   struct fs_birth *b, struct fs_heir *ret)
{
	int r;

	ret->access.n = 0;
	ret->deflt.n = 0;
	if (!fs_is_mapped(s) || S_ISLNK(b->mode))
		return 0;
	r = load(dir, KEPT_DEFAULT, &ret->deflt);
	if (r < 0)
		return r;
	if (ret->deflt.n == 0) {
		b->mode &= ~(umask & 0777);
		return 0;
	}
	ret->access = ret->deflt;
	b->mode = restrict_to(&ret->access, b->mode);
	if (fs_acl_is_mode(&ret->access))
		ret->access.n = 0;
	if (!S_ISDIR(b->mode))
		ret->deflt.n = 0;
	return 0;
}

int fs_acl_born(int fd, const struct fs_heir *h)
{
	int r = 0;

	if (h->access.n)
		r = store(fd, KEPT_ACCESS, &h->access);
	if (r == 0 && h->deflt.n)
		r = store(fd, KEPT_DEFAULT, &h->deflt);
	return r;
}
