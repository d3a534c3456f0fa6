/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_mounts.c - what of the host a VM is to see: host/lib/mounts
 *
 * And with the real keeper over a fake monitor: on record, and refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "host/lib/mounts.h"
#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

/**
 * struct scene - A folder of the host
 * @dir:	Has folders a and b, a file "file", one "ro" that cannot be
 *		written, a FIFO, a link to a; ends without '/'
 */
struct scene {
	struct host_env v;
	char dir[5000];
};

static const char *in(const struct scene *s, const char *name, char *buf)
{
	(void)snprintf(buf, 6000, "%s%s", s->dir, name);
	return buf;
}

static void scene_init(struct scene *s)
{
	char path[6000], *whole;
	int fd;

	host_env_init(&s->v);
	whole = realpath(s->v.dir, NULL);
	ck_assert_ptr_nonnull(whole);
	(void)snprintf(s->dir, sizeof(s->dir), "%s", whole);
	free(whole);
	ck_assert_int_eq(mkdir(in(s, "/a", path), 0700), 0);
	ck_assert_int_eq(mkdir(in(s, "/b", path), 0700), 0);
	ck_assert_int_eq(mkfifo(in(s, "/fifo", path), 0600), 0);
	ck_assert_int_eq(symlink("a", in(s, "/link", path)), 0);
	fd = open(in(s, "/file", path), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
}

static struct hutch_mount mount_of(const char *source, const char *target,
				   unsigned int flags)
{
	return (struct hutch_mount){ sizeof(struct hutch_mount),
				     source,
				     target,
				     flags,
				     HUTCH_DAX_AUTO,
				     0 };
}

START_TEST(mounts_are_tidied_opened_and_sorted)
{
	char a[6000], file[6000], link[6000];
	char tag[HUTCH_MOUNTS_MAX][MOUNTS_TAG_MAX];
	struct msg_mount msg[HUTCH_MOUNTS_MAX];
	struct hutch_mount m[3];
	const struct hutch_mount *const v[] = { &m[0], &m[1], &m[2], NULL };
	struct mounts ms;
	struct scene s;
	struct err e;

	scene_init(&s);
	m[0] = mount_of(in(&s, "/link", link), "/data//in/./", 0);
	m[1] = mount_of(in(&s, "/file", file), "/data/in/file",
			HUTCH_MOUNT_RDONLY);
	m[2] = mount_of(in(&s, "/a/../a", a), "/data",
			HUTCH_MOUNT_RDONLY | HUTCH_MOUNT_LOCKS_HOST);

	ck_assert_int_eq(mounts_open(NULL, v, NULL, &ms, &e), 0);
	ck_assert_uint_eq(ms.n, 3);
	mounts_message(&ms, tag, msg);
	ck_assert_str_eq(msg[0].target, "/data");
	ck_assert_str_eq(msg[1].target, "/data/in");
	ck_assert_str_eq(msg[2].target, "/data/in/file");
	ck_assert_str_eq(msg[0].source, "hutch0");
	ck_assert_str_eq(msg[2].source, "hutch2");
	ck_assert_str_eq(msg[2].type, "virtiofs");
	ck_assert_uint_eq(msg[0].flags, WIRE_MOUNT_RDONLY | WIRE_MOUNT_LOCKS);
	ck_assert_uint_eq(msg[1].flags, 0);
	ck_assert_uint_eq(msg[2].flags, WIRE_MOUNT_RDONLY | WIRE_MOUNT_FILE);
	/* Where they are, not how they were written. */
	ck_assert_str_eq(ms.m[0].source, in(&s, "/a", a));
	ck_assert_str_eq(ms.m[1].source, a);
	ck_assert_int_ne(fcntl(ms.m[0].fd, F_GETFL) & O_PATH, 0);
	ck_assert_int_eq(fcntl(ms.m[2].fd, F_GETFL) & (O_PATH | O_ACCMODE),
			 O_RDONLY);
	mounts_done(&ms);
	host_env_done(&s.v);
}
END_TEST

START_TEST(file_to_be_written_is_opened_so)
{
	char file[6000];
	struct hutch_mount m;
	const struct hutch_mount *const v[] = { &m, NULL };
	struct mounts ms;
	struct scene s;
	struct err e;

	scene_init(&s);
	m = mount_of(in(&s, "/file", file), "/f", 0);
	ck_assert_int_eq(mounts_open(NULL, v, NULL, &ms, &e), 0);
	ck_assert_int_eq(fcntl(ms.m[0].fd, F_GETFL) & (O_PATH | O_ACCMODE),
			 O_RDWR);
	mounts_done(&ms);
	host_env_done(&s.v);
}
END_TEST

START_TEST(each_wrong_mount_is_refused_with_a_sentence)
{
	static const struct {
		const char *source;
		const char *target;
		unsigned int flags;
		int code;
		const char *says;
	} bad[] = {
		{ "/none", "/d", 0, -ENOENT, "make it first" },
		{ "/file/x", "/d", 0, -ENOTDIR, "cannot open" },
		{ "/fifo", "/d", 0, -ENOTDIR, "neither a folder nor" },
		{ "/a", "d", 0, -EINVAL, "'d' is no absolute path" },
		{ "/a", "", 0, -EINVAL, "'' is no absolute path" },
		{ "/a", "/", 0, -EINVAL, "is the VM's root" },
		{ "/a", "//./", 0, -EINVAL, "is the VM's root" },
		{ "/a", "/d/../e", 0, -EINVAL, "has a '..'" },
		{ "/a", "/d/..", 0, -EINVAL, "has a '..'" },
		{ "/a", NULL, 0, -EINVAL, "both needed" },
		{ "/a", "/d", 2, -EINVAL, "use 1 to 64 of letters" },
		{ "/a", "/d", 16, -EINVAL, "unknown flags 0x10" },
		{ "/a", "/d", 8, -EINVAL, "nocopy is for volumes" },
	};
	char path[6000];
	struct scene s;

	scene_init(&s);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		int fds = host_env_fds();
		struct hutch_mount m = mount_of(in(&s, bad[i].source, path),
						bad[i].target, bad[i].flags);
		const struct hutch_mount *const v[] = { &m, NULL };
		struct err e = { 0 };
		struct mounts ms;

		ck_assert_int_eq(mounts_open(NULL, v, NULL, &ms, &e),
				 bad[i].code);
		ck_assert_msg(strstr(e.msg, bad[i].says), "%zu: '%s'", i,
			      e.msg);
		ck_assert_int_eq(host_env_fds(), fds);
	}
	host_env_done(&s.v);
}
END_TEST

