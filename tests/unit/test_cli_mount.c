/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_cli_mount.c - host/cli/mount.c: -v and --mount */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/base.h"
#include "host/cli/mount.h"
#include "tests/lib/check_main.h"

/** struct word - One, which option it is for, and what comes of it */
struct word {
	unsigned int words;
	unsigned int flags;
	const char *word;
	const char *source;
	const char *target;
	enum hutch_dax dax;
	uint64_t window;
	uint32_t uid;
	uint32_t gid;
};

static const struct word good[] = {
	{ 0, 0, "/a:/b", "/a", "/b" },
	{ 0, HUTCH_MOUNT_RDONLY, "/a:/b:ro", "/a", "/b" },
	{ 0, 0, "/a:/b:rw", "/a", "/b" },
	{ 0, 0, "./a:/b", "./a", "/b" },
	{ 0, HUTCH_MOUNT_RDONLY, ".:/b:rw,ro", ".", "/b" },
	{ 0, 0, "a/b:/b", "a/b", "/b" },
	{ 0, HUTCH_MOUNT_VOLUME, "a_B.c-1:/b", "a_B.c-1", "/b" },
	{ 0, HUTCH_MOUNT_VOLUME | HUTCH_MOUNT_RDONLY, "a:/b:ro", "a", "/b" },
	{ 0, HUTCH_MOUNT_LOCKS_HOST, "/a:/b:locks=host", "/a", "/b" },
	{ 0, HUTCH_MOUNT_RDONLY | HUTCH_MOUNT_LOCKS_HOST, "/a:/b:ro,locks=host",
	  "/a", "/b" },
	{ 0, 0, "/a:/b:locks=guest", "/a", "/b" },
	{ 0, 0, "/a:/b:dax=inode", "/a", "/b", HUTCH_DAX_INODE, 0 },
	{ 0, 0, "/a:/b:dax=auto", "/a", "/b", HUTCH_DAX_AUTO, 0 },
	{ 0, HUTCH_MOUNT_RDONLY, "/a:/b:window=128M,ro,dax=always", "/a", "/b",
	  HUTCH_DAX_ALWAYS, 128 << 20 },
	{ 0, 0, "/a:/b:uid=1000,gid=100", "/a", "/b", 0, 0, 1000, 100 },
	{ 1, 0, "type=bind,src=/a,dst=/b,gid=4294967294", "/a", "/b", 0, 0, 0,
	  4294967294 },
	{ 1, 0, "type=bind,dax=never,src=/a,dst=/b", "/a", "/b",
	  HUTCH_DAX_NEVER, 0 },
	{ 1, HUTCH_MOUNT_VOLUME, "type=volume,src=a,dst=/b,dax=inode,window=1g",
	  "a", "/b", HUTCH_DAX_INODE, 1 << 30 },
	{ 1, HUTCH_MOUNT_LOCKS_HOST, "type=bind,locks=host,src=/a,dst=/b", "/a",
	  "/b" },
	{ 1, 0, "type=bind,src=/a,dst=/b,locks=guest", "/a", "/b" },
	{ 1, HUTCH_MOUNT_VOLUME, "type=volume,src=a,dst=/b", "a", "/b" },
	{ 1, 0, "type=bind,src=/a,dst=/b", "/a", "/b" },
	{ 1, HUTCH_MOUNT_VOLUME, "src=a,dst=/b", "a", "/b" },
	{ 1, HUTCH_MOUNT_VOLUME | HUTCH_MOUNT_RDONLY, "dst=/b,ro,source=a", "a",
	  "/b" },
	{ 0, HUTCH_MOUNT_VOLUME | HUTCH_MOUNT_NOCOPY, "a:/b:nocopy", "a",
	  "/b" },
	{ 1, HUTCH_MOUNT_VOLUME | HUTCH_MOUNT_NOCOPY,
	  "src=a,dst=/b,volume-nocopy", "a", "/b" },
	{ 1, HUTCH_MOUNT_VOLUME, "src=a,dst=/b,volume-nocopy=false", "a",
	  "/b" },
	{ 0, 0, "/a:/b:z", "/a", "/b" },
	{ 0, HUTCH_MOUNT_RDONLY, "/a:/b:Z,ro,cached", "/a", "/b" },
	{ 0, HUTCH_MOUNT_VOLUME, "a:/b:delegated", "a", "/b" },
	{ 0, 0, "/a:/b:consistent,rprivate,private", "/a", "/b" },
	{ 1, 0, "type=bind,src=/a,dst=/b,bind-propagation=rprivate", "/a",
	  "/b" },
	{ 1, 0, "type=bind,src=/a,dst=/b,consistency=cached", "/a", "/b" },
	{ 1, 0, "dst=/b,type=bind,src=a:b", "a:b", "/b" },
	{ 1, HUTCH_MOUNT_RDONLY, "type=bind,source=/a,destination=/b,readonly",
	  "/a", "/b" },
	{ 1, HUTCH_MOUNT_RDONLY, "type=bind,src=/a,target=/b,ro=true", "/a",
	  "/b" },
	{ 1, 0, "type=bind,readonly=1,readonly=false,src=/a,dst=/b", "/a",
	  "/b" },
};

