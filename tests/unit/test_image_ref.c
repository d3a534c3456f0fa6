/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_image_ref.c - names of images */
#include <errno.h>
#include <string.h>

#include "host/lib/imageref.h"
#include "tests/lib/check_main.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* @hub is what a registry is asked for. */
static const struct {
	const char *s, *domain, *path, *tag, *digest, *text, *hub;
} good[] = {
	{ "debian", "", "debian", "", "", "debian:latest",
	  "docker.io/library/debian:latest" },
	{ "debian:12", "", "debian", "12", "", "debian:12",
	  "docker.io/library/debian:12" },
	{ "a/b", "", "a/b", "", "", "a/b:latest", "docker.io/a/b:latest" },
	{ "docker.io/debian", "docker.io", "debian", "", "",
	  "docker.io/debian:latest", "docker.io/library/debian:latest" },
	{ "index.docker.io/a/b", "index.docker.io", "a/b", "", "",
	  "index.docker.io/a/b:latest", "docker.io/a/b:latest" },
	{ "ghcr.io/a/b/c:V1.0_x-y", "ghcr.io", "a/b/c", "V1.0_x-y", "",
	  "ghcr.io/a/b/c:V1.0_x-y", "ghcr.io/a/b/c:V1.0_x-y" },
	{ "localhost/x", "localhost", "x", "", "", "localhost/x:latest",
	  "localhost/x:latest" },
	{ "h:5000/x", "h:5000", "x", "", "", "h:5000/x:latest",
	  "h:5000/x:latest" },
	{ "[::1]:5000/x:t", "[::1]:5000", "x", "t", "", "[::1]:5000/x:t",
	  "[::1]:5000/x:t" },
	{ "a--b_c__d.e", "", "a--b_c__d.e", "", "", "a--b_c__d.e:latest",
	  "docker.io/library/a--b_c__d.e:latest" },
	{ "x@sha256:" HEX, "", "x", "", "sha256:" HEX, "x@sha256:" HEX,
	  "docker.io/library/x@sha256:" HEX },
	/* As with Docker, what it is goes before what it is called. */
	{ "h.x/x:t@sha256:" HEX, "h.x", "x", "t", "sha256:" HEX,
	  "h.x/x@sha256:" HEX, "h.x/x@sha256:" HEX },
};

START_TEST(good_names)
{
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		char *s = check_copy(good[i].s, strlen(good[i].s) + 1);
		char text[HUTCH_IMAGE_REF_MAX + 1];
		struct imageref r, again;

		ck_assert_int_eq(imageref_parse(s, &r, NULL), 0);
		ck_assert_str_eq(r.domain, good[i].domain);
		ck_assert_str_eq(r.path, good[i].path);
		ck_assert_str_eq(r.tag, good[i].tag);
		ck_assert_str_eq(r.digest, good[i].digest);
		ck_assert_int_eq(imageref_text(&r, text, NULL), 0);
		ck_assert_str_eq(text, good[i].text);
		ck_assert_int_eq(imageref_parse(text, &again, NULL), 0);
		ck_assert_int_eq(imageref_expand(&r, NULL),
				 good[i].domain[0] == '\0');
		ck_assert_int_eq(imageref_text(&r, text, NULL), 0);
		ck_assert_str_eq(text, good[i].hub);
		free(s);
	}
}
END_TEST

static const char *const bad[] = {
	"",
	":",
	"@",
	"/",
	"a/",
	"/a",
	"a//b",
	"a:",
	":t",
	"a:-t",
	"a:.t",
	"a:t/",
	"a:t:u",
	"A",
	"a/B",
	"-a",
	"a-",
	"a.",
	"a..b",
	"a___b",
	"a_-b",
	"a b",
	"a\n",
	"a\x80",
	".",
	"..",
	"../a",
	"a/../b",
	"a/./b",
	HEX,
	"a@",
	"a@sha256:",
	"a@sha256:0",
	("a@sha256:" HEX "0"),
	("a@md5:" HEX),
	("a@sha256:" HEX "@sha256:" HEX),
	"h:/a",
	"h:x/a",
	"h:123456/a",
	"h:1:2/a",
	"h.:1/a",
	".h/a",
	"-h.x/a",
	"h-.x/a",
	"h..x/a",
	"[]/a",
	"[::1/a",
	"[::g]/a",
	"[::1]x/a",
	"h.x/",
	"h.x/:t",
	"h_.x/a",
};

START_TEST(bad_names)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char *s = check_copy(bad[i], strlen(bad[i]) + 1);
		struct imageref r = { .path = "untouched" };
		struct err e = { 0 };

		ck_assert_msg(imageref_parse(s, &r, &e) == -EINVAL, "'%s'", s);
		ck_assert_str_eq(r.path, "untouched");
		ck_assert_str_ne(e.msg, "");
		ck_assert_ptr_null(strchr(e.msg, '\n'));
		free(s);
	}
}
END_TEST

START_TEST(as_long_as_a_name_may_be)
{
	char s[HUTCH_IMAGE_REF_MAX + 2], text[HUTCH_IMAGE_REF_MAX + 1];
	struct imageref r;

	/* ":latest" is added to 248 bytes. */
	memset(s, 'a', sizeof(s));
	s[248] = '\0';
	ck_assert_int_eq(imageref_parse(s, &r, NULL), 0);
	ck_assert_int_eq(imageref_text(&r, text, NULL), 0);
	ck_assert_uint_eq(strlen(text), 255);
	/* And docker.io/library/ does not fit any more. */
	ck_assert_int_eq(imageref_expand(&r, NULL), -EINVAL);
	s[248] = 'a';
	s[249] = '\0';
	ck_assert_int_eq(imageref_parse(s, &r, NULL), -EINVAL);
	s[0] = 'a';
	s[1] = ':';
	s[130] = '\0';
	ck_assert_int_eq(imageref_parse(s, &r, NULL), 0);
	s[130] = 'a';
	s[131] = '\0';
	ck_assert_int_eq(imageref_parse(s, &r, NULL), -EINVAL);
}
END_TEST

CHECK_MAIN("image_ref", good_names, bad_names, as_long_as_a_name_may_be)
