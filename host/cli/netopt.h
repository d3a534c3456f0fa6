/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/cli/netopt.h - --net, --allow, --deny, --inject and --handler as a
 * network's words
 */
#ifndef HUTCH_CLI_NETOPT_H
#define HUTCH_CLI_NETOPT_H

#include "host/cli/opt.h"
#include "host/lib/hutch.h"

/* What a policy on the command line may say, and where it is read from. */
#define NETOPT_FILE_MAX 65536u

/**
 * struct netopt - For struct hutch_start_opts; all NULL if nothing was said
 * @net:	Its words
 * @policy:	JSON, or NULL
 * @warning:	For people, of a rule that has no effect, if it has a code
 */
struct netopt {
	const char *net;
	char *policy;
	char *words;
	struct hutch_err warning;
};

/**
 * netopt_parse() - Understand what was written
 * @net:	"none", "internet", "passt", "tap=IF", or the path of a policy, each
 *		with words behind it; NULL: not given
 * @rules:	Of --allow, --deny, --inject and --handler, in order; see OPT_NAMED
 * @ret:	For netopt_done(), also after a refusal
 *
 * Rules come before those of "internet"; without --net nothing else is allowed.
 *
 * Return: 0; -EINVAL, or another -errno of reading the file
 */
MUST_CHECK int netopt_parse(const char *net, const struct opt_list *rules,
			    struct netopt *ret, struct hutch_err *e);

void netopt_done(struct netopt *p);

#endif
