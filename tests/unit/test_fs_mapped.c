/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_mapped.c - a tree whose owners, modes and types are kept */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "common/mapped.h"
#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"

#define ROOT FUSE_ROOT_ID

static void start(struct fuse_kit *k)
{
	struct fs_opts o = fk_usual();

	o.owner = FS_OWNER_MAPPED;
	fk_init(k, &o);
	k->uid = 1000;
	k->gid = 2000;
}

/* What is on the host, which is a file or a folder of ours in any case. */
static struct mapped_stat kept(struct fuse_kit *k, const char *path)
{
	int fd = openat(k->fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct mapped_stat m = { 0 };
	uint8_t buf[64];
	struct stat st;
	ssize_t n;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
	ck_assert_uint_eq(st.st_mode & 07777,
			  S_ISDIR(st.st_mode) ? 0700 : 0600);
	ck_assert_uint_eq(st.st_uid, geteuid());
	n = fgetxattr(fd, MAPPED_STAT, buf, sizeof(buf));
	ck_assert_int_eq(mapped_get(buf, (size_t)MAX(n, 0), &m), 0);
	base_closep(&fd);
	return m;
}

/* As an importer does, or an attacker who may write to the tree. */
static void keep(struct fuse_kit *k, const char *path, const void *value,
		 size_t len)
{
	int fd = openat(k->fd, path, O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fsetxattr(fd, MAPPED_STAT, value, len, 0), 0);
	base_closep(&fd);
}

START_TEST(what_is_made_belongs_to_who_made_it)
{
	struct mapped_stat m;
	struct fuse_kit k;

	start(&k);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 04751), 0);
	ck_assert_uint_eq(k.entry.attr.mode, S_IFREG | 04751);
	ck_assert_uint_eq(k.entry.attr.uid, 1000);
	ck_assert_uint_eq(k.entry.attr.gid, 2000);
	m = kept(&k, "f");
	ck_assert_uint_eq(m.mode, S_IFREG | 04751);
	ck_assert_uint_eq(m.uid, 1000);
	ck_assert_uint_eq(m.gid, 2000);
	k.uid = 0;
	k.gid = 0;
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 01777), 0);
	ck_assert_uint_eq(k.entry.attr.mode, S_IFDIR | 01777);
	m = kept(&k, "d");
	ck_assert_uint_eq(m.mode, S_IFDIR | 01777);
	ck_assert_uint_eq(m.uid, 0);
	/* Whatever the mode says, it is the server that opens it. */
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "closed", 0), 0);
	ck_assert_int_eq(fk_create(&k, k.entry.nodeid, "f", O_RDWR, 0), 0);
	ck_assert_uint_eq(kept(&k, "closed/f").mode, S_IFREG);
	fk_done(&k);
}
END_TEST

START_TEST(devices_fifos_and_symlinks_are_files_on_the_host)
{
	static const struct {
		const char *name;
		uint32_t mode;
		uint32_t rdev;
		uint32_t major;
		uint32_t minor;
	} made[] = {
		{ "null", S_IFCHR | 0666, 0x103, 1, 3 },
		{ "disk", S_IFBLK | 0660, 0xfff00000u | 0xabc << 8 | 0x12,
		  0xabc, 0xfff12 },
		{ "fifo", S_IFIFO | 0600, 0, 0, 0 },
		{ "sock", S_IFSOCK | 0755, 0, 0, 0 },
	};
	struct mapped_stat m;
	struct fuse_kit k;
	uint64_t node;

	start(&k);
	for (size_t i = 0; i < ARRAY_LEN(made); i++) {
		ck_assert_int_eq(fk_mknod(&k, ROOT, made[i].name, made[i].mode,
					  made[i].rdev),
				 0);
		ck_assert_uint_eq(k.entry.attr.mode, made[i].mode);
		ck_assert_uint_eq(k.entry.attr.rdev, made[i].rdev);
		m = kept(&k, made[i].name);
		ck_assert_uint_eq(m.rdev_major, made[i].major);
		ck_assert_uint_eq(m.rdev_minor, made[i].minor);
		/* Linux opens these itself; a guest that asks us is told no. */
		ck_assert_int_eq(fk_open(&k, k.entry.nodeid, O_RDWR),
				 -EOPNOTSUPP);
	}
	ck_assert_int_eq(fk_symlink(&k, ROOT, "l", "/etc/passwd"), 0);
	node = k.entry.nodeid;
	ck_assert_uint_eq(k.entry.attr.mode, S_IFLNK | 0777);
	ck_assert_uint_eq(k.entry.attr.size, 11);
	ck_assert_str_eq(fk_host_text(&k, "l"), "/etc/passwd");
	ck_assert_int_eq(fk_op(&k, FUSE_READLINK, node, NULL, 0, FK_NO_NAMES),
			 0);
	ck_assert(fk_body_is(&k, "/etc/passwd"));
	ck_assert_int_eq(fk_open(&k, node, O_RDWR), -EOPNOTSUPP);
	ck_assert_int_eq(fk_op(&k, FUSE_READLINK, fk_at(&k, "fifo"), NULL, 0,
			       FK_NO_NAMES),
			 -EINVAL);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "no type", 0644, 0), -EINVAL);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "no type"), -ENOENT);
	fk_done(&k);
}
END_TEST

