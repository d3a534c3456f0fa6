/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_image_store.c - images in the store: locks, names, removal */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "host/lib/dirs.h"
#include "host/lib/imageinfo.h"
#include "host/lib/imagenames.h"
#include "host/lib/imagestore.h"
#include "host/lib/imagework.h"
#include "host/lib/record.h"
#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

#define ID_A "aaaa000000000000000000000000000000000000000000000000000000000000"
#define ID_B "aaab000000000000000000000000000000000000000000000000000000000000"
#define ID_C "cccc000000000000000000000000000000000000000000000000000000000000"

static void open_store(struct host_env *v, struct imagestore *s)
{
	struct err e = { 0 };
	char path[4200];

	host_env_init(v);
	(void)snprintf(path, sizeof(path), "%s/s/data/images", v->dir);
	ck_assert_msg(imagestore_open(dirs_open(path, &e), s, &e) == 0, "%s",
		      e.msg);
}

static void close_store(struct host_env *v, struct imagestore *s)
{
	imagestore_close(s);
	host_env_done(v);
}

/* An image with nothing in it. */
static void put(const struct imagestore *s, const char *id, const char *name)
{
	struct stage st = STAGE_INIT;
	struct hutch_image_info *i = imageinfo_new();
	struct err e = { 0 };

	ck_assert_int_eq(record_set(&i->id, id), 0);
	ck_assert_int_eq(imagestore_stage_new(s, &st, &e), 0);
	ck_assert_int_eq(mkdirat(st.fd, IMAGESTORE_TREE, 0700), 0);
	ck_assert_int_eq(imageinfo_write(st.fd, i, &e), 0);
	ck_assert_msg(imagestore_commit(s, &st, id, name, &e) == 0, "%s",
		      e.msg);
	stage_close(s->tmp_fd, &st);
	hutch_image_info_free(i);
}

START_TEST(an_image_in_use_stays)
{
	struct imagestore s = IMAGESTORE_INIT;
	struct hutch_image *img = NULL;
	struct hutch_image_info **gone = NULL;
	struct host_env v;
	int copy;

	open_store(&v, &s);
	put(&s, ID_A, "a:1");
	ck_assert_int_eq(hutch_image_open(v.h, "a:1", &img, &v.e), 0);
	ck_assert_str_eq(hutch_image_info_of(img)->id, ID_A);
	ck_assert_int_ge(hutch_image_tree(img), 0);
	ck_assert_int_eq(hutch_image_remove(v.h, "a:1", 0, &v.e), -EBUSY);
	ck_assert_int_eq(
		hutch_image_prune(v.h, HUTCH_IMAGE_PRUNE_ALL, &gone, &v.e), 0);
	hutch_image_list_free(gone);
	/* The lock goes with its last copy, as with a VM's keeper. */
	copy = fcntl(hutch_image_lock(img), F_DUPFD_CLOEXEC, 0);
	hutch_image_close(img);
	ck_assert_int_eq(hutch_image_remove(v.h, "a:1", 0, &v.e), -EBUSY);
	(void)close(copy);
	ck_assert_int_eq(hutch_image_remove(v.h, "a:1", 0, &v.e), 1);
	ck_assert_int_eq(hutch_image_open(v.h, "a:1", &img, &v.e), -ENOENT);
	close_store(&v, &s);
}
END_TEST

START_TEST(a_sweep_leaves_what_somebody_holds)
{
	struct imagestore s = IMAGESTORE_INIT;
	struct stage st = STAGE_INIT;
	struct host_env v;
	struct err e;

	open_store(&v, &s);
	ck_assert_int_eq(imagestore_stage_new(&s, &st, &e), 0);
	/* Left by a crash: deep, and a file. */
	ck_assert_int_eq(mkdirat(s.tmp_fd, "dead", 0700), 0);
	ck_assert_int_eq(mkdirat(s.tmp_fd, "dead/sub", 0700), 0);
	ck_assert_int_ge(
		openat(s.tmp_fd, "dead/sub/f", O_CREAT | O_WRONLY, 0600), 0);
	ck_assert_int_ge(openat(s.tmp_fd, "file", O_CREAT | O_WRONLY, 0600), 0);
	stage_sweep(s.fd, s.tmp_fd);
	ck_assert_int_eq(faccessat(s.tmp_fd, st.name, F_OK, 0), 0);
	ck_assert_int_ne(faccessat(s.tmp_fd, "dead", F_OK, 0), 0);
	ck_assert_int_ne(faccessat(s.tmp_fd, "file", F_OK, 0), 0);
	stage_close(s.tmp_fd, &st);
	ck_assert_int_ne(faccessat(s.tmp_fd, st.name, F_OK, 0), 0);
	close_store(&v, &s);
}
END_TEST

