/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/keeper/keeper.h - one VM's keeper: its state, and what its files offer
 *
 * How it works.  The keeper is the parent of the monitor and holds the VM's
 * lock for as long as it lives.  What ends a VM goes through keeper_end(),
 * whose first cause is the one on record; what the monitor's death adds to it
 * is decided in one place, monitor_verdict().  When the monitor is gone the
 * record is made final, the sockets go, the lock is let go of, and only then
 * those who wait are told: whoever has been told can use the name again.
 */
#ifndef HUTCH_HOST_KEEPER_KEEPER_H
#define HUTCH_HOST_KEEPER_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/ctl.h"
#include "common/list.h"
#include "common/loop.h"
#include "common/relay.h"
#include "common/wire_proc.h"
#include "host/keeper/handlerpath.h"
#include "host/keeper/lastwords.h"
#include "host/keeper/resolv.h"
#include "host/lib/conn.h"
#include "host/lib/eventlog.h"
#include "host/lib/hutch.h"
#include "host/lib/mainlog.h"
#include "host/lib/launch.h"
#include "host/lib/netplan.h"

#define KEEPER_CLIENTS_MAX 512  /* connections to keeper.sock */
#define KEEPER_RESERVED    16   /* and for stop, kill and status beside them */
#define KEEPER_LINE_MAX    256  /* bytes of a request */
#define KEEPER_MARGIN_MS   5000 /* for a power-off, beyond the grace */
#define KEEPER_OBEY_MS     60000 /* for the agent to end a main process in time */

/* Connections to forwarded ports; of these such that wait for the guest... */
#define KEEPER_JOINED_MAX  1024
#define KEEPER_JOINING_MAX 64
#define KEEPER_JOIN_MS     60000 /* ...and how long, which includes its boot */

/**
 * struct cause - Why the VM ends
 * @reason:	HUTCH_REASON_NONE: no cause yet
 * @text:	A constant, or points to keeper.cause_buf
 */
struct cause {
	enum hutch_reason reason;
	int exit_code;
	int signal;
	const char *text;
};

struct keeper;

/**
 * struct guest_conn - One of the keeper's own connections to the agent
 * @more:	Set while frames may be here that the socket does not tell of
 * @fn:		Takes a frame; false: close the connection
 * @gone:	It has been closed, by either side; may be NULL
 */
struct guest_conn {
	struct loop_io io;
	struct loop_timer more;
	struct conn conn;
	struct keeper *k;
	bool (*fn)(struct keeper *k, const struct wire_frame *f);
	void (*gone)(struct keeper *k);
};

/* The value of hutch-vmm's --net. */
#define KEEPER_NET_WORDS 160

/** enum net_asker - Who has asked hutch-net for something */
enum net_asker {
	NET_ASKER_CLIENT, /* serve_net() has the answer */
	NET_ASKER_KEEPER,
	NET_N_ASKERS
};

/**
 * struct keeper_net - Of the VM's network; see net.c
 * @begun:	It serves, or is known not to: then @why says so
 * @link:	The monitor's end, until it has it; -1: none
 * @control:	Of hutch-net; -1: none
 * @ready:	Of passt: it says here when it serves; else -1
 * @trusted:	The guest was given its certificate
 * @asked:	Whom it owes an answer, in this order, until @late, as it does before
 *		it has begun
 * @resolv:	Of the host
 * @stale:	It has not been told of the host's resolvers of now
 * @handlers:	Paths that hutch-net may be connected to, a list; or NULL
 * @shares:	What no way to one may lead through
 * @policy:	For the record, once it has answered "ok"; or NULL
 * @err:	What the program says, and @words the end of it
 * @pid:	Of the program; 0: there is none
 */
struct keeper_net {
	struct netplan plan;
	bool begun;
	struct err why;
	int link;
	int err;
	pid_t pid;
	int pidfd;
	struct loop_io io;
	struct loop_io err_io;
	struct lastwords words;
	int control;
	struct loop_io control_io;
	int ready;
	struct loop_io ready_io;
	bool trusted;
	enum net_asker asked[NET_N_ASKERS];
	unsigned int n_asked;
	struct resolv resolv;
	bool stale;
	struct loop_timer late;
	struct json_t *handlers;
	struct handlerpath_shares shares;
	char *policy;
};