/* The one device that is real: it is how overlayfs says "deleted". */
START_TEST(whiteout_is_a_real_device)
{
	struct stat st;
	struct fuse_kit k;

	start(&k);
	ck_assert_int_eq(fk_mknod(&k, ROOT, "w", S_IFCHR, 0), 0);
	ck_assert_uint_eq(k.entry.attr.mode, S_IFCHR);
	ck_assert_uint_eq(k.entry.attr.rdev, 0);
	ck_assert_int_eq(fstatat(k.fd, "w", &st, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert(S_ISCHR(st.st_mode));
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 0600), 0);
	ck_assert_int_eq(fk_rename(&k, ROOT, "f", ROOT, "g", RENAME_WHITEOUT),
			 0);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "f"), 0);
	ck_assert_uint_eq(k.entry.attr.mode & S_IFMT, S_IFCHR);
	ck_assert_uint_eq(kept(&k, "g").uid, 1000);
	fk_done(&k);
}
END_TEST

START_TEST(owner_and_mode_change_and_setuid_goes)
{
	struct fuse_setattr_in in = { .valid = FATTR_UID | FATTR_GID,
				      .uid = 7,
				      .gid = 8 };
	struct fuse_attr attr;
	struct mapped_stat m;
	struct fuse_kit k;
	uint64_t node;

	start(&k);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 06755), 0);
	node = k.entry.nodeid;
	ck_assert_int_eq(fk_setattr(&k, node, &in, &attr), 0);
	ck_assert_uint_eq(attr.uid, 7);
	ck_assert_uint_eq(attr.gid, 8);
	ck_assert_uint_eq(attr.mode, S_IFREG | 0755);
	in = (struct fuse_setattr_in){ .valid = FATTR_MODE, .mode = 06111 };
	ck_assert_int_eq(fk_setattr(&k, node, &in, &attr), 0);
	m = kept(&k, "f");
	ck_assert_uint_eq(m.mode, S_IFREG | 06111);
	ck_assert_uint_eq(m.uid, 7);
	/* -1 is no owner, but "leave it", which FUSE says by leaving it out. */
	in = (struct fuse_setattr_in){ .valid = FATTR_UID, .uid = UINT32_MAX };
	ck_assert_int_eq(fk_setattr(&k, node, &in, &attr), -EINVAL);
	ck_assert_uint_eq(kept(&k, "f").uid, 7);
	fk_done(&k);
}
END_TEST

START_TEST(chown_to_the_same_owner_is_a_change)
{
	const struct fuse_setattr_in in = { .valid = FATTR_UID | FATTR_GID,
					    .uid = 7,
					    .gid = 8 };
	struct fuse_attr before, attr;
	struct fuse_kit k;
	uint64_t node;

	start(&k);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 0644), 0);
	node = k.entry.nodeid;
	ck_assert_int_eq(fk_setattr(&k, node, &in, &before), 0);
	fk_clock_goes_on(&k);
	ck_assert_int_eq(fk_setattr(&k, node, &in, &attr), 0);
	ck_assert(attr.ctime != before.ctime ||
		  attr.ctimensec != before.ctimensec);
	fk_done(&k);
}
END_TEST

