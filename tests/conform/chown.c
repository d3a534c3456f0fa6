/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/chown.c - chown(), fchown(), lchown(), fchownat() */
#include "tests/conform/conform.h"

#define KEEP ((unsigned int)-1)

static void owned_by(const char *name, uid_t uid, gid_t gid)
{
	struct stat st = stat_of(name);

	eq(uid, st.st_uid);
	eq(gid, st.st_gid);
}

static void root_gives_away(void)
{
	make_file("f", 0644);
	ok(chown("f", USER, GROUP));
	owned_by("f", USER, GROUP);
	ok(chown("f", OTHER, KEEP));
	owned_by("f", OTHER, GROUP);
	ok(chown("f", KEEP, OTHERS));
	owned_by("f", OTHER, OTHERS);
	ok(chown("f", KEEP, KEEP));
	owned_by("f", OTHER, OTHERS);
}

static void numbers_have_32_bits(void)
{
	make_file("f", 0644);
	ok(chown("f", 65536, 100000));
	owned_by("f", 65536, 100000);
	ok(chown("f", 4294967294u, 4294967293u));
	owned_by("f", 4294967294u, 4294967293u);
}

static void of_kind(unsigned int kind)
{
	make((enum kind)kind, "x");
	ok(lchown("x", USER, GROUP));
	owned_by("x", USER, GROUP);
	eq(type_of((enum kind)kind), stat_of("x").st_mode & S_IFMT);
}

static void follows_symlink(void)
{
	make_file("f", 0644);
	make_link("f", "l");
	ok(chown("l", USER, GROUP));
	owned_by("f", USER, GROUP);
	owned_by("l", 0, 0);
}

static void symlink_itself(void)
{
	make_file("f", 0644);
	make_link("f", "l");
	ok(lchown("l", USER, GROUP));
	owned_by("f", 0, 0);
	owned_by("l", USER, GROUP);
	ok(fchownat(AT_FDCWD, "l", OTHER, OTHERS, AT_SYMLINK_NOFOLLOW));
	owned_by("l", OTHER, OTHERS);
	ok(lchown("l", 0, 0));
	make_link("nowhere", "m");
	ok(lchown("m", USER, GROUP));
	owned_by("m", USER, GROUP);
}

static void user_gives_to_a_group_of_his(void)
{
	make_file("f", 0644);
	give("f", USER, GROUP);
	be_in(USER, GROUP, OTHERS);
	ok(chown("f", KEEP, OTHERS));
	owned_by("f", USER, OTHERS);
	ok(chown("f", USER, GROUP));
	owned_by("f", USER, GROUP);
}

static void user_gives_to_a_foreign_group(void)
{
	make_file("f", 0644);
	give("f", USER, GROUP);
	be(USER, GROUP);
	fails(EPERM, chown("f", KEEP, OTHERS));
	owned_by("f", USER, GROUP);
}

static void user_gives_away(void)
{
	make_file("f", 0644);
	give("f", USER, GROUP);
	be(USER, GROUP);
	fails(EPERM, chown("f", OTHER, KEEP));
	fails(EPERM, chown("f", 0, 0));
	owned_by("f", USER, GROUP);
}

static void user_keeps_what_is_his(void)
{
	make_file("f", 0644);
	give("f", USER, OTHERS);
	be(USER, GROUP);
	ok(chown("f", USER, KEEP));
	ok(chown("f", USER, OTHERS));
	owned_by("f", USER, OTHERS);
}

static void user_takes(void)
{
	make_file("f", 0666);
	make_dir("d", 0777);
	be(USER, GROUP);
	fails(EPERM, chown("f", USER, KEEP));
	fails(EPERM, chown("f", KEEP, GROUP));
	fails(EPERM, chown("f", 0, 0));
	fails(EPERM, chown("d", USER, GROUP));
	owned_by("f", 0, 0);
}

static void same_owner_is_no_error(void)
{
	make_file("f", 0644);
	ok(chown("f", 0, 0));
	ok(chown("f", KEEP, KEEP));
	owned_by("f", 0, 0);
	eq(0644, stat_of("f").st_mode & 07777);
}

/* Linux does it for root as well. */
static void clears_setuid(void)
{
	make_file("f", 06755);
	ok(chown("f", 0, 0));
	eq(0755, stat_of("f").st_mode & 07777);
	ok(chmod("f", 04711));
	ok(chown("f", USER, GROUP));
	eq(0711, stat_of("f").st_mode & 07777);
}

static void clears_setuid_for_its_owner(void)
{
	make_file("f", 0755);
	give("f", USER, GROUP);
	ok(chmod("f", 06755));
	be_in(USER, GROUP, OTHERS);
	ok(chown("f", KEEP, OTHERS));
	eq(0755, stat_of("f").st_mode & 07777);
}

