/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/wire.h - the protocol between a host client and the guest's agent
 *
 * docs/protocol.md is the document; this is its C, and wire_proc.h, wire_port.h
 * and wire_file.h that of the requests about processes, ports and files.  Both
 * ends parse with it, and each treats what comes from the other as hostile.
 *
 * A connection carries frames: struct wire_hdr, then the payload.  The client
 * sends HELLO and one request without waiting; the agent answers HELLO and
 * then whatever the request calls for.
 *
 * Each message has a host-order struct msg_x; wire_x_parse() fills it from a
 * payload, wire_x_put() appends the whole frame, header too, to a writer.
 * Parsed strings point into the payload and live as long as it does.  All
 * parsers return 0, or -EBADMSG with a sentence, and then leave *@ret
 * undefined, with nothing to free.
 */
#ifndef HUTCH_COMMON_WIRE_H
#define HUTCH_COMMON_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/le.h"
#include "common/wire_net.h"
#include "common/wr.h"

#define WIRE_MAGIC      0x48435448u /* "HTCH" */
#define WIRE_VERSION    1u
#define WIRE_PORT_AGENT 1000u /* the agent listens here, in the guest */
#define WIRE_PORT_BELL  1001u /* the guest rings here, on the host */
#define WIRE_CID_HOST   2u

/* Limits.  Whoever breaks one gets an ERROR frame and is closed. */
#define WIRE_DATA_MAX     65536u     /* bytes in one STDIN, STDOUT or STDERR */
#define WIRE_MSG_MAX      (2u << 20) /* payload of any frame */
#define WIRE_ARGC_MAX     32768u
#define WIRE_ENVC_MAX     32768u
#define WIRE_MOUNTS_MAX   64u
#define WIRE_ID_MAX       63u /* as words_name_ok() has it */
#define WIRE_USER_MAX     255u
#define WIRE_PATH_MAX     4095u
#define WIRE_HOSTNAME_MAX 64u
#define WIRE_SENTENCE_MAX 1023u
#define WIRE_ERRNO_MAX    4095u
#define WIRE_SIGNAL_MAX   64u
#define WIRE_GRACE_MAX_MS 86400000u
#define WIRE_RING_MIN     4096u /* output kept of a stream, bytes */
#define WIRE_RING_MAX     (64u << 20)
#define WIRE_RING_DEFAULT (1u << 20)
#define WIRE_MEMORY_MIN   (1ull << 20) /* a memory limit, bytes */
#define WIRE_WEIGHT_MAX   10000u
#define WIRE_WEIGHT       100u /* what 0 means */

/* With KEEP_HEAD, the latest bytes that are kept besides the first ones. */
#define WIRE_RING_TAIL (64u << 10)

/*
 * A client may have sent at most this many bytes of STDIN more than the
 * latest STDIN_ACK says were consumed; so a program that does not read never
 * holds up the SIGNAL or RESIZE that comes after.
 */
#define WIRE_STDIN_WINDOW (256u << 10)

enum wire_type {
	WIRE_HELLO = 0x01, /* both ways, first */

	/* Requests, one a connection. */
	WIRE_EXEC = 0x10,
	WIRE_EVENTS = 0x11, /* no payload; EVENT frames follow as they happen */
	WIRE_SHUTDOWN = 0x12, /* DONE, then the VM powers off */
	WIRE_CLOCK = 0x13,    /* DONE */
	WIRE_STAT = 0x14,     /* no payload; STAT_ANSWER */
	WIRE_ATTACH = 0x15,   /* this and the next four: wire_proc.h */
	WIRE_LIST = 0x16,
	WIRE_KILL = 0x17,
	WIRE_DROP = 0x18,
	WIRE_WAIT_PORT = 0x19,
	WIRE_CONNECT = 0x1a, /* this and the next: wire_port.h */
	WIRE_PORTS = 0x1b,   /* no payload; PORT frames, DONE */

