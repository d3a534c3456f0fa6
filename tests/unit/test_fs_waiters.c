/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_waiters.c - who waits for a lock of the host's is let go */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/killed.h"
#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"
#include "vmm/fs/waiter.h"

#define ROOT FUSE_ROOT_ID

/**
 * struct place - A guest, and a file of which the host has the lock
 * @host_fd:	Has it
 * @n_again:	Times that those who wait were to be tried again
 * @over:	Nobody waits any more
 */
struct place {
	struct fuse_kit k;
	uint64_t node;
	uint64_t fh;
	int host_fd;
	_Atomic unsigned int n_again;
	_Atomic bool over;
};

static void count(void *ctx)
{
	((struct place *)ctx)->n_again++;
}

static void place_init(struct place *p)
{
	struct fs_opts o = fk_usual();

	memset(p, 0, sizeof(*p));
	o.locks = FS_LOCKS_HOST;
	o.freed = count;
	o.freed_ctx = p;
	fk_init(&p->k, &o);
	fk_host_file(&p->k, "f", "");
	p->node = fk_at(&p->k, "f");
	ck_assert_int_eq(fk_open(&p->k, p->node, O_RDWR), 0);
	p->fh = p->k.fh;
	p->host_fd = openat(p->k.fd, "f", O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(p->host_fd, 0);
	ck_assert_int_eq(flock(p->host_fd, LOCK_EX), 0);
}

static void place_done(struct place *p)
{
	(void)close(p->host_fd);
	fk_done(&p->k);
}

/* Thread @tid asks for the lock by request @unique, for the first time or not. */
static int wait_in(struct fuse_kit *k, const struct place *p, uint32_t tid,
		   uint64_t unique)
{
	const struct fuse_lk_in in = { .fh = p->fh,
				       .owner = tid,
				       .lk = { .end = INT64_MAX,
					       .type = F_WRLCK },
				       .lk_flags = FUSE_LK_FLOCK };
	int r;

	k->tid = tid;
	k->unique = unique;
	r = fk_op(k, FUSE_SETLKW, p->node, &in, sizeof(in), FK_NO_NAMES);
	k->tid = 0;
	k->unique = 0;
	return r;
}

static int killed_as(struct fuse_kit *k, uint64_t node, const char *number)
{
	char name[128];

	(void)snprintf(name, sizeof(name), KILLED_PREFIX "%s", number);
	return fk_getxattr(k, node, name, 0);
}

static int killed(struct place *p, uint32_t tid)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%u", tid);
	return killed_as(&p->k, ROOT, number);
}

START_TEST(who_is_killed_waits_no_more_and_others_do)
{
	struct place p;

	place_init(&p);
	for (uint32_t i = 1; i <= 64; i++)
		ck_assert_int_eq(wait_in(&p.k, &p, i, 100 + i), FK_LATER);
	ck_assert_int_eq(killed(&p, 65), -ENODATA);
	ck_assert_int_eq(killed(&p, 107), -ENODATA);
	ck_assert_uint_eq(p.n_again, 0);
	ck_assert_int_eq(killed(&p, 7), 0);
	/* So that it is answered at once. */
	ck_assert_uint_eq(p.n_again, 1);
	for (uint32_t i = 1; i <= 64; i++)
		ck_assert_int_eq(wait_in(&p.k, &p, i, 100 + i),
				 i == 7 ? -EINTR : FK_LATER);
	ck_assert_int_eq(killed(&p, 7), -ENODATA);
	/* A later thread of that number is another. */
	ck_assert_int_eq(wait_in(&p.k, &p, 7, 200), FK_LATER);
	ck_assert_int_eq(wait_in(&p.k, &p, 7, 200), FK_LATER);
	place_done(&p);
}
END_TEST

