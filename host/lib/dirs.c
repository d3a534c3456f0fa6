/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/dirs.c - see dirs.h; hutch_open(), hutch_close(), hutch_path() */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host/lib/dirs.h"
#include "host/lib/internal.h"

static int check_owner(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(e, -errno, "'%s': %s", path, strerror(errno));
	if (st.st_uid != geteuid())
		return err_set(
			e, -EPERM,
			"folder '%s' belongs to user %u, not to you (%u)", path,
			st.st_uid, geteuid());
	/* Made by hand, perhaps: sockets in it must be ours alone. */
	if ((st.st_mode & 077) && fchmod(fd, st.st_mode & 0700) < 0)
		return err_set(e, -errno, "cannot make '%s' private: %s", path,
			       strerror(errno));
	return 0;
}

int dirs_open_at(int dirfd, const char *name, struct err *e)
{
	auto_fd int fd = -1;
	int r;

	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		if (mkdirat(dirfd, name, 0700) < 0 && errno != EEXIST)
			return err_set(e, -errno, "cannot make folder '%s': %s",
				       name, strerror(errno));
		fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd < 0)
		return err_set(e, -errno, "cannot open folder '%s': %s", name,
			       strerror(errno));
	r = check_owner(fd, name, e);
	return r < 0 ? r : take_fd(&fd);
}

/* Like mkdir -p for the parents, which need not be ours alone. */
static int make_parents(const char *path)
{
	char buf[PATH_MAX];

	if (strlen(path) >= sizeof(buf))
		return -ENAMETOOLONG;
	memcpy(buf, path, strlen(path) + 1);
	for (char *p = strchr(buf + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(buf, 0700) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return 0;
}

int dirs_open(const char *path, struct err *e)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0 && errno == ENOENT) {
		r = make_parents(path);
		if (r < 0)
			return err_set(e, r, "cannot make folder '%s': %s",
				       path, strerror(-r));
	}
	if (fd >= 0)
		(void)close(fd);
	return dirs_open_at(AT_FDCWD, path, e);
}

static int join(char **ret, const char *a, const char *b)
{
	return asprintf(ret, "%s/%s", a, b) < 0 ? -ENOMEM : 0;
}

/* A variable's value, if it is set, not empty and (by its rules) absolute. */
static const char *env_dir(const char *name)
{
	const char *v = getenv(name);

	return v && v[0] == '/' ? v : NULL;
}

static int home_dir(char **ret, struct err *e)
{
	const char *home = env_dir("HOME");

	if (!home)
		return err_set(e, -EINVAL,
			       "HOME is not set: set it, or HUTCH_STATE, to an "
			       "absolute path");
	*ret = strdup(home);
	return *ret ? 0 : err_set(e, -ENOMEM, "no memory");
}

/* $@var/hutch, or ~/@rest/hutch. */
static int xdg_dir(const char *var, const char *rest, char **ret, struct err *e)
{
	const char *v = env_dir(var);
	auto_free char *home = NULL;
	int r;

	if (v)
		return join(ret, v, "hutch");
	r = home_dir(&home, e);
	if (r < 0)
		return r;
	return asprintf(ret, "%s/%s/hutch", home, rest) < 0 ? -ENOMEM : 0;
}

static int under_one(struct hutch *h, const char *dir)
{
	int r = join(&h->run, dir, "run");

	r = r < 0 ? r : join(&h->state, dir, "state");
	return r < 0 ? r : join(&h->data, dir, "data");
}

static int for_root(struct hutch *h)
{
	int r = under_one(h, "/var/lib/hutch");

	if (r < 0)
		return r;
	free(h->run);
	h->run = strdup("/run/hutch");
	return h->run ? 0 : -ENOMEM;
}

static int for_user(struct hutch *h, struct err *e)
{
	const char *run = env_dir("XDG_RUNTIME_DIR");
	int r = xdg_dir("XDG_STATE_HOME", ".local/state", &h->state, e);

	if (r == 0)
		r = xdg_dir("XDG_DATA_HOME", ".local/share", &h->data, e);
	if (r < 0)
		return r;
	/* No VM can be called ".run". */
	return run ? join(&h->run, run, "hutch")
		   : join(&h->run, h->state, ".run");
}

