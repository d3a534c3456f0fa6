/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/conform/differs.c - which rules do not hold where, and why
 *
 * docs/conformance.md says the same; a test compares them.
 */
#include <fnmatch.h>
#include <string.h>

#include "tests/conform/conform.h"

#define ITS_OWN_WHITEOUT "overlayfs keeps the device 0:0 for itself"
#define NO_ACLS          "POSIX ACLs are not kept"
#define LOST_ALIAS                                                             \
	"Linux' overlayfs on FUSE looks for a file by the first name it had, " \
	"also when that is gone and others are left: ESTALE"

static const struct difference differences[] = {
	{ "tmpfs", "hole/range_is_zeroed", 0,
	  "Linux' tmpfs has no FALLOC_FL_ZERO_RANGE" },
	{ "overlay", "mknod/whiteout", 0, ITS_OWN_WHITEOUT },
	{ "share", NULL, OWNERS,
	  "files belong to the host's user, whoever makes them" },
	{ "share", NULL, SUID, "files have no setuid and setgid" },
	{ "share", NULL, DEVICES, "there are no device nodes" },
	{ "share", NULL, TRUSTED, "of attributes there are user.* alone" },
	{ "share", "xattr/acl_lets_in xattr/acl_mask xattr/acl_is_inherited", 0,
	  NO_ACLS },
	{ "share",
	  "access/root_reads_and_writes_all listxattr/no_right_is_needed", 0,
	  "the host's user has no more rights than a mode gives" },
	{ "root root-here", "xattr/acl_lets_in xattr/acl_mask", 0,
	  "an ACL that is set on a file of an overlay on FUSE does not let in "
	  "those it names until the file is read anew: Linux goes by the mode "
	  "from before. Those of an image, and of files that are made in a "
	  "folder with a default, do" },
	{ "root data", "hole/room_without_size", 0,
	  "with a quota it is a file's size that counts, so nothing can be had "
	  "behind it" },
	{ "root root-here", "mknod/whiteout", 0, ITS_OWN_WHITEOUT },
	{ "root root-here", "truncate/clears_setuid write/clears_setuid", 0,
	  "overlayfs writes as root, whoever does" },
	{ "root-here",
	  "link/one_file_two_names link/in_another_folder link/of_fifo "
	  "link/of_socket link/of_symlink link/of_device "
	  "rename/over_one_of_two_names unlink/links_are_counted",
	  0, LOST_ALIAS },
	{ "root-here", "create/by_several_at_once", 0,
	  "Linux' overlayfs on FUSE may answer ECHILD to who comes second with a "
	  "new name, now and then",
	  "got ECHILD" },
};

/* One of several, with blanks between. */
static bool is_one_of(const char *pattern, const char *name)
{
	char one[128];
	size_t n;

	for (; *pattern; pattern += n + (pattern[n] == ' ')) {
		n = strcspn(pattern, " ");
		(void)snprintf(one, sizeof(one), "%.*s", (int)n, pattern);
		if (fnmatch(one, name, 0) == 0)
			return true;
	}
	return false;
}

const struct difference *difference_of(const char *kind, const char *name,
				       unsigned int needs)
{
	for (size_t i = 0; kind && i < ARRAY_LEN(differences); i++) {
		const struct difference *d = &differences[i];

		if (!is_one_of(d->kind, kind))
			continue;
		if (d->needs & needs ||
		    (d->pattern && is_one_of(d->pattern, name)))
			return d;
	}
	return NULL;
}

bool difference_kind(const char *kind)
{
	static const char *const others[] = { "disk", "mapped" };

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (strcmp(others[i], kind) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_LEN(differences); i++)
		if (is_one_of(differences[i].kind, kind))
			return true;
	return false;
}

static const char *need_name(unsigned int needs)
{
	switch (needs) {
	case OWNERS:
		return "all about several owners";
	case SUID:
		return "all about setuid and setgid";
	case DEVICES:
		return "all about devices";
	case TRUSTED:
		return "all about trusted.* and security.*";
	case ACLS:
		return "all about POSIX ACLs";
	default:
		return "?";
	}
}

void differences_print(void)
{
	for (size_t i = 0; i < ARRAY_LEN(differences); i++) {
		const struct difference *d = &differences[i];

		if (d->pattern)
			(void)printf("| %s | `%s` | %s |\n", d->kind,
				     d->pattern, d->reason);
		else
			(void)printf("| %s | %s | %s |\n", d->kind,
				     need_name(d->needs), d->reason);
	}
}
