/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_ctl.c - common/ctl.c: what may and may not be on the line */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/ctl.h"
#include "tests/lib/check_main.h"

/** struct line - A heap copy with room for the NUL and no more */
struct line {
	char *p;
	struct ctl_msg m;
	struct err e;
};

static int parse(struct line *l, const char *s, size_t len)
{
	l->e = (struct err){ 0 };
	free(l->p);
	l->p = malloc(len + 1);
	ck_assert_ptr_nonnull(l->p);
	memcpy(l->p, s, len);
	return ctl_parse(l->p, len, &l->m, &l->e);
}

START_TEST(a_request_is_taken_apart)
{
	struct line l = { 0 };
	uint64_t n = 0;

	ck_assert_int_eq(parse(&l, "stop grace_ms=500 why=a%20b%25 x=", 33), 0);
	ck_assert_str_eq(l.m.verb, "stop");
	ck_assert_uint_eq(l.m.n_args, 3);
	ck_assert_str_eq(ctl_get(&l.m, "why"), "a b%");
	ck_assert_str_eq(ctl_get(&l.m, "x"), "");
	ck_assert_ptr_null(ctl_get(&l.m, "y"));
	ck_assert_int_eq(ctl_get_u64(&l.m, "grace_ms", &n), 0);
	ck_assert_uint_eq(n, 500);
	ck_assert_int_eq(ctl_get_u64(&l.m, "why", &n), -EINVAL);
	ck_assert_int_eq(ctl_get_u64(&l.m, "y", &n), -ENOENT);
	free(l.p);
}
END_TEST

START_TEST(what_is_composed_is_parsed_back_whatever_the_bytes)
{
	char all[256];
	struct ctl_out o;
	struct line l = { 0 };
	int len;

	for (int i = 1; i < 256; i++)
		all[i - 1] = (char)i;
	all[255] = '\0';
	ctl_begin(&o, "ok");
	ctl_add(&o, "all", all);
	ctl_add_u64(&o, "max", UINT64_MAX);
	len = ctl_end(&o);
	ck_assert_int_gt(len, 0);
	ck_assert_int_eq(o.buf[len - 1], '\n');
	ck_assert_int_eq(parse(&l, o.buf, (size_t)len - 1), 0);
	ck_assert_str_eq(ctl_get(&l.m, "all"), all);
	ck_assert_str_eq(ctl_get(&l.m, "max"), "18446744073709551615");
	free(l.p);
}
END_TEST

START_TEST(malformed_lines_are_refused_with_a_sentence)
{
	static const char *const bad[] = {
		"",           " ",           " stop",      "STOP",
		"1stop",      "st/op",       "stop ",      "stop  a=b",
		"stop a",     "stop =b",     "stop A=b",   "stop a=b a=c",
		"stop a=%",   "stop a=%4",   "stop a=%4g", "stop a=%00",
		"stop\ta=b",  "stop a=\x80", "stop a=b\r", "error",
		"error E %x",
	};
	struct line l = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		ck_assert_int_eq(parse(&l, bad[i], strlen(bad[i])), -EBADMSG);
		ck_assert_str_ne(l.e.msg, "");
	}
	ck_assert_int_eq(parse(&l, "stop\0a=b", 8), -EBADMSG);
	free(l.p);
}
END_TEST

START_TEST(limits_of_values_and_of_length_are_exact)
{
	char many[CTL_LINE_MAX], *p = many;
	struct line l = { 0 };

	p += sprintf(p, "v");
	for (int i = 0; i < CTL_ARGS_MAX; i++)
		p += sprintf(p, " k%d=", i);
	ck_assert_int_eq(parse(&l, many, (size_t)(p - many)), 0);
	ck_assert_uint_eq(l.m.n_args, CTL_ARGS_MAX);
	p += sprintf(p, " more=");
	ck_assert_int_eq(parse(&l, many, (size_t)(p - many)), -EBADMSG);

	memset(many, 'a', sizeof(many));
	ck_assert_int_eq(parse(&l, many, CTL_LINE_MAX - 1), 0);
	ck_assert_int_eq(parse(&l, many, CTL_LINE_MAX), -EBADMSG);
	free(l.p);
}
END_TEST

