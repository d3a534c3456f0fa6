/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_acl.c - POSIX ACLs of a mapped tree */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "common/mapped.h"
#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"
#include "vmm/fs/acl.h"

#define ROOT   FUSE_ROOT_ID
#define NOBODY UINT32_MAX

static struct fs_acl none;

/* u::7 u:1000:6 g::5 m::4 o::1, with the permissions that are given */
static struct fs_acl acl(uint16_t user, uint16_t mask, uint16_t other)
{
	return (struct fs_acl){
		.n = 5,
		.e = { { FS_ACL_USER_OBJ, user, NOBODY },
		       { FS_ACL_USER, 6, 1000 },
		       { FS_ACL_GROUP_OBJ, 5, NOBODY },
		       { FS_ACL_MASK, mask, NOBODY },
		       { FS_ACL_OTHER, other, NOBODY } },
	};
}

static int set(struct fuse_kit *k, uint64_t node, const char *name,
	       const struct fs_acl *a)
{
	uint8_t buf[FS_ACL_LEN_MAX];
	size_t n = fs_acl_put(a, buf);

	return fk_setxattr(k, node, name, buf, (uint32_t)n, 0);
}

static uint32_t mode_of(struct fuse_kit *k, uint64_t node)
{
	struct fuse_attr attr;

	ck_assert_int_eq(fk_getattr(k, node, &attr), 0);
	return attr.mode & 07777;
}

/* Its ACL is that, none if there are no entries. */
static void expect_acl(struct fuse_kit *k, uint64_t node, const char *name,
		       const struct fs_acl *a)
{
	uint8_t buf[FS_ACL_LEN_MAX];
	size_t n = fs_acl_put(a, buf);
	int e = fk_getxattr(k, node, name, sizeof(buf));

	if (!a->n) {
		ck_assert_int_eq(e, -ENODATA);
		return;
	}
	ck_assert_int_eq(e, 0);
	ck_assert_uint_eq(k->len, n);
	ck_assert_mem_eq(k->body, buf, n);
}

static void start(struct fuse_kit *k)
{
	struct fs_opts o = fk_usual();

	o.owner = FS_OWNER_MAPPED;
	fk_init(k, &o);
}

START_TEST(mode_and_acl_go_together)
{
	struct fuse_setattr_in in = { .valid = FATTR_MODE, .mode = 0642 };
	struct fs_acl a = acl(7, 4, 1);
	struct fuse_kit k;
	uint64_t f;

	start(&k);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 04600), 0);
	f = k.entry.nodeid;
	expect_acl(&k, f, FS_ACL_ACCESS, &none);
	ck_assert_int_eq(set(&k, f, FS_ACL_ACCESS, &a), 0);
	/* The group's permissions are the mask's. */
	ck_assert_uint_eq(mode_of(&k, f), 04741);
	expect_acl(&k, f, FS_ACL_ACCESS, &a);
	ck_assert_int_eq(fk_listxattr(&k, f, 4096), 0);
	ck_assert_str_eq((char *)k.body, FS_ACL_ACCESS);

	ck_assert_int_eq(fk_setattr(&k, f, &in, NULL), 0);
	ck_assert_uint_eq(mode_of(&k, f), 0642);
	a = acl(6, 4, 2);
	expect_acl(&k, f, FS_ACL_ACCESS, &a);
	/* One that says no more than a mode is one. */
	a = (struct fs_acl){ .n = 3,
			     .e = { { FS_ACL_USER_OBJ, 7, NOBODY },
				    { FS_ACL_GROUP_OBJ, 1, NOBODY },
				    { FS_ACL_OTHER, 0, NOBODY } } };
	ck_assert_int_eq(set(&k, f, FS_ACL_ACCESS, &a), 0);
	ck_assert_uint_eq(mode_of(&k, f), 0710);
	expect_acl(&k, f, FS_ACL_ACCESS, &none);
	/* A file hands nothing on. */
	ck_assert_int_eq(set(&k, f, FS_ACL_DEFAULT, &a), -EACCES);
	a = acl(7, 7, 7);
	ck_assert_int_eq(set(&k, f, FS_ACL_ACCESS, &a), 0);
	ck_assert_int_eq(fk_removexattr(&k, f, FS_ACL_ACCESS), 0);
	ck_assert_uint_eq(mode_of(&k, f), 0777);
	fk_done(&k);
}
END_TEST

