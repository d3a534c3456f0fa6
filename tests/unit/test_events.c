/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_events.c - events.jsonl: writing, turning over, following */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "host/lib/eventlog.h"
#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

static const char id[] = "0123456789abcdef0123456789abcdef";

/* ---- The file ---- */

static struct hutch_vm_event an_event(void)
{
	return (struct hutch_vm_event){
		.time_ns = 1769860800123456789,
		.vm = "web",
		.id = id,
		.kind = "process-exited",
		.process = "p1",
		.reason = "",
		.text = "a\033\xff",
		.pid = 7,
		.how = HUTCH_EXEC_SIGNALLED,
		.value = 9,
		.oom = 1,
		.main = 1,
	};
}

static char *read_file(int dirfd, const char *name)
{
	static char buf[2 * EVENTLOG_FILE_MAX];
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	ck_assert_int_ge(fd, 0);
	n = read(fd, buf, sizeof(buf) - 1);
	ck_assert_int_ge(n, 0);
	buf[n] = '\0';
	(void)close(fd);
	return buf;
}

START_TEST(event_comes_back_as_it_was)
{
	const struct hutch_vm_event a = an_event();
	struct eventlog_line l = { 0 };
	struct eventlog log;
	struct host_env v;
	char *text, *line;
	int dirfd;

	host_env_init(&v);
	dirfd = host_env_dirfd(&v);
	eventlog_init(&log, EVENTLOG_EVENTS, dirfd);
	eventlog_put(&log, &a);
	eventlog_done(&log);
	text = read_file(dirfd, "events.jsonl");
	ck_assert_int_eq(text[strlen(text) - 1], '\n');
	line = check_copy(text, strlen(text) - 1);
	ck_assert_int_eq(eventlog_parse(line, strlen(text) - 1, &l), 0);
	free(line);
	ck_assert(l.ev.time_ns == a.time_ns);
	ck_assert_str_eq(l.ev.vm, "web");
	ck_assert_str_eq(l.ev.id, id);
	ck_assert_str_eq(l.ev.kind, "process-exited");
	ck_assert_str_eq(l.ev.process, "p1");
	ck_assert_str_eq(l.ev.text, "a\\x1b\\xff");
	ck_assert_int_eq(l.ev.pid, 7);
	ck_assert_int_eq(l.ev.how, HUTCH_EXEC_SIGNALLED);
	ck_assert_int_eq(l.ev.value, 9);
	ck_assert_int_eq(l.ev.oom, 1);
	ck_assert_int_eq(l.ev.main, 1);
	ck_assert_int_eq(l.ev.tty, 0);
	eventlog_line_done(&l);
	eventlog_line_done(&l);
	(void)close(dirfd);
	host_env_done(&v);
}
END_TEST

START_TEST(parse_refuses_what_is_no_event)
{
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"7",
		"{\"event\":\"started\"}", /* no time */
		"{\"time\":\"2026-01-31T12:00:00.000000000Z\"}",
	};
	struct eventlog_line l = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char *p = check_copy(bad[i], strlen(bad[i]));

		ck_assert_int_eq(eventlog_parse(p, strlen(bad[i]), &l),
				 -EBADMSG);
		free(p);
	}
	ck_assert_ptr_null(l.json);
}
END_TEST

START_TEST(file_turns_over_and_stays_under_its_cap)
{
	struct hutch_vm_event a = an_event();
	static char text[5000];
	struct eventlog log;
	struct host_env v;
	int dirfd;

	host_env_init(&v);
	dirfd = host_env_dirfd(&v);
	eventlog_init(&log, EVENTLOG_EVENTS, dirfd);
	memset(text, '\033', sizeof(text) - 1);
	a.text = text;
	for (int i = 0; i < 2000; i++)
		eventlog_put(&log, &a);
	ck_assert_int_gt(host_size_of(dirfd, "events.jsonl"), 0);
	ck_assert_int_le(host_size_of(dirfd, "events.jsonl"),
			 EVENTLOG_FILE_MAX);
	ck_assert_int_gt(host_size_of(dirfd, "events.jsonl.1"),
			 EVENTLOG_FILE_MAX - EVENTLOG_LINE_MAX);
	ck_assert_int_le(host_size_of(dirfd, "events.jsonl.1"),
			 EVENTLOG_FILE_MAX);
	eventlog_done(&log);
	(void)close(dirfd);
	host_env_done(&v);
}
END_TEST

