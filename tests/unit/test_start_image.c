/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_start_image.c - hutch_start() with an image, and the disk that
 * a VM has over it; no KVM
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "host/lib/dirs.h"
#include "host/lib/imageinfo.h"
#include "host/lib/imagestore.h"
#include "host/lib/record.h"
#include "common/rmtree.h"
#include "tests/lib/check_main.h"
#include "tests/lib/host_env.h"

#define ID_A "aaaa000000000000000000000000000000000000000000000000000000000000"
#define ID_B "bbbb000000000000000000000000000000000000000000000000000000000000"

static const char *const env[] = { "PATH=/img", "A=1", NULL };
static const char *const entrypoint[] = { "entry", "-e", NULL };
static const char *const cmd[] = { "cmd", "-c", NULL };

/* An image with nothing in it, that says much. */
static void put(const struct host_env *v, const char *id, const char *name,
		const char *stop_signal)
{
	struct stage st = STAGE_INIT;
	struct imagestore s = IMAGESTORE_INIT;
	struct hutch_image_info *i = imageinfo_new();
	struct err e = { 0 };
	char path[4200];

	(void)snprintf(path, sizeof(path), "%s/s/data/images", v->dir);
	ck_assert_int_eq(imagestore_open(dirs_open(path, &e), &s, &e), 0);
	ck_assert_int_eq(record_set(&i->id, id), 0);
	ck_assert_int_eq(record_set(&i->workdir, "/work"), 0);
	ck_assert_int_eq(record_set(&i->user, "ann"), 0);
	ck_assert_int_eq(record_set(&i->stop_signal, stop_signal), 0);
	ck_assert_int_eq(record_set_list(&i->env, env), 0);
	ck_assert_int_eq(record_set_list(&i->entrypoint, entrypoint), 0);
	ck_assert_int_eq(record_set_list(&i->cmd, cmd), 0);
	ck_assert_int_eq(imagestore_stage_new(&s, &st, &e), 0);
	ck_assert_int_eq(mkdirat(st.fd, IMAGESTORE_TREE, 0700), 0);
	ck_assert_int_eq(imageinfo_write(st.fd, i, &e), 0);
	ck_assert_int_eq(imagestore_commit(&s, &st, id, name, &e), 0);
	stage_close(s.tmp_fd, &st);
	imagestore_close(&s);
	hutch_image_info_free(i);
}

static struct hutch_image *open_image(struct host_env *v, const char *name)
{
	struct hutch_image *img = NULL;

	ck_assert_msg(hutch_image_open(v->h, name, &img, &v->e) == 0, "%s",
		      v->e.msg);
	return img;
}

static void begin(struct host_env *v, struct hutch_start_opts *o)
{
	static char kernel[4200];
	struct hutch_start_opts init = HUTCH_START_OPTS_INIT;

	host_env_init(v);
	put(v, ID_A, "a:latest", "SIGRTMIN+3");
	*o = init;
	o->name = "web";
	o->kernel = host_env_kernel(v, "", kernel);
	o->image = open_image(v, "a");
}

static void end(struct host_env *v, struct hutch_start_opts *o)
{
	void *img;

	memcpy(&img, &o->image, sizeof(img));
	hutch_image_close(img);
	host_env_done(v);
}

static int start(struct host_env *v, struct hutch_start_opts *o)
{
	return hutch_start(v->h, o, NULL, &v->e);
}

static int on_disk(const struct host_env *v, const char *name)
{
	char path[4400];

	(void)snprintf(path, sizeof(path), "%s/s/state/web/%s", v->dir, name);
	return access(path, F_OK) == 0;
}

/* A file that a guest might have written. */
static void write_disk(const struct host_env *v, const char *name)
{
	char path[4400];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/s/state/web/disk/%s", v->dir,
		       name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
}

