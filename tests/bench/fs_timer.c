/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/bench/fs_timer.c - time operations on files; static
 *
 *	fs_timer make DIR
 *	fs_timer time DIR
 *
 * The first makes DIR with the files that are wanted.  The second times each
 * operation on them: see timing.h.  As the first process of a guest it does so in
 * the share whose tag is "share".
 *
 * What is to be cold is dropped from the caches first, so it has to be root's.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "common/base.h"
#include "tests/bench/timing.h"

#define FILES     100u
#define NAMES     1000u
#define BIG_FILES 4u
#define KIB4      4096u
#define MIB       (1u << 20)

/* No file system knows it: it goes all the way to be refused. */
#define NO_IOCTL _IO('h', 0x77)

static const struct timing timing = { .what = "fs", .pause_ms = 100 };

__attribute__((noreturn)) static void die(const char *what)
{
	timing_die(&timing, what);
}

static const char *name_of(const char *what, unsigned int i)
{
	static char name[64];

	(void)snprintf(name, sizeof(name), "%s-%u", what, i);
	return name;
}

static int open_or_die(const char *name, int flags)
{
	int fd = open(name, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		die(name);
	return fd;
}

static void drop_caches(void)
{
	int fd = open_or_die("/proc/sys/vm/drop_caches", O_WRONLY);

	sync();
	if (write(fd, "3", 1) != 1)
		die("drop_caches");
	(void)close(fd);
}

static uint8_t *data(void)
{
	static uint8_t bytes[MIB];

	return bytes;
}

static void make(const char *what, unsigned int n, size_t len)
{
	for (unsigned int i = 0; i < n; i++) {
		int fd = open_or_die(name_of(what, i), O_WRONLY | O_CREAT);

		if (write(fd, data(), len) != (ssize_t)len)
			die("write");
		(void)close(fd);
	}
}

/* ---- The operations, each done @n times ---- */

/* What the way to the server and back takes, and nothing besides. */
static void go_and_return(unsigned int n)
{
	int fd = open_or_die("small-0", O_RDONLY);

	for (unsigned int i = 0; i < n; i++)
		if (ioctl(fd, NO_IOCTL) == 0)
			die("ioctl");
	(void)close(fd);
}

static void look_up(unsigned int n)
{
	struct stat st;

	for (unsigned int i = 0; i < n; i++)
		if (stat(name_of("small", i), &st) < 0)
			die("stat");
}

/* Of what is known, but asked for anew. */
static void get_attributes(unsigned int n)
{
	struct statx st;

	for (unsigned int i = 0; i < n; i++)
		if (statx(AT_FDCWD, "small-0", AT_STATX_FORCE_SYNC,
			  STATX_BASIC_STATS, &st) < 0)
			die("statx");
}

static void read_files(const char *what, unsigned int n, size_t len)
{
	for (unsigned int i = 0; i < n; i++) {
		int fd = open_or_die(name_of(what, i), O_RDONLY);

		if (read(fd, data(), len) != (ssize_t)len)
			die("read");
		(void)close(fd);
	}
}

static void read_small(unsigned int n)
{
	read_files("small", n, KIB4);
}

static void read_big(unsigned int n)
{
	read_files("big", n, MIB);
}

static void create(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		(void)close(open_or_die(name_of("new", i),
					O_WRONLY | O_CREAT | O_EXCL));
}

static void remove_all(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (unlink(name_of("new", i)) < 0)
			die("unlink");
}

/* Of one file, one behind the other; only that is timed, not its opening. */
static void write_pieces(int fd, unsigned int n, size_t len)
{
	for (unsigned int i = 0; i < n; i++)
		if (pwrite(fd, data(), len, (off_t)len * i) != (ssize_t)len)
			die("pwrite");
}

static void write_small(unsigned int n)
{
	int fd = open_or_die("written-small", O_RDWR | O_CREAT);

	write_pieces(fd, n, KIB4);
	(void)close(fd);
}

static void write_big(unsigned int n)
{
	int fd = open_or_die("written-big", O_RDWR | O_CREAT);

	write_pieces(fd, n, MIB);
	(void)close(fd);
}

static void list(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		unsigned int names = 0;
		DIR *d = opendir("many");

		if (!d)
			die("many");
		while (readdir(d))
			names++;
		(void)closedir(d);
		if (names != NAMES + 2)
			die("readdir");
	}
}

