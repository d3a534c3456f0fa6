/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/cli.h - what every verb shares: its entry, errors, exit codes */
#ifndef HUTCH_CLI_CLI_H
#define HUTCH_CLI_CLI_H

#include "host/cli/base.h"
#include "host/cli/jsonw.h"
#include "host/cli/opt.h"
#include "host/lib/hutch.h"

/* Exit codes; below these they are the command's own. */
#define CLI_EXIT_TIMEOUT        124
#define CLI_EXIT_FAILED         125
#define CLI_EXIT_NOT_EXECUTABLE 126
#define CLI_EXIT_NOT_FOUND      127
#define CLI_EXIT_SIGNAL         128 /* plus the signal's number */

/** struct cli_common - Options of every verb; first in each verb's struct */
struct cli_common {
	bool help;
	bool json;
};

/* @letter: 'h', or 0 where -h is --hostname, as with Docker. */
#define CLI_COMMON_OPTS(letter)                                              \
	{ "json",   0,                                                       \
	  OPT_FLAG, offsetof(struct cli_common, json),                       \
	  NULL,     "print JSON (docs/json.md)" },                           \
	{                                                                    \
		"help", letter, OPT_FLAG, offsetof(struct cli_common, help), \
			NULL, "print this help"                              \
	}

struct verb;

/**
 * struct cli - One run of the program
 * @verb:	What it was asked to do
 * @h:		Opened by cli_open(), closed by the dispatcher
 * @json:	--json was given
 */
struct cli {
	const struct verb *verb;
	struct hutch *h;
	bool json;
};

/**
 * struct verb - A verb, in a file of its own: cmd_<name>.c
 * @alias:	Another name, or NULL
 * @args:	What follows the verb in the usage line
 * @summary:	Half a line for the list of verbs
 * @help:	Paragraphs and examples, each line ended; or NULL
 * @rules:	For opt_parse()
 * @opts_size:	Bytes of its struct, which begins with struct cli_common
 * @min, @max:	How many words it wants
 * @run:	Does it. Return: exit code
 * @subs:	Verbs of its own, "image list", that its first word chooses; or
 *		NULL.  Ends in NULL
 */
struct verb {
	const char *name;
	const char *alias;
	const char *args;
	const char *summary;
	const char *help;
	struct opt_rules rules;
	size_t opts_size;
	size_t min, max;
	int (*run)(struct cli *c, const void *opts, const struct opt_words *w);
	const struct verb *const *subs;
};

extern const struct verb verb_run;
extern const struct verb verb_start;
extern const struct verb verb_exec;
extern const struct verb verb_ps;
extern const struct verb verb_attach;
extern const struct verb verb_wait;
extern const struct verb verb_drop;
extern const struct verb verb_stop;
extern const struct verb verb_kill;
extern const struct verb verb_list;
extern const struct verb verb_inspect;
extern const struct verb verb_logs;
extern const struct verb verb_events;
extern const struct verb verb_rm;
extern const struct verb verb_backup;
extern const struct verb verb_cp;
extern const struct verb verb_fs;
extern const struct verb verb_restore;
extern const struct verb verb_forward;
extern const struct verb verb_ports;
extern const struct verb verb_image;
extern const struct verb verb_volume;
extern const struct verb verb_net;
extern const struct verb verb_doctor;
extern const struct verb verb_version;
extern const struct verb verb_help;

/** cli_main() - The whole program. Return: exit code */
int cli_main(int argc, char *const *argv);

/** cli_open() - Open libhutch. Return: 0, or an exit code after complaining */
MUST_CHECK int cli_open(struct cli *c);

/**
 * cli_fail() - Say what failed: a sentence, and an object with --json
 *
 * Return: CLI_EXIT_FAILED, so that verbs can write "return cli_fail(...)"
 */
int cli_fail(const struct cli *c, const struct hutch_err *e);

/** cli_usage() - The same for what a person should write otherwise */
int cli_usage(const struct cli *c, const char *fmt, ...) PRINTF(2, 3);

/** cli_warn() - "hutch: " and one sentence on stderr */
void cli_warn(const char *fmt, ...) PRINTF(1, 2);

/** cli_warn_after() - The same, behind what margin_break() says */
void cli_warn_after(const char *before, const char *sentence);

/** cli_json() - A document on stdout, for people's eyes too */
struct jsonw cli_json(void);

/** cli_find_verb() - By name or alias, or NULL */
const struct verb *cli_find_verb(const char *name);

/** cli_find_sub() - The one that @name chooses, or NULL */
const struct verb *cli_find_sub(const struct verb *v, const char *name);

/** cli_no_sub() - Complain that @name, maybe NULL, is no verb of @v. Return:
 *  the exit code
 */
int cli_no_sub(const struct cli *c, const struct verb *v, const char *name);

/** cli_suggest_verb() - What @name was meant to be, or NULL */
const char *cli_suggest_verb(const char *name);

/** cli_print_help() - All verbs, or one if @v is not NULL */
void cli_print_help(const struct verb *v, FILE *out);

/** cli_errno_name() - "ENOENT" for -ENOENT */
const char *cli_errno_name(int code);

#endif