START_TEST(command_is_what_docker_would_run)
{
	static const char *const given[] = { "x", "y", NULL };
	static const struct {
		const char *entrypoint;
		const char *const *argv;
		const char *want;
	} v[] = {
		{ NULL, NULL, "entry -e cmd -c" },
		{ NULL, given, "entry -e x y" },
		{ "other", NULL, "other" },
		{ "other", given, "other x y" },
		{ "", given, "x y" },
		{ "", NULL, "" },
	};
	struct hutch_start_opts o;
	struct host_env h;

	begin(&h, &o);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		const char *const *argv = NULL;
		char got[64] = "";

		ck_assert_int_eq(hutch_image_command(o.image, v[i].entrypoint,
						     v[i].argv, &argv, &h.e),
				 *v[i].want != '\0');
		for (size_t k = 0; argv[k]; k++) {
			size_t n = strlen(got);

			(void)snprintf(got + n, sizeof(got) - n, "%s%s",
				       k ? " " : "", argv[k]);
		}
		ck_assert_str_eq(got, v[i].want);
		record_drop(argv);
	}
	end(&h, &o);
}
END_TEST

START_TEST(what_the_image_says_is_on_record)
{
	static const char *const more[] = { "A=2", "B=3", NULL };
	struct hutch_start_opts o;
	struct hutch_record *rec;
	struct host_env v;

	begin(&v, &o);
	o.env = more;
	o.user = "0";
	ck_assert_msg(start(&v, &o) == 0, "%s", v.e.msg);
	rec = host_inspect(&v);
	ck_assert_str_eq(rec->image, "a:latest");
	ck_assert_str_eq(rec->image_id, ID_A);
	ck_assert_int_eq(rec->disk, HUTCH_DISK_KEPT);
	ck_assert_uint_eq(rec->disk_bytes, HUTCH_DISK_DEFAULT);
	ck_assert_str_eq(rec->user, "0");
	ck_assert_str_eq(rec->workdir, "/work");
	ck_assert_str_eq(rec->env[0], "PATH=/img");
	ck_assert_str_eq(rec->env[1], "A=2");
	ck_assert_str_eq(rec->env[2], "B=3");
	ck_assert_ptr_null(rec->env[3]);
	hutch_record_free(rec);
	/* It is in use, though nobody but its keeper has it open. */
	ck_assert_int_eq(hutch_image_remove(v.h, "a", 0, &v.e), -EBUSY);
	host_kill_and_rm(&v);
	end(&v, &o);
}
END_TEST

START_TEST(a_disk_is_kept_for_the_next_start)
{
	struct hutch_start_opts o;
	struct hutch_record *rec;
	struct host_env v;

	begin(&v, &o);
	o.disk = 5 << 20;
	ck_assert_msg(start(&v, &o) == 0, "%s", v.e.msg);
	write_disk(&v, "file");
	ck_assert_int_eq(hutch_kill(v.h, "web", &v.e), 0);
	o.disk = 0;
	ck_assert_msg(start(&v, &o) == 0, "%s", v.e.msg);
	ck_assert(on_disk(&v, "disk/file"));
	rec = host_inspect(&v);
	ck_assert_uint_eq(rec->disk_bytes, 5 << 20);
	hutch_record_free(rec);
	ck_assert_int_eq(hutch_kill(v.h, "web", &v.e), 0);
	ck_assert_int_eq(hutch_rm(v.h, "web", 0, &v.e), 0);
	ck_assert(!on_disk(&v, ""));
	ck_assert_int_eq(start(&v, &o), 0);
	ck_assert(on_disk(&v, "disk"));
	ck_assert(!on_disk(&v, "disk/file"));
	host_kill_and_rm(&v);
	end(&v, &o);
}
END_TEST

START_TEST(which_files_are_mapped_is_on_record)
{
	struct hutch_start_opts o, other;
	struct hutch_record *rec;
	struct host_env v;
	char *json;

	begin(&v, &o);
	o.flags = HUTCH_START_DISK_RAM;
	o.image_dax = HUTCH_DAX_INODE;
	o.image_window = 15 << 20;
	ck_assert_int_eq(start(&v, &o), -EINVAL);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "image_dax: a window is 16M"));
	o.image_window = 32 << 20;
	other = o;
	other.image = NULL;
	other.flags = 0;
	ck_assert_int_eq(start(&v, &other), -EINVAL);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "nothing to map"));
	ck_assert_msg(start(&v, &o) == 0, "%s", v.e.msg);
	rec = host_inspect(&v);
	ck_assert_int_eq(rec->image_dax, HUTCH_DAX_INODE);
	ck_assert_uint_eq(rec->image_window, 32 << 20);
	json = hutch_record_json(rec);
	ck_assert_ptr_nonnull(strstr(json, "\"image_dax\":\"inode\","
					   "\"image_window\":33554432"));
	free(json);
	hutch_record_free(rec);
	host_kill_and_rm(&v);
	end(&v, &o);
}
END_TEST