static int take(struct cli_mounts *ms, const struct word *w,
		struct hutch_err *e)
{
	return w->words ? mount_words(ms, w->word, e)
			: mount_volume(ms, w->word, e);
}

START_TEST(both_spellings_are_read)
{
	struct cli_mounts ms = { 0 };
	struct hutch_err e;

	ck_assert_ptr_null(mount_list(&ms));
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		ck_assert_msg(take(&ms, &good[i], &e) == 0, "%s", e.msg);
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		const struct hutch_mount *m = mount_list(&ms)[i];

		ck_assert_str_eq(m->source, good[i].source);
		ck_assert_str_eq(m->target, good[i].target);
		ck_assert_uint_eq(m->flags, good[i].flags);
		ck_assert_uint_eq(m->size, sizeof(*m));
		ck_assert_int_eq(m->dax, good[i].dax);
		ck_assert_uint_eq(m->window, good[i].window);
		ck_assert_uint_eq(m->uid, good[i].uid);
		ck_assert_uint_eq(m->gid, good[i].gid);
	}
	ck_assert_ptr_null(mount_list(&ms)[ARRAY_LEN(good)]);
	mount_done(&ms);
}
END_TEST

START_TEST(each_bad_word_is_refused)
{
	static const struct {
		bool words;
		const char *word;
		const char *says;
	} bad[] = {
		{ false, "", "is not SRC:DST" },
		{ false, "/a", "is a volume without a name" },
		{ false, "a", "is not SRC:DST" },
		{ false, "/a:", "is not SRC:DST" },
		{ false, ":/b", "is not SRC:DST" },
		{ false, "na me:/b", "no volume's name" },
		{ false, "/a:/b:", "ends in ':'" },
		{ false, "/a:/b:shared", "none of ro, rw, nocopy" },
		{ false, "/a:/b:z=1", "none of ro, rw, nocopy" },
		{ false, "/a:/b:consistency=cached", "none of ro, rw, nocopy" },
		{ false, "/a:/b:locks=", "neither host nor guest" },
		{ false, "/a:/b:locks", "none of ro, rw, nocopy" },
		{ false, "/a:/b:ro=1", "none of ro, rw, nocopy" },
		{ false, "/a:/b:src=/c", "none of ro, rw, nocopy" },
		{ false, "/a:/b:ro:rw", "none of ro, rw, nocopy" },
		{ false, "/a:/b:uid=", "4294967294" },
		{ false, "/a:/b:uid=-1", "4294967294" },
		{ false, "/a:/b:gid=node", "4294967294" },
		{ true, "type=bind,src=/a,dst=/b,uid=1,uid=1", "twice" },
		{ false, "/a:/b:dax=", "not ''" },
		{ false, "/a:/b:dax=yes", "always, not 'yes'" },
		{ false, "/a:/b:dax=inode,window=x", "--volume" },
		{ true, "type=bind,src=/a,dst=/b,dax=inode,dax=never",
		  "twice" },
		{ true, "type=bind,src=/a,dst=/b,dax=on", "not 'on'" },
		{ true, "", "is neither type=bind" },
		{ true, "type=bind,src=/a", "is neither type=bind" },
		{ true, "src=a", "is neither type=bind" },
		{ true, "type=bind,dst=/a", "has no src" },
		{ true, "type=volume,dst=/a", "is a volume without a name" },
		{ true, "dst=/a", "is a volume without a name" },
		{ true, "src=/a,dst=/b", "write type=bind for a folder" },
		{ true, "type=volume,src=./a,dst=/b", "no volume's name" },
		{ true, "type=tmpfs,dst=/b", "which a VM mounts itself" },
		{ true, "type=npipe,src=a,dst=/b", "another type than bind" },
		{ true, "type=bind,src,dst=/b", "without value" },
		{ true, "type=bind,src=,dst=/b", "without value" },
		{ true, "type=bind,src=/a,source=/c,dst=/b", "twice" },
		{ true, "type=bind,src=/a,dst=/b,locks=both",
		  "neither host nor guest" },
		{ true, "type=bind,src=/a,dst=/b,readonly=no",
		  "true or false" },
		{ true, "type=bind,src=/a,dst=/b,bind-propagation=shared",
		  "another bind-propagation" },
		{ true, "type=bind,src=/a,dst=/b,consistency",
		  "without value" },
		{ true, "type=bind,src=/a,dst=/b,volume-driver=local",
		  "none of type" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const struct word w = { .words = bad[i].words,
					.word = bad[i].word };
		struct cli_mounts ms = { 0 };
		struct hutch_err e = { 0 };

		ck_assert_int_eq(take(&ms, &w, &e), -EINVAL);
		ck_assert_msg(strstr(e.msg, bad[i].says), "'%s' says '%s'",
			      bad[i].word, e.msg);
		mount_done(&ms);
	}
}
END_TEST

START_TEST(nobody_is_the_greatest_of_users)
{
	struct cli_mounts ms = { 0 };
	struct hutch_err e = { 0 };

	ck_assert_int_eq(mount_volume(&ms, "/a:/b:uid=4294967295", &e),
			 -ERANGE);
	mount_done(&ms);
}
END_TEST

START_TEST(files_of_an_image_are_mapped_by_a_word_of_their_own)
{
	static const struct {
		const char *word;
		const char *says;
		enum hutch_dax dax;
		uint64_t window;
	} v[] = {
		{ NULL, NULL, HUTCH_DAX_AUTO, 0 },
		{ "auto", NULL, HUTCH_DAX_AUTO, 0 },
		{ "never", NULL, HUTCH_DAX_NEVER, 0 },
		{ "inode,window=16M", NULL, HUTCH_DAX_INODE, 16 << 20 },
		{ "always,window=1G", NULL, HUTCH_DAX_ALWAYS, 1 << 30 },
		{ "", "not ''", 0, 0 },
		{ "on", "not 'on'", 0, 0 },
		{ "inode,", "WHICH,window=SIZE", 0, 0 },
		{ "inode,size=16M", "WHICH,window=SIZE", 0, 0 },
		{ "inode,window=", "--image-dax", 0, 0 },
		{ "inode,window=16M,x", "--image-dax", 0, 0 },
		{ "0123456789012345678901234567890123456789", "not '0123", 0,
		  0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		enum hutch_dax dax = HUTCH_DAX_AUTO;
		struct hutch_err e = { 0 };
		uint64_t window = 0;
		int r = mount_image_dax(v[i].word, &dax, &window, &e);

		if (v[i].says) {
			ck_assert_int_eq(r, -EINVAL);
			ck_assert_msg(strstr(e.msg, v[i].says), "%s", e.msg);
			continue;
		}
		ck_assert_int_eq(r, 0);
		ck_assert_int_eq(dax, v[i].dax);
		ck_assert_uint_eq(window, v[i].window);
	}
}
END_TEST

CHECK_MAIN("cli_mount", files_of_an_image_are_mapped_by_a_word_of_their_own,
	   both_spellings_are_read, each_bad_word_is_refused,
	   nobody_is_the_greatest_of_users)