static void make_many(void)
{
	char name[64];

	if (mkdir("many", 0755) < 0)
		die("many");
	for (unsigned int i = 0; i < NAMES; i++) {
		(void)snprintf(name, sizeof(name), "many/name-%u", i);
		(void)close(open_or_die(name, O_WRONLY | O_CREAT));
	}
}

/* What is to be known of the files before. */
enum before {
	AS_IT_IS,
	COLD,   /* nothing */
	TOUCHED /* all that doing it once more leaves behind */
};

/**
 * struct timed - An operation
 * @n:		How often
 * @bytes:	That each moves
 */
static const struct timed {
	const char *name;
	void (*run)(unsigned int n);
	unsigned int n;
	unsigned int bytes;
	enum before before;
} timed[] = {
	{ "round-trip", go_and_return, FILES, 0, AS_IT_IS },
	{ "lookup", look_up, FILES, 0, COLD },
	{ "stat", get_attributes, FILES, 0, AS_IT_IS },
	{ "open-read-4K", read_small, FILES, KIB4, COLD },
	{ "open-read-4K-again", read_small, FILES, KIB4, TOUCHED },
	{ "open-read-1M", read_big, BIG_FILES, MIB, COLD },
	{ "open-read-1M-again", read_big, BIG_FILES, MIB, TOUCHED },
	{ "create", create, FILES, 0, AS_IT_IS },
	{ "write-4K", write_small, FILES, KIB4, AS_IT_IS },
	{ "write-4K-again", write_small, FILES, KIB4, TOUCHED },
	{ "write-1M", write_big, BIG_FILES, MIB, AS_IT_IS },
	{ "write-1M-again", write_big, BIG_FILES, MIB, TOUCHED },
	{ "readdir-1000", list, 1, 0, COLD },
	{ "unlink", remove_all, FILES, 0, AS_IT_IS },
};

static void time_one(const struct timed *t)
{
	int64_t start;

	if (t->before == COLD)
		drop_caches();
	if (t->before == TOUCHED)
		t->run(t->n);
	start = timing_begin(&timing, t->name);
	t->run(t->n);
	timing_done(&timing, t->name, t->n, t->bytes, start);
}

static void be_first(void)
{
	(void)mkdir("/proc", 0755);
	(void)mkdir("/dev", 0755);
	(void)mkdir("/share", 0755);
	if (mount("dev", "/dev", "devtmpfs", 0, NULL) < 0 ||
	    mount("proc", "/proc", "proc", 0, NULL) < 0 ||
	    mount("share", "/share", "virtiofs", 0, NULL) < 0)
		die("mount");
}

static void make_all(const char *dir)
{
	if (mkdir(dir, 0755) < 0 || chdir(dir) < 0)
		die(dir);
	make("small", FILES, KIB4);
	make("big", BIG_FILES, MIB);
	make_many();
}

static void time_all(const char *dir)
{
	if (chdir(dir) < 0)
		die(dir);
	timing_rest(&timing);
	for (unsigned int i = 0; i < ARRAY_LEN(timed); i++)
		time_one(&timed[i]);
	timing_say("fs done\n");
}

int main(int argc, char **argv)
{
	if (getpid() == 1) {
		be_first();
		time_all("/share");
	} else if (argc == 3 && strcmp(argv[1], "make") == 0) {
		make_all(argv[2]);
	} else if (argc == 3 && strcmp(argv[1], "time") == 0) {
		time_all(argv[2]);
	} else {
		return 2;
	}
	timing_end(0);
}
