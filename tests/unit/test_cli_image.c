/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cli_image.c - hutch image: what it asks of libhutch */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fake_vm.h"

static const struct fake_vm nothing;

static void refused(const char *sentence)
{
	ck_assert_str_eq(fake_vm_err(), sentence);
	ck_assert_str_eq(fake_vm_out(), "");
	ck_assert_str_eq(fake_vm_calls(), "");
}

START_TEST(import_passes_on_what_it_was_told)
{
	fake_vm_set(&nothing);
	ck_assert_int_eq(fake_vm_cli("image", "import", "f.tar", "a:1", NULL),
			 0);
	ck_assert_str_eq(fake_vm_calls(), "import f.tar a:1 - 0 0\n");
	ck_assert_str_eq(fake_vm_out(), "a:1\n");
	/* Progress is for terminals. */
	ck_assert_str_eq(fake_vm_err(), "");
	ck_assert_int_eq(fake_vm_cli("image", "load", "-", "a", "--pick=v1",
				     "--max-size", "2G", "--max-files=7",
				     "--json", NULL),
			 0);
	ck_assert_str_eq(fake_vm_calls(),
			 "import /dev/stdin a v1 2147483648 7\n");
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "0123456789abcdef"));
}
END_TEST

START_TEST(pull_passes_on_what_it_was_told)
{
	fake_vm_set(&nothing);
	ck_assert_int_eq(setenv("LOGIN", "me:secret", 1), 0);
	ck_assert_int_eq(fake_vm_cli("image", "pull", "h.x/a:1", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "pull h.x/a:1 - 0 0 0\n");
	ck_assert_str_eq(fake_vm_out(), "h.x/a:1\n");
	ck_assert_int_eq(fake_vm_cli("image", "pull", "a", "--creds=env:LOGIN",
				     "--max-idle", "2m", "--max-size", "1K",
				     NULL),
			 0);
	ck_assert_str_eq(fake_vm_calls(), "pull a me:secret 120 1024 0\n");
	ck_assert_int_eq(
		fake_vm_cli("image", "pull", "a", "--creds=me:secret", NULL),
		125);
	refused("hutch: --creds wants env:VAR, and USER:PASSWORD in the "
		"variable VAR\n");
	ck_assert_int_eq(
		fake_vm_cli("image", "pull", "a", "--creds=env:NONE_", NULL),
		125);
	refused("hutch: --creds: there is no such variable\n");
	ck_assert_int_eq(
		fake_vm_cli("image", "pull", "a", "--max-idle=0.5s", NULL),
		125);
	refused("hutch: --max-idle is from 1s to 24h\n");
}
END_TEST

START_TEST(build_passes_on_what_it_was_told)
{
	fake_vm_set(&nothing);
	ck_assert_int_eq(fake_vm_cli("image", "build", "debian", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(),
			 "build debian debian - - - - 2 0 0\n");
	ck_assert_str_eq(fake_vm_out(), "debian\n");
	ck_assert_int_eq(fake_vm_cli("image", "build", "./a/mine", "--suite=s",
				     "--include", "a,b", "--include=c",
				     "--mirror=http://m", "--max-size=1K",
				     "--max-files=7", NULL),
			 0);
	ck_assert_str_eq(fake_vm_calls(),
			 "build ./a/mine mine s a,b c http://m 2 1024 7\n");
	ck_assert_int_eq(fake_vm_cli("image", "build", "debian", "a:1", NULL),
			 0);
	ck_assert_str_eq(fake_vm_calls(), "build debian a:1 - - - - 2 0 0\n");
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
	fake_vm_set(&nothing);
	ck_assert_int_eq(fake_vm_cli("image", NULL), 125);
	refused("hutch: image needs to know what to do: hutch image --help "
		"lists it\n");
	ck_assert_int_eq(fake_vm_cli("image", "lst", NULL), 125);
	refused("hutch: unknown verb 'image lst': did you mean 'hutch image "
		"list'?\n");
	ck_assert_int_eq(fake_vm_cli("image", "\033[1m", NULL), 125);
	refused("hutch: unknown verb 'image \\e[1m': hutch image --help lists "
		"them\n");
	ck_assert_int_eq(fake_vm_cli("images", NULL), 125);
	refused("hutch: unknown verb 'images': did you mean 'hutch image "
		"list'?\n");
	ck_assert_int_eq(fake_vm_cli("image", "import", "f", NULL), 125);
	refused("hutch: image import needs more words: hutch image import "
		"[OPTIONS] FILE|FOLDER|- NAME[:TAG]\n");
	ck_assert_int_eq(fake_vm_cli("image", "import", "f", "a", "b", NULL),
			 125);
	ck_assert_int_eq(fake_vm_cli("image", "import", "f", "a", "--max-files",
				     "0", NULL),
			 125);
	refused("hutch: --max-files: '0' is not a number from 1 to "
		"4294967295\n");
	ck_assert_int_eq(fake_vm_cli("help", "list", "x", NULL), 125);
	ck_assert_int_eq(fake_vm_cli("help", "image", "x", NULL), 125);
}
END_TEST

START_TEST(list_and_inspect_show_it)
{
	fake_vm_set(&nothing);
	ck_assert_int_eq(fake_vm_cli("image", "ls", NULL), 0);
	ck_assert_ptr_nonnull(
		strstr(fake_vm_out(), "\na:1      0123456789ab "));
	ck_assert_ptr_nonnull(
		strstr(fake_vm_out(), "\nh.x/b:2  0123456789ab "));
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), " 3M\n"));
	ck_assert_int_eq(fake_vm_cli("image", "list", "-q", NULL), 0);
	ck_assert_str_eq(fake_vm_out(), "0123456789ab\n");
	ck_assert_int_eq(fake_vm_cli("volume", "rm", "-f", "v", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "volume-remove v 0x1\n");
	ck_assert_int_eq(fake_vm_cli("image", "inspect", "a", "b", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "image-inspect a\nimage-inspect b\n");
	ck_assert_ptr_null(strchr(fake_vm_out(), '\033'));
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\\e[31m"));
	ck_assert_int_eq(fake_vm_cli("image", "inspect", "a", "--json", NULL),
			 0);
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "\"id\""));
}
END_TEST