/* The answer is the lock's, if that comes first; then nobody waits. */
START_TEST(who_has_what_he_waited_for_is_not_told)
{
	struct place p;

	place_init(&p);
	ck_assert_int_eq(wait_in(&p.k, &p, 1, 11), FK_LATER);
	ck_assert_int_eq(wait_in(&p.k, &p, 2, 12), FK_LATER);
	ck_assert_int_eq(flock(p.host_fd, LOCK_UN), 0);
	ck_assert_int_eq(wait_in(&p.k, &p, 1, 11), 0);
	ck_assert_int_eq(killed(&p, 1), -ENODATA);
	ck_assert_int_eq(wait_in(&p.k, &p, 2, 12), FK_LATER);
	ck_assert_int_eq(killed(&p, 2), 0);
	ck_assert_int_eq(wait_in(&p.k, &p, 2, 12), -EINTR);
	place_done(&p);
}
END_TEST

START_TEST(who_was_refused_or_started_anew_waits_for_nothing)
{
	struct fuse_in_header h = {
		.len = sizeof(h), .opcode = FUSE_SETLKW, .unique = 11, .pid = 1
	};
	const struct iovec in = { &h, sizeof(h) };
	struct fuse_out_header out;
	const struct iovec room = { &out, sizeof(out) };
	struct place p;

	place_init(&p);
	ck_assert_int_eq(wait_in(&p.k, &p, 1, 11), FK_LATER);
	ck_assert_int_eq(wait_in(&p.k, &p, 2, 12), FK_LATER);
	ck_assert_uint_eq(fs_refuse(p.k.s, &in, 1, &room, 1, -ENOLCK),
			  sizeof(out));
	ck_assert_int_eq(killed(&p, 1), -ENODATA);
	ck_assert_int_eq(killed(&p, 2), 0);
	fs_server_reset(p.k.s);
	ck_assert_int_eq(fk_start(&p.k), 0);
	ck_assert_int_eq(killed(&p, 2), -ENODATA);
	place_done(&p);
}
END_TEST

/* Those that a stopped queue has forgotten make room, and nothing else. */
START_TEST(waiters_have_a_limit)
{
	struct place p;

	place_init(&p);
	for (uint32_t i = 1; i <= 2 * FS_WAITERS_MAX; i++)
		ck_assert_int_eq(wait_in(&p.k, &p, i, 1000 + i), FK_LATER);
	ck_assert_int_eq(killed(&p, FS_WAITERS_MAX), -ENODATA);
	ck_assert_int_eq(killed(&p, FS_WAITERS_MAX + 1), 0);
	/* One that does come again is known again. */
	ck_assert_int_eq(wait_in(&p.k, &p, 1, 1001), FK_LATER);
	ck_assert_int_eq(killed(&p, 1), 0);
	ck_assert_int_eq(wait_in(&p.k, &p, 1, 1001), -EINTR);
	place_done(&p);
}
END_TEST

START_TEST(interrupt_is_of_the_request_that_it_names)
{
	struct fuse_interrupt_in in = { .unique = 12 };
	struct place p;

	place_init(&p);
	ck_assert_int_eq(wait_in(&p.k, &p, 1, 11), FK_LATER);
	ck_assert_int_eq(wait_in(&p.k, &p, 1, 12), FK_LATER);
	ck_assert_int_eq(
		fk_op(&p.k, FUSE_INTERRUPT, 0, &in, sizeof(in), FK_NO_NAMES),
		0);
	ck_assert_uint_eq(p.n_again, 1);
	ck_assert_int_eq(wait_in(&p.k, &p, 1, 11), FK_LATER);
	ck_assert_int_eq(wait_in(&p.k, &p, 1, 12), -EINTR);
	in.unique = 13;
	ck_assert_int_eq(
		fk_op(&p.k, FUSE_INTERRUPT, 0, &in, sizeof(in), FK_NO_NAMES),
		0);
	ck_assert_uint_eq(p.n_again, 1);
	place_done(&p);
}
END_TEST

START_TEST(only_root_tells_and_only_a_number)
{
	static const char *const wrong[] = { "",           "0",   "-1",
					     "+1",         " 1",  "1 ",
					     "4294967296", "0x1", "1/2" };
	struct fuse_kit *k;
	struct place p;

	place_init(&p);
	k = &p.k;
	ck_assert_int_eq(wait_in(k, &p, 1, 11), FK_LATER);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		ck_assert_int_eq(killed_as(k, ROOT, wrong[i]), -EINVAL);
	k->uid = 1000;
	ck_assert_int_eq(killed(&p, 1), -ENODATA);
	ck_assert_int_eq(wait_in(k, &p, 1, 11), FK_LATER);
	k->uid = 0;
	/* Whichever file; it is not looked at. */
	ck_assert_int_eq(killed_as(k, 0xdead, "1"), 0);
	ck_assert_int_eq(wait_in(k, &p, 1, 11), -EINTR);
	place_done(&p);
}
END_TEST

