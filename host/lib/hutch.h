/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hutch.h - run commands in Linux microVMs of their own
 *
 *	struct hutch *h;
 *	struct hutch_vm *vm;
 *	struct hutch_exec *x;
 *	struct hutch_exec_event ev;
 *	struct hutch_err e;
 *	const char *argv[] = { "uname", "-a", NULL };
 *	struct hutch_start_opts so = HUTCH_START_OPTS_INIT;
 *	struct hutch_exec_opts xo = HUTCH_EXEC_OPTS_INIT;
 *
 *	if (hutch_open(NULL, &h, &e) < 0)
 *		errx(1, "%s", e.msg);
 *	so.flags = HUTCH_START_LIFELINE | HUTCH_START_RM;
 *	if (hutch_start(h, &so, &vm, &e) < 0)
 *		errx(1, "%s", e.msg);
 *	xo.argv = argv;
 *	if (hutch_exec_open(h, hutch_vm_name(vm), &xo, &x, &e) < 0)
 *		errx(1, "%s", e.msg);
 *	while (hutch_exec_wait(x, &ev, -1, &e) > 0 &&
 *	       ev.kind != HUTCH_EXEC_EXIT && ev.kind != HUTCH_EXEC_ERROR)
 *		if (ev.kind == HUTCH_EXEC_STDOUT)
 *			fwrite(ev.data, 1, ev.len, stdout);
 *
 * Errors.  Functions that can fail return 0 (or a useful non-negative value)
 * or a negative errno, and leave one sentence for a person in the struct
 * hutch_err that is always the last parameter; it may be NULL.  On failure
 * the other outputs are untouched.  The library never prints, never exits,
 * never raises SIGPIPE, never touches signal handlers and keeps no global
 * state.
 *
 * Options.  Each struct of options begins with its size, so that it can grow
 * without breaking programs already compiled: start from its _INIT macro.  A
 * zero field means the default named beside it.  An unknown flag is -EINVAL.
 *
 * Strings are UTF-8 or plain bytes, terminated by a NUL.  Lists of strings
 * (argv, env) end in a NULL pointer.  What the library is given it copies.
 *
 * Threads.  A struct hutch may be used by several threads at once, for all
 * but hutch_close().  Every other object belongs to one thread at a time.
 * Unless a description says otherwise a function may block for as long as the
 * host's disk or one answer of a VM's keeper takes, which is at most
 * HUTCH_ANSWER_MS.
 *
 * What comes out of a VM (output, an exit status, a message) is the word of
 * whoever runs in it: treat it as untrusted input.
 */
#ifndef HUTCH_H
#define HUTCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HUTCH_API __attribute__((visibility("default")))

#define HUTCH_NAME_MAX        63  /* bytes of a VM's name */
#define HUTCH_ID_LEN          32  /* hexadecimal digits of a VM's id */
#define HUTCH_ERR_MAX         240 /* bytes of a sentence with its NUL */
#define HUTCH_CPUS_MAX        32
#define HUTCH_MEMORY_MIN      (64ull << 20) /* bytes */
#define HUTCH_ARGS_MAX        4096          /* strings in an argv or env */
#define HUTCH_ANSWER_MS       5000
#define HUTCH_GUEST_MS        30000 /* where a guest has to answer too */
#define HUTCH_PROC_MAX        63    /* bytes of a process's id */
#define HUTCH_LABELS_MAX      64    /* of a VM */
#define HUTCH_LABEL_KEY_MAX   63    /* bytes */
#define HUTCH_LABEL_VALUE_MAX 255   /* bytes */
#define HUTCH_MOUNTS_MAX      16    /* of a VM */
#define HUTCH_FORWARDS_MAX    64    /* of a VM */
#define HUTCH_ADDRESS_MAX     45    /* bytes of an IP address as text */
#define HUTCH_LINE_MAX        1024 /* bytes kept of a line that was waited for */

/** struct hutch - Where state lives and programs are; from hutch_open() */
struct hutch;

/** struct hutch_vm - A VM this process has started; from hutch_start() */
struct hutch_vm;

/** struct hutch_exec - A command under way in a VM; from hutch_exec_open() */
struct hutch_exec;

/** struct hutch_logs - A log being read; from hutch_logs_open() */
struct hutch_logs;

/** struct hutch_events - Events being read; from hutch_events_open() */
struct hutch_events;

/** struct hutch_fs - The files of a VM; from hutch_fs_open() */
struct hutch_fs;

/** struct hutch_record - What is on record about a VM; below */
struct hutch_record;

/**
 * struct hutch_err - What went wrong
 * @code:	Negative errno, as returned
 * @msg:	One sentence without a final full stop or newline, with what
 *		came from outside escaped, so that it can be printed as it is
 */
struct hutch_err {
	int code;
	char msg[HUTCH_ERR_MAX];
};

/* ---- The handle ------------------------------------------------------- */

/**
 * struct hutch_opts - How to open
 * @size:	sizeof(struct hutch_opts)
 * @state_dir:	Folder for all state; NULL: $HUTCH_STATE if set, else
 *		$XDG_RUNTIME_DIR/hutch and $XDG_STATE_HOME/hutch (or
 *		~/.local/state/hutch), for root /run/hutch and /var/lib/hutch
 * @libexec_dir: Folder of hutch-keeper, hutch-vmm, hutch-agent, hutch-image
 *		and builtin.cpio; NULL: $HUTCH_LIBEXEC if set, else found from
 *		where the running program is: <prefix>/libexec/hutch, or the
 *		build tree
 */
struct hutch_opts {
	size_t size;
	const char *state_dir;
	const char *libexec_dir;
};

/* clang-format off */
#define HUTCH_OPTS_INIT { sizeof(struct hutch_opts), NULL, NULL }
/* clang-format on */

/**
 * hutch_open() - Find the state folders, making them (mode 0700) if need be
 * @opts:	May be NULL
 *
 * Return: 0; -EINVAL for a relative folder or unknown home; -EACCES; -ENOSPC
 */
HUTCH_API int hutch_open(const struct hutch_opts *opts, struct hutch **ret,
			 struct hutch_err *e);

/** hutch_close() - Free the handle, not the VMs; takes NULL */
HUTCH_API void hutch_close(struct hutch *h);

enum hutch_path {
	HUTCH_PATH_RUN,   /* folder: lock and sockets of each VM */
	HUTCH_PATH_STATE, /* folder: record, logs and disk of each VM */
	HUTCH_PATH_DATA,  /* folder: kernels; may not exist */
	HUTCH_PATH_KEEPER,
	HUTCH_PATH_VMM,
	HUTCH_PATH_AGENT,
	HUTCH_PATH_ROOT,    /* the built-in root, a cpio archive */
	HUTCH_PATH_KERNEL,  /* $HUTCH_KERNEL or <data>/kernel/vmlinux */
	HUTCH_PATH_IMAGE,   /* hutch-image, which makes images */
	HUTCH_PATH_RECIPES, /* folder: what hutch_image_build() can build */
	HUTCH_PATH_BUILD,   /* the shell script by which it does */
	HUTCH_PATH_NET      /* hutch-net, a guest's network with a policy */
};

/**
 * hutch_path() - Where something is that this handle uses
 * @ret:	Absolute path, malloc()ed, the caller's to free(); set on
 *		-ENOENT too, to where it was last looked for
 *
 * Return: 0 if it is there; -ENOENT with a sentence that says what to do;
 *         -EINVAL for an unknown @what
 */
HUTCH_API int hutch_path(const struct hutch *h, enum hutch_path what,
			 char **ret, struct hutch_err *e);

/* ---- Start ------------------------------------------------------------ */

/*
 * HUTCH_START_RM	When the VM has ended remove its record, logs and disk
 * HUTCH_START_LIFELINE	The VM ends at once when this process does, however,
 *			or when hutch_vm_close() is called
 * HUTCH_START_ATTACH	The caller will itself start the main process, with
 *			HUTCH_EXEC_MAIN and the same argv; argv here is only
 *			for the record
 * HUTCH_START_KEEP_ALIVE_PROCESSES
 *			A process that runs, with nobody attached to it, keeps
 *			the idle time-out from running
 * HUTCH_START_STDIN	The main process's stdin stays open, until who attaches
 *			to it closes it; without, it reads /dev/null
 * HUTCH_START_DISK_RAM	With an image: what the VM writes is in its memory, and
 *			gone with it
 */
#define HUTCH_START_RM       (1u << 0)
#define HUTCH_START_LIFELINE (1u << 1)
#define HUTCH_START_ATTACH   (1u << 2)

#define HUTCH_START_KEEP_ALIVE_PROCESSES (1u << 3)

#define HUTCH_START_STDIN    (1u << 4)
#define HUTCH_START_DISK_RAM (1u << 5)

#define HUTCH_DISK_MIN     (1ull << 20)
#define HUTCH_DISK_DEFAULT (20ull << 30)

/** enum hutch_on_exit - What the end of the main process does to its VM */
enum hutch_on_exit {
	HUTCH_ON_EXIT_STOP = 0, /* it ends too */
	HUTCH_ON_EXIT_KEEP      /* it stays until it is stopped */
};

enum hutch_wait {
	HUTCH_WAIT_STARTED = 0, /* the monitor runs; the guest boots */
	HUTCH_WAIT_READY,       /* the guest's agent answers */
	HUTCH_WAIT_EXIT         /* the VM has ended and its record is final */
};

/*
 * HUTCH_MOUNT_RDONLY	Nothing in it changes, times of access included
 * HUTCH_MOUNT_VOLUME	The source is the name of a volume, which is made if it
 *			is not there; see hutch_volume_create()
 * HUTCH_MOUNT_LOCKS_HOST
 *			Locks of its files hold on the host, too, and in the other
 *			VMs that have this: each can keep the others waiting.
 *			Without it they hold in the VM alone
 * HUTCH_MOUNT_NOCOPY	An empty volume stays empty, whatever the image has there
 */
#define HUTCH_MOUNT_RDONLY (1u << 0)
#define HUTCH_MOUNT_VOLUME (1u << 1)

#define HUTCH_MOUNT_LOCKS_HOST (1u << 2)
#define HUTCH_MOUNT_NOCOPY     (1u << 3)

/**
 * enum hutch_dax - Which files a VM maps from the host's page cache
 *
 * The others it reads: it has copies of them in its own memory.  Guests that
 * map the same file can tell which of its pages another has used.  What is
 * mapped takes room in a window above the VM's memory, which costs it 64 bytes
 * for each page of 4 KiB, used or not.  Of a mapped file that is made shorter on
 * the host the VM sees zeros.
 */
enum hutch_dax {
	HUTCH_DAX_AUTO = 0, /* of an image, in a VM of HUTCH_DAX_MEMORY or more:
			     * as HUTCH_DAX_INODE; of all else none */
	HUTCH_DAX_NEVER,    /* none; there is no window */
	HUTCH_DAX_INODE,    /* regular files of 1 MiB and more */
	HUTCH_DAX_ALWAYS    /* all regular files */
};

#define HUTCH_DAX_MEMORY (512ull << 20)

/* Bytes of a window. */
#define HUTCH_WINDOW_MIN     (16ull << 20)
#define HUTCH_WINDOW_MAX     (1ull << 30)
#define HUTCH_WINDOW_STEP    (2ull << 20)
#define HUTCH_WINDOW_DEFAULT (64ull << 20)

/* The greatest of users and groups; one more is none. */
#define HUTCH_ID_MAX 4294967294u

