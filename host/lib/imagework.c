/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/imagework.c - see imagework.h */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "host/lib/dirs.h"
#include "host/lib/imageref.h"
#include "host/lib/imagestore.h"
#include "host/lib/imagework.h"
#include "host/lib/internal.h"
#include "host/lib/child.h"

/* ---- The lines it writes ---- */

static int nonsense(struct err *e)
{
	return err_set(e, -EPROTO, "hutch-image spoke nonsense");
}

bool imagework_number(const char **s, uint64_t *ret)
{
	char *end;

	if (**s < '0' || **s > '9')
		return false;
	errno = 0;
	*ret = strtoull(*s, &end, 10);
	if (errno || (*end && *end != ',' && *end != ' '))
		return false;
	*s = *end ? end + 1 : end;
	return true;
}

static int on_step(const struct imagework *w, const char *s, struct err *e)
{
	uint64_t step, done, total;

	if (!imagework_number(&s, &step) || !imagework_number(&s, &done) ||
	    !imagework_number(&s, &total) || !*s ||
	    step < HUTCH_IMAGE_STEP_NOTE || step > HUTCH_IMAGE_STEP_UNPACK)
		return nonsense(e);
	if (w->progress)
		w->progress(w->progress_arg, (enum hutch_image_step)step, s,
			    done, total);
	return 0;
}

static int on_failed(const char *s, struct err *e)
{
	uint64_t code;

	if (!imagework_number(&s, &code) || !*s || code < 1 || code > 4095)
		return nonsense(e);
	return err_set(e, -(int)code, "%s", s);
}

/* What the bytes at @s begin that a terminal obeys. */
static bool is_control(const uint8_t *s)
{
	if (*s < ' ' || *s == 0x7f)
		return true;
	/* C1: U+0080 to U+009F. */
	if (s[0] == 0xc2)
		return s[1] >= 0x80 && s[1] <= 0x9f;
	/* Those that turn the direction: U+202A to 202E, U+2066 to 2069. */
	if (s[0] != 0xe2)
		return false;
	return (s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) ||
	       (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
}

bool imagework_clean(const char *s)
{
	uint8_t before = 0;

	for (; *s; s++) {
		uint8_t c = (uint8_t)*s;

		/* C1 of eight bits, where no character of more goes on. */
		if (is_control((const uint8_t *)s) ||
		    (c >= 0x80 && c <= 0x9f && before < 0x80))
			return false;
		before = c;
	}
	return true;
}

int imagework_line(const struct imagework *w, char *line,
		   char ret_id[HUTCH_IMAGE_ID_LEN + 1], struct err *e)
{
	char *rest = strchr(line, ' ');

	/* It has escaped what it says; but it reads strangers' bytes. */
	if (!rest || !imagework_clean(line))
		return nonsense(e);
	*rest++ = '\0';
	if (strcmp(line, "step") == 0)
		return on_step(w, rest, e);
	if (strcmp(line, "failed") == 0)
		return on_failed(rest, e);
	if (strcmp(line, "image") != 0 || !imageref_id_ok(rest))
		return nonsense(e);
	memcpy(ret_id, rest, HUTCH_IMAGE_ID_LEN + 1);
	return 1;
}

/* Until the last line, or the end. Return: as imagework_line(). */
static int read_lines(const struct imagework *w, FILE *f, char *ret_id,
		      struct err *e)
{
	char line[IMAGEWORK_LINE_MAX];
	int r = 0;

	while (r == 0 && fgets(line, sizeof(line), f)) {
		size_t len = strlen(line);

		if (len == 0 || line[len - 1] != '\n')
			return nonsense(e);
		line[len - 1] = '\0';
		r = imagework_line(w, line, ret_id, e);
	}
	if (r == 0)
		return err_set(e, -EPROTO,
			       "hutch-image ended before it was done");
	return MIN(r, 0);
}

/* ---- Starting it ---- */

/**
 * struct words - Its command line
 * @v:		Ends in NULL; malloc()ed but for none
 */
struct words {
	char *v[IMAGEWORK_WORDS_MAX + 3];
	size_t n;
};

static void free_words(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i]);
}

static int add_word(struct words *w, const char *fmt, ...) PRINTF(2, 3);

