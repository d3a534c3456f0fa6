/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_window.c - vmm/core/window.c: files in memory that come short
 *
 * What is past the end of a file is looked at by system calls alone, as the
 * monitor does; a load there would kill this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "tests/lib/check_main.h"
#include "vmm/arch/arch.h"
#include "vmm/core/mem.h"
#include "vmm/core/window.h"

#define SLOT WINDOW_SLOT
#define PAGE 4096ull

/* A file of @len bytes, each of which is @c. */
static int file_of(size_t len, char c)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	char *b = malloc(len);

	bug_on(fd < 0 || !b);
	memset(b, c, len);
	bug_on(pwrite(fd, b, len, 0) != (ssize_t)len);
	free(b);
	return fd;
}

static void make(struct window *w, unsigned int n)
{
	ck_assert_int_eq(window_init(w, n * SLOT, NULL), 0);
	ck_assert_uint_eq((uintptr_t)w->hva % SLOT, 0);
}

static int map(struct window *w, uint64_t off, uint64_t len, int fd,
	       uint64_t file_off, bool writable)
{
	const struct window_piece p = { .off = off,
					.len = len,
					.fd = fd,
					.file_off = file_off,
					.writable = writable,
					.tag = 7 };

	return window_map(w, &p);
}

/*
 * The byte there, or -EFAULT: as a guest or a device would find it.  The kernel
 * looks, and whatever is laid there meanwhile is right; ThreadSanitizer, which
 * knows pwrite(), would take that for a load of ours.
 */
static int byte_at(const struct window *w, uint64_t off)
{
	int fd = memfd_create("probe", MFD_CLOEXEC);
	unsigned char c = 0;
	long n = syscall(SYS_pwrite64, fd, w->hva + off, 1, (off_t)0);
	int r = n == 1 ? 0 : -errno;

	if (r == 0)
		bug_on(pread(fd, &c, 1, 0) != 1);
	base_closep(&fd);
	return r < 0 ? r : c;
}

/* Write one there, in the same way. */
static int poke(const struct window *w, uint64_t off, char c)
{
	int fd = memfd_create("probe", MFD_CLOEXEC), r;

	bug_on(pwrite(fd, &c, 1, 0) != 1);
	r = pread(fd, w->hva + off, 1, 0) == 1 ? 0 : -errno;
	base_closep(&fd);
	return r;
}

static char file_byte(int fd, off_t off)
{
	char c = 0;

	return (char)(pread(fd, &c, 1, off) == 1 ? c : '!');
}