/**
 * struct hutch_mount - A folder of the host, or a regular file, for a VM
 * @size:	sizeof(struct hutch_mount)
 * @source:	Path on the host, which must exist; or the name of a volume
 * @target:	Absolute path in the VM, made there if it is missing
 * @flags:	HUTCH_MOUNT_*
 * @dax:	Which of its files are mapped
 * @window:	For HUTCH_DAX_INODE and HUTCH_DAX_ALWAYS: its size in bytes, a
 *		multiple of HUTCH_WINDOW_STEP; 0: HUTCH_WINDOW_DEFAULT
 * @uid:	Of a folder of the host: whom in the VM its files seem to belong
 *		to, 0 to HUTCH_ID_MAX
 * @gid:	The same for their group
 *
 * The guest can do there what the user could who starts the VM.  Of a file that
 * is replaced by another, rather than written, the guest goes on to see the old
 * one.
 */
struct hutch_mount {
	size_t size;
	const char *source;
	const char *target;
	unsigned int flags;
	enum hutch_dax dax;
	uint64_t window;
	uint32_t uid;
	uint32_t gid;
};

/* clang-format off */
#define HUTCH_MOUNT_INIT { sizeof(struct hutch_mount), NULL, NULL, 0, \
			   HUTCH_DAX_AUTO, 0, 0, 0 }
/* clang-format on */

/**
 * struct hutch_forward - A TCP port of the host that leads to one of a VM
 * @size:	sizeof(struct hutch_forward)
 * @host:	IPv4 or IPv6 address to listen at; NULL: 127.0.0.1
 * @port:	Of the host; 0: one that is free
 * @guest_port:	1 to 65535
 *
 * The VM needs no network for it, and the server may listen on loopback only:
 * a connection goes to 127.0.0.1 in the VM, or if nobody listens there to ::1.
 * If nobody does, it is reset as soon as the VM has said so; before the VM is
 * ready it waits.  Whoever can connect to the port can talk to that server.
 */
struct hutch_forward {
	size_t size;
	const char *host;
	unsigned int port;
	unsigned int guest_port;
};

/* clang-format off */
#define HUTCH_FORWARD_INIT { sizeof(struct hutch_forward), NULL, 0, 0 }
/* clang-format on */

/** struct hutch_image - An image in use; from hutch_image_open() */
struct hutch_image;

/**
 * struct hutch_start_opts - A VM to be
 * @size:	sizeof(struct hutch_start_opts)
 * @name:	[a-z0-9][a-z0-9-]{0,62}; NULL: one is made up.  The name of a
 *		stopped VM may be used again: its record and logs go
 * @cpus:	1 to HUTCH_CPUS_MAX; 0: 1
 * @memory:	Bytes, from HUTCH_MEMORY_MIN; 0: 512 MiB
 * @hostname:	Of the guest; NULL: the name
 * @env:	"NAME=VALUE" for every process of the VM; NULL: none
 * @argv:	Main process: when it ends the VM does; NULL: none, the VM
 *		stays until it is stopped
 * @user:	Default user of processes: "name", "uid" or "uid:gid";
 *		NULL: root
 * @workdir:	Default working folder; NULL: /
 * @kernel:	ELF vmlinux or bzImage; NULL: see HUTCH_PATH_KERNEL
 * @timeout_ms:	The VM ends, as "timeout", after this long; 0: never.  With
 *		HUTCH_START_ATTACH it gets a minute more, so that the main
 *		process's own time-out, which the caller sets, comes first
 * @grace_ms:	How long processes get between SIGTERM and SIGKILL when the
 *		VM ends by itself; 0: 2000
 * @flags:	HUTCH_START_*
 * @wait:	HUTCH_WAIT_STARTED or HUTCH_WAIT_READY
 * @labels:	"KEY=VALUE", for the record only; at most HUTCH_LABELS_MAX.  A
 *		key is 1 to 63 of a-z, A-Z, 0-9, '.', '_', '/' and '-' and
 *		comes once, a value has at most 255 bytes; NULL: none
 * @idle_timeout_ms: The VM ends, as "idle-timeout", when for this long no
 *		client has asked anything of it and none was attached to a
 *		process; 0: never
 * @on_exit:	See enum hutch_on_exit
 * @mounts:	At most HUTCH_MOUNTS_MAX, for no target twice; NULL: none.  Ends
 *		in NULL
 * @image:	The root is the image's, under a disk of the VM's own, on which
 *		it writes; env, user and workdir come on top of the image's, and
 *		argv is the whole command (see hutch_image_command()).  May be
 *		closed afterwards.  NULL: the built-in root, in memory
 * @disk:	Bytes that may be on the disk, from HUTCH_DISK_MIN; 0: as it was
 *		before, or HUTCH_DISK_DEFAULT.  A file counts with its size, also
 *		where it is a hole
 * @net:	The network.  NULL or "none": a loopback interface and no other.
 *		"internet": public addresses, and nothing of the host or its
 *		networks.  "policy": what @net_policy allows.
 *		"passt": that of the host's user, by a passt(1) of its own.
 *		"tap=IF": a tap of the host, which is there already.  Behind
 *		it, each after a comma: mtu=N, rate=10M/1000p, search=DOMAIN,
 *		and of a tap address=A/N, gateway=A, route=A/N-A, dns=A, mac=A, all
 *		for the guest, which sets them up as it boots
 * @net_policy:	With "policy": JSON as in docs/network-policy.md, at most 64
 *		KiB.  The record keeps it as it is; in what it injects
 *		"${env:NAME}" stands for a variable of the caller's environment,
 *		which no file and no command line ever holds.  A header that
 *		carries a credential by its name (Authorization, X-Api-Key)
 *		must have one.  A rule {"intercept": HOST, "handler": PATH} has
 *		HTTP requests to HOST answered by whoever listens at the Unix
 *		socket PATH, absolute, of 107 bytes at most, and runs as the
 *		caller's user: the caller itself, for one.  It is connected to
 *		when there is a request, and need not listen before
 *
 * @forwards:	At most HUTCH_FORWARDS_MAX, none twice; NULL: none.  Ends in NULL
 * @image_dax:	Which files of the image are mapped
 * @image_window: As in struct hutch_mount
 * @stop_signal: What the main process, and it alone, is sent first when it is to
 *		end, as hutch_parse_signal() has it; NULL: as the image says, or
 *		SIGTERM, also to the processes that it has started
 *
 * The disk is kept when the VM has stopped, and the next start under its name
 * goes on with it.  That has to be with the same image (-EEXIST); hutch_rm()
 * removes the disk.
 */
struct hutch_start_opts {
	size_t size;
	const char *name;
	uint64_t memory;
	unsigned int cpus;
	unsigned int flags;
	const char *hostname;
	const char *const *env;
	const char *const *argv;
	const char *user;
	const char *workdir;
	const char *kernel;
	uint64_t timeout_ms;
	unsigned int grace_ms;
	enum hutch_wait wait;
	const char *const *labels;
	uint64_t idle_timeout_ms;
	enum hutch_on_exit on_exit;
	const struct hutch_mount *const *mounts;
	const struct hutch_image *image;
	uint64_t disk;
	const char *net;
	const char *net_policy;
	const struct hutch_forward *const *forwards;
	enum hutch_dax image_dax;
	uint64_t image_window;
	const char *stop_signal;
};

/* clang-format off */
#define HUTCH_START_OPTS_INIT                                             \
	{                                                                 \
		sizeof(struct hutch_start_opts), NULL, 0, 0, 0, NULL,     \
			NULL, NULL, NULL, NULL, NULL, 0, 0,               \
			HUTCH_WAIT_STARTED, NULL, 0, HUTCH_ON_EXIT_STOP,  \
			NULL, NULL, 0, NULL, NULL, NULL, HUTCH_DAX_AUTO,  \
			0, NULL                                           \
	}
/* clang-format on */

/**
 * hutch_start() - Start a VM
 * @ret:	Its handle; NULL may be given if the name is known and
 *		HUTCH_START_LIFELINE is not wanted
 *
 * Commands may be run in it at once: they wait until the guest is ready.
 *
 * Return: 0; -EEXIST if a VM of that name is alive, or has a disk that does not
 *         belong to @opts; -EINVAL for a bad option;
 *         -ENOENT if a program, the kernel or the root is missing; -ENOSPC;
 *         -EIO if a port cannot be had, and whatever else the keeper lacks;
 *         -ESRCH if it ended before it was ready, with the reason
 */
HUTCH_API int hutch_start(struct hutch *h, const struct hutch_start_opts *opts,
			  struct hutch_vm **ret, struct hutch_err *e);

/** hutch_vm_name() - The VM's name; lives as long as @vm */
HUTCH_API const char *hutch_vm_name(const struct hutch_vm *vm);

/** hutch_vm_id() - The id in its record; lives as long as @vm */
HUTCH_API const char *hutch_vm_id(const struct hutch_vm *vm);

/**
 * hutch_vm_wait() - Wait until this very VM has ended
 * @timeout_ms:	-1: for ever
 * @ret:	As for hutch_wait()
 *
 * Not that of another which was started under its name since: hutch_wait()
 * goes by the name.
 *
 * Return: 0; -ETIMEDOUT; -ENOENT if it has ended and nothing is left that says
 *         how
 */
HUTCH_API int hutch_vm_wait(struct hutch *h, struct hutch_vm *vm,
			    int timeout_ms, struct hutch_record **ret,
			    struct hutch_err *e);

/** hutch_vm_end() - With HUTCH_START_LIFELINE: the VM ends at once, and its
 *  end can still be waited for; without, nothing
 */
HUTCH_API void hutch_vm_end(struct hutch_vm *vm);

/**
 * hutch_vm_close() - Let go of the VM; takes NULL
 *
 * With HUTCH_START_LIFELINE the VM ends at once; wait for HUTCH_WAIT_EXIT
 * first if it is ending by itself.  Without, it lives on.
 */
HUTCH_API void hutch_vm_close(struct hutch_vm *vm);

/* ---- Records ---------------------------------------------------------- */

enum hutch_state {
	HUTCH_STATE_STARTING = 1, /* from the first moment to ready */
	HUTCH_STATE_RUNNING,
	HUTCH_STATE_STOPPING,
	HUTCH_STATE_STOPPED
};

enum hutch_reason {
	HUTCH_REASON_NONE = 0, /* alive */
	HUTCH_REASON_EXITED,   /* main process: exit_code */
	HUTCH_REASON_KILLED,   /* main process: signal */
	HUTCH_REASON_OOM,      /* main process, for want of memory: signal */
	HUTCH_REASON_GUEST_PANIC,
	HUTCH_REASON_GUEST_CRASH, /* triple fault and the like */
	HUTCH_REASON_TIMEOUT,
	HUTCH_REASON_STOPPED,    /* hutch_stop(), hutch_kill(), power-off,
				 * lifeline; text says which */
	HUTCH_REASON_VMM_CRASH,  /* the monitor: signal */
	HUTCH_REASON_HOST_ERROR, /* text says what */
	HUTCH_REASON_LOST,       /* nobody was left to see how it ended */
	HUTCH_REASON_IDLE        /* the idle time-out */
};

/** enum hutch_disk - Where a VM with an image writes */
enum hutch_disk {
	HUTCH_DISK_NONE = 0, /* it has no image, and writes in memory */
	HUTCH_DISK_RAM,      /* in its memory */
	HUTCH_DISK_KEPT      /* in its state, which is kept when it stops */
};