/**
 * struct keeper - All there is
 * @fd:		What the starter gave, by enum launch_fd; -1: not there
 * @path:	Likewise
 * @cause:	Why it ends; of the first keeper_end()
 * @ending:	A shutdown is under way
 * @killed:	We have sent SIGKILL
 * @gone:	The monitor has been reaped: @status
 * @pidfd:	Of the monitor
 * @vmm_lifeline: Write end; ours to hold
 * @connector:	Our end of the monitor's connector
 * @stderr_fd:	What the monitor says
 * @main_timer:	For the rest of the main process's output, or for its start
 * @idle_timer:	Set while the clock of the idle time-out runs
 * @save_timer:	Set while the record waits to be written
 * @booted:	The agent has told BUSY, and of no mount that failed
 * @busy:	WIRE_BUSY_*, as last told, if @busy_known
 * @main_seen:	It has been told of: we are, or were, attached to it
 * @main_begun:	Our request to start it has been answered
 * @main_exited: We have seen its exit, as @main_end says, and its client may
 *		not have
 * @main_over:	It has ended, as @main_end says
 * @main_next:	Cursors of the next bytes of its stdout and stderr
 * @events:	EVENTS; its HELLO is what "ready" means
 * @exec:	EXEC of the main process, if it is ours to start
 * @main:	ATTACH to it
 * @shutdown:	SHUTDOWN, once asked for
 * @n_reserved:	Of @n_clients, such as are in reserved places
 * @forwards:	Listening sockets of forward.c, @n_forwards
 * @joined:	Their connections, @n_joined, of which @n_joining wait for the
 *		guest's answer
 * @accept_timer: Set while nothing is accepted for want of descriptors
 * @denied:	What the network has refused
 * @dropped_timer: Set while one of the logs has some that were too many
 * @relay_buf:	Of all relays
 */
struct keeper {
	struct loop loop;
	int fd[LAUNCH_N_FDS];
	const char *path[LAUNCH_N_PATHS];
	struct hutch_record *rec;
	struct cause cause;
	char cause_buf[256];
	bool ready;
	bool ending;
	bool killed;
	bool gone;
	int status;
	int pidfd;
	int vmm_lifeline;
	int connector;
	int stderr_fd;
	int signal_fd;
	struct loop_io vmm_io;
	struct loop_io lifeline_io;
	struct loop_io connector_io;
	struct loop_io stderr_io;
	struct loop_io signal_io;
	struct loop_io listen_io;
	struct loop_timer timeout;
	struct loop_timer deadline;
	struct loop_timer main_timer;
	struct loop_timer idle_timer;
	struct loop_timer save_timer;
	unsigned int busy;
	bool busy_known;
	bool booted;
	bool main_seen;
	bool main_begun;
	bool main_exited;
	bool main_over;
	struct cause main_end;
	uint64_t main_next[2];
	struct lastwords stderr_words;
	struct guest_conn events;
	struct guest_conn exec;
	struct guest_conn main;
	struct guest_conn shutdown;
	struct keeper_net net;
	struct mainlog log;
	struct eventlog eventlog;
	struct eventlog denied;
	struct loop_timer dropped_timer;
	struct list clients;
	unsigned int n_clients;
	unsigned int n_reserved;
	struct list forwards;
	unsigned int n_forwards;
	struct list joined;
	unsigned int n_joined;
	unsigned int n_joining;
	struct loop_timer accept_timer;
	uint8_t relay_buf[RELAY_CHUNK];
};

/* ---- keeper.c ---- */

/** keeper_init() - Nothing open yet; @fd and @path are borrowed from argv */
void keeper_init(struct keeper *k);

/**
 * keeper_start() - Start the monitor and put it on record
 *
 * Return: 0; or -errno with a sentence for the starter, and nothing runs
 */
MUST_CHECK int keeper_start(struct keeper *k, struct err *e);

/** keeper_not_started() - Answer those who have asked meanwhile */
void keeper_not_started(struct keeper *k, const struct err *e);

/** keeper_run() - Until the VM has ended and its record is final */
MUST_CHECK int keeper_run(struct keeper *k);

/** keeper_done() - Close and free; takes a half-made one */
void keeper_done(struct keeper *k);

