/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/xattr.c - extended attributes, and ACLs as such */
#include <linux/limits.h>
#include <string.h>
#include <sys/xattr.h>

#include "tests/conform/conform.h"

#define ACCESS  "system.posix_acl_access"
#define DEFAULT "system.posix_acl_default"

static int set(const char *path, const char *attr, const char *value)
{
	return setxattr(path, attr, value, strlen(value), 0);
}

static void has(const char *path, const char *attr, const char *value)
{
	size_t len = strlen(value);
	char buf[64];

	eq(len, getxattr(path, attr, buf, sizeof(buf)));
	so(memcmp(buf, value, len) == 0);
}

static bool listed(const char *path, const char *attr)
{
	char buf[4096];
	ssize_t len = listxattr(path, buf, sizeof(buf));

	so(len >= 0);
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(buf + at) + 1)
		if (strcmp(buf + at, attr) == 0)
			return true;
	return false;
}

static void set_get_list_remove(void)
{
	make_file("f", 0644);
	so(!listed("f", ATTR));
	ok(set("f", ATTR, "value"));
	has("f", ATTR, "value");
	ok(set("f", ATTR ".2", ""));
	has("f", ATTR ".2", "");
	so(listed("f", ATTR));
	so(listed("f", ATTR ".2"));
	ok(set("f", ATTR, "other, and longer"));
	has("f", ATTR, "other, and longer");
	ok(removexattr("f", ATTR));
	fails(ENODATA, getxattr("f", ATTR, NULL, 0));
	fails(ENODATA, removexattr("f", ATTR));
	so(!listed("f", ATTR));
	so(listed("f", ATTR ".2"));
}

static void of_a_folder(void)
{
	make_dir("d", 0755);
	ok(set("d", ATTR, "value"));
	has("d", ATTR, "value");
	so(listed("d", ATTR));
	ok(removexattr("d", ATTR));
}

static void only_if_new_or_there(void)
{
	make_file("f", 0644);
	fails(ENODATA, setxattr("f", ATTR, "a", 1, XATTR_REPLACE));
	ok(setxattr("f", ATTR, "a", 1, XATTR_CREATE));
	fails(EEXIST, setxattr("f", ATTR, "b", 1, XATTR_CREATE));
	ok(setxattr("f", ATTR, "c", 1, XATTR_REPLACE));
	fails(EINVAL, setxattr("f", ATTR, "d", 1, 16));
	has("f", ATTR, "c");
}

static void sizes(void)
{
	char buf[16];

	make_file("f", 0644);
	ok(set("f", ATTR, "12345678"));
	eq(8, getxattr("f", ATTR, NULL, 0));
	fails(ERANGE, getxattr("f", ATTR, buf, 7));
	eq(8, getxattr("f", ATTR, buf, 8));
	fails(ERANGE, listxattr("f", buf, 3));
	so(listxattr("f", NULL, 0) >= (ssize_t)sizeof(ATTR));
}

static void large_value(void)
{
	char in[2000], out[2001];

	for (unsigned int i = 0; i < sizeof(in); i++)
		in[i] = (char)i;
	make_file("f", 0644);
	ok(setxattr("f", ATTR, in, sizeof(in), 0));
	eq(sizeof(in), getxattr("f", ATTR, out, sizeof(out)));
	so(memcmp(in, out, sizeof(in)) == 0);
}

static void too_large(void)
{
	static char value[XATTR_SIZE_MAX + 1];

	make_file("f", 0644);
	fails(E2BIG, setxattr("f", ATTR, value, sizeof(value), 0));
	fails(ENODATA, getxattr("f", ATTR, NULL, 0));
}

static void long_names(void)
{
	char name[NAME_LEN + 10];

	make_file("f", 0644);
	(void)snprintf(name, sizeof(name), "user.%0250d", 1);
	ok(set("f", name, "x"));
	has("f", name, "x");
	so(listed("f", name));
	(void)snprintf(name, sizeof(name), "user.%0251d", 1);
	fails(ERANGE, set("f", name, "x"));
	fails(ERANGE, getxattr("f", name, NULL, 0));
}

static void no_such_class(void)
{
	make_file("f", 0644);
	fails(EOPNOTSUPP, set("f", "conform", "x"));
	fails(EOPNOTSUPP, set("f", "nobody.conform", "x"));
	fails(EOPNOTSUPP, getxattr("f", "nobody.conform", NULL, 0));
	fails(EINVAL, set("f", "user.", "x"));
}

