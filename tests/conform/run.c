/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/run.c - a rule, in a process and a folder of its own */
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/conform/conform.h"

/* Nothing takes as long; a rule that does would never end. */
#define HUNG_S 120u

#define DESCRIPTORS 16

/* Folders first, since a rule may have locked us out of them. */
static int open_up(const char *path, const struct stat *st, int type,
		   struct FTW *ftw)
{
	if (S_ISDIR(st->st_mode) && (st->st_mode & 0700) != 0700)
		(void)chmod(path, 0700);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	return remove(path);
}

/* What cannot be removed is for whoever made the folder that we are in. */
static void remove_tree(const char *name)
{
	(void)nftw(name, open_up, DESCRIPTORS, FTW_PHYS);
	(void)nftw(name, remove_one, DESCRIPTORS, FTW_PHYS | FTW_DEPTH);
}

int place_make(struct place *p, const char *dir)
{
	char name[LONG_PATH];

	(void)snprintf(name, sizeof(name), "%s/conform-XXXXXX", dir);
	if (!mkdtemp(name) || chmod(name, 0755) < 0 || chdir(name) < 0)
		return -errno;
	p->n = 0;
	p->dir_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir_fd < 0)
		return -errno;
	/* What tick() reads the time from. */
	make_file("clock", 0666);
	return 0;
}

void place_remove(struct place *p)
{
	char path[LONG_PATH];

	(void)unlink("clock");
	if (getcwd(path, sizeof(path)) && chdir("/") == 0)
		(void)rmdir(path);
	(void)close(p->dir_fd);
}

__attribute__((noreturn)) static void run_in(const struct rule *rule,
					     const struct op *op,
					     const char *dir, int out)
{
	(void)umask(022);
	(void)alarm(HUNG_S);
	(void)signal(SIGPIPE, SIG_DFL);
	if (dup2(out, STDOUT_FILENO) < 0 || chdir(dir) < 0)
		_exit(2);
	if (rule->check_op)
		rule->check_op(op);
	else if (rule->check_with)
		rule->check_with(rule->with);
	else
		rule->check();
	leave();
}

static void read_report(int fd, char report[REPORT_MAX])
{
	size_t len = 0;
	ssize_t n;

	while (len < REPORT_MAX - 1) {
		n = read(fd, report + len, REPORT_MAX - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	report[len] = '\0';
}

static bool judge(int status, char report[REPORT_MAX])
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !report[0])
		return true;
	if (report[0])
		return false;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		(void)snprintf(report, REPORT_MAX, "hung for %u s", HUNG_S);
	else
		(void)snprintf(report, REPORT_MAX, "ended with status %#x",
			       (unsigned int)status);
	return false;
}

bool rule_run(struct place *p, const struct rule *rule, const struct op *op,
	      char report[REPORT_MAX])
{
	char dir[32];
	bool good;
	int out[2], status = 0;
	pid_t pid;

	(void)snprintf(dir, sizeof(dir), "%u", p->n++);
	report[0] = '\0';
	if (pipe2(out, O_CLOEXEC) < 0 || mkdir(dir, 0755) < 0) {
		(void)snprintf(report, REPORT_MAX, "set-up: %s",
			       strerror(errno));
		return false;
	}
	pid = fork();
	if (pid == 0)
		run_in(rule, op, dir, out[1]);
	(void)close(out[1]);
	read_report(out[0], report);
	(void)close(out[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	good = judge(status, report);
	remove_tree(dir);
	return good;
}
