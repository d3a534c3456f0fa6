/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/user.h - who a process is to be, from the guest's own files */
#ifndef HUTCH_GUEST_AGENT_USER_H
#define HUTCH_GUEST_AGENT_USER_H

#include <sys/types.h>

#include "common/err.h"

#define USER_GROUPS_MAX 256u
#define USER_FILE_MAX   (1u << 20) /* of /etc/passwd and /etc/group, each */
#define USER_FIELD_MAX  256u

/**
 * struct user - A user as a process needs it
 * @name:	"" if /etc/passwd has no such user
 * @home:	"/" if /etc/passwd does not say
 */
struct user {
	uid_t uid;
	gid_t gid;
	unsigned int n_groups;
	gid_t groups[USER_GROUPS_MAX];
	char name[USER_FIELD_MAX];
	char home[USER_FIELD_MAX];
};

/**
 * user_find() - Resolve "uid", "uid:gid", "name", "name:group"
 * @etc:	Folder that holds passwd and group; they may be missing
 * @spec:	"" is root
 *
 * Supplementary groups are those that list the user, unless @spec names a
 * group: then there are none.  A bare uid takes the group of its passwd entry
 * and is refused if there is none, save for 0.
 *
 * Return: 0; -ENOENT or -EINVAL with the sentence
 */
MUST_CHECK int user_find(int etc, const char *spec, struct user *ret,
			 struct err *e);

/** user_become() - Be that user from now on. Return: 0; -errno, sentence */
MUST_CHECK int user_become(const struct user *u, struct err *e);

#endif