/* A user might fill the disk with those of what cannot be written. */
static void of_what_is_no_file(void)
{
	make_file("f", 0644);
	make_link("f", "l");
	make(FIFO_, "p");
	make(SOCK_, "s");
	fails(EPERM, lsetxattr("l", ATTR, "x", 1, 0));
	fails(EPERM, set("p", ATTR, "x"));
	fails(EPERM, set("s", ATTR, "x"));
	fails(ENODATA, lgetxattr("l", ATTR, NULL, 0));
	fails(ENODATA, getxattr("p", ATTR, NULL, 0));
}

static void follows_symlink(void)
{
	make_file("f", 0644);
	make_link("f", "l");
	ok(set("l", ATTR, "x"));
	has("f", ATTR, "x");
	has("l", ATTR, "x");
	so(!listed("f", "user.l"));
	eq(0, llistxattr("l", NULL, 0));
}

static void denied(void)
{
	make_file("w", 0602);
	make_file("r", 0604);
	ok(set("w", ATTR, "x"));
	ok(set("r", ATTR, "x"));
	be(USER, GROUP);
	fails(EACCES, getxattr("w", ATTR, NULL, 0));
	fails(EACCES, set("r", ATTR, "y"));
	fails(EACCES, removexattr("r", ATTR));
	has("r", ATTR, "x");
	ok(set("w", ATTR, "y"));
	ok(removexattr("w", ATTR));
}

static void of_a_sticky_folder(void)
{
	make_dir("s", 01777);
	make_dir("d", 0777);
	be(USER, GROUP);
	fails(EPERM, set("s", ATTR, "x"));
	ok(set("d", ATTR, "x"));
}

static void stays_with_the_file(void)
{
	int fd;

	make_file("f", 0644);
	ok(set("f", ATTR, "x"));
	ok(link("f", "g"));
	has("g", ATTR, "x");
	ok(rename("f", "h"));
	has("h", ATTR, "x");
	fd = open_file("g", O_RDONLY);
	ok(truncate("g", 0));
	ok(unlink("g"));
	ok(unlink("h"));
	eq(1, fgetxattr(fd, ATTR, NULL, 0));
	ok(fsetxattr(fd, ATTR, "xy", 2, 0));
	eq(2, fgetxattr(fd, ATTR, NULL, 0));
	ok(fremovexattr(fd, ATTR));
}

static void trusted(void)
{
	make_file("f", 0666);
	ok(set("f", "trusted.conform", "x"));
	has("f", "trusted.conform", "x");
	so(listed("f", "trusted.conform"));
	be(USER, GROUP);
	fails(ENODATA, getxattr("f", "trusted.conform", NULL, 0));
	fails(EPERM, set("f", "trusted.conform", "y"));
	fails(EPERM, removexattr("f", "trusted.conform"));
	so(!listed("f", "trusted.conform"));
	be_root();
	has("f", "trusted.conform", "x");
	ok(removexattr("f", "trusted.conform"));
}

static void trusted_of_any_kind(void)
{
	make_link("nowhere", "l");
	make(FIFO_, "p");
	make_dir("d", 0755);
	ok(lsetxattr("l", "trusted.conform", "x", 1, 0));
	eq(1, lgetxattr("l", "trusted.conform", NULL, 0));
	ok(set("p", "trusted.conform", "x"));
	has("p", "trusted.conform", "x");
	ok(set("d", "trusted.conform", "x"));
	has("d", "trusted.conform", "x");
}

static void security(void)
{
	make_file("f", 0666);
	ok(set("f", "security.conform", "x"));
	has("f", "security.conform", "x");
	be(USER, GROUP);
	has("f", "security.conform", "x");
	fails(EPERM, set("f", "security.conform", "y"));
	fails(EPERM, removexattr("f", "security.conform"));
}

static void put16(uint8_t *to, unsigned int v)
{
	to[0] = (uint8_t)v;
	to[1] = (uint8_t)(v >> 8);
}

static void put32(uint8_t *to, uint32_t v)
{
	put16(to, v & 0xffff);
	put16(to + 2, v >> 16);
}

/* An ACL as Linux has it in an attribute; version 2. */
#define ACL_ENTRIES 5
#define ACL_LEN     (4 + 8 * ACL_ENTRIES)