START_TEST(names_and_ids_are_found)
{
	char id[HUTCH_IMAGE_ID_LEN + 1], name[HUTCH_IMAGE_REF_MAX + 1];
	struct imagestore s = IMAGESTORE_INIT;
	struct host_env v;
	struct err e;

	open_store(&v, &s);
	put(&s, ID_A, "docker.io/library/debian:latest");
	put(&s, ID_B, "b/c:2");
	put(&s, ID_C, "aaaa:latest");
#define FIND(word) imagestore_find(&s, word, id, name, &e)
	ck_assert_int_eq(FIND("debian"), 0);
	ck_assert_str_eq(id, ID_A);
	ck_assert_str_eq(name, "docker.io/library/debian:latest");
	ck_assert_int_eq(FIND("debian:12"), -ENOENT);
	ck_assert_int_eq(FIND("b/c"), -ENOENT);
	ck_assert_int_eq(FIND("b/c:2"), 0);
	ck_assert_str_eq(id, ID_B);
	/* A name goes before an id, and an exact one before docker.io's. */
	ck_assert_int_eq(FIND("aaaa"), 0);
	ck_assert_str_eq(id, ID_C);
	put(&s, ID_B, "debian:latest");
	ck_assert_int_eq(FIND("debian"), 0);
	ck_assert_str_eq(id, ID_B);
	ck_assert_int_eq(FIND("aaab"), 0);
	ck_assert_str_eq(id, ID_B);
	ck_assert_str_eq(name, "");
	ck_assert_int_eq(FIND("sha256:" ID_B), 0);
	ck_assert_int_eq(FIND(ID_C), 0);
	ck_assert_int_eq(FIND("ccc"), -ENOENT);
	ck_assert_int_eq(FIND("dddd"), -ENOENT);
	ck_assert_int_eq(FIND("Bad/"), -EINVAL);
	ck_assert_int_eq(hutch_image_remove(v.h, "aaaa", 0, &v.e), 1);
	ck_assert_int_eq(FIND("aaaa"), 0);
	ck_assert_str_eq(id, ID_A);
#undef FIND
	close_store(&v, &s);
}
END_TEST

START_TEST(a_cut_id_must_be_one_image)
{
	char id[HUTCH_IMAGE_ID_LEN + 1];
	struct imagestore s = IMAGESTORE_INIT;
	struct host_env v;
	struct err e;

	open_store(&v, &s);
	put(&s, ID_A, "a:1");
	put(&s,
	    "aaaa111111111111111111111111111111111111111111111111111111111111",
	    "b:1");
	ck_assert_int_eq(imagestore_find(&s, "aaaa", id, NULL, &e), -ENOTUNIQ);
	ck_assert_int_eq(imagestore_find(&s, "aaaa0", id, NULL, &e), 0);
	ck_assert_str_eq(id, ID_A);
	close_store(&v, &s);
}
END_TEST

START_TEST(a_list_is_sorted_by_name)
{
	struct imagestore s = IMAGESTORE_INIT;
	struct hutch_image_info **list = NULL;
	struct host_env v;

	open_store(&v, &s);
	put(&s, ID_C, "z:1");
	put(&s, ID_A, "z:2");
	put(&s, ID_B, "m:1");
	put(&s, ID_B, "a:1");
	put(&s, ID_A, "z:1");
	ck_assert_int_eq(hutch_image_list(v.h, &list, &v.e), 3);
	ck_assert_str_eq(list[0]->id, ID_B);
	ck_assert_str_eq(list[0]->names[0], "a:1");
	ck_assert_str_eq(list[0]->names[1], "m:1");
	ck_assert_ptr_null(list[0]->names[2]);
	ck_assert_str_eq(list[1]->id, ID_A);
	ck_assert_str_eq(list[2]->id, ID_C);
	ck_assert_ptr_null(list[2]->names);
	ck_assert_ptr_null(list[3]);
	hutch_image_list_free(list);
	/* Only the one without a name. */
	ck_assert_int_eq(hutch_image_prune(v.h, 0, &list, &v.e), 1);
	ck_assert_str_eq(list[0]->id, ID_C);
	ck_assert_ptr_null(list[1]);
	hutch_image_list_free(list);
	close_store(&v, &s);
}
END_TEST

