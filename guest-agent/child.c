/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/child.c - see child.h
 *
 * A plain fork, not a vfork: the child looks up users, changes folders and
 * executes programs on file systems that may hang or be served by a process
 * of the guest, and only the child may wait for them.  The agent has one
 * thread, so that after the fork all of libc may be used.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/io.h"
#include "common/log.h"
#include "guest-agent/child.h"
#include "guest-agent/env.h"
#include "guest-agent/user.h"

#define QUOTE_MAX 120u

/* What a candidate's path may take: a folder of PATH, '/', the name. */
#define CANDIDATE_MAX (2ul * WIRE_PATH_MAX)

/**
 * struct failure - Why the program does not run
 * @kind:	For the client's exit code
 */
struct failure {
	enum wire_error_kind kind;
	struct err e;
};

static int fail(struct failure *f, enum wire_error_kind kind, int code)
{
	f->kind = kind;
	f->e.code = code;
	return code;
}

static const char *quote(char q[QUOTE_MAX], const char *s)
{
	return log_escape(q, QUOTE_MAX, s, strlen(s));
}

/*
 * What the agent changed for itself and children would inherit.  Handlers
 * were reset by CLONE_CLEAR_SIGHAND, which ignored signals are not.
 */
void child_reset_signals(void)
{
	sigset_t none;

	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

void child_reset_limits(void)
{
	struct rlimit rl = { .rlim_cur = CHILD_NOFILE_SOFT,
			     .rlim_max = CHILD_NOFILE_HARD };
	auto_fd int fd = -1;

	/* Where the hard limit cannot be had, the soft one still can. */
	if (setrlimit(RLIMIT_NOFILE, &rl) < 0 &&
	    getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = MIN(rl.rlim_max, CHILD_NOFILE_SOFT);
		(void)setrlimit(RLIMIT_NOFILE, &rl);
	}
	/* The agent is exempt from the oom-killer, its children are not. */
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, "0", 1) < 0)
		(void)fd; /* no /proc, as in some tests: nothing to undo */
	(void)umask(022);
}

void child_keep_only(int fd)
{
	if (fd > 3)
		(void)syscall(SYS_close_range, 3, fd - 1, 0);
	(void)syscall(SYS_close_range, fd + 1, ~0u, 0);
}

/*
 * Let go of the agent's descriptors before anything can make us wait: a child
 * that hangs on a file must not keep other processes' pipes open.
 */
static void close_others(const struct spawn *s)
{
	int keep[] = { s->stdio[0], s->stdio[1], s->stdio[2], s->report_fd };
	unsigned int from = 3;

	for (size_t i = 1; i < ARRAY_LEN(keep); i++)
		for (size_t j = i; j > 0 && keep[j] < keep[j - 1]; j--) {
			int t = keep[j];

			keep[j] = keep[j - 1];
			keep[j - 1] = t;
		}
	for (size_t i = 0; i < ARRAY_LEN(keep); i++) {
		unsigned int fd = (unsigned int)keep[i];

		if (fd > from)
			(void)syscall(SYS_close_range, from, fd - 1, 0);
		from = MAX(from, fd + 1);
	}
	(void)syscall(SYS_close_range, from, ~0u, 0);
}

static int set_stdio(const struct spawn *s, const struct user *u,
		     struct failure *f)
{
	/* So that /dev/stdout can be opened by a user who is not root. */
	for (int i = 0; u->uid && i < 3; i++) {
		struct stat st;

		if (fstat(s->stdio[i], &st) == 0 &&
		    (s->tty || S_ISFIFO(st.st_mode)) &&
		    fchown(s->stdio[i], u->uid, s->tty ? (gid_t)-1 : u->gid) <
			    0)
			continue; /* it can still be written to */
	}
	if (s->tty && ioctl(s->stdio[0], TIOCSCTTY, 0) < 0) {
		(void)err_set(&f->e, -errno, "controlling terminal: %s",
			      strerror(errno));
		return fail(f, WIRE_ERR_GENERAL, f->e.code);
	}
	/* The agent's own 0 to 2 are taken, so none of @stdio is below 3. */
	for (int i = 0; i < 3; i++) {
		if (dup2(s->stdio[i], i) < 0) {
			(void)err_set(&f->e, -errno, "descriptor %d: %s", i,
				      strerror(errno));
			return fail(f, WIRE_ERR_GENERAL, f->e.code);
		}
	}
	/* All of ours are so already; a slip must not reach the guest. */
	(void)syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC);
	return 0;
}

static int enter(const char *cwd, struct failure *f)
{
	char q[QUOTE_MAX];

	if (chdir(cwd) == 0)
		return 0;
	(void)err_set(&f->e, -errno, "working directory '%s': %s",
		      quote(q, cwd), strerror(errno));
	return fail(f, WIRE_ERR_GENERAL, f->e.code);
}

