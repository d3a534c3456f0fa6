/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/launch.h - start hutch-keeper; what the two sides agree on
 *
 * The keeper's command line is "hutch-keeper NAME fd=N,N,... KEEPER VMM AGENT
 * ROOT KERNEL NET": the descriptors in the order of enum launch_fd, -1 for those not
 * given, then the paths in the order of enum launch_path.
 */
#ifndef HUTCH_HOST_LIB_LAUNCH_H
#define HUTCH_HOST_LIB_LAUNCH_H

#include "common/err.h"
#include "host/lib/hutch.h"

enum launch_fd {
	LAUNCH_FD_LOCK,        /* RUN/NAME/lock, locked */
	LAUNCH_FD_RUN,         /* folder RUN/NAME */
	LAUNCH_FD_STATE,       /* folder STATE/NAME */
	LAUNCH_FD_RUN_ROOT,    /* folder RUN */
	LAUNCH_FD_STATE_ROOT,  /* folder STATE */
	LAUNCH_FD_KEEPER_SOCK, /* listening */
	LAUNCH_FD_VMM_SOCK,    /* likewise, for the monitor's control */
	LAUNCH_FD_VSOCK_SOCK,  /* likewise, for the monitor's vsock */
	LAUNCH_FD_BOOT,        /* memory file: the boot message */
	LAUNCH_FD_MAIN,     /* memory file: EXEC of the main process; or -1 */
	LAUNCH_FD_NET,      /* memory file: for hutch-net; or -1 */
	LAUNCH_FD_START,    /* pipe: the keeper's first words */
	LAUNCH_FD_LIFELINE, /* pipe: its end ends the VM; or -1 */
	LAUNCH_FD_IMAGE,    /* of an image: its root; or -1, as the next two */
	LAUNCH_FD_IMAGE_LOCK, /* keeps it from being removed */
	LAUNCH_FD_DISK,       /* what is written over it; -1 for memory */
	LAUNCH_FD_MOUNT, /* what is mounted, in the record's order; or -1 */
	LAUNCH_N_FDS = LAUNCH_FD_MOUNT + HUTCH_MOUNTS_MAX
};

enum launch_path {
	LAUNCH_PATH_KEEPER,
	LAUNCH_PATH_VMM,
	LAUNCH_PATH_AGENT,
	LAUNCH_PATH_ROOT,
	LAUNCH_PATH_KERNEL,
	LAUNCH_PATH_NET, /* carries the VM's frames; "": there is none */
	LAUNCH_N_PATHS
};

/* First words: "ok", or "error" and a sentence; then the pipe is closed. */
#define LAUNCH_OK        "ok"
#define LAUNCH_ERROR     "error "
#define LAUNCH_WORDS_MAX 512

/**
 * launch_keeper() - Run it, as nobody's child, in a session of its own
 *
 * It gets /dev/null for stdin, stdout and stderr, and @fd.
 *
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int launch_keeper(const int fd[LAUNCH_N_FDS],
			     char *const path[LAUNCH_N_PATHS], const char *name,
			     struct err *e);

/**
 * launch_await() - Read the keeper's first words
 *
 * Return: 0 if the monitor runs; -EIO with the keeper's sentence; -EPIPE if
 *         the keeper died
 */
MUST_CHECK int launch_await(int start_fd, struct err *e);

#endif
