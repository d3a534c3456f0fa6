/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/process.h - processes of a VM as people and programs read them */
#ifndef HUTCH_CLI_PROCESS_H
#define HUTCH_CLI_PROCESS_H

#include "host/cli/jsonw.h"
#include "host/cli/table.h"
#include "host/lib/hutch.h"

/** process_put_end() - "exit_code" and "signal", null what it is not */
void process_put_end(struct jsonw *j, enum hutch_exec_how how, int value);

/** process_json() - An object of docs/json.md */
void process_json(struct jsonw *j, const struct hutch_process *p);

/** process_table() - All of @list on stdout. Return: 0, -ENOMEM */
MUST_CHECK int process_table(struct hutch_process *const *list, bool whole);

#endif