/**
 * struct hutch_record - What is on record about a VM
 * @id:		Differs for each start, also under one name
 * @exit_code:	Of the main process, or -1; with HUTCH_ON_EXIT_KEEP while the
 *		VM runs on, too
 * @signal:	That ended the main process or the monitor, or 0; likewise
 * @text:	More about @reason, or ""
 * @created_ns:	All times: nanoseconds since 1970, UTC; 0: has not happened
 * @started_ns:	The monitor was started
 * @keeper_pid:	0 once stopped, as @vmm_pid
 * @argv:	Main process; NULL if none.  Ends in NULL, as does @env.  In
 *		both, bytes that are not UTF-8 show as U+FFFD
 * @attach:	1: started with HUTCH_START_ATTACH
 * @user:	"" for root, as @workdir is "" for /
 * @rm:		1: goes away when it has ended, with its disk
 * @labels:	Sorted by key; NULL if none.  Ends in NULL
 * @on_exit:	enum hutch_on_exit
 * @keep_alive_processes: 1: started with HUTCH_START_KEEP_ALIVE_PROCESSES
 * @last_activity_ns: When a client last did something, a few seconds more or
 *		less; 0: none has
 * @log_lost:	Bytes of the main process's output that could not be written to
 *		the log, on a full disk and the like
 * @events_lost: Events that could not be written, likewise
 * @main_ended_ns: The main process ended, before anything began to end the VM;
 *		0: it has not.  So with @exit_code or @signal and 0 here the end
 *		of the VM was what ended it
 * @mounts:	Outer targets first, paths as they were found; NULL if none.
 *		Ends in NULL
 * @image:	Name of the image, or its id if it had none; "" for the built-in
 *		root
 * @image_id:	Of the image, or ""
 * @disk:	enum hutch_disk
 * @disk_bytes:	That may be on it; 0 unless it is kept
 * @net:	As in struct hutch_start_opts, or "" for none
 * @net_policy:	Likewise, or ""
 * @forwards:	Ports, by address and port, with the one that was free where 0
 *		was asked for; NULL if none.  Ends in NULL
 * @image_dax:	As in struct hutch_start_opts, as is @image_window
 * @stop_signal: Likewise, or ""
 *
 * Made by the library, which may add fields at the end.
 */
struct hutch_record {
	char name[HUTCH_NAME_MAX + 1];
	char id[HUTCH_ID_LEN + 1];
	enum hutch_state state;
	enum hutch_reason reason;
	int exit_code;
	int signal;
	const char *text;
	int64_t created_ns;
	int64_t started_ns;
	int64_t ready_ns;
	int64_t ended_ns;
	const char *boot_id;
	pid_t keeper_pid;
	pid_t vmm_pid;
	unsigned int cpus;
	int rm;
	uint64_t memory;
	const char *hostname;
	const char *kernel;
	const char *const *argv;
	const char *const *env;
	const char *user;
	const char *workdir;
	uint64_t timeout_ms;
	unsigned int grace_ms;
	int attach;
	const char *const *labels;
	uint64_t idle_timeout_ms;
	int on_exit;
	int keep_alive_processes;
	int64_t last_activity_ns;
	uint64_t log_lost;
	uint64_t events_lost;
	int64_t main_ended_ns;
	const struct hutch_mount *const *mounts;
	const char *image;
	const char *image_id;
	enum hutch_disk disk;
	uint64_t disk_bytes;
	const char *net;
	const char *net_policy;
	const struct hutch_forward *const *forwards;
	enum hutch_dax image_dax;
	uint64_t image_window;
	const char *stop_signal;
};

/**
 * hutch_list() - Records of all VMs, alive or not, sorted by name
 * @ret:	List that ends in NULL; for hutch_list_free()
 *
 * True at once: a VM whose keeper is gone is recorded as lost here and now.
 *
 * Return: how many, or -errno
 */
HUTCH_API int hutch_list(struct hutch *h, struct hutch_record ***ret,
			 struct hutch_err *e);

/** hutch_list_free() - Free what hutch_list() made; takes NULL */
HUTCH_API void hutch_list_free(struct hutch_record **list);

/**
 * hutch_inspect() - The record of one VM
 * @ret:	For hutch_record_free()
 *
 * Return: 0; -ENOENT if there is no VM of that name
 */
HUTCH_API int hutch_inspect(struct hutch *h, const char *name,
			    struct hutch_record **ret, struct hutch_err *e);

/** hutch_record_free() - Free a record from anything but hutch_list() */
HUTCH_API void hutch_record_free(struct hutch_record *rec);

/** hutch_record_json() - As JSON on one line (docs/json.md), to be free()d;
 *  NULL if out of memory
 */
HUTCH_API char *hutch_record_json(const struct hutch_record *rec);

/** hutch_state_name() - "starting" and so on; "?" for an unknown one */
HUTCH_API const char *hutch_state_name(enum hutch_state state);

/** hutch_reason_name() - "exited", "guest-panic" and so on; "" for none */
HUTCH_API const char *hutch_reason_name(enum hutch_reason reason);

/**
 * hutch_reason_text() - For people: "exited(7)", "host-error(no /dev/kvm)"
 * @buf:	Always terminated; cut if @len is too small
 *
 * Return: @buf
 */
HUTCH_API char *hutch_reason_text(const struct hutch_record *rec, char *buf,
				  size_t len);

/* ---- Life ------------------------------------------------------------- */

/**
 * hutch_wait() - Wait until a VM is ready, or has ended
 * @what:	HUTCH_WAIT_READY or HUTCH_WAIT_EXIT
 * @timeout_ms:	-1: for ever
 * @ret:	Record as it then is, for hutch_record_free(); may be NULL.
 *		With HUTCH_START_RM it is handed out although it is gone
 *
 * Return: 0; -ENOENT if there is no such VM; -ESRCH if it ended before it was
 *         ready, with the reason; -ETIMEDOUT
 */
HUTCH_API int hutch_wait(struct hutch *h, const char *name,
			 enum hutch_wait what, int timeout_ms,
			 struct hutch_record **ret, struct hutch_err *e);

/**
 * hutch_stop() - Ask a VM to end, and wait for it
 * @grace_ms:	Between SIGTERM to all processes and SIGKILL; -1: 10000
 *
 * Return: 0 also if it has stopped before; -ENOENT
 */
HUTCH_API int hutch_stop(struct hutch *h, const char *name, int grace_ms,
			 struct hutch_err *e);

/**
 * hutch_kill() - End a VM at once, and wait for it; nothing in it is asked
 *
 * Return: 0; -ENOENT; -ESRCH if it has stopped before
 */
HUTCH_API int hutch_kill(struct hutch *h, const char *name,
			 struct hutch_err *e);

#define HUTCH_RM_FORCE (1u << 0) /* kill it first if it is alive */

/**
 * hutch_rm() - Remove a stopped VM's record, logs and disk
 * @flags:	HUTCH_RM_*
 *
 * Return: 0; -ENOENT; -EBUSY if it is alive
 */
HUTCH_API int hutch_rm(struct hutch *h, const char *name, unsigned int flags,
		       struct hutch_err *e);

/* ---- Ports ------------------------------------------------------------ */

/**
 * hutch_forward_add() - Have a port of the host lead to one of a VM
 * @ret_port:	The host's port, of interest if 0 was asked for; may be NULL
 *
 * It is on record, and stays until hutch_forward_remove() or the VM's end.  The
 * VM need not be ready.
 *
 * Return: 0; -EINVAL; -ENOENT if there is no such VM; -ESRCH if it is not alive;
 *         -EEXIST if it has that forward; -EADDRINUSE if somebody else has the
 *         port; -EACCES; -EADDRNOTAVAIL; -ENOSPC if it has too many
 */
HUTCH_API int hutch_forward_add(struct hutch *h, const char *name,
				const struct hutch_forward *f,
				unsigned int *ret_port, struct hutch_err *e);

/**
 * hutch_forward_remove() - Listen there no more
 * @f:		By its host and port; its guest_port is not looked at
 *
 * Connections that are open stay.
 *
 * Return: 0; -EINVAL; -ENOENT if there is no such VM or forward; -ESRCH if the
 *         VM is not alive
 */
HUTCH_API int hutch_forward_remove(struct hutch *h, const char *name,
				   const struct hutch_forward *f,
				   struct hutch_err *e);

/**
 * struct hutch_port - A TCP socket that listens in a VM
 * @address:	As text; "0.0.0.0" and "::" are all addresses
 * @pid:	Of a process that has it, in the guest; 0: not known
 * @process:	What that process calls itself, or "": untrusted, as all of it
 */
struct hutch_port {
	char address[HUTCH_ADDRESS_MAX + 1];
	unsigned int port;
	int pid;
	const char *process;
};

/**
 * hutch_ports() - What listens in a VM, sorted by port
 * @ret:	List that ends in NULL; for hutch_ports_free()
 *
 * Return: how many; -ENOENT if there is no such VM; -ESRCH if it is not running;
 *         -ETIMEDOUT if it does not answer; or -errno
 */
HUTCH_API int hutch_ports(struct hutch *h, const char *name,
			  struct hutch_port ***ret, struct hutch_err *e);

/** hutch_ports_free() - Free what hutch_ports() made; takes NULL */
HUTCH_API void hutch_ports_free(struct hutch_port **list);

/* ---- Commands --------------------------------------------------------- */

/*
 * HUTCH_EXEC_STDIN	stdin is written with hutch_exec_write(); without it
 *			the command reads /dev/null
 * HUTCH_EXEC_TTY	On a terminal of its own; all output is STDOUT
 * HUTCH_EXEC_COMBINED	stderr goes where stdout goes, in order
 * HUTCH_EXEC_STDOUT_NULL, HUTCH_EXEC_STDERR_NULL
 *			Thrown away in the guest
 * HUTCH_EXEC_CLEAR_ENV	Start from PATH, HOME and TERM, not the VM's
 *			environment
 * HUTCH_EXEC_MAIN	This is the main process: the VM ends when it has (see
 *			enum hutch_on_exit); its id is "main"
 * HUTCH_EXEC_DETACH	Nobody attaches to it: STARTED, or ERROR, is the last
 *			event; hutch_attach() reads its output.  With
 *			HUTCH_EXEC_STDIN its stdin stays open until one who
 *			attaches closes it
 * HUTCH_EXEC_KEEP_HEAD	Of output that nobody takes, and that is more than the
 *			ring holds, keep the beginning and the latest 64 KiB,
 *			not the end
 */
#define HUTCH_EXEC_STDIN       (1u << 0)
#define HUTCH_EXEC_TTY         (1u << 1)
#define HUTCH_EXEC_COMBINED    (1u << 2)
#define HUTCH_EXEC_STDOUT_NULL (1u << 3)
#define HUTCH_EXEC_STDERR_NULL (1u << 4)
#define HUTCH_EXEC_CLEAR_ENV   (1u << 5)
#define HUTCH_EXEC_MAIN        (1u << 6)
#define HUTCH_EXEC_DETACH      (1u << 7)
#define HUTCH_EXEC_KEEP_HEAD   (1u << 8)