/* A folder in the way is a rename that fails. */
START_TEST(file_that_cannot_turn_over_is_kept_and_that_is_said)
{
	struct hutch_vm_event a = an_event();
	struct eventlog log;
	struct host_env v;
	off_t full;
	int dirfd;

	host_env_init(&v);
	dirfd = host_env_dirfd(&v);
	ck_assert_int_eq(mkdirat(dirfd, "events.jsonl.1", 0700), 0);
	eventlog_init(&log, EVENTLOG_EVENTS, dirfd);
	while (log.lost == 0)
		eventlog_put(&log, &a);
	full = host_size_of(dirfd, "events.jsonl");
	ck_assert_int_gt(full, EVENTLOG_FILE_MAX - EVENTLOG_LINE_MAX);
	for (int i = 0; i < 4; i++)
		eventlog_put(&log, &a);
	ck_assert_int_eq(host_size_of(dirfd, "events.jsonl"), full);
	ck_assert_uint_eq(log.lost, 5);
	ck_assert_int_eq(unlinkat(dirfd, "events.jsonl.1", AT_REMOVEDIR), 0);
	eventlog_put(&log, &a);
	eventlog_done(&log);
	ck_assert_uint_eq(log.lost, 5);
	ck_assert_int_eq(host_size_of(dirfd, "events.jsonl.1"), full);
	ck_assert_ptr_nonnull(strstr(read_file(dirfd, "events.jsonl"),
				     "\"5 events could not be written\""));
	(void)close(dirfd);
	host_env_done(&v);
}
END_TEST

START_TEST(guest_that_tells_too_much_is_cut_short_and_that_is_said)
{
	const struct hutch_vm_event a = an_event();
	struct eventlog log;
	struct host_env v;
	off_t before;
	int dirfd;

	host_env_init(&v);
	dirfd = host_env_dirfd(&v);
	eventlog_init(&log, EVENTLOG_EVENTS, dirfd);
	for (unsigned int i = 0; i < EVENTLOG_BURST + 500; i++)
		eventlog_put_guest(&log, &a);
	ck_assert_uint_gt(log.dropped, 400);
	/* The host's own are not limited. */
	before = host_size_of(dirfd, "events.jsonl");
	eventlog_put(&log, &a);
	ck_assert_int_gt(host_size_of(dirfd, "events.jsonl"), before);
	log.at_ns -= 1000000000; /* a second later */
	eventlog_put_guest(&log, &a);
	ck_assert_uint_eq(log.dropped, 0);
	ck_assert_ptr_nonnull(
		strstr(read_file(dirfd, "events.jsonl"), "\"dropped\""));
	eventlog_done(&log);
	(void)close(dirfd);
	host_env_done(&v);
}
END_TEST

/* ---- Reading them ---- */

static struct hutch_events *open_events(struct host_env *v, const char *name,
					unsigned int flags)
{
	struct hutch_events *ev = NULL;
	int r = hutch_events_open(v->h, name, flags, &ev, &v->e);

	ck_assert_msg(r == 0, "%d %s", r, v->e.msg);
	return ev;
}

/* The next one must be of that kind. */
static void expect(struct host_env *v, struct hutch_events *ev,
		   const char *kind, struct hutch_vm_event *ret)
{
	int r = hutch_events_wait(ev, ret, HOST_LONG_MS, &v->e);

	ck_assert_msg(r == 1, "%s: %d %s", kind, r, v->e.msg);
	ck_assert_str_eq(ret->kind, kind);
}

