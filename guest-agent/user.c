/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/user.c - see user.h */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/io.h"
#include "common/log.h"
#include "guest-agent/user.h"

#define FIELDS_MAX 7u
#define QUOTE_MAX  80u

/*
 * Missing is as good as empty.  O_NONBLOCK and the check of the kind: whoever
 * puts a FIFO there is not to make us wait.
 */
static int read_db(int etc, const char *name, char **ret)
{
	auto_free char *buf = calloc(1, USER_FILE_MAX + 1);
	auto_fd int fd =
		openat(etc, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		n = io_read_full(fd, buf, USER_FILE_MAX);
		if (n < 0)
			return (int)n;
		buf[n] = '\0';
	}
	*ret = take_ptr(&buf);
	return 0;
}

/* Cut the next line into fields at ':'. Return: how many, 0 at the end */
static unsigned int next_entry(char **pos, char *field[FIELDS_MAX])
{
	char *line = *pos, *end = strchr(line, '\n');
	unsigned int n = 0;

	if (!*line)
		return 0;
	*pos = end ? end + 1 : line + strlen(line);
	if (end)
		*end = '\0';
	while (line && n < FIELDS_MAX) {
		field[n++] = line;
		line = strchr(line, ':');
		if (line)
			*line++ = '\0';
	}
	for (unsigned int i = n; i < FIELDS_MAX; i++)
		field[i] = NULL;
	return n;
}

/* A whole decimal id; (uid_t)-1 has a meaning of its own in the kernel. */
static bool parse_id(const char *s, uint32_t *ret)
{
	uint64_t v = 0;

	if (!*s || strlen(s) > 10)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return false;
		v = v * 10 + (uint64_t)(*s - '0');
	}
	if (v >= UINT32_MAX)
		return false;
	*ret = (uint32_t)v;
	return true;
}

static void copy_field(char dst[USER_FIELD_MAX], const char *src)
{
	(void)snprintf(dst, USER_FIELD_MAX, "%s", src);
}

/* Find by @name, or by u->uid if it is NULL. Return: whether it is there */
static bool find_user(char *passwd, const char *name, struct user *u)
{
	char *f[FIELDS_MAX];

	while (next_entry(&passwd, f)) {
		uint32_t uid, gid;

		if (!f[3] || !*f[0] || !parse_id(f[2], &uid) ||
		    !parse_id(f[3], &gid))
			continue;
		if (name ? strcmp(f[0], name) != 0 : uid != u->uid)
			continue;
		u->uid = uid;
		u->gid = gid;
		copy_field(u->name, f[0]);
		if (f[5] && *f[5] == '/')
			copy_field(u->home, f[5]);
		return true;
	}
	return false;
}

static bool find_group(char *group, const char *name, gid_t *ret)
{
	char *f[FIELDS_MAX];

	while (next_entry(&group, f))
		if (f[2] && strcmp(f[0], name) == 0 && parse_id(f[2], ret))
			return true;
	return false;
}

static bool lists(const char *members, const char *name)
{
	size_t len = strlen(name);
	const char *p = members;

	while (*p) {
		size_t n = strcspn(p, ",");

		if (n == len && memcmp(p, name, n) == 0)
			return true;
		p += n;
		p += *p == ',';
	}
	return false;
}

static void add_groups(char *group, struct user *u)
{
	char *f[FIELDS_MAX];

	/* Without a name it is in no list, and an empty member is nobody. */
	while (*u->name && u->n_groups < USER_GROUPS_MAX &&
	       next_entry(&group, f)) {
		uint32_t gid;

		if (f[3] && parse_id(f[2], &gid) && gid != u->gid &&
		    lists(f[3], u->name))
			u->groups[u->n_groups++] = gid;
	}
}

static int no_such(struct err *e, const char *what, const char *name,
		   const char *where)
{
	char q[QUOTE_MAX];

	return err_set(e, -ENOENT, "%s '%s' is not in %s", what,
		       log_escape(q, sizeof(q), name, strlen(name)), where);
}

/* Sets everything but the groups of @who, a name or a number. */
static int find_who(char *passwd, const char *who, struct user *u,
		    struct err *e)
{
	if (!parse_id(who, &u->uid)) {
		if (find_user(passwd, who, u))
			return 0;
		return no_such(e, "user", who, "/etc/passwd");
	}
	if (find_user(passwd, NULL, u))
		return 0;
	/* As container engines do: a number nobody knows has group 0. */
	if (u->uid == 0)
		copy_field(u->home, "/root");
	return 0;
}

int user_find(int etc, const char *spec, struct user *ret, struct err *e)
{
	auto_free char *passwd = NULL;
	auto_free char *group = NULL;
	char who[USER_FIELD_MAX];
	const char *colon = strchr(spec, ':');
	int r;

	memset(ret, 0, sizeof(*ret));
	copy_field(ret->home, "/");
	(void)snprintf(who, sizeof(who), "%.*s",
		       colon ? (int)(colon - spec) : (int)strlen(spec), spec);
	if (!*spec)
		copy_field(who, "0");
	if (!*who || (colon && !colon[1]))
		return err_set(e, -EINVAL,
			       "the user is empty before or after its ':'");
	r = read_db(etc, "passwd", &passwd);
	if (r == 0)
		r = read_db(etc, "group", &group);
	if (r < 0)
		return err_set(e, r, "/etc/passwd, /etc/group: %s",
			       strerror(-r));
	r = find_who(passwd, who, ret, e);
	if (r < 0)
		return r;
	if (!colon)
		add_groups(group, ret);
	else if (!parse_id(colon + 1, &ret->gid) &&
		 !find_group(group, colon + 1, &ret->gid))
		return no_such(e, "group", colon + 1, "/etc/group");
	return 0;
}

int user_become(const struct user *u, struct err *e)
{
	const char *what = NULL;

	/* As an ordinary user (in tests) one may only stay who one is. */
	if (geteuid() != 0 && u->uid == geteuid() && u->gid == getegid())
		return 0;
	if (setgroups(u->n_groups, u->groups) < 0)
		what = "setgroups";
	else if (setresgid(u->gid, u->gid, u->gid) < 0)
		what = "setgid";
	else if (setresuid(u->uid, u->uid, u->uid) < 0)
		what = "setuid";
	if (!what)
		return 0;
	return err_set(e, -errno, "user %u, group %u: %s: %s", u->uid, u->gid,
		       what, strerror(errno));
}