/**
 * struct hutch_exec_opts - A command to be
 * @size:	sizeof(struct hutch_exec_opts)
 * @argv:	At least the program; looked for in the guest's PATH
 * @env:	"NAME=VALUE", on top of the VM's; NULL: none
 * @user:	"name", "uid" or "uid:gid"; NULL: the VM's default
 * @workdir:	NULL: the VM's default
 * @timeout_ms:	The command is killed, and said to be timed_out; 0: never
 * @grace_ms:	Between SIGTERM and SIGKILL on time-out; 0: 2000
 * @cols:	Of the terminal; 0: 80
 * @rows:	Of the terminal; 0: 24
 * @ring:	Bytes kept of each stream, from 4 KiB to 64 MiB; 0: 1 MiB
 * @id:		A name, as a VM's; NULL: one is made up.  STARTED tells it
 * @memory:	Limit of all of it together, bytes, from 1 MiB; 0: none
 * @pids:	Limit of processes and threads; 0: none
 * @cpu_weight:	Against other processes', 1 to 10000; 0: 100
 *
 * A command with a time-out whose guest says nothing until @grace_ms and ten
 * seconds after it is over has failed with -ETIMEDOUT.
 */
struct hutch_exec_opts {
	size_t size;
	const char *const *argv;
	const char *const *env;
	const char *user;
	const char *workdir;
	uint64_t timeout_ms;
	unsigned int grace_ms;
	unsigned int flags;
	unsigned short cols;
	unsigned short rows;
	uint32_t ring;
	const char *id;
	uint64_t memory;
	unsigned int pids;
	unsigned int cpu_weight;
};

/* clang-format off */
#define HUTCH_EXEC_OPTS_INIT                                              \
	{                                                                 \
		sizeof(struct hutch_exec_opts), NULL, NULL, NULL, NULL,   \
			0, 0, 0, 0, 0, 0, NULL, 0, 0, 0                   \
	}
/* clang-format on */

/**
 * hutch_exec_open() - Run a command in a VM
 *
 * Does not wait for the VM to be ready, nor for the command to start.
 *
 * Return: 0; -ENOENT if there is no such VM; -ESRCH if it is not running, with
 *         the reason; -EINVAL for a bad option; -E2BIG if argv and env are
 *         together larger than 2 MiB
 */
HUTCH_API int hutch_exec_open(struct hutch *h, const char *name,
			      const struct hutch_exec_opts *opts,
			      struct hutch_exec **ret, struct hutch_err *e);

/**
 * hutch_exec_close() - Leave the command; takes NULL
 *
 * It lives on if it has not ended: what it writes is kept in the guest, in a
 * bounded ring, and its stdin ends.
 */
HUTCH_API void hutch_exec_close(struct hutch_exec *x);

/**
 * hutch_exec_fd() - Descriptor to poll, for hutch_exec_poll_events()
 *
 * Return: it, the same all the time; -1, which poll() skips, once
 *         hutch_exec_next() has failed
 */
HUTCH_API int hutch_exec_fd(const struct hutch_exec *x);

/**
 * hutch_exec_poll_events() - What to poll for: POLLIN, POLLOUT or both
 *
 * POLLOUT is in it while bytes wait to be sent; a caller that has been told
 * -EAGAIN by hutch_exec_write() need not add it.  When poll() says anything,
 * call hutch_exec_next() until it returns 0.
 */
HUTCH_API short hutch_exec_poll_events(const struct hutch_exec *x);

/**
 * hutch_exec_timeout_ms() - How long to poll at most, then hutch_exec_next()
 *
 * Return: milliseconds; -1: for ever, as of all that have no time-out
 */
HUTCH_API int hutch_exec_timeout_ms(const struct hutch_exec *x);

enum hutch_exec_kind {
	HUTCH_EXEC_STARTED = 1, /* pid, id, start_ns */
	HUTCH_EXEC_STDOUT,      /* data, len, cursor, time_ns */
	HUTCH_EXEC_STDERR,      /* likewise */
	HUTCH_EXEC_EXIT,        /* the last one: how, value and what follows */
	HUTCH_EXEC_ERROR,       /* the last one: code, error, msg */
	HUTCH_EXEC_TRUNCATED,   /* of an attached one: stream, cursor, lost */
	HUTCH_EXEC_END          /* the last one: all there is was replayed */
};

enum hutch_exec_how {
	HUTCH_EXEC_EXITED = 1, /* value is the exit code, 0 to 255 */
	HUTCH_EXEC_SIGNALLED   /* value is the signal */
};

enum hutch_exec_error {
	HUTCH_EXEC_ERROR_GENERAL = 1,
	HUTCH_EXEC_ERROR_NOT_FOUND,      /* by convention exit code 127 */
	HUTCH_EXEC_ERROR_NOT_EXECUTABLE, /* by convention 126 */
	HUTCH_EXEC_ERROR_LIMIT           /* too many processes or connections */
};

/**
 * struct hutch_exec_event - What has happened
 * @kind:	Says which other fields mean something
 * @data:	Borrowed: until the next call with the same hutch_exec
 * @len:	1 or more bytes
 * @pid:	In the guest
 * @lingering:	The command has ended, children of it live on
 * @code:	Negative errno
 * @msg:	One sentence, escaped, borrowed as @data
 * @id:		Of the process; borrowed as @data
 * @cursor:	Bytes of this stream before these; of TRUNCATED: where it goes
 *		on
 * @time_ns:	When the guest read it, by the guest's clock, since 1970
 * @stream:	1 stdout, 2 stderr
 * @lost:	Bytes that this client does not get
 * @stdout_cut:	Bytes of stdout that nobody can read any more, as @stderr_cut
 * @start_ns:	By the guest's clock, since 1970; of EXIT: @end_ns
 */
struct hutch_exec_event {
	enum hutch_exec_kind kind;
	const void *data;
	size_t len;
	int pid;
	enum hutch_exec_how how;
	int value;
	int timed_out;
	int oom;
	int core_dumped;
	int lingering;
	enum hutch_exec_error error;
	int code;
	int stream;
	const char *msg;
	const char *id;
	uint64_t cursor;
	int64_t time_ns;
	uint64_t lost;
	uint64_t stdout_cut;
	uint64_t stderr_cut;
	int64_t start_ns;
	int64_t end_ns;
};

/**
 * hutch_exec_next() - The next event, without waiting
 *
 * Return: 1 with *@ev set; 0 if there is none yet; -ESRCH if the VM ended
 *         before the command did, with the reason; -ECONNRESET if the
 *         connection broke although the VM lives; -EBADMSG if what the guest
 *         sent is not the protocol; -ETIMEDOUT if the guest is deaf to the
 *         command's time-out; -ENODATA after the last event.
 *         A failure is final.  To know the reason it may wait up to
 *         HUTCH_ANSWER_MS for the VM's keeper.
 */
HUTCH_API int hutch_exec_next(struct hutch_exec *x, struct hutch_exec_event *ev,
			      struct hutch_err *e);

/**
 * hutch_exec_wait() - The next event, waiting for it
 * @timeout_ms:	-1: for ever
 *
 * Return: as hutch_exec_next(); 0 after @timeout_ms without an event
 */
HUTCH_API int hutch_exec_wait(struct hutch_exec *x, struct hutch_exec_event *ev,
			      int timeout_ms, struct hutch_err *e);

/**
 * hutch_exec_record() - How the VM ended, after hutch_exec_next() said -ESRCH
 *
 * Return: borrowed until hutch_exec_close(); NULL while the VM lives
 */
HUTCH_API const struct hutch_record *hutch_exec_record(
	const struct hutch_exec *x);

/**
 * hutch_exec_write() - Write to the command's stdin, without waiting
 *
 * Return: bytes taken, at least 1, maybe fewer than @len; -EAGAIN while the
 *         guest has no room: poll; -EPIPE if stdin is closed or was not asked
 *         for, or the connection is gone (hutch_exec_next() tells why)
 */
HUTCH_API ssize_t hutch_exec_write(struct hutch_exec *x, const void *buf,
				   size_t len);

/** hutch_exec_close_stdin() - End of file. Return: 0, -EAGAIN, -EPIPE */
HUTCH_API int hutch_exec_close_stdin(struct hutch_exec *x);

/**
 * hutch_exec_signal() - Send a signal
 * @signo:	1 to 64
 * @tree:	0: to the command; 1: to all its descendants too
 *
 * Return: 0; -EAGAIN: poll and call again; -EPIPE; -EINVAL
 */
HUTCH_API int hutch_exec_signal(struct hutch_exec *x, int signo, int tree);

/** hutch_exec_resize() - The terminal's size. Return: 0, -EAGAIN, -EPIPE */
HUTCH_API int hutch_exec_resize(struct hutch_exec *x, unsigned short cols,
				unsigned short rows);

/**
 * hutch_exec_close_output() - Nobody reads this output any more
 * @kind:	HUTCH_EXEC_STDOUT or HUTCH_EXEC_STDERR
 *
 * The command gets SIGPIPE when it writes there again; after hutch_attach()
 * this client alone gets no more of it.
 *
 * Return: 0, -EAGAIN, -EPIPE, -EINVAL
 */
HUTCH_API int hutch_exec_close_output(struct hutch_exec *x,
				      enum hutch_exec_kind kind);

/* ---- Attach ----------------------------------------------------------- */

/*
 * HUTCH_ATTACH_STDIN	stdin is written with hutch_exec_write()
 * HUTCH_ATTACH_FOLLOW	Stay until it has ended, which is told with EXIT;
 *			without it END comes when all has been replayed
 * HUTCH_ATTACH_NO_STDOUT, HUTCH_ATTACH_NO_STDERR
 *			Not this stream
 * HUTCH_ATTACH_BACK	The cursors count back from the end of what was
 *			written: 0 is only what is new
 */
#define HUTCH_ATTACH_STDIN     (1u << 0)
#define HUTCH_ATTACH_FOLLOW    (1u << 1)
#define HUTCH_ATTACH_NO_STDOUT (1u << 2)
#define HUTCH_ATTACH_NO_STDERR (1u << 3)
#define HUTCH_ATTACH_BACK      (1u << 4)

/**
 * struct hutch_attach_opts - How to attach to a process
 * @size:	sizeof(struct hutch_attach_opts)
 * @flags:	HUTCH_ATTACH_*
 * @stdout_from: Cursor to replay from, below 2^63; one beyond the end is the
 *		end
 * @stderr_from: Likewise
 * @timeout_ms:	Of the process, by hutch_processes(), as @grace_ms: a guest that
 *		says nothing until these and ten seconds have passed is stalled,
 *		as with hutch_exec_open(); 0: it has for ever
 */
struct hutch_attach_opts {
	size_t size;
	unsigned int flags;
	uint64_t stdout_from;
	uint64_t stderr_from;
	uint64_t timeout_ms;
	unsigned int grace_ms;
};

/* clang-format off */
#define HUTCH_ATTACH_OPTS_INIT                                            \
	{ sizeof(struct hutch_attach_opts), 0, 0, 0, 0, 0 }
/* clang-format on */

/**
 * hutch_attach() - Read a process's output, from a cursor on
 * @proc:	Its id; NULL: the main process
 * @opts:	NULL: from the start, following
 * @ret:	For hutch_exec_next() and the like
 *
 * Holds up nobody: a client that is too slow for the process's ring is told
 * TRUNCATED.  A process of that id that is not there is an ERROR event with
 * -ESRCH.
 *
 * Return: as hutch_exec_open(); -ENOENT also if @proc is NULL and the VM has
 *         no main process
 */
HUTCH_API int hutch_attach(struct hutch *h, const char *name, const char *proc,
			   const struct hutch_attach_opts *opts,
			   struct hutch_exec **ret, struct hutch_err *e);

/* ---- Processes -------------------------------------------------------- */