START_TEST(events_of_a_life_in_order)
{
	static const char *const argv[] = { "exit", "7", NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_vm_event e;
	struct hutch_events *ev;
	struct host_env v;

	o.argv = argv;
	host_up_with(&v, "", &o);
	hutch_record_free(host_wait_end(&v, "web"));
	ev = open_events(&v, "web", 0);
	ck_assert_int_eq(hutch_events_fd(ev), -1);
	expect(&v, ev, "started", &e);
	ck_assert_str_eq(e.vm, "web");
	ck_assert_uint_eq(strlen(e.id), 32);
	expect(&v, ev, "ready", &e);
	expect(&v, ev, "process-started", &e);
	ck_assert_str_eq(e.process, "main");
	ck_assert_str_eq(e.text, "exit");
	ck_assert_int_eq(e.pid, 42);
	ck_assert_int_eq(e.main, 1);
	expect(&v, ev, "process-exited", &e);
	ck_assert_int_eq(e.how, HUTCH_EXEC_EXITED);
	ck_assert_int_eq(e.value, 7);
	expect(&v, ev, "stopped", &e);
	ck_assert_str_eq(e.reason, "exited");
	ck_assert_int_eq(e.value, 7);
	ck_assert_int_eq(hutch_events_next(ev, &e, &v.e), 0);
	hutch_events_close(ev);
	host_env_done(&v);
}
END_TEST

START_TEST(events_are_followed_to_the_end)
{
	struct hutch_vm_event e;
	struct hutch_events *ev;
	struct hutch_exec *x;
	struct host_result res;
	struct host_env v;
	struct pollfd p = { .events = POLLIN };

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	ev = open_events(&v, "web", HUTCH_EVENTS_FOLLOW);
	expect(&v, ev, "started", &e);
	expect(&v, ev, "ready", &e);
	ck_assert_int_eq(hutch_events_wait(ev, &e, 20, &v.e), 0);
	x = host_run(&v, 0, "event", "5", "0", "0", "0", "p9", "no\033 memory");
	host_collect(&v, x, &res);
	hutch_exec_close(x);
	p.fd = hutch_events_fd(ev);
	ck_assert_int_eq(poll(&p, 1, HOST_LONG_MS), 1);
	expect(&v, ev, "process-started", &e);
	expect(&v, ev, "oom", &e);
	ck_assert_str_eq(e.process, "p9");
	ck_assert_str_eq(e.text, "no\\x1b memory");
	expect(&v, ev, "process-exited", &e);
	ck_assert_int_eq(hutch_kill(v.h, "web", &v.e), 0);
	expect(&v, ev, "stopped", &e);
	ck_assert_str_eq(e.reason, "stopped");
	ck_assert_str_eq(e.text, "kill");
	ck_assert_int_eq(hutch_events_next(ev, &e, &v.e), -ENODATA);
	hutch_events_close(ev);
	host_env_done(&v);
}
END_TEST

/* With rm nothing is left, but who had the file open reads its last line. */
START_TEST(events_of_an_rm_vm_end_with_its_end)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_vm_event e;
	struct hutch_events *ev;
	struct host_env v;

	o.flags = HUTCH_START_RM;
	o.wait = HUTCH_WAIT_READY;
	host_up_with(&v, "", &o);
	ev = open_events(&v, "web", HUTCH_EVENTS_FOLLOW);
	expect(&v, ev, "started", &e);
	expect(&v, ev, "ready", &e);
	ck_assert_int_eq(hutch_stop(v.h, "web", 0, &v.e), 0);
	expect(&v, ev, "stopped", &e);
	ck_assert_int_eq(hutch_events_next(ev, &e, &v.e), -ENODATA);
	hutch_events_close(ev);
	host_env_done(&v);
}
END_TEST

/* Nobody has written it down: the record says it, once somebody looks. */
START_TEST(events_of_a_lost_vm_end_with_lost)
{
	struct hutch_record *rec;
	struct hutch_vm_event e;
	struct hutch_events *ev;
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, "nobell"));
	ev = open_events(&v, "web", HUTCH_EVENTS_FOLLOW);
	expect(&v, ev, "started", &e);
	ck_assert_int_eq(hutch_inspect(v.h, "web", &rec, &v.e), 0);
	ck_assert_int_eq(kill(rec->keeper_pid, SIGKILL), 0);
	hutch_record_free(rec);
	expect(&v, ev, "stopped", &e);
	ck_assert_str_eq(e.reason, "lost");
	ck_assert_int_eq(hutch_events_next(ev, &e, &v.e), -ENODATA);
	hutch_events_close(ev);
	ev = open_events(&v, "web", 0);
	expect(&v, ev, "started", &e);
	expect(&v, ev, "stopped", &e);
	ck_assert_str_eq(e.reason, "lost");
	ck_assert_int_eq(hutch_events_next(ev, &e, &v.e), 0);
	hutch_events_close(ev);
	host_env_done(&v);
}
END_TEST

