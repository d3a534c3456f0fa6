/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_image_jail.c - what the unpacker may do, and what not */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "host/image/jail.h"
#include "tests/lib/check_main.h"

static char top[4096];
static int tree_fd = -1;

static void set_up(void)
{
	char path[4200];

	(void)snprintf(top, sizeof(top), "%s", "hutch-jail-XXXXXX");
	bug_on(!mkdtemp(top));
	(void)snprintf(path, sizeof(path), "%s/tree", top);
	bug_on(mkdir(path, 0700) != 0);
	tree_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bug_on(tree_fd < 0);
}

static void tear_down(void)
{
	char path[4200];

	(void)close(tree_fd);
	(void)snprintf(path, sizeof(path), "%s/tree/f", top);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/tree", top);
	bug_on(rmdir(path) != 0);
	bug_on(rmdir(top) != 0);
}

static int try_in_jail(jail_fn *fn, struct err *e)
{
	auto_fd int src = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct unpack_job job = { .tree_fd = tree_fd };
	struct unpack_result res;

	ck_assert_int_ge(src, 0);
	job.src_fd = src;
	return jail_run(fn, &job, NULL, NULL, &res, e);
}

static void fill(struct unpack_result *ret)
{
	memset(ret->packed, 'a', SHA_HEX);
	memset(ret->plain, 'b', SHA_HEX);
}

static int honest(const struct unpack_job *job, stream_fn *report, void *arg,
		  struct unpack_result *ret, struct err *e)
{
	int fd =
		openat(job->tree_fd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)e;
	if (fd < 0)
		return -errno;
	report(arg, 1u << 30);
	fill(ret);
	ret->bytes = 7;
	return 0;
}

static uint64_t reported;

static void on_report(void *arg, uint64_t done)
{
	(void)arg;
	reported = done;
}

START_TEST(what_it_is_for_it_may)
{
	auto_fd int src = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct unpack_job job = { .src_fd = src, .tree_fd = tree_fd };
	struct unpack_result res = { 0 };
	struct err e = { 0 };

	ck_assert_msg(jail_run(honest, &job, on_report, NULL, &res, &e) == 0,
		      "%s", e.msg);
	ck_assert_uint_eq(reported, 1u << 30);
	ck_assert_uint_eq(res.bytes, 7);
	ck_assert_uint_eq(strlen(res.packed), SHA_HEX);
	ck_assert_int_eq(faccessat(tree_fd, "f", F_OK, 0), 0);
}
END_TEST

static int failing(const struct unpack_job *job, stream_fn *report, void *arg,
		   struct unpack_result *ret, struct err *e)
{
	(void)job, (void)report, (void)arg, (void)ret;
	return err_set(e, -EPERM, "a sentence");
}

START_TEST(its_sentence_comes_back)
{
	struct err e = { 0 };

	ck_assert_int_eq(try_in_jail(failing, &e), -EPERM);
	ck_assert_str_eq(e.msg, "a sentence");
}
END_TEST

/* Each does one thing that it may not, and if it can, succeeds. */
#define FORBIDDEN(name, what)                                                \
	static int name(const struct unpack_job *job, stream_fn *report,     \
			void *arg, struct unpack_result *ret, struct err *e) \
	{                                                                    \
		(void)job, (void)report, (void)arg, (void)e;                 \
		(void)(what);                                                \
		fill(ret);                                                   \
		return 0;                                                    \
	}

FORBIDDEN(a_socket, socket(AF_INET, SOCK_STREAM, 0))
FORBIDDEN(a_process, fork())
FORBIDDEN(another_program, execl("/bin/true", "true", NULL))
FORBIDDEN(a_signal, kill(getppid(), SIGTERM))
FORBIDDEN(an_owner_of_signals, fcntl(job->tree_fd, F_SETOWN, getppid()))
FORBIDDEN(a_signal_of_choice, fcntl(job->tree_fd, F_SETSIG, SIGTERM))
FORBIDDEN(a_notice, fcntl(job->tree_fd, F_NOTIFY, DN_CREATE))
FORBIDDEN(another_descriptor, fcntl(job->tree_fd, F_DUPFD, 0))
FORBIDDEN(a_mode, fchmodat(job->tree_fd, "f", 06755, 0))
FORBIDDEN(an_owner, fchownat(job->tree_fd, "f", 1, 1, 0))
FORBIDDEN(a_node, mknodat(job->tree_fd, "f", S_IFCHR, 0))
FORBIDDEN(a_symlink, symlinkat("/", job->tree_fd, "f"))
FORBIDDEN(a_rename, renameat(job->tree_fd, "f", job->tree_fd, "g"))

