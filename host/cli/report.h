/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/report.h - how a command ended, as exit code and sentence */
#ifndef HUTCH_CLI_REPORT_H
#define HUTCH_CLI_REPORT_H

#include "host/cli/cli.h"
#include "host/cli/stream.h"

#define REPORT_TEXT_MAX 48

/** report_code() - Exit code that tells how a process ended */
int report_code(enum hutch_exec_how how, int value, int timed_out);

/** report_text() - "code 7", "SIGKILL, its time was up". Return: @buf */
char *report_text(char buf[REPORT_TEXT_MAX], enum hutch_exec_how how, int value,
		  int timed_out, int oom);

/** report_goes_on() - Process @id was left in VM @vm: how to come back */
void report_goes_on(const char *vm, const char *id);

/**
 * report_end() - Say how it ended, if it needs to be said
 * @vm:		Name of the VM it ran in, or runs on in
 * @timed_out:	The VM ended because its time was up
 *
 * Return: exit code
 */
int report_end(const struct cli *c, const char *vm,
	       const struct stream_end *end, bool timed_out);

#endif