static void put_seed(const struct host_env *v, const char *folder)
{
	char path[4400];
	int fd;

	(void)snprintf(path, sizeof(path),
		       "%s/s/data/images/id/" ID_A "/tree/%s", v->dir, folder);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	(void)snprintf(path + strlen(path), sizeof(path) - strlen(path),
		       "/seed");
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
}

static int has_seed(const struct host_env *v, const char *volume)
{
	char path[4400];

	(void)snprintf(path, sizeof(path), "%s/s/data/volumes/name/%s/seed",
		       v->dir, volume);
	return access(path, F_OK) == 0;
}

START_TEST(a_volume_is_filled_unless_it_is_to_stay_empty)
{
	struct hutch_mount m[2] = { HUTCH_MOUNT_INIT, HUTCH_MOUNT_INIT };
	const struct hutch_mount *const mounts[] = { &m[0], &m[1], NULL };
	struct hutch_start_opts o;
	struct hutch_record *rec;
	struct host_env v;

	begin(&v, &o);
	put_seed(&v, "x");
	put_seed(&v, "y");
	m[0].source = "full";
	m[0].target = "/x";
	m[0].flags = HUTCH_MOUNT_VOLUME;
	m[1].source = "empty";
	m[1].target = "/y";
	m[1].flags = HUTCH_MOUNT_NOCOPY;
	o.mounts = mounts;
	ck_assert_int_eq(start(&v, &o), -EINVAL);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "nocopy is for volumes"));
	m[1].flags |= HUTCH_MOUNT_VOLUME;
	ck_assert_int_eq(start(&v, &o), 0);
	ck_assert(has_seed(&v, "full"));
	ck_assert(!has_seed(&v, "empty"));
	/* A VM that goes on does so with the same. */
	rec = host_inspect(&v);
	ck_assert_uint_eq(rec->mounts[0]->flags, m[0].flags);
	ck_assert_uint_eq(rec->mounts[1]->flags, m[1].flags);
	hutch_record_free(rec);
	host_kill_and_rm(&v);
	end(&v, &o);
}
END_TEST

START_TEST(a_disk_in_memory_leaves_nothing)
{
	struct hutch_start_opts o, other;
	struct hutch_record *rec;
	struct host_env v;

	begin(&v, &o);
	o.flags = HUTCH_START_DISK_RAM;
	ck_assert_int_eq(start(&v, &o), 0);
	rec = host_inspect(&v);
	ck_assert_int_eq(rec->disk, HUTCH_DISK_RAM);
	hutch_record_free(rec);
	ck_assert(!on_disk(&v, "disk"));
	host_kill_and_rm(&v);
	o.flags = 0;
	o.disk = HUTCH_DISK_MIN - 1;
	ck_assert_int_eq(start(&v, &o), -EINVAL);
	other = o;
	other.disk = HUTCH_DISK_MIN;
	other.image = NULL;
	ck_assert_int_eq(start(&v, &other), -EINVAL);
	end(&v, &o);
}
END_TEST

/* Whatever else would become of it, it is somebody's. */
START_TEST(a_disk_is_for_its_own_image_alone)
{
	struct hutch_start_opts o, other;
	struct hutch_image *b;
	struct hutch_record *rec;
	struct host_env v;

	begin(&v, &o);
	put(&v, ID_B, "b:latest", "");
	b = open_image(&v, "b");
	ck_assert_int_eq(start(&v, &o), 0);
	write_disk(&v, "file");
	ck_assert_int_eq(hutch_kill(v.h, "web", &v.e), 0);

	other = o;
	other.image = b;
	ck_assert_int_eq(start(&v, &other), -EEXIST);
	ck_assert_str_eq(v.e.msg,
			 "VM 'web' has a disk that was made over image "
			 "aaaa00000000: start it with that one and on its "
			 "disk, or remove it first (hutch rm web)");
	other.image = NULL;
	ck_assert_int_eq(start(&v, &other), -EEXIST);
	other = o;
	other.flags = HUTCH_START_DISK_RAM;
	ck_assert_int_eq(start(&v, &other), -EEXIST);

	ck_assert(on_disk(&v, "disk/file"));
	rec = host_inspect(&v);
	ck_assert_int_eq(rec->state, HUTCH_STATE_STOPPED);
	ck_assert_str_eq(rec->image_id, ID_A);
	hutch_record_free(rec);
	hutch_image_close(b);
	end(&v, &o);
}
END_TEST