/* Sentence and kind for what execve() of @path, or the search for it, said. */
static int explain(const char *path, int err, struct failure *f)
{
	char q[QUOTE_MAX];
	struct stat st;

	quote(q, path);
	switch (err) {
	case ENOENT:
	case ENOTDIR:
		if (strchr(path, '/') && stat(path, &st) == 0)
			(void)err_set(&f->e, -err,
				      "'%s' is there, but the interpreter or "
				      "loader that it names is not",
				      q);
		else
			(void)err_set(&f->e, -err, "'%s' is not found", q);
		return fail(f, WIRE_ERR_NOT_FOUND, -err);
	case EACCES:
		if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
			(void)err_set(&f->e, -err, "'%s' is a directory", q);
		else
			(void)err_set(&f->e, -err,
				      "'%s' may not be executed: %s", q,
				      strerror(err));
		return fail(f, WIRE_ERR_NOT_EXECUTABLE, -err);
	case ENOEXEC:
		(void)err_set(&f->e, -err,
			      "'%s' is neither a program for this machine nor "
			      "a script with #! in its first line",
			      q);
		return fail(f, WIRE_ERR_NOT_EXECUTABLE, -err);
	case E2BIG:
		(void)err_set(&f->e, -err,
			      "'%s': arguments and environment are too long",
			      q);
		return fail(f, WIRE_ERR_NOT_EXECUTABLE, -err);
	default:
		(void)err_set(&f->e, -err, "'%s': %s", q, strerror(err));
		return fail(f, WIRE_ERR_NOT_EXECUTABLE, -err);
	}
}

static int exec_one(const char *path, const struct msg_exec *req,
		    const struct env *env)
{
	/* execve() writes to neither; its prototype predates const. */
	(void)execve(path, (char *const *)(void *)req->argv,
		     (char *const *)(void *)env->v);
	return errno;
}

/* The next folder of *@pos with @name behind it. Return: 0, or -1 at the end */
static int next_candidate(const char **pos, const char *name,
			  char buf[CANDIDATE_MAX])
{
	const char *dir = *pos;
	size_t len;

	if (!dir)
		return -1;
	len = strcspn(dir, ":");
	*pos = dir[len] ? dir + len + 1 : NULL;
	/* An empty folder is the current one. */
	if (len == 0) {
		dir = ".";
		len = 1;
	}
	/* What would have to be cut names another file: leave it out. */
	if (len + strlen(name) + 2 > CANDIDATE_MAX)
		*buf = '\0';
	else
		(void)snprintf(buf, CANDIDATE_MAX, "%.*s/%s", (int)len, dir,
			       name);
	return 0;
}

/*
 * Search as a shell does: what may not be executed is remembered, and told
 * only if nothing better follows.
 */
static int exec_search(const struct msg_exec *req, const struct env *env,
		       struct failure *f)
{
	const char *name = req->argv[0], *path = env_get(env, "PATH");
	char candidate[CANDIDATE_MAX], denied[CANDIDATE_MAX] = "";
	int err;

	if (strchr(name, '/'))
		return explain(name, exec_one(name, req, env), f);
	while (next_candidate(&path, name, candidate) == 0) {
		struct stat st;

		if (!*candidate)
			continue;
		err = exec_one(candidate, req, env);
		if (err == EACCES && stat(candidate, &st) == 0 &&
		    !S_ISDIR(st.st_mode))
			(void)snprintf(denied, sizeof(denied), "%s", candidate);
		/* There, but not its interpreter: a shell stops there too. */
		if ((err == ENOENT && stat(candidate, &st) == 0) ||
		    (err != ENOENT && err != ENOTDIR && err != EACCES))
			return explain(candidate, err, f);
	}
	if (*denied)
		return explain(denied, EACCES, f);
	return explain(name, ENOENT, f);
}

static const char *or_else(const char *a, const char *b, const char *c)
{
	return *a ? a : *b ? b : c;
}

static int run(const struct spawn *s, struct failure *f)
{
	const struct msg_exec *req = s->req;
	struct env env = { 0 };
	struct user u;
	auto_fd int etc = -1;
	int r;

	close_others(s);
	(void)setsid();
	child_reset_signals();
	child_reset_limits();
	etc = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = user_find(etc, or_else(req->user, s->boot->user, ""), &u, &f->e);
	if (r < 0)
		return fail(f, WIRE_ERR_GENERAL, r);
	if (env_build(&env, s->boot, req, &u) < 0) {
		(void)err_set(&f->e, -ENOMEM, "environment: out of memory");
		return fail(f, WIRE_ERR_LIMIT, -ENOMEM);
	}
	r = set_stdio(s, &u, f);
	if (r == 0) {
		r = user_become(&u, &f->e);
		if (r < 0)
			return fail(f, WIRE_ERR_GENERAL, r);
		r = enter(or_else(req->cwd, s->boot->cwd, "/"), f);
	}
	if (r == 0)
		r = exec_search(req, &env, f);
	env_done(&env);
	return r;
}

static _Noreturn void child_main(const struct spawn *s)
{
	uint8_t buf[WIRE_HDR_LEN + 16 + ERR_MSG_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct failure f = { 0 };

	(void)run(s, &f);
	wire_error_put(&wr, &(struct msg_error){ .code = (uint32_t)-f.e.code,
						 .kind = f.kind,
						 .sentence = f.e.msg });
	/* If even this cannot be said, the exit code still tells of it. */
	_exit(io_write_full(s->report_fd, buf, wr.len) < 0 ? 125 : 127);
}

pid_t child_fork(int cgroup_fd)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .flags = CLONE_CLEAR_SIGHAND };
	long r;

	if (cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup_fd;
	}
	r = syscall(SYS_clone3, &args, sizeof(args));
	return r < 0 ? -errno : (pid_t)r;
}

pid_t child_spawn(const struct spawn *s)
{
	pid_t pid = child_fork(s->cgroup_fd);

	if (pid == 0)
		child_main(s);
	return pid;
}
