/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/signals.c - see signals.h */
#include <stdio.h>
#include <string.h>

#include "host/cli/signals.h"

char *signals_name(int signo, char buf[SIGNALS_NAME_MAX])
{
	const char *name = sigabbrev_np(signo);

	if (name)
		(void)snprintf(buf, SIGNALS_NAME_MAX, "SIG%s", name);
	else
		(void)snprintf(buf, SIGNALS_NAME_MAX, "signal %d", signo);
	return buf;
}