/* Of one after another under one name, each whole life is told once. */
START_TEST(events_of_all_vms_tell_each_life_once)
{
	char first[33] = "";
	struct hutch_vm_event e;
	struct hutch_events *ev;
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, "exit=0"));
	hutch_record_free(host_wait_end(&v, "web"));
	ev = open_events(&v, NULL, HUTCH_EVENTS_FOLLOW);
	for (int i = 0; i < 5; i++) {
		expect(&v, ev, "started", &e);
		ck_assert_str_ne(e.id, first);
		memcpy(first, e.id, sizeof(first));
		expect(&v, ev, "stopped", &e);
		ck_assert_str_eq(e.id, first);
		ck_assert_int_eq(hutch_events_next(ev, &e, &v.e), 0);
		hutch_vm_close(host_start(&v, "exit=0"));
		hutch_record_free(host_wait_end(&v, "web"));
	}
	expect(&v, ev, "started", &e);
	expect(&v, ev, "stopped", &e);
	ck_assert_int_eq(hutch_events_wait(ev, &e, 50, &v.e), 0);
	hutch_events_close(ev);
	host_env_done(&v);
}
END_TEST

START_TEST(events_of_all_vms_are_merged_by_time)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	static const char *const names[] = { "b", "a", "c" };
	struct hutch_vm_event e;
	struct hutch_events *ev;
	struct host_env v;
	int64_t last = 0;
	int n = 0;

	host_env_init(&v);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		o.name = names[i];
		hutch_vm_close(host_start_with(&v, "exit=0", &o));
		hutch_record_free(host_wait_end(&v, names[i]));
	}
	ev = open_events(&v, NULL, 0);
	while (hutch_events_next(ev, &e, &v.e) > 0) {
		ck_assert(e.time_ns >= last);
		last = e.time_ns;
		n++;
	}
	ck_assert_int_eq(n, 6);
	hutch_events_close(ev);
	host_env_done(&v);
}
END_TEST

/* Into the log of "web", from outside, as its keeper does. */
static void put_denied(struct host_env *v, int n, int64_t from_ns)
{
	struct hutch_vm_event a = an_event();
	char path[4200];
	struct eventlog log;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/s/state/web", v->dir);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	eventlog_init(&log, EVENTLOG_DENIED, fd);
	a.kind = "net-denied";
	for (int i = 0; i < n; i++) {
		a.time_ns = from_ns + i;
		eventlog_put(&log, &a);
	}
	ck_assert_uint_eq(log.lost, 0);
	eventlog_done(&log);
	(void)close(fd);
}

START_TEST(denials_push_no_other_event_out_and_are_told_in_order)
{
	struct hutch_vm_event e;
	struct hutch_events *ev;
	int64_t ready, last = 0;
	struct host_env v;
	int n = 0;

	host_up(&v);
	ev = open_events(&v, "web", HUTCH_EVENTS_FOLLOW);
	expect(&v, ev, "started", &e);
	expect(&v, ev, "ready", &e);
	ready = e.time_ns;
	/* One that is followed, and so many that the first are gone. */
	put_denied(&v, 1, ready + 1);
	expect(&v, ev, "net-denied", &e);
	hutch_events_close(ev);
	put_denied(&v, 5000, ready + 2);
	ck_assert_int_eq(hutch_stop(v.h, "web", 0, &v.e), 0);
	/* Later than its end: by a clock that was put back. */
	put_denied(&v, 1, ready + 3600000000000);
	ev = open_events(&v, "web", 0);
	expect(&v, ev, "started", &e);
	expect(&v, ev, "ready", &e);
	while (hutch_events_next(ev, &e, &v.e) > 0 &&
	       strcmp(e.kind, "net-denied") == 0) {
		ck_assert(e.time_ns > last);
		last = e.time_ns;
		n++;
	}
	ck_assert_int_gt(n, 500);
	ck_assert_int_lt(n, 5000);
	ck_assert_str_eq(e.kind, "stopped");
	ck_assert_int_eq(hutch_events_next(ev, &e, &v.e), 0);
	hutch_events_close(ev);
	host_env_done(&v);
}
END_TEST

START_TEST(events_of_nobody_are_an_error)
{
	struct hutch_events *ev;
	struct hutch_vm_event e;
	struct host_env v;

	host_env_init(&v);
	ck_assert_int_eq(hutch_events_open(v.h, "web", 0, &ev, &v.e), -ENOENT);
	ck_assert_int_eq(hutch_events_open(v.h, "Web", 0, &ev, &v.e), -EINVAL);
	ck_assert_int_eq(hutch_events_open(v.h, NULL, 2, &ev, &v.e), -EINVAL);
	ev = open_events(&v, NULL, 0);
	ck_assert_int_eq(hutch_events_next(ev, &e, &v.e), 0);
	hutch_events_close(ev);
	hutch_events_close(NULL);
	host_env_done(&v);
}
END_TEST

