/* SPDX-License-Identifier: Apache-2.0 */
/* common/tree_xattr.c - see tree_xattr.h */
#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "common/tree_xattr.h"

bool tree_xattr_is_acl(const char *name)
{
	return strcmp(name, "system.posix_acl_access") == 0 ||
	       strcmp(name, "system.posix_acl_default") == 0;
}

bool tree_xattr_ok(const char *name)
{
	return strncmp(name, "user.", 5) == 0 ||
	       strcmp(name, "security.capability") == 0 ||
	       tree_xattr_is_acl(name);
}

static bool read_names(struct tree_xattr *x, int fd)
{
	ssize_t n = flistxattr(fd, NULL, 0);

	if (n <= 0 || (size_t)n > TREE_XATTR_NAMES_MAX)
		return false;
	x->names = calloc(1, (size_t)n + 1);
	if (!x->names)
		return false;
	n = flistxattr(fd, x->names, (size_t)n);
	x->names_len = n > 0 ? (size_t)n : 0;
	return true;
}

bool tree_xattr_next(struct tree_xattr *x, int fd, void *value, size_t cap)
{
	if (!x->names && !read_names(x, fd))
		return false;
	while (x->at < x->names_len) {
		const char *name = x->names + x->at;
		ssize_t n;

		x->at += strlen(name) + 1;
		if (!tree_xattr_ok(name) || strlen(name) > WIRE_NAME_MAX)
			continue;
		n = fgetxattr(fd, name, value, cap);
		if (n < 0)
			continue;
		x->name = name;
		x->len = (size_t)n;
		return true;
	}
	tree_xattr_done(x);
	return false;
}

void tree_xattr_done(struct tree_xattr *x)
{
	free(x->names);
	*x = (struct tree_xattr){ 0 };
}
