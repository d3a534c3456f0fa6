/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_resolv.c - host/keeper/resolv: resolv.conf, as hosts change it */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host/keeper/resolv.h"
#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

/**
 * struct watched - A folder with a resolv.conf in "etc", and who watches that
 * @n:		How often it has changed
 */
struct watched {
	struct resolv r;
	struct loop loop;
	char dir[64];
	char path[128];
	unsigned int n;
};

static void changed(struct resolv *r)
{
	container_of(r, struct watched, r)->n++;
}

/* "DIR/@name", of which there are four at a time. */
static const char *in(const struct watched *w, const char *name)
{
	static char buf[4][128];
	static unsigned int i;

	i = (i + 1) % 4;
	(void)snprintf(buf[i], sizeof(buf[i]), "%s/%s", w->dir, name);
	return buf[i];
}

static void put(const struct watched *w, const char *name, const char *text)
{
	FILE *f = fopen(in(w, name), "w");

	ck_assert_ptr_nonnull(f);
	(void)fputs(text, f);
	ck_assert_int_eq(fclose(f), 0);
}

static void move(const struct watched *w, const char *from, const char *to)
{
	ck_assert_int_eq(rename(in(w, from), in(w, to)), 0);
}

static void begin(struct watched *w)
{
	struct err e;

	memset(w, 0, sizeof(*w));
	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/hutch-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	ck_assert_int_eq(mkdir(in(w, "etc"), 0700), 0);
	(void)snprintf(w->path, sizeof(w->path), "%s",
		       in(w, "etc/resolv.conf"));
	put(w, "etc/resolv.conf", "nameserver 192.0.2.1\n");
	ck_assert_int_eq(loop_init(&w->loop, &e), 0);
	ck_assert_int_eq(resolv_watch(&w->r, &w->loop, w->path, changed), 0);
}

static void end(struct watched *w)
{
	resolv_close(&w->r);
	resolv_close(&w->r);
	loop_done(&w->loop);
	host_env_remove(w->dir);
}

/* At least once more, and then what comes late of it. */
static void expect_change(struct watched *w)
{
	const unsigned int before = w->n;

	while (w->n == before)
		ck_assert_int_ge(loop_step(&w->loop, -1), 0);
	while (loop_step(&w->loop, loop_timer_is_set(&w->r.settle) ? -1 : 0) >
	       0)
		continue;
}

static void expect_none(struct watched *w)
{
	const unsigned int before = w->n;

	while (loop_step(&w->loop, 0) > 0)
		continue;
	ck_assert(!loop_timer_is_set(&w->r.settle));
	ck_assert_uint_eq(w->n, before);
}

START_TEST(file_is_written_replaced_removed_and_made)
{
	struct watched w;

	begin(&w);
	expect_none(&w);
	put(&w, "etc/resolv.conf", "nameserver 192.0.2.2\n");
	expect_change(&w);
	for (int i = 0; i < 2; i++) {
		put(&w, "etc/new", "nameserver 192.0.2.3\n");
		move(&w, "etc/new", "etc/resolv.conf");
		expect_change(&w);
	}
	/* The one that is there now. */
	put(&w, "etc/resolv.conf", "nameserver 192.0.2.4\n");
	expect_change(&w);
	ck_assert_int_eq(unlink(w.path), 0);
	expect_change(&w);
	put(&w, "etc/resolv.conf", "nameserver 192.0.2.5\n");
	expect_change(&w);
	/* What else is in the folder. */
	put(&w, "etc/hosts", "");
	put(&w, "etc/resolv.conf.bak", "");
	expect_none(&w);
	end(&w);
}
END_TEST

START_TEST(links_are_followed_wherever_they_lead)
{
	struct watched w;

	begin(&w);
	/* As systemd-resolved has it, whose folder comes later. */
	ck_assert_int_eq(unlink(w.path), 0);
	ck_assert_int_eq(symlink("../run/resolve/stub.conf", w.path), 0);
	expect_change(&w);
	ck_assert_int_eq(mkdir(in(&w, "run"), 0700), 0);
	expect_change(&w);
	ck_assert_int_eq(mkdir(in(&w, "run/resolve"), 0700), 0);
	expect_change(&w);
	put(&w, "run/resolve/stub.conf", "nameserver 127.0.0.53\n");
	expect_change(&w);
	put(&w, "run/resolve/new", "nameserver 127.0.0.54\n");
	move(&w, "run/resolve/new", "run/resolve/stub.conf");
	expect_change(&w);
	/* Another link, by its whole path, to a link. */
	put(&w, "run/real", "");
	ck_assert_int_eq(symlink("real", in(&w, "run/link")), 0);
	ck_assert_int_eq(symlink(in(&w, "run/link"), in(&w, "etc/new")), 0);
	move(&w, "etc/new", "etc/resolv.conf");
	expect_change(&w);
	put(&w, "run/real", "nameserver 192.0.2.1\n");
	expect_change(&w);
	put(&w, "run/new", "");
	move(&w, "run/new", "run/real");
	expect_change(&w);
	ck_assert_int_eq(unlink(in(&w, "run/link")), 0);
	expect_change(&w);
	/* It is not on the way any more. */
	put(&w, "run/resolve/stub.conf", "");
	put(&w, "run/real", "");
	expect_none(&w);
	end(&w);
}
END_TEST

START_TEST(links_in_a_circle_are_walked_a_while)
{
	struct watched w;

	begin(&w);
	ck_assert_int_eq(unlink(w.path), 0);
	ck_assert_int_eq(symlink("other", w.path), 0);
	ck_assert_int_eq(symlink("resolv.conf", in(&w, "etc/other")), 0);
	expect_change(&w);
	ck_assert_uint_eq(w.r.n, RESOLV_HOPS_MAX);
	ck_assert_int_eq(unlink(w.path), 0);
	expect_change(&w);
	put(&w, "etc/resolv.conf", "");
	expect_change(&w);
	ck_assert_uint_eq(w.r.n, 1);
	end(&w);
}
END_TEST

CHECK_MAIN("resolv", file_is_written_replaced_removed_and_made,
	   links_are_followed_wherever_they_lead,
	   links_in_a_circle_are_walked_a_while)
