/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_agent_parts.c - guest-agent: users, oom records, cgroups */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "guest-agent/boot.h"
#include "guest-agent/root.h"
#include "guest-agent/env.h"
#include "guest-agent/oom.h"
#include "guest-agent/user.h"
#include "tests/lib/agent_kit.h"
#include "tests/lib/check_main.h"

/** struct etc - A folder with a passwd and a group file */
struct etc {
	char path[64];
	int fd;
};

static void put_file(const struct etc *d, const char *name, const char *text)
{
	int fd = openat(d->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
	ck_assert_int_eq(close(fd), 0);
}

static void etc_init(struct etc *d)
{
	(void)snprintf(d->path, sizeof(d->path), "/tmp/hutch-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(d->path));
	d->fd = open(d->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(d->fd, 0);
}

static void etc_done(struct etc *d)
{
	(void)unlinkat(d->fd, "passwd", 0);
	(void)unlinkat(d->fd, "group", 0);
	(void)close(d->fd);
	ck_assert_int_eq(rmdir(d->path), 0);
}

static void etc_usual(struct etc *d)
{
	etc_init(d);
	put_file(d, "passwd",
		 "root:x:0:0:root:/root:/bin/sh\n"
		 "broken line\n"
		 "nonum:x:zero:0::/:\n"
		 "huge:x:4294967295:1::/:\n"
		 "ann:x:1000:1001:Ann,,,:/home/ann:/bin/sh\n"
		 "short:x:7:8\n"
		 "1234:x:99:99::/:\n"
		 "last:x:5:6::relative:/bin/sh");
	put_file(d, "group",
		 "root:x:0:\n"
		 "wheel:x:10:ann,bob\n"
		 "almost:x:11:annabel,joann\n"
		 "own:x:1001:ann\n"
		 "nolist:x:12\n"
		 "audio:x:29:bob,ann");
}

START_TEST(user_of_each_form_is_found)
{
	static const struct {
		const char *spec;
		uid_t uid;
		gid_t gid;
		unsigned int n_groups;
		const char *name;
		const char *home;
	} v[] = {
		{ "", 0, 0, 0, "root", "/root" },
		{ "root", 0, 0, 0, "root", "/root" },
		{ "0", 0, 0, 0, "root", "/root" },
		/* Its own group is not listed again. */
		{ "ann", 1000, 1001, 2, "ann", "/home/ann" },
		{ "1000", 1000, 1001, 2, "ann", "/home/ann" },
		{ "ann:wheel", 1000, 10, 0, "ann", "/home/ann" },
		{ "ann:77", 1000, 77, 0, "ann", "/home/ann" },
		{ "1000:0", 1000, 0, 0, "ann", "/home/ann" },
		{ "4321:55", 4321, 55, 0, "", "/" },
		{ "4321:wheel", 4321, 10, 0, "", "/" },
		{ "short", 7, 8, 0, "short", "/" },
		{ "last", 5, 6, 0, "last", "/" },
		{ "4294967294:4294967294", 4294967294u, 4294967294u, 0, "",
		  "/" },
	};
	struct etc d;

	etc_usual(&d);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		struct user u;
		struct err e = { 0 };

		ck_assert_msg(user_find(d.fd, v[i].spec, &u, &e) == 0,
			      "'%s': %s", v[i].spec, e.msg);
		ck_assert_uint_eq(u.uid, v[i].uid);
		ck_assert_uint_eq(u.gid, v[i].gid);
		ck_assert_uint_eq(u.n_groups, v[i].n_groups);
		ck_assert_str_eq(u.name, v[i].name);
		ck_assert_str_eq(u.home, v[i].home);
		if (u.n_groups) {
			ck_assert_uint_eq(u.groups[0], 10);
			ck_assert_uint_eq(u.groups[1], 29);
		}
	}
	etc_done(&d);
}
END_TEST

START_TEST(user_that_is_not_there_is_refused_by_name)
{
	static const struct {
		const char *spec;
		int code;
		const char *says;
	} v[] = {
		{ "bob", -ENOENT, "user 'bob' is not in /etc/passwd" },
		{ "broken line", -ENOENT, "is not in /etc/passwd" },
		{ "nonum", -ENOENT, "is not in /etc/passwd" },
		{ "huge", -ENOENT, "is not in /etc/passwd" },
		{ "ann:nope", -ENOENT, "group 'nope' is not in /etc/group" },
		{ "4294967295:0", -ENOENT, "user '4294967295'" },
		{ "0:4294967295", -ENOENT, "group '4294967295'" },
		{ "99999999999:0", -ENOENT, "user '99999999999'" },
		{ ":0", -EINVAL, "empty before or after" },
		{ "0:", -EINVAL, "empty before or after" },
		{ ":", -EINVAL, "empty before or after" },
		{ "a\033[2J:0", -ENOENT, "user 'a\\x1b[2J'" },
	};
	struct etc d;

	etc_usual(&d);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		struct user u;
		struct err e = { 0 };

		ck_assert_int_eq(user_find(d.fd, v[i].spec, &u, &e), v[i].code);
		ck_assert_msg(strstr(e.msg, v[i].says) != NULL, "'%s': %s",
			      v[i].spec, e.msg);
	}
	etc_done(&d);
}
END_TEST

START_TEST(user_files_missing_or_strange_are_as_good_as_empty)
{
	struct etc d;
	struct user u;
	struct err e = { 0 };

	etc_init(&d);
	ck_assert_int_eq(user_find(d.fd, "", &u, &e), 0);
	ck_assert_uint_eq(u.uid, 0);
	ck_assert_str_eq(u.home, "/root");
	ck_assert_int_eq(user_find(d.fd, "5:6", &u, &e), 0);
	/* No folder at all. */
	ck_assert_int_eq(user_find(-1, "5:6", &u, &e), 0);
	ck_assert_int_eq(user_find(d.fd, "ann", &u, &e), -ENOENT);

	/* A FIFO that nobody writes to would be waited for, for ever. */
	ck_assert_int_eq(mkfifoat(d.fd, "passwd", 0644), 0);
	ck_assert_int_eq(user_find(d.fd, "5:6", &u, &e), 0);
	etc_done(&d);
}
END_TEST

START_TEST(user_in_more_groups_than_fit_has_those_that_fit)
{
	auto_free char *text = calloc(1, 65536);
	struct etc d;
	struct user u;
	struct err e = { 0 };
	size_t len = 0;

	etc_usual(&d);
	for (unsigned int i = 0; i < USER_GROUPS_MAX + 5; i++)
		len += (size_t)snprintf(text + len, 65536 - len,
					"g%u:x:%u:ann\n", i, 2000 + i);
	put_file(&d, "group", text);
	ck_assert_int_eq(user_find(d.fd, "ann", &u, &e), 0);
	ck_assert_uint_eq(u.n_groups, USER_GROUPS_MAX);
	ck_assert_uint_eq(u.groups[USER_GROUPS_MAX - 1],
			  2000 + USER_GROUPS_MAX - 1);
	etc_done(&d);
}
END_TEST

START_TEST(env_of_a_user_without_a_name_has_none)
{
	const char *no_env[] = { NULL };
	struct msg_boot boot = { .env = no_env, .hostname = "" };
	struct msg_exec req = { .env = no_env, .flags = WIRE_EXEC_PTY };
	struct user u = { .home = "/" };
	struct env env;

	ck_assert_int_eq(env_build(&env, &boot, &req, &u), 0);
	ck_assert_uint_eq(env.n, 4);
	ck_assert_str_eq(env_get(&env, "HOME"), "/");
	ck_assert_str_eq(env_get(&env, "HOSTNAME"), BOOT_HOSTNAME);
	ck_assert_str_eq(env_get(&env, "TERM"), "xterm");
	ck_assert_ptr_null(env_get(&env, "USER"));
	/* Neither a prefix nor an extension of a key is the key. */
	ck_assert_ptr_null(env_get(&env, "PAT"));
	ck_assert_ptr_null(env_get(&env, "PATHS"));
	ck_assert_ptr_null(env.v[env.n]);
	env_done(&env);
}
END_TEST

/* As docker run -h and -e have it. */
START_TEST(env_has_the_hostname_unless_it_says_another)
{
	const char *no_env[] = { NULL };
	const char *own[] = { "HOSTNAME=other", NULL };
	struct msg_boot boot = { .env = no_env };
	struct msg_exec req = { .env = no_env };
	struct user u = { .home = "/" };
	char name[WIRE_HOSTNAME_MAX + 1];
	struct env env;

	memset(name, 'n', WIRE_HOSTNAME_MAX);
	name[WIRE_HOSTNAME_MAX] = '\0';
	boot.hostname = name;
	ck_assert_int_eq(env_build(&env, &boot, &req, &u), 0);
	ck_assert_str_eq(env_get(&env, "HOSTNAME"), name);
	env_done(&env);
	boot.env = own;
	boot.envc = 1;
	ck_assert_int_eq(env_build(&env, &boot, &req, &u), 0);
	ck_assert_str_eq(env_get(&env, "HOSTNAME"), "other");
	env_done(&env);
	req.flags = WIRE_EXEC_ENV_CLEAR;
	ck_assert_int_eq(env_build(&env, &boot, &req, &u), 0);
	ck_assert_ptr_null(env_get(&env, "HOSTNAME"));
	env_done(&env);
}
END_TEST

START_TEST(oom_record_names_the_pid_and_only_that)
{
	static const struct {
		const char *rec;
		bool names;
	} v[] = {
		{ "3,100,5000000,-;Out of memory: Killed process 42 (tail) "
		  "total-vm:1kB\n",
		  true },
		{ "3,100,5000000,-;Memory cgroup out of memory: Killed process "
		  "42 (a)",
		  true },
		{ "3,100,5000000,-;Out of memory: Killed process 421 (tail)",
		  false },
		{ "3,100,5000000,-;Out of memory: Killed process 4 (tail)",
		  false },
		/* Before it was started: another one's. */
		{ "3,100,4999999,-;Out of memory: Killed process 42 (tail)",
		  false },
		/* Facility 1: written by a process, not by the kernel. */
		{ "11,100,5000000,-;Out of memory: Killed process 42 (tail)",
		  false },
		{ "3,100,5000000,-;something else", false },
		{ "Killed process 42 (x)", false },
		{ "3;Killed process 42 (x)", false },
		{ "3,1;Killed process 42 (x)", false },
		{ ";", false },
		{ "", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		auto_free char *p = check_copy(v[i].rec, strlen(v[i].rec) + 1);

		ck_assert_msg(oom_record_names(p, 42, 5000000) == v[i].names,
			      "'%s'", v[i].rec);
	}
}
END_TEST

START_TEST(links_are_made_as_listed)
{
	char text[] = "passwd a\npasswd b\nnope c\npasswd a\n";
	struct etc d;
	struct stat st;
	int cwd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	etc_usual(&d);
	ck_assert_int_eq(chdir(d.path), 0);
	/* What is not there, or there already, is passed over. */
	ck_assert_int_eq(root_links(text), 2);
	ck_assert_int_eq(stat("passwd", &st), 0);
	ck_assert_uint_eq(st.st_nlink, 3);
	ck_assert_int_eq(unlink("a"), 0);
	ck_assert_int_eq(unlink("b"), 0);
	ck_assert_int_eq(fchdir(cwd), 0);
	ck_assert_int_eq(close(cwd), 0);
	etc_done(&d);
}
END_TEST

START_TEST(links_of_a_broken_list_are_refused)
{
	static const char *const v[] = { "a", "a b", "a\n", "\n", "a\nb c\n" };

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		auto_free char *p = check_copy(v[i], strlen(v[i]) + 1);

		ck_assert_int_eq(root_links(p), -EBADMSG);
	}
}
END_TEST

static bool one_lives(const struct kit *k)
{
	return k->a.n_live == 1;
}

static unsigned int n_cgroups(const struct kit *k)
{
	struct stat st;

	ck_assert_int_eq(fstat(k->a.cgroups.plain, &st), 0);
	return (unsigned int)st.st_nlink - 2;
}

START_TEST(cgroup_tells_lingering_from_exited)
{
	struct outcome o;
	struct kit k;

	kit_init(&k);
	if (!kit_cgroups(&k)) {
		/* A machine that gives us none; the guest has them always. */
		kit_done(&k);
		return;
	}
	/* Of another session and group: only the cgroup knows of it. */
	outcome_run(&k, 0,
		    "mkfifo /tmp/hutch-fifo-$$; echo /tmp/hutch-fifo-$$; "
		    "setsid sh -c 'read x < /tmp/hutch-fifo-'$$ "
		    ">/dev/null 2>&1 & exit 6",
		    &o);
	ck_assert(o.exited);
	ck_assert_uint_eq(o.exit.value, 6);
	ck_assert_int_eq(o.exit.state, WIRE_STATE_LINGERING);
	ck_assert(one_lives(&k));
	ck_assert_uint_eq(n_cgroups(&k), 1);

	/* Let it end: the object is exited and its cgroup gone. */
	o.out.p[o.out.len - 1] = '\0';
	{
		int fd = open((char *)o.out.p, O_WRONLY | O_CLOEXEC);

		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(close(fd), 0);
		ck_assert_int_eq(unlink((char *)o.out.p), 0);
	}
	kit_until(&k, kit_none_lives);
	/* Its client has its end, and now nothing of it lingers. */
	ck_assert_uint_eq(k.a.n_ended, 0);
	ck_assert_uint_eq(n_cgroups(&k), 0);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(cgroup_kill_reaches_what_left_the_session)
{
	struct client c;
	struct wire_frame f;
	struct outcome o = { 0 };
	struct kit k;

	kit_init(&k);
	if (!kit_cgroups(&k)) {
		kit_done(&k);
		return;
	}
	client_open(&c, &k, true);
	client_sh(&c, 0, "setsid sleep 1000 & echo up; exec sleep 1000");
	while (o.out.len == 0) {
		ck_assert_int_eq(client_next(&c, &f), 1);
		outcome_take(&o, &f);
	}
	client_signal(&c, SIGKILL, WIRE_SCOPE_TREE);
	while (client_next(&c, &f))
		outcome_take(&o, &f);
	ck_assert(o.exited);
	ck_assert_uint_eq(o.exit.value, SIGKILL);
	kit_until(&k, kit_none_lives);
	ck_assert_uint_eq(n_cgroups(&k), 0);
	client_close(&c);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

START_TEST(cgroup_signal_reaches_cgroups_that_were_made_below)
{
	struct client c;
	struct wire_frame f;
	struct outcome o = { 0 };
	char script[400];
	struct kit k;

	kit_init(&k);
	if (!kit_cgroups(&k)) {
		kit_done(&k);
		return;
	}
	(void)snprintf(script, sizeof(script),
		       "trap t=term TERM; d=%s/p1; mkdir -p $d/a/b; "
		       "sh -c \"echo \\$\\$ >$d/a/b/cgroup.procs; "
		       "echo up; exec sleep 1000\" & "
		       "until [ \"$t\" ] && ! kill -0 $! 2>/dev/null; "
		       "do wait $!; done; echo $t",
		       k.cgroup);
	client_open(&c, &k, true);
	client_sh(&c, 0, script);
	while (o.out.len == 0) {
		ck_assert_int_eq(client_next(&c, &f), 1);
		outcome_take(&o, &f);
	}
	client_signal(&c, SIGTERM, WIRE_SCOPE_TREE);
	while (client_next(&c, &f))
		outcome_take(&o, &f);
	ck_assert_str_eq((char *)o.out.p, "up\nterm\n");
	/* The empty ones below are no hindrance to removal. */
	kit_until(&k, kit_none_lives);
	ck_assert_uint_eq(n_cgroups(&k), 0);
	client_close(&c);
	outcome_done(&o);
	kit_done(&k);
}
END_TEST

CHECK_MAIN("agent_parts", user_of_each_form_is_found,
	   user_that_is_not_there_is_refused_by_name,
	   user_files_missing_or_strange_are_as_good_as_empty,
	   user_in_more_groups_than_fit_has_those_that_fit,
	   env_of_a_user_without_a_name_has_none,
	   env_has_the_hostname_unless_it_says_another,
	   oom_record_names_the_pid_and_only_that, links_are_made_as_listed,
	   links_of_a_broken_list_are_refused,
	   cgroup_tells_lingering_from_exited,
	   cgroup_kill_reaches_what_left_the_session,
	   cgroup_signal_reaches_cgroups_that_were_made_below)