START_TEST(write_of_others_clears_setuid)
{
	struct fuse_write_in in = { .size = 1,
				    .write_flags = FUSE_WRITE_KILL_SUIDGID };
	struct fuse_kit k;

	start(&k);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 06755), 0);
	in.fh = k.fh;
	ck_assert_int_eq(fk_write(&k, k.entry.nodeid, k.fh, 0, "x", 1), 1);
	ck_assert_uint_eq(kept(&k, "f").mode, S_IFREG | 06755);
	ck_assert_int_eq(fk_write_as(&k, &in, k.entry.nodeid, "x"), 1);
	ck_assert_uint_eq(kept(&k, "f").mode, S_IFREG | 0755);
	fk_done(&k);
}
END_TEST

START_TEST(setgid_folder_gives_its_group)
{
	struct fuse_kit k;
	uint64_t dir;

	start(&k);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 02775), 0);
	dir = k.entry.nodeid;
	k.uid = 5;
	k.gid = 6;
	ck_assert_int_eq(fk_create(&k, dir, "f", O_RDWR, 0644), 0);
	ck_assert_uint_eq(k.entry.attr.gid, 2000);
	ck_assert_uint_eq(k.entry.attr.uid, 5);
	ck_assert_int_eq(fk_mkdir(&k, dir, "e", 0755), 0);
	ck_assert_uint_eq(k.entry.attr.mode, S_IFDIR | 02755);
	ck_assert_uint_eq(k.entry.attr.gid, 2000);
	ck_assert_int_eq(fk_symlink(&k, dir, "l", "x"), 0);
	ck_assert_uint_eq(k.entry.attr.gid, 2000);
	fk_done(&k);
}
END_TEST

START_TEST(file_without_the_attribute_is_what_it_is)
{
	struct fuse_kit k;

	start(&k);
	fk_host_file(&k, "f", "12");
	ck_assert_int_eq(symlinkat("../secret", k.fd, "l"), 0);
	ck_assert_int_eq(mknodat(k.fd, "p", S_IFIFO | 0640, 0), 0);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "f"), 0);
	ck_assert_uint_eq(k.entry.attr.mode, S_IFREG | 0644);
	ck_assert_uint_eq(k.entry.attr.uid, 0);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "l"), 0);
	ck_assert(S_ISLNK(k.entry.attr.mode));
	ck_assert_int_eq(
		fk_op(&k, FUSE_READLINK, k.entry.nodeid, NULL, 0, FK_NO_NAMES),
		0);
	ck_assert(fk_body_is(&k, "../secret"));
	/* Never opened, not even to look for the attribute. */
	ck_assert_int_eq(fk_lookup(&k, ROOT, "p"), 0);
	ck_assert_uint_eq(k.entry.attr.mode, S_IFIFO | 0640);
	ck_assert_int_eq(fk_open(&k, k.entry.nodeid, O_RDONLY), -EOPNOTSUPP);
	fk_done(&k);
}
END_TEST

START_TEST(attribute_that_cannot_be_is_an_error)
{
	struct mapped_stat m = { .mode = S_IFREG | 0644 };
	uint8_t good[MAPPED_STAT_LEN], bad[MAPPED_STAT_LEN + 8] = { 0 };
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node;

	start(&k);
	fk_host_file(&k, "f", "12");
	fk_host_dir(&k, "d");
	mapped_put(&m, good);
	keep(&k, "f", good, sizeof(good));
	node = fk_at(&k, "f");
	memcpy(bad, good, sizeof(good));
	keep(&k, "f", bad, sizeof(bad));
	ck_assert_int_eq(fk_getattr(&k, node, &attr), -EIO);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "f"), -EIO);
	keep(&k, "f", good, sizeof(good) - 1);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "f"), -EIO);
	keep(&k, "f", good, 0);
	ck_assert_int_eq(fk_lookup(&k, ROOT, "f"), -EIO);
	bad[0] = 2;
	keep(&k, "f", bad, sizeof(good));
	ck_assert_int_eq(fk_lookup(&k, ROOT, "f"), -EIO);
	/* A folder that says it is a file. */
	keep(&k, "d", good, sizeof(good));
	ck_assert_int_eq(fk_lookup(&k, ROOT, "d"), -EIO);
	keep(&k, "f", good, sizeof(good));
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	fk_done(&k);
}
END_TEST

