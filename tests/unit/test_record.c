/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_record.c - record.json: round trip, refusals, crashes */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "common/io.h"
#include "host/lib/record.h"
#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

static const char id[] = "0123456789abcdef0123456789abcdef";

static struct hutch_record *make(const char *name)
{
	static const char *const argv[] = { "sh", "-c", "caf\xc3\xa9 \xff",
					    NULL };
	static const char *const env[] = { "A=b", "EMPTY=", NULL };
	static const char *const labels[] = { "a.b/c=x=y", "empty=", "z=\xff",
					      NULL };
	struct hutch_record *rec = record_new();

	ck_assert_ptr_nonnull(rec);
	(void)snprintf(rec->name, sizeof(rec->name), "%s", name);
	memcpy(rec->id, id, sizeof(id));
	rec->state = HUTCH_STATE_STOPPED;
	rec->reason = HUTCH_REASON_KILLED;
	rec->signal = 15;
	rec->created_ns = 1769860800123456789;
	rec->ended_ns = 1769860801000000000;
	rec->cpus = 2;
	rec->memory = 6ull << 30;
	rec->timeout_ms = 5000;
	rec->grace_ms = 2000;
	rec->rm = 1;
	ck_assert_int_eq(record_set_list(&rec->argv, argv), 0);
	ck_assert_int_eq(record_set_list(&rec->env, env), 0);
	ck_assert_int_eq(record_set_list(&rec->labels, labels), 0);
	rec->idle_timeout_ms = 60000;
	rec->on_exit = HUTCH_ON_EXIT_KEEP;
	rec->keep_alive_processes = 1;
	rec->last_activity_ns = 1769860800923456789;
	rec->log_lost = 1ull << 40;
	rec->events_lost = 3;
	rec->main_ended_ns = 1769860800999999999;
	ck_assert_int_eq(record_set(&rec->boot_id, "b-1"), 0);
	return rec;
}

START_TEST(record_comes_back_as_it_was)
{
	struct hutch_record *a = make("web"), *b;
	struct host_env v;
	struct err e;
	int dirfd;

	host_env_init(&v);
	dirfd = host_env_dirfd(&v);
	ck_assert_int_eq(record_write(dirfd, a, 1, &e), 0);
	ck_assert_int_eq(record_read(dirfd, &b, &e), 0);
	ck_assert_str_eq(b->name, "web");
	ck_assert_str_eq(b->id, id);
	ck_assert_int_eq(b->state, HUTCH_STATE_STOPPED);
	ck_assert_int_eq(b->reason, HUTCH_REASON_KILLED);
	ck_assert_int_eq(b->exit_code, -1);
	ck_assert_int_eq(b->signal, 15);
	ck_assert(b->created_ns == a->created_ns);
	ck_assert(b->started_ns == 0);
	ck_assert(b->ended_ns == a->ended_ns);
	ck_assert_uint_eq(b->memory, 6ull << 30);
	ck_assert_int_eq(b->rm, 1);
	ck_assert_str_eq(b->argv[0], "sh");
	ck_assert_str_eq(b->argv[2],
			 "caf\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd");
	ck_assert_ptr_null(b->argv[3]);
	ck_assert_str_eq(b->env[1], "EMPTY=");
	ck_assert_str_eq(b->boot_id, "b-1");
	ck_assert_str_eq(b->labels[0], "a.b/c=x=y");
	ck_assert_str_eq(b->labels[1], "empty=");
	ck_assert_str_eq(b->labels[2], "z=\xef\xbf\xbd");
	ck_assert_ptr_null(b->labels[3]);
	ck_assert_uint_eq(b->idle_timeout_ms, 60000);
	ck_assert_int_eq(b->on_exit, HUTCH_ON_EXIT_KEEP);
	ck_assert_int_eq(b->keep_alive_processes, 1);
	ck_assert(b->last_activity_ns == a->last_activity_ns);
	ck_assert_uint_eq(b->log_lost, 1ull << 40);
	ck_assert_uint_eq(b->events_lost, 3);
	ck_assert(b->main_ended_ns == a->main_ended_ns);
	hutch_record_free(a);
	hutch_record_free(b);
	(void)close(dirfd);
	host_env_done(&v);
}
END_TEST