/* All in one write: none may be left in the keeper's buffer. */
START_TEST(events_of_a_burst_are_all_told)
{
	struct hutch_vm_event e;
	struct hutch_events *ev;
	struct host_env v;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	ev = open_events(&v, "web", HUTCH_EVENTS_FOLLOW);
	hutch_exec_close(
		host_run(&v, 0, "event", "5", "0", "0", "0", "p9", "t", "500"));
	do
		ck_assert_int_eq(hutch_events_wait(ev, &e, HOST_LONG_MS, &v.e),
				 1);
	while (strcmp(e.kind, "process-started") != 0);
	for (int i = 0; i < 500; i++)
		expect(&v, ev, "oom", &e);
	expect(&v, ev, "process-exited", &e);
	hutch_events_close(ev);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

/* Many more than the keeper takes: some are missing, which is told. */
START_TEST(events_of_a_flood_are_bounded)
{
	struct hutch_vm_event e;
	struct hutch_events *ev;
	struct host_env v;
	int n = 0;

	host_env_init(&v);
	hutch_vm_close(host_start(&v, ""));
	hutch_exec_close(host_run(&v, 0, "event", "5", "0", "0", "0", "p9", "t",
				  "5000"));
	ev = open_events(&v, "web", HUTCH_EVENTS_FOLLOW);
	/* And that is told, though nothing comes after it. */
	do {
		ck_assert_int_eq(hutch_events_wait(ev, &e, HOST_LONG_MS, &v.e),
				 1);
		n += strcmp(e.kind, "oom") == 0;
	} while (strcmp(e.kind, "dropped") != 0);
	ck_assert_int_le(n, (int)EVENTLOG_BURST + 100);
	ck_assert_int_ge(n, 500);
	hutch_events_close(ev);
	host_kill_and_rm(&v);
	host_env_done(&v);
}
END_TEST

/* The file of the events before is a folder: what does not fit is lost. */
START_TEST(events_that_cannot_be_written_are_counted_on_record)
{
	static const struct timespec step = { .tv_nsec = 10000000 };
	struct hutch_record *rec;
	char path[4200], text[300];
	uint64_t lost = 0;
	struct host_env v;

	host_up(&v);
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	(void)snprintf(path, sizeof(path), "%s/s/state/web/events.jsonl.1",
		       v.dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	hutch_exec_close(host_run(&v, 0, "event", "5", "0", "0", "0", "p9",
				  text, "5000"));
	/* The record is written a while after somebody was busy. */
	for (int i = 0; i < 6000 && lost == 0; i++) {
		hutch_exec_close(
			host_run(&v, 0, "event", "6", "0", "0", "0", "", ""));
		(void)nanosleep(&step, NULL);
		ck_assert_int_eq(hutch_inspect(v.h, "web", &rec, &v.e), 0);
		lost = rec->events_lost;
		hutch_record_free(rec);
	}
	ck_assert_uint_gt(lost, 0);
	ck_assert_int_eq(hutch_stop(v.h, "web", -1, &v.e), 0);
	rec = host_wait_end(&v, "web");
	ck_assert_uint_ge(rec->events_lost, lost);
	ck_assert_uint_eq(rec->log_lost, 0);
	hutch_record_free(rec);
	host_env_done(&v);
}
END_TEST

CHECK_MAIN("events", event_comes_back_as_it_was, parse_refuses_what_is_no_event,
	   file_turns_over_and_stays_under_its_cap,
	   file_that_cannot_turn_over_is_kept_and_that_is_said,
	   guest_that_tells_too_much_is_cut_short_and_that_is_said,
	   events_of_a_life_in_order, events_are_followed_to_the_end,
	   events_of_an_rm_vm_end_with_its_end,
	   events_of_a_lost_vm_end_with_lost,
	   events_of_all_vms_tell_each_life_once,
	   events_of_all_vms_are_merged_by_time,
	   denials_push_no_other_event_out_and_are_told_in_order,
	   events_of_nobody_are_an_error, events_of_a_burst_are_all_told,
	   events_of_a_flood_are_bounded,
	   events_that_cannot_be_written_are_counted_on_record)
