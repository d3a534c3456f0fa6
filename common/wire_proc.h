/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/wire_proc.h - the protocol's requests about processes, see wire.h
 *
 * ATTACH, LIST, KILL, DROP and WAIT_PORT name a process by its id, PROCESS and
 * TRUNCATED are what the agent answers to some of them.
 */
#ifndef HUTCH_COMMON_WIRE_PROC_H
#define HUTCH_COMMON_WIRE_PROC_H

#include "common/wire.h"

/* ATTACH flags. */
#define WIRE_ATTACH_STDIN     0x01u /* STDIN will come */
#define WIRE_ATTACH_FOLLOW    0x02u /* go on until it ends */
#define WIRE_ATTACH_NO_STDOUT 0x04u
#define WIRE_ATTACH_NO_STDERR 0x08u
#define WIRE_ATTACH_BACK      0x10u /* cursors count back from the end */
#define WIRE_ATTACH_QUIET     0x20u /* does not count as a client */
#define WIRE_ATTACH_FLAGS     0x3fu

/** struct wire_attach - Fixed part of ATTACH; then string id */
struct wire_attach {
	le32 flags;
	le32 reserved;
	le64 stdout_from;
	le64 stderr_from;
};
_Static_assert(sizeof(struct wire_attach) == 24, "wire layout is ABI");

/**
 * struct msg_attach - ATTACH
 * @stdout_from:	Cursor of the first byte wanted, below 2^63, as @stderr_from;
 *		one beyond the end is the end
 */
struct msg_attach {
	uint32_t flags;
	uint64_t stdout_from;
	uint64_t stderr_from;
	const char *id;
};

#define WIRE_LIST_ENV   0x1u /* with their environments */
#define WIRE_LIST_FLAGS 0x1u

/**
 * struct msg_list - LIST: le32 flags, le32 reserved, string id
 * @id:		"" for all
 */
struct msg_list {
	uint32_t flags;
	const char *id;
};

/** struct wire_kill - Fixed part of KILL; then string id */
struct wire_kill {
	le32 signo;
	le16 scope;
	le16 reserved;
	le32 grace_ms;
	le32 reserved2;
};
_Static_assert(sizeof(struct wire_kill) == 16, "wire layout is ABI");

/**
 * struct msg_kill - KILL
 * @grace_ms:	After it SIGKILL to all of it; 0: never; with TREE only
 */
struct msg_kill {
	uint32_t signo;
	enum wire_scope scope;
	uint32_t grace_ms;
	const char *id;
};

/** struct msg_drop - DROP: string id */
struct msg_drop {
	const char *id;
};

/**
 * struct msg_wait_port - WAIT_PORT: le16 port, le16 and le32 reserved, string id
 * @port:	TCP, not 0
 * @id:		Process whose end ends the waiting; "" for none
 */
struct msg_wait_port {
	uint16_t port;
	const char *id;
};

/** struct wire_truncated - TRUNCATED */
struct wire_truncated {
	le16 stream;
	le16 reserved;
	le32 reserved2;
	le64 cursor;
	le64 lost;
};
_Static_assert(sizeof(struct wire_truncated) == 24, "wire layout is ABI");

/**
 * struct msg_truncated - TRUNCATED
 * @stream:	1 stdout, 2 stderr
 * @cursor:	Where this stream goes on
 * @lost:	Bytes before it that this client does not get
 */
struct msg_truncated {
	unsigned int stream;
	uint64_t cursor;
	uint64_t lost;
};

enum wire_proc_state {
	WIRE_PROC_RUNNING = 1,
	WIRE_PROC_LINGERING = 2, /* it ended, what it started goes on */
	WIRE_PROC_EXITED = 3     /* nothing of it is left */
};

/* PROCESS flags, besides WIRE_EXIT_*. */
#define WIRE_PROC_PTY        0x10u
#define WIRE_PROC_MAIN       0x20u
#define WIRE_PROC_STDIN      0x40u  /* it has a stdin that is open */
#define WIRE_PROC_ARGS_CUT   0x80u  /* there were more than these */
#define WIRE_PROC_ENV_CUT    0x100u /* likewise */
#define WIRE_PROC_FOREGROUND 0x200u /* has the client that started it */
#define WIRE_PROC_FLAGS      (0x3f0u | WIRE_EXIT_FLAGS)