START_TEST(one_target_twice_is_refused_however_it_is_written)
{
	char a[6000], b[6000];
	struct hutch_mount m[2];
	const struct hutch_mount *const v[] = { &m[0], &m[1], NULL };
	struct mounts ms;
	struct scene s;
	struct err e;

	scene_init(&s);
	m[0] = mount_of(in(&s, "/a", a), "/d/e", 0);
	m[1] = mount_of(in(&s, "/b", b), "/d//e/", 0);
	ck_assert_int_eq(mounts_open(NULL, v, NULL, &ms, &e), -EINVAL);
	ck_assert_str_eq(e.msg, "mount: '/d/e' in the VM is given twice");
	host_env_done(&s.v);
}
END_TEST

START_TEST(sixteen_mounts_are_taken_and_no_more)
{
	char a[6000], target[HUTCH_MOUNTS_MAX + 1][8];
	struct hutch_mount m[HUTCH_MOUNTS_MAX + 1];
	const struct hutch_mount *v[HUTCH_MOUNTS_MAX + 2] = { NULL };
	struct mounts ms;
	struct scene s;
	struct err e;

	scene_init(&s);
	for (unsigned int i = 0; i <= HUTCH_MOUNTS_MAX; i++) {
		(void)snprintf(target[i], sizeof(target[i]), "/d%u", i);
		m[i] = mount_of(in(&s, "/a", a), target[i], 0);
	}
	for (unsigned int i = 0; i < HUTCH_MOUNTS_MAX; i++)
		v[i] = &m[i];
	ck_assert_int_eq(mounts_open(NULL, v, NULL, &ms, &e), 0);
	ck_assert_uint_eq(ms.n, HUTCH_MOUNTS_MAX);
	mounts_done(&ms);
	v[HUTCH_MOUNTS_MAX] = &m[HUTCH_MOUNTS_MAX];
	ck_assert_int_eq(mounts_open(NULL, v, NULL, &ms, &e), -EINVAL);
	ck_assert_str_eq(e.msg, "mounts: more than 16");
	host_env_done(&s.v);
}
END_TEST

