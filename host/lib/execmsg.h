/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/execmsg.h - options of a command, or a VM, as a wire message */
#ifndef HUTCH_HOST_LIB_EXECMSG_H
#define HUTCH_HOST_LIB_EXECMSG_H

#include "common/err.h"
#include "host/lib/hutch.h"

#define EXECMSG_GRACE_MS       2000
#define EXECMSG_TIMEOUT_MAX_MS (10ull * 365 * 86400 * 1000)

/** execmsg_grace_ms() - Between SIGTERM and SIGKILL at the time-out */
static inline unsigned int execmsg_grace_ms(const struct hutch_exec_opts *o)
{
	return o->grace_ms ? o->grace_ms : EXECMSG_GRACE_MS;
}

/** execmsg_check() - 0, or -EINVAL with a sentence about what is wrong */
MUST_CHECK int execmsg_check(const struct hutch_exec_opts *o, struct err *e);

/** execmsg_check_env() - Each must be "NAME=VALUE". Return: 0 or -EINVAL */
MUST_CHECK int execmsg_check_env(const char *const *env, struct err *e);

/** execmsg_check_ids() - User and working folder; either may be NULL */
MUST_CHECK int execmsg_check_ids(const char *user, const char *workdir,
				 struct err *e);

/**
 * execmsg_make() - The EXEC frame
 * @ret:	malloc()ed, @ret_len bytes
 *
 * Return: 0; -E2BIG; -ENOMEM
 */
MUST_CHECK int execmsg_make(const struct hutch_exec_opts *o, uint8_t **ret,
			    size_t *ret_len, struct err *e);

#endif
