/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/host_env.h - a throw-away state folder and programs for libhutch */
#ifndef HUTCH_TESTS_HOST_ENV_H
#define HUTCH_TESTS_HOST_ENV_H

#include <sys/types.h>

#include "host/lib/hutch.h"

/**
 * struct host_env - What a test of libhutch stands on
 * @dir:	Temporary folder; state is in @dir/s, programs in @dir/x
 * @h:		Open there
 */
struct host_env {
	char dir[4096];
	struct hutch *h;
	struct hutch_err e;
};

/**
 * host_env_init() - Make it
 *
 * hutch-keeper is the one that HUTCH_TEST_KEEPER names, hutch-vmm the fake of
 * HUTCH_TEST_VMM; both may be unset for tests that start nothing.
 */
void host_env_init(struct host_env *v);

/** host_env_done() - Close the handle and remove the folder */
void host_env_done(struct host_env *v);

/** host_env_kernel() - A script for the fake monitor; path, in @buf */
const char *host_env_kernel(struct host_env *v, const char *script,
			    char buf[4200]);

/** host_env_fds() - How many descriptors this process has open */
int host_env_fds(void);

/** host_env_dirfd() - The temporary folder, opened */
int host_env_dirfd(const struct host_env *v);

/** host_size_of() - Bytes of a file in a folder; -1: there is none */
off_t host_size_of(int dirfd, const char *name);

/** host_env_remove() - rm -rf */
void host_env_remove(const char *dir);

#define HOST_LONG_MS 60000 /* never reached, unless something hangs */

/** host_start_with() - Start a VM under the fake monitor's @script, or fail */
struct hutch_vm *host_start_with(struct host_env *v, const char *script,
				 struct hutch_start_opts *o);

/** host_start_quietly() - The same, with no script, and no check of Check's */
int host_start_quietly(struct host_env *v, struct hutch_start_opts *o);

/** host_start() - The same, named "web", with nothing else asked for */
struct hutch_vm *host_start(struct host_env *v, const char *script);

/** host_wait_end() - Wait for a VM's end; its record, for the caller */
struct hutch_record *host_wait_end(struct host_env *v, const char *name);

/** host_inspect() - The record of "web", for the caller */
struct hutch_record *host_inspect(struct host_env *v);

/** host_expect_reason() - "web" ends as @want says, told and on disk */
void host_expect_reason(struct host_env *v, const char *want);

/** host_run_flags() - Run a command in "web" */
struct hutch_exec *host_run_flags(struct host_env *v, unsigned int flags,
				  const char *const *argv);

#define host_run(v, flags, ...) \
	host_run_flags((v), (flags), (const char *const[]){ __VA_ARGS__, NULL })

/**
 * struct host_result - All that came of a command
 * @r:		Last return of hutch_exec_wait()
 * @last:	The last event
 */
struct host_result {
	int r;
	int pid;
	char out[256];
	size_t out_len;
	char err[256];
	size_t err_len;
	char msg[256];
	struct hutch_exec_event last;
};

/** host_collect() - Take in all that comes of a command */
void host_collect(struct host_env *v, struct hutch_exec *x,
		  struct host_result *res);

/** host_log_of() - What a process in "web" has written so far */
void host_log_of(struct host_env *v, const char *proc, struct host_result *res);

/** host_detach() - Start a command in "web", as @id, with nobody attached */
void host_detach(struct host_env *v, const char *id, const char *const *argv);

#define host_detach_args(v, id, ...) \
	host_detach((v), (id), (const char *const[]){ __VA_ARGS__, NULL })

/** host_kill_and_rm() - Away with "web" */
void host_kill_and_rm(struct host_env *v);

/* A whole environment with "web" in it, and away with both. */
void host_up(struct host_env *v);
void host_up_with(struct host_env *v, const char *script,
		  struct hutch_start_opts *o);
void host_down(struct host_env *v);

#endif
