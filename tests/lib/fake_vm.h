/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/fake_vm.h - one VM that is none, for what verbs make of libhutch
 *
 * With fake_hutch.h all of libhutch that the command line uses, but for words
 * and names, which are the real ones. What it answers is set beforehand, what
 * it was asked is a text to compare:
 *
 *	ck_assert_int_eq(fake_vm_cli("kill", "web", "server", NULL), 0);
 *	ck_assert_str_eq(fake_vm_calls(), "kill web server 15 0 2000\n");
 *	ck_assert_str_eq(fake_vm_out(), "server\n");
 */
#ifndef HUTCH_TESTS_FAKE_VM_H
#define HUTCH_TESTS_FAKE_VM_H

#include "host/lib/hutch.h"

/**
 * struct fake_vm - What there is, all of it borrowed
 * @error:	What every request fails with, or 0
 * @only:	...if it has this in its line of fake_vm_calls(); NULL: any
 * @record:	Of the VM; several in @records for hutch_list()
 * @procs:	Ends in NULL
 * @ev:		Events of a process that is attached to or started
 * @left:	So many come before the VM ends, if @breaks
 * @sh:		Instead of @ev, what the process runs
 * @sig:	Comes once the process is attached to
 * @piped:	Standard input is a pipe, and not /dev/null
 * @wait:	What hutch_process_wait() answers, if @wait_error is 0
 * @pieces:	Of any log
 * @events:	Of the VM
 * @ended:	Behind the last piece or event comes -ENODATA
 */
struct fake_vm {
	int error;
	const char *only;
	struct hutch_record *record;
	struct hutch_record **records;
	struct hutch_process **procs;
	const struct hutch_exec_event *ev;
	int n_ev;
	int breaks;
	int left;
	const char *sh;
	int sig;
	int piped;
	struct hutch_wait_result wait;
	int wait_error;
	int vm_wait_error;
	const struct hutch_log_piece *pieces;
	int n_pieces;
	const struct hutch_vm_event *events;
	int n_events;
	int ended;
};

/** fake_vm_set() - From now on, in this process and its children */
void fake_vm_set(const struct fake_vm *to);

/**
 * fake_vm_cli() - Run "hutch WORD..." in a child with empty standard input
 *
 * Return: its exit code, or minus the signal that ended it
 */
int fake_vm_cli(const char *word, ...) __attribute__((sentinel));

/** fake_vm_calls() - What it asked of libhutch, a line each */
const char *fake_vm_calls(void);

/** fake_vm_out() - What it wrote to stdout, as fake_vm_err() to stderr */
const char *fake_vm_out(void);
const char *fake_vm_err(void);

/**
 * fake_vm_call() - For those that take libhutch's place: what was asked
 * @e:		Gets the sentence, if it is to fail
 *
 * Return: what this request fails with, or 0
 */
int fake_vm_call(struct hutch_err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