enum hutch_process_state {
	HUTCH_PROCESS_RUNNING = 1,
	HUTCH_PROCESS_LINGERING, /* it has ended, children of it live on */
	HUTCH_PROCESS_EXITED
};

/** hutch_process_state_name() - "running" and so on; "?" for an unknown one */
HUTCH_API const char *hutch_process_state_name(enum hutch_process_state state);

/**
 * struct hutch_process - A process in a VM, as its agent tells it
 * @how:	0 while it runs
 * @value:	As in an exec's EXIT, as what follows
 * @tty:	1: on a terminal of its own
 * @main:	1: the VM's main process
 * @foreground:	1: has the client that has started it
 * @has_stdin:	1: its stdin is open to those who attach
 * @attached:	Clients, that one too
 * @argv:	Ends in NULL, as does @env
 * @argv_cut:	1: it is longer than is shown here
 * @env:	NULL unless asked for
 * @start_ns:	By the guest's clock, since 1970, as @end_ns, which is 0 while
 *		it runs
 * @timeout_ms:	0: none; @grace_ms after it comes SIGKILL
 * @memory:	Limits; 0: none
 * @stdout_total: Bytes written so far
 * @stdout_cut:	Of them those that can no longer be read
 *
 * Made by the library, which may add fields at the end.  The bytes of all
 * strings are the guest's.
 */
struct hutch_process {
	const char *id;
	int pid;
	enum hutch_process_state state;
	enum hutch_exec_how how;
	int value;
	int timed_out;
	int oom;
	int core_dumped;
	int tty;
	int main;
	int foreground;
	int has_stdin;
	unsigned int attached;
	const char *const *argv;
	int argv_cut;
	const char *const *env;
	int env_cut;
	const char *user;
	const char *workdir;
	int64_t start_ns;
	int64_t end_ns;
	uint64_t timeout_ms;
	uint64_t memory;
	unsigned int pids;
	unsigned int cpu_weight;
	uint64_t stdout_total;
	uint64_t stderr_total;
	uint64_t stdout_cut;
	uint64_t stderr_cut;
	unsigned int grace_ms;
};

#define HUTCH_PROCESSES_ENV (1u << 0) /* with their environments */

/**
 * hutch_processes() - Processes of a VM, those that have ended too
 * @proc:	Only the one of this id; NULL: all
 * @flags:	HUTCH_PROCESSES_*
 * @ret:	List that ends in NULL; for hutch_processes_free()
 *
 * One that has ended is there until its client has taken its exit, or, without
 * one, until hutch_process_drop() or until the agent's table is full.
 *
 * Return: how many; -ENOENT, -ESRCH as hutch_exec_open(), -ESRCH also if there
 *         is no @proc; -EBADMSG; -ETIMEDOUT if the guest does not answer
 */
HUTCH_API int hutch_processes(struct hutch *h, const char *name,
			      const char *proc, unsigned int flags,
			      struct hutch_process ***ret, struct hutch_err *e);

/** hutch_processes_free() - Free what hutch_processes() made; takes NULL */
HUTCH_API void hutch_processes_free(struct hutch_process **list);

#define HUTCH_KILL_ONE (1u << 0) /* the process alone, not what it started */

/**
 * hutch_process_kill() - Send a signal to a process and all its descendants
 * @signo:	1 to 64
 * @flags:	HUTCH_KILL_*
 * @grace_ms:	SIGKILL to all of them after this long; 0: no.  Not with
 *		HUTCH_KILL_ONE
 *
 * Return: 0; -ESRCH if there is no such process or nothing of it is left;
 *         others as hutch_processes()
 */
HUTCH_API int hutch_process_kill(struct hutch *h, const char *name,
				 const char *proc, int signo,
				 unsigned int flags, int grace_ms,
				 struct hutch_err *e);

/**
 * hutch_process_drop() - Forget a process that has ended, and its output
 *
 * Return: 0; -ESRCH if there is no such process; -EBUSY if it, or a child of
 *         it, lives; others as hutch_processes()
 */
HUTCH_API int hutch_process_drop(struct hutch *h, const char *name,
				 const char *proc, struct hutch_err *e);

enum hutch_wait_for {
	HUTCH_WAIT_FOR_EXIT = 1,
	HUTCH_WAIT_FOR_LINE, /* a line of its output that matches */
	HUTCH_WAIT_FOR_PORT  /* a TCP port of the guest that is listened on */
};

/**
 * struct hutch_wait_opts - What to wait for
 * @size:	sizeof(struct hutch_wait_opts)
 * @line:	POSIX extended regular expression; matched on the host, against
 *		each line, without its newline and a carriage return before
 *		it, of stdout and of stderr.  What is there at the process's
 *		end without a newline is a line too.  A line longer than
 *		64 KiB is matched in pieces of that, a NUL as a newline
 * @from:	Cursor in both streams to look from
 * @port:	1 to 65535; on any address of the guest, loopback too
 * @timeout_ms:	-1: for ever; 0: one look at what is there already, for which a
 *		guest has HUTCH_ANSWER_MS to answer, of a port a second
 */
struct hutch_wait_opts {
	size_t size;
	enum hutch_wait_for what;
	const char *line;
	uint64_t from;
	unsigned int port;
	int timeout_ms;
};

/* clang-format off */
#define HUTCH_WAIT_OPTS_INIT                                              \
	{                                                                 \
		sizeof(struct hutch_wait_opts), HUTCH_WAIT_FOR_EXIT,      \
			NULL, 0, 0, -1                                    \
	}
/* clang-format on */

enum hutch_wait_outcome {
	HUTCH_WAITED_MATCHED = 1, /* stream, cursor, line, if it was a line */
	HUTCH_WAITED_EXITED,      /* how, value and what follows */
	HUTCH_WAITED_TIMED_OUT
};

/**
 * struct hutch_wait_result - What came of it
 * @how:	How the process ended, likewise what follows
 * @stream:	1 stdout, 2 stderr
 * @cursor:	Of the stream, after the line and its newline
 * @line:	It, escaped, perhaps cut
 */
struct hutch_wait_result {
	enum hutch_wait_outcome outcome;
	enum hutch_exec_how how;
	int value;
	int timed_out;
	int oom;
	int lingering;
	int stream;
	uint64_t cursor;
	char line[HUTCH_LINE_MAX];
};

/**
 * hutch_process_wait() - Wait for a process's end, its words or a port
 * @proc:	Its id; NULL: the main process; for a port, if the VM has none
 *		or has not started it: no process
 * @opts:	Whatever it waits for, the process's end ends it: EXITED
 *
 * Return: 0 with *@ret set, also for TIMED_OUT; -ESRCH if the VM ended, with
 *         its reason, or if there is no such process; -ENOENT if there is no
 *         such VM, or no main process; -EINVAL, also for a bad expression;
 *         -ECONNRESET, -EBADMSG as hutch_exec_next(); -ETIMEDOUT, before
 *         @opts' time is over, if the guest does not answer, or has said
 *         nothing ten seconds after the process's own time-out
 *
 * Context: blocks for @timeout_ms, or as long as a look takes.
 */
HUTCH_API int hutch_process_wait(struct hutch *h, const char *name,
				 const char *proc,
				 const struct hutch_wait_opts *opts,
				 struct hutch_wait_result *ret,
				 struct hutch_err *e);

/* ---- Events ----------------------------------------------------------- */

/**
 * struct hutch_vm_event - What has happened to a VM
 * @time_ns:	When the host learnt of it, since 1970, UTC
 * @vm:		Its name
 * @id:		Its id, as in its record
 * @kind:	"started", "ready", "process-started", "process-exited", "oom",
 *		"idle", "net-denied", "net-ended", "stopped", which is the last; others may
 *		be added
 * @process:	Id of the process, or ""
 * @reason:	Of "stopped", as hutch_reason_name(), or ""
 * @pid:	Of "process-started", or 0
 * @how:	enum hutch_exec_how, or 0; of "stopped": how the main process
 *		ended, if that is the reason
 * @value:	Exit code or signal
 * @text:	More about it, or ""; of "process-started" its program
 * @proto:	Of "net-denied", as all that follow: "tcp", "udp", "icmp" or "dns";
 *		else ""
 * @address:	Where it would have led; "" of "dns"
 * @name:	That it was judged by, or ""
 * @port:	0: there is none
 * @rule:	Number of the rule that decided, from 1; 0: none did
 * @count:	How many such it stands for
 *
 * Strings are escaped, and borrowed until the next call with the same
 * hutch_events.  Made by the library, which may add fields at the end.
 */
struct hutch_vm_event {
	int64_t time_ns;
	const char *vm;
	const char *id;
	const char *kind;
	const char *process;
	const char *reason;
	const char *text;
	int pid;
	int how;
	int value;
	int timed_out;
	int oom;
	int core_dumped;
	int main;
	int tty;
	const char *proto;
	const char *address;
	const char *name;
	int port;
	int rule;
	int count;
};

#define HUTCH_EVENTS_FOLLOW (1u << 0) /* go on as things happen */

/**
 * hutch_events_open() - Read what has happened to a VM, or to all
 * @name:	NULL: all, also those that are started later
 * @flags:	HUTCH_EVENTS_*
 *
 * The events of one VM come in order; those of several are merged by time as
 * far as they are there.  Of a VM with many only the newest are kept.
 *
 * Return: 0; -ENOENT if there is no such VM
 */
HUTCH_API int hutch_events_open(struct hutch *h, const char *name,
				unsigned int flags, struct hutch_events **ret,
				struct hutch_err *e);

/** hutch_events_fd() - To poll for POLLIN; then hutch_events_next() until 0;
 *  -1 without HUTCH_EVENTS_FOLLOW
 */
HUTCH_API int hutch_events_fd(const struct hutch_events *ev);

/**
 * hutch_events_next() - The next event, without waiting
 *
 * Return: 1; 0 if there is none, or, with HUTCH_EVENTS_FOLLOW, none yet;
 *         -ENODATA if there will be none: that VM has ended, or was removed
 */
HUTCH_API int hutch_events_next(struct hutch_events *ev,
				struct hutch_vm_event *ret,
				struct hutch_err *e);

/**
 * hutch_events_wait() - The next event, waiting for it
 * @timeout_ms:	-1: for ever
 *
 * Return: as hutch_events_next(); 0 after @timeout_ms without an event
 */
HUTCH_API int hutch_events_wait(struct hutch_events *ev,
				struct hutch_vm_event *ret, int timeout_ms,
				struct hutch_err *e);

/** hutch_events_close() - Takes NULL */
HUTCH_API void hutch_events_close(struct hutch_events *ev);

/* ---- Network ---------------------------------------------------------- */

#define HUTCH_NET_CUT (1u << 0) /* end what the new policy does not allow */

/**
 * hutch_net_show() - What the network of a VM that runs allows, and did
 * @ret:	JSON, as in docs/network-policy.md; for free()
 *
 * Return: 0; -ENOENT; -ESRCH if the VM has ended, -EPIPE if its network has;
 *         -EOPNOTSUPP if that has no policy; -EBUSY
 */
HUTCH_API int hutch_net_show(struct hutch *h, const char *name, char **ret,
			     struct hutch_err *e);

/**
 * hutch_net_set() - Replace the policy of a VM that runs
 * @policy:	As @net_policy of hutch_start(); the record has it from now on
 * @flags:	HUTCH_NET_*; without one, connections that are there go on
 *
 * Return: as hutch_net_show(), or -EINVAL: the policy is refused, and the old one
 *         stays
 */
