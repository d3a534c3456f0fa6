/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_fs_locks.c - locks=host: among guests, and with the host */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fuse_kit.h"
#include "vmm/fs/lock.h"

#define END INT64_MAX

/* Owners, as a guest numbers them. */
#define ANN 0xa0a0a0a0a0a0a0a0ull
#define BOB 0xb0b0b0b0b0b0b0b0ull

/**
 * struct pair - Two guests that share a folder, with one file
 * @n_freed:	Times that the first was told of a lock that went
 */
struct pair {
	struct fuse_kit k[2];
	uint64_t node[2];
	uint64_t fh[2];
	unsigned int n_freed;
};

static void count(void *ctx)
{
	((struct pair *)ctx)->n_freed++;
}

static struct fs_opts options(struct pair *p)
{
	struct fs_opts o = fk_usual();

	o.locks = FS_LOCKS_HOST;
	o.owner = FS_OWNER_HOST;
	o.freed = count;
	o.freed_ctx = p;
	return o;
}

static void open_in(struct pair *p, int i, uint32_t flags)
{
	p->node[i] = fk_at(&p->k[i], "f");
	ck_assert_int_eq(fk_open(&p->k[i], p->node[i], flags), 0);
	/* Else Linux does not tell of a close(). */
	ck_assert_uint_eq(p->k[i].open_flags & FOPEN_NOFLUSH, 0);
	p->fh[i] = p->k[i].fh;
}

static void pair_init(struct pair *p)
{
	struct fs_opts o = options(p);

	memset(p, 0, sizeof(*p));
	fk_init(&p->k[0], &o);
	fk_host_file(&p->k[0], "f", "text");
	/* The other guest has a server of its own, and the same folder. */
	p->k[1] = p->k[0];
	p->k[1].body = NULL;
	o.freed = NULL;
	fk_serve(&p->k[1], &o);
	ck_assert_int_eq(fk_start(&p->k[1]), 0);
	for (int i = 0; i < 2; i++)
		open_in(p, i, O_RDWR);
}

static void pair_done(struct pair *p)
{
	fs_server_free(p->k[1].s);
	free(p->k[1].body);
	fk_done(&p->k[0]);
}

static unsigned int n_fds(struct fuse_kit *k)
{
	struct fs_stats st;

	fs_server_stats(k->s, &st);
	return st.n_fds;
}

static int lk(struct pair *p, int i, uint32_t op, const struct fuse_lk_in *in)
{
	return fk_op(&p->k[i], op, p->node[i], in, sizeof(*in), FK_NO_NAMES);
}

static struct fuse_lk_in record(const struct pair *p, int i, uint64_t owner,
				uint32_t type)
{
	return (struct fuse_lk_in){ .fh = p->fh[i],
				    .owner = owner,
				    .lk = { .end = END, .type = type } };
}

/* A lock of the whole range. Return: 0, -errno, or FK_LATER if @wait */
static int lock(struct pair *p, int i, uint64_t owner, uint32_t type, bool wait)
{
	const struct fuse_lk_in in = record(p, i, owner, type);

	return lk(p, i, wait ? FUSE_SETLKW : FUSE_SETLK, &in);
}

static int lock_range(struct pair *p, int i, uint64_t owner, uint32_t type,
		      uint64_t start, uint64_t end)
{
	struct fuse_lk_in in = record(p, i, owner, type);

	in.lk.start = start;
	in.lk.end = end;
	return lk(p, i, FUSE_SETLK, &in);
}

static int flock_as(struct pair *p, int i, uint64_t owner, uint32_t type,
		    bool wait)
{
	struct fuse_lk_in in = record(p, i, owner, type);

	in.lk_flags = FUSE_LK_FLOCK;
	return lk(p, i, wait ? FUSE_SETLKW : FUSE_SETLK, &in);
}

static int flush_as(struct pair *p, int i, uint64_t owner)
{
	const struct fuse_flush_in in = { .fh = p->fh[i], .lock_owner = owner };

	return fk_op(&p->k[i], FUSE_FLUSH, p->node[i], &in, sizeof(in),
		     FK_NO_NAMES);
}