/* Without x for the group it is no setgid, but the mark of a locked file. */
static void keeps_setgid_without_x(void)
{
	make_file("f", 02644);
	ok(chown("f", 0, 0));
	eq(02644, stat_of("f").st_mode & 07777);
}

static void keeps_bits_of_folder(void)
{
	make_dir("d", 07755);
	ok(chown("d", 0, 0));
	eq(07755, stat_of("d").st_mode & 07777);
}

static void of_what_is_open(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDONLY);
	ok(fchown(fd, USER, GROUP));
	owned_by("f", USER, GROUP);
	ok(unlink("f"));
	ok(fchown(fd, OTHER, OTHERS));
	eq(OTHER, stat_fd(fd).st_uid);
}

static void by_path_descriptor(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_PATH);
	fails(EBADF, fchown(fd, 0, 0));
	ok(fchownat(fd, "", 0, 0, AT_EMPTY_PATH));
	fails(EINVAL, fchownat(AT_FDCWD, "f", 0, 0, 0x40000000));
}

static void all_names_have_it(void)
{
	make_file("f", 0644);
	ok(link("f", "g"));
	ok(chown("f", USER, GROUP));
	owned_by("g", USER, GROUP);
}

static void who_makes_it_owns_it(void)
{
	ok(chmod(".", 0777));
	be(USER, GROUP);
	make(FILE_, "f");
	make(DIR_, "d");
	make(LINK_, "l");
	make(FIFO_, "p");
	make(SOCK_, "s");
	owned_by("f", USER, GROUP);
	owned_by("d", USER, GROUP);
	owned_by("l", USER, GROUP);
	owned_by("p", USER, GROUP);
	owned_by("s", USER, GROUP);
}

/* All that is made in a setgid folder is of its group; folders pass it on. */
static void group_of_a_setgid_folder(void)
{
	make_dir("d", 0755);
	give("d", 0, OTHERS);
	ok(chmod("d", 02777));
	be(USER, GROUP);
	make(FILE_, "d/f");
	make(LINK_, "d/l");
	make(FIFO_, "d/p");
	ok(mkdir("d/d", 0755));
	ok(close(open_file("d/d/f", O_WRONLY | O_CREAT)));
	owned_by("d/f", USER, OTHERS);
	owned_by("d/l", USER, OTHERS);
	owned_by("d/p", USER, OTHERS);
	owned_by("d/d", USER, OTHERS);
	owned_by("d/d/f", USER, OTHERS);
	eq(02755, stat_of("d/d").st_mode & 07777);
	eq(0644, stat_of("d/f").st_mode & 07777);
}

static const struct rule chown_rules[] = {
	RULE_NEEDS(root_gives_away, OWNERS),
	RULE_NEEDS(numbers_have_32_bits, OWNERS),
	{ .name = "of_folder",
	  .check_with = of_kind,
	  .with = DIR_,
	  .needs = OWNERS },
	{ .name = "of_fifo",
	  .check_with = of_kind,
	  .with = FIFO_,
	  .needs = OWNERS },
	{ .name = "of_socket",
	  .check_with = of_kind,
	  .with = SOCK_,
	  .needs = OWNERS },
	{ .name = "of_symlink",
	  .check_with = of_kind,
	  .with = LINK_,
	  .needs = OWNERS },
	{ .name = "of_device",
	  .check_with = of_kind,
	  .with = CHR_,
	  .needs = OWNERS | DEVICES },
	RULE_NEEDS(follows_symlink, OWNERS),
	RULE_NEEDS(symlink_itself, OWNERS),
	RULE_NEEDS(user_gives_to_a_group_of_his, OWNERS),
	RULE_NEEDS(user_gives_to_a_foreign_group, OWNERS),
	RULE_NEEDS(user_gives_away, OWNERS),
	RULE_NEEDS(user_keeps_what_is_his, OWNERS),
	RULE(user_takes),
	RULE(same_owner_is_no_error),
	RULE_NEEDS(clears_setuid, OWNERS | SUID),
	RULE_NEEDS(clears_setuid_for_its_owner, OWNERS | SUID),
	RULE_NEEDS(keeps_setgid_without_x, SUID),
	RULE(keeps_bits_of_folder),
	RULE_NEEDS(of_what_is_open, OWNERS),
	RULE(by_path_descriptor),
	RULE_NEEDS(all_names_have_it, OWNERS),
	RULE_NEEDS(who_makes_it_owns_it, OWNERS),
	RULE_NEEDS(group_of_a_setgid_folder, OWNERS),
};

const struct rules chown_set = RULES(chown);