START_TEST(a_line_that_does_not_fit_is_refused_not_cut)
{
	char big[CTL_LINE_MAX];
	struct ctl_out o;

	memset(big, 'a', sizeof(big));
	big[CTL_LINE_MAX - 1 - 5] = '\0'; /* "v k=" and the newline fit */
	ctl_begin(&o, "v");
	ctl_add(&o, "k", big);
	ck_assert_int_eq(ctl_end(&o), CTL_LINE_MAX - 1);
	memset(big, 'a', sizeof(big));
	big[CTL_LINE_MAX - 1] = '\0';
	ctl_begin(&o, "v");
	ctl_add(&o, "k", big);
	ctl_add(&o, "l", "");
	ck_assert_int_eq(ctl_end(&o), -EMSGSIZE);
}
END_TEST

START_TEST(error_codes_cross_by_name)
{
	ck_assert_str_eq(ctl_errno_name(-ESRCH), "ESRCH");
	ck_assert_int_eq(ctl_errno_code("ESRCH"), -ESRCH);
	ck_assert_str_eq(ctl_errno_name(-ELOOP), "EIO");
	ck_assert_int_eq(ctl_errno_code("EWHAT"), -EIO);
}
END_TEST

/* What the server says, and what ctl_call() makes of it. */
static int call(const char *says, struct ctl_msg *m, struct err *e,
		char line[CTL_LINE_MAX])
{
	struct ctl_out o;
	char got[64];
	int sv[2], r;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	ck_assert_int_eq(write(sv[1], says, strlen(says)),
			 (ssize_t)strlen(says));
	ck_assert_int_eq(shutdown(sv[1], SHUT_WR), 0);
	ctl_begin(&o, "info");
	r = ctl_call(sv[0], &o, line, m, e);
	ck_assert_int_eq(read(sv[1], got, sizeof(got)), 5);
	ck_assert_mem_eq(got, "info\n", 5);
	(void)close(sv[0]);
	(void)close(sv[1]);
	return r;
}

START_TEST(a_call_returns_values_errors_and_the_end_apart)
{
	char line[CTL_LINE_MAX], flood[CTL_LINE_MAX + 2];
	struct err e = { 0 };
	struct ctl_msg m;

	ck_assert_int_eq(call("ok a=1\nrest", &m, &e, line), 0);
	ck_assert_str_eq(ctl_get(&m, "a"), "1");
	ck_assert_int_eq(call("error ESRCH the VM%0Ais gone\n", &m, &e, line),
			 -ESRCH);
	ck_assert_str_eq(e.msg, "the VM\nis gone");
	ck_assert_int_eq(call("", &m, &e, line), -EPIPE);
	ck_assert_int_eq(call("ok a=1", &m, &e, line), -EPIPE);
	ck_assert_int_eq(call("OK\n", &m, &e, line), -EBADMSG);
	ck_assert_int_eq(call("fine a=1\n", &m, &e, line), -EBADMSG);
	memset(flood, 'a', sizeof(flood));
	flood[sizeof(flood) - 1] = '\0';
	ck_assert_int_eq(call(flood, &m, &e, line), -EBADMSG);
}
END_TEST

START_TEST(a_peer_that_left_is_epipe_and_no_signal)
{
	char line[CTL_LINE_MAX];
	struct ctl_out o;
	struct ctl_msg m;
	int sv[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	(void)close(sv[1]);
	ctl_begin(&o, "info");
	ck_assert_int_eq(ctl_call(sv[0], &o, line, &m, NULL), -EPIPE);
	(void)close(sv[0]);
}
END_TEST

CHECK_MAIN("ctl", a_request_is_taken_apart,
	   what_is_composed_is_parsed_back_whatever_the_bytes,
	   malformed_lines_are_refused_with_a_sentence,
	   limits_of_values_and_of_length_are_exact,
	   a_line_that_does_not_fit_is_refused_not_cut,
	   error_codes_cross_by_name,
	   a_call_returns_values_errors_and_the_end_apart,
	   a_peer_that_left_is_epipe_and_no_signal)
