/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_virtq_window.c - descriptors into memory that files are
 * mapped into, whose files come short
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/lib/check_main.h"
#include "tests/lib/fake_guest.h"
#include "vmm/core/window.h"

#define GPA  (1ull << 32)
#define PAGE 4096ull

/**
 * struct kit - A guest with a window that has a file in it
 * @fd:		It, of two pages
 */
struct kit {
	struct fake_guest g;
	struct virtq q;
	struct window w;
	int fd;
	struct virtq_chain c;
};

static struct kit *start(void)
{
	struct kit *k = calloc(1, sizeof(*k));

	bug_on(!k);
	fake_guest_init(&k->g, FG_LEN, 8);
	k->q = fake_guest_virtq(&k->g, 0);
	bug_on(window_init(&k->w, WINDOW_SLOT, NULL) < 0);
	bug_on(gmem_add_window(&k->g.mem, GPA, k->w.hva, k->w.len, "t", NULL) <
	       0);
	k->fd = memfd_create("file", MFD_CLOEXEC);
	bug_on(k->fd < 0 || ftruncate(k->fd, 2 * PAGE) < 0);
	bug_on(pwrite(k->fd, "in a file", 9, PAGE) != 9);
	bug_on(window_map(&k->w, &(struct window_piece){ .len = WINDOW_SLOT,
							 .fd = k->fd,
							 .writable = true }) <
	       0);
	return k;
}

static void finish(struct kit *k)
{
	base_closep(&k->fd);
	fake_guest_done(&k->g);
	window_done(&k->w);
	free(k);
}

/* A byte of RAM, then nine at @gpa. */
static int pop(struct kit *k, uint64_t gpa, unsigned int flags)
{
	*fake_guest_at(&k->g, FG_DATA, 1) = '>';
	fake_guest_desc(&k->g, 0, FG_DATA, 1, VIRTQ_DESC_F_NEXT | flags, 1);
	fake_guest_desc(&k->g, 1, gpa, 9, flags, 0);
	fake_guest_offer(&k->g, 0, 0);
	return virtq_pop(&k->q, &k->c);
}

START_TEST(pieces_of_a_window_are_read_and_written)
{
	struct kit *k = start();
	struct ring ring = { .cap = 100 };
	char buf[11] = { 0 };
	struct iovec v[2];

	ck_assert_int_eq(pop(k, GPA + PAGE, 0), 1);
	ck_assert_uint_eq(k->c.out_len, 10);
	ck_assert_uint_eq(virtq_chain_get(&k->c, 0, buf, 10), 10);
	ck_assert_str_eq(buf, ">in a file");
	ck_assert_int_eq(virtq_chain_keep(&k->c, 0, 10, &ring), 0);
	ck_assert_int_eq(ring_peek(&ring, v), 1);
	ck_assert_mem_eq(v[0].iov_base, ">in a file", 10);
	ring_done(&ring);
	ck_assert_int_eq(virtq_chain_out(&k->c, 1, 9, v, 2), 1);
	ck_assert_ptr_eq(v[0].iov_base, k->w.hva + PAGE);

	ck_assert_int_eq(pop(k, GPA + PAGE, VIRTQ_DESC_F_WRITE), 1);
	ck_assert_uint_eq(virtq_chain_put(&k->c, 0, "<by device", 10), 10);
	bug_on(pread(k->fd, buf, 9, PAGE) != 9);
	ck_assert_mem_eq(buf, "by device", 9);
	finish(k);
}
END_TEST

START_TEST(piece_whose_page_is_no_more_is_that_requests_loss)
{
	struct kit *k = start();
	struct ring ring = { .cap = 100 };
	char buf[11] = { 0 };

	ck_assert_int_eq(pop(k, GPA + PAGE, 0), 1);
	bug_on(ftruncate(k->fd, PAGE) < 0);
	ck_assert_uint_eq(virtq_chain_get(&k->c, 0, buf, 10), 1);
	ck_assert_int_eq(virtq_chain_keep(&k->c, 0, 10, &ring), -EFAULT);
	ring_done(&ring);
	ck_assert_int_eq(pop(k, GPA + PAGE, VIRTQ_DESC_F_WRITE), 1);
	ck_assert_uint_eq(virtq_chain_put(&k->c, 0, "<by device", 10), 1);
	/* The queue goes on. */
	ck_assert_int_eq(virtq_push(&k->q, 0, 1), 0);
	ck_assert_int_eq(pop(k, FG_DATA + 1, 0), 1);
	ck_assert_uint_eq(virtq_chain_get(&k->c, 0, buf, 10), 10);
	finish(k);
}
END_TEST

START_TEST(no_ring_and_no_table_lies_in_a_window)
{
	struct kit *k = start();
	struct virtq q = k->q;

	ck_assert_int_eq(virtq_check(&q), 0);
	q.desc = GPA;
	ck_assert_int_eq(virtq_check(&q), -EFAULT);
	q = k->q;
	q.avail = GPA;
	ck_assert_int_eq(virtq_check(&q), -EFAULT);
	q = k->q;
	q.used = GPA;
	ck_assert_int_eq(virtq_check(&q), -EFAULT);
	k->q.indirect = true;
	fake_guest_desc(&k->g, 0, GPA, 16, VIRTQ_DESC_F_INDIRECT, 0);
	fake_guest_offer(&k->g, 0, 0);
	ck_assert_int_eq(virtq_pop(&k->q, &k->c), -EBADMSG);
	finish(k);
}
END_TEST

START_TEST(piece_that_leaves_a_window_returns_ebadmsg)
{
	struct kit *k = start();

	ck_assert_int_eq(pop(k, GPA + WINDOW_SLOT - 8, 0), -EBADMSG);
	finish(k);
	k = start();
	ck_assert_int_eq(pop(k, GPA - 1, 0), -EBADMSG);
	finish(k);
	k = start();
	ck_assert_int_eq(pop(k, GPA + WINDOW_SLOT - 9, 0), 1);
	finish(k);
}
END_TEST

CHECK_MAIN("virtq_window", pieces_of_a_window_are_read_and_written,
	   piece_whose_page_is_no_more_is_that_requests_loss,
	   no_ring_and_no_table_lies_in_a_window,
	   piece_that_leaves_a_window_returns_ebadmsg)
