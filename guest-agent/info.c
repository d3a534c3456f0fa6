/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/info.c - see info.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire_check.h"
#include "guest-agent/agent.h"
#include "guest-agent/info.h"
#include "guest-agent/process.h"

#define NS_PER_MS 1000000ull

/* How many of @n strings fit in @max bytes on the wire; what they take. */
static uint32_t fitting(const char **v, uint32_t n, size_t max, size_t *ret)
{
	size_t size = 0;
	uint32_t i = 0;

	while (i < n && wire_str_size(v[i]) <= max - size)
		size += wire_str_size(v[i++]);
	*ret = size;
	return i;
}

static const char *put_str(char **at, const char *s)
{
	size_t len = strlen(s) + 1;
	const char *p = memcpy(*at, s, len);

	*at += len;
	return p;
}

static const char *or_else(const char *a, const char *b, const char *c)
{
	return *a ? a : *b ? b : c;
}

struct proc_info *info_new(const struct msg_exec *m,
			   const struct msg_boot *boot)
{
	const char *user = or_else(m->user, boot->user, "root");
	const char *cwd = or_else(m->cwd, boot->cwd, "/");
	size_t args_len, env_len, n;
	uint32_t argc = fitting(m->argv, m->argc, INFO_STRINGS_MAX, &args_len);
	uint32_t envc = fitting(m->env, m->envc, INFO_STRINGS_MAX, &env_len);
	struct proc_info *info;
	char *at;

	n = sizeof(*info) + (argc + envc) * sizeof(char *) + args_len +
	    env_len + strlen(user) + strlen(cwd) + 2;
	info = malloc(n);
	if (!info)
		return NULL;
	*info = (struct proc_info){
		.timeout_ms = m->timeout_ms,
		.memory = m->memory,
		.pids = m->pids,
		.cpu_weight = m->cpu_weight ? m->cpu_weight : WIRE_WEIGHT,
		.argc = argc,
		.envc = envc,
		.args_cut = argc < m->argc,
		.env_cut = envc < m->envc,
		.env_clear = m->flags & WIRE_EXEC_ENV_CLEAR
	};
	info->argv = (const char **)(void *)(info + 1);
	info->env = info->argv + argc;
	at = (char *)(info->env + envc);
	for (uint32_t i = 0; i < argc; i++)
		info->argv[i] = put_str(&at, m->argv[i]);
	for (uint32_t i = 0; i < envc; i++)
		info->env[i] = put_str(&at, m->env[i]);
	info->user = put_str(&at, user);
	info->cwd = put_str(&at, cwd);
	return info;
}

void info_free(struct proc_info *info)
{
	free(info);
}

/* Whether one of @v has the key that @s has. */
static bool overridden(const char *s, const char **v, uint32_t n)
{
	size_t len = strcspn(s, "=") + 1;

	for (uint32_t i = 0; i < n; i++)
		if (strncmp(s, v[i], len) == 0)
			return true;
	return false;
}

/*
 * The process's own strings and, before them, those of the sandbox that they
 * leave in force.  Return: NULL-terminated, the caller's; NULL without memory
 */
static const char **merge_env(const struct proc_info *info,
			      const struct msg_boot *boot,
			      struct msg_process *m)
{
	uint32_t n_boot = info->env_clear ? 0 : boot->envc;
	size_t size = 0;
	const char **v;

	for (uint32_t i = 0; i < info->envc; i++)
		size += wire_str_size(info->env[i]);
	v = calloc((size_t)MIN(n_boot, INFO_ENV_MAX / 6) + info->envc + 1,
		   sizeof(*v));
	for (uint32_t i = 0; v && i < n_boot; i++) {
		if (overridden(boot->env[i], info->env, info->envc))
			continue;
		if (wire_str_size(boot->env[i]) > INFO_ENV_MAX - size) {
			m->flags |= WIRE_PROC_ENV_CUT;
			break;
		}
		size += wire_str_size(boot->env[i]);
		v[m->envc++] = boot->env[i];
	}
	for (uint32_t i = 0; v && i < info->envc; i++)
		v[m->envc++] = info->env[i];
	if (info->env_cut)
		m->flags |= WIRE_PROC_ENV_CUT;
	return v;
}

static void fill_end(const struct proc *p, struct msg_process *m)
{
	struct msg_exit x;

	proc_fill_exit(p, &x);
	m->flags |= x.flags & WIRE_EXIT_TIMED_OUT;
	m->stdout_total = x.stdout_total;
	m->stderr_total = x.stderr_total;
	m->stdout_cut = x.stdout_cut;
	m->stderr_cut = x.stderr_cut;
	m->state = WIRE_PROC_RUNNING;
	if (p->state < PROC_LINGERING)
		return;
	m->state = p->state == PROC_LINGERING ? WIRE_PROC_LINGERING
					      : WIRE_PROC_EXITED;
	m->how = x.how;
	m->flags |= x.flags;
	m->value = x.value;
	m->end_ns = x.end_ns;
}

static uint32_t flags_of(const struct proc *p)
{
	return (p->flags & WIRE_EXEC_PTY ? WIRE_PROC_PTY : 0) |
	       (p->flags & WIRE_EXEC_MAIN ? WIRE_PROC_MAIN : 0) |
	       (!p->in.closed && !p->in.close_due ? WIRE_PROC_STDIN : 0) |
	       (p->info->args_cut ? WIRE_PROC_ARGS_CUT : 0) |
	       (p->fg ? WIRE_PROC_FOREGROUND : 0);
}

ptrdiff_t info_put(const struct proc *p, uint32_t flags, void *buf)
{
	struct wr wr = wr_init(buf, WIRE_HDR_LEN + WIRE_PROCESS_MAX);
	const struct proc_info *info = p->info;
	struct msg_process m = {
		.pid = (uint32_t)p->pid,
		.flags = flags_of(p),
		.start_ns = p->started_ns,
		.timeout_ms = info->timeout_ms,
		.memory = info->memory,
		.pids = info->pids,
		.cpu_weight = info->cpu_weight,
		.attached = p->n_clients,
		.argc = info->argc,
		.grace_ms = (uint32_t)(p->grace_ns / NS_PER_MS),
		.id = p->id,
		.user = info->user,
		.cwd = info->cwd,
		.argv = info->argv,
	};
	const char **env = NULL;

	fill_end(p, &m);
	if (flags & WIRE_LIST_ENV) {
		env = merge_env(info, p->a->boot, &m);
		if (!env)
			return -ENOMEM;
	}
	m.env = env;
	wire_process_put(&wr, &m);
	free(env);
	return wr_end(&wr);
}
