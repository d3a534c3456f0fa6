/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/eventlog.h - what has happened to a VM, on disk, capped
 *
 * STATE/NAME/events.jsonl has a JSON object a line, see docs/json.md.  When the
 * file would pass EVENTLOG_FILE_MAX it becomes events.jsonl.1, replacing the
 * one before.  A line that is cut at the end of the file is not there.  What the
 * network has denied is in denied.jsonl, of its own, and pushes nothing else out.
 *
 * What a guest has to tell is limited in its rate, so that a hostile one
 * cannot keep the host's disk busy, and how much was left out is told.
 */
#ifndef HUTCH_HOST_LIB_EVENTLOG_H
#define HUTCH_HOST_LIB_EVENTLOG_H

#include "common/err.h"
#include "host/lib/capfile.h"
#include "host/lib/hutch.h"

#define EVENTLOG_FILE_MAX (256u << 10)
#define EVENTLOG_LINE_MAX 8192u /* bytes of a line with its newline */
#define EVENTLOG_TEXT_MAX 600u  /* bytes of an escaped text */
#define EVENTLOG_BURST    1000u /* events of a guest in a row */
#define EVENTLOG_RATE     20u   /* and a second, when those are used up */

/** enum eventlog_kind - One of a VM's two logs */
enum eventlog_kind {
	EVENTLOG_EVENTS,
	EVENTLOG_DENIED
};

/**
 * struct eventlog - The writer; one a VM, the keeper
 * @kind:	What is in it
 * @file:	In STATE/NAME
 * @left:	Events that a guest may still tell
 * @at_ns:	When @left was that, by loop_now_ns()
 * @dropped:	Events of the guest that were too many, and not told of yet
 * @unwritten:	Events that could not be written, and not told of yet
 * @lost:	All of these, for the record
 */
struct eventlog {
	enum eventlog_kind kind;
	struct capfile file;
	unsigned int left;
	uint64_t at_ns;
	uint64_t dropped;
	uint64_t unwritten;
	uint64_t lost;
};

void eventlog_init(struct eventlog *l, enum eventlog_kind kind, int dirfd);
void eventlog_done(struct eventlog *l);

/**
 * eventlog_put() - Append an event
 * @ev:		All strings but @text are as they shall be; NULL is ""
 *
 * What cannot be written, on a full disk, is not there: how many is told by a
 * "dropped" in front of the next that can be.
 */
void eventlog_put(struct eventlog *l, const struct hutch_vm_event *ev);

/** eventlog_put_guest() - One that a guest tells: if it is not too many */
void eventlog_put_guest(struct eventlog *l, const struct hutch_vm_event *ev);

/**
 * eventlog_tell_dropped() - Tell how many were too many, if there were any
 * @ev:		When, and of which VM
 *
 * For when no other is told for a while, in front of which it would be.
 */
void eventlog_tell_dropped(struct eventlog *l, const struct hutch_vm_event *ev);

/** struct eventlog_line - One that was read; @json is behind @ev's strings */
struct eventlog_line {
	void *json;
	struct hutch_vm_event ev;
};

/**
 * eventlog_parse() - Take a line apart
 * @ret:	For eventlog_line_done()
 *
 * Return: 0; -EBADMSG
 */
MUST_CHECK int eventlog_parse(const char *line, size_t len,
			      struct eventlog_line *ret);

/** eventlog_line_done() - Takes a zeroed one, and one that is done */
void eventlog_line_done(struct eventlog_line *l);

#endif
