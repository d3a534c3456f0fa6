/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/access.c - who may do what, as access() and opens see it */
#include "tests/conform/conform.h"

/* Of a file of that mode, as somebody. */
static void may(const char *name, bool r, bool w, bool x)
{
	eq(r ? 0 : -1, access(name, R_OK));
	eq(w ? 0 : -1, access(name, W_OK));
	eq(x ? 0 : -1, access(name, X_OK));
	eq(r && w ? 0 : -1, access(name, R_OK | W_OK));
}

static void each_bit_for_others(void)
{
	char name[] = "0";

	for (mode_t bits = 0; bits < 8; bits++, name[0]++)
		make_file(name, bits);
	be(USER, GROUP);
	name[0] = '0';
	for (mode_t bits = 0; bits < 8; bits++, name[0]++)
		may(name, bits & 4, bits & 2, bits & 1);
}

static void each_bit_for_the_group(void)
{
	char name[] = "0";

	for (mode_t bits = 0; bits < 8; bits++, name[0]++) {
		make_file(name, (mode_t)(0707 & ~(7 - bits)) | bits << 3);
		give(name, OTHER, GROUP);
	}
	be(USER, GROUP);
	name[0] = '0';
	for (mode_t bits = 0; bits < 8; bits++, name[0]++)
		may(name, bits & 4, bits & 2, bits & 1);
}

static void each_bit_for_the_owner(void)
{
	char name[] = "0";

	for (mode_t bits = 0; bits < 8; bits++, name[0]++) {
		make_file(name, 077 | bits << 6);
		give(name, USER, GROUP);
	}
	be(USER, GROUP);
	name[0] = '0';
	for (mode_t bits = 0; bits < 8; bits++, name[0]++)
		may(name, bits & 4, bits & 2, bits & 1);
}

static void second_group_counts(void)
{
	make_file("f", 0640);
	give("f", OTHER, OTHERS);
	be(USER, GROUP);
	fails(EACCES, open("f", O_RDONLY));
	be_root();
	be_in(USER, GROUP, OTHERS);
	ok(open("f", O_RDONLY));
	fails(EACCES, open("f", O_WRONLY));
}

static void root_reads_and_writes_all(void)
{
	make_file("f", 0);
	may("f", true, true, false);
	ok(open("f", O_RDWR));
	make_dir("d", 0);
	make_file("d/x", 0644);
	ok(open("d/x", O_RDONLY));
	ok(unlink("d/x"));
}

static void root_executes_what_somebody_may(void)
{
	make_file("f", 0644);
	fails(EACCES, access("f", X_OK));
	ok(chmod("f", 0645));
	ok(access("f", X_OK));
	make_dir("d", 0);
	ok(access("d", X_OK));
}

static void real_user_counts(void)
{
	make_file("f", 0600);
	ok(setresuid(USER, 0, 0));
	fails(EACCES, access("f", R_OK));
	ok(open("f", O_RDONLY));
	ok(faccessat(AT_FDCWD, "f", R_OK, AT_EACCESS));
}

static void write_on_read_only_mount(void)
{
	make_dir("d", 0755);
	make_file("d/x", 0644);
	make_ro("d");
	fails(EROFS, access("d/x", W_OK));
	fails(EROFS, access("d", W_OK));
	ok(access("d/x", R_OK));
}

static void bad_mode(void)
{
	make_file("f", 0644);
	fails(EINVAL, access("f", 8));
}

static void exec_needs_the_bit(void)
{
	char *const argv[] = { (char[]){ "f" }, NULL };

	make_file("f", 0644);
	fails(EACCES, execv("./f", argv));
	ok(chmod("f", 0755));
	fails(ENOEXEC, execv("./f", argv));
	be(USER, GROUP);
	fails(ENOEXEC, execv("./f", argv));
	be_root();
	ok(chmod("f", 0754));
	be(USER, GROUP);
	fails(EACCES, execv("./f", argv));
}

static void exec_of_a_folder(void)
{
	char *const argv[] = { (char[]){ "d" }, NULL };

	make_dir("d", 0755);
	fails(EACCES, execv("./d", argv));
}

/* A folder may be passed through, and not be listed. */
static void search_without_read(void)
{
	make_dir("d", 0711);
	make_file("d/x", 0644);
	be(USER, GROUP);
	fails(EACCES, open("d", O_RDONLY | O_DIRECTORY));
	ok(open("d", O_PATH | O_DIRECTORY));
	file_is("d/x", TEXT);
}

static void read_without_search(void)
{
	make_dir("d", 0744);
	make_file("d/x", 0644);
	be(USER, GROUP);
	ok(open("d", O_RDONLY | O_DIRECTORY));
	fails(EACCES, open("d/x", O_RDONLY));
}

static void chmod_counts_at_once(void)
{
	make_file("f", 0600);
	be(USER, GROUP);
	fails(EACCES, open("f", O_RDONLY));
	be_root();
	ok(chmod("f", 0644));
	be(USER, GROUP);
	ok(open("f", O_RDONLY));
	be_root();
	ok(chmod("f", 0600));
	be(USER, GROUP);
	fails(EACCES, open("f", O_RDONLY));
}

static const struct rule access_rules[] = {
	RULE(each_bit_for_others),
	RULE_NEEDS(each_bit_for_the_group, OWNERS),
	RULE_NEEDS(each_bit_for_the_owner, OWNERS),
	RULE_NEEDS(second_group_counts, OWNERS),
	RULE_NEEDS(root_reads_and_writes_all, ROOT),
	RULE_NEEDS(root_executes_what_somebody_may, ROOT),
	RULE(real_user_counts),
	RULE(write_on_read_only_mount),
	RULE(bad_mode),
	RULE(exec_needs_the_bit),
	RULE(exec_of_a_folder),
	RULE(search_without_read),
	RULE(read_without_search),
	RULE(chmod_counts_at_once),
};

const struct rules access_set = RULES(access);
