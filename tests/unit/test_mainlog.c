/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_mainlog.c - the capped log of a main process, and reading it */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "common/io.h"
#include "host/lib/mainlog.h"
#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

#define PIECE 1000u

static size_t make_piece(uint8_t *buf, int stream, const char *text)
{
	const struct mainlog_head h = { .time_ns = le64_put(5),
					.len = le32_put((uint32_t)strlen(text)),
					.stream = (uint8_t)stream };

	memcpy(buf, &h, sizeof(h));
	memcpy(buf + sizeof(h), text, strlen(text) + 1);
	return sizeof(h) + strlen(text);
}

START_TEST(next_takes_pieces_apart)
{
	const struct mainlog_head *h;
	uint8_t buf[64];
	size_t len = make_piece(buf, 2, "abc");
	void *p = check_copy(buf, len);

	ck_assert_int_eq(mainlog_next(p, len, &h), (ptrdiff_t)len);
	ck_assert_int_eq(h->stream, 2);
	ck_assert_uint_eq(le64_get(h->time_ns), 5);
	ck_assert_int_eq(memcmp(h + 1, "abc", 3), 0);
	free(p);
}
END_TEST

START_TEST(next_of_a_cut_piece_is_the_end)
{
	const struct mainlog_head *h;
	uint8_t buf[64];
	size_t len = make_piece(buf, 1, "abc");

	for (size_t n = 0; n < len; n++) {
		void *p = check_copy(buf, n);

		ck_assert_int_eq(mainlog_next(p, n, &h), 0);
		free(p);
	}
}
END_TEST

START_TEST(next_refuses_a_wrong_head)
{
	static const struct {
		size_t off;
		uint8_t value;
	} bad[] = {
		{ 20, 0 }, { 20, 3 }, { 21, 1 },
		{ 22, 1 }, { 23, 1 }, { 16, 0 }, /* no bytes */
		{ 19, 1 },                       /* 16 MiB of them */
	};
	const struct mainlog_head *h;
	uint8_t buf[64];
	size_t len = make_piece(buf, 1, "a");

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		uint8_t *p = check_copy(buf, len);

		p[bad[i].off] = bad[i].value;
		ck_assert_int_eq(mainlog_next(p, len, &h), -EBADMSG);
		free(p);
	}
}
END_TEST

static void fill(struct mainlog *l, unsigned int n)
{
	uint8_t data[PIECE] = { 0 };

	for (unsigned int i = 0; i < n; i++) {
		data[0] = (uint8_t)i;
		mainlog_put(l, 1, 1, data, sizeof(data));
	}
}

START_TEST(put_turns_over_and_stays_under_its_cap)
{
	const off_t piece = PIECE + sizeof(struct mainlog_head);
	struct host_env v;
	struct mainlog l;
	int dirfd;

	host_env_init(&v);
	dirfd = host_env_dirfd(&v);
	mainlog_init(&l, dirfd);
	fill(&l, 5000);
	mainlog_done(&l);
	ck_assert_uint_eq(l.lost, 0);
	ck_assert(host_size_of(dirfd, "main.log") <= MAINLOG_FILE_MAX);
	ck_assert(host_size_of(dirfd, "main.log.1") <= MAINLOG_FILE_MAX);
	ck_assert(host_size_of(dirfd, "main.log.1") > MAINLOG_FILE_MAX - piece);
	/* Whole pieces only. */
	ck_assert_int_eq(host_size_of(dirfd, "main.log") % piece, 0);
	ck_assert_int_eq(host_size_of(dirfd, "main.log.1") % piece, 0);
	ck_assert_int_eq(host_size_of(dirfd, "main.log.2"), -1);
	(void)close(dirfd);
	host_env_done(&v);
}
END_TEST

/* A file-size limit is a disk that fills up, at each byte of a piece. */
START_TEST(put_on_a_full_disk_leaves_whole_pieces)
{
	const size_t piece = PIECE + sizeof(struct mainlog_head);
	struct rlimit old, rl;
	struct host_env v;
	int dirfd;

	host_env_init(&v);
	dirfd = host_env_dirfd(&v);
	(void)signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
	for (size_t n = 0; n < piece; n += 100) {
		struct mainlog l;

		mainlog_init(&l, dirfd);
		rl = (struct rlimit){ .rlim_cur = 2 * piece + n,
				      .rlim_max = old.rlim_max };
		/* Check writes a file of its own at each ck_assert. */
		bug_on(setrlimit(RLIMIT_FSIZE, &rl) < 0);
		fill(&l, 4);
		bug_on(setrlimit(RLIMIT_FSIZE, &old) < 0);
		ck_assert_int_eq(host_size_of(dirfd, "main.log"),
				 (off_t)(2 * piece));
		ck_assert_uint_eq(l.lost, 2ull * PIECE);
		fill(&l, 1);
		ck_assert_int_eq(host_size_of(dirfd, "main.log"),
				 (off_t)(3 * piece));
		mainlog_done(&l);
		ck_assert_int_eq(unlinkat(dirfd, "main.log", 0), 0);
	}
	(void)close(dirfd);
	host_env_done(&v);
}
END_TEST