START_TEST(a_damaged_one_is_replaced_unless_it_is_used)
{
	struct imagestore s = IMAGESTORE_INIT;
	struct stage st = STAGE_INIT;
	struct hutch_image_info *i = imageinfo_new();
	struct host_env v;
	struct err e = { 0 };
	int use;

	open_store(&v, &s);
	put(&s, ID_A, "a:1");
	ck_assert(imagestore_whole(&s, ID_A));
	ck_assert(!imagestore_whole(&s, ID_B));
	use = imagestore_use(&s, ID_A, &e);
	ck_assert_int_ge(use, 0);
	ck_assert_int_eq(unlinkat(use, IMAGEINFO_FILE, 0), 0);
	ck_assert(!imagestore_whole(&s, ID_A));
	ck_assert_int_eq(record_set(&i->id, ID_A), 0);
	ck_assert_int_eq(imagestore_stage_new(&s, &st, &e), 0);
	ck_assert_int_eq(mkdirat(st.fd, IMAGESTORE_TREE, 0700), 0);
	ck_assert_int_eq(imageinfo_write(st.fd, i, &e), 0);
	ck_assert_int_eq(imagestore_commit(&s, &st, ID_A, "b:1", &e), -EBUSY);
	ck_assert(!imagestore_whole(&s, ID_A));
	(void)close(use);
	ck_assert_int_eq(imagestore_commit(&s, &st, ID_A, "b:1", &e), 0);
	ck_assert(imagestore_whole(&s, ID_A));
	/* It may be used at once; the damaged one goes with the stage. */
	use = imagestore_use(&s, ID_A, &e);
	ck_assert_int_ge(use, 0);
	(void)close(use);
	ck_assert_int_eq(faccessat(s.tmp_fd, st.name, F_OK, 0), 0);
	stage_close(s.tmp_fd, &st);
	ck_assert_int_ne(faccessat(s.tmp_fd, st.name, F_OK, 0), 0);
	hutch_image_info_free(i);
	close_store(&v, &s);
}
END_TEST

/* One that cannot be moved: tmp/ is no folder of this file system's. */
START_TEST(names_go_before_what_they_lead_to)
{
	struct imagestore s = IMAGESTORE_INIT;
	char id[HUTCH_IMAGE_ID_LEN + 1];
	struct host_env v;
	struct err e = { 0 };
	int tmp;

	open_store(&v, &s);
	put(&s, ID_A, "a:1");
	tmp = s.tmp_fd;
	s.tmp_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(s.tmp_fd, 0);
	ck_assert_int_lt(imagestore_drop(&s, ID_A, 1, NULL, NULL, &e), 0);
	(void)close(s.tmp_fd);
	s.tmp_fd = tmp;
	/* Never the other way round. */
	ck_assert_int_eq(imagestore_find(&s, "a:1", id, NULL, &e), -ENOENT);
	ck_assert(imagestore_whole(&s, ID_A));
	ck_assert_int_eq(imagestore_drop(&s, ID_A, 0, NULL, NULL, &e), 0);
	close_store(&v, &s);
}
END_TEST

