/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/execmsg.c - see execmsg.h */
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "common/wire.h"
#include "host/lib/execmsg.h"
#include "host/lib/internal.h"
#include "host/lib/session.h"

#define EXEC_FLAGS                                                    \
	(HUTCH_EXEC_STDIN | HUTCH_EXEC_TTY | HUTCH_EXEC_COMBINED |    \
	 HUTCH_EXEC_STDOUT_NULL | HUTCH_EXEC_STDERR_NULL |            \
	 HUTCH_EXEC_CLEAR_ENV | HUTCH_EXEC_MAIN | HUTCH_EXEC_DETACH | \
	 HUTCH_EXEC_KEEP_HEAD)

int execmsg_check_env(const char *const *env, struct err *e)
{
	char q[64];

	if (strv_len(env) > WIRE_ENVC_MAX)
		return err_set(e, -EINVAL,
			       "environment: %zu variables are more than %u",
			       strv_len(env), WIRE_ENVC_MAX);
	for (size_t i = 0; env && env[i]; i++)
		if (env[i][0] == '=' || !strchr(env[i], '='))
			return err_set(e, -EINVAL,
				       "environment: '%s' is not NAME=VALUE",
				       log_escape(q, sizeof(q), env[i],
						  strlen(env[i])));
	return 0;
}

int execmsg_check_ids(const char *user, const char *workdir, struct err *e)
{
	char q[64];

	if (user && strlen(user) > WIRE_USER_MAX)
		return err_set(e, -EINVAL, "user: longer than %u bytes",
			       WIRE_USER_MAX);
	if (workdir && *workdir && *workdir != '/')
		return err_set(
			e, -EINVAL,
			"working folder '%s' is not an absolute path",
			log_escape(q, sizeof(q), workdir, strlen(workdir)));
	if (workdir && strlen(workdir) > WIRE_PATH_MAX)
		return err_set(e, -EINVAL,
			       "working folder: longer than %u bytes",
			       WIRE_PATH_MAX);
	return 0;
}

static int check_limits(const struct hutch_exec_opts *o, struct err *e)
{
	if (o->memory && o->memory < WIRE_MEMORY_MIN)
		return err_set(e, -EINVAL,
			       "memory limit of %llu bytes is below 1M",
			       (unsigned long long)o->memory);
	if (o->ring && (o->ring < WIRE_RING_MIN || o->ring > WIRE_RING_MAX))
		return err_set(e, -EINVAL, "ring of %u bytes is not in 4K..64M",
			       o->ring);
	if (o->cpu_weight > WIRE_WEIGHT_MAX)
		return err_set(e, -EINVAL, "cpu weight %u is not in 1..%u",
			       o->cpu_weight, WIRE_WEIGHT_MAX);
	return 0;
}

static int check_id(const struct hutch_exec_opts *o, struct err *e)
{
	const bool is_main = o->id && strcmp(o->id, SESSION_MAIN) == 0;

	if (!o->id)
		return 0;
	if (is_main != !!(o->flags & HUTCH_EXEC_MAIN))
		return err_set(e, -EINVAL,
			       "the main process, and no other, is named '%s'",
			       SESSION_MAIN);
	return session_check_proc(o->id, e);
}

static const char *id_of(const struct hutch_exec_opts *o)
{
	if (o->flags & HUTCH_EXEC_MAIN)
		return SESSION_MAIN;
	return o->id ? o->id : "";
}

int execmsg_check(const struct hutch_exec_opts *o, struct err *e)
{
	int r;

	if (o->flags & ~EXEC_FLAGS)
		return err_set(e, -EINVAL, "exec: unknown flags %#x",
			       o->flags & ~EXEC_FLAGS);
	if (strv_len(o->argv) == 0 || !*o->argv[0])
		return err_set(e, -EINVAL, "exec: no command given");
	if (strv_len(o->argv) > WIRE_ARGC_MAX)
		return err_set(e, -EINVAL,
			       "exec: %zu arguments are more than %u",
			       strv_len(o->argv), WIRE_ARGC_MAX);
	if (o->grace_ms > WIRE_GRACE_MAX_MS)
		return err_set(e, -EINVAL, "exec: grace of %u ms is too long",
			       o->grace_ms);
	r = check_limits(o, e);
	r = r < 0 ? r : check_id(o, e);
	r = r < 0 ? r : execmsg_check_env(o->env, e);
	return r < 0 ? r : execmsg_check_ids(o->user, o->workdir, e);
}

static uint32_t wire_flags(unsigned int flags)
{
	static const struct {
		unsigned int ours;
		uint32_t wire;
	} map[] = {
		{ HUTCH_EXEC_STDIN, WIRE_EXEC_STDIN },
		{ HUTCH_EXEC_TTY, WIRE_EXEC_PTY },
		{ HUTCH_EXEC_COMBINED, WIRE_EXEC_COMBINED },
		{ HUTCH_EXEC_STDOUT_NULL, WIRE_EXEC_STDOUT_NULL },
		{ HUTCH_EXEC_STDERR_NULL, WIRE_EXEC_STDERR_NULL },
		{ HUTCH_EXEC_CLEAR_ENV, WIRE_EXEC_ENV_CLEAR },
		{ HUTCH_EXEC_MAIN, WIRE_EXEC_MAIN },
		{ HUTCH_EXEC_DETACH, WIRE_EXEC_DETACH },
		{ HUTCH_EXEC_KEEP_HEAD, WIRE_EXEC_KEEP_HEAD },
	};
	uint32_t w = 0;

	for (size_t i = 0; i < ARRAY_LEN(map); i++)
		if (flags & map[i].ours)
			w |= map[i].wire;
	return w;
}

static int finish(size_t size, uint8_t **ret)
{
	if (size > WIRE_HDR_LEN + WIRE_MSG_MAX)
		return -E2BIG;
	*ret = malloc(size);
	return *ret ? 0 : -ENOMEM;
}

static int too_big(int r, size_t size, struct err *e)
{
	if (r == -ENOMEM)
		return err_set(e, r, "no memory");
	return err_set(e, r,
		       "arguments and environment: %zu bytes are more than %u",
		       size, WIRE_MSG_MAX);
}

int execmsg_make(const struct hutch_exec_opts *o, uint8_t **ret,
		 size_t *ret_len, struct err *e)
{
	const bool tty = o->flags & HUTCH_EXEC_TTY;
	const struct msg_exec m = {
		.flags = wire_flags(o->flags),
		.grace_ms = execmsg_grace_ms(o),
		.timeout_ms = o->timeout_ms,
		.cols = tty ? o->cols : 0,
		.rows = tty ? o->rows : 0,
		.argc = (uint32_t)strv_len(o->argv),
		.envc = (uint32_t)strv_len(o->env),
		.ring = o->ring,
		.pids = o->pids,
		.memory = o->memory,
		.cpu_weight = o->cpu_weight,
		.id = id_of(o),
		.user = o->user ? o->user : "",
		.cwd = o->workdir ? o->workdir : "",
		.argv = strv_borrow(o->argv),
		.env = strv_borrow(o->env),
	};
	size_t size = wire_exec_size(&m);
	uint8_t *buf;
	struct wr wr;
	int r = finish(size, &buf);

	if (r < 0)
		return too_big(r, size, e);
	wr = wr_init(buf, size);
	wire_exec_put(&wr, &m);
	bug_on(wr_end(&wr) != (ptrdiff_t)size);
	*ret = buf;
	*ret_len = size;
	return 0;
}