START_TEST(a_disk_is_not_removed_by_rm_that_others_had)
{
	struct hutch_start_opts o;
	struct host_env v;

	begin(&v, &o);
	ck_assert_int_eq(start(&v, &o), 0);
	write_disk(&v, "file");
	ck_assert_int_eq(hutch_kill(v.h, "web", &v.e), 0);
	o.flags = HUTCH_START_RM;
	ck_assert_int_eq(start(&v, &o), -EEXIST);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "which --rm would remove"));
	ck_assert(on_disk(&v, "disk/file"));
	end(&v, &o);
}
END_TEST

/* Its keeper was killed, and it has not noticed yet. */
START_TEST(a_disk_waits_for_the_monitor_that_has_it)
{
	struct hutch_start_opts o;
	struct host_env v;
	char path[4400];
	pid_t pid;
	int fd;

	begin(&v, &o);
	ck_assert_int_eq(start(&v, &o), 0);
	ck_assert_int_eq(hutch_kill(v.h, "web", &v.e), 0);
	(void)snprintf(path, sizeof(path), "%s/s/state/web/disk", v.dir);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	pid = fork();
	if (pid == 0) {
		(void)usleep(300000);
		_exit(0);
	}
	(void)close(fd);
	ck_assert_msg(start(&v, &o) == 0, "%s", v.e.msg);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	host_kill_and_rm(&v);
	end(&v, &o);
}
END_TEST

/* Killed between the disk and the record: nobody can have used it. */
START_TEST(what_a_killed_start_left_is_removed)
{
	struct hutch_start_opts o;
	char path[4400], aside[4500];
	struct host_env v;

	begin(&v, &o);
	for (int way = 0; way < 2; way++) {
		ck_assert_int_eq(start(&v, &o), 0);
		ck_assert_int_eq(hutch_kill(v.h, "web", &v.e), 0);
		(void)snprintf(path, sizeof(path), "%s/s/state/web/record.json",
			       v.dir);
		ck_assert_int_eq(unlink(path), 0);
		(void)snprintf(path, sizeof(path), "%s/s/state/web/disk",
			       v.dir);
		(void)snprintf(aside, sizeof(aside), "%s.new", path);
		if (way == 1)
			ck_assert_int_eq(rename(path, aside), 0);
		(void)hutch_rm(v.h, "web", 0, &v.e);
		ck_assert(!on_disk(&v, "disk"));
		ck_assert(!on_disk(&v, "disk.new"));
	}
	end(&v, &o);
}
END_TEST

START_TEST(an_image_under_a_disk_stays)
{
	struct hutch_image_info **gone = NULL;
	struct hutch_start_opts o;
	void *img;
	struct host_env v;

	begin(&v, &o);
	ck_assert_int_eq(start(&v, &o), 0);
	ck_assert_int_eq(hutch_kill(v.h, "web", &v.e), 0);
	memcpy(&img, &o.image, sizeof(img));
	hutch_image_close(img);
	o.image = NULL;
	ck_assert_int_eq(hutch_image_remove(v.h, "a", 0, &v.e), -EBUSY);
	ck_assert_str_eq(v.e.msg,
			 "image aaaa00000000 is what the disk of VM 'web' was "
			 "made over: hutch rm web first");
	ck_assert_int_eq(
		hutch_image_prune(v.h, HUTCH_IMAGE_PRUNE_ALL, &gone, &v.e), 0);
	hutch_image_list_free(gone);
	ck_assert_int_eq(hutch_rm(v.h, "web", 0, &v.e), 0);
	ck_assert_int_eq(hutch_image_remove(v.h, "a", 0, &v.e), 1);
	end(&v, &o);
}
END_TEST