/* A folder in the way is a rename that fails; the newest is what is lost. */
START_TEST(put_that_cannot_turn_over_keeps_what_there_is)
{
	const off_t piece = PIECE + sizeof(struct mainlog_head);
	struct host_env v;
	struct mainlog l;
	off_t full;
	int dirfd;

	host_env_init(&v);
	dirfd = host_env_dirfd(&v);
	ck_assert_int_eq(mkdirat(dirfd, "main.log.1", 0700), 0);
	mainlog_init(&l, dirfd);
	fill(&l, MAINLOG_FILE_MAX / (unsigned int)piece);
	ck_assert_uint_eq(l.lost, 0);
	full = host_size_of(dirfd, "main.log");
	fill(&l, 3);
	ck_assert_uint_eq(l.lost, 3ull * PIECE);
	ck_assert_int_eq(host_size_of(dirfd, "main.log"), full);
	/* As soon as it can. */
	ck_assert_int_eq(unlinkat(dirfd, "main.log.1", AT_REMOVEDIR), 0);
	fill(&l, 1);
	ck_assert_uint_eq(l.lost, 3ull * PIECE);
	ck_assert_int_eq(host_size_of(dirfd, "main.log.1"), full);
	ck_assert_int_eq(host_size_of(dirfd, "main.log"), piece);
	mainlog_done(&l);
	(void)close(dirfd);
	host_env_done(&v);
}
END_TEST

static size_t logged(struct host_env *v)
{
	struct hutch_log_piece p;
	struct hutch_logs *l;
	size_t n = 0;

	ck_assert_int_eq(
		hutch_logs_open(v->h, "web", HUTCH_LOG_MAIN, 0, &l, &v->e), 0);
	while (hutch_logs_next(l, &p, &v->e) > 0)
		n += p.len;
	hutch_logs_close(l);
	return n;
}

START_TEST(logs_have_all_of_a_burst_while_it_goes_on)
{
	static const char *const argv[] = { "burst", "200", NULL };
	static const struct timespec step = { .tv_nsec = 10000000 };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct host_env v;

	o.argv = argv;
	host_up_with(&v, "", &o);
	for (int i = 0; i < 1000 && logged(&v) < 200; i++)
		(void)nanosleep(&step, NULL);
	ck_assert_uint_eq(logged(&v), 200);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

START_TEST(logs_have_the_main_process_apart_by_stream)
{
	static const char *const argv[] = { "say", "one", "!two", "three",
					    NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	static const char want[] = "1one2two1three";
	struct hutch_log_piece p;
	struct hutch_logs *l;
	struct host_env v;
	char got[64] = "";
	int r;

	o.argv = argv;
	host_up_with(&v, "", &o);
	host_expect_reason(&v, "exited(0)");
	ck_assert_int_eq(
		hutch_logs_open(v.h, "web", HUTCH_LOG_MAIN, 0, &l, &v.e), 0);
	while ((r = hutch_logs_next(l, &p, &v.e)) > 0) {
		size_t n = strlen(got);

		ck_assert_int_gt(p.time_ns, 0);
		(void)snprintf(got + n, sizeof(got) - n, "%d%.*s", p.stream,
			       (int)p.len, (const char *)p.data);
	}
	ck_assert_int_eq(r, 0);
	ck_assert_str_eq(got, want);
	hutch_logs_close(l);
	ck_assert_int_eq(
		hutch_logs_open(v.h, "nosuch", HUTCH_LOG_MAIN, 0, &l, &v.e),
		-ENOENT);
	ck_assert_int_eq(
		hutch_logs_open(v.h, "web", HUTCH_LOG_MAIN, 2, &l, &v.e),
		-EINVAL);
	ck_assert_int_eq(hutch_logs_open(v.h, "web", HUTCH_LOG_CONSOLE,
					 HUTCH_LOGS_FOLLOW, &l, &v.e),
			 -EINVAL);
	host_env_done(&v);
}
END_TEST

CHECK_MAIN("mainlog", next_takes_pieces_apart, next_of_a_cut_piece_is_the_end,
	   next_refuses_a_wrong_head, put_turns_over_and_stays_under_its_cap,
	   put_on_a_full_disk_leaves_whole_pieces,
	   put_that_cannot_turn_over_keeps_what_there_is,
	   logs_have_all_of_a_burst_while_it_goes_on,
	   logs_have_the_main_process_apart_by_stream)