START_TEST(what_it_is_not_for_ends_it)
{
	static jail_fn *const all[] = { a_socket,
					a_process,
					another_program,
					a_signal,
					a_mode,
					an_owner,
					a_node,
					a_symlink,
					a_rename,
					an_owner_of_signals,
					a_signal_of_choice,
					a_notice,
					another_descriptor };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct err e = { 0 };

		ck_assert_int_eq(try_in_jail(all[i], &e), -EPROTO);
		ck_assert_ptr_nonnull(strstr(e.msg, "may not do"));
	}
}
END_TEST

/* Succeeds with the errno in bytes. */
static int outside(const struct unpack_job *job, stream_fn *report, void *arg,
		   struct unpack_result *ret, struct err *e)
{
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	(void)job, (void)report, (void)arg, (void)e;
	fill(ret);
	ret->bytes = fd < 0 ? (uint64_t)errno : 0;
	return 0;
}

START_TEST(landlock_keeps_it_in_its_folder)
{
	auto_fd int src = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct unpack_job job = { .src_fd = src, .tree_fd = tree_fd };
	struct unpack_result res = { 0 };

	ck_assert_int_eq(jail_run(outside, &job, NULL, NULL, &res, NULL), 0);
	/* Without Landlock it is told, and only seccomp holds. */
	ck_assert_uint_eq(res.bytes, jail_landlock() ? EACCES : 0);
}
END_TEST

/* What it has open: three for its work, three that lead nowhere. */
static int descriptors(const struct unpack_job *job, stream_fn *report,
		       void *arg, struct unpack_result *ret, struct err *e)
{
	(void)job, (void)report, (void)arg, (void)e;
	fill(ret);
	for (int fd = 0; fd < 100; fd++)
		ret->bytes += fcntl(fd, F_GETFD) >= 0;
	return 0;
}

START_TEST(it_has_what_it_needs_open)
{
	auto_fd int src = open("/dev/null", O_RDONLY | O_CLOEXEC);
	auto_fd int secret = open("/dev/zero", O_RDONLY);
	struct unpack_job job = { .src_fd = src, .tree_fd = tree_fd };
	struct unpack_result res = { 0 };

	ck_assert_int_ge(secret, 0);
	ck_assert_int_eq(jail_run(descriptors, &job, NULL, NULL, &res, NULL),
			 0);
	ck_assert_uint_eq(res.bytes, 6);
}
END_TEST

static int crashing(const struct unpack_job *job, stream_fn *report, void *arg,
		    struct unpack_result *ret, struct err *e)
{
	(void)job, (void)report, (void)arg, (void)ret, (void)e;
	_exit(3);
}

/* Digests that are too short, a word with an escape in it. */
static int lying(const struct unpack_job *job, stream_fn *report, void *arg,
		 struct unpack_result *ret, struct err *e)
{
	(void)job, (void)report, (void)arg, (void)e;
	memset(ret->packed, 'a', 3);
	return 0;
}

static int cursing(const struct unpack_job *job, stream_fn *report, void *arg,
		   struct unpack_result *ret, struct err *e)
{
	(void)job, (void)report, (void)arg, (void)ret;
	return err_set(e, -EPERM, "\033[31m");
}

START_TEST(it_is_not_believed)
{
	struct err e = { 0 };

	ck_assert_int_eq(try_in_jail(crashing, &e), -EPROTO);
	ck_assert_ptr_nonnull(strstr(e.msg, "without a word"));
	ck_assert_int_eq(try_in_jail(lying, &e), -EPROTO);
	ck_assert_ptr_nonnull(strstr(e.msg, "nonsense"));
	ck_assert_int_eq(try_in_jail(cursing, &e), -EPROTO);
	ck_assert_ptr_nonnull(strstr(e.msg, "nonsense"));
}
END_TEST

int main(int argc, char **argv)
{
	const TTest *const tests[] = {
		what_it_is_for_it_may,      its_sentence_comes_back,
		what_it_is_not_for_ends_it, landlock_keeps_it_in_its_folder,
		it_has_what_it_needs_open,  it_is_not_believed,
	};
	int r;

	set_up();
	r = check_main("image_jail", tests, ARRAY_LEN(tests),
		       (const char *const *)argv + (argc > 0));
	tear_down();
	return r;
}
