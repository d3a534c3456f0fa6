/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_mapped.c - the attribute of files in trees that hutch keeps */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/mapped.h"
#include "tests/lib/check_main.h"

static const struct mapped_stat setuid_file = { .mode = S_IFREG | 04755,
						.uid = 1000,
						.gid = 0x01020304 };

/* As the page says it, byte by byte: the importer's files outlive a version. */
static const uint8_t setuid_bytes[MAPPED_STAT_LEN] = {
	1,    0,    0, 0,                         /* version */
	0xed, 0x89, 0, 0,                         /* 0104755 */
	0xe8, 0x03, 0, 0,                         /* 1000 */
	4,    3,    2, 1, 0, 0, 0, 0, 0, 0, 0, 0, /* group, no device */
};

static int get(const void *bytes, size_t len, struct mapped_stat *ret)
{
	void *exact = check_copy(bytes, len);
	int r = mapped_get(exact, len, ret);

	free(exact);
	return r;
}

START_TEST(put_gives_the_documented_bytes)
{
	uint8_t bytes[MAPPED_STAT_LEN];

	mapped_put(&setuid_file, bytes);

	ck_assert_mem_eq(bytes, setuid_bytes, sizeof(bytes));
}
END_TEST

START_TEST(get_reads_what_put_wrote_for_each_type)
{
	static const uint32_t types[] = { S_IFREG,  S_IFDIR, S_IFLNK, S_IFIFO,
					  S_IFSOCK, S_IFCHR, S_IFBLK };

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		bool dev = types[i] == S_IFCHR || types[i] == S_IFBLK;
		struct mapped_stat st = { .mode = types[i] | 07777,
					  .uid = 65534,
					  .gid = UINT32_MAX - 1,
					  .rdev_major = dev ? 0xfff : 0,
					  .rdev_minor = dev ? 0xfffff : 0 };
		struct mapped_stat got = { 0 };
		uint8_t bytes[MAPPED_STAT_LEN] = { 0 };

		mapped_put(&st, bytes);

		ck_assert_int_eq(get(bytes, sizeof(bytes), &got), 0);
		ck_assert(memcmp(&got, &st, sizeof(got)) == 0);
	}
}
END_TEST

START_TEST(get_of_another_size_is_refused)
{
	struct mapped_stat got = { .uid = 7 };
	uint8_t longer[MAPPED_STAT_LEN + 1] = { 0 };

	memcpy(longer, setuid_bytes, sizeof(setuid_bytes));

	for (size_t len = 0; len < MAPPED_STAT_LEN; len++)
		ck_assert_int_eq(get(longer, len, &got), -EBADMSG);
	ck_assert_int_eq(get(longer, sizeof(longer), &got), -EBADMSG);
	ck_assert_uint_eq(got.uid, 7);
	ck_assert_int_eq(get(longer, MAPPED_STAT_LEN, &got), 0);
}
END_TEST

START_TEST(get_of_what_cannot_be_is_refused)
{
	/* Each changes one byte of what is right otherwise. */
	static const struct {
		const char *why;
		unsigned int at;
		uint8_t value;
	} bad[] = {
		{ "version 0", 0, 0 },
		{ "version 2", 0, 2 },
		{ "version 257", 1, 1 },
		{ "no type", 5, 0x09 },
		{ "a type that is none", 5, 0x39 },
		{ "bits above the type", 6, 1 },
		{ "device number of a file", 16, 1 },
		{ "the same, minor", 20, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		uint8_t bytes[MAPPED_STAT_LEN];
		struct mapped_stat got = { 0 };

		memcpy(bytes, setuid_bytes, sizeof(bytes));
		bytes[bad[i].at] = bad[i].value;

		ck_assert_msg(get(bytes, sizeof(bytes), &got) == -EBADMSG, "%s",
			      bad[i].why);
	}
}
END_TEST

START_TEST(owner_minus_one_and_large_device_are_not_valid)
{
	struct mapped_stat st = setuid_file;

	st.uid = UINT32_MAX;
	ck_assert(!mapped_valid(&st));
	st = setuid_file;
	st.gid = UINT32_MAX;
	ck_assert(!mapped_valid(&st));
	st = setuid_file;
	st.mode = S_IFCHR | 0600;
	st.rdev_major = 0x1000;
	ck_assert(!mapped_valid(&st));
	st.rdev_major = 0xfff;
	st.rdev_minor = 0x100000;
	ck_assert(!mapped_valid(&st));
	st.rdev_minor = 0xfffff;
	ck_assert(mapped_valid(&st));
}
END_TEST

START_TEST(host_mode_is_a_folder_or_a_file)
{
	struct mapped_stat st = { .mode = S_IFDIR | 0555 };

	ck_assert_uint_eq(mapped_host_mode(&st), S_IFDIR | 0700);
	st.mode = S_IFLNK | 0777;
	ck_assert_uint_eq(mapped_host_mode(&st), S_IFREG | 0600);
}
END_TEST

START_TEST(xattr_kept_are_those_of_root)
{
	ck_assert(mapped_xattr_kept("security.capability"));
	ck_assert(mapped_xattr_kept("trusted.overlay.opaque"));
	ck_assert(mapped_xattr_kept("system.posix_acl_access"));
	ck_assert(mapped_xattr_kept("system.posix_acl_default"));
	ck_assert(!mapped_xattr_kept("system.posix_acl_other"));
	ck_assert(!mapped_xattr_kept("user.mime_type"));
	ck_assert(!mapped_xattr_kept(MAPPED_STAT));
	ck_assert(!mapped_xattr_kept("securitycapability"));
}
END_TEST

CHECK_MAIN("mapped", put_gives_the_documented_bytes,
	   get_reads_what_put_wrote_for_each_type,
	   get_of_another_size_is_refused, get_of_what_cannot_be_is_refused,
	   owner_minus_one_and_large_device_are_not_valid,
	   host_mode_is_a_folder_or_a_file, xattr_kept_are_those_of_root)