static int choose_dirs(struct hutch *h, const char *given, struct err *e)
{
	const char *dir = given ? given : getenv("HUTCH_STATE");
	int r;

	if (dir && *dir) {
		if (*dir != '/')
			return err_set(e, -EINVAL,
				       "state folder '%s' (HUTCH_STATE) is not "
				       "an absolute path",
				       dir);
		r = under_one(h, dir);
	} else if (geteuid() == 0) {
		r = for_root(h);
	} else {
		r = for_user(h, e);
	}
	return r == -ENOMEM ? err_set(e, r, "no memory") : r;
}

static int set_libexec(struct hutch *h, const char *given, struct err *e)
{
	const char *dir = given ? given : getenv("HUTCH_LIBEXEC");

	if (!dir || !*dir)
		return 0;
	h->libexec = realpath(dir, NULL);
	if (!h->libexec)
		return err_set(e, -errno,
			       "folder of programs '%s' (HUTCH_LIBEXEC): %s",
			       dir, strerror(errno));
	return 0;
}

static int open_into(struct hutch *h, const struct hutch_opts *o, struct err *e)
{
	int r = choose_dirs(h, o->state_dir, e);

	if (r == 0)
		r = set_libexec(h, o->libexec_dir, e);
	if (r < 0)
		return r;
	bug_on(!h->state || !h->run || !h->data);
	h->state_fd = dirs_open(h->state, e);
	if (h->state_fd < 0)
		return h->state_fd;
	h->run_fd = dirs_open(h->run, e);
	return h->run_fd < 0 ? h->run_fd : 0;
}

int hutch_open(const struct hutch_opts *opts, struct hutch **ret,
	       struct hutch_err *e)
{
	struct hutch_opts o = HUTCH_OPTS_INIT;
	struct hutch *h;
	int r = 0;

	if (opts)
		r = opts_take(&o, sizeof(o), opts, opts->size, err_of(e));
	if (r < 0)
		return r;
	h = calloc(1, sizeof(*h));
	if (!h)
		return err_set(err_of(e), -ENOMEM, "no memory");
	h->run_fd = -1;
	h->state_fd = -1;
	r = open_into(h, &o, err_of(e));
	if (r < 0) {
		hutch_close(h);
		return r;
	}
	*ret = h;
	return 0;
}

void hutch_close(struct hutch *h)
{
	if (!h)
		return;
	if (h->run_fd >= 0)
		(void)close(h->run_fd);
	if (h->state_fd >= 0)
		(void)close(h->state_fd);
	free(h->run);
	free(h->state);
	free(h->data);
	free(h->libexec);
	free(h);
}

/* ---- Where programs and files are ---- */

/**
 * struct place - One of ours
 * @build:	Where it is in a build tree, from its root
 * @advice:	What to do if it is not there
 */
struct place {
	const char *file;
	const char *build;
	const char *advice;
};

#define ADVICE_BUILD "build hutch, or set HUTCH_LIBEXEC to where it is"

static const struct place places[] = {
	[HUTCH_PATH_KEEPER] = { "hutch-keeper", "host/keeper/hutch-keeper",
				ADVICE_BUILD },
	[HUTCH_PATH_VMM] = { "hutch-vmm", "vmm/hutch-vmm", ADVICE_BUILD },
	[HUTCH_PATH_AGENT] = { "hutch-agent", "guest-agent/hutch-agent",
			       ADVICE_BUILD },
	[HUTCH_PATH_ROOT] = { "builtin.cpio", "images/builtin.cpio",
			      ADVICE_BUILD },
	[HUTCH_PATH_IMAGE] = { "hutch-image", "host/image/hutch-image",
			       ADVICE_BUILD },
	[HUTCH_PATH_NET] = { "hutch-net", "host/net/hutch-net", ADVICE_BUILD },
	[HUTCH_PATH_RECIPES] = { "recipes", "images/recipes", ADVICE_BUILD },
	[HUTCH_PATH_BUILD] = { "build-debian", "images/build-debian",
			       ADVICE_BUILD },
};