	/* Client to agent after EXEC and ATTACH. */
	WIRE_STDIN = 0x20,       /* payload: 1 to WIRE_DATA_MAX bytes */
	WIRE_STDIN_CLOSE = 0x21, /* no payload */
	WIRE_SIGNAL = 0x22,
	WIRE_RESIZE = 0x23,
	WIRE_CLOSE_STDOUT = 0x24, /* no payload: close it, so SIGPIPE */
	WIRE_CLOSE_STDERR = 0x25, /* no payload */

	/* One more request, and what follows it either way: wire_file.h. */
	WIRE_FILE = 0x30,
	WIRE_FILE_ENTRY = 0x31,
	WIRE_FILE_DATA = 0x32,
	WIRE_FILE_XATTR = 0x33,
	WIRE_FILE_END = 0x34,
	WIRE_FILE_UP = 0x35,     /* no payload: out of the folder */
	WIRE_FILE_COMMIT = 0x36, /* no payload: that was all of it */

	/* Agent to client. */
	WIRE_STARTED = 0x40,
	WIRE_STDOUT = 0x41, /* also what a PTY or COMBINED exec writes */
	WIRE_STDERR = 0x42,
	WIRE_EXIT = 0x43,  /* the last frame; the agent then closes */
	WIRE_ERROR = 0x44, /* the last frame; the agent then closes */
	WIRE_EVENT = 0x45,
	WIRE_DONE = 0x46, /* no payload */
	WIRE_STAT_ANSWER = 0x47,
	WIRE_STDIN_ACK = 0x48,
	WIRE_TRUNCATED = 0x49, /* wire_proc.h */
	WIRE_PROCESS = 0x4a,
	WIRE_FILE_NOTE = 0x4b, /* wire_file.h, as the next */
	WIRE_FILE_EVENT = 0x4c,
	WIRE_PORT = 0x4d, /* wire_port.h */

	/* The file /.hutch/boot is one frame of this type. */
	WIRE_BOOT = 0x60
};

/** struct wire_hdr - In front of each payload; @reserved must be 0 */
struct wire_hdr {
	le32 len;
	le16 type;
	le16 reserved;
};
_Static_assert(sizeof(struct wire_hdr) == 8, "wire layout is ABI");

#define WIRE_HDR_LEN sizeof(struct wire_hdr)

/* Header, cursor and time of a STDOUT or STDERR frame. */
#define WIRE_OUTPUT_HEAD (WIRE_HDR_LEN + 16)

/** struct wire_hello - HELLO; @reserved must be 0, features announce */
struct wire_hello {
	le32 magic;
	le16 version;
	le16 reserved;
	le64 features;
};
_Static_assert(sizeof(struct wire_hello) == 16, "wire layout is ABI");

/**
 * struct msg_hello - HELLO
 * @version:	Of the sender; a receiver that has another one refuses
 * @features:	What the sender can do beyond version 1; bits that the
 *		receiver does not know are ignored.  None is defined yet.
 */
struct msg_hello {
	uint16_t version;
	uint64_t features;
};

/* EXEC flags. */
#define WIRE_EXEC_PTY         0x01u /* stdin, stdout, stderr are a terminal */
#define WIRE_EXEC_STDIN       0x02u /* STDIN will come; else end of file */
#define WIRE_EXEC_STDOUT_NULL 0x04u
#define WIRE_EXEC_STDERR_NULL 0x08u
#define WIRE_EXEC_COMBINED    0x10u  /* stderr goes where stdout goes */
#define WIRE_EXEC_MAIN        0x20u  /* its end is the event MAIN_ENDED */
#define WIRE_EXEC_ENV_CLEAR   0x40u  /* only what it says, PATH, HOME, TERM */
#define WIRE_EXEC_DETACH      0x80u  /* STARTED is the last frame */
#define WIRE_EXEC_KEEP_HEAD   0x100u /* of what overflows keep the start */
#define WIRE_EXEC_FLAGS       0x1ffu

