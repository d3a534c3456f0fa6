/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/agent_kit.h - the agent in this process, and a client's view of it
 *
 * The agent runs whenever a client waits, so that a test is one thread and
 * reads from top to bottom.  Power-off and clock are recorded, not done;
 * processes are real.
 */
#ifndef HUTCH_TESTS_AGENT_KIT_H
#define HUTCH_TESTS_AGENT_KIT_H

#include "common/wire_proc.h"
#include "guest-agent/agent.h"

/* The one time that the clock can be set to; others are refused. */
#define KIT_CLOCK_OK 1234567890123456789ull

/**
 * struct kit - An agent under test
 * @env:	Of the sandbox; ends with NULL
 */
struct kit {
	struct agent a;
	struct msg_boot boot;
	const char *env[4];
	char cgroup[128];
	unsigned int powered_off;
};

/** struct client - One connection to it */
struct client {
	struct kit *k;
	int fd;
	struct wire_reader in;
};

/**
 * struct bytes - What a stream carried
 * @cap:	Of @p, as far as we have made it
 * @skip:	Bytes before and between these that did not come
 * @lost:	Of them, those that TRUNCATED told of
 */
struct bytes {
	uint8_t *p;
	size_t len;
	size_t cap;
	uint64_t skip;
	uint64_t lost;
};

/**
 * struct outcome - All that came until the agent's direction was shut
 * @partial:	Not all streams were asked for: EXIT's totals are more
 * @time_ns:	Of the latest output
 */
struct outcome {
	bool hello;
	bool started;
	bool exited;
	bool failed;
	bool done;
	bool partial;
	unsigned int events;
	uint64_t start_ns;
	uint64_t time_ns;
	uint32_t pid;
	char id[WIRE_ID_MAX + 1];
	struct bytes out;
	struct bytes err;
	struct msg_exit exit;
	struct msg_error error;
	char sentence[WIRE_SENTENCE_MAX + 1];
	struct msg_stdin_ack ack;
};

void kit_init(struct kit *k);
void kit_done(struct kit *k);

/** kit_init_listening() - With a non-blocking listening socket, or -1 */
void kit_init_listening(struct kit *k, int listen_fd);

/**
 * kit_cgroups() - Give the agent a cgroup of its own to make others in
 *
 * Return: whether this machine lets us; else the agent does without
 */
bool kit_cgroups(struct kit *k);

/** kit_step() - Let the agent serve for at most @ms or one batch */
void kit_step(struct kit *k, int ms);

/** kit_until() - Let the agent serve until @done says so; fails if never */
void kit_until(struct kit *k, bool (*done)(const struct kit *k));

/* For kit_until(): no process lives; the guest has been powered off. */
bool kit_none_lives(const struct kit *k);
bool kit_powered_off(const struct kit *k);

/**
 * kit_background() - sh -c @script, with nobody attached
 * @m:		The rest of EXEC; DETACH is added
 */
void kit_background(struct kit *k, const struct msg_exec *m,
		    const char *script);

/** kit_sh() - A new kit, and a client in it that runs sh -c @script */
void kit_sh(struct kit *k, struct client *c, uint32_t flags,
	    const char *script);

/** client_open() - Connect; HELLO is sent too if @hello */
void client_open(struct client *c, struct kit *k, bool hello);

/** client_close() - May be called twice */
void client_close(struct client *c);

/** client_send() - Send these bytes, letting the agent run as needed */
void client_send(struct client *c, const void *p, size_t len);

/** client_empty() - Send a frame without payload */
void client_empty(struct client *c, enum wire_type type);

/** client_exec() - Send EXEC with @argv, NULL-terminated; all else from @m */
void client_exec(struct client *c, const struct msg_exec *m,
		 const char *const *argv);

/** client_sh() - Send EXEC of sh -c @script */
void client_sh(struct client *c, uint32_t flags, const char *script);

/** client_stdin() - Send STDIN, in as many frames as it takes */
void client_stdin(struct client *c, const void *p, size_t len);

/** client_attach() - Send ATTACH with both cursors at @from */
void client_attach(struct client *c, const char *id, uint32_t flags,
		   uint64_t from);

void client_kill(struct client *c, const char *id, int sig,
		 enum wire_scope scope, uint32_t grace_ms);
void client_drop(struct client *c, const char *id);
void client_list(struct client *c, const char *id, uint32_t flags);
void client_wait_port(struct client *c, unsigned int port, const char *id);

void client_signal(struct client *c, int sig, enum wire_scope scope);

/**
 * client_next() - The next frame
 *
 * Return: 1; 0 when the agent has shut its direction
 */
int client_next(struct client *c, struct wire_frame *ret);

/** client_want() - The next frame, which must be of @type */
void client_want(struct client *c, enum wire_type type, struct wire_frame *ret);

/** client_want_started() - HELLO and STARTED are next */
void client_want_started(struct client *c);

/** client_collect() - Take frames until the agent has no more */
void client_collect(struct client *c, struct outcome *ret);

/** outcome_take() - Account for one frame, checking cursors and limits */
void outcome_take(struct outcome *o, const struct wire_frame *f);

void outcome_done(struct outcome *o);

/** bytes_text() - As a string; without any "" */
const char *bytes_text(const struct bytes *b);

/** outcome_run() - sh -c @script from connect to close */
void outcome_run(struct kit *k, uint32_t flags, const char *script,
		 struct outcome *ret);

#endif