START_TEST(xattr_of_root_are_kept_under_another_name)
{
	static const char list[] =
		"user.a\0security.capability\0trusted.overlay.opaque";
	char path[FK_PATH + 16], value[8] = { 0 };
	struct fuse_kit k;
	uint64_t node;

	start(&k);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 0600), 0);
	node = k.entry.nodeid;
	ck_assert_int_eq(fk_setxattr(&k, node, "user.a", "1", 1, 0), 0);
	ck_assert_int_eq(
		fk_setxattr(&k, node, "security.capability", "cap", 3, 0), 0);
	ck_assert_int_eq(
		fk_setxattr(&k, node, "trusted.overlay.opaque", "y", 1, 0), 0);
	(void)snprintf(path, sizeof(path), "%s/share/f", k.top);
	ck_assert_int_eq(getxattr(path, "user.hutch.x.security.capability",
				  value, sizeof(value)),
			 3);
	ck_assert_int_eq(fk_getxattr(&k, node, "security.capability", 9), 0);
	ck_assert(fk_body_is(&k, "cap"));
	/* In whatever order: each once, and ours not at all. */
	k.uid = 0;
	ck_assert_int_eq(fk_listxattr(&k, node, 4096), 0);
	ck_assert_uint_eq(k.len, sizeof(list));
	/* That there are trusted ones is not for every eye. */
	k.uid = 1000;
	ck_assert_int_eq(fk_listxattr(&k, node, 4096), 0);
	ck_assert_uint_eq(k.len, sizeof("user.a\0security.capability"));
	ck_assert_int_eq(fk_removexattr(&k, node, "security.capability"), 0);
	ck_assert_int_eq(fk_getxattr(&k, node, "security.capability", 9),
			 -ENODATA);
	fk_done(&k);
}
END_TEST

/* Else a guest could make itself a setuid file of another's. */
START_TEST(xattr_of_ours_is_out_of_reach)
{
	static const char *const names[] = { MAPPED_STAT, MAPPED_XATTR,
					     "user.hutch.x.security.capability",
					     "user.hutch.", "user.hutch.new" };
	char name[256] = "security.";
	struct fuse_kit k;
	uint64_t node;

	start(&k);
	ck_assert_int_eq(fk_create(&k, ROOT, "f", O_RDWR, 0600), 0);
	node = k.entry.nodeid;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		ck_assert_int_eq(fk_setxattr(&k, node, names[i], "x", 1, 0),
				 -EOPNOTSUPP);
		ck_assert_int_eq(fk_getxattr(&k, node, names[i], 64),
				 -EOPNOTSUPP);
		ck_assert_int_eq(fk_removexattr(&k, node, names[i]),
				 -EOPNOTSUPP);
	}
	ck_assert_uint_eq(kept(&k, "f").uid, 1000);
	/* 255 bytes are a name, but not with ours before them. */
	memset(name + 9, 'n', sizeof(name) - 9);
	name[255] = '\0';
	ck_assert_int_eq(fk_setxattr(&k, node, name, "x", 1, 0), -ERANGE);
	name[255 - 13] = '\0';
	ck_assert_int_eq(fk_setxattr(&k, node, name, "x", 1, 0), 0);
	fk_done(&k);
}
END_TEST

static void make_each_type(struct fuse_kit *k, uint64_t dir)
{
	ck_assert_int_eq(fk_mknod(k, dir, "-", S_IFREG | 0600, 0), 0);
	ck_assert_int_eq(fk_mknod(k, dir, "p", S_IFIFO | 0600, 0), 0);
	ck_assert_int_eq(fk_mknod(k, dir, "s", S_IFSOCK | 0600, 0), 0);
	ck_assert_int_eq(fk_mknod(k, dir, "b", S_IFBLK | 0600, 7), 0);
	ck_assert_int_eq(fk_mknod(k, dir, "c", S_IFCHR | 0600, 7), 0);
	ck_assert_int_eq(fk_mknod(k, dir, "c-whiteout", S_IFCHR, 0), 0);
	ck_assert_int_eq(fk_symlink(k, dir, "l", "x"), 0);
	ck_assert_int_eq(fk_mkdir(k, dir, "d", 0700), 0);
}