static unsigned int n_fds(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

START_TEST(empty_slots_are_zeros_that_the_guest_may_write)
{
	struct window w;

	make(&w, 2);
	ck_assert_int_eq(byte_at(&w, 0), 0);
	ck_assert_int_eq(poke(&w, SLOT, 'x'), 0);
	ck_assert_int_eq(byte_at(&w, SLOT), 'x');
	/* What is taken away goes, though no file was there. */
	ck_assert_int_eq(window_unmap(&w, SLOT, SLOT), 0);
	ck_assert_int_eq(byte_at(&w, SLOT), 0);
	ck_assert_uint_eq(window_mend(&w), 0);
	window_done(&w);
}
END_TEST

START_TEST(writable_file_is_shared_both_ways)
{
	struct window w;
	int fd = file_of(2 * PAGE, 'a');

	make(&w, 2);
	ck_assert_int_eq(map(&w, SLOT, SLOT, fd, 0, true), 0);
	ck_assert_int_eq(byte_at(&w, SLOT + 5), 'a');
	ck_assert_int_eq(poke(&w, SLOT + 5, 'b'), 0);
	ck_assert_int_eq(file_byte(fd, 5), 'b');
	bug_on(pwrite(fd, "c", 1, 6) != 1);
	ck_assert_int_eq(byte_at(&w, SLOT + 6), 'c');
	ck_assert_int_eq(byte_at(&w, 0), 0);
	base_closep(&fd);
	window_done(&w);
}
END_TEST

START_TEST(write_to_a_file_mapped_for_reading_stays_in_the_guest)
{
	struct window w;
	int fd = file_of(2 * PAGE, 'a');
	char path[32];
	int ro;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ro = open(path, O_RDONLY | O_CLOEXEC);
	make(&w, 1);
	ck_assert_int_eq(map(&w, 0, SLOT, ro, 0, false), 0);
	ck_assert_int_eq(poke(&w, 0, 'x'), 0);
	ck_assert_int_eq(byte_at(&w, 0), 'x');
	ck_assert_int_eq(file_byte(fd, 0), 'a');
	/* All other pages are the file's own. */
	bug_on(pwrite(fd, "n", 1, PAGE) != 1);
	ck_assert_int_eq(byte_at(&w, PAGE), 'n');
	/* Mapped to be written, it is the file again. */
	ck_assert_int_eq(map(&w, 0, SLOT, fd, 0, true), 0);
	ck_assert_int_eq(byte_at(&w, 0), 'a');
	base_closep(&ro);
	base_closep(&fd);
	window_done(&w);
}
END_TEST

START_TEST(long_mapping_takes_many_slots)
{
	struct window w;
	int fd = file_of(PAGE, 'a');

	bug_on(ftruncate(fd, (off_t)(4 * SLOT)) < 0);
	bug_on(pwrite(fd, "3", 1, (off_t)(3 * SLOT)) != 1);
	make(&w, 4);
	ck_assert_int_eq(map(&w, SLOT, 3 * SLOT, fd, SLOT, true), 0);
	ck_assert_uint_eq(w.n_mapped, 3);
	ck_assert_int_eq(byte_at(&w, 3 * SLOT), '3');
	ck_assert_int_eq(window_unmap(&w, 0, 2 * SLOT), 0);
	ck_assert_uint_eq(w.n_mapped, 2);
	ck_assert_int_eq(byte_at(&w, 3 * SLOT), '3');
	window_clear(&w);
	ck_assert_uint_eq(w.n_mapped, 0);
	ck_assert_int_eq(byte_at(&w, 3 * SLOT), 0);
	base_closep(&fd);
	window_done(&w);
}
END_TEST

START_TEST(descriptors_are_given_back)
{
	struct window w;
	unsigned int before = n_fds();
	int fd = file_of(PAGE, 'a');

	make(&w, 2);
	for (unsigned int i = 0; i < 5; i++)
		ck_assert_int_eq(map(&w, 0, 2 * SLOT, fd, 0, i % 2), 0);
	ck_assert_uint_eq(n_fds(), before + 3);
	ck_assert_int_eq(window_unmap(&w, 0, SLOT), 0);
	ck_assert_uint_eq(n_fds(), before + 2);
	base_closep(&fd);
	window_done(&w);
	ck_assert_uint_eq(n_fds(), before);
}
END_TEST

START_TEST(truncated_file_is_mended_with_zeros_and_healed_when_it_grows)
{
	struct window w;
	int fd = file_of(4 * PAGE, 'a');

	make(&w, 2);
	ck_assert_int_eq(map(&w, 0, SLOT, fd, 0, true), 0);
	bug_on(ftruncate(fd, PAGE + 1) < 0);
	ck_assert_int_eq(byte_at(&w, 3 * PAGE), -EFAULT);
	ck_assert_uint_eq(window_mend(&w), 1);
	ck_assert_int_eq(byte_at(&w, 0), 'a');
	ck_assert_int_eq(byte_at(&w, PAGE), 'a');
	ck_assert_int_eq(byte_at(&w, PAGE + 1), 0);
	ck_assert_int_eq(byte_at(&w, 2 * PAGE), 0);
	ck_assert_int_eq(byte_at(&w, SLOT - 1), 0);
	ck_assert_int_eq(poke(&w, 3 * PAGE, 'x'), 0);
	/* Once is enough. */
	ck_assert_uint_eq(window_mend(&w), 0);
	window_heal(&w, 7);
	ck_assert_int_eq(byte_at(&w, 3 * PAGE), 'x');
	/* Shorter still. */
	bug_on(ftruncate(fd, 0) < 0);
	ck_assert_uint_eq(window_mend(&w), 1);
	ck_assert_int_eq(byte_at(&w, 0), 0);
	ck_assert_uint_eq(atomic_load(&w.n_mended), 1);
	/* It grows: its bytes are seen as far as it goes, zeros behind. */
	bug_on(pwrite(fd, "new", 3, 3 * PAGE) != 3);
	window_heal(&w, 7);
	ck_assert_int_eq(byte_at(&w, 0), 0);
	ck_assert_int_eq(byte_at(&w, 3 * PAGE), 'n');
	ck_assert_int_eq(byte_at(&w, 4 * PAGE), 0);
	ck_assert_int_eq(poke(&w, 0, 'y'), 0);
	ck_assert_int_eq(file_byte(fd, 0), 'y');
	bug_on(ftruncate(fd, (off_t)SLOT) < 0);
	window_heal(&w, 7);
	ck_assert_uint_eq(atomic_load(&w.n_mended), 0);
	ck_assert_int_eq(poke(&w, SLOT - 1, 'z'), 0);
	ck_assert_int_eq(file_byte(fd, (off_t)SLOT - 1), 'z');
	base_closep(&fd);
	window_done(&w);
}
END_TEST

START_TEST(slot_ends_with_its_file_from_the_first)
{
	struct window w;
	int fd = file_of(PAGE, 'a'), other = file_of(SLOT, 'b');

	make(&w, 2);
	/* One that begins past the end has nothing of the file. */
	ck_assert_int_eq(map(&w, 0, SLOT, fd, SLOT, true), 0);
	ck_assert_int_eq(map(&w, SLOT, SLOT, fd, 0, false), 0);
	ck_assert_int_eq(byte_at(&w, 0), 0);
	ck_assert_int_eq(byte_at(&w, SLOT), 'a');
	ck_assert_int_eq(byte_at(&w, SLOT + PAGE), 0);
	ck_assert_uint_eq(atomic_load(&w.n_mended), 2);
	/* So there is nothing to mend. */
	ck_assert_uint_eq(window_mend(&w), 0);
	ck_assert_uint_eq(w.mends, 0);
	ck_assert_int_eq(map(&w, 0, SLOT, other, 0, true), 0);
	ck_assert_int_eq(window_unmap(&w, SLOT, SLOT), 0);
	ck_assert_uint_eq(atomic_load(&w.n_mended), 0);
	ck_assert_int_eq(byte_at(&w, SLOT - 1), 'b');
	ck_assert_int_eq(byte_at(&w, SLOT), 0);
	base_closep(&fd);
	base_closep(&other);
	window_done(&w);
}
END_TEST

/* What the host refuses to map leaves no hole for others to fall into. */
START_TEST(mapping_that_fails_leaves_empty_slots)
{
	struct window w;
	int fd = file_of(PAGE, 'a'), no = open("/proc/self/fd", O_RDONLY);
	struct window_stats s;

	make(&w, 2);
	ck_assert_int_eq(map(&w, 0, SLOT, fd, 0, true), 0);
	ck_assert_int_eq(map(&w, SLOT, SLOT, fd, 0, true), 0);
	ck_assert_int_lt(map(&w, 0, SLOT, no, 0, true), 0);
	window_stats(&w, &s);
	ck_assert_uint_eq(s.n_mapped, 1);
	ck_assert_int_eq(byte_at(&w, 0), 0);
	ck_assert_int_eq(byte_at(&w, SLOT), 'a');
	ck_assert_int_eq(poke(&w, 0, 'x'), 0);
	base_closep(&no);
	base_closep(&fd);
	window_done(&w);
}
END_TEST

START_TEST(bytes_of_a_window_are_copied_by_system_calls)
{
	static const struct gmem_range range[] = { { 0, 4 * PAGE } };
	static char big[3 * 64 * 1024], back[sizeof(big)];
	const uint64_t gpa = 1ull << 32;
	struct window w;
	struct gmem m;
	struct iovec v, ram;
	int fd = file_of(SLOT, 'a');
	char c = 'x';

	ck_assert_int_eq(gmem_init(&m, range, 1, NULL), 0);
	make(&w, 1);
	ck_assert_int_eq(gmem_iov(&m, gpa, 1, &v), -EFAULT);
	ck_assert_int_eq(gmem_add_window(&m, gpa, w.hva, w.len, "t", NULL), 0);
	ck_assert_int_eq(map(&w, 0, SLOT, fd, 0, true), 0);
	ck_assert_int_eq(gmem_iov(&m, gpa, SLOT, &v), 0);
	ck_assert_ptr_eq(v.iov_base, w.hva);
	ck_assert_int_eq(gmem_iov(&m, gpa + 1, SLOT, &v), -EFAULT);
	ck_assert_int_eq(gmem_iov(&m, gpa - 1, 2, &v), -EFAULT);
	/* For system calls, and for nothing else. */
	ck_assert_int_eq(gmem_check(&m, gpa, 1), -EFAULT);
	ck_assert_int_eq(gmem_read(&m, gpa, &c, 1), -EFAULT);
	ck_assert_int_eq(gmem_write(&m, gpa, &c, 1), -EFAULT);
	ck_assert_int_eq(gmem_load_le16(&m, gpa, &(uint16_t){ 0 }), -EFAULT);
	ck_assert_int_eq(gmem_store_le16(&m, gpa, 0), -EFAULT);
	ck_assert_uint_eq(gmem_size(&m), 4 * PAGE);

	ck_assert(gmem_in_window(&m, w.hva + SLOT - 1));
	ck_assert(!gmem_in_window(&m, w.hva + SLOT));
	ck_assert_int_eq(gmem_iov(&m, 0, 8, &ram), 0);
	ck_assert(!gmem_in_window(&m, ram.iov_base));

	memset(big, 'q', sizeof(big));
	ck_assert_int_eq(gmem_copy(&m, w.hva + 1, big, sizeof(big)), 0);
	ck_assert_int_eq(file_byte(fd, sizeof(big)), 'q');
	ck_assert_int_eq(file_byte(fd, sizeof(big) + 1), 'a');
	ck_assert_int_eq(gmem_copy(&m, back, w.hva + 1, sizeof(back)), 0);
	ck_assert_mem_eq(back, big, sizeof(big));
	ck_assert_int_eq(gmem_copy(&m, w.hva + SLOT / 2, w.hva, 8), 0);
	ck_assert_int_eq(gmem_copy(&m, w.hva, &c, 0), 0);

	bug_on(ftruncate(fd, PAGE) < 0);
	ck_assert_int_eq(gmem_copy(&m, back, w.hva + PAGE - 4, 8), -EFAULT);
	ck_assert_int_eq(gmem_copy(&m, w.hva + PAGE, big, 8), -EFAULT);
	ck_assert_int_eq(gmem_copy(&m, w.hva + PAGE - 4, big, 4), 0);
	/* Memory that is no window is copied as ever. */
	ck_assert_int_eq(gmem_copy(&m, ram.iov_base, "ram", 4), 0);
	ck_assert_int_eq(gmem_copy(NULL, back, "any", 4), 0);
	ck_assert_str_eq(back, "any");
	base_closep(&fd);
	gmem_done(&m);
	window_done(&w);
}
END_TEST

static uint64_t place(struct arch *a, struct gmem *m, uint64_t len)
{
	uint64_t at = 0;

	if (arch_place_window(a, m, len, &at, NULL) < 0)
		return 0;
	ck_assert_int_eq(gmem_add_window(m, at, (void *)8, len, "t", NULL), 0);
	return at;
}

/* Of 36 bits, which is what a processor has at least. */
START_TEST(windows_lie_above_ram_one_behind_the_other)
{
	const struct arch_config ac = { .n_cpus = 1, .n_pins = 1 };
	const uint64_t gib = 1ull << 30;
	struct gmem low = { .fd = -1, .n = 1 }, high = { .fd = -1, .n = 2 };
	struct arch *a;

	ck_assert_int_eq(arch_new(&a, &ac, NULL), 0);
	low.region[0].len = 512 << 20;
	ck_assert_uint_eq(place(a, &low, 64 << 20), 4 * gib);
	ck_assert_uint_eq(place(a, &low, gib), 4 * gib + (64 << 20));
	ck_assert_uint_eq(place(a, &low, 2 << 20), 5 * gib + (64 << 20));

	high.region[0].len = 3 * gib;
	high.region[1].gpa = 4 * gib;
	high.region[1].len = 58 * gib + 4096;
	ck_assert_uint_eq(place(a, &high, gib), 62 * gib + (128 << 20));
	ck_assert_uint_eq(place(a, &high, gib), 0);
	ck_assert_uint_eq(place(a, &high, 896 << 20), 63 * gib + (128 << 20));
	ck_assert_uint_eq(place(a, &high, 2 << 20), 0);
	/* None of it is memory. */
	low.n = 0;
	high.n = 0;
	gmem_done(&low);
	gmem_done(&high);
	arch_free(a);
}
END_TEST

START_TEST(tending_mends_and_heals_whatever_is_there)
{
	struct window w;
	int fd = file_of(2 * PAGE, 'a');

	make(&w, 1);
	ck_assert(!window_tend(&w));
	ck_assert_int_eq(map(&w, 0, SLOT, fd, 0, true), 0);
	ck_assert(window_tend(&w));
	ck_assert_int_eq(byte_at(&w, 2 * PAGE), 0);
	/* Of another file, by what it is told. */
	bug_on(pwrite(fd, "b", 1, 2 * PAGE) != 1);
	window_heal(&w, 8);
	ck_assert_int_eq(byte_at(&w, 2 * PAGE), 0);
	ck_assert(window_tend(&w));
	ck_assert_int_eq(byte_at(&w, 2 * PAGE), 'b');
	ck_assert_int_eq(byte_at(&w, 3 * PAGE), 0);
	ck_assert_int_eq(window_unmap(&w, 0, SLOT), 0);
	ck_assert(!window_tend(&w));
	base_closep(&fd);
	window_done(&w);
}
END_TEST

static unsigned int n_mappings(const struct window *w)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512], *end;
	unsigned int n = 0;

	bug_on(!f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long from = strtoul(line, &end, 16), to;

		bug_on(*end != '-');
		to = strtoul(end + 1, &end, 16);
		n += from < (uintptr_t)w->hva + w->len &&
		     to > (uintptr_t)w->hva;
	}
	(void)fclose(f);
	return n;
}