/* The host's own open file. */
static int host_open(struct pair *p)
{
	int fd = openat(p->k[0].fd, "f", O_RDWR | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static int host_record(int fd, short type)
{
	struct flock fl = { .l_type = type, .l_whence = SEEK_SET };

	return fcntl(fd, F_SETLK, &fl) < 0 ? -errno : 0;
}

START_TEST(they_are_the_guests_own_unless_asked_for)
{
	struct fs_opts o = fk_usual();
	struct fuse_lk_in in = { .lk = { .end = END, .type = F_RDLCK } };
	struct fuse_init_out out;
	struct fuse_kit k;

	fk_scratch(&k);
	fk_serve(&k, &o);
	ck_assert_int_eq(fk_start(&k), 0);
	memcpy(&out, k.body, sizeof(out));
	ck_assert_uint_eq(out.flags & (FUSE_POSIX_LOCKS | FUSE_FLOCK_LOCKS), 0);
	fk_host_file(&k, "f", "text");
	ck_assert_int_eq(fk_open(&k, fk_at(&k, "f"), O_RDONLY), 0);
	ck_assert_uint_ne(k.open_flags & FOPEN_NOFLUSH, 0);
	in.fh = k.fh;
	for (uint32_t op = FUSE_GETLK; op <= FUSE_SETLKW; op++)
		ck_assert_int_eq(fk_op(&k, op, k.entry.nodeid, &in, sizeof(in),
				       FK_NO_NAMES),
				 -ENOSYS);
	fk_done(&k);

	o.locks = FS_LOCKS_HOST;
	fk_scratch(&k);
	fk_serve(&k, &o);
	ck_assert_int_eq(fk_start(&k), 0);
	memcpy(&out, k.body, sizeof(out));
	ck_assert_uint_ne(out.flags & FUSE_POSIX_LOCKS, 0);
	ck_assert_uint_ne(out.flags & FUSE_FLOCK_LOCKS, 0);
	fk_done(&k);
}
END_TEST

START_TEST(records_exclude_owners_guests_and_the_host)
{
	struct pair p;
	int fd;

	pair_init(&p);
	fd = host_open(&p);
	ck_assert_int_eq(lock(&p, 0, ANN, F_WRLCK, false), 0);
	ck_assert_int_eq(lock(&p, 0, ANN, F_WRLCK, false), 0);
	ck_assert_int_eq(lock(&p, 0, BOB, F_RDLCK, false), -EAGAIN);
	/* The same number is another owner in another guest. */
	ck_assert_int_eq(lock(&p, 1, ANN, F_RDLCK, false), -EAGAIN);
	ck_assert_int_eq(host_record(fd, F_RDLCK), -EAGAIN);
	ck_assert_int_eq(lock(&p, 0, ANN, F_RDLCK, false), 0);
	ck_assert_int_eq(lock(&p, 1, ANN, F_RDLCK, false), 0);
	ck_assert_int_eq(host_record(fd, F_RDLCK), 0);
	ck_assert_int_eq(lock(&p, 0, ANN, F_WRLCK, false), -EAGAIN);
	ck_assert_int_eq(lock(&p, 1, ANN, F_UNLCK, false), 0);
	ck_assert_int_eq(host_record(fd, F_UNLCK), 0);
	ck_assert_int_eq(lock(&p, 0, ANN, F_WRLCK, false), 0);
	(void)close(fd);
	pair_done(&p);
}
END_TEST

START_TEST(ranges_are_kept_and_told)
{
	struct fuse_lk_in in;
	struct fuse_lk_out out;
	struct pair p;

	pair_init(&p);
	ck_assert_int_eq(lock_range(&p, 0, ANN, F_WRLCK, 10, 19), 0);
	ck_assert_int_eq(lock_range(&p, 0, BOB, F_WRLCK, 0, 9), 0);
	ck_assert_int_eq(lock_range(&p, 1, BOB, F_WRLCK, 20, END), 0);
	ck_assert_int_eq(lock_range(&p, 1, BOB, F_WRLCK, 19, 19), -EAGAIN);
	/* What is taken out of the middle is free. */
	ck_assert_int_eq(lock_range(&p, 0, ANN, F_UNLCK, 12, 14), 0);
	ck_assert_int_eq(lock_range(&p, 1, BOB, F_WRLCK, 12, 14), 0);
	ck_assert_int_eq(lock_range(&p, 1, BOB, F_WRLCK, 15, 15), -EAGAIN);

	in = record(&p, 0, ANN, F_WRLCK);
	in.lk.start = 13;
	ck_assert_int_eq(lk(&p, 0, FUSE_GETLK, &in), 0);
	ck_assert_uint_eq(p.k[0].len, sizeof(out));
	memcpy(&out, p.k[0].body, sizeof(out));
	ck_assert_uint_eq(out.lk.type, F_WRLCK);
	ck_assert_uint_eq(out.lk.start, 12);
	ck_assert_uint_eq(out.lk.end, 14);
	/* Of another guest's process there is no number here. */
	ck_assert_uint_eq(out.lk.pid, 0);
	in.lk.start = 20;
	ck_assert_int_eq(lk(&p, 0, FUSE_GETLK, &in), 0);
	memcpy(&out, p.k[0].body, sizeof(out));
	ck_assert_uint_eq(out.lk.end, END);
	/* But of one's own. */
	in.lk.start = 0;
	in.lk.end = 3;
	ck_assert_int_eq(lk(&p, 0, FUSE_GETLK, &in), 0);
	memcpy(&out, p.k[0].body, sizeof(out));
	ck_assert_uint_eq(out.lk.end, 9);
	ck_assert_uint_eq(out.lk.pid, 1);
	/* Its own are in nobody's way. */
	in.lk.start = 15;
	in.lk.end = 19;
	ck_assert_int_eq(lk(&p, 0, FUSE_GETLK, &in), 0);
	memcpy(&out, p.k[0].body, sizeof(out));
	ck_assert_uint_eq(out.lk.type, F_UNLCK);
	/* One who has none can ask, and has none for it. */
	in = record(&p, 1, 77, F_RDLCK);
	ck_assert_int_eq(lk(&p, 1, FUSE_GETLK, &in), 0);
	memcpy(&out, p.k[1].body, sizeof(out));
	ck_assert_uint_eq(out.lk.type, F_WRLCK);
	pair_done(&p);
}
END_TEST

START_TEST(flock_excludes_guests_and_the_host_and_knows_no_records)
{
	struct pair p;
	int fd;

	pair_init(&p);
	fd = host_open(&p);
	ck_assert_int_eq(flock_as(&p, 0, ANN, F_RDLCK, false), 0);
	ck_assert_int_eq(flock_as(&p, 1, ANN, F_RDLCK, false), 0);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), -1);
	ck_assert_int_eq(flock(fd, LOCK_SH | LOCK_NB), 0);
	ck_assert_int_eq(flock_as(&p, 0, ANN, F_WRLCK, false), -EAGAIN);
	ck_assert_int_eq(lock(&p, 0, BOB, F_WRLCK, false), 0);
	ck_assert_int_eq(flock(fd, LOCK_UN), 0);
	ck_assert_int_eq(flock_as(&p, 1, ANN, F_UNLCK, false), 0);
	ck_assert_int_eq(flock_as(&p, 0, ANN, F_WRLCK, false), 0);
	ck_assert_int_eq(flock(fd, LOCK_SH | LOCK_NB), -1);
	(void)close(fd);
	pair_done(&p);
}
END_TEST

