/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/command.h - what run, start and exec share: a command to be */
#ifndef HUTCH_CLI_COMMAND_H
#define HUTCH_CLI_COMMAND_H

#include "host/cli/cli.h"
#include "host/cli/env.h"
#include "host/cli/forward.h"
#include "host/cli/keys.h"
#include "host/cli/mount.h"
#include "host/cli/netopt.h"
#include "host/cli/stream.h"

/** struct command_opts - All their options; each table has those it takes */
struct command_opts {
	struct cli_common common;
	struct opt_list env;
	struct opt_list env_file;
	const char *user;
	const char *workdir;
	const char *timeout;
	const char *name;
	const char *memory;
	bool interactive;
	bool tty;
	bool detach;
	/* Of a VM. */
	struct opt_list label;
	struct opt_list volume;
	struct opt_list mount;
	struct opt_list publish;
	const char *cpus;
	const char *hostname;
	const char *kernel;
	const char *idle_timeout;
	const char *keep_alive;
	const char *on_exit;
	const char *disk;
	const char *entrypoint;
	const char *image_dax;
	const char *stop_signal;
	const char *pull;
	const char *net;
	struct opt_list net_rules;
	bool rm;
	bool no_wait;
	/* Of a process in one. */
	const char *pids;
	const char *cpu_weight;
	const char *keep;
	const char *ring;
	const char *detach_keys;
	bool clear_env;
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
	{ "label", 'l', OPT_LIST, COMMAND_OFF(label), "K=V", \
	  "a word about it, for hutch list --filter" }, \
	{ "disk", 0, OPT_STR, COMMAND_OFF(disk), "SIZE|ram", \
	  "room over an image (20G), or not to keep it" }, \
	{ "entrypoint", 0, OPT_STR, COMMAND_OFF(entrypoint), "PROGRAM", \
	  "instead of the image's; \"\" for none" }, \
	{ "pull", 0, OPT_STR, COMMAND_OFF(pull), "WHEN", \
	  "an image: missing, always or never (missing)" }, \
	{ "image-dax", 0, OPT_STR, COMMAND_OFF(image_dax), "WHICH", \
	  "its files mapped: auto, never, inode, always" }, \
	{ "volume", 'v', OPT_LIST, COMMAND_OFF(volume), "SRC:DST[:WAY]", \
	  "folder, file, volume; ro, locks=host, dax=inode" }, \
	{ "mount", 0, OPT_LIST, COMMAND_OFF(mount), "WORDS", \
	  "the same as type=bind,src=SRC,dst=DST[,readonly]" }, \
	{ "net", 0, OPT_STR, COMMAND_OFF(net), "NET", \
	  "none, internet, passt, tap=IF or a file (none)" }, \
	{ "allow", 0, OPT_NAMED, COMMAND_OFF(net_rules), "HOST[:PORT]", \
	  "let the VM connect there" }, \
	{ "deny", 0, OPT_NAMED, COMMAND_OFF(net_rules), "HOST[:PORT]", \
	  "do not; the first that matches decides" }, \
	{ "inject", 0, OPT_NAMED, COMMAND_OFF(net_rules), "RULE", \
	  "'HOST[/PATH] HEADER=VALUE' for requests to HOST" }, \
	{ "handler", 0, OPT_NAMED, COMMAND_OFF(net_rules), "HOST=PATH", \
	  "answer requests to HOST by a Unix socket" }, \
	{ "publish", 'p', OPT_LIST, COMMAND_OFF(publish), "PORTS", \
	  "[HOST:]PORT:GUEST_PORT: see hutch forward" }, \
	{ "stop-signal", 0, OPT_STR, COMMAND_OFF(stop_signal), "SIGNAL", \
	  "what COMMAND is sent to end (the image's, TERM)" }, \
	{ "idle-timeout", 0, OPT_STR, COMMAND_OFF(idle_timeout), "TIME", \
	  "end it when no client did anything for so long" }, \
	{ "keep-alive", 0, OPT_STR, COMMAND_OFF(keep_alive), "WHAT", \
	  "processes: one that runs keeps it from idling" }, \
	{ "on-exit", 0, OPT_STR, COMMAND_OFF(on_exit), "WHAT", \
	  "stop or keep it when COMMAND has ended (stop)" }, \
	{ "rm", 0, OPT_FLAG, COMMAND_OFF(rm), NULL, \
	  "keep no record and no logs when it ends" }

#define COMMAND_EXEC_OPTS \
	{ "clear-env", 0, OPT_FLAG, COMMAND_OFF(clear_env), NULL, \
	  "only PATH, HOME, TERM and what --env says" }, \
	{ "detach", 'd', OPT_FLAG, COMMAND_OFF(detach), NULL, \
	  "leave it running and print its id" }, \
	{ "name", 0, OPT_STR, COMMAND_OFF(name), "ID", \
	  "id of the process (one is made up)" }, \
	{ "memory", 'm', OPT_STR, COMMAND_OFF(memory), "SIZE", \
	  "limit of all of it together (none)" }, \
	{ "pids", 0, OPT_STR, COMMAND_OFF(pids), "N", \
	  "limit of processes and threads (none)" }, \
	{ "cpu-weight", 0, OPT_STR, COMMAND_OFF(cpu_weight), "N", \
	  "1 to 10000, against other processes (100)" }, \
	{ "ring", 0, OPT_STR, COMMAND_OFF(ring), "SIZE", \
	  "output kept of each stream (1M)" }, \
	{ "keep", 0, OPT_STR, COMMAND_OFF(keep), "WHAT", \
	  "head or tail of what is more than that (tail)" }, \
	{ "detach-keys", 0, OPT_STR, COMMAND_OFF(detach_keys), "KEYS", \
	  "leave it by these (" KEYS_DEFAULT ")" }
/* clang-format on */

/** enum command_pull - When to ask a registry for an image */
enum command_pull {
	COMMAND_PULL_MISSING,
	COMMAND_PULL_ALWAYS,
	COMMAND_PULL_NEVER
};

/**
 * struct command - The options, understood
 * @env:	With TERM first, if there is a terminal
 * @n_term:	1 if so: it is the command's, not the VM's
 * @argv:	The command, borrowed; maybe empty
 * @flags:	HUTCH_EXEC_*
 * @timeout_ms:	0 for none
 * @image:	NULL for the built-in root
 * @image_argv:	What @argv is then, ours
 * @image_says:	All of it is what the image says
 * @old:	Of the VM that goes on: what is not said again is as it was; else NULL
 */
struct command {
	const char *const *argv;
	unsigned int flags;
	struct env env;
	size_t n_term;
	uint64_t timeout_ms;
	/* Of a VM. */
	uint64_t memory;
	uint64_t idle_timeout_ms;
	uint64_t disk;
	enum hutch_dax image_dax;
	uint64_t image_window;
	struct cli_mounts mounts;
	struct netopt net;
	struct cli_forwards forwards;
	struct hutch_image *image;
	const char *const *image_argv;
	struct hutch_record *old;
	enum hutch_on_exit on_exit;
	enum command_pull pull;
	unsigned int cpus;
	bool keep_alive;
	bool disk_ram;
	bool image_says;
	/* Of a process in one. */
	const char *id;
	uint64_t memory_limit;
	unsigned int pids;
	unsigned int cpu_weight;
	uint32_t ring;
	struct keys keys;
};

/**
 * command_read() - Understand the options
 * @ret:	For command_done(), after a failure too
 *
 * Return: 0, or an exit code after complaining
 */
MUST_CHECK int command_read(const struct cli *c, const struct command_opts *o,
			    const char *const *argv, struct command *ret);

/**
 * command_image() - Have the image that a VM is to start from
 * @rest:	The words behind the options: [IMAGE] [--] [COMMAND...]
 * @dashes:	They came behind a "--": no image is among them
 * @name:	Of the VM; NULL: it has none
 *
 * Pulls it, if it is not here, and says so.  What is to run is in @cmd then.  If
 * there are no words, and a VM of that name has stopped, all goes on as it was; if
 * it has a disk, with another command too.
 *
 * Return: 0, or an exit code after complaining
 */
MUST_CHECK int command_image(struct cli *c, const struct command_opts *o,
			     const char *const *rest, bool dashes,
			     const char *name, struct command *cmd);

/** command_image_done() - Undo that; part of command_done() */
void command_image_done(struct command *cmd);

/** command_done() - Free it */
void command_done(struct command *cmd);

/** command_start_opts() - As hutch_start() wants it, borrowed */
struct hutch_start_opts command_start_opts(const struct command_opts *o,
					   const struct command *cmd);

/**
 * command_tell_ports() - Which ports were free, where 0 was asked for
 *
 * On standard error: the other has the name, or what the command writes.
 */
void command_tell_ports(const struct cli *c, const char *name,
			const struct command *cmd);

/** command_exec_opts() - As hutch_exec_open() wants it, borrowed */
struct hutch_exec_opts command_exec_opts(const struct command_opts *o,
					 const struct command *cmd);

/**
 * command_join() - Run it in VM @name, joined to our stdio
 *
 * It has been left when this returns, so that the VM may end.
 */
void command_join(const struct cli *c, const char *name,
		  const struct command_opts *o, const struct command *cmd,
		  struct stream_end *ret);

#endif