/* What nobody can mistake for an attribute; @o has a tree of either kind. */
static void is_reserved(const struct fs_opts *o)
{
	struct fuse_kit k;

	fk_init(&k, o);
	ck_assert_int_eq(fk_setxattr(&k, ROOT, KILLED_PREFIX "1", "", 0, 0),
			 -EOPNOTSUPP);
	ck_assert_int_eq(fk_setxattr(&k, ROOT, KILLED_RESERVED "x", "", 0, 0),
			 -EOPNOTSUPP);
	ck_assert_int_eq(fk_removexattr(&k, ROOT, KILLED_PREFIX "1"),
			 -EOPNOTSUPP);
	ck_assert_int_eq(fk_getxattr(&k, ROOT, KILLED_RESERVED "x", 0),
			 -EOPNOTSUPP);
	ck_assert_int_eq(fk_getxattr(&k, ROOT, KILLED_PREFIX "1", 0),
			 o->locks ? -ENODATA : -EOPNOTSUPP);
	fk_done(&k);
}

START_TEST(name_is_no_attribute)
{
	struct fs_opts o = fk_usual();

	for (int i = 0; i < 4; i++) {
		o.owner = i & 1 ? FS_OWNER_MAPPED : FS_OWNER_HOST;
		o.locks = i & 2 ? FS_LOCKS_HOST : FS_LOCKS_GUEST;
		is_reserved(&o);
	}
}
END_TEST

#define THREADS 4
#define TURNS   50

struct thread {
	struct place *p;
	struct fuse_kit k;
	uint32_t tid;
	pthread_t id;
};

/* A worker with one request after the other, each of which waits till killed. */
static void *wait_often(void *arg)
{
	struct thread *t = arg;
	int r;

	for (uint64_t i = 1; i <= TURNS; i++) {
		do
			r = wait_in(&t->k, t->p, t->tid, i << 8 | t->tid);
		while (r == FK_LATER);
		ck_assert_int_eq(r, -EINTR);
	}
	return NULL;
}

/* Until all have been let go. */
static void *kill_often(void *arg)
{
	struct thread *t = arg;
	char number[16];

	(void)snprintf(number, sizeof(number), "%u", t->tid);
	while (!t->p->over)
		(void)killed_as(&t->k, ROOT, number);
	return NULL;
}

/* While others wait, are killed and killed again: all of them are let go. */
START_TEST(many_wait_and_are_killed_at_once)
{
	struct thread t[2 * THREADS];
	struct place p;

	place_init(&p);
	for (uint32_t i = 0; i < 2 * THREADS; i++) {
		t[i].p = &p;
		t[i].k = p.k;
		t[i].k.body = NULL;
		t[i].tid = 1 + i / 2;
	}
	for (uint32_t i = 0; i < 2 * THREADS; i++)
		ck_assert_int_eq(pthread_create(&t[i].id, NULL,
						i & 1 ? kill_often : wait_often,
						&t[i]),
				 0);
	for (uint32_t i = 0; i < 2 * THREADS; i += 2)
		ck_assert_int_eq(pthread_join(t[i].id, NULL), 0);
	p.over = true;
	for (uint32_t i = 1; i < 2 * THREADS; i += 2)
		ck_assert_int_eq(pthread_join(t[i].id, NULL), 0);
	for (uint32_t i = 0; i < 2 * THREADS; i++)
		free(t[i].k.body);
	place_done(&p);
}
END_TEST

CHECK_MAIN("fs_waiters", who_is_killed_waits_no_more_and_others_do,
	   who_has_what_he_waited_for_is_not_told,
	   who_was_refused_or_started_anew_waits_for_nothing,
	   waiters_have_a_limit, interrupt_is_of_the_request_that_it_names,
	   only_root_tells_and_only_a_number, name_is_no_attribute,
	   many_wait_and_are_killed_at_once)
