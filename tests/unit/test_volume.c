/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_volume.c - named volumes, and trees in the mapped layout */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "common/mapped.h"
#include "common/rmtree.h"
#include "host/lib/maptree.h"
#include "host/lib/volume.h"
#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

/** struct tree - A tree like an image's, in the environment's folder */
struct tree {
	struct host_env v;
	int fd;
};

static void set_stat(int fd, uint32_t mode, uint32_t uid)
{
	const struct mapped_stat st = { .mode = mode, .uid = uid, .gid = 7 };
	uint8_t buf[MAPPED_STAT_LEN];

	mapped_put(&st, buf);
	ck_assert_int_eq(fsetxattr(fd, MAPPED_STAT, buf, sizeof(buf), 0), 0);
}

static int make_folder(int at, const char *name)
{
	int fd;

	ck_assert_int_eq(mkdirat(at, name, 0700), 0);
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	set_stat(fd, S_IFDIR | 0750, 1000);
	return fd;
}

static void make_file(int at, const char *name, uint32_t type, const char *text)
{
	int fd =
		openat(at, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	set_stat(fd, type | 0644, 33);
	(void)close(fd);
}

static void begin(struct tree *t)
{
	int top, www, fd;

	host_env_init(&t->v);
	top = host_env_dirfd(&t->v);
	t->fd = make_folder(top, "tree");
	(void)close(top);
	www = make_folder(t->fd, "www");
	make_file(www, "index", S_IFREG, "hello");
	make_file(www, "link", S_IFLNK, "/etc/passwd");
	make_file(www, "pipe", S_IFIFO, "");
	(void)close(make_folder(www, "sub"));
	fd = openat(www, "sparse", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_eq(pwrite(fd, "end", 3, 64 << 20), 3);
	(void)close(fd);
	(void)close(www);
	make_file(t->fd, "abs", S_IFLNK, "/www/sub");
	make_file(t->fd, "rel", S_IFLNK, "./www/../abs");
	make_file(t->fd, "out", S_IFLNK, "../../../..");
	make_file(t->fd, "loop", S_IFLNK, "/loop");
	make_file(t->fd, "file", S_IFREG, "/www");
}

static void end(struct tree *t)
{
	(void)close(t->fd);
	host_env_done(&t->v);
}

START_TEST(paths_are_followed_within_the_tree)
{
	static const struct {
		const char *path;
		const char *want; /* NULL: @code */
		int code;
	} v[] = {
		{ "/", "", 0 },
		{ "/www", "/www", 0 },
		{ "//www/./sub/", "/www/sub", 0 },
		{ "/abs", "/www/sub", 0 },
		{ "/rel/..", "/www", 0 },
		/* Above its root there is nothing. */
		{ "/../../www", "/www", 0 },
		{ "/out/www", "/www", 0 },
		{ "/loop", NULL, -ELOOP },
		{ "/file", NULL, -ENOTDIR },
		{ "/file/x", NULL, -ENOTDIR },
		{ "/www/pipe", NULL, -ENOTDIR },
		{ "/none", NULL, -ENOENT },
		{ "/www/link", NULL, -ENOENT },
	};
	char base[PATH_MAX], got[PATH_MAX], proc[64];
	struct tree t;

	begin(&t);
	(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", t.fd);
	ck_assert_int_gt(
		readlink(proc, memset(base, 0, sizeof(base)), sizeof(base) - 1),
		0);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		int fd = maptree_find(t.fd, v[i].path);

		if (!v[i].want) {
			ck_assert_msg(fd == v[i].code, "%s: %d", v[i].path, fd);
			continue;
		}
		ck_assert_msg(fd >= 0, "%s: %d", v[i].path, fd);
		(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
		ck_assert_int_gt(readlink(proc, memset(got, 0, sizeof(got)),
					  sizeof(got) - 1),
				 0);
		ck_assert_str_eq(got + strlen(base), v[i].want);
		(void)close(fd);
	}
	end(&t);
}
END_TEST

/* A name of the host's that is a link leads nowhere. */
START_TEST(links_of_the_host_are_not_followed)
{
	struct tree t;

	begin(&t);
	ck_assert_int_eq(symlinkat("/", t.fd, "real"), 0);
	ck_assert_int_eq(maptree_find(t.fd, "/real"), -ELOOP);
	ck_assert_int_eq(maptree_find(t.fd, "/real/etc"), -ELOOP);
	end(&t);
}
END_TEST

static void same_attr(int a, int b, const char *name)
{
	uint8_t x[MAPPED_STAT_LEN], y[MAPPED_STAT_LEN];
	int fa = openat(a, name, O_RDONLY | O_CLOEXEC);
	int fb = openat(b, name, O_RDONLY | O_CLOEXEC);
	struct stat sa, sb;

	ck_assert_int_ge(fa, 0);
	ck_assert_int_ge(fb, 0);
	ck_assert_int_eq(fgetxattr(fa, MAPPED_STAT, x, sizeof(x)), sizeof(x));
	ck_assert_int_eq(fgetxattr(fb, MAPPED_STAT, y, sizeof(y)), sizeof(y));
	ck_assert_mem_eq(x, y, sizeof(x));
	ck_assert_int_eq(fstat(fa, &sa) | fstat(fb, &sb), 0);
	ck_assert_int_eq(sa.st_mtim.tv_nsec, sb.st_mtim.tv_nsec);
	ck_assert_int_eq(sa.st_size, sb.st_size);
	(void)close(fa);
	(void)close(fb);
}

START_TEST(a_new_volume_is_filled_once)
{
	struct hutch_volume **list;
	struct stat st;
	struct tree t;
	struct err e;
	int fd, www;

	begin(&t);
	fd = volume_open(t.v.h, "web_1.data", t.fd, "/www", false, &e);
	ck_assert_msg(fd >= 0, "%s", e.msg);
	www = openat(t.fd, "www", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	same_attr(www, fd, "index");
	same_attr(www, fd, "link");
	same_attr(www, fd, "sub");
	same_attr(www, fd, ".");
	ck_assert_int_eq(fstatat(fd, "sparse", &st, 0), 0);
	ck_assert_int_eq(st.st_size, (64 << 20) + 3);
	ck_assert_int_lt(st.st_blocks, 1024);
	(void)close(www);

	/* What has something in it stays as it is. */
	ck_assert_int_eq(unlinkat(fd, "index", 0), 0);
	(void)close(fd);
	fd = volume_open(t.v.h, "web_1.data", t.fd, "/www", false, &e);
	ck_assert_int_lt(faccessat(fd, "index", F_OK, 0), 0);

	ck_assert_int_eq(hutch_volume_remove(t.v.h, "web_1.data", 0, &t.v.e),
			 -EBUSY);
	ck_assert_int_eq(hutch_volume_list(t.v.h, &list, &t.v.e), 1);
	ck_assert_str_eq(list[0]->name, "web_1.data");
	ck_assert_int_eq(list[0]->in_use, 1);
	hutch_volume_list_free(list);
	(void)close(fd);
	ck_assert_int_eq(hutch_volume_remove(t.v.h, "web_1.data", 0, &t.v.e),
			 0);
	ck_assert_int_eq(hutch_volume_remove(t.v.h, "web_1.data", 0, &t.v.e),
			 -ENOENT);
	end(&t);
}
END_TEST

START_TEST(a_file_with_several_names_stays_one)
{
	static const char *const names[] = { "index", "same", "sub/same" };
	struct stat st[3], one;
	int fd, www, outside;
	struct tree t;
	struct err e;

	begin(&t);
	www = openat(t.fd, "www", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(linkat(www, "index", www, "same", 0), 0);
	ck_assert_int_eq(linkat(www, "index", www, "sub/same", 0), 0);
	/* A symlink of the guest's is a file like any other. */
	ck_assert_int_eq(linkat(www, "link", www, "sub/link", 0), 0);
	/* One that has its other name elsewhere is alone. */
	outside = make_folder(t.fd, "outside");
	ck_assert_int_eq(linkat(www, "pipe", outside, "pipe", 0), 0);
	(void)close(outside);
	(void)close(www);

	fd = volume_open(t.v.h, "v", t.fd, "/www", false, &e);
	ck_assert_msg(fd >= 0, "%s", e.msg);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		ck_assert_int_eq(fstatat(fd, names[i], &st[i], 0), 0);
		ck_assert_uint_eq(st[i].st_nlink, 3);
		ck_assert_uint_eq(st[i].st_ino, st[0].st_ino);
		ck_assert_int_eq(st[i].st_size, 5);
	}
	ck_assert_int_eq(fstatat(fd, "sub/link", &one, 0), 0);
	ck_assert_uint_eq(one.st_nlink, 2);
	ck_assert_int_eq(fstatat(fd, "pipe", &one, 0), 0);
	ck_assert_uint_eq(one.st_nlink, 1);
	(void)close(fd);
	end(&t);
}
END_TEST

#define FAR_NAME   250
#define FAR_LEVELS (PATH_MAX / FAR_NAME + 1)

/* Neither name can be found from the top: then both are there, apart. */
START_TEST(a_second_name_too_far_down_is_a_file_of_its_own)
{
	char name[FAR_NAME + 1];
	int fd, next, far, copy;
	struct stat st;
	struct tree t;

	begin(&t);
	memset(name, 'n', FAR_NAME);
	name[FAR_NAME] = '\0';
	far = make_folder(t.fd, "far");
	fd = dup(far);
	for (int i = 0; i < FAR_LEVELS; i++) {
		next = make_folder(fd, name);
		(void)close(fd);
		fd = next;
	}
	make_file(fd, "a", S_IFREG, "text");
	ck_assert_int_eq(linkat(fd, "a", fd, "b", 0), 0);
	(void)close(fd);
	copy = make_folder(t.fd, "copy");
	ck_assert_int_eq(maptree_copy(far, copy), 0);
	(void)close(far);
	for (int i = 0; i < FAR_LEVELS; i++) {
		next = openat(copy, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ck_assert_int_ge(next, 0);
		(void)close(copy);
		copy = next;
	}
	ck_assert_int_eq(fstatat(copy, "a", &st, 0), 0);
	ck_assert_uint_eq(st.st_nlink, 1);
	ck_assert_int_eq(fstatat(copy, "b", &st, 0), 0);
	ck_assert_int_eq(st.st_size, 4);
	(void)close(copy);
	ck_assert_int_eq(rmtree(t.fd, "far"), 0);
	ck_assert_int_eq(rmtree(t.fd, "copy"), 0);
	end(&t);
}
END_TEST

/* Whoever uses it has it open: it is not to be exchanged under him. */
START_TEST(an_empty_volume_that_is_used_is_not_filled)
{
	struct tree t;
	struct err e;
	int a, b;

	begin(&t);
	a = volume_open(t.v.h, "v", -1, "/www", false, &e);
	ck_assert_msg(a >= 0, "%s", e.msg);
	b = volume_open(t.v.h, "v", t.fd, "/www", false, &e);
	ck_assert_int_ge(b, 0);
	ck_assert(maptree_is_empty(b));
	(void)close(a);
	(void)close(b);
	/* Nor with what is no folder in the image. */
	b = volume_open(t.v.h, "v", t.fd, "/file", false, &e);
	ck_assert_int_ge(b, 0);
	ck_assert(maptree_is_empty(b));
	(void)close(b);
	end(&t);
}
END_TEST

/* ulimit -n may be little more than that: one for a level, and some. */
START_TEST(a_deep_folder_takes_a_descriptor_a_level)
{
	struct rlimit old, low;
	int fd, next, copy;
	struct tree t;

	begin(&t);
	fd = make_folder(t.fd, "deep");
	for (int i = 1; i < MAPTREE_DEPTH_MAX; i++) {
		next = make_folder(fd, "d");
		(void)close(fd);
		fd = next;
	}
	make_file(fd, "end", S_IFREG, "end");
	(void)close(fd);
	fd = openat(t.fd, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	copy = make_folder(t.fd, "copy");
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = (rlim_t)copy + MAPTREE_DEPTH_MAX + 8;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	ck_assert_int_eq(maptree_copy(fd, copy), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	(void)close(fd);
	for (int i = 1; i < MAPTREE_DEPTH_MAX; i++) {
		next = openat(copy, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ck_assert_int_ge(next, 0);
		(void)close(copy);
		copy = next;
	}
	ck_assert_int_eq(faccessat(copy, "end", F_OK, 0), 0);
	(void)close(copy);
	end(&t);
}
END_TEST

static int folder_of(struct tree *t, const char *name)
{
	char path[4300];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/s/data/volumes/%s", t->v.dir,
		       name);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static void *open_filled(void *arg)
{
	struct tree *t = arg;
	struct err e;
	int fd = volume_open(t->v.h, "v", t->fd, "/www", false, &e);

	ck_assert_msg(fd >= 0, "%s", e.msg);
	ck_assert_int_eq(faccessat(fd, "index", F_OK, 0), 0);
	(void)close(fd);
	return NULL;
}

/* As it would be by another process: alone, and for as long as it takes. */
START_TEST(a_volume_that_is_filled_is_waited_for_and_no_other)
{
	pthread_t waits;
	struct tree t;
	struct err e;
	int fd, other, tmp, stage;

	begin(&t);
	ck_assert_int_eq(hutch_volume_create(t.v.h, "v", NULL, &t.v.e), 0);
	tmp = folder_of(&t, "tmp");
	stage = make_folder(tmp, "0123456789abcdef");
	ck_assert_int_eq(flock(stage, LOCK_EX | LOCK_NB), 0);
	fd = folder_of(&t, "name/v");
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	ck_assert_int_eq(pthread_create(&waits, NULL, open_filled, &t), 0);

	other = volume_open(t.v.h, "other", t.fd, "/www", false, &e);
	ck_assert_msg(other >= 0, "%s", e.msg);
	(void)close(other);
	ck_assert_int_eq(hutch_volume_remove(t.v.h, "other", 0, &t.v.e), 0);
	ck_assert_int_eq(hutch_volume_remove(t.v.h, "v", 0, &t.v.e), -EBUSY);
	ck_assert_int_eq(faccessat(tmp, "0123456789abcdef", F_OK, 0), 0);

	/* The other gives up: then whoever has waited does it. */
	(void)close(fd);
	ck_assert_int_eq(pthread_join(waits, NULL), 0);
	(void)close(stage);
	ck_assert_int_eq(hutch_volume_create(t.v.h, "v", NULL, &t.v.e), 0);
	ck_assert_int_lt(faccessat(tmp, "0123456789abcdef", F_OK, 0), 0);
	(void)close(tmp);
	end(&t);
}
END_TEST

START_TEST(volumes_have_plain_names)
{
	static const char *const good[] = { "a", "9", "A_b.c-d", NULL };
	static const char *const bad[] = { "",         ".",   "..",  "-a",
					   "_a",       "a/b", "a b", "a:b",
					   "\xc3\xa4", NULL };
	char name[HUTCH_VOLUME_NAME_MAX + 2];
	struct host_env v;

	host_env_init(&v);
	for (size_t i = 0; good[i]; i++)
		ck_assert_int_eq(hutch_volume_create(v.h, good[i], NULL, &v.e),
				 0);
	for (size_t i = 0; bad[i]; i++) {
		ck_assert_int_eq(hutch_volume_create(v.h, bad[i], NULL, &v.e),
				 -EINVAL);
		ck_assert_int_eq(hutch_volume_remove(v.h, bad[i], 0, &v.e),
				 -EINVAL);
	}
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ck_assert_int_eq(hutch_volume_create(v.h, name, NULL, &v.e), -EINVAL);
	name[HUTCH_VOLUME_NAME_MAX] = '\0';
	ck_assert_int_eq(hutch_volume_create(v.h, name, NULL, &v.e), 0);
	/* Again is no mistake. */
	ck_assert_int_eq(hutch_volume_create(v.h, name, NULL, &v.e), 0);
	host_env_done(&v);
}
END_TEST

START_TEST(what_a_crash_left_is_swept_away)
{
	char path[4200], sub[4300];
	struct host_env v;

	host_env_init(&v);
	ck_assert_int_eq(hutch_volume_create(v.h, "a", NULL, &v.e), 0);
	(void)snprintf(path, sizeof(path), "%s/s/data/volumes/tmp/dead", v.dir);
	(void)snprintf(sub, sizeof(sub), "%s/sub", path);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(mkdir(sub, 0700), 0);
	ck_assert_int_eq(hutch_volume_create(v.h, "a", NULL, &v.e), 0);
	ck_assert_int_lt(access(path, F_OK), 0);
	host_env_done(&v);
}
END_TEST

static struct hutch_volume_opts sized(uint64_t bytes)
{
	struct hutch_volume_opts o = HUTCH_VOLUME_OPTS_INIT;

	o.bytes = bytes;
	return o;
}

START_TEST(a_size_is_there_from_the_first_and_stays)
{
	const struct hutch_volume_opts some = sized(70 << 20),
				       more = sized(71 << 20);
	struct hutch_volume **list;
	uint64_t bytes = 0;
	struct tree t;
	struct err e;
	int fd;

	begin(&t);
	ck_assert_int_eq(hutch_volume_create(t.v.h, "v", &some, &t.v.e), 0);
	ck_assert_int_eq(hutch_volume_create(t.v.h, "v", &some, &t.v.e), 0);
	ck_assert_int_eq(hutch_volume_create(t.v.h, "v", NULL, &t.v.e), 0);
	ck_assert_int_eq(hutch_volume_create(t.v.h, "v", &more, &t.v.e),
			 -EEXIST);
	ck_assert_int_eq(hutch_volume_create(t.v.h, "w", NULL, &t.v.e), 0);
	ck_assert_int_eq(hutch_volume_create(t.v.h, "w", &more, &t.v.e),
			 -EEXIST);
	/* What it is filled with takes its place, and not its size. */
	fd = volume_open(t.v.h, "v", t.fd, "/www", false, &e);
	ck_assert_msg(fd >= 0, "%s", e.msg);
	ck_assert_int_eq(faccessat(fd, "index", F_OK, 0), 0);
	ck_assert_int_eq(volume_size(fd, &bytes), 0);
	ck_assert_uint_eq(bytes, 70 << 20);
	/* The folder, "index", "link" and "sub": a sparse file is as full. */
	ck_assert_int_ge(volume_used(fd), (64 << 20) + 4 * 4096);
	(void)close(fd);
	ck_assert_int_eq(hutch_volume_list(t.v.h, &list, &t.v.e), 2);
	ck_assert_uint_eq(list[0]->bytes, 70 << 20);
	ck_assert_int_gt(list[0]->used_bytes, 64 << 20);
	ck_assert_int_eq(list[0]->in_use, 0);
	ck_assert_uint_eq(list[1]->bytes, 0);
	ck_assert_int_eq(list[1]->used_bytes, -1);
	hutch_volume_list_free(list);
	end(&t);
}
END_TEST

/* Neither by its bytes nor by its files, and nothing of it stays. */
START_TEST(what_is_too_small_is_not_filled)
{
	const struct hutch_volume_opts small = sized(64 << 20),
				       least = sized(1 << 20);
	static const char *const names[] = { "v", "w" };
	static const char *const folders[] = { "/www", "/many" };
	char name[16];
	struct tree t;
	struct err e;
	int fd, many;

	begin(&t);
	many = make_folder(t.fd, "many");
	for (int i = 0; i < 64; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		make_file(many, name, S_IFREG, "");
	}
	ck_assert_int_eq(hutch_volume_create(t.v.h, "v", &small, &t.v.e), 0);
	ck_assert_int_eq(hutch_volume_create(t.v.h, "w", &least, &t.v.e), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		ck_assert_int_eq(volume_open(t.v.h, names[i], t.fd, folders[i],
					     false, &e),
				 -ENOSPC);
		ck_assert_msg(strstr(e.msg, "too small for what the image has"),
			      "%s", e.msg);
		fd = volume_open(t.v.h, names[i], -1, "/", false, &e);
		ck_assert_msg(fd >= 0, "%s", e.msg);
		ck_assert(maptree_is_empty(fd));
		(void)close(fd);
	}
	/* With the folder that is one for each 16 KiB. */
	ck_assert_int_eq(unlinkat(many, "0", 0), 0);
	(void)close(many);
	fd = volume_open(t.v.h, "w", t.fd, "/many", false, &e);
	ck_assert_msg(fd >= 0, "%s", e.msg);
	(void)close(fd);
	fd = folder_of(&t, "tmp");
	ck_assert(maptree_is_empty(fd));
	(void)close(fd);
	end(&t);
}
END_TEST

START_TEST(a_size_is_for_one_who_writes_or_for_those_who_read)
{
	const struct hutch_volume_opts o = sized(1 << 20);
	struct hutch_volume **list;
	int writer, a, b;
	struct tree t;
	struct err e;

	begin(&t);
	ck_assert_int_eq(hutch_volume_create(t.v.h, "v", &o, &t.v.e), 0);
	writer = volume_open(t.v.h, "v", -1, "/", false, &e);
	ck_assert_msg(writer >= 0, "%s", e.msg);
	for (int ro = 0; ro < 2; ro++) {
		ck_assert_int_eq(volume_open(t.v.h, "v", -1, "/", ro, &e),
				 -EBUSY);
		ck_assert_msg(strstr(e.msg, "only one VM at a time"), "%s",
			      e.msg);
	}
	/* Others are there all the while. */
	ck_assert_int_eq(hutch_volume_list(t.v.h, &list, &t.v.e), 1);
	ck_assert_int_eq(list[0]->in_use, 1);
	ck_assert_int_eq(list[0]->used_bytes, 4096);
	hutch_volume_list_free(list);
	ck_assert_int_eq(hutch_volume_remove(t.v.h, "v", 0, &t.v.e), -EBUSY);
	(void)close(writer);

	a = volume_open(t.v.h, "v", -1, "/", true, &e);
	b = volume_open(t.v.h, "v", -1, "/", true, &e);
	ck_assert_int_ge(a, 0);
	ck_assert_int_ge(b, 0);
	ck_assert_int_eq(volume_open(t.v.h, "v", -1, "/", false, &e), -EBUSY);
	(void)close(a);
	(void)close(b);
	writer = volume_open(t.v.h, "v", -1, "/", false, &e);
	ck_assert_int_ge(writer, 0);
	(void)close(writer);
	end(&t);
}
END_TEST

START_TEST(a_size_that_makes_no_sense_is_refused)
{
	static const char *const texts[] = { "",
					     "0",
					     "-1",
					     "1048575",
					     "1M",
					     "9223372036854775808",
					     "184467440737095516160",
					     "5 " };
	static const uint64_t wrong[] = { 1, (1 << 20) - 1,
					  (uint64_t)INT64_MAX + 1 };
	struct hutch_volume_opts o;
	uint64_t bytes;
	struct tree t;
	struct err e;
	int fd;

	begin(&t);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		o = sized(wrong[i]);
		ck_assert_int_eq(hutch_volume_create(t.v.h, "v", &o, &t.v.e),
				 -ERANGE);
	}
	o = sized(INT64_MAX);
	ck_assert_int_eq(hutch_volume_create(t.v.h, "v", &o, &t.v.e), 0);
	fd = volume_open(t.v.h, "v", -1, "/", false, &e);
	ck_assert_msg(fd >= 0, "%s", e.msg);
	ck_assert_int_eq(volume_size(fd, &bytes), 0);
	ck_assert_uint_eq(bytes, INT64_MAX);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		ck_assert_int_eq(fsetxattr(fd, MAPPED_PREFIX "size", texts[i],
					   strlen(texts[i]), 0),
				 0);
		ck_assert_msg(volume_size(fd, &bytes) == -EBADMSG, "'%s'",
			      texts[i]);
	}
	(void)close(fd);
	/* No VM is to have as much as there is by mistake. */
	ck_assert_int_eq(volume_open(t.v.h, "v", -1, "/", false, &e), -EBADMSG);
	end(&t);
}
END_TEST

CHECK_MAIN("volume", paths_are_followed_within_the_tree,
	   links_of_the_host_are_not_followed,
	   a_file_with_several_names_stays_one,
	   a_second_name_too_far_down_is_a_file_of_its_own,
	   a_new_volume_is_filled_once,
	   an_empty_volume_that_is_used_is_not_filled,
	   a_deep_folder_takes_a_descriptor_a_level,
	   a_volume_that_is_filled_is_waited_for_and_no_other,
	   volumes_have_plain_names, what_a_crash_left_is_swept_away,
	   a_size_is_there_from_the_first_and_stays,
	   what_is_too_small_is_not_filled,
	   a_size_is_for_one_who_writes_or_for_those_who_read,
	   a_size_that_makes_no_sense_is_refused)