START_TEST(who_may_not_keep_setgid_loses_it)
{
	uint8_t arg[sizeof(struct fuse_setxattr_in) + 64 + FS_ACL_LEN_MAX];
	struct fuse_setxattr_in in = { .setxattr_flags =
					       FUSE_SETXATTR_ACL_KILL_SGID };
	struct fs_acl a = acl(7, 4, 1);
	size_t at = sizeof(in) + sizeof(FS_ACL_ACCESS);
	struct fuse_kit k;
	uint64_t f;

	start(&k);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 02600), 0);
	f = k.entry.nodeid;
	in.size = (uint32_t)fs_acl_put(&a, arg + at);
	memcpy(arg, &in, sizeof(in));
	memcpy(arg + sizeof(in), FS_ACL_ACCESS, sizeof(FS_ACL_ACCESS));
	ck_assert_int_eq(
		fk_op(&k, FUSE_SETXATTR, f, arg, at + in.size, FK_NO_NAMES), 0);
	ck_assert_uint_eq(mode_of(&k, f), 0741);
	fk_done(&k);
}
END_TEST

START_TEST(what_is_made_in_a_folder_has_its_default)
{
	struct fuse_mkdir_in dir = { .mode = 0777, .umask = 077 };
	struct fuse_mknod_in node = { .mode = S_IFIFO | 0640, .umask = 077 };
	struct fuse_create_in file = { .flags = O_RDWR | O_CREAT,
				       .mode = S_IFREG | 0606,
				       .umask = 077 };
	struct fs_acl a = acl(7, 7, 5), b;
	struct fuse_kit k;
	uint64_t d, n;

	start(&k);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0700), 0);
	d = k.entry.nodeid;
	ck_assert_int_eq(set(&k, d, FS_ACL_DEFAULT, &a), 0);
	ck_assert_uint_eq(mode_of(&k, d), 0700);
	/* In place of the umask. */
	ck_assert_int_eq(fk_op(&k, FUSE_MKDIR, d, &dir, sizeof(dir),
			       FK_NAMES("s", NULL)),
			 0);
	n = fk_at(&k, "d/s");
	ck_assert_uint_eq(mode_of(&k, n), 0775);
	expect_acl(&k, n, FS_ACL_ACCESS, &a);
	expect_acl(&k, n, FS_ACL_DEFAULT, &a);
	ck_assert_int_eq(fk_op(&k, FUSE_CREATE, n, &file, sizeof(file),
			       FK_NAMES("f", NULL)),
			 0);
	n = fk_at(&k, "d/s/f");
	ck_assert_uint_eq(mode_of(&k, n), 0604);
	b = acl(6, 0, 4);
	expect_acl(&k, n, FS_ACL_ACCESS, &b);
	expect_acl(&k, n, FS_ACL_DEFAULT, &none);
	ck_assert_int_eq(fk_op(&k, FUSE_MKNOD, d, &node, sizeof(node),
			       FK_NAMES("p", NULL)),
			 0);
	n = fk_at(&k, "d/p");
	ck_assert_uint_eq(mode_of(&k, n), 0640);
	b = acl(6, 4, 0);
	expect_acl(&k, n, FS_ACL_ACCESS, &b);
	ck_assert_int_eq(fk_symlink(&k, d, "l", "x"), 0);
	ck_assert_uint_eq(k.entry.attr.mode, S_IFLNK | 0777);
	ck_assert_int_eq(fk_tmpfile(&k, d, O_RDWR, 0666), 0);
	ck_assert_uint_eq(k.entry.attr.mode, S_IFREG | 0664);
	expect_acl(&k, k.entry.nodeid, FS_ACL_DEFAULT, &none);
	/* And without a default the umask is. */
	ck_assert_int_eq(fk_op(&k, FUSE_MKDIR, ROOT, &dir, sizeof(dir),
			       FK_NAMES("u", NULL)),
			 0);
	ck_assert_uint_eq(mode_of(&k, fk_at(&k, "u")), 0700);
	ck_assert_int_eq(fk_op(&k, FUSE_CREATE, ROOT, &file, sizeof(file),
			       FK_NAMES("v", NULL)),
			 0);
	ck_assert_uint_eq(mode_of(&k, fk_at(&k, "v")), 0600);
	fk_done(&k);
}
END_TEST