/* Each of @n names in the folder begins with the letter of its type. */
static void expect_types(struct fuse_kit *k, uint64_t dir, unsigned int n,
			 bool plus)
{
	static const char letter[] = "?pc?d?b?-?l?s";
	struct fk_dirent de;
	size_t at = 0;

	ck_assert_int_eq(fk_readdir(k, dir, 0, 4096, plus), 0);
	while (fk_dirent(k, &at, plus, &de)) {
		if (de.name[0] == '.')
			continue;
		ck_assert_uint_lt(de.type, sizeof(letter) - 1);
		ck_assert_int_eq(letter[de.type], de.name[0]);
		n--;
	}
	ck_assert_uint_eq(n, 0);
}

/* Whether the host's file system lists names without their types. */
static bool types_are_hidden;

/* In place of the C library's. */
ssize_t getdents64(int fd, void *buffer, size_t length)
{
	ssize_t n = syscall(SYS_getdents64, fd, buffer, length);
	struct dirent64 *de;

	for (ssize_t at = 0; types_are_hidden && at < n; at += de->d_reclen) {
		de = (void *)((uint8_t *)buffer + at);
		de->d_type = DT_UNKNOWN;
	}
	return n;
}

/* Else overlayfs would show what is deleted, and be no root. */
START_TEST(readdir_knows_types_that_the_host_does_not_list)
{
	struct fk_dirent de;
	struct fuse_kit k;
	uint64_t node;
	size_t at;

	start(&k);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0700), 0);
	node = k.entry.nodeid;
	make_each_type(&k, node);
	types_are_hidden = true;

	ck_assert_int_eq(fk_opendir(&k, node), 0);
	expect_types(&k, node, 8, false);
	expect_types(&k, node, 8, true);
	for (int plus = 0; plus < 2; plus++) {
		ck_assert_int_eq(fk_readdir(&k, node, 0, 4096, plus), 0);
		for (at = 0; fk_dirent(&k, &at, plus, &de);)
			ck_assert(de.name[0] != '.' || de.type == DT_DIR);
	}
	/* Of a folder that is out of reach nothing is known but itself. */
	fk_host_dir(&k, "away");
	fk_host_move(&k, "d", "away/d");
	ck_assert_int_eq(fk_readdir(&k, node, 0, 4096, false), 0);
	for (at = 0; fk_dirent(&k, &at, false, &de);)
		ck_assert_uint_eq(de.type,
				  de.name[0] == '.' ? DT_DIR : DT_UNKNOWN);

	types_are_hidden = false;
	fk_done(&k);
}
END_TEST

START_TEST(readdir_knows_types)
{
	static const uint8_t wrong[MAPPED_STAT_LEN] = { 9 };
	static const struct mapped_stat dir = { .mode = S_IFDIR | 0755 };
	uint8_t value[MAPPED_STAT_LEN];
	struct fk_dirent de;
	struct fuse_kit k;
	uint64_t node;
	size_t at = 0;

	start(&k);
	ck_assert_int_eq(fk_mkdir(&k, ROOT, "d", 0700), 0);
	node = k.entry.nodeid;
	make_each_type(&k, node);
	/* What the host has put there has no attribute, or a wrong one. */
	fk_host_file(&k, "d/-host", "");
	fk_host_file(&k, "d/?", "");
	keep(&k, "d/?", wrong, sizeof(wrong));
	fk_host_file(&k, "d/?dir", "");
	mapped_put(&dir, value);
	keep(&k, "d/?dir", value, sizeof(value));

	ck_assert_int_eq(fk_opendir(&k, node), 0);
	expect_types(&k, node, 11, false);
	/* Of a folder that is out of reach it is not known any more. */
	fk_host_dir(&k, "away");
	fk_host_move(&k, "d", "away/d");
	ck_assert_int_eq(fk_readdir(&k, node, 0, 4096, false), 0);
	while (fk_dirent(&k, &at, false, &de))
		if (strchr("-psbl", de.name[0]))
			ck_assert_uint_eq(de.type, DT_UNKNOWN);
	fk_host_move(&k, "away/d", "d");
	/* And those whose attribute is wrong cannot be looked up. */
	ck_assert_int_eq(unlinkat(k.fd, "d/?", 0), 0);
	ck_assert_int_eq(unlinkat(k.fd, "d/?dir", 0), 0);
	fk_host_file(&k, "d/-1", "");
	fk_host_file(&k, "d/-2", "");
	expect_types(&k, node, 11, true);
	fk_done(&k);
}
END_TEST

