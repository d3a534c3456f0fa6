/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/hole.c - holes: SEEK_DATA, SEEK_HOLE and fallocate() */
#include <string.h>

#include "tests/conform/conform.h"

#define MIB ((off_t)1 << 20)

/* "island" at 1 MiB of 2 MiB. */
static int sparse(void)
{
	int fd = open_file("f", O_RDWR | O_CREAT);

	write_text(fd, "island", MIB);
	ok(ftruncate(fd, 2 * MIB));
	ok(fsync(fd));
	return fd;
}

static void is_zero(int fd, off_t from, off_t to)
{
	char buf[4096];

	for (off_t at = from; at < to; at += (off_t)sizeof(buf)) {
		size_t n = MIN(sizeof(buf), (size_t)(to - at));

		eq(n, pread(fd, buf, n, at));
		for (size_t i = 0; i < n; i++)
			so(buf[i] == 0);
	}
}

static void takes_no_room(void)
{
	struct stat st = stat_fd(sparse());

	eq(2 * MIB, st.st_size);
	so(st.st_blocks > 0 && st.st_blocks < 1024);
}

static void data_is_found(void)
{
	int fd = sparse();
	off_t data = lseek(fd, 0, SEEK_DATA), hole;

	so(data > 0 && data <= MIB);
	eq(MIB, lseek(fd, MIB, SEEK_DATA));
	hole = lseek(fd, MIB, SEEK_HOLE);
	so(hole >= MIB + 6 && hole < 2 * MIB);
	eq(0, lseek(fd, 0, SEEK_HOLE));
	eq(hole, lseek(fd, hole, SEEK_HOLE));
	fails(ENXIO, lseek(fd, hole, SEEK_DATA));
}

static void beyond_the_end(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDONLY);
	fails(ENXIO, lseek(fd, TEXT_LEN, SEEK_DATA));
	fails(ENXIO, lseek(fd, TEXT_LEN, SEEK_HOLE));
	fails(ENXIO, lseek(fd, -1, SEEK_DATA));
	eq(TEXT_LEN, lseek(fd, 0, SEEK_HOLE));
	eq(3, lseek(fd, 3, SEEK_DATA));
	eq(3, lseek(fd, 0, SEEK_CUR));
}

static void room_is_made(void)
{
	struct stat before, after;
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	before = stat_fd(fd);
	tick();
	ok(fallocate(fd, 0, 0, MIB));
	after = stat_fd(fd);
	eq(MIB, after.st_size);
	so(after.st_blocks >= MIB / 512);
	eq(CHANGED | WRITTEN, stamps(&before, &after));
	has_text(fd, TEXT, 0);
	is_zero(fd, TEXT_LEN, MIB);
}

static void room_without_size(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	ok(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, MIB));
	eq(TEXT_LEN, stat_fd(fd).st_size);
	so(stat_fd(fd).st_blocks >= MIB / 512);
	file_is("f", TEXT);
}

static void hole_is_punched(void)
{
	static char buf[MIB];
	int fd = open_file("f", O_RDWR | O_CREAT);
	blkcnt_t blocks;

	memset(buf, 'x', sizeof(buf));
	eq(MIB, pwrite(fd, buf, MIB, 0));
	ok(fsync(fd));
	blocks = stat_fd(fd).st_blocks;
	ok(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096,
		     MIB - 8192));
	eq(MIB, stat_fd(fd).st_size);
	so(stat_fd(fd).st_blocks < blocks);
	is_zero(fd, 4096, MIB - 4096);
	has_text(fd, "x", 4095);
	has_text(fd, "x", MIB - 4096);
	eq(4096, lseek(fd, 0, SEEK_HOLE));
	eq(MIB - 4096, lseek(fd, 4096, SEEK_DATA));
}

static void hole_of_odd_size(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	ok(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2, 3));
	eq(TEXT_LEN, stat_fd(fd).st_size);
	has_text(fd, "co", 0);
	is_zero(fd, 2, 5);
	has_text(fd, "nt", 5);
	fails(EOPNOTSUPP, fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, 4096));
}

static void range_is_zeroed(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	ok(fallocate(fd, FALLOC_FL_ZERO_RANGE, 2, 3));
	has_text(fd, "co", 0);
	is_zero(fd, 2, 5);
	has_text(fd, "nt", 5);
	ok(fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, 8192));
	eq(8192, stat_fd(fd).st_size);
	is_zero(fd, 0, 8192);
}

static void what_makes_no_sense(void)
{
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	fails(EINVAL, fallocate(fd, 0, 0, 0));
	fails(EINVAL, fallocate(fd, 0, -1, 10));
	fails(EINVAL, fallocate(fd, 0, 0, -1));
	fails(EBADF, fallocate(open_file("f", O_RDONLY), 0, 0, 10));
	fails(EBADF, fallocate(-1, 0, 0, 10));
	make_dir("d", 0755);
	fails(EBADF, fallocate(open_file("d", O_RDONLY), 0, 0, 10));
	make(FIFO_, "p");
	fails(ESPIPE, fallocate(open_file("p", O_RDWR), 0, 0, 10));
	file_is("f", TEXT);
}

static void islands_in_ten_gib(void)
{
	static const off_t at[] = { 0, 5000 * MIB + 123, 10240 * MIB - 6 };
	int fd = open_file("f", O_RDWR | O_CREAT);

	for (unsigned int i = 0; i < ARRAY_LEN(at); i++)
		write_text(fd, "island", at[i]);
	eq(10240 * MIB, stat_fd(fd).st_size);
	so(stat_fd(fd).st_blocks < 1024);
	for (unsigned int i = 0; i < ARRAY_LEN(at); i++)
		has_text(fd, "island", at[i]);
	is_zero(fd, 3000 * MIB, 3000 * MIB + 4096);
}

static const struct rule hole_rules[] = {
	RULE(takes_no_room),       RULE(data_is_found),
	RULE(beyond_the_end),      RULE(room_is_made),
	RULE(room_without_size),   RULE(hole_is_punched),
	RULE(hole_of_odd_size),    RULE(range_is_zeroed),
	RULE(what_makes_no_sense), RULE(islands_in_ten_gib),
};

const struct rules hole_set = RULES(hole);