START_TEST(what_is_no_acl_is_refused)
{
	struct fs_acl bad[] = { acl(7, 7, 7), acl(7, 7, 7), acl(7, 7, 7),
				acl(7, 7, 7), acl(8, 7, 7), acl(7, 7, 7) };
	struct fs_acl good = acl(7, 7, 7);
	uint8_t buf[FS_ACL_LEN_MAX + 8];
	struct fuse_kit k;
	uint64_t d;
	size_t n;

	bad[0].n = 4;                       /* nothing for others */
	bad[1].e[3].tag = FS_ACL_GROUP;     /* named, and no mask */
	bad[2].e[2].tag = FS_ACL_USER_OBJ;  /* in no order */
	bad[3].e[4].tag = FS_ACL_OTHER | 1; /* two at once */
	bad[5].e[1].tag = 0x40;             /* unknown */
	start(&k);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0700), 0);
	d = k.entry.nodeid;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		ck_assert_int_eq(set(&k, d, FS_ACL_ACCESS, &bad[i]), -EINVAL);
		ck_assert_int_eq(set(&k, d, FS_ACL_DEFAULT, &bad[i]), -EINVAL);
	}
	n = fs_acl_put(&good, buf);
	for (size_t len = 0; len < n; len++)
		ck_assert_int_eq(fk_setxattr(&k, d, FS_ACL_ACCESS, buf,
					     (uint32_t)len, 0),
				 -EINVAL);
	memset(buf + n, 0, sizeof(buf) - n);
	ck_assert_int_eq(fk_setxattr(&k, d, FS_ACL_ACCESS, buf, sizeof(buf), 0),
			 -EINVAL);
	buf[0] = 3; /* version */
	ck_assert_int_eq(fk_setxattr(&k, d, FS_ACL_ACCESS, buf, (uint32_t)n, 0),
			 -EINVAL);
	ck_assert_uint_eq(mode_of(&k, d), 0700);
	expect_acl(&k, d, FS_ACL_ACCESS, &none);
	/* One on the host that cannot be is an error, and not no ACL. */
	ck_assert_int_eq(
		fsetxattr(k.fd, MAPPED_XATTR FS_ACL_DEFAULT, "x", 1, 0), 0);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "e", 0700), -EIO);
	ck_assert_int_eq(fk_create(&k, ROOT, "e", O_RDWR, 0700), -EIO);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "e"), -ENOENT);
	fk_done(&k);
}
END_TEST

/* Who does not obey them does not see them. */
START_TEST(guest_that_knows_no_acls_has_none)
{
	struct fuse_init_in in = { .major = 7,
				   .minor = 41,
				   .flags = FUSE_DONT_MASK };
	struct fs_acl a = acl(7, 7, 7);
	struct fs_opts o = fk_usual();
	struct fuse_init_out out;
	struct fuse_kit k;

	o.owner = FS_OWNER_MAPPED;
	fk_scratch(&k);
	fk_serve(&k, &o);
	ck_assert_int_eq(fk_op(&k, FUSE_INIT, 0, &in, sizeof(in), FK_NO_NAMES),
			 0);
	memcpy(&out, k.body, sizeof(out));
	ck_assert_uint_eq(out.flags & (FUSE_POSIX_ACL | FUSE_DONT_MASK),
			  FUSE_DONT_MASK);
	ck_assert_int_eq(fk_getxattr(&k, ROOT, FS_ACL_ACCESS, 99), -EOPNOTSUPP);
	ck_assert_int_eq(fk_op(&k, FUSE_DESTROY, 0, NULL, 0, FK_NO_NAMES), 0);
	ck_assert_int_eq(fk_start(&k), 0);
	memcpy(&out, k.body, sizeof(out));
	ck_assert_uint_eq(out.flags & (FUSE_POSIX_ACL | FUSE_DONT_MASK),
			  FUSE_POSIX_ACL | FUSE_DONT_MASK);
	ck_assert_int_eq(set(&k, ROOT, FS_ACL_ACCESS, &a), 0);
	fk_done(&k);
	/* Of the host's files there are none either. */
	fk_init(&k, NULL);
	ck_assert_int_eq(set(&k, ROOT, FS_ACL_ACCESS, &a), -EOPNOTSUPP);
	fk_done(&k);
}
END_TEST

CHECK_MAIN("fs_acl", mode_and_acl_go_together, who_may_not_keep_setgid_loses_it,
	   what_is_made_in_a_folder_has_its_default, what_is_no_acl_is_refused,
	   guest_that_knows_no_acls_has_none)