/* Whoever makes a disk over an image uses it meanwhile: now nobody can. */
static int is_needed(void *arg, const char *id, struct err *e)
{
	struct imagestore *s = arg;
	int fd = openat(s->id_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_lt(flock(fd, LOCK_SH | LOCK_NB), 0);
	(void)close(fd);
	return err_set(e, -EBUSY, "it is needed");
}

START_TEST(what_needs_an_image_is_asked_under_its_lock)
{
	struct imagestore s = IMAGESTORE_INIT;
	struct host_env v;
	struct err e = { 0 };

	open_store(&v, &s);
	put(&s, ID_A, "a:1");
	ck_assert_int_eq(imagestore_drop(&s, ID_A, -1, is_needed, &s, &e),
			 -EBUSY);
	ck_assert_str_eq(e.msg, "it is needed");
	ck_assert(imagestore_whole(&s, ID_A));
	ck_assert_int_eq(imagenames_count(&s, ID_A, &e), 1);
	close_store(&v, &s);
}
END_TEST

START_TEST(options_that_are_none_are_refused)
{
	struct hutch_image_import_opts o = HUTCH_IMAGE_IMPORT_OPTS_INIT;
	struct host_env v;

	host_env_init(&v);
	ck_assert_int_eq(hutch_image_import(v.h, &o, NULL, &v.e), -EINVAL);
	o.name = "a";
	ck_assert_int_eq(hutch_image_import(v.h, &o, NULL, &v.e), -EINVAL);
	o.path = "/none";
	ck_assert_int_eq(hutch_image_import(v.h, &o, NULL, &v.e), -ENOENT);
	o.size = 3;
	ck_assert_int_eq(hutch_image_import(v.h, &o, NULL, &v.e), -EINVAL);
	ck_assert_int_eq(hutch_image_remove(v.h, "a", 2, &v.e), -EINVAL);
	ck_assert_int_eq(hutch_image_prune(v.h, 2, NULL, &v.e), -EINVAL);
	ck_assert_int_eq(hutch_image_ref_ok("a:1"), 1);
	ck_assert_int_eq(hutch_image_ref_ok("A"), 0);
	host_env_done(&v);
}
END_TEST

static char stepped[200];

static void on_step(void *arg, enum hutch_image_step step, const char *text,
		    uint64_t done, uint64_t total)
{
	(void)arg;
	(void)snprintf(stepped, sizeof(stepped), "%u %s %llu %llu", step, text,
		       (unsigned long long)done, (unsigned long long)total);
}

static int line(const char *s, char *id, struct err *e)
{
	const struct imagework w = { .progress = on_step };
	char *copy = check_copy(s, strlen(s) + 1);
	int r = imagework_line(&w, copy, id, e);

	free(copy);
	return r;
}

START_TEST(lines_of_the_helper_are_checked)
{
	static const char *const bad[] = {
		"",
		"step",
		"step 1",
		"step 0 1 2 x",
		"step 4 1 2 x",
		"step 1 2 x",
		"failed",
		"failed 0 x",
		"failed 4096 x",
		"failed x",
		"image",
		"image abc",
		("image " ID_A "0"),
		("image ../" ID_A),
		("other " ID_A),
		"failed 5 \033[31m",
		"failed 5 a\177",
		"failed 5 \302\2332J",
		"failed 5 a\2332J",
		"failed 5 a\342\200\256b",
		"failed 5 a\342\201\246b",
		"step 2 1 2 a\302\205",
	};
	char id[HUTCH_IMAGE_ID_LEN + 1] = "";
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		ck_assert_int_eq(line(bad[i], id, &e), -EPROTO);
		ck_assert_str_eq(id, "");
	}
	ck_assert_int_eq(line("step 3 5 7 two words", id, &e), 0);
	ck_assert_str_eq(stepped, "3 two words 5 7");
	/* Letters that have such bytes in them. */
	ck_assert_int_eq(line("failed 2 \303\233 \342\200\246", id, &e), -2);
	ck_assert_str_eq(e.msg, "\303\233 \342\200\246");
	ck_assert_int_eq(line("failed 2 two words", id, &e), -2);
	ck_assert_str_eq(e.msg, "two words");
	ck_assert_int_eq(line("image " ID_A, id, &e), 1);
	ck_assert_str_eq(id, ID_A);
}
END_TEST

CHECK_MAIN("image_store", an_image_in_use_stays,
	   a_sweep_leaves_what_somebody_holds, names_and_ids_are_found,
	   a_cut_id_must_be_one_image, a_list_is_sorted_by_name,
	   a_damaged_one_is_replaced_unless_it_is_used,
	   names_go_before_what_they_lead_to,
	   what_needs_an_image_is_asked_under_its_lock,
	   options_that_are_none_are_refused, lines_of_the_helper_are_checked)