START_TEST(close_drops_the_records_of_a_process_alone)
{
	struct pair p;

	pair_init(&p);
	ck_assert_int_eq(lock_range(&p, 0, ANN, F_WRLCK, 0, 9), 0);
	ck_assert_int_eq(lock_range(&p, 0, BOB, F_WRLCK, 10, 19), 0);
	ck_assert_int_eq(flock_as(&p, 0, ANN, F_WRLCK, false), 0);
	ck_assert_int_eq(flush_as(&p, 0, ANN), 0);
	ck_assert_int_eq(lock_range(&p, 1, 1, F_WRLCK, 0, 9), 0);
	ck_assert_int_eq(lock_range(&p, 1, 1, F_WRLCK, 10, 19), -EAGAIN);
	ck_assert_int_eq(flock_as(&p, 1, 1, F_WRLCK, false), -EAGAIN);
	pair_done(&p);
}
END_TEST

/* That of an open file too, of which Linux tells nothing when it goes. */
START_TEST(release_drops_all_that_came_with_the_handle)
{
	unsigned int before;
	struct pair p;

	pair_init(&p);
	before = n_fds(&p.k[0]);
	ck_assert_int_eq(lock(&p, 0, ANN, F_WRLCK, false), 0);
	ck_assert_int_eq(flock_as(&p, 0, BOB, F_WRLCK, false), 0);
	ck_assert_uint_eq(n_fds(&p.k[0]), before + 2);
	ck_assert_uint_eq(p.n_freed, 0);
	ck_assert_int_eq(fk_release(&p.k[0], p.node[0], p.fh[0]), 0);
	ck_assert_uint_gt(p.n_freed, 0);
	ck_assert_uint_eq(n_fds(&p.k[0]), before - 1);
	ck_assert_int_eq(lock(&p, 1, ANN, F_WRLCK, false), 0);
	ck_assert_int_eq(flock_as(&p, 1, ANN, F_WRLCK, false), 0);
	pair_done(&p);
}
END_TEST