/**
 * struct wire_exec - Fixed part of EXEC
 *
 * Followed by strings: id, user, cwd, argv[@argc], env[@envc].
 */
struct wire_exec {
	le32 flags;
	le32 grace_ms;
	le64 timeout_ms;
	le16 cols;
	le16 rows;
	le32 argc;
	le32 envc;
	le32 reserved;
	le32 ring;
	le32 pids;
	le64 memory;
	le32 cpu_weight;
	le32 reserved2;
};
_Static_assert(sizeof(struct wire_exec) == 56, "wire layout is ABI");

/**
 * struct msg_exec - EXEC
 * @flags:	WIRE_EXEC_*
 * @grace_ms:	From the time-out's SIGTERM to its SIGKILL; 0: at once SIGKILL
 * @timeout_ms:	0 for never
 * @cols:	Terminal size, 0 for 80 by 24; 0 without PTY
 * @rows:	Likewise
 * @argc:	1 to WIRE_ARGC_MAX
 * @envc:	0 to WIRE_ENVC_MAX
 * @ring:	Bytes kept of each stream; 0 for WIRE_RING_DEFAULT
 * @pids:	Processes and threads at a time; 0 for no limit
 * @memory:	Bytes; 0 for no limit
 * @cpu_weight:	1 to WIRE_WEIGHT_MAX; 0 for WIRE_WEIGHT
 * @id:		A name as words_name_ok() has it; "" and the agent makes one
 * @user:	"uid", "uid:gid", "name", "name:group"; "" for the sandbox's
 * @cwd:	Absolute; "" for the sandbox's
 * @argv:	@argc strings and a NULL
 * @env:	@envc strings "KEY=VALUE" and a NULL
 *
 * Parsed, @argv and @env are one allocation that wire_exec_done() frees.
 */
struct msg_exec {
	uint32_t flags;
	uint32_t grace_ms;
	uint64_t timeout_ms;
	uint16_t cols;
	uint16_t rows;
	uint32_t argc;
	uint32_t envc;
	uint32_t ring;
	uint32_t pids;
	uint64_t memory;
	uint32_t cpu_weight;
	const char *id;
	const char *user;
	const char *cwd;
	const char **argv;
	const char **env;
};

/** struct msg_shutdown - SHUTDOWN: le32 grace_ms, le32 reserved */
struct msg_shutdown {
	uint32_t grace_ms;
};

/** struct msg_clock - CLOCK: le64 nanoseconds since 1970, not 0 */
struct msg_clock {
	uint64_t ns;
};

enum wire_scope {
	WIRE_SCOPE_ONE = 1, /* the process itself */
	WIRE_SCOPE_TREE = 2 /* and all that it started */
};

/** struct msg_signal - SIGNAL: le32 signo, le16 scope, le16 reserved */
struct msg_signal {
	uint32_t signo;
	enum wire_scope scope;
};

/** struct msg_resize - RESIZE: le16 cols, le16 rows, neither 0 */
struct msg_resize {
	uint16_t cols;
	uint16_t rows;
};

/**
 * struct msg_started - STARTED: le32 pid, le32 reserved, le64 start, string id
 * @start_ns:	Since 1970, as all times of the agent; by the guest's clock
 */
struct msg_started {
	uint32_t pid;
	uint64_t start_ns;
	const char *id;
};

/**
 * struct msg_output - STDOUT, STDERR: le64 cursor, le64 time, then the bytes
 * @cursor:	Bytes of this stream before this frame's
 * @time_ns:	When the agent read them
 * @len:	1 to WIRE_DATA_MAX
 */
struct msg_output {
	uint64_t cursor;
	uint64_t time_ns;
	const void *data;
	size_t len;
};

enum wire_how {
	WIRE_HOW_EXITED = 1,   /* value is the exit code */
	WIRE_HOW_SIGNALLED = 2 /* value is the signal */
};

enum wire_state {
	WIRE_STATE_LINGERING = 1, /* it ended, what it started goes on */
	WIRE_STATE_EXITED = 2     /* nothing of it is left */
};

