/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cli_files.c - what hutch cp and hutch fs make of libhutch */
#include <errno.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fake_vm.h"

static const struct fake_vm nothing;
static const struct fake_vm denied = { .error = -EACCES };

/* Words that are asked for, and what is said to a person instead. */
static void refuse(const char *words, const char *a, const char *b,
		   const char *c)
{
	ck_assert_int_eq(fake_vm_cli("cp", a, b, c, NULL), 125);
	ck_assert_msg(strstr(fake_vm_err(), words) != NULL, "%s",
		      fake_vm_err());
	ck_assert_str_eq(fake_vm_calls(), "");
}

START_TEST(cp_knows_which_end_is_in_a_vm)
{
	fake_vm_set(&nothing);
	ck_assert_int_eq(fake_vm_cli("cp", "a", "web:/b", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "fs web -\nput a 0 /b\n");
	ck_assert_str_eq(fake_vm_out(), "");
	ck_assert_int_eq(
		fake_vm_cli("cp", "-aLu", "7:8", "web:b:c", "/d", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "fs web 7:8\nget b:c 33 /d\n");
	ck_assert_int_eq(fake_vm_cli("cp", "./x:y", "web:.", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "fs web -\nput ./x:y 0 .\n");
	ck_assert_int_eq(fake_vm_cli("cp", "d/x:y", "web:/.", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "fs web -\nput d/x:y 0 /.\n");
	refuse("neither SRC nor DST", "a", "b", NULL);
	refuse("in two steps", "a:/b", "c:/d", NULL);
	refuse("no VM can be called", "A:b", "web:/", NULL);
	refuse("./A:b is a file here", "A:b", "web:/", NULL);
	refuse("no VM can be called", ":b", "web:/", NULL);
	refuse("no path behind the ':'", "a", "web:", NULL);
	refuse("needs more words", "a", NULL, NULL);
	refuse("one word too many", "a", "web:/", "c");
}
END_TEST

START_TEST(cp_of_a_stream_is_the_bytes_of_a_file)
{
	fake_vm_set(&nothing);
	ck_assert_int_eq(fake_vm_cli("cp", "web:/b", "-", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "fs web -\nread /b\n");
	ck_assert_str_eq(fake_vm_out(), "bytes\n");
	/* No JSON where the file goes. */
	ck_assert_int_eq(fake_vm_cli("cp", "--json", "web:/b", "-", NULL), 0);
	ck_assert_str_eq(fake_vm_out(), "bytes\n");
	ck_assert_int_eq(fake_vm_cli("cp", "-", "web:/b", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "fs web -\nwrite /b 16 644 0\n");
	refuse("nothing is kept but its bytes", "-a", "-", "web:/b");
	refuse("neither SRC nor DST", "-", "-", NULL);
}
END_TEST

START_TEST(what_the_vm_refused_is_exit_code_1)
{
	fake_vm_set(&denied);
	ck_assert_int_eq(fake_vm_cli("cp", "a", "web:/b", NULL), 1);
	ck_assert_str_eq(fake_vm_err(), "hutch: failed for a test\n");
	ck_assert_int_eq(fake_vm_cli("fs", "cat", "web", "/b", NULL), 1);
	ck_assert_int_eq(fake_vm_cli("fs", "rm", "web", "/a", "/b", NULL), 1);
	ck_assert_str_eq(fake_vm_calls(),
			 "fs web -\nremove /a 0\nremove /b 0\n");
	ck_assert_int_eq(fake_vm_cli("--json", "fs", "stat", "web", "/b", NULL),
			 1);
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"code\": \"EACCES\""));
	ck_assert_int_eq(fake_vm_cli("fs", "ls", "--json", "web", NULL), 1);
}
END_TEST

/* Of many paths: what comes after the one that was refused counts as well. */
START_TEST(the_exit_code_is_that_of_all_paths)
{
	static const struct fake_vm one = { .error = -ENOENT, .only = "/no" };

	fake_vm_set(&one);
	ck_assert_int_eq(fake_vm_cli("fs", "rm", "web", "/no", "/b", NULL), 1);
	ck_assert_str_eq(fake_vm_out(), "/b\n");
	ck_assert_int_eq(fake_vm_cli("fs", "rm", "web", "/b", "/no", NULL), 1);
	ck_assert_int_eq(fake_vm_cli("fs", "mkdir", "web", "/no", "/b", NULL),
			 1);
	ck_assert_int_eq(fake_vm_cli("fs", "rm", "web", "/a", "/b", NULL), 0);
	/* What is wrong on this side is not the VM's refusal. */
	fake_vm_set(&denied);
	ck_assert_int_eq(fake_vm_cli("fs", "rm", "web", "", "/b", NULL), 125);
	ck_assert_int_eq(fake_vm_cli("fs", "rm", "web", "/b", "", NULL), 125);
}
END_TEST

START_TEST(fs_ls_shows_what_there_is)
{
	fake_vm_set(&nothing);
	ck_assert_int_eq(fake_vm_cli("fs", "ls", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "fs web -\nlist .\n");
	ck_assert_str_eq(fake_vm_out(), "a\\nb\n\\xff\nnull\n");
	ck_assert_int_eq(
		fake_vm_cli("fs", "list", "-l", "-u", "me", "web", "/d", NULL),
		0);
	ck_assert_str_eq(fake_vm_calls(), "fs web me\nlist /d\n");
	ck_assert_str_eq(
		fake_vm_out(),
		"-rwsr-xr-x   1 1000:100              12 2026-01-31T12:00:00Z "
		"a\\nb\n"
		"lrwxrwxrwx   1 0:0                    0 1969-12-31T23:59:59Z "
		"\\xff -> ../x\n"
		"crw-rw-rwT   1 0:0                    0 1970-01-01T00:00:00Z "
		"null\n");
	ck_assert_int_eq(fake_vm_cli("fs", "ls", "--json", "web", NULL), 0);
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"name\": \"a\\nb\""));
	ck_assert_ptr_nonnull(
		strstr(fake_vm_out(), "\"name_base64\": \"/w==\""));
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"mode\": \"4755\""));
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"device\": \"1:3\""));
	ck_assert_ptr_nonnull(
		strstr(fake_vm_out(),
		       "\"modified\": \"1969-12-31T23:59:59.999999999Z\""));
}
END_TEST

