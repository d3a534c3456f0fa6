/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/host_env.c - see host_env.h */
#include <check.h>
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base.h"
#include "tests/lib/host_env.h"

static void put_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	(void)fputs(text, f);
	ck_assert_int_eq(fclose(f), 0);
}

static void link_program(const struct host_env *v, const char *var,
			 const char *name)
{
	const char *target = getenv(var);
	char path[4200];

	(void)snprintf(path, sizeof(path), "%s/x/%s", v->dir, name);
	if (target)
		ck_assert_int_eq(symlink(target, path), 0);
	else
		put_file(path, "");
}

void host_env_init(struct host_env *v)
{
	const char *tmp = getenv("TMPDIR");
	struct hutch_opts o = HUTCH_OPTS_INIT;
	char state[4200], libexec[4200];

	memset(v, 0, sizeof(*v));
	(void)snprintf(v->dir, sizeof(v->dir), "%s/hutch-test-XXXXXX",
		       tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(v->dir));
	(void)snprintf(state, sizeof(state), "%s/s", v->dir);
	(void)snprintf(libexec, sizeof(libexec), "%s/x", v->dir);
	ck_assert_int_eq(mkdir(libexec, 0700), 0);
	link_program(v, "HUTCH_TEST_KEEPER", "hutch-keeper");
	link_program(v, "HUTCH_TEST_VMM", "hutch-vmm");
	link_program(v, "HUTCH_TEST_NET", "hutch-net");
	link_program(v, "HUTCH_TEST_NONE", "hutch-agent");
	link_program(v, "HUTCH_TEST_NONE", "builtin.cpio");
	o.state_dir = state;
	o.libexec_dir = libexec;
	ck_assert_msg(hutch_open(&o, &v->h, &v->e) == 0, "%s", v->e.msg);
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	return remove(path);
}

