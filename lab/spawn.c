/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a command in the lab. */
#include "spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
/* The lab's own failures, as those of hutch. */
#define EXIT_LAB 125

/* What a child needs after fork(); all of it made before. */
struct command {
	char *cwd;
	char **argv;
	char **env;
	const struct lab_account *as;
	int fd[3];
	int procs;
	bool tty;
};

/*
 * Takes the strings apart in place. The keeper's side is ours, but a bug there
 * must not become a wild pointer here, so all counts are checked.
 */
static int command_parse(struct lab_session *s, struct command *c)
{
	uint8_t *p = s->args.p + s->args.head;
	uint8_t *end = p + s->args.len;
	uint32_t argc, envc, n = 0;
	char **v;

	if (s->args.len <= LAB_ARGS_HEAD || end[-1] != 0)
		return -EBADMSG;
	argc = lab_get32(p + 4);
	envc = lab_get32(p + 8);
	if (argc == 0 || argc > LAB_START_MAX || envc > LAB_START_MAX)
		return -EBADMSG;
	v = calloc((size_t)argc + envc + 2, sizeof(*v));
	if (!v)
		return -ENOMEM;
	p += LAB_ARGS_HEAD;
	c->cwd = (char *)p;
	c->argv = v;
	c->env = v + argc + 1;
	for (p += strlen(c->cwd) + 1; p < end; n++) {
		if (n == argc + envc)
			break;
		v[n < argc ? n : n + 1] = (char *)p;
		p += strlen((char *)p) + 1;
	}
	if (n != argc + envc || p != end) {
		free(v);
		return -EBADMSG;
	}
	return 0;
}

static int session_cgroup_name(const struct lab_session *s, const char *file,
			       char *ret, size_t size)
{
	return snprintf(ret, size, CGROUP_ROOT "/lab.%u/%s", s->id, file);
}

/* Makes the session's cgroup; its procs file, open, or -1 to go without. */
static int cgroup_make(const struct lab_session *s,
		       const struct lab_account *as)
{
	static const char *const theirs[] = { "", "cgroup.procs",
					      "cgroup.subtree_control",
					      "cgroup.threads" };
	char path[64];

	session_cgroup_name(s, "", path, sizeof(path));
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return -1;
	for (size_t i = 0; i < sizeof(theirs) / sizeof(*theirs); i++) {
		session_cgroup_name(s, theirs[i], path, sizeof(path));
		if (chown(path, as->uid, as->gid) < 0)
			return -1;
	}
	session_cgroup_name(s, "cgroup.procs", path, sizeof(path));
	return open(path, O_WRONLY | O_CLOEXEC);
}

static void child_fail(const char *what, const char *name, int code)
{
	/* Says nothing where even stderr is gone: the exit code remains. */
	(void)dprintf(2, "lab: %s '%s': %s\n", what, name, strerror(errno));
	_exit(code);
}

static void child_become(const struct lab_account *as)
{
	gid_t groups[] = { as->gid, as->kvm_gid };

	if (setgroups(as->uid ? 2 : 1, groups) < 0 && errno != EPERM)
		child_fail("cannot become", "user", EXIT_LAB);
	if (setresgid(as->gid, as->gid, as->gid) < 0 ||
	    setresuid(as->uid, as->uid, as->uid) < 0)
		child_fail("cannot become", "user", EXIT_LAB);
}

/* In the child. Never returns. */
static void child_exec(const struct command *c)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		(void)sigaction(i, &dfl, NULL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setsid();
	for (int i = 0; i < 3; i++)
		if (dup2(c->fd[i], i) < 0)
			_exit(EXIT_LAB);
	if (c->tty && ioctl(0, TIOCSCTTY, 0) < 0)
		child_fail("cannot take", "the terminal", EXIT_LAB);
	if (c->procs >= 0 && write(c->procs, "0", 1) != 1)
		child_fail("cannot join", "the cgroup", EXIT_LAB);
	child_become(c->as);
	umask(022);
	if (chdir(c->cwd) < 0)
		child_fail("cannot go to", c->cwd, EXIT_LAB);
	environ = c->env;
	execvp(c->argv[0], c->argv);
	child_fail("cannot run", c->argv[0], errno == ENOENT ? 127 : 126);
}

