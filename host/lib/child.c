/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/child.c - see child.h */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

#include "host/lib/child.h"

void child_put(struct child_fds *f, int from, int to)
{
	if (from < 0)
		return;
	bug_on(f->n == CHILD_FDS_MAX);
	f->v[f->n].from = from;
	f->v[f->n].to = to;
	f->n++;
}

static int put_files(posix_spawn_file_actions_t *fa, const struct child *s)
{
	const struct child_fds *f = s->fds;
	int r = 0;

	if (s->quiet) {
		r = posix_spawn_file_actions_addopen(fa, 0, "/dev/null", O_RDWR,
						     0);
		r = r ? r : posix_spawn_file_actions_adddup2(fa, 0, 1);
		r = r ? r : posix_spawn_file_actions_adddup2(fa, 0, 2);
	}
	/* Onto itself drops close-on-exec. */
	for (unsigned int i = 0; r == 0 && f && i < f->n; i++)
		r = posix_spawn_file_actions_adddup2(fa, f->v[i].from,
						     f->v[i].to);
	if (r == 0 && s->cwd >= 0)
		r = posix_spawn_file_actions_addfchdir_np(fa, s->cwd);
	return r;
}

/* What we, or our caller, may have chosen to ignore, and it may need. */
static int put_signals(posix_spawnattr_t *attr, const struct child *s)
{
	static const int usual[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
				     SIGPIPE, SIGCHLD, SIGXFSZ };
	const int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
			  (s->session ? POSIX_SPAWN_SETSID : 0);
	sigset_t blocked, reset;
	int r;

	(void)sigemptyset(&blocked);
	(void)sigemptyset(&reset);
	if (s->block)
		(void)sigaddset(&blocked, s->block);
	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		(void)sigaddset(&reset, usual[i]);
	r = posix_spawnattr_setflags(attr, (short)flags);
	r = r ? r : posix_spawnattr_setsigmask(attr, &blocked);
	return r ? r : posix_spawnattr_setsigdefault(attr, &reset);
}

int child_run(const struct child *s, pid_t *ret)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	int r;

	if (posix_spawn_file_actions_init(&fa) != 0)
		return -ENOMEM;
	if (posix_spawnattr_init(&attr) != 0) {
		(void)posix_spawn_file_actions_destroy(&fa);
		return -ENOMEM;
	}
	r = put_files(&fa, s);
	r = r ? r : put_signals(&attr, s);
	r = r ? r : posix_spawn(ret, s->argv[0], &fa, &attr, s->argv, s->env);
	(void)posix_spawnattr_destroy(&attr);
	(void)posix_spawn_file_actions_destroy(&fa);
	return -r;
}
