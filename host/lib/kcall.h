/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/kcall.h - ask a VM's keeper (common/ctl.h, on RUN/NAME/keeper.sock)
 *
 *	status			ok state=running vmm_pid=N ready=0|1
 *	stop grace_ms=N		answered, as wait for=exit, when it has ended
 *	kill			likewise
 *	wait for=ready		ok; error ESRCH if it ended first
 *	net-show		ok, with a file: JSON
 *	net-set			with two files, the message for hutch-net and the
 *				policy for the record; ok
 *	wait for=exit		ok id=HEX reason=exited exit_code=7 signal=0
 *				ended=NS [text=...]
 *	forward host=ADDRESS port=N guest_port=N
 *				ok port=N
 *	unforward host=ADDRESS port=N
 *				ok
 */
#ifndef HUTCH_HOST_LIB_KCALL_H
#define HUTCH_HOST_LIB_KCALL_H

#include "common/ctl.h"

struct hutch;
struct hutch_record;

/**
 * kcall_send() - Connect and send one request
 * @run_fd:	Folder RUN/NAME
 * @arg:	NULL: none; else the value of @key
 *
 * Return: the connection, for kcall_answer() and close(); -ENOENT or
 *         -ECONNREFUSED if there is no keeper; or -errno
 */
MUST_CHECK int kcall_send(int run_fd, const char *verb, const char *key,
			  const char *arg, struct err *e);

/** kcall_send_line() - The same with a line that is begun; this ends it */
MUST_CHECK int kcall_send_line(int run_fd, struct ctl_out *o, struct err *e);

/**
 * kcall_answer() - Wait for the answer
 * @timeout_ms:	-1: for ever
 * @line:	Holds what *@ret points into
 *
 * Return: 0; the negative errno of an error answer; -ETIMEDOUT; -EPIPE if the
 *         keeper went away; -EBADMSG
 */
MUST_CHECK int kcall_answer(int fd, int timeout_ms, char line[CTL_LINE_MAX],
			    struct ctl_msg *ret, struct err *e);

/**
 * kcall_pass() - A request and its answer, with descriptors (SCM_RIGHTS)
 * @fds:	Two of them, which stay the caller's; NULL: none
 * @ret_fd:	The caller's; -1: the answer had none
 *
 * Return: as kcall_send() and kcall_answer()
 */
MUST_CHECK int kcall_pass(int run_fd, const char *verb, const int fds[2],
			  int timeout_ms, int *ret_fd, struct err *e);

/** kcall_apply_exit() - Put an answer about the end into a record */
void kcall_apply_exit(const struct ctl_msg *m, struct hutch_record *rec);

/** struct kcall_vm - A VM; @id NULL: whichever has the name */
struct kcall_vm {
	struct hutch *h;
	const char *name;
	const char *id;
};

/**
 * kcall_await_end() - Learn how a VM has ended
 * @fd:		Of kcall_send("wait", "for", "exit"), or -1 if that failed
 * @timeout_ms:	-1: for ever
 * @ret:	The record, also if the VM has been removed meanwhile
 *
 * If there is no connection, or it breaks, it waits a few seconds for the VM's
 * end to be on record: a keeper that dies is gone by then.
 *
 * Return: 0; -ETIMEDOUT: time is over, or the keeper lives and has no room for
 *         us; -ENOENT if nothing is known, or only of another VM that has the
 *         name by now; or -errno
 */
MUST_CHECK int kcall_await_end(const struct kcall_vm *vm, int fd,
			       int timeout_ms, struct hutch_record **ret,
			       struct err *e);

/** kcall_ended() - The sentence for "it has ended". Return: -ESRCH */
int kcall_ended(const struct hutch_record *rec, struct err *e);

#endif