START_TEST(rm_and_prune_say_what_is_gone)
{
	const struct fake_vm failing = { .error = -EBUSY };

	fake_vm_set(&nothing);
	ck_assert_int_eq(fake_vm_cli("image", "rm", "-f", "a", "b", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(),
			 "image-remove a 0x1\nimage-remove b 0x1\n");
	ck_assert_str_eq(fake_vm_out(), "a\nb\n");
	ck_assert_int_eq(fake_vm_cli("image", "prune", "-a", NULL), 0);
	ck_assert_str_eq(fake_vm_calls(), "image-prune 0x1\n");
	ck_assert_str_eq(fake_vm_out(), "0123456789ab\n");
	fake_vm_set(&failing);
	ck_assert_int_eq(fake_vm_cli("image", "rm", "a", NULL), 125);
	ck_assert_str_eq(fake_vm_err(), "hutch: failed for a test\n");
	ck_assert_int_eq(fake_vm_cli("image", "list", NULL), 125);
}
END_TEST

START_TEST(help_tells_of_each)
{
	fake_vm_set(&nothing);
	ck_assert_int_eq(fake_vm_cli("image", "--help", NULL), 0);
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "hutch image import"));
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "--max-files"));
	ck_assert_int_eq(fake_vm_cli("help", "image", "rm", NULL), 0);
	ck_assert_ptr_nonnull(
		strstr(fake_vm_out(), "Usage: hutch image rm [OPTIONS] NAME"));
	ck_assert_int_eq(fake_vm_cli("image", "rm", "--help", NULL), 0);
	ck_assert_ptr_nonnull(strstr(fake_vm_out(), "--force"));
}
END_TEST

CHECK_MAIN("cli_image", import_passes_on_what_it_was_told,
	   build_passes_on_what_it_was_told, pull_passes_on_what_it_was_told,
	   what_makes_no_sense_is_refused, list_and_inspect_show_it,
	   rm_and_prune_say_what_is_gone, help_tells_of_each)
