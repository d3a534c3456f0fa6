/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/integration/warden.c - run one test and let nothing of it stay behind
 *
 *	warden SECONDS GRACE_SECONDS COMMAND [ARG...]
 *
 * The command gets a session of its own. Whatever it starts, however often it
 * forks or calls setsid(), comes back to the warden as an orphan, since the
 * warden is a child subreaper. The exit code is the command's (128+n if
 * signal n killed it); 124 if it ran for SECONDS and was killed as hung; 99
 * if it ended well but something it had started was still there after
 * GRACE_SECONDS. What is left is named and killed in any case.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "common/io.h"
#include "common/words.h"

#define EXIT_HUNG  124
#define EXIT_WRONG 125
#define EXIT_LEFT  99

/* "12 34 56 ", our children, those that are orphans included. */
static char *children(void)
{
	char *list = NULL;

	/* One thread, so one list. */
	if (io_read_file(AT_FDCWD, "/proc/thread-self/children", 1u << 20,
			 &list, NULL, NULL) < 0)
		return NULL;
	return list;
}

/* "cmd" in @name, as far as it fits; "?" if the process is gone. */
static void process_name(int pid, char *name, size_t cap)
{
	auto_free char *line = NULL;
	char path[64];
	size_t len = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	if (io_read_file(AT_FDCWD, path, 1u << 20, &line, &len, NULL) < 0) {
		(void)snprintf(name, cap, "?");
		return;
	}
	for (size_t i = 0; i + 1 < len; i++)
		if (line[i] == '\0')
			line[i] = ' ';
	(void)snprintf(name, cap, "%s", line);
}

static void each_child(bool tell)
{
	auto_free char *list = children();
	char *save = NULL;

	if (!list)
		return;
	for (char *s = strtok_r(list, " ", &save); s;
	     s = strtok_r(NULL, " ", &save)) {
		uint64_t pid = 0;
		char name[200];

		if (words_uint("pid", s, 1, INT32_MAX, &pid, NULL) < 0)
			continue;
		if (tell) {
			process_name((int)pid, name, sizeof(name));
			(void)fprintf(stderr, "warden: left behind: %d %s\n",
				      (int)pid, name);
		}
		(void)kill((pid_t)pid, SIGKILL);
	}
}

/* Orphans of what is killed become our children in turn. */
static void kill_all(bool tell)
{
	do {
		each_child(tell);
	} while (waitpid(-1, NULL, 0) > 0 || errno != ECHILD);
}

/* Waits for a child or a signal, at most until @deadline. */
static int wait_signal(const sigset_t *set, const struct timespec *deadline)
{
	struct timespec now, left;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec >= deadline->tv_sec)
		return SIGALRM;
	left = (struct timespec){ .tv_sec = deadline->tv_sec - now.tv_sec };
	return sigtimedwait(set, NULL, &left);
}

/*
 * Reaps until the main process has ended (or, with @main_pid 0, until no
 * child is left). Return: its wait status, 0 if none is left, or -1 when the
 * time is over, -2 when a signal tells us to end.
 */
static int reap(pid_t main_pid, const sigset_t *set,
		const struct timespec *deadline)
{
	for (;;) {
		int status = 0, sig;
		pid_t pid;

		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			if (pid == main_pid)
				return status;
		if (pid < 0 && errno == ECHILD)
			return 0;
		sig = wait_signal(set, deadline);
		if (sig == SIGALRM)
			return -1;
		if (sig > 0 && sig != SIGCHLD)
			return -2;
	}
}

static struct timespec deadline_in(uint64_t seconds)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += (time_t)seconds;
	return ts;
}

static _Noreturn void run_command(char **argv, const sigset_t *old)
{
	(void)sigprocmask(SIG_SETMASK, old, NULL);
	(void)setsid();
	(void)execvp(argv[0], argv);
	(void)fprintf(stderr, "warden: cannot run '%s': %s\n", argv[0],
		      strerror(errno));
	_exit(EXIT_WRONG);
}

static int guard(pid_t pid, uint64_t seconds, uint64_t grace,
		 const sigset_t *set)
{
	struct timespec until = deadline_in(seconds);
	int status = reap(pid, set, &until), code, r;

	if (status < 0) {
		if (status == -1)
			(void)fprintf(stderr,
				      "warden: hung: killed after "
				      "%llu s\n",
				      (unsigned long long)seconds);
		kill_all(status == -1);
		return status == -1 ? EXIT_HUNG : EXIT_WRONG;
	}
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	until = deadline_in(grace);
	r = code ? -1 : reap(0, set, &until);
	if (r < 0)
		kill_all(true);
	return r < 0 && !code ? EXIT_LEFT : code;
}

int main(int argc, char **argv)
{
	uint64_t seconds = 0, grace = 0;
	struct err e = { 0 };
	sigset_t set, old;
	pid_t pid;

	if (argc < 4 ||
	    words_uint("SECONDS", argv[1], 1, 1u << 20, &seconds, &e) < 0 ||
	    words_uint("GRACE", argv[2], 0, 1u << 20, &grace, &e) < 0) {
		(void)fprintf(stderr, "warden: %s\n",
			      e.msg[0] ? e.msg : "too few arguments");
		return EXIT_WRONG;
	}
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, &old);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	/* A runner that dies takes its test with it. */
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
	pid = fork();
	if (pid < 0) {
		(void)fprintf(stderr, "warden: fork: %s\n", strerror(errno));
		return EXIT_WRONG;
	}
	if (pid == 0)
		run_command(argv + 3, &old);
	return guard(pid, seconds, grace, &set);
}