/* Payload of a PROCESS: argv and env are cut to fit. */
#define WIRE_PROCESS_MAX 65536u

/**
 * struct wire_process - Fixed part of PROCESS
 *
 * Followed by strings: id, user, cwd, argv[@argc], env[@envc].
 */
struct wire_process {
	le32 pid;
	le16 state;
	le16 how;
	le32 flags;
	le32 value;
	le64 start_ns;
	le64 end_ns;
	le64 timeout_ms;
	le64 stdout_total;
	le64 stderr_total;
	le64 stdout_cut;
	le64 stderr_cut;
	le64 memory;
	le32 pids;
	le32 cpu_weight;
	le32 attached;
	le32 argc;
	le32 envc;
	le32 grace_ms;
};
_Static_assert(sizeof(struct wire_process) == 104, "wire layout is ABI");

/**
 * struct msg_process - PROCESS
 * @how:	As in EXIT; 0 while it runs, as @value and @end_ns
 * @flags:	WIRE_EXIT_* and WIRE_PROC_*
 * @timeout_ms:	As EXEC gave it, as @grace_ms
 * @stdout_cut:	Bytes of @stdout_total that can no longer be had
 * @memory:	Limits as EXEC gave them, and @cpu_weight
 * @attached:	Clients, the foreground one too
 * @user:	As EXEC or the sandbox has it
 * @argv:	@argc strings and a NULL; cut if WIRE_PROC_ARGS_CUT
 * @env:	Of the sandbox and EXEC; none unless LIST asked for them
 *
 * Parsed, @argv and @env are one allocation that wire_process_done() frees.
 */
struct msg_process {
	uint32_t pid;
	enum wire_proc_state state;
	enum wire_how how;
	uint32_t flags;
	uint32_t value;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t timeout_ms;
	uint64_t stdout_total;
	uint64_t stderr_total;
	uint64_t stdout_cut;
	uint64_t stderr_cut;
	uint64_t memory;
	uint32_t pids;
	uint32_t cpu_weight;
	uint32_t attached;
	uint32_t argc;
	uint32_t envc;
	uint32_t grace_ms;
	const char *id;
	const char *user;
	const char *cwd;
	const char **argv;
	const char **env;
};

MUST_CHECK int wire_attach_parse(const void *p, size_t len,
				 struct msg_attach *ret, struct err *e);
MUST_CHECK int wire_list_parse(const void *p, size_t len, struct msg_list *ret,
			       struct err *e);
MUST_CHECK int wire_kill_parse(const void *p, size_t len, struct msg_kill *ret,
			       struct err *e);
MUST_CHECK int wire_drop_parse(const void *p, size_t len, struct msg_drop *ret,
			       struct err *e);
MUST_CHECK int wire_wait_port_parse(const void *p, size_t len,
				    struct msg_wait_port *ret, struct err *e);
MUST_CHECK int wire_truncated_parse(const void *p, size_t len,
				    struct msg_truncated *ret, struct err *e);
MUST_CHECK int wire_process_parse(const void *p, size_t len,
				  struct msg_process *ret, struct err *e);

/** wire_process_done() - Free what parsing allocated; may be called twice */
void wire_process_done(struct msg_process *m);

/* As in wire.h: append a frame, check nothing. */
void wire_attach_put(struct wr *wr, const struct msg_attach *m);
void wire_list_put(struct wr *wr, const struct msg_list *m);
void wire_kill_put(struct wr *wr, const struct msg_kill *m);
void wire_drop_put(struct wr *wr, const struct msg_drop *m);
void wire_wait_port_put(struct wr *wr, const struct msg_wait_port *m);
void wire_truncated_put(struct wr *wr, const struct msg_truncated *m);
void wire_process_put(struct wr *wr, const struct msg_process *m);

/** wire_process_size() - Bytes of the frame that wire_process_put() makes */
size_t wire_process_size(const struct msg_process *m);

#endif