/* Sound but for one thing each. */
START_TEST(parse_refuses_what_is_wrong)
{
	static const struct {
		const char *from;
		const char *to;
	} bad[] = {
		{ "\"version\":1", "\"version\":2" },
		{ "\"version\":1", "\"version\":\"1\"" },
		{ "\"name\":\"web\"", "\"name\":\"Web\"" },
		{ "\"name\":\"web\"", "\"name\":\"../x\"" },
		{ "\"name\":\"web\"", "\"name\":7" },
		{ "\"id\":\"0", "\"id\":\"" },
		{ "\"state\":\"stopped\"", "\"state\":\"gone\"" },
		{ "\"reason\":\"killed\"", "\"reason\":\"bored\"" },
		{ "\"command\":[\"sh\"", "\"command\":[5" },
		{ "{", "[" },
	};
	struct hutch_record *rec = make("web");
	char *json = hutch_record_json(rec);

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const char *at = strstr(json, bad[i].from);
		struct hutch_record *got = NULL;
		struct err e = { 0 };
		char *text;
		int n;

		ck_assert_ptr_nonnull(at);
		n = asprintf(&text, "%.*s%s%s", (int)(at - json), json,
			     bad[i].to, at + strlen(bad[i].from));
		ck_assert_int_gt(n, 0);
		ck_assert_int_eq(record_parse(text, (size_t)n, &got, &e),
				 -EBADMSG);
		ck_assert_ptr_null(got);
		ck_assert_str_ne(e.msg, "");
		free(text);
	}
	free(json);
	hutch_record_free(rec);
}
END_TEST

START_TEST(parse_of_a_cut_record_is_an_error)
{
	struct hutch_record *rec = make("web"), *got = NULL;
	char *json = hutch_record_json(rec);
	size_t len = strlen(json);
	struct err e;

	for (size_t n = 0; n < len; n++) {
		char *text = check_copy(json, n);

		ck_assert_int_eq(record_parse(text, n, &got, &e), -EBADMSG);
		free(text);
	}
	ck_assert_int_eq(record_parse(json, len, &got, &e), 0);
	hutch_record_free(got);
	hutch_record_free(rec);
	free(json);
}
END_TEST

static void expect_name(int dirfd, const char *name)
{
	struct hutch_record *rec = NULL;
	struct err e = { 0 };

	ck_assert_msg(record_read(dirfd, &rec, &e) == 0, "%s", e.msg);
	ck_assert_str_eq(rec->name, name);
	hutch_record_free(rec);
}