HUTCH_API int hutch_net_set(struct hutch *h, const char *name,
			    const char *policy, unsigned int flags,
			    struct hutch_err *e);

/* ---- Logs ------------------------------------------------------------- */

enum hutch_log {
	HUTCH_LOG_MAIN = 1, /* output of the main process */
	HUTCH_LOG_CONSOLE   /* the guest kernel, the last 64 KiB */
};

/**
 * struct hutch_log_piece - A piece of a log
 * @stream:	1 stdout, 2 stderr; the console is 1
 * @time_ns:	When the host got it, since 1970, UTC; 0 for the console
 * @data:	Borrowed until the next call with the same hutch_logs
 * @cursor:	Bytes of this stream before these; 0 for the console
 */
struct hutch_log_piece {
	int stream;
	int64_t time_ns;
	const void *data;
	size_t len;
	uint64_t cursor;
};

#define HUTCH_LOGS_FOLLOW (1u << 0) /* go on as it grows; not the console */

/**
 * hutch_logs_open() - Read a VM's log, of a stopped one too
 * @flags:	HUTCH_LOGS_*
 *
 * The main process's log is kept for a detached one and an attached one alike,
 * but not with HUTCH_START_RM.  hutch_attach() reads that of other processes.
 *
 * Return: 0; -ENOENT if there is no such VM; -EINVAL
 */
HUTCH_API int hutch_logs_open(struct hutch *h, const char *name,
			      enum hutch_log which, unsigned int flags,
			      struct hutch_logs **ret, struct hutch_err *e);

/**
 * hutch_logs_next() - Next piece, without waiting
 *
 * Return: 1; 0 at the end of what there is; with HUTCH_LOGS_FOLLOW -ENODATA
 *         if there will be no more, since the VM has ended; or -errno
 */
HUTCH_API int hutch_logs_next(struct hutch_logs *l,
			      struct hutch_log_piece *piece,
			      struct hutch_err *e);

/** hutch_logs_fd() - To poll for POLLIN; -1 without HUTCH_LOGS_FOLLOW */
HUTCH_API int hutch_logs_fd(const struct hutch_logs *l);

/**
 * hutch_logs_wait() - Next piece, waiting for it
 * @timeout_ms:	-1: for ever
 *
 * Return: as hutch_logs_next(); 0 after @timeout_ms without one
 */
HUTCH_API int hutch_logs_wait(struct hutch_logs *l,
			      struct hutch_log_piece *piece, int timeout_ms,
			      struct hutch_err *e);

/** hutch_logs_close() - Takes NULL */
HUTCH_API void hutch_logs_close(struct hutch_logs *l);

/* ---- Files ------------------------------------------------------------ */

/*
 * Paths are those of the VM, absolute or from where its processes start, and
 * Linux's rules for links hold.  What is done is done as a user of the VM.
 * docs/files.md tells what is kept of a file, and where a copy goes.
 *
 * Nothing here has a time-out: a call lasts as long as the VM takes.
 */
#define HUTCH_FS_PATH_MAX  4095 /* bytes of a path */
#define HUTCH_FS_NOTES_MAX 1000 /* notes of a call that are passed on */

/**
 * hutch_fs_note_fn - Something was left out of a copy, or is remarkable
 * @code:	Negative errno; 0: a remark
 * @sentence:	Escaped, borrowed
 *
 * After HUTCH_FS_NOTES_MAX of a call there is one more, at its end: how many
 * were not passed on.
 */
typedef void (*hutch_fs_note_fn)(void *arg, int code, const char *sentence);

/**
 * struct hutch_fs_opts - How files are looked at
 * @size:	sizeof(struct hutch_fs_opts)
 * @user:	As in struct hutch_exec_opts; NULL: the VM's
 * @note:	Called during a copy; NULL: nobody wants to know
 * @arg:	Handed to it
 */
struct hutch_fs_opts {
	size_t size;
	const char *user;
	hutch_fs_note_fn note;
	void *arg;
};

/* clang-format off */
#define HUTCH_FS_OPTS_INIT { sizeof(struct hutch_fs_opts), NULL, NULL, NULL }
/* clang-format on */

/**
 * hutch_fs_open() - Make ready to look at a VM's files; connects to nothing yet
 * @opts:	May be NULL; its strings are copied
 *
 * Return: 0; -EINVAL for a bad name or user; -ENOMEM
 */
HUTCH_API int hutch_fs_open(struct hutch *h, const char *name,
			    const struct hutch_fs_opts *opts,
			    struct hutch_fs **ret, struct hutch_err *e);

/** hutch_fs_close() - Takes NULL */
HUTCH_API void hutch_fs_close(struct hutch_fs *fs);

/**
 * hutch_fs_refused() - Whether it was the VM that refused the last call
 *
 * All calls return the errno that Linux gave in the VM if it did, and others
 * if they never came so far: -ENOENT if there is no such VM, -ESRCH if it is
 * not running, -ECONNRESET, -EBADMSG, -ENOMEM...  This tells them apart.
 *
 * Return: 1 if so, else 0
 */
HUTCH_API int hutch_fs_refused(const struct hutch_fs *fs);

enum hutch_file_kind {
	HUTCH_FILE_REGULAR = 1,
	HUTCH_FILE_FOLDER,
	HUTCH_FILE_SYMLINK,
	HUTCH_FILE_FIFO,
	HUTCH_FILE_SOCKET,
	HUTCH_FILE_CHAR_DEVICE,
	HUTCH_FILE_BLOCK_DEVICE
};

/** hutch_file_kind_name() - "file", "folder", "symlink", ... */
HUTCH_API const char *hutch_file_kind_name(enum hutch_file_kind kind);

/**
 * struct hutch_file - What stat() says of a file; all of it the VM's word
 * @mode:	Permissions, 0 to 07777
 * @rdev_major:	Of a device
 * @bytes:	Its size
 * @allocated:	Bytes that it takes on its disk
 * @atime_ns:	Since 1970, likewise the next two
 * @name:	In its folder; "" from hutch_fs_stat()
 * @target:	Of a symbolic link, else ""
 */
struct hutch_file {
	enum hutch_file_kind kind;
	unsigned int mode;
	unsigned int uid;
	unsigned int gid;
	unsigned int nlink;
	unsigned int rdev_major;
	unsigned int rdev_minor;
	uint64_t bytes;
	uint64_t allocated;
	uint64_t ino;
	int64_t atime_ns;
	int64_t mtime_ns;
	int64_t ctime_ns;
	const char *name;
	const char *target;
};

/*
 * HUTCH_FS_FOLLOW	stat, get: what a symbolic link points to
 * HUTCH_FS_PARENTS	mkdir: the folders above too; it may be there
 * HUTCH_FS_RECURSIVE	remove: a folder and what is in it; watch: all below
 * HUTCH_FS_FORCE	remove: what is not there is no error
 * HUTCH_FS_ATOMIC	write: the new bytes are seen all at once, and are on
 *			the disk
 * HUTCH_FS_ARCHIVE	get, put: owners and extended attributes too, and
 *			setuid and setgid where the owner is kept
 */
#define HUTCH_FS_FOLLOW    (1u << 0)
#define HUTCH_FS_PARENTS   (1u << 1)
#define HUTCH_FS_RECURSIVE (1u << 2)
#define HUTCH_FS_FORCE     (1u << 3)
#define HUTCH_FS_ATOMIC    (1u << 4)
#define HUTCH_FS_ARCHIVE   (1u << 5)

/**
 * hutch_file_fn - Called with a file of a folder; @f is borrowed
 *
 * Return: 0; -errno to stop, which the call then returns
 */
typedef int (*hutch_file_fn)(void *arg, const struct hutch_file *f);

/** hutch_fs_stat() - What a file is; hutch_file_free() frees *@ret */
HUTCH_API int hutch_fs_stat(struct hutch_fs *fs, const char *path,
			    unsigned int flags, struct hutch_file **ret,
			    struct hutch_err *e);

/** hutch_file_free() - Takes NULL */
HUTCH_API void hutch_file_free(struct hutch_file *f);

/** hutch_fs_list() - What is in a folder, in the order of its file system */
HUTCH_API int hutch_fs_list(struct hutch_fs *fs, const char *path,
			    hutch_file_fn fn, void *arg, struct hutch_err *e);

/**
 * hutch_fs_data_fn - Called with bytes of a file, in order
 *
 * Return: 0; -errno to stop, which the call then returns
 */
typedef int (*hutch_fs_data_fn)(void *arg, const void *data, size_t len);

/** hutch_fs_read() - The bytes of a file, to its end */
HUTCH_API int hutch_fs_read(struct hutch_fs *fs, const char *path,
			    hutch_fs_data_fn fn, void *arg,
			    struct hutch_err *e);

/**
 * hutch_fs_write() - Put what @fd gives, to its end, into a file
 * @mode:	Of the file, if it is made
 *
 * Its folder must be there.  Without HUTCH_FS_ATOMIC the file is opened, and
 * emptied, before @fd is read.
 */
HUTCH_API int hutch_fs_write(struct hutch_fs *fs, const char *path,
			     unsigned int flags, unsigned int mode, int fd,
			     struct hutch_err *e);

/** hutch_fs_mkdir() - Make a folder */
HUTCH_API int hutch_fs_mkdir(struct hutch_fs *fs, const char *path,
			     unsigned int flags, unsigned int mode,
			     struct hutch_err *e);

/**
 * hutch_fs_remove() - Remove a file, or a folder with HUTCH_FS_RECURSIVE
 *
 * Follows no symbolic link.  Return: 0; -EISDIR for a folder without the flag
 */
HUTCH_API int hutch_fs_remove(struct hutch_fs *fs, const char *path,
			      unsigned int flags, struct hutch_err *e);

/** hutch_fs_rename() - As rename(2): -EXDEV is not made up for by a copy */
HUTCH_API int hutch_fs_rename(struct hutch_fs *fs, const char *from,
			      const char *to, struct hutch_err *e);

/**
 * hutch_fs_get() - Copy a file, or a folder with all that is in it, out
 * @path:	In the VM; with "/." at its end what is in the folder
 * @to:		On this host: where to, or a folder to put it in; a symbolic
 *		link is followed if there is a slash behind it
 *
 * What is made at @to is the VM's word, and may be a symbolic link anywhere
 * unless HUTCH_FS_FOLLOW or a @path that ends in "/" or "/." asked otherwise.
 *
 * Return: 0; 1 if something was left out, of which @note was told; -ELOOP if
 *         @to is a link to a folder, without the slash; -errno
 */
HUTCH_API int hutch_fs_get(struct hutch_fs *fs, const char *path,
			   unsigned int flags, const char *to,
			   struct hutch_err *e);

/** hutch_fs_put() - The same into the VM, from @from on this host */
HUTCH_API int hutch_fs_put(struct hutch_fs *fs, const char *from,
			   unsigned int flags, const char *path,
			   struct hutch_err *e);

/* ---- Backups ---- */

#define HUTCH_SHA256_MAX 65 /* 64 hexadecimal digits and a NUL */

/** struct hutch_backup - What has been written, or read */
struct hutch_backup {
	char sha256[HUTCH_SHA256_MAX];
};

/**
 * hutch_fs_backup() - Write a folder of the VM, and what is in it, as tar+zstd
 * @file:	On this host: it is there when it is whole; NULL for @fd
 * @fd:		Written to, if @file is NULL
 *
 * Kept are modes, owners, times, symbolic and hard links, FIFOs and devices;
 * holes only as far as zeros are little.  What is mounted below is left out.
 *
 * Return: 0; 1 if something was left out, of which @note was told; -errno
 */