START_TEST(a_start_that_fails_leaves_the_disk)
{
	struct hutch_start_opts o;
	struct hutch_record *rec;
	char vmm[4200], aside[4300];
	struct host_env v;

	begin(&v, &o);
	(void)snprintf(vmm, sizeof(vmm), "%s/x/hutch-vmm", v.dir);
	(void)snprintf(aside, sizeof(aside), "%s.aside", vmm);
	ck_assert_int_eq(rename(vmm, aside), 0);
	ck_assert_int_eq(symlink("/etc/passwd", vmm), 0);
	/* A new one goes, with all of the VM. */
	ck_assert_int_eq(start(&v, &o), -EIO);
	ck_assert(!on_disk(&v, ""));

	ck_assert_int_eq(rename(aside, vmm), 0);
	ck_assert_int_eq(start(&v, &o), 0);
	write_disk(&v, "file");
	ck_assert_int_eq(hutch_kill(v.h, "web", &v.e), 0);
	ck_assert_int_eq(unlink(vmm), 0);
	ck_assert_int_eq(symlink("/etc/passwd", vmm), 0);
	ck_assert_int_eq(start(&v, &o), -EIO);
	ck_assert(on_disk(&v, "disk/file"));
	/* And the VM is what it was: stopped, by us. */
	rec = host_inspect(&v);
	ck_assert_int_eq(rec->reason, HUTCH_REASON_STOPPED);
	hutch_record_free(rec);
	ck_assert_int_eq(hutch_rm(v.h, "web", 0, &v.e), 0);
	end(&v, &o);
}
END_TEST

START_TEST(an_image_with_a_signal_that_is_none_is_refused)
{
	struct hutch_start_opts o;
	struct hutch_record *rec;
	void *img;
	struct host_env v;

	begin(&v, &o);
	memcpy(&img, &o.image, sizeof(img));
	hutch_image_close(img);
	put(&v, ID_B, "b:latest", "SIGNO");
	o.image = open_image(&v, "b");
	ck_assert_int_eq(start(&v, &o), -EINVAL);
	ck_assert_str_eq(v.e.msg, "the image's StopSignal: 'SIGNO' is no "
				  "signal: write a name such as TERM or a "
				  "number from 1 to 64");
	ck_assert(!on_disk(&v, ""));
	/* Another one will do, if it is one. */
	o.stop_signal = "NONE";
	ck_assert_int_eq(start(&v, &o), -EINVAL);
	ck_assert_ptr_nonnull(strstr(v.e.msg, "stop signal: 'NONE' is no"));
	o.stop_signal = "SIGINT";
	ck_assert_msg(start(&v, &o) == 0, "%s", v.e.msg);
	rec = host_inspect(&v);
	ck_assert_str_eq(rec->stop_signal, "SIGINT");
	hutch_record_free(rec);
	host_kill_and_rm(&v);
	end(&v, &o);
}
END_TEST

/* Guests make trees that are deeper than anything of ours. */
START_TEST(a_deep_tree_is_removed)
{
	struct host_env v;
	int top, fd;

	host_env_init(&v);
	top = host_env_dirfd(&v);
	fd = dup(top);
	for (int i = 0; i < 5 * RMTREE_DEPTH_MAX; i++) {
		int next;

		ck_assert_int_eq(mkdirat(fd, "deep", 0700), 0);
		next = openat(fd, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ck_assert_int_ge(next, 0);
		(void)close(fd);
		fd = next;
	}
	(void)close(fd);
	ck_assert_int_eq(rmtree(top, "deep"), 0);
	ck_assert_int_lt(faccessat(top, "deep", F_OK, 0), 0);
	(void)close(top);
	host_env_done(&v);
}
END_TEST

CHECK_MAIN("start_image", command_is_what_docker_would_run,
	   what_the_image_says_is_on_record,
	   which_files_are_mapped_is_on_record,
	   a_disk_is_kept_for_the_next_start,
	   a_disk_is_not_removed_by_rm_that_others_had,
	   a_disk_waits_for_the_monitor_that_has_it,
	   what_a_killed_start_left_is_removed,
	   a_volume_is_filled_unless_it_is_to_stay_empty,
	   a_disk_in_memory_leaves_nothing, a_disk_is_for_its_own_image_alone,
	   an_image_under_a_disk_stays, a_start_that_fails_leaves_the_disk,
	   an_image_with_a_signal_that_is_none_is_refused,
	   a_deep_tree_is_removed)
