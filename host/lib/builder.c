/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/builder.c - see builder.h */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/io.h"
#include "common/log.h"
#include "host/lib/builder.h"
#include "host/lib/internal.h"

#define ARGS_MAX    64
#define TAIL_SHOWN  15  /* lines */
#define REASON_MAX  150 /* bytes of one that stand in our sentence */
#define EXIT_CANNOT 127

/* Where tools are that an ordinary user may not have on PATH. */
#define ROOTS_PATH "/usr/local/sbin:/usr/sbin:/sbin"
#define NO_PATH    "/usr/local/bin:/usr/bin:/bin"

/* ---- What it takes ---- */

static char *search_path(void)
{
	const char *path = getenv("PATH");
	char *s = NULL;

	if (asprintf(&s, "%s:" ROOTS_PATH, path && *path ? path : NO_PATH) < 0)
		return NULL;
	return s;
}

/* As execvp() would find it. Return: 0 with the path, -ENOENT, -ENOMEM */
static int find(const char *name, char **ret)
{
	auto_free char *path = search_path();
	char *rest = path, *dir;

	if (!path)
		return -ENOMEM;
	while ((dir = strsep(&rest, ":"))) {
		auto_free char *file = NULL;

		if (*dir != '/')
			continue;
		if (asprintf(&file, "%s/%s", dir, name) < 0) {
			file = NULL;
			return -ENOMEM;
		}
		if (access(file, X_OK) == 0) {
			*ret = take_ptr(&file);
			return 0;
		}
	}
	return -ENOENT;
}

static int need(const char *name, const char *package, const char *why,
		struct err *e)
{
	auto_free char *path = NULL;
	int r = find(name, &path);

	if (r == -ENOENT)
		return err_set(e, r, "%s needs %s: apt install %s", why, name,
			       package);
	return r < 0 ? err_set(e, r, "no memory") : 0;
}

int builder_check(struct err *e)
{
	int r = need("mmdebstrap", "mmdebstrap", "building", e);

	r = r < 0 ? r : need("unshare", "util-linux", "building", e);
	if (r == 0 && geteuid() != 0)
		r = need("newuidmap", "uidmap", "building as an ordinary user",
			 e);
	return r;
}

/* ---- Its command line and environment ---- */

static void make_argv(const struct builder *b, const char *unshare,
		      const char *argv[ARGS_MAX])
{
	static const char *const user[] = { "--user", "--map-auto",
					    "--map-root-user" };
	static const char *const both[] = { "--mount",      "--pid",
					    "--fork",       "--kill-child=KILL",
					    "--mount-proc", "--",
					    "/bin/sh" };
	size_t n = 0;

	argv[n++] = unshare;
	for (size_t i = 0; geteuid() != 0 && i < ARRAY_LEN(user); i++)
		argv[n++] = user[i];
	for (size_t i = 0; i < ARRAY_LEN(both); i++)
		argv[n++] = both[i];
	argv[n++] = b->script;
	for (size_t i = 0; b->args[i]; i++) {
		bug_on(n + 1 >= ARGS_MAX);
		argv[n++] = b->args[i];
	}
	argv[n] = NULL;
}

/* What apt may need to get to a mirror; nothing else of the caller's. */
static const char *const env_names[] = {
	"TERM",      "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY",
	"all_proxy", "ALL_PROXY",  "no_proxy",    "NO_PROXY",
};

/** struct environment - "NAME=VALUE", borrowed but for the first */
struct environment {
	char *v[ARRAY_LEN(env_names) + 4];
};

static int make_env(struct environment *ret)
{
	static char lc[] = "LC_ALL=C.UTF-8", home[] = "HOME=/root";
	auto_free char *path = search_path();
	size_t n = 0;

	if (!path || asprintf(&ret->v[n++], "PATH=%s", path) < 0)
		return -ENOMEM;
	ret->v[n++] = lc;
	ret->v[n++] = home;
	for (char **v = environ; v && *v; v++)
		for (size_t i = 0; i < ARRAY_LEN(env_names); i++) {
			size_t len = strlen(env_names[i]);

			if (strncmp(*v, env_names[i], len) == 0 &&
			    (*v)[len] == '=' && n + 1 < ARRAY_LEN(ret->v))
				ret->v[n++] = *v;
		}
	ret->v[n] = NULL;
	return 0;
}

/* ---- Running it ---- */