/**
 * keeper_end() - Begin to end the VM
 * @cause:	On record unless there is an earlier one
 * @grace_ms:	Between SIGTERM and SIGKILL in the guest; -1: no grace at all,
 *		the monitor is killed
 *
 * May be called again, with less grace.
 */
void keeper_end(struct keeper *k, const struct cause *cause, int grace_ms);

/** keeper_ready() - The agent has answered, and the main process, if ours to
 *  start, is there for who asks for it now; does nothing before
 */
void keeper_ready(struct keeper *k);

/** keeper_save() - Write the record; on a full disk the old one stays */
void keeper_save(struct keeper *k);

/** keeper_tell() - Write an event of the VM itself: "ready" and so on */
void keeper_tell(struct keeper *k, const char *kind);

/** keeper_tell_guest() - One that the guest, or its network, tells of */
void keeper_tell_guest(struct keeper *k, struct eventlog *l,
		       const struct hutch_vm_event *ev);

/* ---- monitor.c ---- */

/** monitor_start() - Run hutch-vmm. Return: 0 or -errno with a sentence */
MUST_CHECK int monitor_start(struct keeper *k, struct err *e);

/** monitor_kill() - SIGKILL, once */
void monitor_kill(struct keeper *k);

/**
 * monitor_verdict() - Why the VM has ended, from our cause and the status
 *
 * The monitor's own failure is told even if we were ending the VM, but how
 * the main process has ended is never overruled.
 */
struct cause monitor_verdict(struct keeper *k);

/* ---- net.c ---- */

void net_init(struct keeper_net *n);

/**
 * net_start() - Start the program that carries its frames, if it has one
 *
 * It serves later: k->net.begun.
 */
MUST_CHECK int net_start(struct keeper *k, struct err *e);

/** net_begun() - It serves, or there is none */
void net_begun(struct keeper *k);

/** net_not_begun() - It will never */
void net_not_begun(struct keeper *k, const struct err *e);

/** net_words() - For the monitor. Return: false if there is no network */
bool net_words(const struct keeper *k, char words[KEEPER_NET_WORDS]);

/** net_given() - The monitor has its end of the link: we keep none */
void net_given(struct keeper *k);

/** net_kill() - End the program, which then tells of itself by its end */
void net_kill(struct keeper *k);

/**
 * net_failed() - A sentence with what the program said last
 * @what:	"hutch-net ended before it had begun"
 */
int net_failed(struct keeper *k, int r, const char *what, struct err *e);

/** net_end() - The monitor has gone, and the program goes. Takes none, too */
void net_end(struct keeper *k);

/* ---- netrun.c ---- */

/** net_run() - Run the program that the plan names. Return: 0 or -errno */
MUST_CHECK int net_run(struct keeper *k);

/* ---- netctl.c ---- */

/**
 * netctl_start() - Give hutch-net its policy; it has begun once it has taken it
 *
 * Return: 0 or -errno
 */
MUST_CHECK int netctl_start(struct keeper *k, struct err *e);

/** netctl_drain() - Take in what it has said, now that it has ended */
void netctl_drain(struct keeper *k);

/**
 * netctl_ask() - Send it a request
 * @who:	May have one under way
 *
 * Return: 0; -EOPNOTSUPP: this network has no policy; -EPIPE: it has ended;
 *         -EBUSY: it is at another request; -EAGAIN: it has not begun
 */
MUST_CHECK int netctl_ask(struct keeper *k, enum net_asker who,
			  const char *message, size_t len);

/** netctl_fits() - Whether the guest is ready for such a policy */
bool netctl_fits(const struct keeper *k, const char *policy);

/** netctl_end() - It has ended, or shall: who waits is told. Takes none, too */
void netctl_end(struct keeper *k);

/* ---- netresolv.c ---- */

/** netresolv_start() - Watch the host's resolvers, and tell hutch-net of them */
void netresolv_start(struct keeper *k);

/** netresolv_tell() - If there is something to tell, and it can be told now */
void netresolv_tell(struct keeper *k);

/* ---- handler.c ---- */

/**
 * handler_shares() - Note what the guest may write to
 *
 * Context: before the monitor has it.
 *
 * Return: 0 or -errno
 */
MUST_CHECK int handler_shares(struct keeper *k);

