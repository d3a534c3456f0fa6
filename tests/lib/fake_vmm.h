/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/fake_vmm.h - what the files of the stand-in for hutch-vmm share
 *
 * fake_vmm.c is the machine and its connections, fake_cmds.c the programs that
 * can be run in it, fake_procs.c the agent's table of them and its events.
 */
#ifndef HUTCH_TESTS_FAKE_VMM_H
#define HUTCH_TESTS_FAKE_VMM_H

#include <pthread.h>
#include <stdbool.h>

#include "common/wire_file.h"
#include "common/wire_proc.h"

#define FAKE_PROCS  4096
#define FAKE_EVENTS 8192
#define FAKE_CHUNKS 4096
#define FAKE_STORE  (4u << 20) /* bytes kept of one process */

/** struct fake_chunk - A piece of output that is kept */
struct fake_chunk {
	int stream;
	uint64_t cursor;
	char *data;
	size_t len;
};

/**
 * struct fake_proc - A process in the table
 * @signo:	It was killed by; 0: not
 * @dropped:	Not there any more
 */
struct fake_proc {
	char id[WIRE_ID_MAX + 1];
	char program[64];
	uint32_t pid;
	uint32_t flags;
	bool ended;
	bool dropped;
	int signo;
	struct msg_exit end;
	uint64_t total[2];
	size_t stored;
	size_t n_chunks;
	struct fake_chunk chunk[FAKE_CHUNKS];
};

/** struct fake_event - One that has been told */
struct fake_event {
	struct msg_event m;
	char id[WIRE_ID_MAX + 1];
	char text[WIRE_SENTENCE_MAX + 1];
};

/**
 * struct fake - The machine
 * @lock:	Protects what follows
 * @subscribed:	Somebody has asked for EVENTS, and has @n_told of them
 */
struct fake {
	int vsock;
	int lifeline;
	int connector;
	bool deaf;
	bool mute;
	bool hangup;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int n_procs;
	unsigned int clients;
	unsigned int busy;
	bool subscribed;
	unsigned int n_events;
	unsigned int n_told;
	struct fake_proc *proc[FAKE_PROCS];
	struct fake_event event[FAKE_EVENTS];
};

/**
 * struct peer - One connection
 * @proc:	The process it has started
 * @detached:	Which nobody listens to
 */
struct peer {
	struct fake *f;
	int fd;
	bool detached;
	struct fake_proc *proc;
	struct wire_reader in;
};

/* ---- fake_vmm.c ---- */
void fake_send(struct peer *p, struct wr *wr);
int fake_recv(struct peer *p, struct wire_frame *f);
void fake_error(struct peer *p, int code, enum wire_error_kind kind,
		const char *sentence);

/* ---- fake_cmds.c ---- */

/** fake_run() - Run a program. Return: whether there is one of that name */
bool fake_run(struct peer *p, const struct msg_exec *m);
bool fake_knows(const char *program);

/* ---- fake_procs.c ---- */
struct fake_proc *fake_proc_new(struct fake *f, const struct msg_exec *m);
struct fake_proc *fake_proc_find(struct fake *f, const char *id);

/** fake_output() - Keep it, and send it if somebody listens */
void fake_output(struct peer *p, int stream, const void *data, size_t len);

/** fake_end() - The process has ended: tell, keep, wait for a main's client */
void fake_end(struct peer *p, const struct msg_exit *m);

/** fake_tell() - An event; takes the lock */
void fake_tell(struct fake *f, const struct msg_event *m);

/** fake_client() - A client comes (1) or goes (-1) */
void fake_client(struct fake *f, int n);

void fake_put_chunk(struct peer *p, const struct fake_chunk *c);
void fake_put_exit(struct peer *p, const struct msg_exit *m);

/* ---- fake_evil.c ---- */
void fake_put_started(struct peer *p, const char *id);
void fake_put_done(struct peer *p);

/** fake_be_evil() - Answer ATTACH. Return: whether @id asks for that */
bool fake_be_evil(struct peer *p, const char *id);

/** fake_evil_files() - Answer FILE. Return: whether its path asks for that */
bool fake_evil_files(struct peer *p, const struct msg_file *m);

/* ---- fake_procs.c, requests ---- */
void fake_serve_events(struct peer *p);

/** fake_await_told() - Until who asked for EVENTS has all; takes the lock */
void fake_await_told(struct fake *f);
void fake_serve_attach(struct peer *p, const struct wire_frame *f);
void fake_serve_list(struct peer *p, const struct wire_frame *f);
void fake_serve_kill(struct peer *p, const struct wire_frame *f);
void fake_serve_drop(struct peer *p, const struct wire_frame *f);
void fake_serve_wait_port(struct peer *p, const struct wire_frame *f);

#endif