void host_env_remove(const char *dir)
{
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void host_env_done(struct host_env *v)
{
	hutch_close(v->h);
	host_env_remove(v->dir);
}

const char *host_env_kernel(struct host_env *v, const char *script,
			    char buf[4200])
{
	static const char name[] = "kernel";

	(void)snprintf(buf, 4200, "%s/%s", v->dir, name);
	put_file(buf, script);
	return buf;
}

int host_env_dirfd(const struct host_env *v)
{
	int fd = open(v->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

off_t host_size_of(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, 0) < 0 ? -1 : st.st_size;
}

int host_env_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n;
}

struct hutch_vm *host_start_with(struct host_env *v, const char *script,
				 struct hutch_start_opts *o)
{
	struct hutch_vm *vm = NULL;
	char kernel[4200];

	o->kernel = host_env_kernel(v, script, kernel);
	ck_assert_msg(hutch_start(v->h, o, &vm, &v->e) == 0, "%s", v->e.msg);
	o->kernel = NULL;
	return vm;
}

int host_start_quietly(struct host_env *v, struct hutch_start_opts *o)
{
	/* As a script it says nothing; made before, as a file. */
	o->kernel = "/dev/null";
	return hutch_start(v->h, o, NULL, &v->e);
}

struct hutch_vm *host_start(struct host_env *v, const char *script)
{
	struct hutch_start_opts o = HUTCH_START_OPTS_INIT;

	o.name = "web";
	return host_start_with(v, script, &o);
}

struct hutch_record *host_wait_end(struct host_env *v, const char *name)
{
	struct hutch_record *rec = NULL;
	int r = hutch_wait(v->h, name, HUTCH_WAIT_EXIT, HOST_LONG_MS, &rec,
			   &v->e);

	ck_assert_msg(r == 0, "%d %s", r, v->e.msg);
	ck_assert_int_eq(rec->state, HUTCH_STATE_STOPPED);
	ck_assert_int_eq(rec->keeper_pid, 0);
	ck_assert_int_eq(rec->vmm_pid, 0);
	return rec;
}

struct hutch_record *host_inspect(struct host_env *v)
{
	struct hutch_record *rec = NULL;

	ck_assert_msg(hutch_inspect(v->h, "web", &rec, &v->e) == 0, "%s",
		      v->e.msg);
	return rec;
}

/* How "web" ended, as a person is told. */
void host_expect_reason(struct host_env *v, const char *want)
{
	struct hutch_record *rec = host_wait_end(v, "web");
	char got[600];

	ck_assert_str_eq(hutch_reason_text(rec, got, sizeof(got)), want);
	hutch_record_free(rec);
	/* And the same from disk. */
	ck_assert_int_eq(hutch_inspect(v->h, "web", &rec, &v->e), 0);
	ck_assert_str_eq(hutch_reason_text(rec, got, sizeof(got)), want);
	hutch_record_free(rec);
}

struct hutch_exec *host_run_flags(struct host_env *v, unsigned int flags,
				  const char *const *argv)
{
	struct hutch_exec_opts o = HUTCH_EXEC_OPTS_INIT;
	struct hutch_exec *x = NULL;
	int r;

	o.argv = argv;
	o.flags = flags;
	r = hutch_exec_open(v->h, "web", &o, &x, &v->e);
	ck_assert_msg(r == 0, "%d %s", r, v->e.msg);
	return x;
}

void host_collect(struct host_env *v, struct hutch_exec *x,
		  struct host_result *res)
{
	struct hutch_exec_event ev;

	memset(res, 0, sizeof(*res));
	while ((res->r = hutch_exec_wait(x, &ev, HOST_LONG_MS, &v->e)) > 0) {
		char *dst = ev.kind == HUTCH_EXEC_STDOUT ? res->out : res->err;
		size_t *len = ev.kind == HUTCH_EXEC_STDOUT ? &res->out_len
							   : &res->err_len;

		res->last = ev;
		if (ev.kind == HUTCH_EXEC_STARTED)
			res->pid = ev.pid;
		if (ev.kind == HUTCH_EXEC_STDOUT ||
		    ev.kind == HUTCH_EXEC_STDERR) {
			ck_assert_uint_gt(ev.len, 0);
			if (*len + ev.len < sizeof(res->out))
				memcpy(dst + *len, ev.data, ev.len);
			*len += ev.len;
		}
		if (ev.kind == HUTCH_EXEC_ERROR)
			(void)snprintf(res->msg, sizeof(res->msg), "%s",
				       ev.msg);
	}
	ck_assert_int_ne(res->r, 0);
}

void host_log_of(struct host_env *v, const char *proc, struct host_result *res)
{
	struct hutch_attach_opts o = HUTCH_ATTACH_OPTS_INIT;
	struct hutch_exec *x = NULL;
	int r = hutch_attach(v->h, "web", proc, &o, &x, &v->e);

	ck_assert_msg(r == 0, "%d %s", r, v->e.msg);
	host_collect(v, x, res);
	hutch_exec_close(x);
}

/* Starts it in "web", with nobody attached. */
void host_detach(struct host_env *v, const char *id, const char *const *argv)
{
	struct hutch_exec_opts o = HUTCH_EXEC_OPTS_INIT;
	struct hutch_exec_event ev;
	struct hutch_exec *x = NULL;
	int r;

	o.argv = argv;
	o.id = id;
	o.flags = HUTCH_EXEC_DETACH;
	r = hutch_exec_open(v->h, "web", &o, &x, &v->e);
	ck_assert_msg(r == 0, "%s", v->e.msg);
	ck_assert_int_eq(hutch_exec_wait(x, &ev, HOST_LONG_MS, &v->e), 1);
	ck_assert_int_eq(ev.kind, HUTCH_EXEC_STARTED);
	ck_assert_str_eq(ev.id, id);
	ck_assert_int_eq(ev.start_ns, 1);
	/* The last one. */
	ck_assert_int_eq(hutch_exec_next(x, &ev, &v->e), -ENODATA);
	hutch_exec_close(x);
}

void host_kill_and_rm(struct host_env *v)
{
	ck_assert_msg(hutch_rm(v->h, "web", HUTCH_RM_FORCE, &v->e) == 0, "%s",
		      v->e.msg);
}

void host_up(struct host_env *v)
{
	host_env_init(v);
	hutch_vm_close(host_start(v, ""));
}

void host_up_with(struct host_env *v, const char *script,
		  struct hutch_start_opts *o)
{
	host_env_init(v);
	o->name = "web";
	hutch_vm_close(host_start_with(v, script, o));
}

void host_down(struct host_env *v)
{
	host_kill_and_rm(v);
	host_env_done(v);
}
