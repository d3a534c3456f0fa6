/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/names.c - see names.h, and the words of hutch.h */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/words.h"
#include "host/lib/internal.h"
#include "host/lib/names.h"

#define NS_PER_S  1000000000ll
#define NS_PER_MS 1000000ull
#define S_PER_DAY 86400ll

static const char *const state_names[] = {
	[HUTCH_STATE_STARTING] = "starting",
	[HUTCH_STATE_RUNNING] = "running",
	[HUTCH_STATE_STOPPING] = "stopping",
	[HUTCH_STATE_STOPPED] = "stopped",
};

static const char *const reason_names[] = {
	[HUTCH_REASON_NONE] = "",
	[HUTCH_REASON_EXITED] = "exited",
	[HUTCH_REASON_KILLED] = "killed",
	[HUTCH_REASON_OOM] = "oom",
	[HUTCH_REASON_GUEST_PANIC] = "guest-panic",
	[HUTCH_REASON_GUEST_CRASH] = "guest-crash",
	[HUTCH_REASON_TIMEOUT] = "timeout",
	[HUTCH_REASON_STOPPED] = "stopped",
	[HUTCH_REASON_VMM_CRASH] = "vmm-crash",
	[HUTCH_REASON_HOST_ERROR] = "host-error",
	[HUTCH_REASON_LOST] = "lost",
	[HUTCH_REASON_IDLE] = "idle-timeout",
};

static const char *const process_state_names[] = {
	[HUTCH_PROCESS_RUNNING] = "running",
	[HUTCH_PROCESS_LINGERING] = "lingering",
	[HUTCH_PROCESS_EXITED] = "exited",
};

const char *hutch_state_name(enum hutch_state state)
{
	if ((unsigned int)state >= ARRAY_LEN(state_names) ||
	    !state_names[state])
		return "?";
	return state_names[state];
}

const char *hutch_reason_name(enum hutch_reason reason)
{
	return (unsigned int)reason >= ARRAY_LEN(reason_names)
		       ? "?"
		       : reason_names[reason];
}

const char *hutch_fs_event_name(enum hutch_fs_event_kind kind)
{
	static const char *const names[] = {
		[HUTCH_FS_READY] = "ready",
		[HUTCH_FS_CREATED] = "created",
		[HUTCH_FS_MODIFIED] = "modified",
		[HUTCH_FS_ATTRIBUTES] = "attributes",
		[HUTCH_FS_DELETED] = "deleted",
		[HUTCH_FS_MOVED_FROM] = "moved-from",
		[HUTCH_FS_MOVED_TO] = "moved-to",
		[HUTCH_FS_WRITTEN] = "written",
		[HUTCH_FS_LOST] = "lost",
		[HUTCH_FS_GONE] = "gone",
	};

	if ((unsigned int)kind >= ARRAY_LEN(names) || !names[kind])
		return "?";
	return names[kind];
}

const char *hutch_file_kind_name(enum hutch_file_kind kind)
{
	switch (kind) {
	case HUTCH_FILE_REGULAR:
		return "file";
	case HUTCH_FILE_FOLDER:
		return "folder";
	case HUTCH_FILE_SYMLINK:
		return "symlink";
	case HUTCH_FILE_FIFO:
		return "fifo";
	case HUTCH_FILE_SOCKET:
		return "socket";
	case HUTCH_FILE_CHAR_DEVICE:
		return "char-device";
	case HUTCH_FILE_BLOCK_DEVICE:
		return "block-device";
	}
	return "?";
}

const char *hutch_process_state_name(enum hutch_process_state state)
{
	if ((unsigned int)state >= ARRAY_LEN(process_state_names) ||
	    !process_state_names[state])
		return "?";
	return process_state_names[state];
}

static int find(const char *s, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (names[i] && strcmp(s, names[i]) == 0)
			return (int)i;
	return -1;
}

int state_from_name(const char *s)
{
	return find(s, state_names, ARRAY_LEN(state_names));
}

int reason_from_name(const char *s)
{
	return find(s, reason_names, ARRAY_LEN(reason_names));
}

/* The detail that goes in brackets; "" if there is none. */
static const char *detail(const struct hutch_record *rec, char num[16])
{
	int v = rec->reason == HUTCH_REASON_EXITED ? rec->exit_code
						   : rec->signal;

	switch (rec->reason) {
	case HUTCH_REASON_EXITED:
	case HUTCH_REASON_KILLED:
	case HUTCH_REASON_VMM_CRASH:
		(void)snprintf(num, 16, "%d", v);
		return num;
	case HUTCH_REASON_HOST_ERROR:
		return rec->text ? rec->text : "";
	default:
		return "";
	}
}