#define WIRE_EXIT_TIMED_OUT 0x1u
#define WIRE_EXIT_OOM       0x2u
#define WIRE_EXIT_CORE      0x4u
#define WIRE_EXIT_FLAGS     0x7u

/** struct wire_exit - EXIT; @reserved must be 0 */
struct wire_exit {
	le16 how;
	le16 state;
	le32 flags;
	le32 value;
	le32 reserved;
	le64 stdout_total;
	le64 stderr_total;
	le64 stdout_cut;
	le64 stderr_cut;
	le64 end_ns;
};
_Static_assert(sizeof(struct wire_exit) == 56, "wire layout is ABI");

/**
 * struct msg_exit - EXIT
 * @value:	Exit code 0 to 255, or signal 1 to 64
 * @stdout_total:	Bytes that the process wrote there, for a check
 * @stdout_cut:	Of these, bytes that ATTACH can no longer have
 * @end_ns:	When the process ended
 */
struct msg_exit {
	enum wire_how how;
	enum wire_state state;
	uint32_t flags;
	uint32_t value;
	uint64_t stdout_total;
	uint64_t stderr_total;
	uint64_t stdout_cut;
	uint64_t stderr_cut;
	uint64_t end_ns;
};

enum wire_error_kind {
	WIRE_ERR_GENERAL = 1,        /* CLI: 125 */
	WIRE_ERR_NOT_FOUND = 2,      /* no such program; CLI: 127 */
	WIRE_ERR_NOT_EXECUTABLE = 3, /* CLI: 126 */
	WIRE_ERR_BAD_REQUEST = 4,    /* the client's mistake */
	WIRE_ERR_LIMIT = 5,          /* a table is full; try again later */
	WIRE_ERR_NO_PROCESS = 6,     /* no process of that id */
	WIRE_ERR_BOOT = 7            /* the guest is not what was asked for */
};

/** struct msg_error - ERROR: le32 errno, le16 kind, le16 reserved, string */
struct msg_error {
	uint32_t code;
	enum wire_error_kind kind;
	const char *sentence;
};

enum wire_event_what {
	WIRE_EVENT_MAIN_ENDED = 1,   /* and its foreground client has gone */
	WIRE_EVENT_BOOT_PROBLEM = 2, /* a boot step failed; text says which */
	WIRE_EVENT_PROCESS_STARTED = 3,
	WIRE_EVENT_PROCESS_EXITED = 4,
	WIRE_EVENT_OOM = 5, /* id, or "" if it is not known whose it was */
	WIRE_EVENT_BUSY = 6,
	WIRE_EVENT_BOOT_FAILED = 7 /* nothing will run here; text says why */
};

/* Value of BUSY. */
#define WIRE_BUSY_CLIENT  0x1u /* one is attached, by EXEC or ATTACH */
#define WIRE_BUSY_PROCESS 0x2u /* one runs */
#define WIRE_BUSY_MAX     0x3u

/* Text of PROCESS_STARTED: argv[0], cut at so many bytes. */
#define WIRE_EVENT_ARG_MAX 255u

/** struct wire_event - Fixed part of EVENT; then strings id, text */
struct wire_event {
	le16 what;
	le16 how;
	le32 flags;
	le32 value;
	le32 reserved;
	le64 time_ns;
};
_Static_assert(sizeof(struct wire_event) == 24, "wire layout is ABI");

/**
 * struct msg_event - EVENT
 * @how:	Of MAIN_ENDED and PROCESS_EXITED, as in EXIT; else 0
 * @flags:	Likewise; of PROCESS_STARTED WIRE_PROC_MAIN and _PTY
 * @value:	Likewise; of PROCESS_STARTED the pid; of BUSY WIRE_BUSY_*
 * @time_ns:	When it happened
 * @id:		Process, or ""
 * @text:	Sentence, or "", or a program's name
 *
 * What has happened before the EVENTS request is told at once.
 */
