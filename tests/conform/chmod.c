/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/chmod.c - chmod(), fchmod(), fchmodat() */
#include "tests/conform/conform.h"

static mode_t bits_of(const char *name)
{
	return stat_of(name).st_mode & 07777;
}

static void sets_each_bit(void)
{
	make_file("f", 0644);
	for (unsigned int bit = 0; bit < 9; bit++) {
		ok(chmod("f", 0400 | 1u << bit));
		eq(0400 | 1u << bit, bits_of("f"));
	}
	ok(chmod("f", 0777));
	eq(0777, bits_of("f"));
}

static void sets_no_bit(void)
{
	make_file("f", 0644);
	ok(chmod("f", 0));
	eq(0, bits_of("f"));
	ok(chmod("f", 0640));
	eq(0640, bits_of("f"));
}

static void sets_setuid_and_setgid(void)
{
	make_file("f", 0755);
	ok(chmod("f", 04755));
	eq(04755, bits_of("f"));
	ok(chmod("f", 02755));
	eq(02755, bits_of("f"));
	ok(chmod("f", 07777));
	eq(07777, bits_of("f"));
}

static void sets_bits_of_folder(void)
{
	make_dir("d", 0755);
	ok(chmod("d", 01777));
	eq(01777, bits_of("d"));
	ok(chmod("d", 02775));
	eq(02775, bits_of("d"));
	ok(chmod("d", 04755));
	eq(04755, bits_of("d"));
}

static void of_kind(unsigned int kind)
{
	make((enum kind)kind, "x");
	ok(chmod("x", 0604));
	eq(type_of((enum kind)kind) | 0604, stat_of("x").st_mode);
}

static void type_bits_are_ignored(void)
{
	make_file("f", 0644);
	ok(chmod("f", S_IFDIR | 0600));
	eq(S_IFREG | 0600, stat_of("f").st_mode);
}

static void follows_symlink(void)
{
	make_file("f", 0644);
	make_link("f", "l");
	ok(chmod("l", 0600));
	eq(0600, bits_of("f"));
	eq(0777, bits_of("l"));
}

static void symlink_has_no_mode(void)
{
	make_file("f", 0644);
	make_link("f", "l");
	fails(EOPNOTSUPP, fchmodat(AT_FDCWD, "l", 0600, AT_SYMLINK_NOFOLLOW));
	eq(0644, bits_of("f"));
}

static void not_the_owner(void)
{
	make_file("f", 0666);
	make_dir("d", 0777);
	be(USER, GROUP);
	fails(EPERM, chmod("f", 0666));
	fails(EPERM, chmod("d", 0777));
	eq(0666, bits_of("f"));
}

static void not_the_owner_though_in_the_group(void)
{
	make_file("f", 0664);
	give("f", OTHER, GROUP);
	be(USER, GROUP);
	fails(EPERM, chmod("f", 0660));
}

static void owner_may(void)
{
	make_file("f", 0);
	give("f", USER, GROUP);
	be(USER, GROUP);
	ok(chmod("f", 0640));
	eq(0640, bits_of("f"));
}

static void owner_may_in_a_folder_of_others(void)
{
	make_dir("d", 0755);
	make_file("d/f", 0600);
	give("d/f", USER, GROUP);
	be(USER, GROUP);
	ok(chmod("d/f", 0640));
}

static void setgid_is_for_the_own_group(void)
{
	make_file("f", 0755);
	give("f", USER, OTHERS);
	be(USER, GROUP);
	ok(chmod("f", 02755));
	eq(0755, bits_of("f"));
	be_root();
	be_in(USER, GROUP, OTHERS);
	ok(chmod("f", 02755));
	eq(02755, bits_of("f"));
}

static void owner_sets_setuid(void)
{
	make_file("f", 0755);
	give("f", USER, GROUP);
	be(USER, GROUP);
	ok(chmod("f", 04711));
	eq(04711, bits_of("f"));
}

static void of_what_is_open(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDONLY);
	ok(fchmod(fd, 0600));
	eq(0600, bits_of("f"));
	ok(unlink("f"));
	ok(fchmod(fd, 0640));
	eq(0640, stat_fd(fd).st_mode & 07777);
}

static void what_is_open_stays_open(void)
{
	int fd;

	make_file("f", 0666);
	be(USER, GROUP);
	fd = open_file("f", O_RDWR);
	be_root();
	ok(chmod("f", 0600));
	be(USER, GROUP);
	write_text(fd, "still", 0);
	has_text(fd, "still", 0);
	fails(EACCES, open("f", O_RDWR));
}

static void of_a_path_descriptor(void)
{
	make_file("f", 0644);
	fails(EBADF, fchmod(open_file("f", O_PATH), 0600));
	fails(EBADF, fchmod(-1, 0600));
}

static void all_names_have_it(void)
{
	make_file("f", 0644);
	ok(link("f", "g"));
	ok(chmod("f", 0600));
	eq(0600, bits_of("g"));
}

static const struct rule chmod_rules[] = {
	RULE(sets_each_bit),
	RULE(sets_no_bit),
	RULE_NEEDS(sets_setuid_and_setgid, SUID),
	RULE(sets_bits_of_folder),
	{ .name = "of_fifo", .check_with = of_kind, .with = FIFO_ },
	{ .name = "of_socket", .check_with = of_kind, .with = SOCK_ },
	{ .name = "of_folder", .check_with = of_kind, .with = DIR_ },
	{ .name = "of_device",
	  .check_with = of_kind,
	  .with = CHR_,
	  .needs = DEVICES },
	{ .name = "of_block_device",
	  .check_with = of_kind,
	  .with = BLK_,
	  .needs = DEVICES },
	RULE(type_bits_are_ignored),
	RULE(follows_symlink),
	RULE(symlink_has_no_mode),
	RULE(not_the_owner),
	RULE_NEEDS(not_the_owner_though_in_the_group, OWNERS),
	RULE_NEEDS(owner_may, OWNERS),
	RULE_NEEDS(owner_may_in_a_folder_of_others, OWNERS),
	RULE_NEEDS(setgid_is_for_the_own_group, OWNERS | SUID),
	RULE_NEEDS(owner_sets_setuid, OWNERS | SUID),
	RULE(of_what_is_open),
	RULE(what_is_open_stays_open),
	RULE(of_a_path_descriptor),
	RULE(all_names_have_it),
};

const struct rules chmod_set = RULES(chmod);