/**
 * handler_check() - Refuse a policy that has a handler where the guest may write
 *
 * For a sentence in time: handler_connect() makes sure.
 *
 * Return: 0; -EINVAL with a sentence
 */
MUST_CHECK int handler_check(const struct keeper_net *n, const char *policy,
			     struct err *e);

/** handler_allow() - This policy is in force, of whose handlers; NULL: none */
void handler_allow(struct keeper_net *n, const char *policy);

/**
 * handler_connect() - hutch-net asks for a connection to a handler
 * @id:		Of its question: it is in the answer
 *
 * Context: the loop, which does not wait for it.
 */
void handler_connect(struct keeper *k, const char *path, long long id);

/* ---- guest.c ---- */

/**
 * guest_open() - Connect for EVENTS, and to start the main process
 *
 * The monitor holds connections until the guest is up.
 */
MUST_CHECK int guest_open(struct keeper *k, struct err *e);

/** guest_shutdown() - Ask for a power-off. Return: 0 or -errno: cannot */
MUST_CHECK int guest_shutdown(struct keeper *k, int grace_ms);

/**
 * guest_boot_failed() - The guest lacks what was asked for: it is ended
 * @text:	The agent's sentence
 */
void guest_boot_failed(struct keeper *k, const char *text);

/** guest_drain() - Take in what came before the monitor died */
void guest_drain(struct keeper *k);

void guest_close(struct keeper *k);

/**
 * guest_conn_open() - Connect and send a request; @g->fn is set
 *
 * Return: 0; -EAGAIN if the monitor takes no connections; or -errno
 */
MUST_CHECK int guest_conn_open(struct keeper *k, struct guest_conn *g,
			       const void *req, size_t len);

/** guest_conn_drain() - Take in all that has come, when the peer is gone */
void guest_conn_drain(struct guest_conn *g);

void guest_conn_close(struct guest_conn *g);

/* ---- mainproc.c ---- */

/** mainproc_open() - Start the main process, if it is ours to start */
MUST_CHECK int mainproc_open(struct keeper *k, struct err *e);

/** mainproc_awaited() - Whether our request to start it has no answer yet */
bool mainproc_awaited(const struct keeper *k);

/** mainproc_started() - There is one: have its output in the log */
void mainproc_started(struct keeper *k, const char *id);

/** mainproc_ended() - It has ended; only the first time counts */
void mainproc_ended(struct keeper *k, enum wire_how how, uint32_t flags,
		    uint32_t value);

/** mainproc_gone() - The agent will tell no more: what we have seen counts */
void mainproc_gone(struct keeper *k);

/* ---- idle.c ---- */

/** idle_ready() - The guest is up: the clock starts */
void idle_ready(struct keeper *k);

/** idle_note() - What the agent says: WIRE_BUSY_* */
void idle_note(struct keeper *k, unsigned int value);

/** idle_lost() - It will say no more: the clock runs out, if it is not set */
void idle_lost(struct keeper *k);

/* ---- forward.c ---- */

/** forwards_start() - Listen at the ports that the record has; it gets those
 *  that were free. Return: 0 or -errno with a sentence
 */
MUST_CHECK int forwards_start(struct keeper *k, struct err *e);

/** forward_add() - As hutch_forward_add(). Return: 0 or -errno, a sentence */
MUST_CHECK int forward_add(struct keeper *k, const struct hutch_forward *f,
			   unsigned int *ret_port, struct err *e);

/** forward_remove() - As hutch_forward_remove() */
MUST_CHECK int forward_remove(struct keeper *k, const struct hutch_forward *f,
			      struct err *e);

/** forwards_close() - All of them, and all connections; the record stays */
void forwards_close(struct keeper *k);

/* ---- serve.c ---- */

/** serve_start() - Answer on keeper.sock. Return: 0 or -errno */
MUST_CHECK int serve_start(struct keeper *k, struct err *e);

/** serve_ready() - Answer those who wait for ready */
void serve_ready(struct keeper *k);

/** serve_exit() - Answer all who wait; the record is final */
void serve_exit(struct keeper *k);

/**
 * serve_net() - Answer who has asked the network
 * @code:	0 or -errno
 * @text:	JSON; of an error its sentence
 */
void serve_net(struct keeper *k, int code, const char *text);

void serve_close(struct keeper *k);

#endif
