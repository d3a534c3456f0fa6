/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_initramfs.c - the archive, read back as the kernel does */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/lib/check_main.h"
#include "vmm/core/mem.h"
#include "vmm/initramfs.h"

#define RAM_LEN (1u << 20)
#define AT      0x3000u

/** struct made - An archive in guest memory, copied out */
struct made {
	uint64_t len;
	char *buf;
};

static int file_of(const char *bytes, size_t len)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	return fd;
}

static struct made make(const struct initramfs *files)
{
	static const struct gmem_range range[] = { { 0, RAM_LEN } };
	struct made a = { 0 };
	char beyond[64];
	struct gmem m;

	ck_assert_int_eq(gmem_init(&m, range, 1, NULL), 0);
	ck_assert_int_eq(initramfs_len(files, &a.len, NULL), 0);
	ck_assert_int_eq(initramfs_load(files, &m, AT, NULL), 0);
	a.buf = malloc(a.len + 1);
	ck_assert_ptr_nonnull(a.buf);
	ck_assert_int_eq(gmem_read(&m, AT, a.buf, a.len), 0);
	a.buf[a.len] = '\0';
	/* Nothing is written past the length that was promised. */
	ck_assert_int_eq(gmem_read(&m, AT + a.len, beyond, sizeof(beyond)), 0);
	for (size_t i = 0; i < sizeof(beyond); i++)
		ck_assert_int_eq(beyond[i], 0);
	gmem_done(&m);
	return a;
}

static unsigned int field(const char *head, int i)
{
	char hex[9] = { 0 };

	memcpy(hex, head + 6 + 8 * (ptrdiff_t)i, 8);
	return (unsigned int)strtoul(hex, NULL, 16);
}

/* The member at *@pos must be this; then *@pos is the next one's. */
static void member(const struct made *a, size_t *pos, const char *name,
		   unsigned int mode, const char *body)
{
	const char *head = a->buf + *pos;
	size_t name_len = strlen(name) + 1;

	ck_assert_uint_le(*pos + 110 + name_len, a->len);
	ck_assert_mem_eq(head, "070701", 6);
	ck_assert_uint_eq(field(head, 1), mode);
	ck_assert_uint_eq(field(head, 6), strlen(body));
	ck_assert_uint_eq(field(head, 11), name_len);
	ck_assert_str_eq(head + 110, name);
	if (mode == (S_IFCHR | 0600)) {
		ck_assert_uint_eq(field(head, 9), 5);
		ck_assert_uint_eq(field(head, 10), 1);
	}
	*pos = (*pos + 110 + name_len + 3) & ~(size_t)3;
	ck_assert_mem_eq(a->buf + *pos, body, strlen(body));
	*pos = (*pos + strlen(body) + 3) & ~(size_t)3;
}

static void ours(const struct made *a, size_t pos, const char *boot,
		 const char *agent)
{
	member(a, &pos, "dev", S_IFDIR | 0755, "");
	member(a, &pos, "dev/console", S_IFCHR | 0600, "");
	member(a, &pos, ".hutch", S_IFDIR | 0700, "");
	member(a, &pos, ".hutch/boot", S_IFREG | 0600, boot);
	member(a, &pos, "init", S_IFREG | 0755, agent);
	member(a, &pos, "TRAILER!!!", 0, "");
	ck_assert_uint_eq(pos, a->len);
}

START_TEST(agent_and_boot_message_are_members)
{
	/* Every remainder of 4, where padding goes wrong. */
	static const char *const agents[] = { "a", "ab", "abc", "abcd" };

	for (size_t i = 0; i < ARRAY_LEN(agents); i++) {
		struct initramfs f = {
			.initrd_fd = -1,
			.agent_fd = file_of(agents[i], strlen(agents[i])),
			.boot_fd = file_of("boot!", 5),
		};
		struct made a = make(&f);

		ours(&a, 0, "boot!", agents[i]);
		free(a.buf);
		(void)close(f.agent_fd);
		(void)close(f.boot_fd);
	}
}
END_TEST

START_TEST(the_users_own_comes_first_as_it_is)
{
	struct initramfs f = { .initrd_fd = file_of("\x1f\x8bgzip!", 7),
			       .agent_fd = file_of("agent", 5),
			       .boot_fd = -1 };
	struct made a = make(&f);

	ck_assert_mem_eq(a.buf, "\x1f\x8bgzip!\0", 8);
	ours(&a, 8, "", "agent");
	free(a.buf);
	(void)close(f.agent_fd);
	f.agent_fd = -1;
	a = make(&f);
	ck_assert_uint_eq(a.len, 8);
	free(a.buf);
	(void)close(f.initrd_fd);
}
END_TEST

START_TEST(nothing_given_is_nothing_made)
{
	const struct initramfs none = { -1, -1, -1 };
	uint64_t len = 1;

	ck_assert_int_eq(initramfs_len(&none, &len, NULL), 0);
	ck_assert_uint_eq(len, 0);
}
END_TEST

START_TEST(files_of_a_senseless_size_are_refused)
{
	struct initramfs f = { -1, file_of("agent", 5), file_of("", 0) };
	struct err e = { 0 };
	uint64_t len = 0;

	ck_assert_int_eq(initramfs_len(&f, &len, &e), -EINVAL);
	ck_assert_str_ne(e.msg, "");
	ck_assert_int_eq(ftruncate(f.boot_fd, INITRAMFS_BOOT_MAX + 1), 0);
	ck_assert_int_eq(initramfs_len(&f, &len, NULL), -EINVAL);
	ck_assert_int_eq(ftruncate(f.boot_fd, INITRAMFS_BOOT_MAX), 0);
	ck_assert_int_eq(initramfs_len(&f, &len, NULL), 0);
	ck_assert_int_eq(ftruncate(f.agent_fd, INITRAMFS_AGENT_MAX + 1), 0);
	ck_assert_int_eq(initramfs_len(&f, &len, NULL), -EINVAL);
	(void)close(f.agent_fd);
	(void)close(f.boot_fd);
}
END_TEST

START_TEST(one_that_does_not_fit_into_ram_is_an_error)
{
	static const struct gmem_range range[] = { { 0, 0x4000 } };
	struct initramfs f = { -1, file_of("agent", 5), -1 };
	struct gmem m;

	ck_assert_int_eq(gmem_init(&m, range, 1, NULL), 0);
	ck_assert_int_eq(initramfs_load(&f, &m, 0x3ff0, NULL), -EFAULT);
	gmem_done(&m);
	(void)close(f.agent_fd);
}
END_TEST

CHECK_MAIN("initramfs", agent_and_boot_message_are_members,
	   the_users_own_comes_first_as_it_is, nothing_given_is_nothing_made,
	   files_of_a_senseless_size_are_refused,
	   one_that_does_not_fit_into_ram_is_an_error)
