/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_keeper_netctl.c - the keeper takes in what hutch-net tells */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/io.h"
#include "host/keeper/keeper.h"
#include "host/lib/eventlog.h"
#include "host/lib/record.h"
#include "host/lib/vmdir.h"
#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"
#include "tests/lib/keeper_control.h"

/* @ev is of the last line in @dir, which is the log's. */
struct world {
	char dir[64];
	int dirfd;
	struct keeper *k;
	int theirs;
	struct eventlog_line line;
};

static void begin(struct world *w)
{
	*w = (struct world){ .dir = "/tmp/hutch-test-XXXXXX" };
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	w->dirfd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->k = keeper_control(&w->theirs);
	w->k->net.begun = true;
	w->k->rec = record_new();
	(void)snprintf(w->k->rec->name, sizeof(w->k->rec->name), "web");
	eventlog_init(&w->k->denied, EVENTLOG_DENIED, w->dirfd);
}

static void end(struct world *w)
{
	eventlog_line_done(&w->line);
	eventlog_done(&w->k->denied);
	hutch_record_free(w->k->rec);
	(void)close(w->k->net.control);
	(void)close(w->theirs);
	(void)close(w->dirfd);
	free(w->k);
	host_env_remove(w->dir);
}

/* Return: what is in the log of it, if that is its only line. */
static const struct hutch_vm_event *told(struct world *w, const char *message)
{
	auto_free char *text = NULL;
	size_t len = 0;
	struct err e;

	(void)unlinkat(w->dirfd, VMDIR_DENIED, 0);
	eventlog_done(&w->k->denied);
	eventlog_init(&w->k->denied, EVENTLOG_DENIED, w->dirfd);
	ck_assert_int_gt(send(w->theirs, message, strlen(message), 0), 0);
	netctl_drain(w->k);
	ck_assert_msg(io_read_file(w->dirfd, VMDIR_DENIED, 65536, &text, &len,
				   &e) == 0,
		      "%s", e.msg);
	eventlog_line_done(&w->line);
	ck_assert_int_eq(eventlog_parse(text, len, &w->line), 0);
	return &w->line.ev;
}

START_TEST(a_denial_is_told_in_words_and_in_parts)
{
	const struct hutch_vm_event *ev;
	struct world w;

	begin(&w);
	ev = told(&w,
		  "{\"event\":\"net-denied\",\"proto\":\"tcp\",\"address\":"
		  "\"192.0.2.1\",\"port\":443,\"name\":\"a.org\",\"rule\":2,"
		  "\"why\":\"a rule denies it\",\"count\":3}");
	ck_assert_str_eq(ev->kind, "net-denied");
	ck_assert_str_eq(ev->text, "tcp 192.0.2.1 port 443 (a.org): a rule "
				   "denies it, rule 2, 3 times");
	ck_assert_str_eq(ev->proto, "tcp");
	ck_assert_str_eq(ev->address, "192.0.2.1");
	ck_assert_str_eq(ev->name, "a.org");
	ck_assert_int_eq(ev->port, 443);
	ck_assert_int_eq(ev->rule, 2);
	ck_assert_int_eq(ev->count, 3);
	ev = told(&w, "{\"event\":\"net-denied\",\"proto\":\"dns\",\"name\":"
		      "\"b.org\",\"rule\":null,\"why\":\"no rule allows it\","
		      "\"count\":1}");
	ck_assert_str_eq(ev->text, "dns (b.org): no rule allows it");
	ck_assert_str_eq(ev->address, "");
	ck_assert_int_eq(ev->port, 0);
	ck_assert_int_eq(ev->rule, 0);
	ck_assert_int_eq(ev->count, 1);
	end(&w);
}
END_TEST

/* It reads hostile bytes all day. */
START_TEST(what_it_tells_is_no_harm)
{
	const struct hutch_vm_event *ev;
	struct world w;

	begin(&w);
	ev = told(&w, "{\"event\":\"net-denied\",\"proto\":\"t\\u001b[2J\","
		      "\"address\":\"\\n\",\"port\":70000,\"name\":"
		      "\"\\u0007\",\"rule\":-1,\"why\":\"\\u001b\","
		      "\"count\":99999999999}");
	ck_assert_str_eq(ev->proto, "t\\x1b[2J");
	ck_assert_str_eq(ev->address, "\\n");
	ck_assert_str_eq(ev->name, "\\x07");
	ck_assert_str_eq(ev->text, "t\\x1b[2J \\n (\\x07): \\x1b");
	ck_assert_int_eq(ev->port, 0);
	ck_assert_int_eq(ev->rule, 0);
	ck_assert_int_eq(ev->count, 0);
	end(&w);
}
END_TEST

CHECK_MAIN("keeper_netctl", a_denial_is_told_in_words_and_in_parts,
	   what_it_tells_is_no_harm)