static int pair_pipe(struct lab_session *s, struct command *c)
{
	int p[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };

	for (int i = 0; i < 3; i++) {
		if (pipe2(p[i], O_CLOEXEC) < 0)
			goto fail;
	}
	for (int i = 0; i < 3; i++) {
		int mine = p[i][i == 0];

		if (fcntl(mine, F_SETFL, O_NONBLOCK) < 0)
			goto fail;
		c->fd[i] = p[i][i != 0];
	}
	s->in_fd = p[0][1];
	s->out[0].fd = p[1][0];
	s->out[1].fd = p[2][0];
	return 0;
fail:
	for (int i = 0; i < 3; i++) {
		if (p[i][0] < 0)
			break;
		close(p[i][0]);
		close(p[i][1]);
	}
	return -EMFILE;
}

static int pair_tty(struct lab_session *s, struct command *c)
{
	int in = -1, master, slave;

	if (openpty(&master, &slave, NULL, NULL, NULL) < 0)
		return -errno;
	if (fcntl(master, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(slave, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(master, F_SETFL, O_NONBLOCK) < 0 ||
	    fchown(slave, c->as->uid, c->as->gid) < 0)
		goto fail;
	in = fcntl(master, F_DUPFD_CLOEXEC, 3);
	if (in < 0)
		goto fail;
	(void)spawn_resize(master, s->args.p + s->args.head);
	s->in_fd = in;
	s->out[0].fd = master;
	for (int i = 0; i < 3; i++)
		c->fd[i] = slave;
	return 0;
fail:
	close(master);
	close(slave);
	return -EMFILE;
}

static void command_done(struct command *c)
{
	for (int i = 0; i < (c->tty ? 1 : 3); i++)
		if (c->fd[i] >= 0)
			close(c->fd[i]);
	if (c->procs >= 0)
		close(c->procs);
	free(c->argv);
}

/**
 * spawn_command() - Start what a session's arguments ask for
 * @s:		Session that was not started; its descriptors and pid are set
 * @w:		The lab
 * @flags:	LAB_START_*
 *
 * Return: 0, -EBADMSG if the arguments make no sense, -errno.
 */
int spawn_command(struct lab_session *s, const struct lab_world *w,
		  uint8_t flags)
{
	static const struct lab_account root = { 0 };
	struct command c = { .fd = { -1, -1, -1 }, .procs = -1 };
	int r;

	c.as = flags & LAB_START_ROOT ? &root : &w->user;
	c.tty = s->tty = flags & LAB_START_TTY;
	r = command_parse(s, &c);
	if (r < 0)
		return r;
	r = c.tty ? pair_tty(s, &c) : pair_pipe(s, &c);
	if (r < 0)
		goto out;
	if (w->cgroup)
		c.procs = cgroup_make(s, c.as);
	s->pid = fork();
	if (s->pid == 0)
		child_exec(&c);
	if (s->pid < 0) {
		r = -errno;
		s->pid = 0;
	}
out:
	command_done(&c);
	return r;
}

static int write_word(const char *path, const char *word)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, word, strlen(word));
	close(fd);
	return n < 0 ? -EIO : 0;
}

static void kill_session(pid_t sid)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (pid > 0 && getsid(pid) == sid)
			(void)kill(pid, SIGKILL);
	}
	closedir(d);
}

/**
 * spawn_kill() - End all that a session has started
 * @s:		Session, started or not
 * @w:		The lab
 *
 * Without cgroups what has made a session of its own is not reached.
 */
void spawn_kill(const struct lab_session *s, const struct lab_world *w)
{
	char path[64];

	if (!s->pid)
		return;
	session_cgroup_name(s, "cgroup.kill", path, sizeof(path));
	if (w->cgroup && write_word(path, "1") == 0)
		return;
	kill_session(s->pid);
}

/**
 * spawn_forget() - Remove a session's cgroup
 * @s:		Session
 * @w:		The lab
 *
 * It stays if the command has left something running there.
 */
void spawn_forget(const struct lab_session *s, const struct lab_world *w)
{
	char path[64];

	if (!w->cgroup || !s->pid)
		return;
	session_cgroup_name(s, "", path, sizeof(path));
	(void)rmdir(path);
}

/**
 * spawn_resize() - Set a terminal's size
 * @fd:		Terminal
 * @rows_cols:	le16 rows, le16 columns
 *
 * Return: 0, -errno.
 */
int spawn_resize(int fd, const uint8_t *rows_cols)
{
	struct winsize ws = {
		.ws_row = lab_get16(rows_cols),
		.ws_col = lab_get16(rows_cols + 2),
	};

	return ioctl(fd, TIOCSWINSZ, &ws) < 0 ? -errno : 0;
}