static void put_entry(uint8_t *to, unsigned int tag, unsigned int perm,
		      uint32_t id)
{
	put16(to, tag);
	put16(to + 2, perm);
	put32(to + 4, id);
}

/* rw for the owner, @perm for USER, as far as @mask; nothing for others. */
static void acl_of(uint8_t to[ACL_LEN], unsigned int perm, unsigned int mask)
{
	put32(to, 2);
	put_entry(to + 4, 0x01, 6, 0xffffffff);
	put_entry(to + 12, 0x02, perm, USER);
	put_entry(to + 20, 0x04, 0, 0xffffffff);
	put_entry(to + 28, 0x10, mask, 0xffffffff);
	put_entry(to + 36, 0x20, 0, 0xffffffff);
}

static void acl_lets_in(void)
{
	uint8_t acl[ACL_LEN];

	make_file("f", 0600);
	acl_of(acl, 6, 6);
	ok(setxattr("f", ACCESS, acl, sizeof(acl), 0));
	eq(0660, stat_of("f").st_mode & 07777);
	eq(sizeof(acl), getxattr("f", ACCESS, NULL, 0));
	be(USER, GROUP);
	ok(open("f", O_RDWR));
	be_root();
	be(OTHER, GROUP);
	fails(EACCES, open("f", O_RDONLY));
}

static void acl_mask(void)
{
	uint8_t acl[ACL_LEN];

	make_file("f", 0600);
	acl_of(acl, 6, 4);
	ok(setxattr("f", ACCESS, acl, sizeof(acl), 0));
	eq(0640, stat_of("f").st_mode & 07777);
	be(USER, GROUP);
	ok(open("f", O_RDONLY));
	fails(EACCES, open("f", O_WRONLY));
	be_root();
	ok(chmod("f", 0600));
	be(USER, GROUP);
	fails(EACCES, open("f", O_RDONLY));
}

static void acl_is_inherited(void)
{
	uint8_t acl[ACL_LEN];

	make_dir("d", 0755);
	acl_of(acl, 4, 6);
	ok(setxattr("d", DEFAULT, acl, sizeof(acl), 0));
	(void)umask(077);
	ok(close(ok(open("d/f", O_WRONLY | O_CREAT, 0666))));
	/* The ACL has the umask's place. */
	eq(0660, stat_of("d/f").st_mode & 07777);
	ok(mkdir("d/e", 0777));
	eq(sizeof(acl), getxattr("d/e", DEFAULT, NULL, 0));
	be(USER, GROUP);
	ok(open("d/f", O_RDONLY));
	fails(EACCES, open("d/f", O_WRONLY));
}

static void acl_denied(void)
{
	uint8_t acl[ACL_LEN];

	make_file("f", 0666);
	acl_of(acl, 6, 6);
	be(USER, GROUP);
	fails(EPERM, setxattr("f", ACCESS, acl, sizeof(acl), 0));
	fails(EPERM, removexattr("f", ACCESS));
}

static void acl_that_is_none(void)
{
	uint8_t acl[ACL_LEN];

	make_file("f", 0644);
	acl_of(acl, 6, 6);
	fails(EINVAL, setxattr("f", ACCESS, acl, sizeof(acl) - 1, 0));
	put16(acl + 4, 0x40);
	fails(EINVAL, setxattr("f", ACCESS, acl, sizeof(acl), 0));
	acl_of(acl, 6, 6);
	fails(EACCES, setxattr("f", DEFAULT, acl, sizeof(acl), 0));
}

static const struct rule xattr_rules[] = {
	RULE(set_get_list_remove),
	RULE(of_a_folder),
	RULE(only_if_new_or_there),
	RULE(sizes),
	RULE(large_value),
	RULE(too_large),
	RULE(long_names),
	RULE(no_such_class),
	RULE(of_what_is_no_file),
	RULE(follows_symlink),
	RULE(denied),
	RULE(of_a_sticky_folder),
	RULE(stays_with_the_file),
	RULE_NEEDS(trusted, TRUSTED),
	RULE_NEEDS(trusted_of_any_kind, TRUSTED),
	RULE_NEEDS(security, TRUSTED),
	RULE_NEEDS(acl_lets_in, ACLS),
	RULE_NEEDS(acl_mask, ACLS),
	RULE_NEEDS(acl_is_inherited, ACLS),
	RULE_NEEDS(acl_denied, ACLS),
	RULE_NEEDS(acl_that_is_none, ACLS),
};

const struct rules xattr_set = RULES(xattr);