START_TEST(fs_verbs_say_what_they_want)
{
	static const struct {
		const char *word[6];
		const char *calls;
	} v[] = {
		{ { "stat", "-L", "web", "/x" }, "stat /x 1\n" },
		{ { "cat", "web", "/x", "/y" }, "read /x\nread /y\n" },
		{ { "write", "web", "/x" }, "write /x 0 644 0\n" },
		{ { "write", "--atomic", "-m", "0600", "web", "/x" },
		  "write /x 16 600 0\n" },
		{ { "mkdir", "web", "/x" }, "mkdir /x 0 755\n" },
		{ { "mkdir", "-p", "--mode=1777", "web", "/x", "/y" },
		  "mkdir /x 2 1777\nmkdir /y 2 1777\n" },
		{ { "rm", "-rf", "web", "/x" }, "remove /x 12\n" },
		{ { "mv", "web", "/x", "/y" }, "rename /x /y\n" },
		{ { "watch", "-n", "1", "web" }, "watch . 0\n" },
		{ { "watch", "-r", "web", "/x" }, "watch /x 4\n" },
	};

	fake_vm_set(&nothing);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		const char *const *w = v[i].word;

		ck_assert_int_eq(fake_vm_cli("fs", w[0], w[1], w[2], w[3], w[4],
					     w[5], NULL),
				 0);
		ck_assert_str_eq(fake_vm_calls() + strlen("fs web -\n"),
				 v[i].calls);
	}
}
END_TEST