START_TEST(a_guest_that_starts_anew_has_none)
{
	struct pair p;

	pair_init(&p);
	ck_assert_int_eq(lock(&p, 0, ANN, F_WRLCK, false), 0);
	ck_assert_int_eq(flock_as(&p, 0, ANN, F_WRLCK, false), 0);
	fs_server_reset(p.k[0].s);
	ck_assert_uint_eq(n_fds(&p.k[0]), 0);
	ck_assert_int_eq(lock(&p, 1, ANN, F_WRLCK, false), 0);
	ck_assert_int_eq(flock_as(&p, 1, ANN, F_WRLCK, false), 0);
	pair_done(&p);
}
END_TEST

START_TEST(who_waits_is_put_aside_and_comes_again)
{
	struct pair p;

	pair_init(&p);
	ck_assert_int_eq(lock(&p, 0, ANN, F_WRLCK, true), 0);
	ck_assert_int_eq(lock(&p, 0, BOB, F_WRLCK, true), FK_LATER);
	ck_assert_int_eq(lock(&p, 1, ANN, F_RDLCK, true), FK_LATER);
	ck_assert_int_eq(flock_as(&p, 0, ANN, F_WRLCK, true), 0);
	ck_assert_int_eq(flock_as(&p, 1, ANN, F_WRLCK, true), FK_LATER);
	ck_assert_uint_eq(p.n_freed, 0);
	ck_assert_int_eq(lock(&p, 0, ANN, F_UNLCK, true), 0);
	ck_assert_uint_eq(p.n_freed, 1);
	ck_assert_int_eq(lock(&p, 0, BOB, F_WRLCK, true), 0);
	ck_assert_int_eq(lock(&p, 1, ANN, F_RDLCK, true), FK_LATER);
	ck_assert_int_eq(flock_as(&p, 0, ANN, F_UNLCK, false), 0);
	ck_assert_uint_eq(p.n_freed, 2);
	ck_assert_int_eq(flock_as(&p, 1, ANN, F_WRLCK, true), 0);
	pair_done(&p);
}
END_TEST

START_TEST(what_cannot_be_put_aside_is_refused)
{
	struct fuse_lk_in lk_in;
	struct fuse_out_header out;
	struct fuse_in_header h = { .len = sizeof(h) + sizeof(lk_in),
				    .opcode = FUSE_SETLKW,
				    .unique = 7 };
	struct iovec in[2] = { { &h, sizeof(h) }, { &lk_in, sizeof(lk_in) } };
	const struct iovec room = { &out, sizeof(out) };
	struct pair p;

	pair_init(&p);
	lk_in = record(&p, 0, ANN, F_WRLCK);
	ck_assert_uint_eq(fs_refuse(p.k[0].s, in, 2, &room, 1, -ENOLCK),
			  sizeof(out));
	ck_assert_int_eq(out.error, -ENOLCK);
	ck_assert_uint_eq(out.unique, 7);
	ck_assert_uint_eq(out.len, sizeof(out));
	pair_done(&p);
}
END_TEST

START_TEST(unlocking_what_is_not_locked_is_fine_and_costs_nothing)
{
	unsigned int before;
	struct pair p;

	pair_init(&p);
	before = n_fds(&p.k[0]);
	ck_assert_int_eq(lock(&p, 0, ANN, F_UNLCK, false), 0);
	ck_assert_int_eq(flock_as(&p, 0, ANN, F_UNLCK, true), 0);
	ck_assert_int_eq(flush_as(&p, 0, ANN), 0);
	ck_assert_int_eq(lock(&p, 0, ANN, F_WRLCK, false), 0);
	ck_assert_uint_eq(n_fds(&p.k[0]), before + 1);
	ck_assert_int_eq(lock(&p, 0, ANN, F_UNLCK, false), 0);
	ck_assert_uint_eq(n_fds(&p.k[0]), before);
	pair_done(&p);
}
END_TEST