START_TEST(links_renames_and_unlinked_files_work_as_ever)
{
	struct fuse_setattr_in in = { .valid = FATTR_UID, .uid = 3 };
	struct fuse_attr attr;
	struct fuse_kit k;
	uint64_t node;

	start(&k);
	ck_assert_int_eq(fk_symlink(&k, ROOT, "l", "x"), 0);
	node = k.entry.nodeid;
	ck_assert_int_eq(fk_link(&k, node, ROOT, "m"), 0);
	ck_assert_uint_eq(k.entry.attr.nlink, 2);
	ck_assert_int_eq(fk_rename(&k, ROOT, "l", ROOT, "n", 0), 0);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "m"), 0);
	ck_assert_int_eq(fk_unlink(&k, ROOT, "n"), 0);
	ck_assert_int_eq(fk_getattr(&k, node, &attr), 0);
	ck_assert_uint_eq(attr.nlink, 0);
	ck_assert_int_eq(fk_setattr(&k, node, &in, &attr), 0);
	ck_assert_uint_eq(attr.uid, 3);
	ck_assert_int_eq(fk_tmpfile(&k, ROOT, O_RDWR, 0640), 0);
	ck_assert_uint_eq(k.entry.attr.uid, 1000);
	ck_assert_uint_eq(k.entry.attr.mode, S_IFREG | 0640);
	fk_done(&k);
}
END_TEST

/* As an image is shared; its symlinks are files on the host. */
START_TEST(symlink_of_a_readonly_tree_is_read_and_does_not_change)
{
	struct stat before, after;
	struct fs_opts o = fk_usual();
	struct fuse_kit k;
	char name[16];
	uint64_t node;

	start(&k);
	ck_assert_int_eq(fk_symlink(&k, ROOT, "l", "target"), 0);
	fs_server_free(k.s);
	o.owner = FS_OWNER_MAPPED;
	o.ro = true;
	o.fds_max = FS_FDS_MIN;
	fk_serve(&k, &o);
	ck_assert_int_eq(fk_start(&k), 0);
	before = fk_host_aged(&k, "l");

	node = fk_at(&k, "l");
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(
			fk_op(&k, FUSE_READLINK, node, NULL, 0, FK_NO_NAMES),
			0);
		ck_assert(fk_body_is(&k, "target"));
		ck_assert_int_eq(
			fstatat(k.fd, "l", &after, AT_SYMLINK_NOFOLLOW), 0);
		ck_assert_msg(memcmp(&before, &after, sizeof(before)) == 0,
			      "changed by read %d", i);
		/* Then it is opened anew: its descriptor makes room. */
		for (unsigned int n = 0; n < FS_FDS_MIN; n++) {
			(void)snprintf(name, sizeof(name), "%u", n);
			fk_host_file(&k, name, "");
			(void)fk_at(&k, name);
		}
	}
	fk_done(&k);
}
END_TEST

CHECK_MAIN("fs_mapped", what_is_made_belongs_to_who_made_it,
	   devices_fifos_and_symlinks_are_files_on_the_host,
	   whiteout_is_a_real_device, owner_and_mode_change_and_setuid_goes,
	   write_of_others_clears_setuid, setgid_folder_gives_its_group,
	   file_without_the_attribute_is_what_it_is,
	   attribute_that_cannot_be_is_an_error,
	   chown_to_the_same_owner_is_a_change,
	   xattr_of_root_are_kept_under_another_name,
	   xattr_of_ours_is_out_of_reach, readdir_knows_types,
	   readdir_knows_types_that_the_host_does_not_list,
	   links_renames_and_unlinked_files_work_as_ever,
	   symlink_of_a_readonly_tree_is_read_and_does_not_change)
