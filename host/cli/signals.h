/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/signals.h - signals by name */
#ifndef HUTCH_CLI_SIGNALS_H
#define HUTCH_CLI_SIGNALS_H

#include "host/cli/base.h"

#define SIGNALS_NAME_MAX 16 /* bytes of a name with its NUL */

/** signals_name() - "SIGTERM" for 15; "signal 50". Return: @buf */
char *signals_name(int signo, char buf[SIGNALS_NAME_MAX]);

#endif