START_TEST(mounts_are_on_record)
{
	char a[6000], b[6000];
	struct hutch_mount m[2];
	const struct hutch_mount *const v[] = { &m[0], &m[1], NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch_record *rec;
	struct scene s;
	char *json;

	scene_init(&s);
	m[0] = mount_of(in(&s, "/b", b), "/y", HUTCH_MOUNT_RDONLY);
	m[1] = mount_of(in(&s, "/a", a), "/x", HUTCH_MOUNT_LOCKS_HOST);
	m[1].dax = HUTCH_DAX_ALWAYS;
	m[1].window = 32 << 20;
	m[1].uid = 1000;
	m[1].gid = HUTCH_ID_MAX;
	o.name = "web";
	o.mounts = v;
	o.wait = HUTCH_WAIT_READY;
	hutch_vm_close(host_start_with(&s.v, "", &o));

	ck_assert_int_eq(hutch_inspect(s.v.h, "web", &rec, &s.v.e), 0);
	ck_assert_str_eq(rec->mounts[0]->source, a);
	ck_assert_str_eq(rec->mounts[0]->target, "/x");
	ck_assert_uint_eq(rec->mounts[0]->flags, HUTCH_MOUNT_LOCKS_HOST);
	ck_assert_int_eq(rec->mounts[0]->dax, HUTCH_DAX_ALWAYS);
	ck_assert_uint_eq(rec->mounts[0]->window, 32 << 20);
	ck_assert_uint_eq(rec->mounts[0]->uid, 1000);
	ck_assert_uint_eq(rec->mounts[0]->gid, HUTCH_ID_MAX);
	ck_assert_uint_eq(rec->mounts[1]->uid, 0);
	ck_assert_int_eq(rec->mounts[1]->dax, HUTCH_DAX_AUTO);
	ck_assert_uint_eq(rec->mounts[1]->window, 0);
	ck_assert_str_eq(rec->mounts[1]->source, b);
	ck_assert_uint_eq(rec->mounts[1]->flags, HUTCH_MOUNT_RDONLY);
	ck_assert_ptr_null(rec->mounts[2]);
	json = hutch_record_json(rec);
	ck_assert_ptr_nonnull(strstr(json, "\"target\":\"/y\",\"readonly\":"
					   "true,\"nocopy\":false,"
					   "\"locks\":\"guest\","
					   "\"dax\":\"auto\","
					   "\"window\":null"));
	ck_assert_ptr_nonnull(strstr(json, "\"dax\":\"always\","
					   "\"window\":33554432,"
					   "\"uid\":1000,"
					   "\"gid\":4294967294"));
	free(json);
	hutch_record_free(rec);
	host_kill_and_rm(&s.v);
	host_env_done(&s.v);
}
END_TEST

/* Whoever has let go of it may have it still for a moment. */
static void refused(struct scene *s, const char *says)
{
	static const struct timespec step = { .tv_nsec = 10000000 };

	for (int i = 0; i < HOST_LONG_MS / 10; i++) {
		ck_assert_int_eq(
			hutch_volume_remove(s->v.h, "data", 0, &s->v.e),
			-EBUSY);
		if (strstr(s->v.e.msg, says))
			return;
		(void)nanosleep(&step, NULL);
	}
	ck_abort_msg("%s", s->v.e.msg);
}

START_TEST(a_volume_stays_as_long_as_a_vm_is_on_record_with_it)
{
	const struct hutch_mount m = mount_of("data", "/d", HUTCH_MOUNT_VOLUME);
	const struct hutch_mount *const v[] = { &m, NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct hutch *h;
	struct scene s;

	scene_init(&s);
	h = s.v.h;
	o.name = "web";
	o.mounts = v;
	o.wait = HUTCH_WAIT_READY;
	hutch_vm_close(host_start_with(&s.v, "", &o));
	refused(&s, "is alive");
	ck_assert_int_eq(
		hutch_volume_remove(h, "data", HUTCH_VOLUME_RM_FORCE, &s.v.e),
		-EBUSY);
	ck_assert_int_eq(hutch_volume_remove(h, "data", 2, &s.v.e), -EINVAL);

	ck_assert_int_eq(hutch_kill(h, "web", &s.v.e), 0);
	refused(&s, "mounted by VM 'web', which is stopped");
	/* What another is called after does not matter, nor a folder. */
	ck_assert_int_eq(hutch_volume_create(h, "dat", NULL, &s.v.e), 0);
	ck_assert_int_eq(hutch_volume_remove(h, "dat", 0, &s.v.e), 0);
	ck_assert_int_eq(
		hutch_volume_remove(h, "data", HUTCH_VOLUME_RM_FORCE, &s.v.e),
		0);

	ck_assert_int_eq(hutch_volume_create(h, "data", NULL, &s.v.e), 0);
	ck_assert_int_eq(hutch_rm(h, "web", 0, &s.v.e), 0);
	ck_assert_int_eq(hutch_volume_remove(h, "data", 0, &s.v.e), 0);
	host_env_done(&s.v);
}
END_TEST

START_TEST(a_window_is_of_a_size_that_can_be)
{
	static const struct {
		enum hutch_dax dax;
		uint64_t window;
		const char *says;
	} bad[] = {
		{ (enum hutch_dax)4, 0, "mount: dax 4 is not known" },
		{ HUTCH_DAX_AUTO, 64 << 20, "for dax=inode or dax=always" },
		{ HUTCH_DAX_NEVER, 64 << 20, "for dax=inode or dax=always" },
		{ HUTCH_DAX_INODE, 14 << 20, "16M to 1G" },
		{ HUTCH_DAX_INODE, 1026ull << 20, "16M to 1G" },
		{ HUTCH_DAX_ALWAYS, (64 << 20) + 4096, "steps of 2M" },
	};
	struct mounts ms;
	struct scene s;
	char a[6000];
	struct err e;

	scene_init(&s);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct hutch_mount m = mount_of(in(&s, "/a", a), "/x", 0);
		const struct hutch_mount *const v[] = { &m, NULL };

		m.dax = bad[i].dax;
		m.window = bad[i].window;
		ck_assert_int_eq(mounts_open(NULL, v, NULL, &ms, &e), -EINVAL);
		ck_assert_msg(strstr(e.msg, bad[i].says), "%s", e.msg);
		m.dax = HUTCH_DAX_INODE;
		m.window = 64 << 20;
		ck_assert_int_eq(mounts_open(NULL, v, NULL, &ms, &e), 0);
		mounts_done(&ms);
	}
	host_env_done(&s.v);
}
END_TEST

/* Nothing is half made: not even the name's folder. */
START_TEST(missing_source_leaves_nothing_behind)
{
	char none[6000], path[6100];
	struct hutch_mount m;
	const struct hutch_mount *const v[] = { &m, NULL };
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;
	struct scene s;

	scene_init(&s);
	m = mount_of(in(&s, "/none", none), "/x", 0);
	o.name = "web";
	o.mounts = v;
	ck_assert_int_eq(hutch_start(s.v.h, &o, NULL, &s.v.e), -ENOENT);
	(void)snprintf(path, sizeof(path), "%s/s/state/web", s.dir);
	ck_assert_int_lt(access(path, F_OK), 0);
	ck_assert_int_lt(access(none, F_OK), 0);
	host_env_done(&s.v);
}
END_TEST

/* What the agent says of a mount that failed ends the VM, and is the reason. */
START_TEST(failed_boot_ends_the_vm)
{
	struct hutch_exec *x;
	struct host_env v;

	host_up(&v);
	x = host_run(&v, 0, "event", "7", "0", "0", "0", "", "mount_'/x'");
	host_expect_reason(&v, "host-error(mount_'/x')");
	hutch_exec_close(x);
	host_env_done(&v);
}
END_TEST

CHECK_MAIN("mounts", a_volume_stays_as_long_as_a_vm_is_on_record_with_it,
	   a_window_is_of_a_size_that_can_be,
	   mounts_are_tidied_opened_and_sorted, file_to_be_written_is_opened_so,
	   each_wrong_mount_is_refused_with_a_sentence,
	   one_target_twice_is_refused_however_it_is_written,
	   sixteen_mounts_are_taken_and_no_more, mounts_are_on_record,
	   missing_source_leaves_nothing_behind, failed_boot_ends_the_vm)
