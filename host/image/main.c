/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/image/main.c - hutch-image: makes images, started by libhutch
 *
 * Not for people to run: see host/lib/imagework.h for its command line.
 */
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "common/io.h"
#include "host/image/import.h"
#include "host/image/jail.h"
#include "host/image/pull.h"
#include "host/image/report.h"
#include "host/lib/imagestore.h"
#include "host/lib/imagework.h"

/** struct args - The command line, taken apart */
struct args {
	const char *verb;
	const char *name;
	const char *pick;
	const char *config;
	int store_fd;
	int report_fd;
	int src_fd;
	uint64_t parent;
	uint64_t max_bytes;
	uint64_t max_entries;
	uint64_t secret;
	uint64_t idle_s;
};

/* "-1" is no descriptor. */
static bool read_fd(const char **s, int *ret)
{
	uint64_t v;

	if (strcmp(*s, "-1") == 0) {
		*s += 2;
		return true;
	}
	if (!imagework_number(s, &v) || v < 3 || v > INT_MAX)
		return false;
	*ret = (int)v;
	return true;
}

static bool read_fds(const char *s, struct args *a)
{
	return read_fd(&s, &a->store_fd) && read_fd(&s, &a->report_fd) &&
	       read_fd(&s, &a->src_fd) && !*s && a->store_fd > 2 &&
	       a->report_fd > 2;
}

static bool read_max(const char *s, struct args *a)
{
	return imagework_number(&s, &a->max_bytes) &&
	       imagework_number(&s, &a->max_entries) && !*s;
}

static bool read_parent(const char *s, struct args *a)
{
	return imagework_number(&s, &a->parent) && !*s;
}

static bool read_pull(const char *s, struct args *a)
{
	return imagework_number(&s, &a->secret) &&
	       imagework_number(&s, &a->idle_s) && !*s &&
	       a->secret <= PULL_SECRET_DOCKER && a->idle_s <= UINT_MAX;
}

static bool read_word(const char *word, struct args *a)
{
	const char *eq = strchr(word, '=');
	size_t len = eq ? (size_t)(eq - word) : 0;

	if (len == 3 && memcmp(word, "fds", 3) == 0)
		return read_fds(eq + 1, a);
	if (len == 3 && memcmp(word, "max", 3) == 0)
		return read_max(eq + 1, a);
	if (len == 6 && memcmp(word, "parent", 6) == 0)
		return read_parent(eq + 1, a);
	if (len == 4 && memcmp(word, "pull", 4) == 0)
		return read_pull(eq + 1, a);
	if (len == 4 && memcmp(word, "name", 4) == 0)
		return (a->name = eq + 1) != NULL;
	if (len == 4 && memcmp(word, "pick", 4) == 0)
		return (a->pick = eq + 1) != NULL;
	if (len == 6 && memcmp(word, "config", 6) == 0)
		return (a->config = eq + 1) != NULL;
	return false;
}

static bool read_args(char **argv, struct args *a)
{
	if (!argv[0] || !argv[1])
		return false;
	a->verb = argv[1];
	for (argv += 2; *argv; argv++)
		if (!read_word(*argv, a))
			return false;
	return a->name && a->store_fd > 2;
}

static int close_on_exec(const struct args *a)
{
	int r = io_set_cloexec(a->store_fd, 1);

	r = r < 0 ? r : io_set_cloexec(a->report_fd, 1);
	return r < 0 || a->src_fd < 0 ? r : io_set_cloexec(a->src_fd, 1);
}

static int do_pull(const struct args *a, const struct make_opts *o, char *id,
		   struct err *e)
{
	struct pull p = {
		.secret = (enum pull_secret)a->secret,
		.secret_fd = a->src_fd,
		.idle_s = (unsigned int)a->idle_s,
	};
	int r = imageref_parse(a->name, &p.ref, e);

	return r < 0 ? r : pull_run(o, &p, id, e);
}

static int work(const struct args *a, const struct report *rp,
		const struct imagestore *store, char *id, struct err *e)
{
	const struct make_opts o = {
		.store = store,
		.rp = rp,
		.name = a->name,
		.max_bytes = a->max_bytes,
		.max_entries = a->max_entries,
	};
	int r;

	if (!jail_landlock())
		report_note(rp,
			    "this kernel has no Landlock (5.19 or later, "
			    "lsm=landlock): a seccomp list alone confines the "
			    "unpacker");
	r = jail_narrow(store->fd, strcmp(a->verb, "import") == 0, e);
	if (r < 0)
		return r;
	stage_sweep(store->fd, store->tmp_fd);
	if (strcmp(a->verb, "import") == 0)
		return import_run(&o, a->src_fd, a->pick, id, e);
	if (strcmp(a->verb, "build") == 0 && a->config)
		return import_build(&o, a->src_fd, a->config, id, e);
	if (strcmp(a->verb, "pull") == 0)
		return do_pull(a, &o, id, e);
	return err_set(e, -EINVAL, "hutch-image cannot '%s'", a->verb);
}

int main(int argc, char **argv)
{
	struct args a = { .store_fd = -1, .report_fd = -1, .src_fd = -1 };
	struct imagestore store = IMAGESTORE_INIT;
	char id[HUTCH_IMAGE_ID_LEN + 1] = "";
	struct report rp;
	struct err e = { 0 };
	int r;

	(void)argc;
	if (!read_args(argv, &a)) {
		(void)fprintf(stderr,
			      "hutch-image: started by hutch, not by hand\n");
		return 2;
	}
	/* With the one who asked for it, and not a moment longer. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if ((uint64_t)getppid() != a.parent)
		return 1;
	/* libarchive gives names as they are only in UTF-8. */
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	rp.fd = a.report_fd;
	r = close_on_exec(&a);
	if (r < 0)
		return 1;
	r = imagestore_open(a.store_fd, &store, &e);
	r = r < 0 ? r : work(&a, &rp, &store, id, &e);
	imagestore_close(&store);
	report_end(&rp, r, &e, id);
	return r < 0;
}
