/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/env.c - see env.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest-agent/boot.h"
#include "guest-agent/env.h"

/* A string and its place in the order of sources: qsort() is not stable. */
struct entry {
	const char *s;
	size_t order;
};

static size_t key_len(const char *s)
{
	return strcspn(s, "=");
}

static int key_cmp(const char *a, const char *b)
{
	size_t la = key_len(a), lb = key_len(b);
	int r = memcmp(a, b, MIN(la, lb));

	return r ? r : (la > lb) - (la < lb);
}

static int entry_cmp(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;
	int r = key_cmp(a->s, b->s);

	return r ? r : (a->order > b->order) - (a->order < b->order);
}

static void push(struct entry *v, size_t *n, const char *s)
{
	v[*n] = (struct entry){ .s = s, .order = *n };
	(*n)++;
}

/* As the VM was started: who renames it later is not asked. */
static void push_hostname(struct env *env, struct entry *v, size_t *n,
			  const struct msg_boot *boot)
{
	(void)snprintf(env->own[3], sizeof(env->own[3]), "HOSTNAME=%s",
		       boot_hostname(boot));
	push(v, n, env->own[3]);
}

/* Who the user is, beyond the home that each process has. */
static void push_name(struct env *env, struct entry *v, size_t *n,
		      const struct user *user)
{
	size_t cap = sizeof(env->own[0]);

	if (!*user->name)
		return;
	(void)snprintf(env->own[1], cap, "USER=%s", user->name);
	(void)snprintf(env->own[2], cap, "LOGNAME=%s", user->name);
	push(v, n, env->own[1]);
	push(v, n, env->own[2]);
}

static size_t gather(struct env *env, struct entry *v,
		     const struct msg_boot *boot, const struct msg_exec *req,
		     const struct user *user)
{
	const bool clear = req->flags & WIRE_EXEC_ENV_CLEAR;
	const bool tty = req->flags & WIRE_EXEC_PTY;
	size_t n = 0;

	(void)snprintf(env->own[0], sizeof(env->own[0]), "HOME=%s", user->home);
	push(v, &n, "PATH=" ENV_PATH);
	push(v, &n, env->own[0]);
	if (tty || clear)
		push(v, &n, tty ? "TERM=xterm" : "TERM=dumb");
	if (!clear) {
		push_name(env, v, &n, user);
		push_hostname(env, v, &n, boot);
		for (uint32_t i = 0; i < boot->envc; i++)
			push(v, &n, boot->env[i]);
	}
	for (uint32_t i = 0; i < req->envc; i++)
		push(v, &n, req->env[i]);
	return n;
}

int env_build(struct env *ret, const struct msg_boot *boot,
	      const struct msg_exec *req, const struct user *user)
{
	size_t max = 6 + (size_t)boot->envc + req->envc, n;
	auto_free struct entry *v = calloc(max, sizeof(*v));

	memset(ret, 0, sizeof(*ret));
	ret->v = calloc(max + 1, sizeof(*ret->v));
	if (!v || !ret->v) {
		env_done(ret);
		return -ENOMEM;
	}
	n = gather(ret, v, boot, req, user);
	qsort(v, n, sizeof(*v), entry_cmp);
	for (size_t i = 0; i < n; i++)
		if (i + 1 == n || key_cmp(v[i].s, v[i + 1].s) != 0)
			ret->v[ret->n++] = v[i].s;
	return 0;
}

void env_done(struct env *env)
{
	free(env->v);
	env->v = NULL;
	env->n = 0;
}

const char *env_get(const struct env *env, const char *key)
{
	size_t len = strlen(key);

	for (unsigned int i = 0; i < env->n; i++)
		if (key_len(env->v[i]) == len &&
		    memcmp(env->v[i], key, len) == 0)
			return env->v[i] + len + 1;
	return NULL;
}