/* In the child of what may have many threads: system calls alone. */
__attribute__((noreturn)) static void become(const char *const *argv,
					     char *const *env, int out, int err,
					     pid_t parent)
{
	static const int deflt[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
				     SIGPIPE, SIGCHLD, SIGXFSZ };
	/* execve() changes no word, and says so nowhere. */
	const union {
		const char *const *in;
		char *const *out;
	} words = { .in = argv };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	for (size_t i = 0; i < ARRAY_LEN(deflt); i++)
		(void)signal(deflt[i], SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(EXIT_CANNOT);
	/* Out of the way of 0, 1 and 2, which they may be. */
	out = fcntl(out, F_DUPFD_CLOEXEC, 10);
	err = fcntl(err < 0 ? null : err, F_DUPFD_CLOEXEC, 10);
	if (null < 0 || out < 0 || err < 0 || dup2(null, 0) < 0 ||
	    dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(EXIT_CANNOT);
	(void)close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
	(void)execve(argv[0], words.out, env);
	_exit(EXIT_CANNOT);
}

/** struct tail - The end of what it said */
struct tail {
	char text[BUILDER_TAIL + 1];
	size_t len;
};

static int read_tail(int fd, struct tail *t)
{
	char buf[BUILDER_TAIL / 2];
	ssize_t n;

	t->len = 0;
	do {
		n = read(fd, buf, sizeof(buf));
		if (n > 0 && t->len + (size_t)n > BUILDER_TAIL) {
			size_t drop = t->len + (size_t)n - BUILDER_TAIL;

			memmove(t->text, t->text + drop, t->len - drop);
			t->len -= drop;
		}
		if (n > 0) {
			memcpy(t->text + t->len, buf, (size_t)n);
			t->len += (size_t)n;
		}
	} while (n > 0 || (n < 0 && errno == EINTR));
	while (t->len && t->text[t->len - 1] == '\n')
		t->len--;
	t->text[t->len] = '\0';
	return n < 0 ? -errno : 0;
}

/* Its last lines, made printable, for a person to read. */
static void show_tail(const struct tail *t, int fd)
{
	const char *s = t->text + t->len;
	int lines = 0;

	while (s > t->text && (s[-1] != '\n' || ++lines < TAIL_SHOWN))
		s--;
	while (*s) {
		size_t len = strcspn(s, "\n");
		char line[512];

		log_escape(line, sizeof(line), s, len);
		if (dprintf(fd, "%s\n", line) < 0)
			return;
		s += len + (s[len] == '\n');
	}
}

/* The line that says best why: the first error that is told of. */
static const char *reason(const struct tail *t, char buf[REASON_MAX])
{
	const char *s = strstr(t->text, "E: ");
	const char *last = strrchr(t->text, '\n');

	if (s && (s == t->text || s[-1] == '\n'))
		s += 3;
	else
		s = last ? last + 1 : t->text;
	return log_escape(buf, REASON_MAX, s, strcspn(s, "\n"));
}

static int how_it_ended(int status, const struct tail *t, int log_fd,
			struct err *e)
{
	char how[40], why[REASON_MAX];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFSIGNALED(status))
		(void)snprintf(how, sizeof(how), "was killed by signal %d",
			       WTERMSIG(status));
	else
		(void)snprintf(how, sizeof(how), "failed (exit code %d)",
			       WEXITSTATUS(status));
	if (!t)
		return err_set(e, -EIO, "mmdebstrap %s: see above", how);
	if (log_fd >= 0)
		show_tail(t, log_fd);
	return err_set(e, -EIO, "mmdebstrap %s%s%s", how, t->len ? ": " : "",
		       reason(t, why));
}

/* Return: its status as waitpid() has it, or -errno */
static int await(pid_t pid, int *status)
{
	pid_t got;

	do
		got = waitpid(pid, status, 0);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : 0;
}

static int run(const struct builder *b, const char *const *argv,
	       char *const *env, struct err *e)
{
	bool seen = b->log_fd >= 0 && isatty(b->log_fd) == 1;
	pid_t pid, self = getpid();
	int p[2] = { -1, -1 }, status = 0, r = 0;
	auto_free struct tail *t = NULL;

	if (!seen) {
		t = calloc(1, sizeof(*t));
		if (!t || pipe2(p, O_CLOEXEC) < 0)
			return err_set(e, t ? -errno : -ENOMEM,
				       "cannot make a pipe");
	}
	pid = fork();
	if (pid == 0)
		become(argv, env, b->out_fd, seen ? b->log_fd : p[1], self);
	r = pid < 0 ? -errno : 0;
	base_closep(&p[1]);
	if (r == 0 && t)
		r = read_tail(p[0], t);
	base_closep(&p[0]);
	if (pid > 0 && r < 0)
		(void)kill(pid, SIGKILL);
	if (pid > 0) {
		int w = await(pid, &status);

		r = r < 0 ? r : w;
	}
	return r < 0 ? err_set(e, r, "cannot run '%s': %s", argv[0],
			       strerror(-r))
		     : how_it_ended(status, t, b->log_fd, e);
}

int builder_run(const struct builder *b, struct err *e)
{
	const char *argv[ARGS_MAX];
	auto_free char *unshare = NULL;
	struct environment env = { 0 };
	int r = find("unshare", &unshare);

	r = r < 0 ? r : make_env(&env);
	if (r < 0)
		return err_set(e, r, "cannot run unshare: %s", strerror(-r));
	make_argv(b, unshare, argv);
	r = run(b, argv, env.v, e);
	free(env.v[0]);
	return r;
}
