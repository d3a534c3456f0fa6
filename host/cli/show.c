/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/show.c - see show.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "host/cli/cli.h"
#include "host/cli/show.h"

#define NS_PER_S 1000000000ll
#define MINUTE   60ll
#define HOUR     (60 * MINUTE)
#define DAY      (24 * HOUR)
#define KIB      1024u

void show_size(char buf[SHOW_MAX], uint64_t bytes)
{
	static const char units[] = { 'K', 'M', 'G', 'T' };
	uint64_t unit = KIB;
	size_t i = 0;

	while (i + 1 < sizeof(units) && bytes / unit >= KIB) {
		unit *= KIB;
		i++;
	}
	if (bytes < KIB)
		(void)snprintf(buf, SHOW_MAX, "%" PRIu64, bytes);
	else if (bytes % unit == 0)
		(void)snprintf(buf, SHOW_MAX, "%" PRIu64 "%c", bytes / unit,
			       units[i]);
	else
		(void)snprintf(buf, SHOW_MAX, "%" PRIu64 ".%" PRIu64 "%c",
			       bytes / unit,
			       bytes % unit / (unit / KIB) * 10 / KIB,
			       units[i]);
}

void show_span(char buf[SHOW_MAX], int64_t ns)
{
	long long s = ns / NS_PER_S;

	if (s < MINUTE)
		(void)snprintf(buf, SHOW_MAX, "%llds", s);
	else if (s < HOUR)
		(void)snprintf(buf, SHOW_MAX, "%lldm %llds", s / MINUTE,
			       s % MINUTE);
	else if (s < DAY)
		(void)snprintf(buf, SHOW_MAX, "%lldh %lldm", s / HOUR,
			       s % HOUR / MINUTE);
	else
		(void)snprintf(buf, SHOW_MAX, "%lldd %lldh", s / DAY,
			       s % DAY / HOUR);
}

static int64_t now_ns(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

void show_ago(char buf[SHOW_MAX], int64_t time_ns)
{
	int64_t ago = now_ns() - time_ns;
	char span[SHOW_MAX];

	buf[0] = '\0';
	if (time_ns <= 0)
		return;
	if (ago < NS_PER_S) {
		(void)snprintf(buf, SHOW_MAX, "just now");
		return;
	}
	show_span(span, ago);
	(void)snprintf(buf, SHOW_MAX, "%.24s ago", span);
}

void show_uptime(char buf[SHOW_MAX], const struct hutch_record *rec)
{
	int64_t end = rec->ended_ns ? rec->ended_ns : now_ns();

	buf[0] = '\0';
	/* The clock may have been set back in between. */
	if (rec->started_ns > 0 && end >= rec->started_ns)
		show_span(buf, end - rec->started_ns);
}

void show_reason(char buf[SHOW_REASON_MAX], const struct hutch_record *rec)
{
	buf[0] = '\0';
	if (rec->reason != HUTCH_REASON_NONE)
		(void)hutch_reason_text(rec, buf, SHOW_REASON_MAX);
}

static int put_record(struct jsonw *j, const struct hutch_record *rec)
{
	AUTO_FREE char *text = hutch_record_json(rec);

	if (!text)
		return -ENOMEM;
	jsonw_raw(j, NULL, text);
	return 0;
}

int show_records(struct hutch_record *const *list)
{
	struct jsonw j = cli_json();
	int r = 0;

	jsonw_array(&j, NULL);
	for (; *list && r == 0; list++)
		r = put_record(&j, *list);
	jsonw_array_end(&j);
	return r;
}

int show_record(const struct hutch_record *rec)
{
	struct jsonw j = cli_json();
	int r = put_record(&j, rec);

	(void)fputc('\n', stdout);
	return r;
}