/* A crash while the new one is written: part of it is in the other file. */
START_TEST(crash_at_any_byte_leaves_the_old_record)
{
	struct hutch_record *a = make("old"), *b = make("new");
	char *json = hutch_record_json(b);
	size_t len = strlen(json);
	struct host_env v;
	struct err e;
	int dirfd;

	host_env_init(&v);
	dirfd = host_env_dirfd(&v);
	ck_assert_int_eq(record_write(dirfd, a, 0, &e), 0);
	for (size_t n = 0; n <= len; n += 7) {
		int fd = openat(dirfd, RECORD_TMP,
				O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		ck_assert_int_eq(io_write_full(fd, json, n), 0);
		(void)close(fd);
		expect_name(dirfd, "old");
	}
	/* And the next write is not disturbed by what was left. */
	ck_assert_int_eq(record_write(dirfd, b, 0, &e), 0);
	expect_name(dirfd, "new");
	free(json);
	hutch_record_free(a);
	hutch_record_free(b);
	(void)close(dirfd);
	host_env_done(&v);
}
END_TEST

/* A file-size limit is a disk that fills up at that byte. */
START_TEST(full_disk_at_any_byte_leaves_the_old_record)
{
	struct hutch_record *a = make("old"), *b = make("new");
	char *json = hutch_record_json(b);
	size_t len = strlen(json);
	struct rlimit old, rl;
	struct host_env v;
	struct err e;
	int dirfd;

	host_env_init(&v);
	dirfd = host_env_dirfd(&v);
	(void)signal(SIGXFSZ, SIG_DFL); /* a caller that knows of no limit */
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
	ck_assert_int_eq(record_write(dirfd, a, 0, &e), 0);
	for (size_t n = 0; n < len; n += 13) {
		int r;

		rl = (struct rlimit){ n, old.rlim_max };
		/* Check writes a file of its own at each ck_assert. */
		bug_on(setrlimit(RLIMIT_FSIZE, &rl) < 0);
		r = record_write(dirfd, b, 1, &e);
		bug_on(setrlimit(RLIMIT_FSIZE, &old) < 0);
		ck_assert_int_eq(r, -EFBIG);
		ck_assert_ptr_nonnull(strstr(e.msg, "'new'"));
		ck_assert_int_eq(faccessat(dirfd, RECORD_TMP, F_OK, 0), -1);
		expect_name(dirfd, "old");
	}
	free(json);
	hutch_record_free(a);
	hutch_record_free(b);
	(void)close(dirfd);
	host_env_done(&v);
}
END_TEST

START_TEST(last_record_goes_into_the_space_set_aside)
{
	struct hutch_record *a = make("old"), *b = make("new");
	struct host_env v;
	struct stat st;
	struct err e;
	int dirfd;

	host_env_init(&v);
	dirfd = host_env_dirfd(&v);
	ck_assert_int_eq(record_write(dirfd, a, 0, &e), 0);
	ck_assert_int_eq(record_write_last(dirfd, b, &e), -ENOENT);
	expect_name(dirfd, "old");
	ck_assert_int_eq(record_reserve(dirfd, a, &e), 0);
	ck_assert_int_eq(fstatat(dirfd, RECORD_LAST, &st, 0), 0);
	ck_assert_int_gt(st.st_blocks, 0);
	record_set_text(b, "why it ended", 12);
	ck_assert_int_eq(record_write_last(dirfd, b, &e), 0);
	expect_name(dirfd, "new");
	ck_assert_int_eq(faccessat(dirfd, RECORD_LAST, F_OK, 0), -1);
	hutch_record_free(a);
	hutch_record_free(b);
	(void)close(dirfd);
	host_env_done(&v);
}
END_TEST

START_TEST(record_is_for_its_owner_only)
{
	struct hutch_record *a = make("web");
	struct host_env v;
	struct stat st;
	struct err e;
	int dirfd;

	host_env_init(&v);
	dirfd = host_env_dirfd(&v);
	(void)umask(0);
	ck_assert_int_eq(record_write(dirfd, a, 0, &e), 0);
	ck_assert_int_eq(fstatat(dirfd, RECORD_FILE, &st, 0), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0600);
	hutch_record_free(a);
	(void)close(dirfd);
	host_env_done(&v);
}
END_TEST

START_TEST(text_is_escaped_and_cut)
{
	struct hutch_record *a = make("web");
	char big[2000];

	record_set_text(a, "a\033[2Jb\n", 7);
	ck_assert_str_eq(a->text, "a\\x1b[2Jb\\n");
	memset(big, 'x', sizeof(big));
	record_set_text(a, big, sizeof(big));
	ck_assert_uint_lt(strlen(a->text), RECORD_TEXT);
	hutch_record_free(a);
}
END_TEST

CHECK_MAIN("record", record_comes_back_as_it_was, parse_refuses_what_is_wrong,
	   parse_of_a_cut_record_is_an_error,
	   crash_at_any_byte_leaves_the_old_record,
	   full_disk_at_any_byte_leaves_the_old_record,
	   last_record_goes_into_the_space_set_aside,
	   record_is_for_its_owner_only, text_is_escaped_and_cut)
