/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/command.h - what run, start and exec share: a command to be */
#ifndef HUTCH_CLI_COMMAND_H
#define HUTCH_CLI_COMMAND_H

#include "host/cli/cli.h"
#include "host/cli/env.h"
#include "host/cli/stream.h"

/** struct command_opts - All their options; each table has those it takes */
struct command_opts {
	struct cli_common common;
	struct opt_list env;
	struct opt_list env_file;
	const char *user;
	const char *workdir;
	const char *timeout;
	bool interactive;
	bool tty;
	/* Of a VM. */
	const char *name;
	const char *cpus;
	const char *memory;
	const char *hostname;
	const char *kernel;
	bool rm;
	bool no_wait;
	bool detach;
};

#define COMMAND_OFF(field) offsetof(struct command_opts, field)

/* Lines of the tables; clang-format would put each field on its own. */
/* clang-format off */
#define COMMAND_PROCESS_OPTS \
	{ "env", 'e', OPT_LIST, COMMAND_OFF(env), "K[=V]", \
	  "set a variable; without V, to its value here" }, \
	{ "env-file", 0, OPT_LIST, COMMAND_OFF(env_file), "FILE", \
	  "set those of a file, one K=V a line" }, \
	{ "workdir", 'w', OPT_STR, COMMAND_OFF(workdir), "DIR", \
	  "working folder in the VM (/)" }, \
	{ "user", 'u', OPT_STR, COMMAND_OFF(user), "USER", \
	  "name, uid or uid:gid in the VM (root)" }, \
	{ "timeout", 0, OPT_STR, COMMAND_OFF(timeout), "TIME", \
	  "end it after 90, 1.5s, 500ms, 2m or 1h" }

#define COMMAND_STDIO_OPTS \
	{ "interactive", 'i', OPT_FLAG, COMMAND_OFF(interactive), NULL, \
	  "pass standard input on" }, \
	{ "tty", 't', OPT_FLAG, COMMAND_OFF(tty), NULL, \
	  "give the command a terminal" }

#define COMMAND_VM_OPTS \
	{ "cpus", 0, OPT_STR, COMMAND_OFF(cpus), "N", \
	  "virtual CPUs, 1 to 32 (1)" }, \
	{ "memory", 'm', OPT_STR, COMMAND_OFF(memory), "SIZE", \
	  "memory, such as 256M or 2G (512M)" }, \
	{ "hostname", 'h', OPT_STR, COMMAND_OFF(hostname), "NAME", \
	  "name in the VM (the VM's name)" }, \
	{ "kernel", 0, OPT_STR, COMMAND_OFF(kernel), "FILE", \
	  "kernel to boot: vmlinux or bzImage" }, \
	{ "rm", 0, OPT_FLAG, COMMAND_OFF(rm), NULL, \
	  "keep no record and no logs when it ends" }
/* clang-format on */

/**
 * struct command - The options, understood
 * @env:	With TERM first, if there is a terminal
 * @n_term:	1 if so: it is the command's, not the VM's
 * @argv:	The command, borrowed; maybe empty
 * @exec_flags:	HUTCH_EXEC_MAIN or 0
 * @timeout_ms:	0 for none
 */
struct command {
	const char *const *argv;
	unsigned int exec_flags;
	struct env env;
	size_t n_term;
	uint64_t timeout_ms;
	uint64_t memory;
	unsigned int cpus;
};

/**
 * command_read() - Understand the options
 * @ret:	For command_done(), after a failure too
 *
 * Return: 0, or an exit code after complaining
 */
MUST_CHECK int command_read(const struct cli *c, const struct command_opts *o,
			    const char *const *argv, struct command *ret);

/** command_done() - Free it */
void command_done(struct command *cmd);

/** command_start_opts() - As hutch_start() wants it, borrowed */
struct hutch_start_opts command_start_opts(const struct command_opts *o,
					   const struct command *cmd);

/**
 * command_attach() - Run it in VM @name, joined to our stdio
 *
 * It has been left when this returns, so that the VM may end.
 */
void command_attach(const struct cli *c, const char *name,
		    const struct command_opts *o, const struct command *cmd,
		    struct stream_end *ret);

/**
 * command_report() - Say how it ended, if it needs to be said
 * @timed_out:	The VM ended because its time was up
 *
 * Return: exit code
 */
int command_report(const struct cli *c, const struct stream_end *end,
		   bool timed_out);

#endif
