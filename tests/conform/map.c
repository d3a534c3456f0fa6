/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/map.c - files that are mapped */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/conform/conform.h"

#define LEN 8192u

static char *map(int fd, int prot, int flags)
{
	void *p = mmap(NULL, LEN, prot, flags, fd, 0);

	so(p != MAP_FAILED);
	return p;
}

static void put(char *to, const char *text)
{
	while (*text)
		*to++ = *text++;
}

static int long_file(void)
{
	int fd = open_file("f", O_RDWR | O_CREAT);

	write_text(fd, "first", 0);
	write_text(fd, "second", 4096);
	ok(ftruncate(fd, LEN));
	return fd;
}

static void write_is_seen_in_the_map(void)
{
	int fd = long_file();
	char *p = map(fd, PROT_READ, MAP_SHARED);

	so(memcmp(p, "first", 5) == 0);
	write_text(fd, "FIRST", 0);
	so(memcmp(p, "FIRST", 5) == 0);
	write_text(open_file("f", O_WRONLY), "SECOND", 4096);
	so(memcmp(p + 4096, "SECOND", 6) == 0);
}

static void map_is_seen_by_read(void)
{
	int fd = long_file();
	char *p = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);

	put(p, "FIRST");
	put(p + 4096, "SECOND");
	has_text(fd, "FIRST", 0);
	has_text(open_file("f", O_RDONLY), "SECOND", 4096);
}

static void two_maps_are_one(void)
{
	int fd = long_file();
	char *p = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
	char *q = map(open_file("f", O_RDONLY), PROT_READ, MAP_SHARED);

	put(p + 4090, "across pages");
	so(memcmp(q + 4090, "across pages", 12) == 0);
}

static void between_processes(void)
{
	int fd = long_file();
	char *p = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
	pid_t pid = child();

	if (pid == 0) {
		char *q = map(open_file("f", O_RDWR), PROT_READ | PROT_WRITE,
			      MAP_SHARED);

		put(q, "child");
		leave();
	}
	joined(pid);
	so(memcmp(p, "child", 5) == 0);
}

static void what_was_synced_is_there(void)
{
	int fd = long_file();
	char *p = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);

	put(p, "mapped");
	ok(msync(p, LEN, MS_SYNC));
	ok(munmap(p, LEN));
	ok(close(fd));
	fd = open_file("f", O_RDONLY);
	ok(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0 ? 0 : -1);
	has_text(fd, "mapped", 0);
	eq(LEN, stat_fd(fd).st_size);
}

static void without_sync_too(void)
{
	int fd = long_file();
	char *p = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);

	put(p, "mapped");
	ok(munmap(p, LEN));
	ok(close(fd));
	has_text(open_file("f", O_RDONLY), "mapped", 0);
}

static void writing_marks(void)
{
	int fd = long_file();
	char *p = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
	struct stat before = stat_fd(fd), after;

	tick();
	p[0] = 'x';
	ok(msync(p, LEN, MS_SYNC));
	after = stat_fd(fd);
	eq(CHANGED | WRITTEN, stamps(&before, &after) & ~(unsigned int)READ);
}

static void private_is_private(void)
{
	int fd = long_file();
	char *p = map(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	put(p, "FIRST");
	has_text(fd, "first", 0);
	write_text(fd, "SECOND", 4096);
	so(memcmp(p, "FIRST", 5) == 0);
}

static void denied(void)
{
	make_file("f", 0644);
	so(mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED,
		open_file("f", O_RDONLY), 0) == MAP_FAILED);
	eq(EACCES, errno);
	so(mmap(NULL, LEN, PROT_READ, MAP_SHARED, open_file("f", O_WRONLY),
		0) == MAP_FAILED);
	eq(EACCES, errno);
	(void)map(open_file("f", O_RDONLY), PROT_READ | PROT_WRITE,
		  MAP_PRIVATE);
}

static void of_a_folder(void)
{
	make_dir("d", 0755);
	so(mmap(NULL, LEN, PROT_READ, MAP_SHARED, open_file("d", O_RDONLY),
		0) == MAP_FAILED);
	eq(ENODEV, errno);
}

static void rest_of_the_last_page(void)
{
	char *p;
	int fd;

	make_file("f", 0644);
	fd = open_file("f", O_RDWR);
	p = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
	for (unsigned int i = TEXT_LEN; i < 4096; i++)
		so(p[i] == 0);
	p[TEXT_LEN] = 'x';
	ok(msync(p, 4096, MS_SYNC));
	eq(TEXT_LEN, stat_fd(fd).st_size);
	file_is("f", TEXT);
}

/* A page that lies behind the end of the file cannot be touched. */
static void touched_behind_the_end(volatile const char *p)
{
	pid_t pid = child();
	int status;

	if (pid == 0) {
		(void)signal(SIGBUS, SIG_DFL);
		_exit(p[4096] == 'x');
	}
	eq(pid, waitpid(pid, &status, 0));
	so(WIFSIGNALED(status));
	eq(SIGBUS, WTERMSIG(status));
}

static void behind_the_end(void)
{
	make_file("f", 0644);
	touched_behind_the_end(
		map(open_file("f", O_RDWR), PROT_READ, MAP_SHARED));
}

static void cut_while_mapped(void)
{
	int fd = long_file();
	char *p = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);

	p[4096] = 'x';
	ok(ftruncate(fd, 100));
	touched_behind_the_end(p);
	so(p[100] == 0);
	ok(ftruncate(fd, LEN));
	so(p[4096] == 0);
}

static void outlives_its_name(void)
{
	int fd = long_file();
	char *p = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);

	ok(close(fd));
	ok(unlink("f"));
	put(p, "still");
	so(memcmp(p + 4096, "second", 6) == 0);
	so(memcmp(p, "still", 5) == 0);
}

static void into_a_hole(void)
{
	int fd = open_file("f", O_RDWR | O_CREAT);
	char *p;

	ok(ftruncate(fd, LEN));
	p = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
	so(p[5000] == 0);
	put(p + 5000, "island");
	has_text(fd, "island", 5000);
}

static const struct rule map_rules[] = {
	RULE(write_is_seen_in_the_map),
	RULE(map_is_seen_by_read),
	RULE(two_maps_are_one),
	RULE(between_processes),
	RULE(what_was_synced_is_there),
	RULE(without_sync_too),
	RULE(writing_marks),
	RULE(private_is_private),
	RULE(denied),
	RULE(of_a_folder),
	RULE(rest_of_the_last_page),
	RULE(behind_the_end),
	RULE(cut_while_mapped),
	RULE(outlives_its_name),
	RULE(into_a_hole),
};

const struct rules map_set = RULES(map);