START_TEST(fs_watch_prints_a_line_an_event)
{
	fake_vm_set(&nothing);
	ck_assert_int_eq(fake_vm_cli("fs", "watch", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_out(), "ready      .\n"
					"created    d/\n"
					"moved-to   d/\\xff\n"
					"lost       .\n"
					"gone       .\n");
	ck_assert_int_eq(fake_vm_cli("fs", "watch", "-n", "1", "web", NULL), 0);
	ck_assert_str_eq(fake_vm_out(), "ready      .\ncreated    d/\n");
	ck_assert_int_eq(fake_vm_cli("fs", "watch", "--json", "web", NULL), 0);
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"cookie\": 7}\n"));
	ck_assert_ptr_nonnull(
		strstr(fake_vm_out(), "\"path_base64\": \"ZC//\""));
}
END_TEST

#define DIGEST \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

START_TEST(backup_and_restore_say_the_digest)
{
	fake_vm_set(&nothing);
	ck_assert_int_eq(
		fake_vm_cli("backup", "web", "/srv", "x.tar.zst", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(),
			 "fs web -\nbackup /srv x.tar.zst 1\n");
	ck_assert_str_eq(fake_vm_out(), DIGEST "  x.tar.zst\n");
	/* Standard output is the archive then. */
	ck_assert_int_eq(fake_vm_cli("backup", "web", "/srv", "-", NULL), 0);
	ck_assert_str_eq(fake_vm_out(), "");
	ck_assert_int_eq(fake_vm_cli("restore", "--json", "--sha256", DIGEST,
				     "web", "/srv", "-", NULL),
			 0);
	ck_assert_str_eq(fake_vm_calls(),
			 "fs web -\nrestore 0 " DIGEST " /srv\n");
	ck_assert_ptr_nonnull(
		strstr(fake_vm_out(), "\"format\": \"tar+zstd\""));
	ck_assert_int_eq(
		fake_vm_cli("restore", "web", "/srv", "/nowhere", NULL), 125);
	ck_assert_ptr_nonnull(strstr(fake_vm_err(), "'/nowhere': No such"));
	ck_assert_int_eq(fake_vm_cli("restore", "--sha256", "abc", "web",
				     "/srv", "-", NULL),
			 125);
	ck_assert_ptr_nonnull(strstr(fake_vm_err(), "is no digest"));
	ck_assert_str_eq(fake_vm_calls(), "");
}
END_TEST

START_TEST(wrong_words_are_refused_by_one_sentence)
{
	static const struct {
		const char *word[4];
		const char *says;
	} v[] = {
		{ { NULL }, "fs needs to know what to do" },
		{ { "lss", "web" }, "did you mean 'hutch fs ls'?" },
		{ { "xyzzy", "web" }, "hutch fs --help lists them" },
		{ { "stat", "web" }, "needs more words" },
		{ { "mkdir", "-m8", "web", "/x" }, "is no mode" },
		{ { "write", "-m", "77777", "web" }, "needs more words" },
		{ { "watch", "-n0", "web" }, "--count" },
	};

	fake_vm_set(&nothing);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		const char *const *w = v[i].word;

		ck_assert_int_eq(
			fake_vm_cli("fs", w[0], w[1], w[2], w[3], NULL), 125);
		ck_assert_msg(strstr(fake_vm_err(), v[i].says) != NULL, "%s",
			      fake_vm_err());
		ck_assert_str_eq(fake_vm_calls(), "");
	}
}
END_TEST

CHECK_MAIN("cli_files", cp_knows_which_end_is_in_a_vm,
	   cp_of_a_stream_is_the_bytes_of_a_file,
	   what_the_vm_refused_is_exit_code_1,
	   the_exit_code_is_that_of_all_paths, fs_ls_shows_what_there_is,
	   fs_verbs_say_what_they_want, fs_watch_prints_a_line_an_event,
	   backup_and_restore_say_the_digest,
	   wrong_words_are_refused_by_one_sentence)
