/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_agent_hosts.c - guest-agent/hosts.c: whose lines stay */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "guest-agent/hosts.h"
#include "tests/lib/check_main.h"

#define LOCAL4 "127.0.0.1\tlocalhost\t# hutch\n"
#define LOCAL6 "::1\tlocalhost ip6-localhost ip6-loopback\t# hutch\n"
#define OWN(n) "127.0.1.1\t" n "\t# hutch\n"

START_TEST(lines_of_others_stay_and_are_not_said_twice)
{
	static const struct {
		const char *old;
		const char *want;
	} v[] = {
		{ "", LOCAL4 LOCAL6 OWN("vm") },
		{ LOCAL4 LOCAL6 OWN("vm"), LOCAL4 LOCAL6 OWN("vm") },
		{ LOCAL4 LOCAL6 OWN("before"), LOCAL4 LOCAL6 OWN("vm") },
		{ "10.0.0.1 db", "10.0.0.1 db\n" LOCAL4 LOCAL6 OWN("vm") },
		{ LOCAL4 LOCAL6 OWN("before") "10.0.0.1 db\n",
		  "10.0.0.1 db\n" LOCAL4 LOCAL6 OWN("vm") },
		{ "127.0.0.1  me localhost # mine\n::1\tlocalhost\n\n# end\n",
		  "127.0.0.1  me localhost # mine\n::1\tlocalhost\n\n# end\n" OWN(
			  "vm") },
		/* Neither a part of a name, nor a comment, nor another address. */
		{ "127.0.0.1 localhosts\n127.0.0.11 localhost\n"
		  "127.0.0.1 # localhost\n# ::1 localhost\n127.0.1.1 vm2\n",
		  "127.0.0.1 localhosts\n127.0.0.11 localhost\n"
		  "127.0.0.1 # localhost\n# ::1 localhost\n127.0.1.1 vm2\n" LOCAL4
			  LOCAL6 OWN("vm") },
		{ "\n# hutch\n\r\n", "\n\r\n" LOCAL4 LOCAL6 OWN("vm") },
	};

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		char *got = hosts_text(v[i].old, "vm");

		ck_assert_str_eq(got, v[i].want);
		free(got);
	}
}
END_TEST

/** struct scene - A folder of its own, and a file in it */
struct scene {
	char dir[64];
	char path[80];
};

static void scene_init(struct scene *s)
{
	(void)snprintf(s->dir, sizeof(s->dir), "/tmp/hutch-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(s->dir));
	(void)snprintf(s->path, sizeof(s->path), "%s/hosts", s->dir);
}

static void scene_done(const struct scene *s)
{
	(void)unlink(s->path);
	ck_assert_int_eq(rmdir(s->dir), 0);
}

static void put(const struct scene *s, const char *text, size_t len)
{
	int fd = open(s->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, len), len);
	ck_assert_int_eq(close(fd), 0);
}

static void has(const struct scene *s, const char *want)
{
	char got[512] = "";
	int fd = open(s->path, O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(read(fd, got, sizeof(got) - 1), 0);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_str_eq(got, want);
}

START_TEST(a_file_is_changed_where_it_has_to_be)
{
	static const char old[] = LOCAL4 LOCAL6 OWN("a-longer-name") "\n";
	struct stat before, after;
	struct scene s;

	scene_init(&s);
	ck_assert_int_eq(hosts_set(s.path, "vm"), 0);
	has(&s, LOCAL4 LOCAL6 OWN("vm"));
	put(&s, old, strlen(old));
	ck_assert_int_eq(stat(s.path, &before), 0);
	ck_assert_int_eq(hosts_set(s.path, "vm"), 0);
	has(&s, "\n" LOCAL4 LOCAL6 OWN("vm"));
	ck_assert_int_eq(stat(s.path, &before), 0);
	ck_assert_int_eq(hosts_set(s.path, "vm"), 0);
	ck_assert_int_eq(stat(s.path, &after), 0);
	ck_assert_int_eq(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
	ck_assert_int_eq(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	ck_assert_uint_eq(after.st_mode & 0777, 0644);
	scene_done(&s);
}
END_TEST

START_TEST(what_is_no_text_stays_as_it_is)
{
	static const char bytes[] = "10.0.0.1 a\n\0more\n";
	static char large[HOSTS_MAX + 2];
	struct scene s;
	struct stat st;

	scene_init(&s);
	put(&s, bytes, sizeof(bytes));
	ck_assert_int_eq(hosts_set(s.path, "vm"), -EINVAL);
	ck_assert_int_eq(stat(s.path, &st), 0);
	ck_assert_int_eq(st.st_size, sizeof(bytes));
	memset(large, '#', sizeof(large) - 1);
	put(&s, large, HOSTS_MAX + 1);
	ck_assert_int_eq(hosts_set(s.path, "vm"), -EFBIG);
	ck_assert_int_eq(unlink(s.path), 0);
	ck_assert_int_eq(mkfifo(s.path, 0600), 0);
	ck_assert_int_eq(hosts_set(s.path, "vm"), -EINVAL);
	ck_assert_int_eq(unlink(s.path), 0);
	ck_assert_int_eq(symlink("/etc/passwd", s.path), 0);
	ck_assert_int_eq(hosts_set(s.path, "vm"), -ELOOP);
	scene_done(&s);
}
END_TEST

CHECK_MAIN("agent_hosts", lines_of_others_stay_and_are_not_said_twice,
	   a_file_is_changed_where_it_has_to_be, what_is_no_text_stays_as_it_is)