HUTCH_API int hutch_fs_backup(struct hutch_fs *fs, const char *path,
			      const char *file, int fd,
			      struct hutch_backup *ret, struct hutch_err *e);

/**
 * hutch_fs_restore() - Put such a folder into the place of one in the VM
 * @fd:		Read to its end
 * @sha256:	What the archive's digest must be; NULL if that is not known
 *
 * It is unpacked beside @path, and takes its place at once when the whole
 * archive has been read and is sound: until then, and if it fails, @path is
 * as it was.
 *
 * Return: 0; 1 if something was left out; -EBADMSG if the archive is damaged
 *         or none of ours, or its digest another; -EBUSY if something is
 *         mounted on @path; -errno
 */
HUTCH_API int hutch_fs_restore(struct hutch_fs *fs, int fd, const char *sha256,
			       const char *path, struct hutch_backup *ret,
			       struct hutch_err *e);

/* ---- Watching ---- */

enum hutch_fs_event_kind {
	HUTCH_FS_READY = 1, /* the first: nothing is missed from here on */
	HUTCH_FS_CREATED,
	HUTCH_FS_MODIFIED,   /* its bytes */
	HUTCH_FS_ATTRIBUTES, /* its mode, owner, times, number of names */
	HUTCH_FS_DELETED,
	HUTCH_FS_MOVED_FROM,
	HUTCH_FS_MOVED_TO,
	HUTCH_FS_WRITTEN, /* who could write to it has closed it */
	HUTCH_FS_LOST,    /* events that nobody knows: look anew */
	HUTCH_FS_GONE     /* what was watched is not there; the last */
};

/** hutch_fs_event_name() - "created", "moved-from", ... */
HUTCH_API const char *hutch_fs_event_name(enum hutch_fs_event_kind kind);

/**
 * struct hutch_fs_event - What has happened to a file; the VM's word
 * @folder:	It is one
 * @cookie:	The same in both events of one rename, not 0; else 0
 * @path:	From what is watched; "" for that itself
 */
struct hutch_fs_event {
	enum hutch_fs_event_kind kind;
	int folder;
	unsigned int cookie;
	const char *path;
};

/**
 * hutch_fs_event_fn - Called with each event, which is borrowed
 *
 * Return: 0; 1 to stop; -errno to stop, which the call then returns
 */
typedef int (*hutch_fs_event_fn)(void *arg, const struct hutch_fs_event *ev);

/**
 * hutch_fs_watch() - Be told what happens to a file, or in a folder
 * @flags:	HUTCH_FS_RECURSIVE: in folders below too, new ones as they
 *		come, with what is in them by then
 *
 * Return: 0 after HUTCH_FS_GONE or when @fn says so; -errno
 */
HUTCH_API int hutch_fs_watch(struct hutch_fs *fs, const char *path,
			     unsigned int flags, hutch_fs_event_fn fn,
			     void *arg, struct hutch_err *e);

/* ---- Images ----------------------------------------------------------- */

/*
 * An image is a root file system with a configuration.  It is kept unpacked in
 * <data>/images (HUTCH_PATH_DATA), each under its id, and has any number of
 * names.  docs/images.md tells of formats, limits and what is refused.
 */
#define HUTCH_IMAGE_REF_MAX    255 /* bytes of a name, with tag or digest */
#define HUTCH_IMAGE_ID_LEN     64  /* hexadecimal digits */
#define HUTCH_IMAGE_LAYERS_MAX 256
#define HUTCH_IMAGE_DEPTH_MAX  256           /* folders in one another */
#define HUTCH_IMAGE_BYTES      (64ull << 30) /* of files, by default */
#define HUTCH_IMAGE_ENTRIES    4000000u      /* in its archives, by default */
#define HUTCH_IMAGE_CONFIG_MAX (4u << 20)    /* bytes of one JSON document */
#define HUTCH_IMAGE_STRINGS    4096 /* in each list of its configuration */

/**
 * struct hutch_image_info - What is on record about an image
 * @id:		HUTCH_IMAGE_ID_LEN digits: the digest of its configuration
 * @names:	Sorted; NULL if it has none.  Each list here ends in NULL
 * @manifest:	Digest of the manifest it was made from, or ""
 * @os:		As its configuration says; likewise @arch
 * @created_ns:	When it came into the store, UTC since 1970
 * @bytes:	Of its files as they are unpacked
 * @entries:	Files, folders and all else
 * @layers:	Digest of each uncompressed layer, lowest first
 * @env:	"NAME=VALUE"; NULL if none, as for the next lists
 * @entrypoint:	Put in front of the command
 * @cmd:	The command, if none is given
 * @user:	"" for root, as @workdir is "" for /
 * @stop_signal: As written in the image, or ""
 * @volumes:	Paths, sorted
 * @labels:	"KEY=VALUE", sorted
 * @damaged:	NULL; else a sentence: what is on record cannot be read, and only
 *		@id and @names are set
 * @packages:	"NAME:ARCH=VERSION" as apt has them, sorted; NULL of what was
 *		not built here
 *
 * All but @id, @created_ns, @bytes and @entries is the image's own word.  Made
 * by the library, which may add fields at the end.
 */
struct hutch_image_info {
	const char *id;
	const char *const *names;
	const char *manifest;
	const char *os;
	const char *arch;
	int64_t created_ns;
	uint64_t bytes;
	uint64_t entries;
	const char *const *layers;
	const char *const *env;
	const char *const *entrypoint;
	const char *const *cmd;
	const char *workdir;
	const char *user;
	const char *stop_signal;
	const char *const *volumes;
	const char *const *labels;
	const char *damaged;
	const char *const *packages;
};

/** enum hutch_image_step - What is being done */
enum hutch_image_step {
	HUTCH_IMAGE_STEP_NOTE = 1, /* a sentence: something a user may want
				    * to know */
	HUTCH_IMAGE_STEP_FETCH,    /* a blob comes from a registry */
	HUTCH_IMAGE_STEP_UNPACK    /* a layer or an archive is unpacked */
};

/**
 * hutch_image_progress_fn - Called now and then while an image is made
 * @text:	A sentence, or what it is about; printable, lives for the call
 * @done:	Bytes so far
 * @total:	Of these; 0: not known
 */
typedef void (*hutch_image_progress_fn)(void *arg, enum hutch_image_step step,
					const char *text, uint64_t done,
					uint64_t total);

/**
 * struct hutch_image_import_opts - An image to be, from a file or a folder
 * @size:	sizeof(struct hutch_image_import_opts)
 * @path:	An OCI layout (a folder or a tar), an archive of docker save,
 *		or a plain tar of a root; tars may be packed by gzip, zstd, xz
 *		or bzip2
 * @name:	It is to have: as hutch_image_ref_ok() takes it, no digest
 * @pick:	Where there are several images: the one of this name or tag;
 *		NULL: there must be one for this machine
 * @progress:	May be NULL
 * @max_bytes:	More are refused; 0: HUTCH_IMAGE_BYTES
 * @max_entries: The same; 0: HUTCH_IMAGE_ENTRIES
 */
struct hutch_image_import_opts {
	size_t size;
	const char *path;
	const char *name;
	const char *pick;
	hutch_image_progress_fn progress;
	void *progress_arg;
	uint64_t max_bytes;
	uint64_t max_entries;
};

/* clang-format off */
#define HUTCH_IMAGE_IMPORT_OPTS_INIT                                      \
	{                                                                 \
		sizeof(struct hutch_image_import_opts), NULL, NULL, NULL, \
			NULL, NULL, 0, 0                                  \
	}
/* clang-format on */

/**
 * hutch_image_import() - Take an image into the store
 * @ret:	For hutch_image_info_free(); may be NULL
 *
 * If the same image is there already, it gets the name as well.  An image that
 * had the name keeps its other names.  Nothing is left of what fails.  Blocks
 * for as long as it takes.
 *
 * Return: 0; -EINVAL for a bad option; -ENOENT; -EBADMSG if the image is
 *         malformed or its digests are wrong; -EPERM if it is hostile; -E2BIG
 *         if it is beyond a limit; -ENOTSUP; -ENOSPC
 */
HUTCH_API int hutch_image_import(struct hutch *h,
				 const struct hutch_image_import_opts *opts,
				 struct hutch_image_info **ret,
				 struct hutch_err *e);

/**
 * struct hutch_image_pull_opts - An image to be, from a registry
 * @size:	sizeof(struct hutch_image_pull_opts)
 * @ref:	[HOST[:PORT]/]PATH[:TAG][@DIGEST]; without a host docker.io's, as
 *		Docker means it.  The image gets the name with its host
 * @creds:	"user:password"; NULL: those of $DOCKER_CONFIG/config.json or
 *		~/.docker/config.json, if there are some for the host
 * @progress:	May be NULL
 * @idle_s:	A registry that sends nothing for so many seconds has failed; 0:
 *		60
 * @max_bytes:	As for hutch_image_import(), as the next
 */
struct hutch_image_pull_opts {
	size_t size;
	const char *ref;
	const char *creds;
	hutch_image_progress_fn progress;
	void *progress_arg;
	unsigned int idle_s;
	uint64_t max_bytes;
	uint64_t max_entries;
};

/* clang-format off */
#define HUTCH_IMAGE_PULL_OPTS_INIT                                        \
	{                                                                 \
		sizeof(struct hutch_image_pull_opts), NULL, NULL, NULL,   \
			NULL, 0, 0, 0                                     \
	}
/* clang-format on */

/**
 * hutch_image_pull() - Take an image of a registry into the store
 * @ret:	As for hutch_image_import()
 *
 * By TLS, save from this machine (localhost, 127.0.0.0/8, ::1).  What is broken
 * off is gone on with, in the same call and the next.
 *
 * Return: as hutch_image_import(); -EACCES if the registry does not let us;
 *         -ENOENT if it has no such image; -EHOSTUNREACH; -ETIMEDOUT; -EIO;
 *         -EPROTO
 */
HUTCH_API int hutch_image_pull(struct hutch *h,
			       const struct hutch_image_pull_opts *opts,
			       struct hutch_image_info **ret,
			       struct hutch_err *e);

/**
 * struct hutch_image_build_opts - An image to be, from packages
 * @size:	sizeof(struct hutch_image_build_opts)
 * @recipe:	The name of one of hutch's, or the path of a file, which has a '/'
 *		in it: docs/images.md
 * @name:	As for hutch_image_import(); NULL: the recipe's own
 * @suite:	Of Debian; NULL: the recipe's
 * @include:	More packages, each "NAME[=VERSION]" or several with ',' between;
 *		ends in NULL; or NULL
 * @mirrors:	URLs, or lines of sources.list that begin with "deb "; ends in
 *		NULL; or NULL: those that mmdebstrap has for the suite
 * @log_fd:	Standard error of mmdebstrap, if that is a terminal; else the end
 *		of what it said is written there when it fails.  -1: nowhere
 * @progress:	As for hutch_image_import(), as all that follows
 */
struct hutch_image_build_opts {
	size_t size;
	const char *recipe;
	const char *name;
	const char *suite;
	const char *const *include;
	const char *const *mirrors;
	hutch_image_progress_fn progress;
	void *progress_arg;
	uint64_t max_bytes;
	uint64_t max_entries;
	int log_fd;
};

/* clang-format off */
#define HUTCH_IMAGE_BUILD_OPTS_INIT                                       \
	{                                                                 \
		sizeof(struct hutch_image_build_opts), NULL, NULL, NULL,  \
			NULL, NULL, NULL, NULL, 0, 0, -1                  \
	}
