/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/eventsrc.h - the VMs whose events are read; see events.c */
#ifndef HUTCH_HOST_LIB_EVENTSRC_H
#define HUTCH_HOST_LIB_EVENTSRC_H

#include <stdbool.h>
#include <sys/types.h>

#include "host/lib/eventlog.h"
#include "host/lib/vmwatch.h"
#include "host/lib/hutch.h"
#include "host/lib/tail.h"

/* The files of one VM: its events, and what its network has denied. */
#define SOURCE_FEEDS 2

/**
 * struct source_feed - One of them
 * @waits:	@line is its next event
 */
struct source_feed {
	struct tail tail;
	bool waits;
	struct eventlog_line line;
};

/**
 * struct source - One VM
 * @name:	It was found under
 * @id:		"" while it has no record yet
 * @ino:	Of its folder: another one of that name has another
 * @state_fd:	Its folder, while it is followed
 * @keeper_fd:	See vmwatch_keeper()
 * @wd:		See vmwatch_dir()
 * @waits:	@line is its next event
 * @ended:	All that will be in its files is there
 * @told:	"stopped" was in them, or has been made up
 * @dead:	All of it has been told: only for us to know that
 * @rec:	Its last record, once it has ended
 */
struct source {
	char name[HUTCH_NAME_MAX + 1];
	char id[HUTCH_ID_LEN + 1];
	ino_t ino;
	int state_fd;
	int keeper_fd;
	int wd;
	bool waits;
	bool ended;
	bool told;
	bool dead;
	struct source_feed feed[SOURCE_FEEDS];
	struct eventlog_line line;
	struct hutch_record *rec;
};

/**
 * struct hutch_events - See hutch.h
 * @all:	All VMs, not one
 * @root_wd:	Watch of the folder of all VMs
 * @look:	There may be new ones in it
 * @last:	What was handed out last
 */
struct hutch_events {
	struct hutch *h;
	struct vmwatch follow;
	bool following;
	bool all;
	bool look;
	int root_wd;
	struct source **src;
	size_t n;
	size_t cap;
	struct eventlog_line last;
};

/** source_add() - Read a VM's. Return: 0; -ENOENT if it is gone; -errno */
MUST_CHECK int source_add(struct hutch_events *ev, const char *name);

/** source_find_new() - Those of VMs not seen yet. Return: how many; -errno */
MUST_CHECK int source_find_new(struct hutch_events *ev);

/** source_fill() - Return: whether an event of it waits, now */
bool source_fill(struct source *s);

/**
 * source_ended() - Whether its VM has ended
 *
 * By its keeper, or, without one, by its record, which is then @s->rec.
 */
bool source_ended(struct hutch_events *ev, struct source *s);

/** source_make_up_end() - A "stopped" that nobody has written down */
void source_make_up_end(struct source *s);

/** source_done() - Let go of all but what it is known by */
void source_done(const struct hutch_events *ev, struct source *s);

void source_free(const struct hutch_events *ev, struct source *s);

#endif
