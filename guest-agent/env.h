/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/env.h - the environment of a process, and PATH */
#ifndef HUTCH_GUEST_AGENT_ENV_H
#define HUTCH_GUEST_AGENT_ENV_H

#include "common/wire.h"
#include "guest-agent/user.h"

#define ENV_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/**
 * struct env - An environment; zeroed is an empty one
 * @v:		Strings, NULL-terminated, none with the key of another
 * @own:	The ones made for it
 */
struct env {
	const char **v;
	unsigned int n;
	char own[4][USER_FIELD_MAX + 16];
};

/**
 * env_build() - From the least to the most specific source
 *
 * PATH, HOME, USER, LOGNAME, HOSTNAME and for a terminal TERM; the sandbox's;
 * the request's.  With WIRE_EXEC_ENV_CLEAR only PATH and the request's.  Of two
 * with one key the later wins.
 *
 * Return: 0 or -ENOMEM
 */
MUST_CHECK int env_build(struct env *ret, const struct msg_boot *boot,
			 const struct msg_exec *req, const struct user *user);

void env_done(struct env *env);

/** env_get() - Value of @key, or NULL */
const char *env_get(const struct env *env, const char *key);

#endif
