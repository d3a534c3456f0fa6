/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/signals.h - signals by name and by number */
#ifndef HUTCH_CLI_SIGNALS_H
#define HUTCH_CLI_SIGNALS_H

#include "host/cli/base.h"
#include "host/lib/hutch.h"

#define SIGNALS_LAST     64 /* of Linux */
#define SIGNALS_NAME_MAX 16 /* bytes of a name with its NUL */

/**
 * signals_parse() - "TERM", "SIGTERM", "term" or "15"; "RTMIN+1", "RTMAX-1"
 *
 * Return: 0 with *@ret from 1 to SIGNALS_LAST; -EINVAL
 */
MUST_CHECK int signals_parse(const char *word, int *ret, struct hutch_err *e);

/** signals_name() - "SIGTERM" for 15; "signal 50". Return: @buf */
char *signals_name(int signo, char buf[SIGNALS_NAME_MAX]);

#endif