/* Page by page, with pages in between that a guest has written. */
START_TEST(file_that_grows_slowly_is_at_most_two_mappings)
{
	struct window w;
	int fd = file_of(PAGE, 'a');

	make(&w, 2);
	ck_assert_int_eq(map(&w, 0, SLOT, fd, 0, true), 0);
	ck_assert_int_eq(map(&w, SLOT, SLOT, fd, 0, false), 0);
	for (unsigned int i = 1; i < 100; i++) {
		ck_assert_uint_le(window_mend(&w), 2);
		ck_assert_int_eq(poke(&w, SLOT + (i - 1) * PAGE, 'x'), 0);
		bug_on(ftruncate(fd, (i + 1) * (off_t)PAGE) < 0);
		window_heal(&w, 7);
		ck_assert_int_eq(poke(&w, i * PAGE, 'g'), 0);
		ck_assert_int_eq(file_byte(fd, i * (off_t)PAGE), 'g');
	}
	ck_assert_uint_le(n_mappings(&w), 6);
	base_closep(&fd);
	window_done(&w);
}
END_TEST

/**
 * struct race - Threads at one window
 * @over:	They are to end
 */
struct race {
	struct window w;
	int fd;
	atomic_bool over;
};

static void *mender(void *arg)
{
	struct race *t = arg;

	while (!atomic_load(&t->over)) {
		(void)window_mend(&t->w);
		window_heal_all(&t->w);
	}
	return NULL;
}