/* clang-format on */

/**
 * hutch_image_build() - Make an image of Debian's packages
 * @ret:	As for hutch_image_import()
 *
 * By mmdebstrap, in namespaces of its own; it ends with the calling thread.  The
 * same package lists make the same image.  Blocks, for a minute or so.
 *
 * Return: as hutch_image_import(); -ENOENT if there is no such recipe, or
 *         mmdebstrap is not installed; -EIO if that fails
 */
HUTCH_API int hutch_image_build(struct hutch *h,
				const struct hutch_image_build_opts *opts,
				struct hutch_image_info **ret,
				struct hutch_err *e);

/** hutch_image_ref_ok() - 1 if an image can be called @name, else 0 */
HUTCH_API int hutch_image_ref_ok(const char *name);

/**
 * hutch_image_list() - All images, sorted by name, nameless ones last
 * @ret:	List that ends in NULL; for hutch_image_list_free()
 *
 * Those that are damaged are among them: see @damaged.
 *
 * Return: how many, or -errno
 */
HUTCH_API int hutch_image_list(struct hutch *h, struct hutch_image_info ***ret,
			       struct hutch_err *e);

/** hutch_image_list_free() - Free what hutch_image_list() made; takes NULL */
HUTCH_API void hutch_image_list_free(struct hutch_image_info **list);

/**
 * hutch_image_inspect() - What is on record about one image
 * @name:	A name; one without a host is looked for as it is and then as
 *		docker.io's.  Or an id, or four or more of its first digits
 * @ret:	For hutch_image_info_free()
 *
 * Return: 0; -ENOENT; -EINVAL if it is no name; -ENOTUNIQ if several images
 *         have such an id
 */
HUTCH_API int hutch_image_inspect(struct hutch *h, const char *name,
				  struct hutch_image_info **ret,
				  struct hutch_err *e);

/** hutch_image_info_free() - Free one; takes NULL */
HUTCH_API void hutch_image_info_free(struct hutch_image_info *info);

/** hutch_image_json() - As JSON on one line (docs/json.md), to be free()d;
 *  NULL if out of memory
 */
HUTCH_API char *hutch_image_json(const struct hutch_image_info *info);

/**
 * hutch_image_open() - Use an image: it stays until hutch_image_close()
 * @name:	As for hutch_image_inspect()
 */
HUTCH_API int hutch_image_open(struct hutch *h, const char *name,
			       struct hutch_image **ret, struct hutch_err *e);

/** hutch_image_info_of() - What is on record; lives as long as @img */
HUTCH_API const struct hutch_image_info *hutch_image_info_of(
	const struct hutch_image *img);

/**
 * hutch_image_tree() - Its root: a folder opened with O_PATH, @img's own
 *
 * In hutch's mapped layout (docs/images.md), to be read and not written.
 */
HUTCH_API int hutch_image_tree(const struct hutch_image *img);

/**
 * hutch_image_lock() - A descriptor that keeps the image in use, @img's own
 *
 * As long as it, or a copy in any process, is open the image is not removed.
 */
HUTCH_API int hutch_image_lock(const struct hutch_image *img);

/**
 * hutch_image_command() - What is to run, as Docker has it
 * @entrypoint:	Instead of the image's, and then its Cmd is not used either; ""
 *		for none, NULL for the image's own
 * @argv:	Instead of the image's Cmd; NULL or empty for that
 * @ret:	A list that ends in NULL, to be free()d; its strings are borrowed
 *
 * Return: 1; 0 if there is nothing to run, with an empty list; -ENOMEM
 */
HUTCH_API int hutch_image_command(const struct hutch_image *img,
				  const char *entrypoint,
				  const char *const *argv,
				  const char *const **ret, struct hutch_err *e);

/** hutch_image_close() - Let go of it; takes NULL */
HUTCH_API void hutch_image_close(struct hutch_image *img);

#define HUTCH_IMAGE_RM_FORCE (1u << 0) /* by its id, though it has names */

/**
 * hutch_image_remove() - Take a name from an image, and the last with all of it
 * @name:	As for hutch_image_inspect().  By id the image goes with its
 *		name; if it has several, with HUTCH_IMAGE_RM_FORCE only
 * @flags:	HUTCH_IMAGE_RM_*
 *
 * Return: 1 if the image is gone; 0 if it has other names; -ENOENT; -EBUSY if
 *         it is in use
 */
HUTCH_API int hutch_image_remove(struct hutch *h, const char *name,
				 unsigned int flags, struct hutch_err *e);

#define HUTCH_IMAGE_PRUNE_ALL (1u << 0) /* those with names too */

/**
 * hutch_image_prune() - Remove images without names, and what was left behind
 * @flags:	HUTCH_IMAGE_PRUNE_*
 * @ret:	What is gone, for hutch_image_list_free(); may be NULL
 *
 * An image in use stays.
 *
 * Return: how many images are gone, or -errno
 */
HUTCH_API int hutch_image_prune(struct hutch *h, unsigned int flags,
				struct hutch_image_info ***ret,
				struct hutch_err *e);

/* ---- Volumes ---------------------------------------------------------- */

/*
 * A volume is a folder that hutch keeps, in <data>/volumes (HUTCH_PATH_DATA),
 * for VMs to mount by its name, several at a time if need be.  Files in it have
 * whatever owners and modes the guests give them.  It is empty, or as the image
 * has the folder over which it is mounted first, and stays until it is removed.
 */
#define HUTCH_VOLUME_NAME_MAX 64

/* Of one that has a size. */
#define HUTCH_VOLUME_SIZE_MIN (1u << 20)

/**
 * struct hutch_volume - What there is to say of a volume
 * @path:	On the host
 * @created_ns:	UTC since 1970; 0 if the file system does not say
 * @in_use:	1: by a VM that is alive
 * @bytes:	That may be in it; 0: as much as there is
 * @used_bytes:	That are in it, as @bytes counts them; -1 if that is 0, or they
 *		cannot be counted
 *
 * Made by the library, which may add fields at the end.
 */
struct hutch_volume {
	const char *name;
	const char *path;
	int64_t created_ns;
	int in_use;
	uint64_t bytes;
	int64_t used_bytes;
};

/**
 * struct hutch_volume_opts - How one is made
 * @size:	Of this struct
 * @bytes:	That may be in it, HUTCH_VOLUME_SIZE_MIN or more; 0 for as much as
 *		there is. A guest is told ENOSPC, and its df goes by it. Files count
 *		by their sizes in blocks of 4 KiB, and there is one for each 16
 *		KiB at most. One VM at a time may write to such a volume, and
 *		none read it meanwhile
 */
struct hutch_volume_opts {
	size_t size;
	uint64_t bytes;
};

/* clang-format off */
#define HUTCH_VOLUME_OPTS_INIT { sizeof(struct hutch_volume_opts), 0 }
/* clang-format on */

/** hutch_volume_name_ok() - 1 if @s can be a volume's name, else 0: 1 to
 *  HUTCH_VOLUME_NAME_MAX letters, digits, '.', '_' and '-', not the last three
 *  at the front
 */
HUTCH_API int hutch_volume_name_ok(const char *s);

/**
 * hutch_volume_create() - Make one, unless there is one of that name
 * @opts:	NULL for the usual
 *
 * Return: 0; -EINVAL if it is no name; -EEXIST if a size was asked for and there
 *         is one that has not got it; -ERANGE if it is too small; -EOPNOTSUPP
 *         if the file system keeps no attributes of users; or -errno
 */
HUTCH_API int hutch_volume_create(struct hutch *h, const char *name,
				  const struct hutch_volume_opts *opts,
				  struct hutch_err *e);

/**
 * hutch_volume_list() - All volumes, sorted by name
 * @ret:	List that ends in NULL; for hutch_volume_list_free()
 *
 * Looks at each file of those that have a size.
 *
 * Return: how many, or -errno
 */
HUTCH_API int hutch_volume_list(struct hutch *h, struct hutch_volume ***ret,
				struct hutch_err *e);

/** hutch_volume_list_free() - Free what hutch_volume_list() made; takes NULL */
HUTCH_API void hutch_volume_list_free(struct hutch_volume **list);

#define HUTCH_VOLUME_RM_FORCE (1u << 0) /* though a stopped VM mounts it */

/**
 * hutch_volume_remove() - Remove one, with all that is in it
 * @flags:	HUTCH_VOLUME_RM_*
 *
 * Return: 0; -ENOENT; -EBUSY if a VM mounts it, alive or stopped
 */
HUTCH_API int hutch_volume_remove(struct hutch *h, const char *name,
				  unsigned int flags, struct hutch_err *e);

/* ---- Words ------------------------------------------------------------ */

/** hutch_version() - "0.1.0" */
HUTCH_API const char *hutch_version(void);

/**
 * hutch_parse_size() - "512M", "2G", "64K", "4096": bytes, powers of 1024
 * @what:	Name of the thing for the sentence: "--memory"
 *
 * Return: 0; -EINVAL; -ERANGE
 */
HUTCH_API int hutch_parse_size(const char *what, const char *s, uint64_t *ret,
			       struct hutch_err *e);

/**
 * hutch_parse_duration() - "90", "1.5s", "500ms", "2m", "1h": milliseconds
 *
 * What is not a whole millisecond is rounded up, so that only "0" is 0.
 *
 * Return: 0; -EINVAL; -ERANGE
 */
HUTCH_API int hutch_parse_duration(const char *what, const char *s,
				   uint64_t *ret_ms, struct hutch_err *e);

/**
 * hutch_parse_uint() - A decimal number from @min to @max
 *
 * Return: 0; -EINVAL; -ERANGE
 */
HUTCH_API int hutch_parse_uint(const char *what, const char *s, uint64_t min,
			       uint64_t max, uint64_t *ret,
			       struct hutch_err *e);

/**
 * hutch_parse_signal() - "TERM", "SIGTERM", "term", "15", "RTMIN+1", "RTMAX-1"
 * @ret:	1 to 64, as Linux numbers them
 *
 * Return: 0; -EINVAL
 */
HUTCH_API int hutch_parse_signal(const char *what, const char *s, int *ret,
				 struct hutch_err *e);

/** hutch_dax_name() - "auto", "never" and so on; "?" for an unknown one */
HUTCH_API const char *hutch_dax_name(enum hutch_dax dax);

/** hutch_parse_dax() - Such a name. Return: 0; -EINVAL */
HUTCH_API int hutch_parse_dax(const char *what, const char *s,
			      enum hutch_dax *ret, struct hutch_err *e);

/** hutch_name_ok() - 1 if @s can be a VM's name, else 0 */
HUTCH_API int hutch_name_ok(const char *s);

/**
 * hutch_escape() - Make bytes from a guest fit to print: \n, \\, \xNN
 * @dst:	Always terminated; what does not fit in @cap (5 or more) is
 *		cut and ends in "..."
 *
 * Valid UTF-8 stays, control characters never do.
 *
 * Return: @dst
 */
HUTCH_API char *hutch_escape(char *dst, size_t cap, const char *src,
			     size_t len);

/**
 * hutch_time_text() - "2026-01-31T12:00:00.123Z"; "" for 0
 * @buf:	At least 32 bytes
 *
 * Return: @buf
 */
HUTCH_API char *hutch_time_text(int64_t time_ns, char *buf, size_t len);

#ifdef __cplusplus
}
#endif

#endif
