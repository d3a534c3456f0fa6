/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_image_oci.c - documents of images, and ours: image.json */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/image/oci.h"
#include "host/image/sha.h"
#include "host/lib/imageinfo.h"
#include "host/lib/record.h"
#include "tests/lib/check_main.h"

#define HEX    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DIGEST "\"sha256:" HEX "\""

START_TEST(sha_is_sha)
{
	char got[SHA_HEX + 1];

	sha_of("abc", 3, got);
	ck_assert_str_eq(got, "ba7816bf8f01cfea414140de5dae2223"
			      "b00361a396177a9cb410ff61f20015ad");
}
END_TEST

START_TEST(the_first_of_a_registry_s_will_do)
{
	char json[1000];
	struct oci_desc d;
	struct err e = { 0 };
	int n = snprintf(json, sizeof(json),
			 "{\"schemaVersion\":2,\"manifests\":["
			 "{\"digest\":" DIGEST ",\"size\":1,\"platform\":"
			 "{\"os\":\"linux\",\"architecture\":\"none\"}},"
			 "{\"digest\":" DIGEST ",\"size\":2,\"platform\":"
			 "{\"os\":\"linux\",\"architecture\":\"%s\"}},"
			 "{\"digest\":" DIGEST ",\"size\":3,\"platform\":"
			 "{\"os\":\"linux\",\"architecture\":\"%s\"}},"
			 "{\"digest\":" DIGEST ",\"size\":4,\"platform\":"
			 "{\"os\":\"unknown\",\"architecture\":\"unknown\"}}"
			 "]}",
			 oci_arch(), oci_arch());
	char *copy = check_copy(json, (size_t)n);

	ck_assert_int_eq(oci_pick(copy, (size_t)n, NULL, true, &d, &e), 0);
	ck_assert_uint_eq(d.size, 2);
	ck_assert_str_eq(d.digest, "sha256:" HEX);
	ck_assert_int_eq(oci_pick(copy, (size_t)n, NULL, false, &d, &e),
			 -ENOTUNIQ);
	ck_assert(oci_is_index(copy, (size_t)n));
	/* Cut anywhere it is an error, and nobody reads on. */
	for (int i = 0; i < n; i++) {
		char *cut = check_copy(json, (size_t)i);

		ck_assert_int_eq(oci_pick(cut, (size_t)i, NULL, true, &d, &e),
				 -EBADMSG);
		free(cut);
	}
	free(copy);
}
END_TEST

static struct hutch_image_info *make(void)
{
	static const char *const list[] = { "A=b", "C=caf\xc3\xa9", NULL };
	struct hutch_image_info *i = imageinfo_new();

	ck_assert_ptr_nonnull(i);
	ck_assert_int_eq(record_set(&i->id, HEX), 0);
	ck_assert_int_eq(record_set(&i->workdir, "/w"), 0);
	ck_assert_int_eq(record_set_list(&i->env, list), 0);
	ck_assert_int_eq(record_set_list(&i->labels, list), 0);
	i->bytes = 1ull << 40;
	i->created_ns = 1769860800123456789;
	return i;
}

START_TEST(an_image_comes_back_as_it_was)
{
	struct hutch_image_info *a = make(), *b = NULL;
	char *json = hutch_image_json(a);
	struct err e = { 0 };

	ck_assert_msg(imageinfo_parse(json, strlen(json), &b, &e) == 0, "%s",
		      e.msg);
	ck_assert_str_eq(b->id, HEX);
	ck_assert_str_eq(b->workdir, "/w");
	ck_assert_str_eq(b->user, "");
	ck_assert_str_eq(b->env[1], "C=caf\xc3\xa9");
	ck_assert_str_eq(b->labels[0], "A=b");
	ck_assert_ptr_null(b->labels[2]);
	ck_assert_ptr_null(b->cmd);
	ck_assert_uint_eq(b->bytes, 1ull << 40);
	ck_assert(b->created_ns == a->created_ns);
	free(json);
	hutch_image_info_free(a);
	hutch_image_info_free(b);
}
END_TEST

START_TEST(an_image_that_is_none_is_refused)
{
	static const struct {
		const char *from, *to;
	} bad[] = {
		{ "\"version\":1", "\"version\":2" },
		{ "\"id\":\"0", "\"id\":\"" },
		{ "\"id\":\"0", "\"id\":\"/" },
		{ "\"bytes\":1", "\"bytes\":-1" },
		{ "\"created\":\"2", "\"created\":\"x" },
		{ "\"env\":[", "\"env\":[1," },
		{ "\"workdir\":\"/w\"", "\"workdir\":1" },
		{ "\"A\":\"b\"", "\"A\":1" },
		{ "\"A\":\"b\"", "\"\":\"b\"" },
		{ "\"user\":", "\"user\":\"\",\"user\":" },
		{ "{", "[" },
	};
	struct hutch_image_info *i = make(), *got = NULL;
	char *json = hutch_image_json(i);

	for (size_t n = 0; n < ARRAY_LEN(bad); n++) {
		const char *at = strstr(json, bad[n].from);
		struct err e = { 0 };
		char *text, *copy;
		int len;

		ck_assert_ptr_nonnull(at);
		len = asprintf(&text, "%.*s%s%s", (int)(at - json), json,
			       bad[n].to, at + strlen(bad[n].from));
		ck_assert_int_gt(len, 0);
		copy = check_copy(text, (size_t)len);
		ck_assert_int_eq(imageinfo_parse(copy, (size_t)len, &got, &e),
				 -EBADMSG);
		ck_assert_ptr_null(got);
		free(copy);
		free(text);
	}
	free(json);
	hutch_image_info_free(i);
}
END_TEST

CHECK_MAIN("image_oci", sha_is_sha, the_first_of_a_registry_s_will_do,
	   an_image_comes_back_as_it_was, an_image_that_is_none_is_refused)