START_TEST(owners_have_a_limit)
{
	struct pair p;
	int e = 0;
	uint64_t n;

	pair_init(&p);
	for (n = 0; e == 0 && n <= FS_LOCK_OWNERS_MAX; n++)
		e = lock_range(&p, 0, n, F_RDLCK, 0, 0);
	ck_assert_int_eq(e, -ENOLCK);
	ck_assert_int_eq(flush_as(&p, 0, 0), 0);
	ck_assert_int_eq(lock_range(&p, 0, n, F_RDLCK, 0, 0), 0);
	pair_done(&p);
}
END_TEST

START_TEST(a_file_without_a_name_and_one_to_be_read_can_be_locked)
{
	struct pair p;

	pair_init(&p);
	ck_assert_int_eq(unlinkat(p.k[0].fd, "f", 0), 0);
	ck_assert_int_eq(lock(&p, 0, ANN, F_WRLCK, false), 0);
	ck_assert_int_eq(lock(&p, 1, ANN, F_WRLCK, false), -EAGAIN);
	fk_host_file(&p.k[0], "f", "another");
	open_in(&p, 0, O_RDONLY);
	open_in(&p, 1, O_WRONLY);
	ck_assert_int_eq(lock(&p, 0, ANN, F_RDLCK, false), 0);
	ck_assert_int_eq(lock(&p, 1, ANN, F_WRLCK, false), -EAGAIN);
	ck_assert_int_eq(flock_as(&p, 0, ANN, F_WRLCK, false), 0);
	ck_assert_int_eq(flock_as(&p, 1, ANN, F_WRLCK, false), -EAGAIN);
	pair_done(&p);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
	static const struct {
		uint64_t start, end;
		uint32_t type, flags;
	} v[] = {
		{ 0, END, 3, 0 },
		{ 0, END, UINT32_MAX, 0 },
		{ 1, 0, F_RDLCK, 0 },
		{ 0, (uint64_t)END + 1, F_RDLCK, 0 },
		{ UINT64_MAX, UINT64_MAX, F_RDLCK, 0 },
		{ 0, END, F_RDLCK, 2 },
	};
	struct fuse_lk_in in;
	struct pair p;

	pair_init(&p);
	for (uint32_t op = FUSE_GETLK; op <= FUSE_SETLKW; op++) {
		for (size_t i = 0; i < ARRAY_LEN(v); i++) {
			in = record(&p, 0, ANN, v[i].type);
			in.lk.start = v[i].start;
			in.lk.end = v[i].end;
			in.lk_flags = v[i].flags;
			ck_assert_int_eq(lk(&p, 0, op, &in), -EINVAL);
		}
		in = record(&p, 0, ANN, F_RDLCK);
		in.fh ^= 0x5555;
		ck_assert_int_eq(lk(&p, 0, op, &in), -EBADF);
		in.fh = p.fh[0];
		ck_assert_int_eq(fk_op(&p.k[0], op, FUSE_ROOT_ID, &in,
				       sizeof(in), FK_NO_NAMES),
				 -EBADF);
		ck_assert_int_eq(fk_op(&p.k[0], op, p.node[0], &in,
				       sizeof(in) - 1, FK_NO_NAMES),
				 -EINVAL);
	}
	in = record(&p, 0, ANN, F_RDLCK);
	in.lk_flags = FUSE_LK_FLOCK;
	ck_assert_int_eq(lk(&p, 0, FUSE_GETLK, &in), -EINVAL);
	pair_done(&p);
}
END_TEST

CHECK_MAIN("fs_locks", they_are_the_guests_own_unless_asked_for,
	   records_exclude_owners_guests_and_the_host, ranges_are_kept_and_told,
	   flock_excludes_guests_and_the_host_and_knows_no_records,
	   close_drops_the_records_of_a_process_alone,
	   release_drops_all_that_came_with_the_handle,
	   a_guest_that_starts_anew_has_none,
	   who_waits_is_put_aside_and_comes_again,
	   what_cannot_be_put_aside_is_refused,
	   unlocking_what_is_not_locked_is_fine_and_costs_nothing,
	   owners_have_a_limit,
	   a_file_without_a_name_and_one_to_be_read_can_be_locked,
	   what_makes_no_sense_is_refused)