static void *mapper(void *arg)
{
	struct race *t = arg;

	while (!atomic_load(&t->over)) {
		bug_on(map(&t->w, 0, SLOT, t->fd, 0, true) < 0);
		bug_on(window_unmap(&t->w, 0, SLOT) < 0);
	}
	return NULL;
}

START_TEST(truncating_mending_and_mapping_at_once)
{
	struct race t = { .fd = file_of(4 * PAGE, 'a') };
	pthread_t id[3];

	make(&t.w, 2);
	atomic_init(&t.over, false);
	bug_on(pthread_create(&id[0], NULL, mender, &t) != 0);
	bug_on(pthread_create(&id[1], NULL, mender, &t) != 0);
	bug_on(pthread_create(&id[2], NULL, mapper, &t) != 0);
	for (unsigned int i = 0; i < 300; i++) {
		ck_assert_int_eq(map(&t.w, SLOT, SLOT, t.fd, 0, true), 0);
		bug_on(ftruncate(t.fd, 0) < 0);
		(void)byte_at(&t.w, SLOT + PAGE);
		bug_on(ftruncate(t.fd, (off_t)SLOT) < 0);
	}
	atomic_store(&t.over, true);
	for (unsigned int i = 0; i < 3; i++)
		(void)pthread_join(id[i], NULL);
	window_heal_all(&t.w);
	ck_assert_int_eq(poke(&t.w, 2 * SLOT - 1, 'e'), 0);
	ck_assert_int_eq(file_byte(t.fd, (off_t)SLOT - 1), 'e');
	window_clear(&t.w);
	ck_assert_uint_eq(atomic_load(&t.w.n_mended), 0);
	base_closep(&t.fd);
	window_done(&t.w);
}
END_TEST

CHECK_MAIN("window", empty_slots_are_zeros_that_the_guest_may_write,
	   writable_file_is_shared_both_ways,
	   write_to_a_file_mapped_for_reading_stays_in_the_guest,
	   long_mapping_takes_many_slots, descriptors_are_given_back,
	   truncated_file_is_mended_with_zeros_and_healed_when_it_grows,
	   slot_ends_with_its_file_from_the_first,
	   mapping_that_fails_leaves_empty_slots,
	   bytes_of_a_window_are_copied_by_system_calls,
	   windows_lie_above_ram_one_behind_the_other,
	   tending_mends_and_heals_whatever_is_there,
	   file_that_grows_slowly_is_at_most_two_mappings,
	   truncating_mending_and_mapping_at_once)