char *hutch_reason_text(const struct hutch_record *rec, char *buf, size_t len)
{
	char num[16];
	const char *d = detail(rec, num);

	if (rec->reason == HUTCH_REASON_NONE)
		(void)snprintf(buf, len, "%s", hutch_state_name(rec->state));
	else if (*d)
		(void)snprintf(buf, len, "%s(%s)",
			       hutch_reason_name(rec->reason), d);
	else
		(void)snprintf(buf, len, "%s", hutch_reason_name(rec->reason));
	return buf;
}

/** struct day - A day of the Gregorian calendar */
struct day {
	int year, month, mday;
};

/*
 * gmtime_r() and timegm() read time-zone files first; these do not.  Years are
 * counted from March, so that the leap day comes last, and in eras of 400.
 */
static struct day day_from_number(int64_t n)
{
	int64_t z = n + 719468; /* days from 0000-03-01 */
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t m = (5 * doy + 2) / 153;
	struct day d = {
		.mday = (int)(doy - (153 * m + 2) / 5 + 1),
		.month = (int)(m < 10 ? m + 3 : m - 9),
	};

	d.year = (int)(yoe + era * 400 + (d.month <= 2));
	return d;
}

/* For years from 1970. */
static int64_t day_to_number(const struct day *d)
{
	int64_t y = d->year - (d->month <= 2);
	int64_t era = y / 400, yoe = y - era * 400;
	int64_t m = d->month > 2 ? d->month - 3 : d->month + 9;
	int64_t doy = (153 * m + 2) / 5 + d->mday - 1;

	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static void put_time(int64_t ns, char *buf, size_t len, int decimals,
		     int64_t unit)
{
	int64_t s = ns / NS_PER_S, frac = ns % NS_PER_S, in_day;
	struct day d;

	if (frac < 0) {
		frac += NS_PER_S;
		s--;
	}
	in_day = (s % S_PER_DAY + S_PER_DAY) % S_PER_DAY;
	d = day_from_number((s - in_day) / S_PER_DAY);
	/* The remainders say to the compiler what is true anyway. */
	(void)snprintf(buf, len, "%04u-%02u-%02uT%02u:%02u:%02u.%0*uZ",
		       (unsigned int)d.year % 10000u,
		       (unsigned int)d.month % 100u,
		       (unsigned int)d.mday % 100u,
		       (unsigned int)(in_day / 3600) % 100u,
		       (unsigned int)(in_day / 60 % 60) % 100u,
		       (unsigned int)(in_day % 60) % 100u, decimals,
		       (unsigned int)(frac / unit) % 1000000000u);
}

const char *rfc3339_text(int64_t ns, char buf[RFC3339_LEN])
{
	put_time(ns, buf, RFC3339_LEN, 9, 1);
	return buf;
}

char *hutch_time_text(int64_t time_ns, char *buf, size_t len)
{
	if (len)
		buf[0] = '\0';
	if (time_ns)
		put_time(time_ns, buf, len, 3, (int64_t)NS_PER_MS);
	return buf;
}

/* Digits at *s, as many as @n, then @after. Return: the number or -1. */
static int number(const char **s, int n, char after)
{
	int v = 0;

	for (; n > 0; n--, (*s)++) {
		if (**s < '0' || **s > '9')
			return -1;
		v = v * 10 + (**s - '0');
	}
	return *(*s)++ == after ? v : -1;
}

int rfc3339_parse(const char *s, int64_t *ret)
{
	static const struct {
		int digits, min, max;
		char after;
	} part[] = {
		{ 4, 1970, 2261, '-' },   { 2, 1, 12, '-' }, { 2, 1, 31, 'T' },
		{ 2, 0, 23, ':' },        { 2, 0, 59, ':' }, { 2, 0, 60, '.' },
		{ 9, 0, 999999999, 'Z' },
	};
	int v[ARRAY_LEN(part)];
	struct day d;

	for (size_t i = 0; i < ARRAY_LEN(part); i++) {
		/* A terminating NUL is no digit and no @after: it stops us. */
		v[i] = number(&s, part[i].digits, part[i].after);
		if (v[i] < part[i].min || v[i] > part[i].max)
			return -EINVAL;
	}
	if (*s)
		return -EINVAL;
	d = (struct day){ v[0], v[1], v[2] };
	*ret = (day_to_number(&d) * S_PER_DAY + v[3] * 3600ll + v[4] * 60ll +
		v[5]) * NS_PER_S +
	       v[6];
	return 0;
}

/* ---- Words of hutch.h ---- */

const char *hutch_version(void)
{
	return HUTCH_VERSION;
}

int hutch_parse_size(const char *what, const char *s, uint64_t *ret,
		     struct hutch_err *e)
{
	return words_size(what, s, ret, err_of(e));
}

int hutch_parse_duration(const char *what, const char *s, uint64_t *ret_ms,
			 struct hutch_err *e)
{
	uint64_t ns;
	int r = words_duration(what, s, &ns, err_of(e));

	if (r == 0)
		*ret_ms = ns / NS_PER_MS + (ns % NS_PER_MS != 0);
	return r;
}

int hutch_parse_uint(const char *what, const char *s, uint64_t min,
		     uint64_t max, uint64_t *ret, struct hutch_err *e)
{
	return words_uint(what, s, min, max, ret, err_of(e));
}

int hutch_volume_name_ok(const char *s)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t len = 0;

	if (!*s || !strchr(first, *s))
		return 0;
	while (s[len] && (strchr(first, s[len]) || strchr("._-", s[len])))
		len++;
	return !s[len] && len <= HUTCH_VOLUME_NAME_MAX;
}