struct msg_event {
	enum wire_event_what what;
	enum wire_how how;
	uint32_t flags;
	uint32_t value;
	uint64_t time_ns;
	const char *id;
	const char *text;
};

/** struct wire_stat - STAT_ANSWER */
struct wire_stat {
	le64 uptime_ns;
	le64 mem_total;
	le64 mem_available;
	le64 started;
	le32 running;
	le32 lingering;
	le32 exited;
	le32 connections;
};
_Static_assert(sizeof(struct wire_stat) == 48, "wire layout is ABI");

/**
 * struct msg_stat - STAT_ANSWER
 * @mem_total:	Bytes
 * @started:	Processes started since boot
 * @exited:	Ended ones that the table still holds
 * @connections:	Open to the agent, this one too
 */
struct msg_stat {
	uint64_t uptime_ns;
	uint64_t mem_total;
	uint64_t mem_available;
	uint64_t started;
	uint32_t running;
	uint32_t lingering;
	uint32_t exited;
	uint32_t connections;
};

#define WIRE_ACK_CLOSED 0x1u /* nobody can read it any more: send no more */
#define WIRE_ACK_FLAGS  0x1u

/**
 * struct msg_stdin_ack - STDIN_ACK: le64 consumed, le32 flags, le32 reserved
 * @consumed:	Bytes of STDIN, from the first, that the window has back
 */
struct msg_stdin_ack {
	uint64_t consumed;
	uint32_t flags;
};

#define WIRE_MOUNT_RDONLY 0x1u
#define WIRE_MOUNT_NOSUID 0x2u
#define WIRE_MOUNT_NODEV  0x4u
#define WIRE_MOUNT_NOEXEC 0x8u
#define WIRE_MOUNT_FILE   0x10u /* of its root WIRE_MOUNT_ENTRY alone */
#define WIRE_MOUNT_DISK   0x20u /* the folder @source of the overlay's disk */
#define WIRE_MOUNT_LOCKS  0x40u /* locks of its files are the host's */
#define WIRE_MOUNT_FLAGS  0x7fu

/* The one file in the root of what is mounted with WIRE_MOUNT_FILE. */
#define WIRE_MOUNT_ENTRY "file"

/** struct msg_mount - Of BOOT: le32 flags, strings type source target options */
struct msg_mount {
	uint32_t flags;
	const char *type;
	const char *source;
	const char *target;
	const char *options;
};

enum wire_root {
	WIRE_ROOT_BUILTIN = 1, /* what the initramfs has in /.hutch/root */
	WIRE_ROOT_OVERLAY = 2  /* a layer to write over one to read */
};

#define WIRE_BOOT_MAKE_CWD 0x1u /* the working folder, if it is not there */
#define WIRE_BOOT_NET      0x2u /* there is a network */
#define WIRE_BOOT_FLAGS    0x3u

#define WIRE_TAG_MAX 36u /* of a virtiofs (virtio 1.2, 5.11.4) */

/**
 * struct wire_boot - Fixed part of BOOT
 *
 * Followed by strings hostname, cwd, user, lower, upper, env[@envc], and
 * @n_mounts mounts; with WIRE_BOOT_NET what wire_net.h has.
 */
struct wire_boot {
	le32 flags;
	le16 root;
	le16 stop_signal;
	le64 clock_ns;
	le32 envc;
	le32 n_mounts;
};
_Static_assert(sizeof(struct wire_boot) == 24, "wire layout is ABI");

/**
 * struct msg_boot - BOOT
 * @flags:	WIRE_BOOT_*
 * @root:	Where the root comes from
 * @stop_signal: Asks the main process to end, 1 to 64; 0: SIGTERM
 * @clock_ns:	Set the clock to this; 0 leaves it as it is
 * @hostname:	"" for "hutch"
 * @cwd:	Of processes that do not say; "" for "/"
 * @user:	Of processes that do not say; "" for root
 * @lower:	Of an overlay, tag of the virtiofs that is read; else ""
 * @upper:	Likewise, of the one that is written; "" for memory
 * @env:	Of all processes, @envc strings and a NULL
 * @net:	With WIRE_BOOT_NET
 *
 * Parsed, @env and @mounts are one allocation that wire_boot_done() frees.
 */