static int add_word(struct words *w, const char *fmt, ...)
{
	va_list ap;
	int n;

	bug_on(w->n + 1 >= ARRAY_LEN(w->v));
	va_start(ap, fmt);
	n = vasprintf(&w->v[w->n], fmt, ap);
	va_end(ap);
	if (n < 0) {
		w->v[w->n] = NULL;
		return -ENOMEM;
	}
	w->n++;
	return 0;
}

static int make_words(const struct imagework *w, const char *path, int store,
		      int report, struct words *ret)
{
	int r = add_word(ret, "%s", path);

	r = r < 0 ? r : add_word(ret, "%s", w->verb);
	r = r < 0 ? r : add_word(ret, "fds=%d,%d,%d", store, report, w->src_fd);
	r = r < 0 ? r : add_word(ret, "parent=%d", getpid());
	r = r < 0 ? r : add_word(ret, "name=%s", w->name);
	r = r < 0 ? r
		  : add_word(ret, "max=%llu,%llu",
			     (unsigned long long)w->max_bytes,
			     (unsigned long long)w->max_entries);
	r = r < 0 ? r : add_word(ret, "pull=%u,%u", w->secret, w->idle_s);
	if (r == 0 && w->pick)
		r = add_word(ret, "pick=%s", w->pick);
	if (r == 0 && w->config)
		r = add_word(ret, "config=%s", w->config);
	return r;
}

/* All that a way to a registry may need; nothing else of the caller's. */
static const char *const env_names[] = {
	"https_proxy", "HTTPS_PROXY", "all_proxy",     "ALL_PROXY",
	"no_proxy",    "NO_PROXY",    "SSL_CERT_FILE",
};

/* Pointers into the environment: "NAME=VALUE". */
static void keep_env(char *ret[ARRAY_LEN(env_names) + 1])
{
	size_t n = 0;

	for (char **v = environ; v && *v; v++)
		for (size_t i = 0; i < ARRAY_LEN(env_names); i++) {
			size_t len = strlen(env_names[i]);

			if (n < ARRAY_LEN(env_names) &&
			    strncmp(*v, env_names[i], len) == 0 &&
			    (*v)[len] == '=')
				ret[n++] = *v;
		}
	ret[n] = NULL;
}

static int spawn(char *const *argv, const int *fd, size_t n_fds, pid_t *pid)
{
	char *env[ARRAY_LEN(env_names) + 1];
	struct child_fds fds = { .n = 0 };
	const struct child s = {
		.argv = argv, .env = env, .fds = &fds, .quiet = true, .cwd = -1
	};

	keep_env(env);
	for (size_t i = 0; i < n_fds; i++)
		child_put(&fds, fd[i], fd[i]);
	return child_run(&s, pid);
}

static int start(const struct imagework *w, const char *path, int store,
		 int report, pid_t *pid, struct err *e)
{
	const int fd[] = { store, report, w->src_fd };
	struct words words = { 0 };
	int r = make_words(w, path, store, report, &words);

	r = r < 0 ? r : spawn(words.v, fd, ARRAY_LEN(fd), pid);
	free_words(&words);
	return r < 0 ? err_set(e, r, "cannot run '%s': %s", path, strerror(-r))
		     : 0;
}

int imagework_run(struct hutch *h, const struct imagestore *s,
		  const struct imagework *w,
		  char ret_id[HUTCH_IMAGE_ID_LEN + 1], struct err *e)
{
	auto_free char *path = NULL;
	int fd[2], r = dirs_find(h, HUTCH_PATH_IMAGE, NULL, &path, e);
	pid_t pid = -1, got;
	FILE *f;

	if (r < 0)
		return r;
	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_set(e, -errno, "cannot make a pipe: %s",
			       strerror(errno));
	r = start(w, path, s->fd, fd[1], &pid, e);
	(void)close(fd[1]);
	f = fdopen(fd[0], "r");
	if (!f) {
		(void)close(fd[0]);
		r = r < 0 ? r : err_set(e, -ENOMEM, "no memory");
	}
	if (r == 0)
		r = read_lines(w, f, ret_id, e);
	if (f)
		(void)fclose(f);
	/* Whose SIGCHLD is ignored gets ECHILD, when it has ended. */
	do
		got = pid < 0 ? 0 : waitpid(pid, NULL, 0);
	while (got < 0 && errno == EINTR);
	return r;
}