int hutch_name_ok(const char *s)
{
	return words_name_ok(s);
}

char *hutch_escape(char *dst, size_t cap, const char *src, size_t len)
{
	return log_escape(dst, cap, src, len);
}

/* ---- Small things of internal.h ---- */

int opts_take(void *dst, size_t dst_size, const void *src, size_t size,
	      struct err *e)
{
	const unsigned char *b = src;

	if (size < sizeof(size_t) || size > 4096)
		return err_set(e, -EINVAL,
			       "options: size %zu is not right; start from "
			       "the _INIT macro",
			       size);
	/* A newer program may have more fields, as long as they are unset. */
	for (size_t i = dst_size; i < size; i++)
		if (b[i])
			return err_set(e, -EINVAL,
				       "options: this libhutch (%s) is older "
				       "than the program and lacks a field",
				       HUTCH_VERSION);
	memset(dst, 0, dst_size);
	memcpy(dst, src, MIN(size, dst_size));
	return 0;
}

int name_check(const char *name, struct err *e)
{
	char q[WORDS_NAME_MAX + 20];

	if (words_name_ok(name))
		return 0;
	return err_set(e, -EINVAL,
		       "name '%s': use 1 to %d of a-z, 0-9 and '-', not "
		       "starting with '-'",
		       log_escape(q, sizeof(q), name, strlen(name)),
		       WORDS_NAME_MAX);
}

const char **strv_borrow(const char *const *v)
{
	const char **w;

	memcpy(&w, &v, sizeof(v));
	return w;
}

size_t strv_len(const char *const *v)
{
	size_t n = 0;

	while (v && v[n])
		n++;
	return n;
}

int file_size_ok(uint64_t len)
{
	struct rlimit rl;

	return getrlimit(RLIMIT_FSIZE, &rl) == 0 && len > rl.rlim_cur ? -EFBIG
								      : 0;
}

uint64_t deadline_in(int64_t timeout_ms)
{
	return timeout_ms < 0
		       ? 0
		       : loop_now_ns() + (uint64_t)timeout_ms * NS_PER_MS;
}

uint64_t deadline_sooner(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns == 0 ? b_ns : b_ns == 0 ? a_ns : MIN(a_ns, b_ns);
}

int deadline_left_ms(uint64_t end_ns)
{
	uint64_t now = loop_now_ns();

	if (end_ns == 0)
		return -1;
	if (now >= end_ns)
		return 0;
	return (int)MIN((end_ns - now) / NS_PER_MS + 1, (uint64_t)INT_MAX);
}

int deadline_poll(int fd, short events, uint64_t end_ns)
{
	struct pollfd p = { .fd = fd, .events = events };
	int left = deadline_left_ms(end_ns), r;

	if (left == 0)
		return 0;
	r = poll(&p, 1, left);
	if (r < 0)
		return errno == EINTR ? 1 : -errno;
	return r > 0;
}

int64_t now_ns(void)
{
	struct timespec ts;

	bug_on(clock_gettime(CLOCK_REALTIME, &ts) != 0);
	return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}
