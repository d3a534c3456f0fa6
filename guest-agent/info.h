/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/info.h - how a process was started, for LIST */
#ifndef HUTCH_GUEST_AGENT_INFO_H
#define HUTCH_GUEST_AGENT_INFO_H

#include <stdbool.h>

#include "common/wire_proc.h"

struct agent;
struct proc;

/* Of argv and of env, each as on the wire: what is beyond is not kept. */
#define INFO_STRINGS_MAX 8192u

/* The environment in a PROCESS, the sandbox's part too. */
#define INFO_ENV_MAX 32768u

/**
 * struct proc_info - One allocation, strings and all
 * @args_cut:	Not all of argv is here; @env_cut likewise
 * @env_clear:	The sandbox's environment is not part of it
 */
struct proc_info {
	uint64_t timeout_ms;
	uint64_t memory;
	uint32_t pids;
	uint32_t cpu_weight;
	uint32_t argc;
	uint32_t envc;
	bool args_cut;
	bool env_cut;
	bool env_clear;
	const char *user;
	const char *cwd;
	const char **argv;
	const char **env;
};

/** info_new() - NULL without memory */
struct proc_info *info_new(const struct msg_exec *m,
			   const struct msg_boot *boot);

void info_free(struct proc_info *info);

/**
 * info_put() - Compose PROCESS for @p
 * @buf:	At least WIRE_HDR_LEN + WIRE_PROCESS_MAX bytes
 * @flags:	WIRE_LIST_*
 *
 * Return: bytes of the frame; -ENOMEM
 */
MUST_CHECK ptrdiff_t info_put(const struct proc *p, uint32_t flags, void *buf);

#endif