struct msg_boot {
	uint32_t flags;
	enum wire_root root;
	unsigned int stop_signal;
	uint64_t clock_ns;
	uint32_t envc;
	uint32_t n_mounts;
	const char *hostname;
	const char *cwd;
	const char *user;
	const char *lower;
	const char *upper;
	const char **env;
	struct msg_mount *mounts;
	struct msg_net net;
};

MUST_CHECK int wire_hello_parse(const void *p, size_t len,
				struct msg_hello *ret, struct err *e);
MUST_CHECK int wire_exec_parse(const void *p, size_t len, struct msg_exec *ret,
			       struct err *e);
MUST_CHECK int wire_shutdown_parse(const void *p, size_t len,
				   struct msg_shutdown *ret, struct err *e);
MUST_CHECK int wire_clock_parse(const void *p, size_t len,
				struct msg_clock *ret, struct err *e);
MUST_CHECK int wire_signal_parse(const void *p, size_t len,
				 struct msg_signal *ret, struct err *e);
MUST_CHECK int wire_resize_parse(const void *p, size_t len,
				 struct msg_resize *ret, struct err *e);
MUST_CHECK int wire_started_parse(const void *p, size_t len,
				  struct msg_started *ret, struct err *e);
MUST_CHECK int wire_output_parse(const void *p, size_t len,
				 struct msg_output *ret, struct err *e);
MUST_CHECK int wire_exit_parse(const void *p, size_t len, struct msg_exit *ret,
			       struct err *e);
MUST_CHECK int wire_error_parse(const void *p, size_t len,
				struct msg_error *ret, struct err *e);
MUST_CHECK int wire_event_parse(const void *p, size_t len,
				struct msg_event *ret, struct err *e);
MUST_CHECK int wire_stat_parse(const void *p, size_t len, struct msg_stat *ret,
			       struct err *e);
MUST_CHECK int wire_stdin_ack_parse(const void *p, size_t len,
				    struct msg_stdin_ack *ret, struct err *e);
MUST_CHECK int wire_boot_parse(const void *p, size_t len, struct msg_boot *ret,
			       struct err *e);

/* Free what parsing allocated; zeroed and already freed ones are fine. */
void wire_exec_done(struct msg_exec *m);
void wire_boot_done(struct msg_boot *m);

/*
 * Append a frame.  Ask wr_end() whether it fitted.  They check nothing: what
 * they are given is ours, and the receiver checks everything.
 */
void wire_hello_put(struct wr *wr, const struct msg_hello *m);
void wire_exec_put(struct wr *wr, const struct msg_exec *m);
void wire_shutdown_put(struct wr *wr, const struct msg_shutdown *m);
void wire_clock_put(struct wr *wr, const struct msg_clock *m);
void wire_signal_put(struct wr *wr, const struct msg_signal *m);
void wire_resize_put(struct wr *wr, const struct msg_resize *m);
void wire_started_put(struct wr *wr, const struct msg_started *m);
void wire_exit_put(struct wr *wr, const struct msg_exit *m);
void wire_error_put(struct wr *wr, const struct msg_error *m);
void wire_event_put(struct wr *wr, const struct msg_event *m);
void wire_stat_put(struct wr *wr, const struct msg_stat *m);
void wire_stdin_ack_put(struct wr *wr, const struct msg_stdin_ack *m);
void wire_boot_put(struct wr *wr, const struct msg_boot *m);

/** wire_empty_put() - A frame with no payload: EVENTS, DONE, STDIN_CLOSE... */
void wire_empty_put(struct wr *wr, enum wire_type type);