/* The folder of the running program, with no trailing slash. */
static int self_dir(char buf[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", buf, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return -errno;
	buf[n] = '\0';
	slash = strrchr(buf, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

/*
 * <prefix>/bin/x finds <prefix>/libexec/hutch/FILE; a program of the build
 * tree, at most three folders deep, finds BUILD from its root.
 */
static int find_near(const struct place *p, char **ret)
{
	char dir[PATH_MAX];
	char *path = NULL;

	if (self_dir(dir) < 0)
		return -ENOENT;
	if (asprintf(&path, "%s/../libexec/hutch/%s", dir, p->file) < 0)
		return -ENOMEM;
	for (int up = 0; up < 4 && access(path, F_OK) < 0; up++) {
		char *slash = strrchr(dir, '/');

		if (!slash || slash == dir)
			break;
		*slash = '\0';
		free(path);
		if (asprintf(&path, "%s/%s", dir, p->build) < 0)
			return -ENOMEM;
	}
	*ret = path;
	return access(path, F_OK) < 0 ? -ENOENT : 0;
}

static int find_program(const struct hutch *h, const struct place *p,
			char **ret, struct err *e)
{
	int r;

	if (h->libexec) {
		r = join(ret, h->libexec, p->file);
		if (r == 0 && access(*ret, F_OK) < 0)
			r = -ENOENT;
	} else {
		*ret = NULL;
		r = find_near(p, ret);
	}
	if (r == -ENOENT)
		return err_set(e, r, "cannot find %s (looked for '%s'): %s",
			       p->file, *ret ? *ret : "", p->advice);
	return r < 0 ? err_set(e, r, "no memory") : 0;
}

static int find_kernel(const struct hutch *h, const char *given, char **ret,
		       struct err *e)
{
	const char *env = getenv("HUTCH_KERNEL");
	const char *path = given ? given : env && *env ? env : NULL;
	char *found = NULL;

	if (path) {
		found = realpath(path, NULL);
		if (!found && errno != ENOMEM)
			found = strdup(path);
	} else if (join(&found, h->data, "kernel/vmlinux") < 0) {
		found = NULL;
	}
	if (!found)
		return err_set(e, -ENOMEM, "no memory");
	*ret = found;
	if (access(found, R_OK) == 0)
		return 0;
	if (path)
		return err_set(e, -errno, "guest kernel '%s': %s", found,
			       strerror(errno));
	return err_set(e, -ENOENT,
		       "no guest kernel at '%s': run scripts/build-kernel, or "
		       "set HUTCH_KERNEL",
		       found);
}

static int find_dir(const char *dir, char **ret, struct err *e)
{
	*ret = strdup(dir);
	if (!*ret)
		return err_set(e, -ENOMEM, "no memory");
	if (access(dir, F_OK) < 0)
		return err_set(e, -ENOENT, "there is no folder '%s'", dir);
	return 0;
}

int dirs_find(const struct hutch *h, int what, const char *given, char **ret,
	      struct err *e)
{
	switch (what) {
	case HUTCH_PATH_RUN:
		return find_dir(h->run, ret, e);
	case HUTCH_PATH_STATE:
		return find_dir(h->state, ret, e);
	case HUTCH_PATH_DATA:
		return find_dir(h->data, ret, e);
	case HUTCH_PATH_KEEPER:
	case HUTCH_PATH_VMM:
	case HUTCH_PATH_AGENT:
	case HUTCH_PATH_ROOT:
	case HUTCH_PATH_IMAGE:
	case HUTCH_PATH_RECIPES:
	case HUTCH_PATH_BUILD:
	case HUTCH_PATH_NET:
		return find_program(h, &places[what], ret, e);
	case HUTCH_PATH_KERNEL:
		return find_kernel(h, given, ret, e);
	default:
		return err_set(e, -EINVAL, "path %d is not known", what);
	}
}

int dirs_find_helper(const struct hutch *h, const char *name, char **ret,
		     struct err *e)
{
	const char *const dir[] = { h->libexec, "/usr/local/bin", "/usr/bin",
				    "/bin" };

	for (size_t i = 0; i < ARRAY_LEN(dir); i++) {
		auto_free char *path = NULL;

		if (!dir[i])
			continue;
		if (join(&path, dir[i], name) < 0)
			return err_set(e, -ENOMEM, "no memory");
		if (access(path, X_OK) == 0) {
			*ret = take_ptr(&path);
			return 0;
		}
	}
	return err_set(e, -ENOENT,
		       "network: %s is not installed: apt install %s, or "
		       "choose another network",
		       name, name);
}

int hutch_path(const struct hutch *h, enum hutch_path what, char **ret,
	       struct hutch_err *e)
{
	return dirs_find(h, (int)what, NULL, ret, err_of(e));
}