/** wire_stdin_put() - A STDIN frame; @len 1 to WIRE_DATA_MAX */
void wire_stdin_put(struct wr *wr, const void *data, size_t len);

/** wire_output_put() - A STDOUT or STDERR frame */
void wire_output_put(struct wr *wr, enum wire_type type,
		     const struct msg_output *m);

/**
 * wire_output_head_put() - Header, cursor and time of a STDOUT or STDERR frame
 * @len:	Of the data that follows
 */
void wire_output_head_put(struct wr *wr, enum wire_type type, uint64_t cursor,
			  uint64_t time_ns, size_t len);

/**
 * wire_head_put() - Only a header, for data that is sent from where it lies
 * @len:	Of the payload that follows
 */
void wire_head_put(struct wr *wr, enum wire_type type, size_t len);

/** wire_exec_size() - Bytes of the frame that wire_exec_put() would make */
size_t wire_exec_size(const struct msg_exec *m);

/** wire_boot_size() - Bytes of the frame that wire_boot_put() would make */
size_t wire_boot_size(const struct msg_boot *m);

/** wire_type_name() - "EXEC", for sentences; "?" if there is no such type */
const char *wire_type_name(unsigned int type);

/** enum wire_side - Who sent what a reader reads */
enum wire_side {
	WIRE_FROM_CLIENT,
	WIRE_FROM_AGENT,
	WIRE_FROM_FILE /* the boot message */
};

/**
 * struct wire_frame - A whole frame
 * @type:	One that this side may send
 * @len:	Within the limits of its type
 * @data:	Borrowed from the reader until the next call on it
 */
struct wire_frame {
	enum wire_type type;
	size_t len;
	const uint8_t *data;
};

/**
 * struct wire_reader - Cuts a stream into frames; fields are its own
 * @from:	Who sends; other side's types are refused
 * @buf:	@size bytes; given back when the stream runs dry
 * @head:	Index in @buf of the first byte not handed out
 * @len:	Bytes from there on
 * @used:	Bytes of the frame handed out last, still at @head
 *
 * Never holds more than one frame of the largest size and a read-ahead of
 * a little read-ahead; grows as bytes arrive, not as a header promises.
 */
struct wire_reader {
	enum wire_side from;
	uint8_t *buf;
	size_t size;
	size_t head;
	size_t len;
	size_t used;
};

/** wire_reader_init() - Allocates nothing */
void wire_reader_init(struct wire_reader *r, enum wire_side from);

/** wire_reader_done() - Free the buffer; may be called twice */
void wire_reader_done(struct wire_reader *r);

/**
 * wire_reader_fill() - Read once from @fd into the buffer
 *
 * Call it when wire_reader_next() has returned 0.  Frames handed out before
 * are gone.
 *
 * Return: bytes read; 0 at the end of the stream; -EAGAIN; -ENOMEM; -errno
 */
MUST_CHECK ssize_t wire_reader_fill(struct wire_reader *r, int fd);

/**
 * wire_reader_push() - Take in bytes that are in memory already
 *
 * Return: bytes taken, fewer than @len if the buffer is full; -ENOMEM
 */
MUST_CHECK ssize_t wire_reader_push(struct wire_reader *r, const void *src,
				    size_t len);

/**
 * wire_reader_next() - The next whole frame
 *
 * Return: 1 with *@ret set; 0 if more bytes are needed; -EBADMSG with a
 *         sentence, for ever after: the stream cannot be trusted again
 */
MUST_CHECK int wire_reader_next(struct wire_reader *r, struct wire_frame *ret,
				struct err *e);

/** wire_reader_partial() - Whether a frame has begun and not ended */
bool wire_reader_partial(const struct wire_reader *r);

/**
 * wire_reader_rest() - What has been read behind the frame handed out last
 * @ret:	Borrowed until the next call on @r; untouched if there is none
 *
 * Return: bytes
 */
size_t wire_reader_rest(const struct wire_reader *r, const void **ret);

#endif
